"""Measurements on the real kernel: a workload on this machine, compared with its simulation."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from . import _native
from ._errors import InputError, SchedlabWarning
from ._files import write
from ._html import text as html_text
from ._plan import listed, mapping
from ._runs import text_width
from ._sources import PathLike, WorkloadLike, load, source
from ._units import Moment, count, moment_ns, whole


class Measured(NamedTuple):
    """A figure of a thread over the quiet runs: ns, or a count."""

    min: int
    median: int
    max: int


class Measurement:
    """A workload as measured on a real kernel: the document ``live-schedule/1``.

    ``is_quiet``: whether the requested number of runs was quiet. If not, all runs are included.
    """

    def __init__(
        self, document: str, name: str, is_quiet: bool, messages: Iterable[str] = ()
    ) -> None:
        self._document = document
        self.name = name
        self.is_quiet = is_quiet
        #: Messages of the measurement: warnings, and a line for each run.
        self.messages: list[str] = list(messages)

    @classmethod
    def load(cls, path: PathLike) -> Measurement:
        """Reads a file that ``schedlab host --out`` or :meth:`save` wrote."""
        text = source(path)["text"]
        try:
            data = json.loads(text)
            rejected = any(one.get("rejected", False) for one in data["placements"].values())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{os.fspath(path)}: it is not a document live-schedule/1: {error}"
            ) from error
        return cls(text, os.fspath(path), not rejected)

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results as data (``docs/live.md``)."""
        document: dict[str, Any] = json.loads(self._document)
        return document

    @property
    def kernel(self) -> str:
        """The kernel's release."""
        return str(self.data["machine"]["kernel"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Returns a dict for every figure of every thread: placement, task, figure, min, median,
        max."""
        for placement, measured in self.data["placements"].items():
            for task, figures in measured["tasks"].items():
                for figure, spread in figures.items():
                    if not isinstance(spread, Mapping) or "median" not in spread:
                        continue
                    yield {"placement": placement, "task": task, "figure": figure,
                           "min": spread["min"], "median": spread["median"], "max": spread["max"]}

    def figure(self, task: str, figure: str, placement: str | None = None) -> Measured:
        """Returns a figure of a thread: ``figure("hog-0", "cpu_ns")``."""
        placements = self.data["placements"]
        for name, measured in placements.items():
            spread = measured["tasks"].get(task, {}).get(figure)
            if spread is not None and placement in (None, name):
                return Measured(spread["min"], spread["median"], spread["max"])
        measured = {task: figures for one in placements.values()
                    for task, figures in one["tasks"].items()}
        if placement is not None and placement not in placements:
            names = ", ".join(placements)
            raise InputError(f"there is no placement {placement}; the placements are {names}")
        known = sorted(measured.get(task) or measured)
        raise InputError(f"there is no figure {task}, {figure}; the figures are {', '.join(known)}")

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame with a row for each figure of a thread."""
        import pandas

        return pandas.DataFrame(list(self.rows()))

    def to_json(self) -> str:
        """Returns the document, in the format of ``schedlab host --out``."""
        return self._document

    def save(self, path: PathLike) -> None:
        """Writes the document to a file, which ``schedlab compare`` also reads."""
        write(path, self._document)

    def compare(self, **options: Any) -> Witness:
        """Simulates the same workload and compares: :func:`compare`."""
        return compare(self, **options)

    def __repr__(self) -> str:
        quiet = "" if self.is_quiet else ", too noisy"
        return f"<Measurement {self.name} on Linux {self.kernel}{quiet}>"


def real(value: Any) -> float | None:
    """Returns a number, including NumPy's types; None for any other value."""
    try:
        return None if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        return None


def cost(name: str, ns: Any) -> list[Any]:
    """Returns a cost, in the engine's format."""
    number = real(ns)
    if number is None:
        raise InputError(f"costs: {name} is {ns!r}; it must be a number of ns")
    return [name, number]


def host(
    workload: WorkloadLike,
    *,
    cpus: str | int | Iterable[int] | None = None,
    runs: int = 5,
    duration: Moment | None = None,
    start: str = "wake",
    noise_limit: float = 0.02,
    tries: int | None = None,
    group: PathLike = "auto",
    groups: PathLike | Iterable[PathLike] = (),
    trace: str = "auto",
    leave_out: bool = False,
) -> Measurement:
    """Runs a workload on this machine's own kernel and measures it (Linux only;
    ``docs/live.md``).

    ``workload``: as for :func:`schedlab.run`, except benchmarks. ``cpus``: CPUs of tasks that name
    none, as a number, a list, or ``"0-3,8"``; ``runs``: number of quiet runs requested; ``start``:
    ``"wake"`` or ``"fork"``; ``noise_limit``: share of the CPUs used by others above which a run is
    rejected; ``tries``: maximum number of runs; ``group``: place of the heavily weighted group,
    ``"auto"``, ``"none"`` or a directory; ``groups``: files with settings of the workload's groups;
    ``trace``: ``"auto"``, ``"own"``, ``"all"`` or ``"none"``; ``leave_out``: leave out tasks whose
    requirements cannot be met.

    Raises InputError before anything runs if this user lacks a right, with a remedy. Too much noise
    causes a warning.
    """
    plan = load(workload, None)
    if "workload" not in plan:
        raise InputError("host() runs a workload; give an rt-app file, a dict or tasks")
    if trace not in ("auto", "own", "all", "none"):
        raise InputError(f'trace is {trace!r}; it must be "auto", "own", "all" or "none"')
    if start not in ("wake", "fork"):
        raise InputError(f'start is {start!r}; it must be "wake" or "fork"')
    share = real(noise_limit)
    if share is None or not 0 <= share <= 1:
        raise InputError(f"noise_limit is {noise_limit!r}; it must be a share of the CPUs, 0 to 1")
    if cpus is not None and not isinstance(cpus, str):
        each = [cpus] if not isinstance(cpus, Iterable) else list(cpus)
        cpus = ",".join(str(whole(cpu, "cpus", 0, 4095)) for cpu in each)
    files = [source(path) for path in listed(groups, "groups")]
    asked = {
        "cpus": cpus, "runs": whole(runs, "runs", 1, 1000),
        "duration_ns": None if duration is None else moment_ns(duration, "duration"),
        "start": start, "noise_limit": share,
        "tries": None if tries is None else whole(tries, "tries", 1, 10_000),
        "group": os.fspath(group), "trace": trace, "leave_out": bool(leave_out),
        "groups": [[one["file"], one["text"]] for one in files],
    }
    given = plan["workload"]
    document, is_quiet, messages = _native.host(
        given["file"], given["text"], json.dumps(asked), sys.executable
    )
    if not is_quiet:
        warnings.warn(
            "too noisy: fewer runs than requested are quiet; the result contains all runs",
            SchedlabWarning, stacklevel=2,
        )
    return Measurement(document, given["file"], is_quiet, messages)


def host_probe() -> dict[str, Any]:
    """Operations that this user may perform on this kernel; each one is tried (Linux only)."""
    probe: dict[str, Any] = json.loads(_native.host_probe())
    return probe


class TaskError(NamedTuple):
    """A figure of a task, real and simulated.

    ``real`` and ``simulated`` are minimum, median and maximum of the runs, ns or a count.
    ``error`` is in % of the run's length for times, in % for counts, and simulated / real for
    latencies. ``verdict``: ``met``, ``within_its_range`` or ``missed``; ``differs``: whether the
    real runs differ from each other by more than the threshold.
    """

    workload: str
    placement: str
    task: str
    metric: str
    real: Measured
    simulated: Measured
    error: float
    verdict: str
    differs: bool


class Total(NamedTuple):
    """A metric over all tasks of a kind of measurement, shares in %.

    ``ceiling``: how well one real run predicts the others; None if there was only one.
    """

    kind: str
    metric: str
    tasks: int
    met: float
    within: float
    ceiling: float | None
    differ: float


class Bound(NamedTuple):
    """A requirement of the model, and whether it ``holds``; ``of`` is the number of tasks,
    placements or choices that it covers."""

    kind: str
    what: str
    of: int
    found: float
    bound: float
    at_least: bool
    unit: str
    holds: bool


def _percent(part: int, of: int) -> float:
    return part / max(of, 1) * 100.0


class Witness:
    """Measurements on a real kernel, compared with their simulation."""

    def __init__(self, native: _native.Witness) -> None:
        self._native = native

    @cached_property
    def data(self) -> dict[str, Any]:
        """All results as data: the document ``schedlab-compare/1``."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    @cached_property
    def errors(self) -> list[TaskError]:
        """All figures of all tasks, real and simulated."""
        return [
            TaskError(
                one["name"], one["placement"], task["name"], figure["metric"],
                Measured(*figure["real"]), Measured(*figure["simulated"]), figure["error"],
                figure["verdict"], figure["differs"],
            )
            for one in self.data["placements"]
            for task in one["tasks"]
            for figure in task["figures"]
        ]

    @cached_property
    def totals(self) -> list[Total]:
        """Number of figures that are met, by kind of measurement and metric."""
        return [
            Total(
                kind["class"], metric, sums["tasks"], _percent(sums["met"], sums["tasks"]),
                _percent(sums["within"], sums["tasks"]),
                _percent(*sums["ceiling"]) if sums["ceiling"][1] else None,
                _percent(sums["differ"], sums["tasks"]),
            )
            for kind in self.data["totals"]
            for metric, sums in kind["metrics"].items()
        ]

    @cached_property
    def bounds(self) -> list[Bound]:
        """The requirements of the model."""
        return [
            Bound(one["class"], one["what"], one["count"],
                  *(one[name] for name in Bound._fields[3:]))
            for one in self.data["checks"]
        ]

    @property
    def holds(self) -> bool:
        """Whether all bounds hold."""
        return bool(self.data["holds"])

    @property
    def notes(self) -> list[str]:
        """Notes about the comparison: explanations of differences, omissions."""
        notes = [note for one in self.data["placements"] for note in one["notes"]]
        return notes + [f"left out: {what}" for what in self.data["left_out"]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields a flat dict for each figure of each task."""
        for one in self.errors:
            yield {
                "workload": one.workload, "placement": one.placement, "task": one.task,
                "metric": one.metric, "real_min": one.real.min, "real_median": one.real.median,
                "real_max": one.real.max, "simulated_min": one.simulated.min,
                "simulated_median": one.simulated.median, "simulated_max": one.simulated.max,
                "error": one.error, "verdict": one.verdict, "differs": one.differs,
            }

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame with a row for each figure of a task."""
        import pandas

        return pandas.DataFrame(list(self.rows()))

    def to_json(self) -> str:
        """Returns the document, identical to the output of ``schedlab compare --format json``."""
        return self._native.to_json()

    def to_csv(self) -> str:
        """Returns all figures of all tasks, in the format of ``schedlab compare --format csv``."""
        return self._native.to_csv()

    def text(self, width: int = 80, tasks: bool = True) -> str:
        """Returns the tables; without ``tasks`` only totals and bounds."""
        return self._native.text(text_width(width), tasks)

    def report(self, path: PathLike) -> None:
        """Writes a page for a browser, with the real and the simulated timeline one above the
        other, and overlaid latencies. For a single placement."""
        page = self._native.page()
        if page is None:
            known = [f"{one['placement']} of {one['name']}" for one in self.data["placements"]]
            raise InputError(
                f"a page shows one placement; select one of {', '.join(known)} by "
                "compare(..., placements=...)"
            )
        write(path, page)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        missed = sum(not one.holds for one in self.bounds)
        holds = "all bounds hold" if self.holds else f"{missed} of {len(self.bounds)} bounds missed"
        return f"<Witness: {len(self.data['placements'])} placements, {holds}>"

    def _repr_html_(self) -> str:
        return html_text(self.text())


#: Input of :func:`compare`: the result of :func:`host`, or a file written from it.
MeasuredLike: TypeAlias = "Measurement | PathLike"


def compare(
    measured: MeasuredLike | Iterable[MeasuredLike],
    scheduler: str | None = None,
    *,
    machine: PathLike | None = None,
    costs: Mapping[str, float] | bool | None = None,
    hz: int | None = None,
    set: Mapping[str, int] | None = None,
    runs: int | None = None,
    noise: str = "auto",
    thresholds: Mapping[str, float] | None = None,
    placements: str | Iterable[str] = (),
    threads: int | None = None,
) -> Witness:
    """Compares measurements on a real kernel with their simulation (``docs/live.md``).

    ``measured``: results of :func:`host`, or files (``live-schedule/1``, compressed or not), one
    or several. ``scheduler``: the simulated one (default: that of the kernel's release);
    ``machine``: a preset or a file with costs; ``costs``: single ones, ns, or False for none;
    ``runs``: number of simulations of each placement; ``noise``: model of the work of others,
    ``"auto"``, ``"replay"``, ``"model"`` or ``"none"``; ``thresholds``: permitted differences of
    figures, as ``{"cpu_percent": 1, "latency_us": 50}``; ``placements``: restricts the comparison.
    """
    given: list[Any]
    if isinstance(measured, (Measurement, str, os.PathLike)):
        given = [measured]
    elif isinstance(measured, Iterable):
        given = list(measured)
    else:
        given = [measured]
    documents: list[tuple[str, str | None]] = []
    for one in given:
        if isinstance(one, Measurement):
            documents.append((one.name, one.to_json()))
        elif isinstance(one, (str, os.PathLike)):
            documents.append((os.fspath(one), None))
        else:
            raise InputError(f"{one!r} is not a measurement: give the result of host(), or a file")
    if costs is True:
        raise InputError("costs is True; give a dict of them, or False for none")
    asked = {
        "scheduler": scheduler, "machine": None if machine is None else os.fspath(machine),
        "costs": [] if costs is False else [
            cost(name, ns) for name, ns in mapping(costs, "costs").items()
        ],
        "no_costs": costs is False,
        "hz": None if hz is None else whole(hz, "hz", 1, 10_000),
        "set": [[name, whole(value, name, -(2**63), 2**63 - 1)]
                for name, value in mapping(set, "set").items()],
        "runs": None if runs is None else whole(runs, "runs", 1, 1000),
        "noise": noise, "thresholds": dict(mapping(thresholds, "thresholds")),
        "placements": listed(placements, "placements"),
    }
    return Witness(_native.Witness(documents, json.dumps(asked), count(threads, "threads")))
