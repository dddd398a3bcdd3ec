"""Checks for tests: :func:`check_policy`."""

from __future__ import annotations

from typing import NamedTuple

from . import _native
from ._plan import Scheduler
from ._work import stress


class Broken(AssertionError):
    """A scheduler broke a rule in a random world. ``seed`` makes that world again."""

    def __init__(self, what: _native.BrokenRule) -> None:
        before = "\n  ".join(what.before)
        super().__init__(
            f"seed {what.seed}: {what.message}\n"
            f"with {what.turn}; to see it again: "
            f"check_policy({what.scheduler.split('@')[0]}, first_seed={what.seed}, worlds=1)\n"
            f"the last events before:\n  {before}"
        )
        #: Which world: ``check_policy(policy, first_seed=seed, worlds=1)`` makes it again.
        self.seed: int = what.seed
        #: The rule that was broken.
        self.rule: str = what.rule
        #: When, ns of virtual time.
        self.at_ns: int = what.at_ns


class Checked(NamedTuple):
    """What a scheduler was run in without breaking a rule."""

    scheduler: str
    worlds: int
    events: int


def check_policy(
    policy: Scheduler,
    worlds: int = 50,
    first_seed: int = 0,
    threads: int | None = None,
) -> Checked:
    """Runs a policy in random worlds under every rule that a scheduler has to keep.

    Each seed makes a machine of random size and a workload of hogs, sleepers, tasks that wake each
    other, fork, change attributes and affinity. At every event it is checked that only runnable
    tasks run, each on one CPU and where it may, that nobody is lost, that CPU time adds up, that
    whom ``why()`` names is picked, that what ``promises()`` says is kept, and that the same world
    comes to the same. Raises :class:`Broken` with the seed of the first world that is not so.
    """
    ran = stress(policy, worlds, first_seed, threads)
    for one in ran:
        if one.broken is not None:
            raise Broken(one.broken)
    return Checked(*ran[0][:3])
