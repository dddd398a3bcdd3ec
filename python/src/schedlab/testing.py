"""Checks for tests: :func:`check_policy`."""

from __future__ import annotations

from typing import NamedTuple

from . import _native
from ._plan import Scheduler
from ._work import stress


class Broken(AssertionError):
    """A scheduler broke a rule in a random world. ``seed`` reproduces that world."""

    def __init__(self, what: _native.BrokenRule) -> None:
        before = "\n  ".join(what.before)
        super().__init__(
            f"seed {what.seed}: {what.message}\n"
            f"with {what.turn}; to see it again: "
            f"check_policy({what.scheduler.split('@')[0]}, first_seed={what.seed}, worlds=1)\n"
            f"the last events before:\n  {before}"
        )
        #: Seed of the world: ``check_policy(policy, first_seed=seed, worlds=1)`` reproduces it.
        self.seed: int = what.seed
        #: The rule that was broken.
        self.rule: str = what.rule
        #: Virtual time of the violation, ns.
        self.at_ns: int = what.at_ns


class Checked(NamedTuple):
    """Worlds in which a scheduler broke no rule."""

    scheduler: str
    worlds: int
    events: int


def check_policy(
    policy: Scheduler,
    worlds: int = 50,
    first_seed: int = 0,
    threads: int | None = None,
) -> Checked:
    """Runs a policy in random worlds, and checks every rule that a scheduler must observe.

    Each seed makes a machine of random size and a workload of hogs, sleepers, and tasks that wake
    each other, fork, and change attributes and affinity. At every event it is checked that only
    runnable tasks run, each on one CPU and where it may; that no task is lost; that CPU time adds
    up; that the task that ``why()`` names is picked; that the promises of ``promises()`` are kept;
    and that the same world gives the same result. Raises :class:`Broken` with the seed of the first
    world in which a check fails.
    """
    ran = stress(policy, worlds, first_seed, threads)
    for one in ran:
        if one.broken is not None:
            raise Broken(one.broken)
    return Checked(*ran[0][:3])
