"""The problem that a search for settings evaluates: :class:`Problem`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import InputError
from ._objective import Constraint, Objective
from ._sweep import space_of
from ._tuning import Point

#: Metrics reported in addition to objectives and constraints, to show side effects.
BESIDES = (
    "throughput", "wakeup_latency_p99", "wakeup_latency_max", "wait_mean", "wait_max",
    "slowdown_p99", "burst_lag_max", "jain_backlogged", "missed_periods",
)

#: Metrics of these of which higher values are better.
_MORE = ("throughput", "jain_backlogged")

#: Column name of the length of a run, ns.
_LENGTH = "besides length"

#: Fractions of the default's length at which runs are judged.
RUNGS = (0.25, 0.5)


@dataclass
class Rung:
    """A time at which a run is judged by the first objective."""

    at_ns: int
    #: Limit by seed: a worse run ends there; ``None``: no run ends.
    limits: list[float | None]


@dataclass
class Judged:
    """A run that was judged before its end."""

    row: dict[str, Any]
    #: Value of the first objective at each rung that the run reached; ``None``: no value.
    passed: list[float | None]
    #: Whether the last of these rungs ended it.
    ended: bool


class Problem:
    """The problem: workloads, axes, objectives."""

    def __init__(
        self,
        plans: list[tuple[str, dict[str, Any]]],
        axes: list[dict[str, Any]],
        objectives: list[Objective],
        constraints: list[Constraint],
        callables: list[tuple[str, Callable[[Mapping[str, float]], float]]],
        metrics: Sequence[str],
        threads: int | None,
    ) -> None:
        self.objectives, self.constraints, self.callables = objectives, constraints, callables
        reported = [f"objective {n} = {goal.expression}" for n, goal in enumerate(objectives)]
        for n, limit in enumerate(constraints):
            reported.append(f"constraint {n} = {limit.expression}")
            if limit.part is None:
                reported.append(f"limit {n} = {limit.limit}")
        reported.append(f"{_LENGTH} = length")
        reported.extend(f"besides {name} = {name}" for name in BESIDES)
        reported.extend(metrics)
        self.threads = threads
        self.spaces: list[tuple[str, Any]] = []
        #: Upper bound of each axis: the index of another axis.
        self.at_most: list[int | None] = []
        self.only: list[list[str] | None] = []
        names = [one["name"] for one in axes]
        plain: list[dict[str, Any]] = []
        for one in axes:
            bound = one.get("at_most")
            if bound is not None and not isinstance(bound, str):
                raise InputError(f"axis {one['name']}: at_most is {bound!r}; it must name an axis")
            if bound is not None and bound not in names:
                bound = f"set.{bound}"
            if bound is not None and bound not in names[: len(plain)]:
                raise InputError(
                    f"axis {one['name']}: at_most must name an earlier axis; {one['at_most']} is "
                        "not one"
                )
            self.at_most.append(None if bound is None else names.index(bound))
            only = one.get("only")
            only = [only] if isinstance(only, str) else only
            if only is not None and (
                not isinstance(only, Sequence) or not all(isinstance(it, str) for it in only)
            ):
                raise InputError(f"axis {one['name']}: only is {only!r}; it must name schedulers")
            self.only.append(None if only is None else list(only))
            plain.append({key: one[key] for key in one if key not in ("at_most", "only")})
        for name, plan in plans:
            form = {
                "plan": plan, "axis": plain, "metrics": reported, "sample": "latin", "samples": 16,
                "part_runs": 1,
            }
            try:
                self.spaces.append((name, space_of(form)))
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
        space = self.spaces[0][1]
        self.axes: list[tuple[str, Any, Any]] = space.axes()
        better_of = {name: better for name, _, better in space.metrics()}
        self.signs: list[int] = []
        for n, goal in enumerate(objectives):
            sign = goal.sign or {"less": 1, "more": -1}.get(better_of[f"objective {n}"])
            if sign is None:
                raise InputError(
                    f"objective `{goal.expression}`: specify minimize or maximize"
                )
            self.signs.append(sign)
        self.signs.extend(1 for _ in callables)
        self.scheduler = next((n for n, a in enumerate(self.axes) if a[0] == "scheduler"), None)
        self._check_bounds()
        self._check_only()

    def _check_bounds(self) -> None:
        """Checks that there is a value below every possible value of a bound."""
        for (name, values, ends), bound in zip(self.axes, self.at_most):
            if bound is None:
                continue
            if values is not None:
                raise InputError(f"axis {name}: at_most applies to ranges, and this is a list")
            other, choices, range_ = self.axes[bound]
            if choices is None:
                least = range_[0]
            elif all(isinstance(one, (int, float)) for one in choices):
                least = min(choices)
            else:
                raise InputError(f"axis {name}: at_most names {other}, which is not numeric")
            if ends[0] > least:
                raise InputError(
                    f"axis {name}: it begins at {ends[0]:.6g}, but must be at most {other}, which "
                    f"begins at {least:.6g}; begin it there, or lower"
                )

    def _check_only(self) -> None:
        """Checks that restricted axes belong to schedulers that are searched for."""
        for (name, *_), only in zip(self.axes, self.only):
            if only is None:
                continue
            if self.scheduler is None:
                raise InputError(f"axis {name}: only applies to searches with several schedulers")
            known = [str(one) for one in self.axes[self.scheduler][1]]
            for one in only:
                if not any(of_scheduler(scheduler, one) for scheduler in known):
                    raise InputError(
                        f"axis {name}: only names {one}, which is not searched for; the schedulers "
                        f"are {', '.join(known)}"
                    )

    @property
    def goals(self) -> list[str]:
        """Names of the objectives."""
        texts = [one.expression for one in self.objectives]
        return texts + [name for name, _ in self.callables]

    def default(self) -> Point:
        """Returns the point at which nothing is set."""
        point: Point = [None] * len(self.axes)
        if self.scheduler is not None:
            point[self.scheduler] = self.axes[self.scheduler][1][0]
        return point

    def runs(self, workload: int, points: list[Point]) -> list[list[dict[str, Any]]]:
        """Returns the rows of each point, by seed."""
        judged = self.judged(workload, points, [])
        return [[one.row for one in runs] for runs in judged]

    def judged(
        self, workload: int, points: list[Point], rungs: list[Rung]
    ) -> list[list[Judged]]:
        """Returns the runs of each point, by seed, judged at ``rungs`` by the first objective."""
        space = self.spaces[workload][1].with_points(points)
        more = self.signs[0] < 0
        asked = [(rung.at_ns, "objective 0", more, rung.limits) for rung in rungs]
        columns, passed, ended = space.run_judged(asked, self.threads)
        runs: list[list[Judged]] = [[] for _ in points]
        names = [name for name, _ in columns]
        for values, way, end in zip(zip(*(values for _, values in columns)), passed, ended):
            row = dict(zip(names, values))
            runs[row["point"]].append(Judged(row, way, end))
        return runs

    def goal_values(self, row: dict[str, Any]) -> list[float]:
        """Returns the values of the objectives of a run."""
        values = [number(row[f"objective {n}"]) for n in range(len(self.objectives))]
        for _, call in self.callables:
            known = {name: it for name, it in row.items() if isinstance(it, (int, float))}
            values.append(float(call(known)) if row["error"] is None else math.inf)
        return values

    def violation(self, which: int, rows: list[dict[str, Any]], default: list[Any]) -> float:
        """Returns the extent to which a constraint is violated on a workload."""
        one = self.constraints[which]
        value = mean([number(row[f"constraint {which}"]) for row in rows])
        if one.part is None:
            limit = mean([number(row[f"limit {which}"]) for row in rows])
        else:
            limit = one.part * mean([number(row[f"constraint {which}"]) for row in default])
        if not math.isfinite(value) or not math.isfinite(limit):
            return math.inf
        return one.sign * (value - limit) / (abs(limit) or 1.0)

    def rungs(self, default: list[dict[str, Any]]) -> list[int]:
        """Times at which runs of a workload are judged, ns: fractions of the default's length."""
        length = mean([number(row[_LENGTH]) for row in default])
        if not self.objectives or not math.isfinite(length):
            return []
        times = (round(length * part) for part in RUNGS)
        return sorted({at_ns for at_ns in times if at_ns > 0})


def of_scheduler(scheduler: str, name: str) -> bool:
    """Whether ``name`` means ``scheduler``, which may be followed by a release and settings."""
    return scheduler == name or scheduler.startswith((f"{name}@", f"{name}[", f"{name}:"))


def number(value: Any) -> float:
    return math.inf if value is None else float(value)


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.inf


def ratio(sign: int, value: float, default: float) -> float:
    """Returns an objective relative to the default's value; lower is better."""
    if not math.isfinite(value):
        return math.inf
    if sign < 0:
        value, default = default, value
    if default == 0:
        # No gain is possible where there is no cost.
        return 1.0 if value == 0 else math.inf
    return value / default
