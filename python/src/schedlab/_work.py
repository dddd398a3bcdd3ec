"""Tasks of the engine: benchmarks, random worlds, golden schedules, experiments, traces."""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from . import _native
from ._errors import InputError, RunError
from ._files import write
from ._html import table as html_table
from ._html import text as html_text
from ._plan import Scheduler, described, listed, make, mapping, schedulers_of
from ._runs import text_width
from ._sources import PathLike, benchmark_names, noted_beside, refuse_beside, setting
from ._units import Moment, count, moment_ns, whole


class Bench:
    """A benchmark with all of its values, under one or more schedulers."""

    def __init__(self, prepared: _native.Prepared, native: _native.Bench) -> None:
        self._prepared = prepared
        self._native = native

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results as data: the document ``schedlab-bench/1`` (``docs/json-schema.md``)."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    @property
    def schedulers(self) -> list[str]:
        """The schedulers, with their releases."""
        return self._prepared.schedulers

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The parameters with several values."""
        axes = [self.data["parameters"][place] for place in self.data["swept"]]
        return {axis["name"]: axis["values"] for axis in axes}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields a dict for each run: scheduler, values, seed, and every figure by name."""
        for point in self.data["points"]:
            values = dict(zip(self.axes, point["values"]))
            for run in point["runs"]:
                figures = {
                    figure["name"]: figure["value"]
                    for figure in (*run["figures"], *run["metrics"])
                }
                scheduler = self.schedulers[point["scheduler"]]
                yield {"scheduler": scheduler, **values, "seed": run["seed"], **figures}

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame with a row for each run."""
        import pandas

        return pandas.DataFrame(list(self.rows()))

    def to_json(self) -> str:
        """Returns the document, identical to the output of ``schedlab bench --format json``."""
        return self._native.to_json()

    def to_csv(self) -> str:
        """Returns all figures as CSV, identical to the output of ``schedlab bench --format
        csv``."""
        return self._native.to_csv()

    def _figure(self, name: str | None) -> str:
        if name is None:
            for point in self.data["points"]:
                for run in point["runs"]:
                    for figure in run["figures"]:
                        return str(figure["name"])
            raise RunError("all runs were ended before they had a result")
        found = self._native.figure(name)
        if found is None:
            raise InputError(f"there is no figure {name}")
        return found

    def text(self, figure: str | None = None, width: int = 120) -> str:
        """Returns a figure as a table and a curve of text; default: the benchmark's first one."""
        name = self._figure(figure)
        return self._native.table(name, text_width(width)) + (self._native.curve(name, width) or "")

    def plot(self, figure: str | None = None, ax: Any = None) -> Any:
        """Draws a plot of a figure over the first parameter with several values, with matplotlib:
        the median over the seeds, a line for each scheduler and each value of other parameters.
        Returns the Axes."""
        from ._plot import _axes

        name = self._figure(figure)
        if not self.axes:
            raise InputError("there is only one point; give a list for a parameter")
        axis = next(iter(self.axes))
        ax = _axes(ax, 7, 4)
        lines: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
        for row in self.rows():
            if row.get(name) is not None:
                others = tuple(f"{one} {row[one]}" for one in self.axes if one != axis)
                points = lines.setdefault((row["scheduler"], *others), {})
                points.setdefault(row[axis], []).append(row[name])
        for label, points in lines.items():
            medians = [statistics.median(values) for values in points.values()]
            ax.plot(list(points), medians, marker="o", label=", ".join(label))
        ax.set_xlabel(axis)
        ax.set_ylabel(name)
        ax.set_title(str(self.data["benchmark"]))
        ax.legend()
        return ax

    def report(self, path: PathLike, figure: str | None = None) -> None:
        """Writes the page for a browser."""
        name = None if figure is None else self._figure(figure)
        write(path, self._native.page(self._prepared, name))

    def __repr__(self) -> str:
        return f"<Bench {self.data['benchmark']}: {', '.join(self.schedulers)}>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html_text(self.text())


def bench(
    name: str,
    schedulers: Scheduler | Iterable[Scheduler] = "main",
    *,
    cpus: int | None = None,
    machine: PathLike | None = None,
    hz: int | None = None,
    costs: Mapping[str, float] | bool | None = None,
    nohz: bool | None = None,
    set: Mapping[str, int] | None = None,
    duration: Moment | None = None,
    seed: int = 1,
    repeat: int = 1,
    threads: int | None = None,
    **parameters: Any,
) -> Bench:
    """Runs a benchmark with all values of its parameters under each scheduler.

    ``name`` may also be the file of a benchmark's plan (``schedlab bench ... --plan-out``), or of
    several benchmarks at once; such a file specifies everything. ``parameters`` are the parameters
    of the benchmark (:func:`benchmarks` lists them); a list or a range makes a curve:
    ``bench("hackbench", ["o_n", "o_1"], groups=range(25, 101, 25))``. The other arguments have the
    meanings that they have in :func:`run`.
    """
    given = dict(locals())
    if not isinstance(name, (str, os.PathLike)):
        raise InputError(f"{name!r} is neither a benchmark nor the file of a plan")
    name = os.fspath(name)
    threads = count(threads, "threads")
    if name not in benchmark_names() and os.path.isfile(name):
        given.update(given.pop("parameters"))
        refuse_beside(bench, name, given, "name", "threads")
        plan, policies = make(name)
        prepared = _native.Prepared(json.dumps(plan), list(policies))
        return Bench(prepared, _native.Bench(prepared, threads))
    if name not in benchmark_names():
        known = ", ".join(benchmark_names())
        raise InputError(f"there is no benchmark {name}; the benchmarks are {known}")
    plan, policies = make(
        name, schedulers, cpus=cpus, machine=machine, hz=hz, costs=costs, nohz=nohz, set=set,
        duration=duration, seed=seed, repeat=repeat, parameters=parameters,
    )
    prepared = _native.Prepared(json.dumps(plan), list(policies))
    return Bench(prepared, _native.Bench(prepared, threads))


class World(NamedTuple):
    """Results of a scheduler's random worlds; ``broken`` is the first broken rule, or None."""

    scheduler: str
    worlds: int
    events: int
    broken: _native.BrokenRule | None


def stress(
    schedulers: Scheduler | Iterable[Scheduler] = "all",
    worlds: int = 100,
    first_seed: int = 0,
    threads: int | None = None,
) -> list[World]:
    """Runs random machines and workloads, and checks every rule that a scheduler must observe.

    Each scheduler runs until it breaks a rule, or has been in all worlds.
    """
    names, policies = schedulers_of(schedulers)
    first_seed = whole(first_seed, "first_seed", 0, 2**63)
    worlds = whole(worlds, "worlds", 1, 2**62)
    threads = count(threads, "threads")
    rows = _native.stress(names, list(policies), first_seed, worlds, threads)
    return [World(*row) for row in rows]


class GoldenVerdict(NamedTuple):
    """Verdict about a golden schedule. ``difference`` is the first difference, None if all slices
    agree; ``error`` is the reason why it could not be replayed."""

    file: str
    scheduler: str
    kernel: str
    slices: int
    difference: str | None
    share: float
    error: str | None

    @property
    def agrees(self) -> bool:
        """Whether all slices agree."""
        return self.difference is None and self.error is None


def verify(
    paths: PathLike | Iterable[PathLike], threads: int | None = None
) -> list[GoldenVerdict]:
    """Replays golden schedules, files or directories, and compares schedulers with the kernel."""
    named = listed(paths, "paths")
    threads = count(threads, "threads")
    rows = _native.verify([os.fspath(path) for path in named], threads)
    return [GoldenVerdict(*row) for row in rows]


class Experiment(NamedTuple):
    """A published experiment, run again: ``text`` is its table."""

    id: str
    title: str
    text: str
    values: list[dict[str, str]]


class Papers:
    """Published experiments, run again and judged."""

    def __init__(self, rows: Any) -> None:
        experiments, self.summary, verdicts, values, self.failed = rows
        #: The experiments that could be run.
        self.experiments = [
            Experiment(id, title, text, list(csv.DictReader(io.StringIO(table))))
            for (id, title, text), table in zip(experiments, values)
        ]
        #: A row for each demand: published result, simulated result, verdict.
        self.verdicts: list[dict[str, str]] = list(csv.DictReader(io.StringIO(verdicts)))

    def __str__(self) -> str:
        return "\n".join([*(one.text for one in self.experiments), self.summary])

    def __repr__(self) -> str:
        return f"<Papers: {', '.join(one.id for one in self.experiments)}>"

    def _repr_html_(self) -> str:
        heads = list(self.verdicts[0]) if self.verdicts else []
        return html_table(heads, [list(row.values()) for row in self.verdicts], self.summary)


def papers(
    ids: str | Iterable[str] = (), *, reduced: bool = False, threads: int | None = None
) -> Papers:
    """Runs published experiments again and judges them.

    ``ids``: an id, or the beginning of several; default: all, which takes minutes. ``reduced``:
    fewer and smaller simulations. :func:`paper_ids` lists the ids.
    """
    chosen = listed(ids, "ids")
    threads = count(threads, "threads")
    return Papers(_native.papers(chosen, reduced, threads))


def paper_ids() -> dict[str, str]:
    """Ids and titles of the published experiments."""
    return dict(_native.paper_ids())


class Replay:
    """A recorded trace under other schedulers."""

    def __init__(self, document: str) -> None:
        self._document = document

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results as data (``docs/replay.md``)."""
        document: dict[str, Any] = json.loads(self._document)
        return document

    @property
    def grade(self) -> str:
        """Grade of confidence in the replay."""
        return str(self.data["grade"])

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The recorded machine, its replay, and each other scheduler."""
        columns: list[dict[str, Any]] = self.data["columns"]
        return columns

    def to_json(self) -> str:
        """Returns the document, identical to the output of ``schedlab replay --json``."""
        return self._document

    def __repr__(self) -> str:
        return f"<Replay {self.data['name']}: {self.grade}>"


def replay(
    trace: PathLike,
    schedulers: str | Iterable[str] = (),
    *,
    recorded: str | None = None,
    hz: int | None = None,
    set: Mapping[str, Any] | None = None,
    at: str | Iterable[str] = (),
    machine: PathLike | None = None,
    cpus: int | None = None,
    changes: str | Iterable[str] = (),
    groups: PathLike | None = None,
    side: PathLike | None = None,
    only: str | None = None,
    without: str | None = None,
    counted: bool = False,
    open_arrivals: bool = False,
    seeds: int = 8,
    duration: Moment | None = None,
    threads: int | None = None,
) -> Replay:
    """Predicts what a recorded machine would have done under other schedulers (``docs/replay.md``).

    ``trace``: recorded by perf, ftrace or trace-cmd. ``recorded``, ``hz``: the scheduler and the
    ticks of that machine; ``changes``: changes of tasks, such as ``"nice make +10"``; ``groups``: a
    file with the groups of tasks; ``side``: notes of ``schedlab record`` (``None``: the files next
    to the trace, if there are any; ``"none"``: without them); ``counted``: the first possible waker
    wakes a sleeper, instead of the recorded one; ``open_arrivals``: events of interrupts come at
    their recorded times (a server's requests), instead of after recorded delays; ``seeds``: number
    of runs under each scheduler.
    """
    names, policies = schedulers_of(schedulers if isinstance(schedulers, str) else list(schedulers))
    if policies:
        raise InputError("a trace is replayed under named schedulers only, not under a policy")
    path = os.fspath(trace)
    asked: dict[str, Any] = {
        "name": path, "schedulers": [name for name in names if name],
        "tokens": "counted" if counted else "strict",
        "arrivals": "open" if open_arrivals else "closed",
        "seeds": whole(seeds, "seeds", 1, 1000), "recorded": recorded, "hz": count(hz, "hz"),
        "only": only, "without": without,
        "at": listed(at, "at"),
        "changes": listed(changes, "changes"),
        "set": [[name, setting(value)] for name, value in mapping(set, "set").items()],
        "limit_ns": None if duration is None else moment_ns(duration, "duration"),
    }
    spec: dict[str, Any] = {}
    if machine is not None:
        spec = described(machine)
        spec["no_costs"] = True
    if cpus is not None:
        spec["cpus"] = whole(cpus, "cpus", 1)
    asked["machine"] = spec
    asked |= noted_beside(path, groups, side)
    return Replay(_native.replay(path, json.dumps(asked), threads))
