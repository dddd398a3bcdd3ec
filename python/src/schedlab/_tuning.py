"""Results of a search for settings: :class:`Tuning`."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ._apply import command

#: A value of each axis; ``None``: the default.
Point: TypeAlias = "list[Any]"


@dataclass
class Trial:
    """Settings that were tried."""

    point: Point
    #: Objectives relative to the default, lower is better; inf: it could not be run.
    costs: list[float]
    #: Violation of each constraint, as a fraction of its limit; at most 0: it is met.
    violations: list[float]
    #: Whether it was ended early: during a run, or before the last workload.
    pruned: bool = False
    #: By workload, seed and rung: value of the first objective; ``None``: no value.
    passed: list[list[list[float | None]]] = field(default_factory=list)

    @property
    def met(self) -> bool:
        """Whether all constraints are met."""
        return all(violation <= 0 for violation in self.violations)

    def rank(self) -> tuple[bool, bool, float]:
        """Sort key; the lowest is best: completed, constraints met, lowest cost."""
        worst = sum(max(violation, 0.0) for violation in self.violations)
        return (self.pruned, not self.met, worst if not self.met else sum(self.costs))


@dataclass
class Verdict:
    """Settings compared with the default on held-out workloads and seeds."""

    #: Each objective relative to the default: mean over workloads and seeds; half of its 95 %
    #: confidence interval (Student's t over pairs with the same seed).
    ratios: list[tuple[float, float]]
    #: The same for each workload: its name, and mean and half interval of each objective.
    by_workload: list[tuple[str, list[tuple[float, float]]]]
    #: Number of pairs that are better, and number of pairs.
    better: tuple[int, int]
    violations: list[float]
    #: Metrics that are not objectives and got worse: metric, default, with these settings.
    worse: list[tuple[str, float, float]]

    @property
    def is_better(self) -> bool:
        """Whether one objective is better with confidence, none is worse, and the constraints are
        met."""
        sure = any(mean + half < 1 for mean, half in self.ratios)
        none_worse = all(mean - half <= 1 for mean, half in self.ratios)
        return sure and none_worse and all(violation <= 0 for violation in self.violations)


@dataclass
class Tuning:
    """Results of a search."""

    title: str
    goals: list[str]
    constraints: list[str]
    axes: list[str]
    scheduler: str
    sampler: str
    #: All trials, by the search and by each yardstick.
    trials: dict[str, list[Trial]]
    #: The best trial of each.
    best: dict[str, Trial]
    #: The same on held-out workloads and seeds.
    held_out: dict[str, Verdict]
    #: For several objectives: the Pareto front.
    front: list[Trial]
    #: Fraction of the variance of random trials that each axis alone explains, 0 to 1.
    importance: dict[str, float]
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def found(self) -> bool:
        """Whether the result is better than the default, with confidence."""
        return self.held_out[self.sampler].is_better

    @property
    def settings(self) -> dict[str, Any]:
        """The best settings; those left at their defaults are omitted."""
        point = self.best[self.sampler].point
        return {name: value for name, value in zip(self.axes, point) if value is not None}

    @property
    def commands(self) -> list[str]:
        """The best settings as commands for a machine."""
        scheduler = str(self.settings.get("scheduler", self.scheduler))
        return [command(name, value, scheduler) for name, value in self.settings.items()]

    def report(self) -> str:
        """Returns all results as text."""
        lines = [self.title]
        tried = ", ".join(_tried(name, trials) for name, trials in self.trials.items())
        lines.append(f"tried: {tried}; {self.seconds:.0f} s")
        lines.append("")
        verdict = self.held_out[self.sampler]
        if self.found:
            lines.append(f"better than the default on held-out runs: "
                         f"{_relative(self.goals, verdict)}")
        else:
            lines.append("nothing better than the default was found")
            lines.append(f"the best of the search, on held-out runs: "
                         f"{_relative(self.goals, verdict)}")
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
        lines.append("(goals relative to the default, lower is better; ± is half of the 95 % "
                     "confidence interval, Student's t over pairs of runs with the same seed)")
        if len(self.front) > 1:
            lines.extend(["", f"Pareto front ({', '.join(self.goals)}):"])
            for trial in self.front[:12]:
                costs = ", ".join(f"{cost:.3f}" for cost in trial.costs)
                lines.append(f"  {costs}: {_settings(self.axes, trial.point)}")
        lines.extend(["", "settings:" if self.found else "settings of the best of the search:"])
        lines.extend(f"  {line}" for line in self.commands or ["none (the default)"])
        lines.extend(["", "importance (fraction of the variance of random trials):"])
        for name, part in sorted(self.importance.items(), key=lambda item: -item[1]):
            lines.append(f"  {part:5.2f}  {name}")
        if self.warnings:
            lines.append("")
            lines.extend(f"warning: {warning}" for warning in self.warnings)
        return "\n".join(lines) + "\n"

    def to_pandas(self) -> Any:
        """Returns all trials as a pandas DataFrame."""
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
        return f"<pre>{html.escape(self.report())}</pre>"


def _relative(goals: list[str], verdict: Verdict) -> str:
    parts = [f"{goal}: {mean:.3f} ± {half:.3f} of the default's"
             for goal, (mean, half) in zip(goals, verdict.ratios)]
    return "; ".join(parts)


def _settings(axes: list[str], point: Point) -> str:
    return ", ".join(f"{name} {short(value)}" for name, value in zip(axes, point)
                     if value is not None)


def short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _tried(name: str, trials: list[Trial]) -> str:
    ended = sum(trial.pruned for trial in trials)
    return f"{len(trials)} by {name}" + (f" ({ended} of them ended early)" if ended else "")
