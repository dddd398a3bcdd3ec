"""A scheduler of one's own in Python: :class:`Policy`."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from . import _native
from ._errors import InputError
from ._units import whole
from .queues import Fifo

#: The kernel's weights of nice -20 to 19.
WEIGHTS = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)

_POLICIES = ("other", "batch", "idle", "fifo", "rr", "deadline")

#: What a policy may promise, as the engine gets it.
_PROMISES = ("idle_beside_waiting_ns", "wait_ns", "hog_spread_ns")


def failed_hook(error: BaseException, hook: str) -> str:
    """The method of a policy in which ``error`` was raised; ``hook``: if its traceback does not
    say."""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        name = frame.f_code.co_name
        if not name.startswith("_") and isinstance(frame.f_locals.get("self"), Policy):
            return name
        step = step.tb_next
    return hook


class PolicyTask:
    """A task as a policy knows it. A policy may keep whatever it likes in attributes of its own.

    What a task is called, and what it is going to do, no scheduler knows.
    """

    #: Its number in the run, from 0.
    id: int
    #: ``other``, ``batch``, ``idle``, ``fifo``, ``rr`` or ``deadline``.
    policy: str
    #: Its nice value, -20 to 19.
    nice: int
    #: Its real-time priority, 1 to 99; 0 for other policies.
    rt_priority: int
    #: A deadline task's budget, or the slice that a task asks for, ns; 0: none.
    runtime_ns: int
    #: A deadline task's relative deadline, ns.
    deadline_ns: int
    #: A deadline task's period, ns.
    period_ns: int
    #: The CPUs it may run on; None: all.
    allowed: frozenset[int] | None
    #: The number of its group; 0: the root.
    group: int
    #: The CPU that it runs on, or ran on last, or whose queue it is on.
    cpu: int
    #: Whether it wants to run, or runs.
    runnable: bool
    #: CPU time so far, ns, up to the last tick, switch or other hook of its CPU.
    cpu_ns: int
    #: Since when it is runnable, ns.
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

        # Attributes of a policy's own.
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


class Policy:
    """A scheduler of your own. Only :meth:`pick` has to be written.

    A class is run as any scheduler is: ``schedlab.run(workload, ["cfs", MyPolicy])``. It is made
    anew for every run, with a machine that is its own; hooks are called in virtual time, one after
    the other, and the same run comes to the same again.

    The whole machine is one object: there is one queue for all CPUs unless you make one for each.
    """

    #: By what name it is run and shown; the class's if it is not given.
    name: ClassVar[str] = ""
    #: What it is called in full.
    title: ClassVar[str] = ""
    #: What it does, in a line.
    summary: ClassVar[str] = ""
    #: Ticks a second, unless a run asks for others: 100 to 10,000.
    hz: ClassVar[int] = 1000
    #: The largest machine that it runs on.
    cpus_max: ClassVar[int] = 4096
    #: Whether it heeds the CPUs to which tasks are bound. If not, loads that bind tasks are
    #: refused.
    affinity: ClassVar[bool] = True
    #: The policies of tasks that it takes; loads with others are refused.
    policies: ClassVar[Sequence[str]] = ("other", "batch", "idle")
    #: Rules by name, with a sentence each, for ``explain``: see :meth:`because`.
    rules: ClassVar[Mapping[str, str]] = {}
    #: Attributes that ``set=`` may set: name to least and most. They must be whole numbers.
    tunables: ClassVar[Mapping[str, tuple[int, int]]] = {}

    #: For how long a task runs while others wait, ns: the tick looks. None: until it sleeps.
    quantum_ns: int | None = None

    #: The machine.
    machine: _native.Machine
    #: All tasks that live, by number.
    tasks: dict[int, PolicyTask]
    #: What runs on each CPU; None: it idles. A task that has just blocked stays current until its
    #: CPU calls schedule, in the same instant.
    current: list[PolicyTask | None]
    #: Draws that the same run has again.
    random: random.Random
    #: Tasks that are runnable and not current, if you leave ``enqueue`` and ``dequeue`` as they
    #: are: first in, first out, unless :meth:`start` makes it something else.
    ready: Any
    #: Since when the current task of each CPU has its turn, ns.
    turn_ns: list[int]
    _charged_ns: list[int]
    _grounds: list[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        if "title" not in cls.__dict__:
            cls.title = cls.name
        if "summary" not in cls.__dict__:
            cls.summary = (cls.__doc__ or "a policy in Python").strip().splitlines()[0]

    # What you may write.

    def start(self) -> None:
        """The run begins: make what you need. ``self.machine`` is there."""

    def pick(self, cpu: int) -> PolicyTask | None:
        """Which task ``cpu`` runs next: take it out of your queue. None: it idles.

        The task that ran, if it still can, has been put back by :meth:`enqueue` before.
        """
        raise NotImplementedError(f"{type(self).__name__} must have a method pick(self, cpu)")

    def enqueue(self, task: PolicyTask) -> None:
        """A task that is not current is runnable: put it in your queue."""
        self.ready.push(task)

    def dequeue(self, task: PolicyTask) -> None:
        """A task that is in your queue goes away otherwise than by :meth:`pick`: take it out."""
        self.ready.remove(task)

    def fork(self, task: PolicyTask, parent: PolicyTask | None) -> None:
        """There is a new task; ``parent`` forked it, or nobody did. It is queued afterwards."""

    def wake(self, task: PolicyTask, waker: PolicyTask | None) -> None:
        """A task that slept is runnable; ``waker`` woke it, or an interrupt did. It is queued
        afterwards."""

    def block(self, task: PolicyTask) -> None:
        """The task that runs on ``task.cpu`` sleeps, or has ended; or one that waited was killed,
        and has been taken out of the queue."""

    def exit(self, task: PolicyTask) -> None:
        """A task has ended, and is not heard of again."""

    def preempts(self, task: PolicyTask, current: PolicyTask) -> bool:
        """Whether a task that has just been queued takes the CPU of ``current`` at once."""
        return False

    def charge(self, task: PolicyTask, ran_ns: int) -> None:
        """The current task has had its CPU for so long since it was charged last, ns."""

    def tick(self, cpu: int) -> None:
        """The periodic interrupt of a CPU; the current task has been charged."""
        current = self.current[cpu]
        if current is not None and self.quantum_ns is not None:
            if self.machine.now_ns - self.turn_ns[cpu] >= self.quantum_ns:
                self.resched(cpu)

    def yield_(self, task: PolicyTask) -> None:
        """The running task calls ``sched_yield``."""
        self.resched(task.cpu)

    def set_attr(self, task: PolicyTask) -> None:
        """A task has other attributes. If it was queued it has been taken out, and is queued again
        afterwards."""

    def set_affinity(self, task: PolicyTask) -> None:
        """A task may run on other CPUs. If it was queued it has been taken out, and is queued
        again afterwards; if it runs where it may not, its CPU reschedules."""

    def timer(self, key: int) -> None:
        """A timer that was armed by ``machine.arm_timer`` has expired."""

    def why(self, cpu: int) -> Iterable[tuple[Any, ...]] | None:
        """Among whom ``cpu`` chooses, for ``explain``: ``(task, key)`` or ``(task, key, numbers)``.

        ``key`` is a whole number or a tuple of up to four; the smallest must be the one that
        :meth:`pick` takes, and no two be equal. ``numbers`` are what the key is made of, by name
        (``{"vruntime_ns": 12}``). None: you do not say. It must change nothing.
        """
        return None

    def promises(self, tasks: int, cpus: int) -> Mapping[str, int]:
        """What it promises with so many tasks on so many CPUs, held by ``check_policy``.

        ``idle_beside_waiting_ns``: how long a CPU may idle beside a task that waits;
        ``wait_ns``: how long a task waits at most; ``hog_spread_ns``: how far equal hogs on a CPU
        drift apart.
        """
        return {}

    def audit(self) -> None:
        """Checks your own books, by ``assert``; called at every event by ``check_policy``."""

    # What you may call.

    def resched(self, cpu: int) -> None:
        """Asks a CPU to call schedule in this instant."""
        self.machine.resched(cpu)

    def because(self, rule: str) -> None:
        """Names, in :meth:`pick`, the rule by which the pick is made: one of ``rules``."""
        try:
            self.machine.because(1 + list(self.rules).index(rule))
        except ValueError:
            names = ", ".join(self.rules) or "none"
            raise InputError(f"there is no rule {rule!r}; {self.name}.rules has {names}") from None

    def move(self, task: PolicyTask, cpu: int) -> None:
        """A waiting task belongs to another CPU's queue from now on."""
        task.cpu = cpu
        self.machine.moved(task.id, cpu)

    @classmethod
    def variant(cls, name: str, **attributes: Any) -> type[Policy]:
        """The same policy under another name and with other attributes::

            slow = RoundRobin.variant("slow", quantum_ns=100_000_000)
        """
        for attribute in attributes:
            if not hasattr(cls, attribute):
                raise InputError(f"{cls.name} has no attribute {attribute}")
        return type(name, (cls,), {"name": name, "__doc__": cls.__doc__, **attributes})

    @classmethod
    def check(cls) -> None:
        """That the class can be run; InputError says what is wrong with it."""
        if cls.pick is Policy.pick:
            raise InputError(f"{cls.__name__} has no method pick(self, cpu)")
        if not all(part.isalnum() and part.isascii() for part in cls.name.split("_")):
            raise InputError(f"name is {cls.name!r}; it must be of letters, digits and _")
        taken = {name for name, *_ in _native.schedulers()} | {"main", "linux", "textbook", "all"}
        if cls.name in taken:
            raise InputError(f"schedlab has a scheduler called {cls.name}; give another name")
        if wrong := [one for one in cls.policies if one not in _POLICIES]:
            raise InputError(
                f"{cls.name}.policies: there is no policy {wrong[0]!r}; there are "
                f"{', '.join(_POLICIES)}"
            )
        whole(cls.hz, f"{cls.name}.hz", 100, 10_000)
        for tunable, range_ in cls.tunables.items():
            if not isinstance(getattr(cls, tunable, None), int):
                raise InputError(
                    f"{cls.name}.tunables: {tunable} must be an attribute of the class, a whole "
                    "number"
                )
            ends = list(range_) if isinstance(range_, Iterable) else [range_]
            if len(ends) != 2 or not all(isinstance(one, int) for one in ends):
                raise InputError(
                    f"{cls.name}.tunables: {tunable} has {range_!r}; it must be least and most, "
                    "whole numbers"
                )
            if not ends[0] <= getattr(cls, tunable) <= ends[1]:
                raise InputError(
                    f"{cls.name}.tunables: {tunable} is {getattr(cls, tunable)}, outside of "
                    f"{ends[0]} to {ends[1]}"
                )

    # What the engine calls.

    @classmethod
    def _make(cls, machine: _native.Machine) -> Policy:
        self = cls.__new__(cls)
        self.machine = machine
        self.tasks = {}
        self.current = [None] * machine.cpus
        self.turn_ns = [0] * machine.cpus
        self._charged_ns = [0] * machine.cpus
        self._grounds = []
        self.random = random.Random(1)
        self.ready = Fifo()
        self.__init__()  # type: ignore[misc]
        self.start()
        return self

    @classmethod
    def _rules(cls) -> list[tuple[str, str]]:
        return list(cls.rules.items()) or [("pick", f"What pick() of {cls.name} answers runs.")]

    def _tunables(self) -> list[tuple[str, int, int, int]]:
        return [
            (name, getattr(self, name), least, most)
            for name, (least, most) in self.tunables.items()
        ]

    def _promises(self, tasks: int, cpus: int) -> tuple[int | None, int | None, int | None]:
        said = dict(self.promises(tasks, cpus))
        idle, wait, spread = (said.pop(name, None) for name in _PROMISES)
        if said:
            raise InputError(
                f"promises() names {next(iter(said))!r}; there are {', '.join(_PROMISES)}"
            )
        return idle, wait, spread

    def _account(self, cpu: int) -> PolicyTask | None:
        """Charges the current task of a CPU."""
        task = self.current[cpu]
        now_ns = self.machine.now_ns
        ran_ns = now_ns - self._charged_ns[cpu]
        self._charged_ns[cpu] = now_ns
        if task is not None and ran_ns:
            task.cpu_ns += ran_ns
            self.charge(task, ran_ns)
        return task

    def _queue_up(self, task: PolicyTask) -> None:
        """Queues a task, and asks the CPUs that might take it."""
        self.enqueue(task)
        self._ask_for(task)

    def _ask_for(self, task: PolicyTask) -> None:
        idle = False
        for cpu, current in enumerate(self.current):
            if current is None and task.may_run_on(cpu):
                # All of them: one that finds nothing any more idles on.
                self.machine.resched(cpu)
                idle = True
        if idle:
            return
        for cpu, current in enumerate(self.current):
            if current is not None and current.runnable and task.may_run_on(cpu):
                self._account(cpu)
                if self.preempts(task, current):
                    self.machine.resched(cpu)
                    return

    def _fork(
        self,
        number: int,
        attr: tuple[str, int, int, int, int, int],
        allowed: list[int] | None,
        group: int,
        parent: int | None,
    ) -> int:
        task = PolicyTask(number)
        task._set(attr)
        task.allowed = None if allowed is None else frozenset(allowed)
        task.group = group
        task.since_ns = self.machine.now_ns
        by = None if parent is None else self.tasks.get(parent)
        task.cpu = 0 if by is None else by.cpu
        if not task.may_run_on(task.cpu):
            task.cpu = min(task.allowed or [0])
        self.tasks[number] = task
        self.fork(task, by)
        self._queue_up(task)
        return task.cpu

    def _wake(self, number: int, waker: int | None, cpu: int) -> None:
        task = self.tasks[number]
        task.runnable = True
        if self.current[task.cpu] is task:
            return  # It goes on when its CPU calls schedule.
        task.since_ns = self.machine.now_ns
        self.wake(task, None if waker is None else self.tasks.get(waker))
        self._queue_up(task)

    def _block(self, number: int, cpu: int, dead: bool) -> None:
        task = self.tasks[number]
        self._account(cpu)
        task.runnable = False
        self.block(task)
        if dead:
            self._forget(task)

    def _kill(self, number: int) -> None:
        task = self.tasks[number]
        if task.runnable:
            self.dequeue(task)
            task.runnable = False
            self.block(task)
        self._forget(task)

    def _forget(self, task: PolicyTask) -> None:
        self.exit(task)
        del self.tasks[task.id]

    def _schedule(self, cpu: int) -> int | None:
        before = self._account(cpu)
        self.current[cpu] = None
        if before is not None and before.runnable:
            self.enqueue(before)
        said = self._said(cpu) if self.machine.asked else None
        after = self.pick(cpu)
        if after is not None and (
            not isinstance(after, PolicyTask) or self.tasks.get(after.id) is not after
        ):
            raise TypeError(f"pick({cpu}) answered {after!r}, which is no task that lives")
        if after is not None:
            if not after.runnable:
                raise ValueError(f"pick({cpu}) answered {after!r}, which sleeps")
            if self.current[after.cpu] is after:
                raise ValueError(f"pick({cpu}) answered {after!r}, which CPU {after.cpu} runs")
        if self.machine.asked:
            picked: list[Any] = [] if after is None else [(after.id, [0], [])]
            self._grounds = picked if said is None else said
        self.current[cpu] = after
        if after is not before or after is None:
            self.turn_ns[cpu] = self.machine.now_ns
        elif self.quantum_ns is not None and (
            self.machine.now_ns - self.turn_ns[cpu] >= self.quantum_ns
        ):
            self.turn_ns[cpu] = self.machine.now_ns
        if after is not None:
            after.cpu = cpu
        if before is not None and before is not after and before.runnable:
            self._ask_for_others(before, cpu)
        return None if after is None else after.id

    def _ask_for_others(self, task: PolicyTask, but: int) -> None:
        """Asks idle CPUs to take a task that lost its own."""
        for cpu, current in enumerate(self.current):
            if current is None and cpu != but and task.may_run_on(cpu):
                self.machine.resched(cpu)

    def _said(self, cpu: int) -> list[Any] | None:
        rows = self.why(cpu)
        if rows is None:
            return None
        out = []
        for row in rows:
            task, key, *rest = row
            keys = list(key) if isinstance(key, (tuple, list)) else [key]
            if len(keys) > 4:
                raise InputError(f"why() gives {task} a key of {len(keys)} numbers; 4 are the most")
            out.append((task.id, keys, list(rest[0].items()) if rest else []))
        return out

    def _candidates(self, cpu: int) -> list[Any]:
        # Asked of a copy, so that asking changes nothing.
        twin = copy.deepcopy(self)
        current = twin.current[cpu]
        if current is not None and current.runnable:
            twin.enqueue(current)
        said = twin._said(cpu)
        if said is not None:
            return said
        picked = twin.pick(cpu)
        return [] if picked is None else [(picked.id, [0], [])]

    def _tick(self, cpu: int) -> None:
        self._account(cpu)
        self.tick(cpu)

    def _yield(self, number: int, cpu: int) -> None:
        self._account(cpu)
        self.yield_(self.tasks[number])

    def _is_queued(self, task: PolicyTask) -> bool:
        return task.runnable and self.current[task.cpu] is not task

    def _set_attr(self, number: int, attr: tuple[str, int, int, int, int, int]) -> None:
        task = self.tasks[number]
        queued = self._is_queued(task)
        if queued:
            self.dequeue(task)
        elif self.current[task.cpu] is task:
            self._account(task.cpu)
        task._set(attr)
        self.set_attr(task)
        if queued:
            self._queue_up(task)

    def _set_affinity(self, number: int, allowed: list[int] | None) -> None:
        task = self.tasks[number]
        queued = self._is_queued(task)
        if queued:
            self.dequeue(task)
        task.allowed = None if allowed is None else frozenset(allowed)
        self.set_affinity(task)
        if queued:
            if not task.may_run_on(task.cpu):
                self.move(task, min(task.allowed or [0]))
            self._queue_up(task)
        elif not task.may_run_on(task.cpu):
            if self.current[task.cpu] is task:
                self.machine.resched(task.cpu)
            elif not task.runnable:
                self.move(task, min(task.allowed or [0]))

    def _timer(self, key: int) -> None:
        self.timer(key)
