"""Results of runs: :class:`Runs`, one of them: :class:`Run`."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import InputError, RunError
from ._files import write
from ._html import table as html_table
from ._html import text as html_text
from ._table import Table
from ._units import Moment, moment_ns, shown, whole

if TYPE_CHECKING:
    from ._asserts import Tasks
    from ._plot import Plot, RunPlot


def text_width(width: int) -> int:
    """Checks the width of a text in columns."""
    return whole(width, "width", 10, 10_000)


class Run:
    """A workload or a benchmark under one scheduler.

    Times are whole ns of virtual time; a run begins at 0.
    """

    def __init__(self, runs: Runs, place: int) -> None:
        self._runs = runs
        self._place = place
        self._outcome = runs._outcome

    @cached_property
    def data(self) -> dict[str, Any]:
        """The run as data: an entry of ``runs`` of the document (``docs/json-schema.md``)."""
        entry: dict[str, Any] = self._runs.data["runs"][self._place]
        return entry

    @property
    def column(self) -> str:
        """The scheduler as it was named, with its release: ``cfs@2.6.32``."""
        return self._runs.schedulers[self._place]

    @property
    def end_ns(self) -> int:
        """Time at which it ended, ns."""
        return int(self.data["end"]["at_ns"])

    @property
    def cpus(self) -> int:
        """Number of CPUs."""
        return int(self.data["machine"]["cpus"])

    @cached_property
    def metrics(self) -> dict[str, float | None]:
        """The figures of the whole run by id (``docs/metrics.md``); times in ns."""
        return {name: value for name, _, value in self._outcome.metrics(self._place)}

    @cached_property
    def figures(self) -> dict[str, float]:
        """Figures of a benchmark, by name; empty for a workload."""
        return {name: value for name, _, value in self._outcome.figures(self._place)}

    @property
    def printed(self) -> str:
        """The output of a benchmark; empty for a workload."""
        return self._outcome.printed(self._place)

    @cached_property
    def tasks(self) -> Tasks:
        """The figures of each task."""
        from ._asserts import Tasks

        return Tasks(self)

    def _rows(self, name: str) -> Table:
        return Table(self._outcome.rows(self._place, name), name)

    @cached_property
    def keys(self) -> Table:
        """The figures of all instances of each task together."""
        return self._rows("keys")

    @cached_property
    def groups(self) -> Table:
        """The figures of each task group."""
        return self._rows("groups")

    @cached_property
    def by_cpu(self) -> Table:
        """The figures of each CPU."""
        return self._rows("cpus")

    @cached_property
    def slices(self) -> Table:
        """The stays of tasks on CPUs, with their beginnings and ends."""
        found = self._outcome.slices(self._place)
        if found is None:
            raise RunError("the timeline was not recorded: run a workload with record=True")
        return Table(found, "slices")

    @cached_property
    def spans(self) -> Table:
        """The times during which tasks were runnable."""
        found = self._outcome.spans(self._place)
        if found is None:
            raise RunError("the timeline was not recorded: run a workload with record=True")
        return Table(found, "spans")

    @cached_property
    def wakeups(self) -> Table:
        """The wakeups: time, task, waker, and when the task got a CPU. (Repeats the run.)"""
        return Table(self._runs._prepared.wakeups(self._place), "wakeups")

    @property
    def plot(self) -> RunPlot:
        """Plots, with matplotlib: ``run.plot.timeline()`` and others."""
        from ._plot import RunPlot

        return RunPlot(self)

    def timeline(self, width: int = 100) -> str:
        """Returns the timeline, drawn as text of this width, 10 to 10,000 columns."""
        return self._outcome.timeline(self._place, text_width(width))

    def explain(
        self,
        at: Moment | None = None,
        *,
        task: str | None = None,
        cpu: int | None = None,
        wakeup: int | None = None,
        worst: int | None = None,
    ) -> Explanation:
        """Explains in words why the scheduler decided as it did.

        ``at``: the state at a moment (numbers are seconds), the candidates of each CPU and what the
        others lacked; restricted to one ``task`` or one ``cpu``. ``wakeup``: the placement of the
        wakeup with this number, from 1. ``worst``: this number of longest waits; the default is
        one.
        """
        at_ns = None if at is None else moment_ns(at, "at")
        asked = {"at": at, "wakeup": wakeup, "worst": worst}
        if len(both := [name for name, value in asked.items() if value is not None]) > 1:
            raise InputError(f"{both[0]} and {both[1]} exclude each other; give one")
        if cpu is not None and at is None:
            raise InputError("cpu needs a moment: give at, too")
        if task is not None and not isinstance(task, str):
            raise InputError(f"task is {task!r}; it must be the name of a task")
        cpu = None if cpu is None else whole(cpu, "cpu", 0)
        wakeup = None if wakeup is None else whole(wakeup, "wakeup", 1, 2**62)
        worst = None if worst is None else whole(worst, "worst", 1, 1_000_000)
        return Explanation(
            self._runs._prepared.explain(self._place, at_ns, task, cpu, wakeup, worst)
        )

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace: .pftrace (Perfetto), .json (Chrome) or .txt (perf script); .gz or .zst
        at the end of the name compresses it. (Repeats the run.)"""
        self._runs._prepared.trace(self._place, os.fspath(path))

    def assert_no_starvation(self, longest: str) -> None:
        """Asserts that no task waits for a CPU for longer than ``longest`` at a time."""
        self.tasks.assert_no_starvation(longest)

    def __str__(self) -> str:
        return (
            f"Run {self.column}, {self.cpus} CPU{'s' * (self.cpus != 1)}, "
            f"{len(self.tasks)} tasks, {shown(self.end_ns)}"
        )

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        rows = [
            [title, "" if value is None else value]
            for _, title, value in self._outcome.metrics(self._place)
        ]
        return html_table(["", self.column], rows)


class Explanation(str):
    """An explanation: a text that notebooks show with its layout."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_text(self)


class Runs:
    """A workload or a benchmark under several schedulers.

    ``runs["cfs"]`` is one of them, by name, by name and release, or by number; iteration yields
    all, in the order requested.
    """

    def __init__(self, prepared: _native.Prepared, outcome: _native.Outcome) -> None:
        self._prepared = prepared
        self._outcome = outcome
        self._all = [Run(self, place) for place in range(len(self.schedulers))]

    @property
    def name(self) -> str:
        """Name of the workload."""
        return self._prepared.name

    @property
    def schedulers(self) -> list[str]:
        """The columns, with their releases and settings."""
        return self._prepared.schedulers

    @property
    def notes(self) -> list[str]:
        """Notes about the request: schedulers left out, options without effect."""
        return self._prepared.notes

    @property
    def warnings(self) -> list[str]:
        """Warnings about the runs."""
        return self._outcome.warnings

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._all)

    def __getitem__(self, which: str | int) -> Run:
        if not isinstance(which, str):
            return self._all[operator.index(which)]
        for names in (self.schedulers, [name.split("[")[0] for name in self.schedulers],
                      [name.split("@")[0] for name in self.schedulers]):
            if which in names:
                if names.count(which) > 1:
                    raise KeyError(
                        f"{which}: there are several runs: {', '.join(self.schedulers)}"
                    )
                return self._all[names.index(which)]
        raise KeyError(f"there is no run of {which}; the runs are {', '.join(self.schedulers)}")

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results as data: the document ``schedlab-run/1`` (``docs/json-schema.md``)."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def to_json(self) -> str:
        """Returns the document, identical to the output of ``schedlab run --format json``."""
        return self._outcome.to_json()

    def to_csv(self) -> str:
        """Returns the comparison as CSV, identical to the output of ``schedlab run --format
        csv``."""
        return self._outcome.to_csv()

    def plan(self) -> str:
        """Returns the plan of the runs, which ``schedlab run`` and :func:`schedlab.run` accept. (A
        policy written in Python is only named in it.)"""
        return self._prepared.plan()

    def compare(self) -> Comparison:
        """Returns the figures of all runs: printed like the table of the command line, and a table
        of numbers."""
        return Comparison(self)

    def _stacked(self, name: str) -> Table:
        tables = [getattr(run, name)._native for run in self]
        return Table(_native.stack(tables, "scheduler", self.schedulers), name)

    @cached_property
    def tasks(self) -> Table:
        """The figures of each task under each scheduler."""
        return self._stacked("tasks")

    @cached_property
    def slices(self) -> Table:
        """The stays of tasks on CPUs under each scheduler."""
        return self._stacked("slices")

    @cached_property
    def wakeups(self) -> Table:
        """The wakeups under each scheduler."""
        return self._stacked("wakeups")

    @cached_property
    def groups(self) -> Table:
        """The figures of each task group under each scheduler."""
        return self._stacked("groups")

    @property
    def plot(self) -> Plot:
        """Plots, with matplotlib: ``runs.plot.latency()`` and others."""
        from ._plot import Plot

        return Plot(self)

    def explain(self, at: Moment | None = None, **which: Any) -> Explanation:
        """Returns :meth:`Run.explain` of each run, one below the other."""
        return Explanation("\n".join(run.explain(at, **which) for run in self))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as a page for a browser: comparison, interactive timeline, charts."""
        write(path, self._prepared.page(self._outcome))

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace of the first run, and traces of the others next to it, with the names of
        their schedulers in the names of the files."""
        whole = os.fspath(path)
        folder, file = os.path.split(whole)
        stem, dot, ending = file.partition(".")
        for place, run in enumerate(self):
            named = f"{stem}-{run.column}{dot}{ending}" if place else file
            run.trace(os.path.join(folder, named))

    def show(self) -> Any:
        """Shows the report in a frame in a notebook."""
        import html

        from IPython.display import HTML  # type: ignore[import-not-found, unused-ignore]

        page = html.escape(self._prepared.page(self._outcome))
        frame = f'<iframe srcdoc="{page}" width="100%" height="800"></iframe>'
        return HTML(frame)  # type: ignore[no-untyped-call, unused-ignore]

    def __str__(self) -> str:
        return f"Runs of {self.name}: {', '.join(self.schedulers)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        return self.compare()._repr_html_()


class Comparison:
    """Figures of several runs: a row for each figure, a column for each scheduler."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    @property
    def columns(self) -> list[str]:
        """The schedulers."""
        return self._runs.schedulers

    @property
    def rows(self) -> list[str]:
        """The metrics' ids."""
        return list(self._runs[0].metrics) if len(self._runs) else []

    def __getitem__(self, metric: str) -> dict[str, float | None]:
        """Returns a metric under each scheduler, by the metric's id; times in ns."""
        if metric not in self.rows:
            raise KeyError(f"there is no metric {metric}; the metrics are {', '.join(self.rows)}")
        return {run.column: run.metrics[metric] for run in self._runs}

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Returns all figures: by scheduler, by metric."""
        return {run.column: dict(run.metrics) for run in self._runs}

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame with a row for each metric and a column for each scheduler."""
        import pandas

        return pandas.DataFrame(self.to_dict(), index=self.rows)

    def text(self, width: int = 120) -> str:
        """Returns the table of the command line, in this width."""
        return self._runs._outcome.comparison(text_width(width))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        heads, rows = self._runs._outcome.comparison_rows()
        caption = f"{self._runs.name}; * best of the row"
        return html_table(["", *heads], rows, caption)


def only(runs: Runs) -> Run:
    """Returns the only run."""
    if len(runs) != 1:
        raise InputError(f"there are {len(runs)} runs: {', '.join(runs.schedulers)}")
    return runs[0]
