"""Many runs of one workload with varying parts: :func:`sweep`."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from . import _engines, _native
from ._errors import InputError, SchedlabWarning
from ._files import write
from ._plan import Scheduler, check_keywords, listed, make, mapping
from ._sources import PathLike, WorkloadLike, refuse_beside
from ._units import count, whole

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._sweep_plot import SweepPlots

#: Names without a dot that may vary; any other name is a tunable's, or accepted by ``set``.
_BARE = ("scheduler", "cpus", "machine", "hz", "seed", "duration")


def axis(name: str, values: Any) -> dict[str, Any]:
    """Returns an axis of a sweep's file: ``values`` is a list, a ``range``, or a dict with
    ``from``, ``to`` and ``steps``, ``step``, ``scale`` or ``integer``."""
    known = name in _BARE or name.split(".")[0] in (
        "set", "cost", "workload", "policy", "affinity", "slice", "parameter"
    ) and "." in name
    full = name if known else f"set.{name}"
    if isinstance(values, Mapping):
        return {"name": full, **{key: _plain(value) for key, value in values.items()}}
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: {values!r} is neither a list of values nor a range")
    return {"name": full, "values": [_plain(value) for value in values]}


def _plain(value: Any) -> Any:
    """Returns a value in JSON's types."""
    if hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, (str, int, float, type(None))):
        raise InputError(f"{value!r} cannot vary: give a number or a text")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{value} is not a finite number")
    if isinstance(value, bool):
        return int(value)
    return value


def sobol(space: Any, samples: int, seed: int) -> list[list[Any]]:
    """Returns the given number of points of Sobol's sequence, scrambled by ``seed``."""
    try:
        from scipy.stats import qmc
    except ImportError as error:
        raise InputError(
            'sample="sobol" needs SciPy, which is not installed: pip install scipy'
        ) from error
    with warnings.catch_warnings():
        # The better balance of powers of two is documented.
        warnings.simplefilter("ignore", UserWarning)
        parts = qmc.Sobol(len(space.axes()), scramble=True, rng=seed).random(samples)
    return space.at(np.minimum(parts, 1 - 1e-12).tolist())  # type: ignore[no-any-return]


def space_of(form: dict[str, Any], beside: str = "") -> Any:
    """Returns the engine's space for a form (a dict as in ``docs/sweeps.md``)."""
    if form.get("sample") == "sobol" and "points" not in form:
        samples = form.get("samples")
        if not isinstance(samples, int) or samples < 1:
            raise InputError("samples is missing: give the number of points")
        drawn = {**form, "sample": "latin"}
        space = _native.Space.made(json.dumps(drawn), beside)
        points = sobol(space, samples, form.get("sample_seed", 1))
        form = {**form, "points": points}
        for key in ("sample", "samples", "sample_seed"):
            form.pop(key, None)
    return _native.Space.made(json.dumps(form), beside)


def sweep(
    workload: WorkloadLike,
    grid: Mapping[str, Any] | None = None,
    *,
    schedulers: Scheduler | Iterable[Scheduler] | None = None,
    metrics: str | Sequence[str] = (),
    sample: str = "grid",
    samples: int | None = None,
    sample_seed: int = 1,
    points: Sequence[Sequence[Any]] | None = None,
    repeat: int | None = None,
    seed: int | None = None,
    engine: Any = "threads",
    address: str | None = None,
    workers: int | None = None,
    out: PathLike | None = None,
    resume: bool = True,
    parts: str | None = None,
    part_runs: int | None = None,
    progress: bool | None = None,
    **plan: Any,
) -> Sweep:
    """Runs a workload many times, with any part of it varied.

    Parameters
    ----------
    workload
        As for :func:`schedlab.run`; or the file of a sweep (TOML, or the same as JSON), which
        specifies everything.
    grid
        The axes and their values: ``{"sched_latency_ns": [6e6, 24e6], "cpus": range(1, 5),
        "workload.tasks.video.run": {"from": 1000, "to": 9000, "steps": 5}}``. ``docs/sweeps.md``
        lists the names; a name without a dot is a tunable, or is accepted by ``set`` of
        :func:`run`.
    schedulers
        Schedulers under which each point is run. (``"scheduler"`` in ``grid`` also varies it.)
    metrics
        Metrics reported for each run: ids of ``docs/metrics.md``,
        ``"key_wakeup_latency_p99(audio)"``, ``"p99 wakeup latency of audio"``, ``"figure(time)"``
        of a benchmark, and arithmetic with them. A name in front (``"lag = burst_lag_max / 1ms"``)
        is that of the column. Times are ns.
    sample, samples, sample_seed
        ``"grid"``: every combination; ``"random"``, ``"latin"`` (a Latin hypercube), ``"sobol"``
        (needs SciPy): a number of points. The same seed gives the same points.
    points
        Explicit points: a value for each entry of ``grid``.
    repeat, seed
        Number of seeds with which each point is run, and the first seed.
    engine
        ``"threads"``: in this process, on all cores. ``"ray"``, ``"dask"``: on a cluster, either
        started on this machine or at ``address``; a Dask client, or an executor of
        ``concurrent.futures``. All give the same bytes. (Scripts that start local clusters need
        ``if __name__ == "__main__":``.)
    workers
        Number of threads, or of workers of a local cluster; default: one for each core.
    out
        A directory for the results, in parts (Parquet or CSV), each written when it is complete.
        An interrupted sweep continues there, unless ``resume`` is False.
    parts, part_runs
        ``"parquet"`` or ``"csv"``; approximate number of runs in a part.
    progress
        Whether to show progress on standard error; default: if that is a terminal.
    plan
        Other arguments of :func:`schedlab.run`: ``cpus``, ``machine``, ``set``, ``duration`` ...

    Raises
    ------
    InputError
        A mistake in anything, before the first run.
    """
    if isinstance(workload, (str, os.PathLike)) and _says_all(os.fspath(workload)):
        given = {
            "grid": grid, "points": points, "sample": sample, "samples": samples,
            "sample_seed": sample_seed, "repeat": repeat, "schedulers": schedulers, "seed": seed,
            "part_runs": part_runs, **plan,
        }
        refuse_beside(sweep, workload, given)
        space = read_file(os.fspath(workload), metrics)
    else:
        check_keywords("sweep", plan)
        axes = mapping(grid, "grid").items()
        form: dict[str, Any] = {"axis": [axis(*item) for item in axes]}
        names = [one["name"] for one in form["axis"]]
        fixed = {"scheduler": schedulers, "seed": seed, **plan}
        for name in names:
            if fixed.get(name) is not None:
                raise InputError(f"{name} varies, and is also given; leave one of them out")
        if points is not None and (sample != "grid" or samples is not None):
            raise InputError("points are given: sample and samples have no effect; leave them out")
        if sample == "grid" and sample_seed != 1:
            raise InputError("sample_seed has no effect on a grid, which is not random")
        if "record" in plan:
            raise InputError("a sweep does not record slices: leave record out")
        if "scheduler" in names and schedulers is None:
            schedulers = [str(value) for value in form["axis"][names.index("scheduler")]["values"]]
        made, policies = make(
            workload, schedulers, repeat=repeat, seed=seed, record=False, **plan
        )
        if policies:
            raise InputError("a policy written in Python cannot be swept; use schedlab.run()")
        form["plan"] = made
        if metrics:
            form["metrics"] = listed(metrics, "metrics")
        if sample != "grid":
            form.update(sample=sample, sample_seed=sample_seed)
        if samples is not None:
            form["samples"] = whole(samples, "samples", 1)
        if points is not None:
            if not all(isinstance(point, Sequence) for point in points):
                raise InputError("points must be lists with a value for each entry of grid")
            form["points"] = [[_plain(value) for value in point] for point in points]
        if part_runs is not None:
            form["part_runs"] = whole(part_runs, "part_runs", 1)
        space = space_of(form)
    for note in space.notes:
        warnings.warn(note, SchedlabWarning, stacklevel=2)
    return execute(
        space, engine=engine, address=address, workers=workers, out=out, resume=resume,
        parts=parts, progress=progress,
    )


def _says_all(name: str) -> bool:
    """Whether a file describes a sweep, and not a workload."""
    if name.endswith(".toml"):
        return True
    if not name.endswith(".json") or not os.path.isfile(name):
        return False
    try:
        form = json.loads(_native.read_text(name))
    except ValueError:
        return False
    return isinstance(form, dict) and "axis" in form and "tasks" not in form


def read_file(name: str, metrics: str | Sequence[str] = ()) -> Any:
    """Returns the space in the file of a sweep."""
    text = _native.read_text(name)
    form = json.loads(_native.toml_json(name, text))
    if not metrics and form.get("sample") != "sobol":
        return _native.Space(name, text)
    if metrics:
        form["metrics"] = listed(metrics, "metrics")
    return space_of(form, os.path.dirname(name))


def execute(
    space: Any,
    *,
    engine: Any = "threads",
    address: str | None = None,
    workers: int | None = None,
    out: PathLike | None = None,
    resume: bool = True,
    parts: str | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Makes all missing runs of a space."""
    form = parts or _native.part_form()
    workers = count(workers, "workers")
    store = None
    missing = list(range(space.parts))
    pieces: dict[int, bytes] = {}
    if out is not None:
        store = _native.Store(os.fspath(out), space, form, _native.program)
        missing = store.missing()
        if len(missing) < space.parts and not resume:
            raise InputError(f"{os.fspath(out)} has results already, and resume is False")
        for part in sorted(set(range(space.parts)) - set(missing)):
            pieces[part] = store.read(part)
    shown = _Progress(space, len(missing), progress)

    def ready(part: int, data: bytes) -> None:
        if store is not None:
            store.write(part, data)
        pieces[part] = data
        shown.step(data, form)

    try:
        _engines.run(
            space, missing, form, ready, engine=engine, address=address, workers=workers
        )
    finally:
        shown.close()
    return Sweep(space, form, [pieces[part] for part in sorted(pieces)])


class _Progress:
    """Progress of a sweep in a line on standard error: time left, best result so far."""

    def __init__(self, space: Any, parts: int, asked: bool | None) -> None:
        self.space = space
        self.stream: TextIO = sys.stderr
        self.on = self.stream.isatty() if asked is None else asked
        self.parts, self.done, self.begun = parts, 0, time.monotonic()
        goals = [metric for metric in space.metrics() if metric[2] != "neither"]
        self.goal = goals[0] if goals else None
        self.best: float | None = None

    def step(self, data: bytes, form: str) -> None:
        self.done += 1
        if not self.on:
            return
        columns = self.space.decode(form, data)
        if self.goal is not None:
            name, _, better = self.goal
            values = [value for value in dict(columns)[name] if value is not None]
            if values:
                best = min(values) if better == "less" else max(values)
                if self.best is None or (best < self.best) == (better == "less"):
                    self.best = best
        left = (time.monotonic() - self.begun) / self.done * (self.parts - self.done)
        best = ""
        if self.goal is not None and self.best is not None:
            best = f", best {self.goal[0]} {self.best:.6g}"
        text = f"{self.done} of {self.parts} parts, {left:.0f} s left{best}"
        self.stream.write(f"\r{text:<78}")
        self.stream.flush()

    def close(self) -> None:
        if self.on and self.done:
            self.stream.write("\n")
            self.stream.flush()


class Sweep:
    """The results of a sweep: a row for each run.

    Columns: ``point``, ``repetition``, ``seed``, ``scheduler``, the axes, ``end``, ``error`` (None
    for a successful run), and the requested metrics. Times are ns.
    """

    def __init__(self, space: Any, form: str, parts: list[bytes]) -> None:
        self._space, self._form, self._parts = space, form, parts
        self._kinds: dict[str, str] = dict(space.columns())
        self._columns: dict[str, list[Any]] = {name: [] for name in self._kinds}
        for part in parts:
            for name, values in space.decode(form, part):
                self._columns[name].extend(values)

    def __len__(self) -> int:
        return len(self._columns["point"])

    def __repr__(self) -> str:
        return f"<sweep {self.title}: {self._space.points} points, {len(self)} runs>"

    @property
    def title(self) -> str:
        """Title of the sweep."""
        return self._space.title  # type: ignore[no-any-return]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def axes(self) -> list[str]:
        """Names of the axes."""
        return [name for name, _, _ in self._space.axes()]

    @property
    def metrics(self) -> list[str]:
        """Names of the requested metrics."""
        return [name for name, _, _ in self._space.metrics()]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows of the runs that failed."""
        return [row for row in self.rows() if row["error"] is not None]

    def rows(self) -> list[dict[str, Any]]:
        """Returns all rows as dicts."""
        names = list(self._columns)
        return [dict(zip(names, row)) for row in zip(*self._columns.values())]

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Returns a column as an array; unknown values are NaN."""
        if name not in self._columns:
            known = ", ".join(self._columns)
            raise InputError(f"there is no column {name}; the columns are {known}")
        values = self._columns[name]
        if self._kinds[name] == "text":
            return np.array(values, dtype=object)
        if self._kinds[name] == "int" and None not in values:
            return np.array(values, dtype=np.int64)
        return np.array([math.nan if it is None else it for it in values], dtype=float)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self.column(name)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns all rows as a pandas DataFrame."""
        import pandas

        frame = {}
        for name, values in self._columns.items():
            whole = self._kinds[name] == "int" and None in values
            frame[name] = pandas.array(values, dtype="Int64") if whole else self.column(name)
        return pandas.DataFrame(frame)

    def to_arrow(self) -> pyarrow.Table:
        """Returns all rows as a pyarrow Table."""
        import pyarrow

        types = {"int": pyarrow.int64(), "real": pyarrow.float64(), "text": pyarrow.string()}
        arrays = {
            name: pyarrow.array(values, types[self._kinds[name]])
            for name, values in self._columns.items()
        }
        return pyarrow.table(arrays)

    def to_polars(self) -> polars.DataFrame:
        """Returns all rows as a polars DataFrame."""
        import polars

        types = {"int": polars.Int64, "real": polars.Float64, "text": polars.String}
        series = [
            polars.Series(name, values, types[self._kinds[name]], strict=False)
            for name, values in self._columns.items()
        ]
        return polars.DataFrame(series)

    def to_csv(self) -> str:
        """Returns all rows as CSV, identical to the output of ``schedlab sweep --format csv``."""
        return self._space.shown(self._form, self._parts, "csv")  # type: ignore[no-any-return]

    def table(self) -> str:
        """Returns the best of each metric, and the points, as ``schedlab sweep`` prints them."""
        return self._space.shown(self._form, self._parts, "table")  # type: ignore[no-any-return]

    def page(self) -> str:
        """Returns the page for a browser: curves, heat maps, Pareto front, all points."""
        return self._space.shown(self._form, self._parts, "page")  # type: ignore[no-any-return]

    def report(self, path: PathLike) -> None:
        """Writes :meth:`page` into a file."""
        write(path, self.page())

    def summary(self) -> list[dict[str, Any]]:
        """Returns a row for each point and scheduler: for every metric, the mean over seeds under
        its name, and half of the 95 % confidence interval (Student's t; None for one seed) as
        ``NAME ±``."""
        result = []
        for point, scheduler, means in self._space.summary(self._form, self._parts):
            row: dict[str, Any] = {"point": point}
            row.update(zip(self.axes, self._space.point(point)))
            row["scheduler"] = scheduler
            for name, (mean, half) in zip(self.metrics, means):
                row[name] = mean
                row[f"{name} ±"] = half
            result.append(row)
        return result

    def _better(self, metric: str | None, better: str | None) -> tuple[str, str]:
        known = {name: which for name, _, which in self._space.metrics()}
        if metric is None:
            goals = [name for name, which in known.items() if which != "neither"]
            if not goals:
                raise InputError("no metric has a better direction; name one")
            metric = goals[0]
        if metric not in known:
            raise InputError(f"there is no metric {metric}; the metrics are {', '.join(known)}")
        better = better or known[metric]
        if better not in ("less", "more"):
            raise InputError(f'{metric}: specify better="less" or better="more"')
        return metric, better

    def best(self, metric: str | None = None, *, better: str | None = None) -> dict[str, Any]:
        """Returns the row of :meth:`summary` with the best mean of ``metric`` (default: the
        first)."""
        metric, better = self._better(metric, better)
        rows = [row for row in self.summary() if row[metric] is not None]
        if not rows:
            raise InputError(f"no run has a value of {metric}")
        sign = 1 if better == "less" else -1
        return min(rows, key=lambda row: sign * row[metric])

    def pareto(self, *metrics: str) -> list[dict[str, Any]]:
        """Returns the Pareto front: the rows of :meth:`summary` that no other row improves in one
        of ``metrics`` without being worse in another."""
        goals = [self._better(metric, None) for metric in metrics or self.metrics[:2]]
        rows = [row for row in self.summary() if all(row[name] is not None for name, _ in goals)]

        def costs(row: dict[str, Any]) -> list[float]:
            return [row[name] if better == "less" else -row[name] for name, better in goals]

        front: list[dict[str, Any]] = []
        for row in sorted(rows, key=costs):
            mine = costs(row)
            beaten = any(
                all(a <= b for a, b in zip(costs(other), mine)) and costs(other) != mine
                for other in front
            )
            if not beaten:
                front.append(row)
        return front

    @property
    def plot(self) -> SweepPlots:
        """Plots, with matplotlib: ``plot.curve()``, ``plot.heatmap()``,
        ``plot.pareto()``."""
        from ._sweep_plot import SweepPlots

        return SweepPlots(self)

    def _repr_html_(self) -> str:
        from ._html import table

        rows = self.summary()
        names = [name for name in (rows[0] if rows else {}) if not name.endswith(" ±")]
        shown = [["" if row[name] is None else _short(row[name]) for name in names]
                 for row in rows[:50]]
        more = f"{len(rows)} points and schedulers" + (", the first 50" if len(rows) > 50 else "")
        return table(names, shown, more)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
