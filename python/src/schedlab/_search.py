"""Searches for settings: with Optuna (:func:`study`), or one axis after another."""

from __future__ import annotations

import datetime
import math
import os
import platform
import random
import statistics
import warnings
from collections.abc import Callable
from typing import Any

from ._errors import InputError
from ._problem import RUNGS, Judged, Problem, Rung, mean, of_scheduler, ratio
from ._tuning import Point, Trial

#: Number of earlier runs from which a run is compared with their median.
_KNOWN = 8

#: Age from which a trial of an unknown process is considered abandoned.
_BEGINNING = datetime.timedelta(minutes=1)


class Search:
    """Tries settings in batches, and stores their intermediate results."""

    def __init__(self, problem: Problem, say: Callable[[str], None]) -> None:
        self.problem, self.say = problem, say
        self.defaults = [
            problem.runs(workload, [problem.default()])[0]
            for workload in range(len(problem.spaces))
        ]
        for (name, space), rows in zip(problem.spaces, self.defaults):
            if len(rows) != space.repeat:
                raise InputError("name one scheduler to tune, or several individually")
            failed = next((row["error"] for row in rows if row["error"] is not None), None)
            if failed is not None:
                raise InputError(f"{name}: the default cannot be run: {failed}")
            for goal, value in zip(problem.goals, problem.goal_values(rows[0])):
                if not math.isfinite(value):
                    raise InputError(f"{name}: `{goal}` has no value under the default")
        #: When runs of each workload are judged, ns.
        self.times = [problem.rungs(rows) for rows in self.defaults]
        #: Values of the objectives under the default, by workload.
        self.base = [
            [mean([problem.goal_values(row)[goal] for row in rows])
             for goal in range(len(problem.signs))]
            for rows in self.defaults
        ]

    def rungs(self, workload: int, known: list[Trial]) -> list[Rung]:
        """Returns where runs of a workload end: where they are worse than the median of ``known``
        was."""
        rungs = []
        for place, at_ns in enumerate(self.times[workload]):
            limits: list[float | None] = []
            for seed in range(len(self.defaults[workload])):
                values = []
                for trial in known:
                    way = trial.passed[workload][seed] if workload < len(trial.passed) else []
                    if place < len(way) and (value := way[place]) is not None:
                        values.append(value)
                limits.append(statistics.median(values) if len(values) >= _KNOWN else None)
            rungs.append(Rung(at_ns, limits))
        return rungs

    def evaluate(
        self,
        points: list[Point],
        known: list[Trial] | None = None,
        report: Callable[[int, int, float], bool] = lambda *_: False,
    ) -> list[Trial]:
        """Returns the trials of ``points``. With ``known`` trials, runs end where they are worse
        than those; ``report(place, step, cost so far)`` says whether the rest is also left out."""
        problem = self.problem
        costs: list[list[list[float]]] = [[] for _ in points]
        violations = [[-math.inf] * len(problem.constraints) for _ in points]
        passed: list[list[list[list[float | None]]]] = [[] for _ in points]
        alive = list(range(len(points)))
        pruned: set[int] = set()
        for workload in range(len(problem.spaces)):
            rungs = [] if known is None else self.rungs(workload, known)
            runs = problem.judged(workload, [points[place] for place in alive], rungs)
            first = workload * (len(RUNGS) + 1)
            for place, judged in zip(list(alive), runs):
                rows = [one.row for one in judged]
                passed[place].append([one.passed for one in judged])
                failed = any(row["error"] is not None for row in rows)
                costs[place].append(self._costs(workload, rows, failed))
                for which, worst in enumerate(violations[place]):
                    far = math.inf if failed else problem.violation(
                        which, rows, self.defaults[workload]
                    )
                    violations[place][which] = max(worst, far)
                ended = [one for one in judged if one.ended]
                if ended:
                    reached = min(len(one.passed) for one in ended)
                    report(place, first + reached - 1, self._cost_at(
                        workload, judged, reached - 1, [cost[0] for cost in costs[place][:-1]]
                    ))
                    pruned.add(place)
                    alive.remove(place)
                    continue
                so_far = mean([cost[0] for cost in costs[place]])
                last = workload + 1 == len(problem.spaces)
                if not last and (failed or report(place, first + len(RUNGS), so_far)):
                    pruned.add(place)
                    alive.remove(place)
        return [
            Trial(
                point,
                [mean([cost[goal] for cost in costs[place]])
                 for goal in range(len(problem.signs))],
                violations[place],
                place in pruned,
                passed[place],
            )
            for place, point in enumerate(points)
        ]

    def _costs(self, workload: int, rows: list[dict[str, Any]], failed: bool) -> list[float]:
        """Returns the objectives on a workload, relative to the default's values."""
        values = [self.problem.goal_values(row) for row in rows]
        return [
            math.inf if failed
            else ratio(sign, mean([seed[goal] for seed in values]), self.base[workload][goal])
            for goal, sign in enumerate(self.problem.signs)
        ]

    def _cost_at(
        self, workload: int, judged: list[Judged], rung: int, before: list[float]
    ) -> float:
        """Returns the cost so far of settings whose runs end at a rung of a workload, including the
        costs on earlier workloads."""
        values = [one.passed[rung] for one in judged if rung < len(one.passed)]
        there = mean([value for value in values if value is not None])
        return mean([*before, ratio(self.problem.signs[0], there, self.base[workload][0])])


def _between(low: float, high: float, part: float, log: bool, whole: bool) -> float | int:
    if high < low:
        high = low
    value = low * (high / low) ** part if log else low + (high - low) * part
    return min(max(round(value), math.ceil(low)), math.floor(high)) if whole else value


def _suggest(problem: Problem, trial: Any) -> Point:
    """Returns a point of an Optuna trial; dependent values are derived."""
    point: Point = []
    for place, (name, values, ends) in enumerate(problem.axes):
        only = problem.only[place]
        if only is not None and problem.scheduler is not None:
            chosen = str(point[problem.scheduler])
            if not any(of_scheduler(chosen, one) for one in only):
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


def optuna() -> Any:
    """Imports the library when it is needed."""
    try:
        import optuna as library
    except ImportError as error:
        raise InputError(
            'tuning needs Optuna, which is not installed: pip install "schedlab[optuna]"'
        ) from error
    library.logging.set_verbosity(library.logging.WARNING)
    return library


def _sampler(library: Any, name: str, seed: int, problem: Problem) -> Any:
    def constraints(trial: Any) -> list[float]:
        return [min(it, 1e9) for it in trial.user_attrs.get("violations", [])]

    limits = constraints if problem.constraints else None
    with warnings.catch_warnings():
        # These are known to be experimental.
        warnings.simplefilter("ignore")
        if name == "tpe":
            return library.samplers.TPESampler(
                seed=seed, multivariate=True, group=any(problem.only), constant_liar=True,
                constraints_func=limits,
            )
        if name == "nsga2":
            return library.samplers.NSGAIISampler(
                seed=seed, population_size=16, constraints_func=limits
            )
        if name == "cmaes":
            choices = [axis for axis, values, _ in problem.axes if values is not None]
            if choices:
                raise InputError(
                    f'sampler="cmaes" supports numbers only, and {choices[0]} is a choice; give a '
                    "range for it, or another sampler"
                )
            try:
                import cmaes  # noqa: F401
            except ImportError as error:
                raise InputError(
                    'sampler="cmaes" needs cmaes, which is not installed: pip install cmaes'
                ) from error
            return library.samplers.CmaEsSampler(seed=seed)
        return library.samplers.RandomSampler(seed=seed)


def study(
    search: Search, name: str, budget: int, batch: int, seed: int, storage: Any, key: str,
    prune: bool,
) -> list[Trial]:
    """Runs a search with Optuna: gets a batch, runs it on all cores, reports the results."""
    library = optuna()
    problem = search.problem
    count = len(problem.signs)
    kept = dict(storage=storage, study_name=f"{key} {name}", load_if_exists=True)
    made = library.create_study(
        directions=["minimize"] * count,
        pruner=library.pruners.MedianPruner(n_startup_trials=8) if prune else None,
        **(kept if storage is not None else {}),
    )
    if storage is not None:
        _end_dead(made)
    while True:
        # Other processes may share the storage: their trials also count.
        finished = [it for it in made.get_trials(deepcopy=False) if "trial" in it.user_attrs]
        trials = [Trial(**it.user_attrs["trial"]) for it in finished][:budget]
        if len(trials) >= budget:
            return trials
        # Created again for each batch, so that an interrupted search continues identically.
        drawn = random.Random(f"{seed} {len(trials)}").randrange(2**32)
        made.sampler = _sampler(library, name, drawn, problem)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = [made.ask() for _ in range(min(batch, budget - len(trials)))]
        for trial in asked:
            trial.set_user_attr("process", [platform.node(), os.getpid()])
        trials.extend(_tell(search, made, asked, trials, prune))
        best = min(trials, key=Trial.rank)
        search.say(
            f"{name}: {len(trials)} of {budget} tried, best "
            + ", ".join(f"{cost:.3f}" for cost in best.costs)
            + " of the default" + ("" if best.met else " (constraints not met yet)")
        )


def _end_dead(made: Any) -> None:
    """Ends trials that were begun by processes of this machine which no longer exist."""
    failed = optuna().trial.TrialState.FAIL
    for trial in made.get_trials(deepcopy=False):
        if trial.state.is_finished():
            continue
        node, process = trial.user_attrs.get("process", [None, 0])
        if node is None:
            # A process registers its trial an instant after beginning it.
            started = trial.datetime_start
            if started is None or datetime.datetime.now() - started < _BEGINNING:
                continue
        elif node != platform.node() or _lives(process):
            continue
        made.tell(trial.number, state=failed, skip_if_finished=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _tell(
    search: Search, made: Any, asked: list[Any], known: list[Trial], prune: bool
) -> list[Trial]:
    points = [_suggest(search.problem, trial) for trial in asked]
    prune = prune and len(search.problem.signs) < 2

    def report(place: int, step: int, cost: float) -> bool:
        if not prune or not math.isfinite(cost):
            return False
        asked[place].report(cost, step)
        return bool(asked[place].should_prune())

    results = search.evaluate(points, known if prune else None, report)
    for trial, result in zip(asked, results):
        trial.set_user_attr("violations", [min(it, 1e9) for it in result.violations])
        trial.set_user_attr("trial", {
            "point": result.point, "costs": [min(it, 1e9) for it in result.costs],
            "violations": [min(it, 1e9) for it in result.violations], "pruned": result.pruned,
            "passed": result.passed,
        })
        if result.pruned:
            made.tell(trial, state=optuna().trial.TrialState.PRUNED)
            continue
        penalty = 0.0
        if "CmaEs" in type(made.sampler).__name__:
            # This sampler does not support constraints.
            penalty = 10 * sum(max(it, 0.0) for it in result.violations)
        made.tell(trial, [min(cost + penalty, 1e9) for cost in result.costs])
    return results


def one_at_a_time(search: Search, budget: int) -> list[Trial]:
    """Runs a one-dimensional search: each axis in turn, with the best values so far of the
    others."""
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
