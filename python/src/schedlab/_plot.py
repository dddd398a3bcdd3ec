"""Plots with matplotlib, which is imported when one is drawn. Each returns its Axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError
from ._units import Moment, at, whole, window_ns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._runs import Run, Runs

#: Maximum number of lanes in a timeline.
_LANES = 40

#: Maximum number of slices drawn in a lane; where there are more, close ones are merged.
_SPANS = 4000


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib: pip install 'schedlab[matplotlib]'"
        ) from error
    _, made = pyplot.subplots(figsize=(width, height), layout="constrained")
    return made


def _window(run: Run, between: tuple[Moment, Moment] | None) -> tuple[int, int]:
    if between is None:
        return 0, run.end_ns
    start, end = window_ns(between)
    if start >= run.end_ns:
        raise InputError(f"between begins at {at(start)}; the run ends at {at(run.end_ns)}")
    return start, min(end, run.end_ns)


def _label(name: str) -> str:
    """Returns a name for a legend, which omits names that begin with `_`."""
    shown = _plain(name)
    return f"\u200b{shown}" if shown.startswith("_") else shown


def _plain(name: str) -> str:
    """Returns a name as it is: dollar signs do not begin a formula."""
    return name.replace("$", r"\$")


class RunPlot:
    """Plots of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def timeline(
        self,
        ax: Axes | None = None,
        *,
        between: tuple[Moment, Moment] | None = None,
        by: str = "task",
    ) -> Axes:
        """Draws the timeline of a run: a lane for each task, or with ``by="cpu"`` for each CPU.
        Dark: the task runs; pale: it waits for a CPU.

        ``between``: the window, in seconds or texts with units.
        """
        run = self._run
        if by not in ("task", "cpu"):
            raise InputError(f"by is {by!r}; it must be 'task' or 'cpu'")
        start, end = _window(run, between)
        names = run.tasks._native.values("name")
        keys = list(dict.fromkeys(run.tasks._native.values("key")))
        of_task = [keys.index(key) for key in run.tasks._native.values("key")]
        lanes = list(range(len(names) if by == "task" else run.cpus))[:_LANES]
        ax = _axes(ax, 10, 0.8 + 0.32 * max(len(lanes), 3))
        slices, spans = run.slices, run.spans
        for lane in lanes:
            if by == "task":
                waits = spans["task"] == lane
                _bars(ax, lane, spans["start_ns"][waits], spans["end_ns"][waits], start, end,
                      color="0.88", height=0.5)
                mine = slices["task"] == lane
                _bars(ax, lane, slices["start_ns"][mine], slices["end_ns"][mine], start, end,
                      color=f"C{of_task[lane] % 10}", height=0.8)
                continue
            mine = slices["cpu"] == lane
            for task in np.unique(slices["task"][mine]):
                its = mine & (slices["task"] == task)
                _bars(ax, lane, slices["start_ns"][its], slices["end_ns"][its], start, end,
                      color=f"C{of_task[task] % 10}", height=0.8)
        labels = names if by == "task" else [f"CPU {cpu}" for cpu in range(run.cpus)]
        ax.set_yticks(lanes, [_plain(labels[lane]) for lane in lanes])
        ax.set_ylim(len(lanes) - 0.5, -0.5)
        ax.set_xlim(start / 1e9, end / 1e9)
        ax.set_xlabel("time (s)")
        left_out = (len(names) if by == "task" else run.cpus) - len(lanes)
        more = f", {left_out} more not drawn" if left_out else ""
        ax.set_title(_plain(f"{run.column}{more}"))
        return ax

    def latency(self, ax: Axes | None = None) -> Axes:
        """Draws the wakeup latencies of the run: see :meth:`Plot.latency`."""
        return _latency([self._run], ax)

    def shares(self, ax: Axes | None = None, *, parts: int = 40) -> Axes:
        """Draws the share of the CPUs that the instances of each task used, over time."""
        run = self._run
        ax = _axes(ax, 8, 4)
        parts = min(whole(parts, "parts", 1, 100_000), max(run.end_ns, 1))
        edges = np.linspace(0, run.end_ns, parts + 1).astype(np.int64)
        keys = run.tasks._native.values("key")
        slices = run.slices
        rows = []
        names = list(dict.fromkeys(keys))
        for name in names:
            tasks = [number for number, key in enumerate(keys) if key == name]
            mine = np.isin(slices["task"], tasks)
            rows.append(_per_part(slices["start_ns"][mine], slices["end_ns"][mine], edges))
        middle = (edges[:-1] + edges[1:]) / 2e9
        ax.stackplot(middle, np.array(rows), labels=[_label(name) for name in names])
        ax.set_xlim(0, run.end_ns / 1e9)
        ax.set_ylim(0, run.cpus)
        ax.set_xlabel("time (s)")
        ax.set_ylabel("CPUs")
        ax.set_title(_plain(run.column))
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
        return ax


class Plot:
    """Plots of several runs."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def timeline(self, **options: Any) -> list[Axes]:
        """Draws :meth:`RunPlot.timeline` of each run, one below the other."""
        from matplotlib import pyplot

        runs = list(self._runs)
        lanes = max(min(len(run.tasks), _LANES) for run in runs)
        _, axes = pyplot.subplots(
            len(runs), 1, figsize=(10, (0.8 + 0.32 * max(lanes, 3)) * len(runs)),
            layout="constrained", squeeze=False,
        )
        return [run.plot.timeline(ax, **options) for run, ax in zip(runs, axes[:, 0])]

    def latency(self, ax: Axes | None = None) -> Axes:
        """Draws the wakeup latencies: for each latency, the fraction of wakeups that took longer.
        One line for each scheduler; further left and lower is better."""
        return _latency(list(self._runs), ax)

    def shares(self, ax: Axes | None = None) -> Axes:
        """Draws the CPU time of the instances of each task, one bar for each scheduler, as a
        fraction of a CPU."""
        runs = list(self._runs)
        ax = _axes(ax, 8, 4)
        names = list(dict.fromkeys(name for run in runs for name in run.keys._native.values("key")))
        bottom = np.zeros(len(runs))
        for name in names:
            parts = []
            for run in runs:
                rows = dict(zip(run.keys._native.values("key"), run.keys["cpu_ns"]))
                parts.append(rows.get(name, 0) / max(run.end_ns, 1))
            ax.bar(range(len(runs)), parts, bottom=bottom, label=_label(name))
            bottom += np.array(parts)
        columns = [_plain(run.column) for run in runs]
        ax.set_xticks(range(len(runs)), columns, rotation=20, ha="right")
        ax.set_ylabel("CPU time (parts of one CPU)")
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
        return ax


def _latency(runs: list[Run], ax: Axes | None) -> Axes:
    ax = _axes(ax, 8, 4)
    # Buckets of the histogram: from (ns), to (ns), count.
    histograms = [
        np.array(run.data["wakeup_latency_histogram"], dtype=float).reshape(-1, 3) for run in runs
    ]
    ends = np.concatenate([buckets[:, 1] for buckets in histograms])
    # A logarithmic axis has no zero: wakeups without a wait are drawn left of all others.
    left_ns = ends[ends > 0].min(initial=1e6) / 3
    for run, buckets in zip(runs, histograms):
        if not len(buckets):
            continue
        counts = buckets[:, 2]
        above = 1 - np.cumsum(counts) / counts.sum()
        ends = np.concatenate(([left_ns], np.maximum(buckets[:, 1], left_ns)))
        ax.step(ends / 1e6, np.concatenate(([1.0], above)), where="post", label=_label(run.column))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(left=left_ns / 1e6)
    ax.set_xlabel("wakeup latency (ms)")
    ax.set_ylabel("part of the wakeups that took longer")
    ax.legend()
    return ax


def _bars(
    ax: Axes,
    lane: int,
    starts: Any,
    ends: Any,
    start: int,
    end: int,
    color: str,
    height: float,
) -> None:
    seen = (ends > start) & (starts < end)
    starts = np.maximum(starts[seen], start)
    ends = np.minimum(ends[seen], end)
    if len(starts) > _SPANS:
        # Slices too close to be distinguished are drawn as one.
        gap = (end - start) / _SPANS
        begins = np.concatenate(([True], starts[1:] - np.maximum.accumulate(ends)[:-1] > gap))
        starts, ends = starts[begins], np.maximum.reduceat(ends, np.flatnonzero(begins))
    # With an edge of its own colour, even the shortest slice is visible.
    ax.broken_barh(
        list(zip(starts / 1e9, (ends - starts) / 1e9)), (lane - height / 2, height),
        linewidth=0.5, edgecolor=color, facecolor=color,
    )


def _per_part(starts: Any, ends: Any, edges: Any) -> Any:
    """Returns the number of CPUs used in each interval between two edges."""
    at = np.concatenate(([0], np.sort(np.concatenate((starts, ends)))))
    order = np.argsort(np.concatenate((starts, ends)), kind="stable")
    steps = np.concatenate((np.ones(len(starts)), -np.ones(len(ends))))[order]
    level = np.concatenate(([0.0], np.cumsum(steps)))
    used = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(at))))
    found = np.searchsorted(at, edges, side="right") - 1
    total = used[found] + level[found] * (edges - at[found])
    return np.diff(total) / np.diff(edges)
