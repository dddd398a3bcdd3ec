"""Goals of a search: objectives and constraints as text.

    minimize p99 wakeup latency of audio subject to throughput of cc >= 95 % of default

An objective is ``[minimize|maximize] EXPRESSION``, an expression over metrics as in sweeps. A
constraint is ``EXPRESSION >= LIMIT`` or ``<=``; the limit is an expression, ``default``, or
``NUMBER % of default``, relative to the result of the defaults on the same workload. Several
constraints are joined by ``and``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._errors import InputError


@dataclass(frozen=True)
class Objective:
    """An objective."""

    expression: str
    #: 1: lower is better; -1: higher is better; ``None``: as the catalogue specifies for the
    #: metric.
    sign: int | None


@dataclass(frozen=True)
class Constraint:
    """A constraint."""

    text: str
    expression: str
    #: 1: at most; -1: at least.
    sign: int
    #: Fraction of the default's result; ``None``: ``limit`` is an expression.
    part: float | None
    limit: str


def _objective(text: str) -> Objective:
    words = text.strip().split(None, 1)
    signs = {"minimize": 1, "minimise": 1, "maximize": -1, "maximise": -1}
    if words and words[0].lower() in signs:
        if len(words) < 2:
            raise InputError(f"objective `{text}`: {words[0]} what?")
        return Objective(words[1], signs[words[0].lower()])
    return Objective(text.strip(), None)


def constraint(text: str) -> Constraint:
    """Parses a constraint."""
    found = re.fullmatch(r"(.+?)(<=|>=|≤|≥)(.+)", text.strip(), re.DOTALL)
    if not found:
        raise InputError(f"constraint `{text}`: write it as EXPRESSION >= LIMIT, or <= LIMIT")
    left, sign, right = (part.strip() for part in found.groups())
    if re.search(r"[<>=]", right):
        raise InputError(f"constraint `{text}`: one comparison only; join several by `and`")
    less = 1 if sign in ("<=", "≤") else -1
    of_default = re.fullmatch(r"(?:([0-9.]+)\s*%\s*of\s+)?(?:the\s+)?defaults?", right)
    if of_default:
        number = of_default.group(1)
        try:
            part = float(number) / 100 if number else 1.0
        except ValueError:
            raise InputError(f"constraint `{text}`: {number} is not a number") from None
        return Constraint(text.strip(), left, less, part, "")
    return Constraint(text.strip(), left, less, None, right)


def parse(texts: list[str], subject_to: list[str]) -> tuple[list[Objective], list[Constraint]]:
    """Parses objectives, the constraints in them, and further constraints."""
    objectives: list[Objective] = []
    constraints: list[Constraint] = []
    for text in texts:
        goal, _, rest = text.partition(" subject to ")
        if not goal.strip():
            raise InputError(f"objective `{text}`: it contains no expression")
        objectives.append(_objective(goal))
        if rest:
            constraints.extend(constraint(one) for one in re.split(r"\s+and\s+", rest))
    for text in subject_to:
        constraints.extend(constraint(one) for one in re.split(r"\s+and\s+", text))
    if not objectives:
        raise InputError('objective is missing: give one, such as "minimize wait_mean"')
    return objectives, constraints
