"""Schedulers written in Python: :class:`Policy`."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from . import _native
from ._errors import InputError
from ._policy_task import PolicyTask
from ._units import whole
from .queues import Fifo

_POLICIES = ("other", "batch", "idle", "fifo", "rr", "deadline", "iso")

#: Promises that a policy may make, in the engine's order.
_PROMISES = ("idle_beside_waiting_ns", "wait_ns", "hog_spread_ns")


def failed_hook(error: BaseException, hook: str) -> str:
    """The method of a policy in which ``error`` was raised; ``hook`` if its traceback does not
    show it."""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        name = frame.f_code.co_name
        if not name.startswith("_") and isinstance(frame.f_locals.get("self"), Policy):
            return name
        step = step.tb_next
    return hook


class Policy:
    """A scheduler written in Python. Only :meth:`pick` is required.

    A class is run like any other scheduler: ``schedlab.run(workload, ["cfs", MyPolicy])``. Every
    run creates a new instance with its own machine. Hooks are called in virtual time, one after the
    other, and the same run always gives the same result.

    The whole machine is one object: there is one queue for all CPUs unless you make one for each.
    """

    #: The name under which it is run and shown; default: the name of the class.
    name: ClassVar[str] = ""
    #: Full name.
    title: ClassVar[str] = ""
    #: Description in a line.
    summary: ClassVar[str] = ""
    #: Ticks per second, unless a run specifies others: 100 to 10,000.
    hz: ClassVar[int] = 1000
    #: Number of CPUs of the largest machine that it supports.
    cpus_max: ClassVar[int] = 4096
    #: Whether it respects the affinity of tasks. If not, loads that bind tasks to CPUs are
    #: refused.
    affinity: ClassVar[bool] = True
    #: Scheduling policies of tasks that it supports; loads with others are refused.
    policies: ClassVar[Sequence[str]] = ("other", "batch", "idle")
    #: Rules by name, with a sentence each, for ``explain``: see :meth:`because`.
    rules: ClassVar[Mapping[str, str]] = {}
    #: Attributes that ``set=`` may set: name to minimum and maximum. They must be whole numbers.
    tunables: ClassVar[Mapping[str, tuple[int, int]]] = {}

    #: Time for which a task runs while others wait, ns, enforced by the tick. ``None``: until it
    #: sleeps.
    quantum_ns: int | None = None

    #: The machine.
    machine: _native.Machine
    #: All living tasks, by number.
    tasks: dict[int, PolicyTask]
    #: The current task of each CPU; ``None``: the CPU idles. A task that has just blocked stays
    #: current until its CPU calls schedule, in the same instant.
    current: list[PolicyTask | None]
    #: Random numbers that are the same in every repetition of the run.
    random: random.Random
    #: Tasks that are runnable and not current, unless you override ``enqueue`` and ``dequeue``:
    #: first in, first out, unless :meth:`start` replaces it.
    ready: Any
    #: Beginning of the turn of each CPU's current task, ns.
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

    # Methods that you may override.

    def start(self) -> None:
        """The run begins: create your data. ``self.machine`` is available."""

    def pick(self, cpu: int) -> PolicyTask | None:
        """Returns the task that ``cpu`` runs next; take it out of your queue. ``None``: the CPU
        idles.

        If the task that ran is still runnable, :meth:`enqueue` has been called for it before.
        """
        raise NotImplementedError(f"{type(self).__name__} must have a method pick(self, cpu)")

    def enqueue(self, task: PolicyTask) -> None:
        """A task that is not current is runnable: put it in your queue."""
        self.ready.push(task)

    def dequeue(self, task: PolicyTask) -> None:
        """A queued task leaves the queue other than by :meth:`pick`: take it out."""
        self.ready.remove(task)

    def fork(self, task: PolicyTask, parent: PolicyTask | None) -> None:
        """A new task exists; ``parent`` forked it, or is None. It is queued afterwards."""

    def wake(self, task: PolicyTask, waker: PolicyTask | None) -> None:
        """A task that slept is runnable; ``waker`` woke it, or is None for an interrupt. It is
        queued afterwards."""

    def block(self, task: PolicyTask) -> None:
        """The task on ``task.cpu`` sleeps or has ended; or a waiting task was killed, and has been
        taken out of the queue."""

    def exit(self, task: PolicyTask) -> None:
        """A task has ended, and does not occur again."""

    def preempts(self, task: PolicyTask, current: PolicyTask) -> bool:
        """Whether a task that has just been queued takes the CPU of ``current`` at once."""
        return False

    def charge(self, task: PolicyTask, ran_ns: int) -> None:
        """The current task has used its CPU for ``ran_ns`` since it was last charged."""

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
        """The attributes of a task have changed. If it was queued, it has been taken out and is
        queued again afterwards."""

    def set_affinity(self, task: PolicyTask) -> None:
        """The affinity of a task has changed. If it was queued, it has been taken out and is queued
        again afterwards; if it runs where it may not, its CPU reschedules."""

    def timer(self, key: int) -> None:
        """A timer that was armed by ``machine.arm_timer`` has expired."""

    def why(self, cpu: int) -> Iterable[tuple[Any, ...]] | None:
        """The candidates of ``cpu`` for ``explain``: ``(task, key)`` or ``(task, key, numbers)``.

        ``key`` is a whole number or a tuple of up to four. The task that :meth:`pick` takes
        must have the smallest key, and no two keys may be equal. ``numbers`` are the values behind
        the key, by name (``{"vruntime_ns": 12}``). ``None``: not stated. The method must change
        nothing.
        """
        return None

    def promises(self, tasks: int, cpus: int) -> Mapping[str, int]:
        """Promises for this number of tasks and CPUs, which ``check_policy`` checks.

        ``idle_beside_waiting_ns``: how long a CPU may idle while a task waits; ``wait_ns``: maximum
        wait of a task; ``hog_spread_ns``: maximum difference between the CPU times of equal hogs on
        a CPU.
        """
        return {}

    def audit(self) -> None:
        """Checks your own data, by ``assert``; ``check_policy`` calls it at every event."""

    # Methods that you may call.

    def resched(self, cpu: int) -> None:
        """Requests that a CPU calls schedule in this instant."""
        self.machine.resched(cpu)

    def because(self, rule: str) -> None:
        """Names, in :meth:`pick`, the rule that made the pick: one of ``rules``."""
        try:
            self.machine.because(1 + list(self.rules).index(rule))
        except ValueError:
            names = ", ".join(self.rules) or "none"
            raise InputError(
                f"there is no rule {rule!r}; the rules of {self.name} are {names}"
            ) from None

    def move(self, task: PolicyTask, cpu: int) -> None:
        """Moves a waiting task to another CPU's queue."""
        task.cpu = cpu
        self.machine.moved(task.id, cpu)

    @classmethod
    def variant(cls, name: str, **attributes: Any) -> type[Policy]:
        """Derives the same policy with another name and other attributes::

            slow = RoundRobin.variant("slow", quantum_ns=100_000_000)
        """
        for attribute in attributes:
            if not hasattr(cls, attribute):
                raise InputError(f"{cls.name} has no attribute {attribute}")
        return type(name, (cls,), {"name": name, "__doc__": cls.__doc__, **attributes})

    @classmethod
    def check(cls) -> None:
        """Checks that the class can be run; InputError describes a mistake in it."""
        if cls.pick is Policy.pick:
            raise InputError(f"{cls.__name__} has no method pick(self, cpu)")
        if not all(part.isalnum() and part.isascii() for part in cls.name.split("_")):
            raise InputError(f"name is {cls.name!r}; it must consist of letters, digits and _")
        taken = {name for name, *_ in _native.schedulers()} | {"main", "linux", "textbook", "all"}
        if cls.name in taken:
            raise InputError(f"schedlab has a scheduler called {cls.name}; give another name")
        if wrong := [one for one in cls.policies if one not in _POLICIES]:
            raise InputError(
                f"{cls.name}.policies: there is no policy {wrong[0]!r}; the policies are "
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
                    f"{cls.name}.tunables: {tunable} has {range_!r}; it must be minimum and "
                    "maximum, whole numbers"
                )
            if not ends[0] <= getattr(cls, tunable) <= ends[1]:
                raise InputError(
                    f"{cls.name}.tunables: {tunable} is {getattr(cls, tunable)}, outside of "
                    f"{ends[0]} to {ends[1]}"
                )

    # Methods that the engine calls.

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
        promised = dict(self.promises(tasks, cpus))
        idle, wait, spread = (promised.pop(name, None) for name in _PROMISES)
        if promised:
            raise InputError(
                f"promises() names {next(iter(promised))!r}; "
                f"the promises are {', '.join(_PROMISES)}"
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
        """Queues a task, and requests reschedules of the CPUs that might take it."""
        self.enqueue(task)
        self._ask_for(task)

    def _ask_for(self, task: PolicyTask) -> None:
        idle = False
        for cpu, current in enumerate(self.current):
            if current is None and task.may_run_on(cpu):
                # All idle CPUs: one that finds no task left stays idle.
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
            return  # It continues when its CPU calls schedule.
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
        said = self._candidates_of_pick(cpu) if self.machine.asked else None
        after = self.pick(cpu)
        if after is not None and (
            not isinstance(after, PolicyTask) or self.tasks.get(after.id) is not after
        ):
            raise TypeError(f"pick({cpu}) returned {after!r}, which is not a living task")
        if after is not None:
            if not after.runnable:
                raise ValueError(f"pick({cpu}) returned {after!r}, which sleeps")
            if self.current[after.cpu] is after:
                raise ValueError(f"pick({cpu}) returned {after!r}, which CPU {after.cpu} runs")
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
        """Requests that idle CPUs take a task that lost its own."""
        for cpu, current in enumerate(self.current):
            if current is None and cpu != but and task.may_run_on(cpu):
                self.machine.resched(cpu)

    def _candidates_of_pick(self, cpu: int) -> list[Any] | None:
        rows = self.why(cpu)
        if rows is None:
            return None
        out = []
        for row in rows:
            task, key, *rest = row
            keys = list(key) if isinstance(key, (tuple, list)) else [key]
            if len(keys) > 4:
                raise InputError(f"why() gives {task} a key of {len(keys)} numbers; there can be 4")
            out.append((task.id, keys, list(rest[0].items()) if rest else []))
        return out

    def _candidates(self, cpu: int) -> list[Any]:
        # Calls a copy, so that the call changes nothing.
        twin = copy.deepcopy(self)
        current = twin.current[cpu]
        if current is not None and current.runnable:
            twin.enqueue(current)
        said = twin._candidates_of_pick(cpu)
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
