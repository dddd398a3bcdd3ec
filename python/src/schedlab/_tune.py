"""Searching for the settings that are best for a load: :func:`tune`."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _native
from ._apply import command
from ._errors import InputError
from ._objective import Constraint, Objective, parse
from ._plan import make
from ._sources import PathLike, WorkloadLike, benchmark_names
from ._sweep import axis, space_of, t_95

#: What is told besides objectives and constraints, to see what they left out.
BESIDES = (
    "throughput", "wakeup_latency_p99", "wakeup_latency_max", "wait_mean", "wait_max",
    "slowdown_p99", "burst_lag_max", "jain_backlogged", "missed_periods",
)

#: Of these more is better.
_MORE = ("throughput", "jain_backlogged")

#: What got worse by less than this is not told.
WORSE = 0.05

#: So near to an end of its range (a part of it) a value is at the edge.
EDGE = 0.03

#: Held-out seeds begin so far behind those that were searched on.
HELD_OUT_SEEDS_FROM = 1_000_000

SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "one_at_a_time")

#: A value of each axis; None: as it is.
Point = list[Any]


@dataclass
class Trial:
    """Settings that were tried."""

    point: Point
    #: The goals relative to the default, less is better; inf: it could not be run.
    costs: list[float]
    #: How far each constraint is violated, as a part of its limit; at most 0: it is met.
    violations: list[float]
    pruned: bool = False

    @property
    def met(self) -> bool:
        """Whether all constraints are met."""
        return all(violation <= 0 for violation in self.violations)

    def rank(self) -> tuple[bool, bool, float]:
        """The least is the best: runs to its end, meets the constraints, costs least."""
        worst = sum(max(violation, 0.0) for violation in self.violations)
        return (self.pruned, not self.met, worst if not self.met else sum(self.costs))


@dataclass
class Verdict:
    """Settings against the default on held-out workloads and seeds."""

    #: Each goal over the default's: mean over workloads and seeds; half of its 95 % confidence
    #: interval (Student's t over pairs with the same seed).
    ratios: list[tuple[float, float]]
    #: The same for each workload: its name, and of each goal mean and half.
    by_workload: list[tuple[str, list[tuple[float, float]]]]
    #: How many pairs are better, of how many.
    better: tuple[int, int]
    violations: list[float]
    #: What was not asked for and got worse: metric, default, with these settings.
    worse: list[tuple[str, float, float]]

    @property
    def is_better(self) -> bool:
        """Whether it is better with confidence in one goal, worse in none, and meets the
        constraints."""
        sure = any(mean + half < 1 for mean, half in self.ratios)
        none_worse = all(mean - half <= 1 for mean, half in self.ratios)
        return sure and none_worse and all(violation <= 0 for violation in self.violations)


class _Problem:
    """What is evaluated: workloads, what varies, goals."""

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
        told = [f"objective {n} = {goal.expression}" for n, goal in enumerate(objectives)]
        for n, limit in enumerate(constraints):
            told.append(f"constraint {n} = {limit.expression}")
            if limit.part is None:
                told.append(f"limit {n} = {limit.limit}")
        told.extend(f"besides {name} = {name}" for name in BESIDES)
        told.extend(metrics)
        self.threads = threads
        self.spaces: list[tuple[str, Any]] = []
        #: What each axis may not be above: the place of another.
        self.at_most: list[int | None] = []
        self.only: list[list[str] | None] = []
        names = [one["name"] for one in axes]
        plain: list[dict[str, Any]] = []
        for one in axes:
            bound = one.get("at_most")
            if bound is not None and bound not in names:
                bound = f"set.{bound}"
            if bound is not None and bound not in names[: len(plain)]:
                raise InputError(
                    f"axis {one['name']}: at_most names an axis before it; {one['at_most']} is none"
                )
            self.at_most.append(None if bound is None else names.index(bound))
            only = one.get("only")
            self.only.append([only] if isinstance(only, str) else only)
            plain.append({key: one[key] for key in one if key not in ("at_most", "only")})
        for name, plan in plans:
            form = {
                "plan": plan, "axis": plain, "metrics": told, "sample": "latin", "samples": 16,
                "part_runs": 1,
            }
            try:
                self.spaces.append((name, space_of(form)))
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
        space = self.spaces[0][1]
        self.axes: list[tuple[str, Any, Any]] = space.axes()
        bare = space_of({
            "plan": plans[0][1], "axis": plain[:1], "sample": "latin", "samples": 1,
            "metrics": [goal.expression for goal in objectives] or ["throughput"],
        }).metrics()
        self.signs: list[int] = []
        for goal, (_, _, better) in zip(objectives, bare):
            sign = goal.sign or {"less": 1, "more": -1}.get(better)
            if sign is None:
                raise InputError(
                    f"objective `{goal.expression}`: say what is better: minimize or maximize it"
                )
            self.signs.append(sign)
        self.signs.extend(1 for _ in callables)
        self.scheduler = next((n for n, a in enumerate(self.axes) if a[0] == "scheduler"), None)

    @property
    def goals(self) -> list[str]:
        """What the goals are called."""
        texts = [one.expression for one in self.objectives]
        return texts + [name for name, _ in self.callables]

    def default(self) -> Point:
        """Nothing is set."""
        point: Point = [None] * len(self.axes)
        if self.scheduler is not None:
            point[self.scheduler] = self.axes[self.scheduler][1][0]
        return point

    def runs(self, workload: int, points: list[Point]) -> list[list[dict[str, Any]]]:
        """The rows of each point, by seed."""
        space = self.spaces[workload][1].with_points(points)
        rows: list[list[dict[str, Any]]] = [[] for _ in points]

        def ready(_part: int, _data: bytes, columns: list[tuple[str, list[Any]]]) -> None:
            names = [name for name, _ in columns]
            for values in zip(*(values for _, values in columns)):
                row = dict(zip(names, values))
                rows[row["point"]].append(row)

        space.run(list(range(space.parts)), "csv", self.threads, ready, True)
        return rows

    def goal_values(self, row: dict[str, Any]) -> list[float]:
        """The goals of a run, as they are."""
        values = [_number(row[f"objective {n}"]) for n in range(len(self.objectives))]
        for _, call in self.callables:
            known = {name: it for name, it in row.items() if isinstance(it, (int, float))}
            values.append(float(call(known)) if row["error"] is None else math.inf)
        return values

    def violation(self, number: int, rows: list[dict[str, Any]], default: list[Any]) -> float:
        """How far a constraint is violated on a workload."""
        one = self.constraints[number]
        value = _mean([_number(row[f"constraint {number}"]) for row in rows])
        if one.part is None:
            limit = _mean([_number(row[f"limit {number}"]) for row in rows])
        else:
            limit = one.part * _mean([_number(row[f"constraint {number}"]) for row in default])
        if not math.isfinite(value) or not math.isfinite(limit):
            return math.inf
        return one.sign * (value - limit) / (abs(limit) or 1.0)


def _number(value: Any) -> float:
    return math.inf if value is None else float(value)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.inf


def _ratio(sign: int, value: float, default: float) -> float:
    """A goal over the default's; less is better."""
    if sign < 0:
        value, default = default, value
    if not math.isfinite(value):
        return math.inf
    if default == 0:
        # Nothing is to be gained where nothing is lost.
        return 1.0 if value == 0 else math.inf
    return value / default


class _Search:
    """Tries settings, in batches, and remembers them."""

    def __init__(self, problem: _Problem, say: Callable[[str], None]) -> None:
        self.problem, self.say = problem, say
        self.defaults = [
            problem.runs(workload, [problem.default()])[0]
            for workload in range(len(problem.spaces))
        ]
        for (name, space), rows in zip(problem.spaces, self.defaults):
            if len(rows) != space.repeat:
                raise InputError("name one scheduler to be tuned, or several one by one")
            failed = next((row["error"] for row in rows if row["error"] is not None), None)
            if failed is not None:
                raise InputError(f"{name}: the default cannot be run: {failed}")
            for goal, value in zip(problem.goals, problem.goal_values(rows[0])):
                if not math.isfinite(value):
                    raise InputError(f"{name}: `{goal}` has no value under the default")

    def evaluate(
        self,
        points: list[Point],
        prune: Callable[[int, int, float], bool] = lambda *_: False,
    ) -> list[Trial]:
        """The trials of ``points``. ``prune(place, workload, cost so far)`` ends one of them."""
        problem = self.problem
        costs: list[list[list[float]]] = [[] for _ in points]
        violations = [[-math.inf] * len(problem.constraints) for _ in points]
        alive = list(range(len(points)))
        pruned: set[int] = set()
        for workload in range(len(problem.spaces)):
            all_rows = problem.runs(workload, [points[place] for place in alive])
            default = self.defaults[workload]
            goals = [problem.goal_values(row) for row in default]
            base = [_mean([seed[goal] for seed in goals]) for goal in range(len(problem.signs))]
            for place, rows in zip(list(alive), all_rows):
                failed = any(row["error"] is not None for row in rows)
                values = [problem.goal_values(row) for row in rows]
                costs[place].append([
                    math.inf if failed
                    else _ratio(sign, _mean([seed[goal] for seed in values]), base[goal])
                    for goal, sign in enumerate(problem.signs)
                ])
                for number in range(len(problem.constraints)):
                    far = math.inf if failed else problem.violation(number, rows, default)
                    violations[place][number] = max(violations[place][number], far)
                so_far = _mean([cost[0] for cost in costs[place]])
                last = workload + 1 == len(problem.spaces)
                if not last and (failed or prune(place, workload, so_far)):
                    pruned.add(place)
                    alive.remove(place)
        return [
            Trial(
                point,
                [_mean([cost[goal] for cost in costs[place]])
                 for goal in range(len(problem.signs))],
                violations[place],
                place in pruned,
            )
            for place, point in enumerate(points)
        ]


def _between(low: float, high: float, part: float, log: bool, whole: bool) -> float | int:
    if high < low:
        high = low
    value = low * (high / low) ** part if log else low + (high - low) * part
    return min(max(round(value), math.ceil(low)), math.floor(high)) if whole else value


def _suggest(problem: _Problem, trial: Any) -> Point:
    """A point of an Optuna trial; what depends on another is derived from it."""
    point: Point = []
    for place, (name, values, ends) in enumerate(problem.axes):
        only = problem.only[place]
        if only is not None and problem.scheduler is not None:
            chosen = str(point[problem.scheduler])
            if not any(chosen == one or chosen.startswith((f"{one}@", f"{one}["))
                       for one in only):
                point.append(None)
                continue
        if values is not None:
            point.append(values[trial.suggest_categorical(name, list(range(len(values))))])
            continue
        low, high, log, whole = ends
        bound = problem.at_most[place]
        if bound is not None:
            limit = point[bound]
            part = trial.suggest_float(f"{name} (part)", 0.0, 1.0)
            high = high if limit is None else max(low, min(high, float(limit)))
            point.append(_between(low, high, part, log, whole))
        elif whole:
            point.append(trial.suggest_int(name, round(low), round(high), log=log))
        else:
            point.append(trial.suggest_float(name, low, high, log=log))
    return point


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            'tuning needs Optuna, which is not installed: pip install "schedlab[optuna]"'
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _sampler(optuna: Any, name: str, seed: int, problem: _Problem) -> Any:
    import warnings

    def constraints(trial: Any) -> list[float]:
        return [min(it, 1e9) for it in trial.user_attrs.get("violations", [])]

    limits = constraints if problem.constraints else None
    with warnings.catch_warnings():
        # That these are called experimental is known.
        warnings.simplefilter("ignore")
        if name == "tpe":
            return optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=any(problem.only), constant_liar=True,
                constraints_func=limits,
            )
        if name == "nsga2":
            return optuna.samplers.NSGAIISampler(
                seed=seed, population_size=16, constraints_func=limits
            )
        if name == "cmaes":
            choices = [axis for axis, values, _ in problem.axes if values is not None]
            if choices:
                raise InputError(
                    f'sampler="cmaes" takes numbers only, and {choices[0]} is a choice; give a '
                    "range for it, or another sampler"
                )
            try:
                import cmaes  # noqa: F401
            except ImportError as error:
                raise InputError(
                    'sampler="cmaes" needs cmaes, which is not installed: pip install cmaes'
                ) from error
            return optuna.samplers.CmaEsSampler(seed=seed)
        return optuna.samplers.RandomSampler(seed=seed)


def _study(
    search: _Search, name: str, budget: int, batch: int, seed: int, storage: Any, key: str,
    prune: bool,
) -> list[Trial]:
    """A search with Optuna: asks for a batch, runs it on all cores, tells."""
    import warnings

    optuna = _optuna()
    problem = search.problem
    count = len(problem.signs)
    known = dict(storage=storage, study_name=f"{key} {name}", load_if_exists=True)
    study = optuna.create_study(
        directions=["minimize"] * count,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=8) if prune else None,
        **(known if storage is not None else {}),
    )
    done = [it for it in study.trials if it.state.is_finished()]
    # What is asked after a break must not be what was asked before it.
    study.sampler = _sampler(optuna, name, seed + len(done), problem)
    trials = [Trial(**it.user_attrs["trial"]) for it in done if "trial" in it.user_attrs]
    if not done and budget:
        trials.extend(_tell(search, study, [], optuna, problem, prune))
    while len(trials) < budget:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = [study.ask() for _ in range(min(batch, budget - len(trials)))]
        trials.extend(_tell(search, study, asked, optuna, problem, prune))
        best = min(trials, key=Trial.rank)
        search.say(
            f"{name}: {len(trials)} of {budget} tried, best "
            + ", ".join(f"{cost:.3f}" for cost in best.costs)
            + " of the default" + ("" if best.met else " (constraints not met yet)")
        )
    return trials


def _tell(
    search: _Search, study: Any, asked: list[Any], optuna: Any, problem: _Problem, prune: bool
) -> list[Trial]:
    points = [_suggest(problem, trial) for trial in asked]
    if not points:
        return []

    def hopeless(place: int, workload: int, cost: float) -> bool:
        if not prune or len(problem.signs) > 1 or not math.isfinite(cost):
            return False
        asked[place].report(cost, workload)
        return bool(asked[place].should_prune())

    results = search.evaluate(points, hopeless)
    for trial, result in zip(asked, results):
        trial.set_user_attr("violations", [min(it, 1e9) for it in result.violations])
        trial.set_user_attr("trial", {
            "point": result.point, "costs": [min(it, 1e9) for it in result.costs],
            "violations": [min(it, 1e9) for it in result.violations], "pruned": result.pruned,
        })
        if result.pruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        penalty = 0.0
        if "CmaEs" in type(study.sampler).__name__:
            # It knows no constraints.
            penalty = 10 * sum(max(it, 0.0) for it in result.violations)
        study.tell(trial, [min(cost + penalty, 1e9) for cost in result.costs])
    return results


def _one_at_a_time(search: _Search, budget: int) -> list[Trial]:
    """One-dimensional search: each axis in turn, the others as they were best so far."""
    problem = search.problem
    trials: list[Trial] = []
    best = problem.default()
    rank: tuple[bool, bool, float] | None = None
    per_axis = max(1, budget // len(problem.axes))
    for place, (name, values, ends) in enumerate(problem.axes):
        room = per_axis if place + 1 < len(problem.axes) else budget - len(trials)
        tried: list[Any] = []
        if values is not None:
            tried = values[:room]
        else:
            low, high, log, whole = ends
            bound = problem.at_most[place]
            if bound is not None and best[bound] is not None:
                high = max(low, min(high, float(best[bound])))
            for number in range(room):
                part = number / (room - 1) if room > 1 else 0.5
                value = _between(low, high, part, log, whole)
                if value not in tried:
                    tried.append(value)
        points = [[*best[:place], value, *best[place + 1 :]] for value in tried]
        results = search.evaluate(points)
        trials.extend(results)
        for result in results:
            if rank is None or result.rank() < rank:
                rank, best = result.rank(), result.point
        search.say(f"one_at_a_time: {name} done, {len(trials)} of {budget} tried")
    return trials


@dataclass
class Tuning:
    """What a search found."""

    title: str
    goals: list[str]
    constraints: list[str]
    axes: list[str]
    scheduler: str
    sampler: str
    #: All that was tried, by the search and by each yardstick.
    trials: dict[str, list[Trial]]
    #: The best of each.
    best: dict[str, Trial]
    #: The same on held-out workloads and seeds.
    held_out: dict[str, Verdict]
    #: Of several goals: the trials that no other beats.
    front: list[Trial]
    #: How much of the variance of random trials each axis explains alone, 0 to 1.
    importance: dict[str, float]
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def found(self) -> bool:
        """Whether what was found is better than the default, with confidence."""
        return self.held_out[self.sampler].is_better

    @property
    def settings(self) -> dict[str, Any]:
        """The best settings; what is left as it is is not among them."""
        point = self.best[self.sampler].point
        return {name: value for name, value in zip(self.axes, point) if value is not None}

    @property
    def commands(self) -> list[str]:
        """The best settings as one applies them to a machine."""
        scheduler = str(self.settings.get("scheduler", self.scheduler))
        return [command(name, value, scheduler) for name, value in self.settings.items()]

    def report(self) -> str:
        """All of it, as text."""
        lines = [self.title]
        tried = ", ".join(f"{len(trials)} by {name}" for name, trials in self.trials.items())
        lines.append(f"tried: {tried}; {self.seconds:.0f} s")
        lines.append("")
        verdict = self.held_out[self.sampler]
        if self.found:
            lines.append(f"better than the default on held-out runs: {_told(self.goals, verdict)}")
        else:
            lines.append("nothing better than the default was found")
            lines.append(f"the best of the search, on held-out runs: "
                         f"{_told(self.goals, verdict)}")
        for name, own in verdict.by_workload:
            parts = ", ".join(f"{mean:.3f} ± {half:.3f}" for mean, half in own)
            lines.append(f"  {name}: {parts} of the default")
        lines.append("")
        lines.append(f"{'':16}{'searched on':>12}{'held out':>18}{'pairs better':>14}  constraints")
        for name, trial in self.best.items():
            held = self.held_out[name]
            searched = ", ".join(f"{cost:.3f}" for cost in trial.costs)
            ratios = ", ".join(f"{mean:.3f} ± {half:.3f}" for mean, half in held.ratios)
            met = "met" if all(it <= 0 for it in held.violations) else "NOT met"
            better = f"{held.better[0]} of {held.better[1]}"
            lines.append(f"{name:16}{searched:>12}{ratios:>18}{better:>14}  "
                         f"{met if self.constraints else '-'}")
        lines.append("(goals as parts of the default's, less is better; ± is half of the 95 % "
                     "confidence interval, Student's t over pairs of runs with the same seed)")
        if len(self.front) > 1:
            lines.extend(["", f"what no other beats ({', '.join(self.goals)}):"])
            for trial in self.front[:12]:
                costs = ", ".join(f"{cost:.3f}" for cost in trial.costs)
                lines.append(f"  {costs}: {_settings(self.axes, trial.point)}")
        lines.extend(["", "settings:" if self.found else "settings of the best of the search:"])
        lines.extend(f"  {line}" for line in self.commands or ["none: the default"])
        lines.extend(["", "what matters (part of the variance of random trials explained alone):"])
        for name, part in sorted(self.importance.items(), key=lambda item: -item[1]):
            lines.append(f"  {part:5.2f}  {name}")
        if self.warnings:
            lines.append("")
            lines.extend(f"warning: {warning}" for warning in self.warnings)
        return "\n".join(lines) + "\n"

    def to_pandas(self) -> Any:
        """All that was tried, as a pandas DataFrame."""
        import pandas

        rows = []
        for name, trials in self.trials.items():
            for number, trial in enumerate(trials):
                row: dict[str, Any] = {"search": name, "trial": number, "pruned": trial.pruned}
                row.update(zip(self.axes, trial.point))
                row.update(zip(self.goals, trial.costs))
                row["met"] = trial.met
                rows.append(row)
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        return f"<tuning {self.title}: {'found' if self.found else 'nothing better'}>"

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.report())}</pre>"


def _told(goals: list[str], verdict: Verdict) -> str:
    parts = [f"{goal}: {mean:.3f} ± {half:.3f} of the default's"
             for goal, (mean, half) in zip(goals, verdict.ratios)]
    return "; ".join(parts)


def _settings(axes: list[str], point: Point) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in zip(axes, point)
                     if value is not None)


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _spread(values: list[float]) -> tuple[float, float]:
    """Mean, and half of its 95 % confidence interval."""
    count = len(values)
    mean = _mean(values)
    if count < 2 or not math.isfinite(mean):
        return mean, math.inf if count < 2 else 0.0
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, t_95(count - 1) * math.sqrt(variance / count)


def _verdict(problem: _Problem, point: Point) -> Verdict:
    """Settings against the default, run with the same seeds."""
    count = len(problem.signs)
    ratios: list[list[float]] = [[] for _ in range(count)]
    by_workload = []
    violations = [-math.inf] * len(problem.constraints)
    better = pairs = 0
    told: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in BESIDES}
    for workload, (name, _) in enumerate(problem.spaces):
        default, mine = problem.runs(workload, [problem.default(), point])
        own: list[list[float]] = [[] for _ in range(count)]
        for base, row in zip(default, mine):
            values = [
                _ratio(sign, it, was)
                for sign, it, was in zip(
                    problem.signs, problem.goal_values(row), problem.goal_values(base)
                )
            ]
            for goal, value in enumerate(values):
                own[goal].append(value)
            pairs += 1
            better += sum(values) < count
            for metric, (before, after) in told.items():
                was, it = base[f"besides {metric}"], row[f"besides {metric}"]
                if was is not None and it is not None:
                    before.append(was)
                    after.append(it)
        by_workload.append((name, [_spread(values) for values in own]))
        for goal in range(count):
            ratios[goal].extend(own[goal])
        for number in range(len(violations)):
            far = problem.violation(number, mine, default)
            violations[number] = max(violations[number], far)
    worse = []
    for metric, (before, after) in told.items():
        was, it = _mean(before), _mean(after)
        if not before:
            continue
        sign = -1 if metric in _MORE else 1
        if sign * (it - was) > WORSE * abs(was) and it != was:
            worse.append((metric, was, it))
    spreads = [_spread(values) for values in ratios]
    return Verdict(spreads, by_workload, (better, pairs), violations, worse)


def _importance(problem: _Problem, trials: list[Trial]) -> dict[str, float]:
    """How much of the variance of the cost's logarithm the means of an axis's bins explain."""
    usable = [it for it in trials if not it.pruned and 0 < sum(it.costs) < 1e8]
    result: dict[str, float] = {}
    costs = [math.log(sum(it.costs)) for it in usable]
    total = math.fsum((cost - _mean(costs)) ** 2 for cost in costs) if costs else 0.0
    for place, (name, values, _) in enumerate(problem.axes):
        bins: dict[Any, list[float]] = {}
        numbers = sorted(it.point[place] for it in usable
                         if values is None and it.point[place] is not None)
        for it, cost in zip(usable, costs):
            value = it.point[place]
            if values is None and value is not None and numbers:
                # Four bins of equal count.
                value = min(3, 4 * numbers.index(value) // len(numbers))
            bins.setdefault(value, []).append(cost)
        between = math.fsum(
            len(group) * (_mean(group) - _mean(costs)) ** 2 for group in bins.values()
        )
        # What bins of chance alone would explain is taken off.
        chance = (len(bins) - 1) / max(len(costs) - 1, 1)
        part = between / total if total > 0 else 0.0
        result[name] = max(0.0, (part - chance) / max(1 - chance, 1e-9))
    return result


def _edges(problem: _Problem, point: Point) -> list[str]:
    """Values at the edge of their range: what lies behind it was not searched."""
    told = []
    for place, (name, values, ends) in enumerate(problem.axes):
        value = point[place]
        if values is not None or value is None:
            continue
        low, high, log, _ = ends
        part = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        bound = problem.at_most[place]
        if part >= 1 - EDGE or part <= EDGE:
            which = "upper" if part > 0.5 else "lower"
            told.append(f"{name} is {_short(value)}, at the {which} edge of its range "
                        f"({_short(low)} to {_short(high)}): what lies beyond was not tried")
        elif bound is not None and point[bound] is not None and value >= 0.999 * point[bound]:
            told.append(f"{name} is {_short(value)}, as much as {problem.axes[bound][0]} allows")
    return told


def _front(trials: list[Trial]) -> list[Trial]:
    usable = sorted((it for it in trials if not it.pruned and it.met), key=lambda it: it.costs)
    front: list[Trial] = []
    for trial in usable:
        if not any(all(a <= b for a, b in zip(other.costs, trial.costs)) for other in front):
            front.append(trial)
    return front


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, Mapping)) or callable(value):
        return [value]
    return list(value)


def tune(
    workloads: WorkloadLike | Sequence[WorkloadLike],
    schedulers: str | Sequence[str] = "cfs",
    objective: Any = None,
    *,
    space: Mapping[str, Any] | None = None,
    subject_to: str | Sequence[str] = (),
    budget: int = 60,
    seeds: int = 2,
    held_out: WorkloadLike | Sequence[WorkloadLike] | None = None,
    held_out_seeds: int = 8,
    seed: int = 1,
    sampler: str | None = None,
    yardsticks: Sequence[str] = ("random",),
    batch: int = 8,
    prune: bool = True,
    storage: PathLike | None = None,
    threads: int | None = None,
    metrics: Sequence[str] = (),
    title: str | None = None,
    progress: bool | None = None,
    **plan: Any,
) -> Tuning:
    """Searches for the settings that are best for some workloads.

    Parameters
    ----------
    workloads
        What is searched on: what :func:`schedlab.run` takes, one or several; or a tuning's file
        (``.toml``), which says all itself.
    schedulers
        Who is tuned; of several the scheduler is searched for, too, and the first is the default.
    objective
        ``"minimize p99 wakeup latency of audio subject to throughput of cc >= 95 % of default"``;
        several make several goals. A callable gets the metrics of a run by name (name them by
        ``metrics``) and returns what is to be small. Goals count as parts of the default's.
    space
        What may be changed, as ``grid`` of :func:`schedlab.sweep` has it: ranges (``from``, ``to``,
        ``scale``) and lists. ``at_most`` names another entry, above which it never is; ``only``
        the schedulers that it is of.
    subject_to
        More constraints.
    budget
        So many settings are tried, and as many by each of ``yardsticks``.
    seeds, held_out, held_out_seeds
        With how many seeds each workload is run in the search; the workloads (default: the same)
        and the number of seeds by which the result is judged, none of them searched on.
    seed
        Of the search: the same seed gives the same result.
    sampler
        ``"tpe"`` (the default), ``"cmaes"`` (numbers only), ``"nsga2"`` (the default of several
        goals), ``"random"``, ``"one_at_a_time"`` (one-dimensional search).
    yardsticks
        Searches with the same budget to compare with: ``"random"``, ``"one_at_a_time"``.
    batch
        So many settings are tried at a time, on all cores.
    prune
        Whether settings that do badly on the first workloads are not tried on the others.
    storage
        A file in which the search is kept (Optuna's journal); what is there goes on.
    plan
        What :func:`schedlab.run` takes besides: ``cpus``, ``machine``, ``duration`` ...

    Raises
    ------
    InputError
        A mistake in anything, before the first run.
    """
    if isinstance(workloads, (str, os.PathLike)) and os.fspath(workloads).endswith(".toml"):
        return tune_file(os.fspath(workloads), threads=threads, storage=storage, progress=progress)
    goals = _list(objective)
    if not goals:
        raise InputError('objective is missing: what is to be had, as "minimize wait_mean"?')
    texts = [goal for goal in goals if isinstance(goal, str)]
    callables = [(getattr(goal, "__name__", "goal"), goal) for goal in goals
                 if not isinstance(goal, str)]
    objectives, constraints = ([], []) if callables and not texts and not subject_to else parse(
        texts or ["throughput"], _list(subject_to)
    )
    if callables and not texts:
        objectives = []
    sampler = sampler or ("tpe" if len(goals) < 2 else "nsga2")
    for name in (sampler, *yardsticks):
        if name not in SAMPLERS:
            raise InputError(f"there is no sampler {name}; there are {', '.join(SAMPLERS)}")
    if sampler == "cmaes" and len(goals) > 1:
        raise InputError('sampler="cmaes" takes one objective; nsga2 takes several')
    for name, number in (("budget", budget), ("seeds", seeds), ("batch", batch),
                         ("held_out_seeds", held_out_seeds)):
        if not isinstance(number, int) or number < 1:
            raise InputError(f"{name} is {number!r}; it must be a whole number of at least 1")
    _optuna()
    names = [part.strip() for one in _list(schedulers) for part in _split(one)]
    axes = [_axis(*item) for item in (space or {}).items()]
    if not axes and len(names) < 2:
        raise InputError("space is missing: what may be changed?")
    base: list[str] | None = names
    if len(names) > 1:
        axes.insert(0, {"name": "scheduler", "values": names})
        base = names[:1]

    def problem(loads: list[WorkloadLike], repeat: int, first: int) -> _Problem:
        plans = []
        for load in loads:
            made, policies = make(load, base, repeat=repeat, seed=first, record=False, **plan)
            if policies:
                raise InputError("a policy in Python cannot be tuned")
            plans.append((_name(load), made))
        return _Problem(plans, axes, objectives, constraints, callables, metrics, threads)

    loads = _list(workloads)
    if not loads:
        raise InputError("workloads are missing")
    searched = problem(loads, seeds, seed)
    held = problem(_list(held_out) or loads, held_out_seeds, seed + HELD_OUT_SEEDS_FROM)
    told = title or f"{', '.join(names)} for {', '.join(_name(load) for load in loads)}"
    return _search_all(
        told, searched, held, names[0], sampler, list(yardsticks), budget, batch, seed, storage,
        prune, progress,
    )


def _search_all(
    title: str, searched: _Problem, held: _Problem, scheduler: str, sampler: str,
    yardsticks: list[str], budget: int, batch: int, seed: int, storage: PathLike | None,
    prune: bool, progress: bool | None,
) -> Tuning:
    begun = time.monotonic()
    shown = sys.stderr.isatty() if progress is None else progress

    def say(text: str) -> None:
        if shown:
            left = time.monotonic() - begun
            sys.stderr.write(f"{text} ({left:.0f} s)\n")
            sys.stderr.flush()

    search = _Search(searched, say)
    journal, key = None, "search"
    if storage is not None:
        optuna = _optuna()
        texts = [space.json() for _, space in searched.spaces]
        texts.append(json.dumps([searched.signs, seed, [one.text for one in searched.constraints]]))
        key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
        backend = optuna.storages.journal.JournalFileBackend(os.fspath(storage))
        journal = optuna.storages.JournalStorage(backend)
        others = [name for name in optuna.get_all_study_names(journal) if not name.startswith(key)]
        if others:
            raise InputError(
                f"{os.fspath(storage)} holds another search; name another file, or remove it"
            )
    trials: dict[str, list[Trial]] = {}
    for name in dict.fromkeys([sampler, *yardsticks]):
        if name == "one_at_a_time":
            trials[name] = _one_at_a_time(search, budget)
        else:
            # Random trials are not pruned: what matters is read off them.
            may = prune and name != "random"
            trials[name] = _study(search, name, budget, batch, seed, journal, key, may)
    best = {name: min(list_, key=Trial.rank) for name, list_ in trials.items()}
    say("held-out runs")
    verdicts = {name: _verdict(held, trial.point) for name, trial in best.items()}
    warnings = _edges(searched, best[sampler].point)
    verdict = verdicts[sampler]
    for metric, was, it in verdict.worse:
        warnings.append(f"not asked for, and worse: {metric} {was:.4g} -> {it:.4g}")
    for text, far in zip([one.text for one in held.constraints], verdict.violations):
        if far > 0:
            warnings.append(f"not met on held-out runs: {text} (off by {100 * far:.1f} %)")
    for name in yardsticks:
        mine, other = verdict.ratios[0], verdicts[name].ratios[0]
        if name != sampler and other[0] < mine[0]:
            warnings.append(f"{name} found as good or better: {other[0]:.3f} of the default")
    pool = trials.get("random") or [it for list_ in trials.values() for it in list_]
    return Tuning(
        title, searched.goals, [one.text for one in searched.constraints],
        [name for name, _, _ in searched.axes], scheduler, sampler, trials, best, verdicts,
        _front(trials[sampler]) if len(searched.signs) > 1 else [],
        _importance(searched, pool), warnings, time.monotonic() - begun,
    )


def _split(names: str) -> list[str]:
    """Names at commas, but not those in brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(names):
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append(names[start:at])
            start = at + 1
    return [*parts, names[start:]]


def _axis(name: str, values: Any) -> dict[str, Any]:
    extra = {}
    if isinstance(values, Mapping):
        extra = {key: values[key] for key in ("at_most", "only") if key in values}
        values = {key: value for key, value in values.items() if key not in extra}
        if "values" in values:
            values = values["values"]
    made = axis(name, values)
    made.update(extra)
    return made


def _name(load: Any) -> str:
    if isinstance(load, (str, os.PathLike)):
        return os.path.basename(os.fspath(load))
    return str(getattr(load, "name", "workload"))


_KEYS = {
    "title", "workloads", "held_out", "schedulers", "objective", "subject_to", "budget", "seeds",
    "held_out_seeds", "seed", "sampler", "yardsticks", "batch", "prune", "axis", "cpus", "machine",
    "hz", "duration", "set", "at",
}


def tune_file(
    name: str,
    *,
    budget: int | None = None,
    seed: int | None = None,
    storage: PathLike | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Tunes what a file says (``docs/tuning.md``)."""
    text = _native.read_text(name)
    form = json.loads(_native.toml_json(name, text))

    def wrong(quoted: str, message: str) -> InputError:
        at = text.find(quoted)
        if at < 0:
            return InputError(f"{name}: {message}", file=name)
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        return InputError(f"{name}:{line}:{column}: {message}", file=name, line=line,
                          column=column)

    for key in form:
        if key not in _KEYS:
            raise wrong(key, f"unknown key `{key}`; there are {', '.join(sorted(_KEYS))}")
    for key in ("workloads", "objective"):
        if key not in form:
            raise InputError(f"{name}: {key} is missing", file=name)
    directory = os.path.dirname(name)

    def found(one: str) -> str:
        return one if one in benchmark_names() else os.path.join(directory, one)

    beside = [found(one) for one in _list(form.pop("workloads"))]
    held = [found(one) for one in _list(form.pop("held_out", None))]
    space: dict[str, Any] = {}
    for one in form.pop("axis", []):
        one = dict(one)
        if "name" not in one:
            raise InputError(f"{name}: an [[axis]] has no name", file=name)
        space[one.pop("name")] = one
    machine = form.get("machine")
    if machine and os.path.exists(os.path.join(directory, machine)):
        form["machine"] = os.path.join(directory, machine)
    if budget is not None:
        form["budget"] = budget
    if seed is not None:
        form["seed"] = seed
    schedulers = form.pop("schedulers", "cfs")
    objective = form.pop("objective")
    try:
        return tune(
            beside, schedulers, objective, space=space, held_out=held or None, storage=storage,
            threads=threads, progress=progress, **form,
        )
    except InputError as error:
        if error.file is not None:
            raise
        message = str(error)
        quoted = next((f'"{one}"' for one in space if one in message), "\0")
        raise wrong(quoted, message) from None
