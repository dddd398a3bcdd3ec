"""A task as a policy written in Python sees it: :class:`PolicyTask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

#: The kernel's weights of nice -20 to 19.
WEIGHTS = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)


class PolicyTask:
    """A task as a policy sees it. A policy may store any attributes of its own in it.

    A scheduler does not know the name of a task, nor what the task is going to do.
    """

    #: Its number in the run, from 0.
    id: int
    #: ``other``, ``batch``, ``idle``, ``fifo``, ``rr``, ``deadline`` or ``iso``.
    policy: str
    #: Its nice value, -20 to 19.
    nice: int
    #: Its real-time priority, 1 to 99; 0 for other policies.
    rt_priority: int
    #: A deadline task's budget, or the slice that a task requests, ns; 0: none.
    runtime_ns: int
    #: A deadline task's relative deadline, ns.
    deadline_ns: int
    #: A deadline task's period, ns.
    period_ns: int
    #: The CPUs it may run on; ``None``: all.
    allowed: frozenset[int] | None
    #: The number of its group; 0: the root.
    group: int
    #: The CPU on which it runs, ran last, or is queued.
    cpu: int
    #: Whether it is runnable or running.
    runnable: bool
    #: CPU time so far, ns, up to the last tick, switch or other hook of its CPU.
    cpu_ns: int
    #: Time since which it has been runnable, ns.
    since_ns: int

    def __init__(self, number: int) -> None:
        self.id = number
        self.allowed = None
        self.group = 0
        self.cpu = 0
        self.runnable = True
        self.cpu_ns = 0
        self.since_ns = 0

    @property
    def weight(self) -> int:
        """The kernel's weight of its nice value: 1024 for nice 0."""
        return WEIGHTS[self.nice + 20]

    if TYPE_CHECKING:

        # Attributes that a policy adds.
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def may_run_on(self, cpu: int) -> bool:
        """Whether its affinity lets it run on ``cpu``."""
        return self.allowed is None or cpu in self.allowed

    def _set(self, attr: tuple[str, int, int, int, int, int]) -> None:
        (
            self.policy, self.nice, self.rt_priority,
            self.runtime_ns, self.deadline_ns, self.period_ns,
        ) = attr

    def __repr__(self) -> str:
        return f"<task {self.id}>"
