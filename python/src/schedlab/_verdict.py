"""Quality of the settings that a search found: on held-out runs, with the importance of axes."""

from __future__ import annotations

import math
from typing import Any

from . import _native
from ._problem import BESIDES, Problem, mean, ratio
from ._tuning import Point, Trial, Verdict, short

#: Metrics of which higher values are better.
_MORE = ("throughput", "jain_backlogged")

#: Relative deterioration below which a metric is not reported.
WORSE = 0.05

#: Distance from an end of its range, as a fraction of it, below which a value is at the edge.
EDGE = 0.03


def spread(values: list[float]) -> tuple[float, float]:
    """Returns the mean, and half of its 95 % confidence interval."""
    count = len(values)
    middle = mean(values)
    if count < 2 or not math.isfinite(middle):
        return middle, math.inf if count < 2 else 0.0
    variance = math.fsum((value - middle) ** 2 for value in values) / (count - 1)
    return middle, _native.t_95(count - 1) * math.sqrt(variance / count)


def verdict(problem: Problem, point: Point) -> Verdict:
    """Compares settings with the default, run with the same seeds."""
    count = len(problem.signs)
    ratios: list[list[float]] = [[] for _ in range(count)]
    by_workload = []
    violations = [-math.inf] * len(problem.constraints)
    better = pairs = 0
    side_effects: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in BESIDES}
    for workload, (name, _) in enumerate(problem.spaces):
        default, mine = problem.runs(workload, [problem.default(), point])
        own: list[list[float]] = [[] for _ in range(count)]
        for base, row in zip(default, mine):
            values = [
                ratio(sign, it, was)
                for sign, it, was in zip(
                    problem.signs, problem.goal_values(row), problem.goal_values(base)
                )
            ]
            for goal, value in enumerate(values):
                own[goal].append(value)
            pairs += 1
            better += sum(values) < count
            for metric, (before, after) in side_effects.items():
                was, it = base[f"besides {metric}"], row[f"besides {metric}"]
                if was is not None and it is not None:
                    before.append(was)
                    after.append(it)
        by_workload.append((name, [spread(values) for values in own]))
        for goal in range(count):
            ratios[goal].extend(own[goal])
        for which, worst in enumerate(violations):
            violations[which] = max(worst, problem.violation(which, mine, default))
    worse = []
    for metric, (before, after) in side_effects.items():
        was, it = mean(before), mean(after)
        if not before:
            continue
        sign = -1 if metric in _MORE else 1
        if sign * (it - was) > WORSE * abs(was) and it != was:
            worse.append((metric, was, it))
    spreads = [spread(values) for values in ratios]
    return Verdict(spreads, by_workload, (better, pairs), violations, worse)


def importance(problem: Problem, trials: list[Trial]) -> dict[str, float]:
    """Returns the fraction of the variance of the cost's logarithm that the means of an axis's bins
    explain."""
    usable = [it for it in trials if not it.pruned and 0 < sum(it.costs) < 1e8]
    result: dict[str, float] = {}
    costs = [math.log(sum(it.costs)) for it in usable]
    total = math.fsum((cost - mean(costs)) ** 2 for cost in costs) if costs else 0.0
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
            len(group) * (mean(group) - mean(costs)) ** 2 for group in bins.values()
        )
        # The fraction that random bins would explain is subtracted.
        chance = (len(bins) - 1) / max(len(costs) - 1, 1)
        part = between / total if total > 0 else 0.0
        result[name] = max(0.0, (part - chance) / max(1 - chance, 1e-9))
    return result


def edges(problem: Problem, point: Point) -> list[str]:
    """Values at the edge of their range, beyond which nothing was tried."""
    found = []
    for place, (name, values, ends) in enumerate(problem.axes):
        value = point[place]
        if values is not None or value is None:
            continue
        low, high, log, _ = ends
        part = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        bound = problem.at_most[place]
        if part >= 1 - EDGE or part <= EDGE:
            which = "upper" if part > 0.5 else "lower"
            found.append(f"{name} is {short(value)}, at the {which} edge of its range "
                         f"({short(low)} to {short(high)}): values beyond were not tried")
        elif bound is not None and point[bound] is not None and value >= 0.999 * point[bound]:
            found.append(f"{name} is {short(value)}, the most that {problem.axes[bound][0]} permits")
    return found


def front(trials: list[Trial]) -> list[Trial]:
    """Returns the Pareto front of the trials."""
    usable = sorted((it for it in trials if not it.pruned and it.met), key=lambda it: it.costs)
    unbeaten: list[Trial] = []
    for trial in usable:
        if not any(all(a <= b for a, b in zip(other.costs, trial.costs)) for other in unbeaten):
            unbeaten.append(trial)
    return unbeaten
