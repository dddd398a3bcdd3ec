"""The tasks of a run, and assertions about them for tests."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError
from ._table import Table
from ._units import Moment, at, shown, time_ns, window_ns

if TYPE_CHECKING:
    from . import _native
    from ._runs import Run

#: A window: two moments, in seconds or texts with units; ``None``: the whole run.
Between = "tuple[Moment, Moment] | None"


class Tasks(Table):
    """The figures of each task of a run; ``tasks["video"]`` is a task, or all of its instances."""

    def __init__(self, run: Run) -> None:
        super().__init__(run._outcome.rows(run._place, "tasks"), "tasks")
        self._run = run

    def __getitem__(self, name: str) -> Any:
        """Returns a task by its name (``video-0``), the instances of a key (``video``), or the
        tasks that match a pattern (``cc-*``)."""
        if not isinstance(name, str):
            raise KeyError(f"{name!r} is not the name of a task")
        names = self._native.values("name")
        keys = self._native.values("key")
        if name in names:
            chosen = [names.index(name)]
        elif name in keys:
            chosen = [number for number, key in enumerate(keys) if key == name]
        else:
            chosen = [n for n, one in enumerate(names) if fnmatch.fnmatchcase(one, name)]
        if not chosen:
            known = ", ".join(dict.fromkeys(keys))
            raise KeyError(f"there is no task {name}; the tasks are {known}")
        return TaskView(self._run, name, chosen, [names[number] for number in chosen])

    def each(self) -> Iterator[TaskView]:
        """Returns the tasks one by one."""
        for number, name in enumerate(self._native.values("name")):
            yield TaskView(self._run, name, [number], [name])

    def assert_no_starvation(self, longest: str) -> None:
        """Asserts that no task waits for a CPU for longer than ``longest`` at a time."""
        every = list(range(len(self)))
        TaskView(self._run, "some task", every, self._native.values("name")).assert_no_starvation(
            longest
        )


class TaskView:
    """One or several tasks of a run."""

    def __init__(self, run: Run, name: str, numbers: list[int], names: list[str]) -> None:
        self.run = run
        self.name = name
        #: Numbers of the tasks.
        self.numbers = numbers
        #: Names of the tasks.
        self.names = names

    def __repr__(self) -> str:
        return f"<{self.name} under {self.run.column}: {', '.join(self.names)}>"

    def __len__(self) -> int:
        return len(self.numbers)

    def figures(self) -> list[dict[str, Any]]:
        """Returns the figures of each task, by name."""
        table = self.run.tasks._native
        return [table.row(number) for number in self.numbers]

    @property
    def cpu_ns(self) -> int:
        """CPU time of all tasks together, ns."""
        return sum(row["cpu_ns"] for row in self.figures())

    def share(self, between: tuple[Moment, Moment] | None = None) -> float:
        """Returns the CPU time of all tasks together, as a fraction of one CPU; 1.0 is a whole
        CPU."""
        start, end = self._window(between)
        return self._ran_ns(start, end) / max(end - start, 1)

    def latencies_ns(self, between: tuple[Moment, Moment] | None = None) -> np.ndarray[Any, Any]:
        """Times from each wakeup in the window to the CPU, ns."""
        return self._latencies(between)[1]

    def _latencies(
        self, between: tuple[Moment, Moment] | None
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        start, end = self._window(between)
        wakeups = self.run.wakeups
        is_mine = np.isin(wakeups["task"], self.numbers) & (wakeups["is_new"] == 0)
        is_mine &= (wakeups["at_ns"] >= start) & (wakeups["at_ns"] < end)
        latency = wakeups["latency_ns"]
        is_mine &= ~np.isnan(latency)
        return wakeups["at_ns"][is_mine], latency[is_mine].astype(np.int64)

    def _window(self, between: tuple[Moment, Moment] | None) -> tuple[int, int]:
        if between is None:
            return 0, self.run.end_ns
        start, end = window_ns(between)
        if end > self.run.end_ns:
            raise InputError(
                f"between is {at(start)} to {at(end)}; the run goes from 0 to "
                f"{at(self.run.end_ns)}"
            )
        return start, end

    def _ran_ns(self, start: int, end: int) -> int:
        slices = self.run.slices
        mine = np.isin(slices["task"], self.numbers)
        lengths = np.minimum(slices["end_ns"][mine], end) - np.maximum(
            slices["start_ns"][mine], start
        )
        return int(np.clip(lengths, 0, None).sum())

    def assert_share(
        self,
        share: float,
        tol: float = 0.01,
        between: tuple[Moment, Moment] | None = None,
    ) -> None:
        """Asserts that all tasks together had ``share`` of one CPU, within ``tol``.

        ``between``: the window; numbers are seconds. Default: the whole run.
        """
        start, end = self._window(between)
        ran = self._ran_ns(start, end)
        found = ran / (end - start)
        if abs(found - share) <= tol:
            return
        raise AssertionError(
            f"{self.name} had {found:.4f} of a CPU between {at(start)} and {at(end)} under "
            f"{self.run.column}, not {share:g} ± {tol:g}: it ran for {shown(ran)} of "
            f"{shown(end - start)}\n"
            + self._course(share, start, end)
            + self._asked(start, end, ran)
            + self._longest_wait()
        )

    def _course(self, share: float, start: int, end: int) -> str:
        """Describes the part of the window in which the share deviated most."""
        edges = np.linspace(start, end, 11).astype(np.int64)
        parts = [
            (self._ran_ns(int(a), int(b)) / (b - a), a, b)
            for a, b in zip(edges, edges[1:])
            if b > a
        ]
        if not parts:
            return ""
        worst = max(parts, key=lambda part: abs(part[0] - share))
        return (
            f"  furthest off between {at(int(worst[1]))} and {at(int(worst[2]))}: "
            f"{worst[0]:.4f}\n"
        )

    def _asked(self, start: int, end: int, ran: int) -> str:
        """Describes how long the tasks were runnable."""
        spans = self.run.spans
        mine = np.isin(spans["task"], self.numbers)
        lengths = np.minimum(spans["end_ns"][mine], end) - np.maximum(
            spans["start_ns"][mine], start
        )
        wanted = int(np.clip(lengths, 0, None).sum())
        waited = max(wanted - ran, 0)
        asleep = "" if waited else "; it got whatever it asked for"
        return (
            f"  it wanted to run for {shown(wanted)} of that time, and waited for "
            f"{shown(waited)} of these{asleep}\n"
        )

    def _longest_wait(self, most: int = 1) -> str:
        rows = self.figures()
        number = max(zip(self.numbers, rows), key=lambda pair: pair[1]["wait_max_ns"])[0]
        waits = self.run._runs._prepared.waits(self.run._place, number, most)
        return "".join(f"  {line}\n" for wait in waits for line in describe(wait)).rstrip("\n")

    def assert_wakeup_latency(
        self,
        max: str | None = None,  # noqa: A002
        *,
        p99: str | None = None,
        median: str | None = None,
        between: tuple[Moment, Moment] | None = None,
    ) -> None:
        """Asserts that the wakeup latency never exceeds ``max``, its 99th percentile does not
        exceed ``p99``, and its median does not exceed ``median``."""
        start, end = self._window(between)
        times, latencies = self._latencies(between)
        if not len(latencies):
            raise AssertionError(
                f"{self.name} was not woken between {at(start)} and {at(end)} under "
                f"{self.run.column}"
            )
        demands = (("max", max, 1.0), ("p99", p99, 0.99), ("median", median, 0.5))
        for name, limit, part in demands:
            if limit is None:
                continue
            limit_ns = time_ns(limit, name)
            place = int(np.ceil(part * len(latencies))) - 1
            found = int(np.sort(latencies)[place])
            if found <= limit_ns:
                continue
            worst = int(np.argmax(latencies))
            above = int((latencies > limit_ns).sum())
            raise AssertionError(
                f"{self.name}: the wakeup latency's {name} is {shown(found)} under "
                f"{self.run.column}, more than {shown(limit_ns)}; {above} of {len(latencies)} "
                f"wakeups between {at(start)} and {at(end)} took longer, that at "
                f"{at(int(times[worst]))} {shown(int(latencies[worst]))}\n"
                + self._meanwhile(int(times[worst]), int(latencies[worst]))
                + self._longest_wait()
            )

    def _meanwhile(self, start: int, length: int) -> str:
        """Describes the tasks that ran during a wait."""
        slices = self.run.slices
        lengths = np.minimum(slices["end_ns"], start + length) - np.maximum(
            slices["start_ns"], start
        )
        others = (lengths > 0) & ~np.isin(slices["task"], self.numbers)
        names = slices["name"]
        ran: dict[str, int] = {}
        for number in np.flatnonzero(others):
            ran[names[number]] = ran.get(names[number], 0) + int(lengths[number])
        first = sorted(ran.items(), key=lambda pair: -pair[1])[:4]
        if not first:
            return ""
        shares = ", ".join(f"{name} {shown(ns)}" for name, ns in first)
        return f"  meanwhile ran: {shares}\n"

    def assert_no_starvation(self, longest: str) -> None:
        """Asserts that no task waits for a CPU for longer than ``longest`` at a time."""
        limit = time_ns(longest, "longest")
        rows = self.figures()
        starved = [row for row in rows if row["wait_max_ns"] > limit]
        if not starved:
            return
        names = ", ".join(row["name"] for row in starved[:5])
        more = f" and {len(starved) - 5} more" if len(starved) > 5 else ""
        worst = max(starved, key=lambda row: row["wait_max_ns"])
        raise AssertionError(
            f"{self.name} starves under {self.run.column}: {names}{more} waited for longer than "
            f"{shown(limit)} at a time, {worst['name']} for {shown(worst['wait_max_ns'])}\n"
            + TaskView(self.run, worst["name"], [worst["task"]], [worst["name"]])._longest_wait()
        )


def describe(wait: _native.Wait) -> list[str]:
    """Describes a wait in words."""
    length = wait.end_ns - wait.start_ns
    end = "then it ran" if wait.ran else "it never ran again"
    lines = [
        f"{wait.task} waited for {shown(length)} from {at(wait.start_ns)} to {at(wait.end_ns)} on "
        f"CPU {wait.cpu}; {end}"
    ]
    ran = [
        f"{'no task' if name is None else name} {shown(ns)} in {turns} turn{'s' * (turns != 1)}"
        for name, ns, turns in wait.meanwhile[:4]
    ]
    if ran:
        lines.append(f"  that CPU went to {', '.join(ran)}")
    for rule, times in sorted(wait.lost, key=lambda pair: -pair[1])[:2]:
        if rule:
            lines.append(f"  {times} pick{'s' * (times != 1)} went to others by the rule: {rule}")
    return lines
