"""Workloads built in Python: :class:`Task` and :class:`Workload`, which write rt-app's JSON."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable
from typing import Any, Literal

from ._errors import InputError
from ._files import write
from ._units import Time, time_ns, time_us, whole

_POLICIES = {
    "other": "SCHED_OTHER",
    "batch": "SCHED_BATCH",
    "idle": "SCHED_IDLE",
    "fifo": "SCHED_FIFO",
    "rr": "SCHED_RR",
    "deadline": "SCHED_DEADLINE",
    "iso": "SCHED_ISO",
}


class _Phase:
    """A sequence of events, with its number of repetitions."""

    def __init__(self, name: str, loop: int | None) -> None:
        self.name = name
        self.loop = loop
        self.events: list[tuple[str, Any]] = []
        self.properties: dict[str, Any] = {}
        self.timer: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = dict(self.properties)
        if self.loop is not None:
            out["loop"] = self.loop
        counts: dict[str, int] = {}
        events = [*self.events, *([("timer", self.timer)] if self.timer else [])]
        for kind, value in events:
            number = counts.get(kind, 0)
            counts[kind] = number + 1
            # The beginning of a key identifies the event; keys must differ.
            out[f"{kind}{number}" if number else kind] = value
        return out


class Task:
    """A task, or several equal ones: its actions, in the order of the calls.

    Every method returns a new task, so that one can be made from another::

        video = Task("video").every("40ms").run("6ms")
        heavy = video.called("heavy").run("4ms").nice(5).instances(2)

    A task repeats forever unless :meth:`times` specifies how often. Times are texts with units
    (``"6ms"``) or timedeltas, in whole microseconds, as in rt-app.
    """

    def __init__(self, name: str) -> None:
        if not name or not isinstance(name, str):
            raise InputError(f"the name of a task is {name!r}; it must be a text")
        self._name = name
        self._instances: int | None = None
        self._properties: dict[str, Any] = {}
        self._loop = -1
        self._phases: list[_Phase] = [_Phase("", None)]

    @property
    def name(self) -> str:
        """Name of the task; several equal ones are called ``name-0``, ``name-1`` ..."""
        return self._name

    def __repr__(self) -> str:
        return f"<Task {self._name}: {json.dumps(self.to_dict())}>"

    def _copy(self) -> Task:
        return copy.deepcopy(self)

    def _event(self, kind: str, value: Any) -> Task:
        new = self._copy()
        new._phases[-1].events.append((kind, value))
        return new

    def _property(self, name: str, value: Any) -> Task:
        new = self._copy()
        first = len(new._phases) == 1
        (new._properties if first else new._phases[-1].properties)[name] = value
        return new

    # Attributes.

    def called(self, name: str) -> Task:
        """Returns the same task with another name."""
        new = self._copy()
        new._name = Task(name)._name
        return new

    def instances(self, number: int) -> Task:
        """Sets the number of instances; 0: none before a task forks it."""
        new = self._copy()
        new._instances = whole(number, "instances", 0)
        return new

    def nice(self, value: int) -> Task:
        """Sets its nice value, -20 (most CPU time) to 19 (least)."""
        return self._property("priority", whole(value, "nice", -20, 19))

    def policy(
        self,
        name: Literal["other", "batch", "idle", "fifo", "rr", "iso"],
        priority: int | None = None,
    ) -> Task:
        """Sets its scheduling policy; ``priority`` is 1 to 99 (most urgent) for ``fifo`` and
        ``rr``."""
        ordinary = [one for one in _POLICIES if one != "deadline"]
        if name not in ordinary:
            names = ", ".join(ordinary)
            raise InputError(
                f"there is no policy {name!r}; the policies are {names}, and deadline()"
            )
        new = self._property("policy", _POLICIES[name])
        if priority is None:
            return new
        least, most = (1, 99) if name in ("fifo", "rr") else (-20, 19)
        return new._property("priority", whole(priority, "priority", least, most))

    def deadline(
        self, runtime: Time, deadline: Time | None = None, period: Time | None = None
    ) -> Task:
        """``SCHED_DEADLINE``: a budget in every period, until a deadline."""
        new = self._property("policy", _POLICIES["deadline"])
        figures = {"runtime": runtime, "deadline": deadline, "period": period}
        for name, value in figures.items():
            if value is not None:
                new = new._property(f"dl-{name}", time_us(value, name))
        return new

    def slice(self, length: Time) -> Task:
        """Sets the slice that it requests from EEVDF (kernels from 6.12)."""
        return self._property("dl-runtime", time_us(length, "slice"))

    def cpus(self, *cpus: int) -> Task:
        """Sets the CPUs on which it may run; from 0."""
        if not cpus:
            raise InputError("cpus: name at least one CPU")
        return self._property("cpus", [whole(cpu, "a CPU", 0) for cpu in cpus])

    def group(self, path: str) -> Task:
        """Sets its task group, as ``/alice/make``."""
        if not isinstance(path, str) or not path.startswith("/"):
            raise InputError(f"group is {path!r}; a path begins with /")
        return self._property("taskgroup", path)

    def delay(self, time: Time) -> Task:
        """Sets the delay of its start."""
        new = self._copy()
        new._properties["delay"] = time_us(time, "delay")
        return new

    # Actions.

    def times(self, number: int) -> Task:
        """Sets the number of passes through its actions, after which it ends."""
        new = self._copy()
        new._loop = whole(number, "times", 1)
        return new

    def phase(self, name: str, times: int = 1) -> Task:
        """Begins a phase, which is repeated ``times`` times in each pass."""
        _named(name, "phase")
        new = self._copy()
        loop = whole(times, "times", 1)
        if len(new._phases) == 1 and not new._phases[0].name:
            if new._phases[0].events or new._phases[0].timer:
                raise InputError(f"{self._name}: name the first phase, too, before its events")
            new._phases = []
        if any(phase.name == name for phase in new._phases):
            raise InputError(f"{self._name}: there is a phase {name!r} already")
        new._phases.append(_Phase(name, loop))
        return new

    def every(self, period: Time, absolute: bool = False) -> Task:
        """Repeats all actions once in every period: the task sleeps until the next one begins.

        A late pass is not skipped: the next begins at once. ``absolute``: periods are counted from
        the start, however late passes are, instead of from the late one.
        """
        new = self._copy()
        timer: dict[str, Any] = {"ref": "unique", "period": time_us(period, "period")}
        if absolute:
            timer["mode"] = "absolute"
        new._phases[-1].timer = timer
        return new

    def run(self, time: Time) -> Task:
        """Computes for this time at a CPU's full capacity."""
        return self._event("run", time_us(time, "run"))

    def runtime(self, time: Time) -> Task:
        """Computes until this time has passed, even if other tasks had the CPU in the meantime."""
        return self._event("runtime", time_us(time, "runtime"))

    def sleep(self, time: Time) -> Task:
        """Sleeps."""
        return self._event("sleep", time_us(time, "sleep"))

    def lock(self, mutex: str) -> Task:
        """Locks a mutex."""
        return self._event("lock", _named(mutex, "mutex"))

    def unlock(self, mutex: str) -> Task:
        """Unlocks a mutex."""
        return self._event("unlock", _named(mutex, "mutex"))

    def wait(self, condition: str, mutex: str) -> Task:
        """Waits for a condition, with the mutex unlocked during the wait."""
        names = {"ref": _named(condition, "condition"), "mutex": _named(mutex, "mutex")}
        return self._event("wait", names)

    def signal(self, condition: str) -> Task:
        """Wakes one task that waits for a condition."""
        return self._event("signal", _named(condition, "condition"))

    def broadcast(self, condition: str) -> Task:
        """Wakes all tasks that wait for a condition."""
        return self._event("broad", _named(condition, "condition"))

    def barrier(self, name: str) -> Task:
        """Waits until all tasks that name the barrier have arrived."""
        return self._event("barrier", _named(name, "barrier"))

    def post(self, semaphore: str) -> Task:
        """Posts a semaphore, which wakes one task that waits for it."""
        return self._event("sem_post", _named(semaphore, "semaphore"))

    def acquire(self, semaphore: str) -> Task:
        """Waits for a post of a semaphore."""
        return self._event("sem_wait", _named(semaphore, "semaphore"))

    def suspend(self) -> Task:
        """Sleeps until another task resumes it."""
        return self._event("suspend", self._name)

    def resume(self, task: str | Task) -> Task:
        """Wakes all threads of a task that suspended themselves."""
        return self._event("resume", _named(getattr(task, "name", task), "task"))

    def yield_(self) -> Task:
        """Calls ``sched_yield``."""
        return self._event("yield", "")

    def fork(self, task: str | Task) -> Task:
        """Starts another thread of a task."""
        return self._event("fork", _named(getattr(task, "name", task), "task"))

    def to_dict(self) -> dict[str, Any]:
        """Returns the task in rt-app's language."""
        out: dict[str, Any] = {}
        if self._instances is not None:
            out["instance"] = self._instances
        out.update(self._properties)
        out["loop"] = self._loop
        if len(self._phases) == 1 and not self._phases[0].name:
            out.update(self._phases[0].to_dict())
        else:
            out["phases"] = {phase.name: phase.to_dict() for phase in self._phases}
        return out


class Workload:
    """Tasks that run together.

    ``duration`` is in whole seconds, as in rt-app (for shorter runs, use ``duration`` of
    :func:`schedlab.run`); without it the tasks run until all have ended. ``priority_inheritance``:
    mutexes lend the priority of waiting tasks.
    """

    def __init__(
        self,
        *tasks: Task | Iterable[Task],
        duration: Time | None = None,
        name: str = "workload",
        priority_inheritance: bool = False,
    ) -> None:
        self.tasks: list[Task] = []
        for one in tasks:
            if isinstance(one, Task):
                self.tasks.append(one)
            elif isinstance(one, Iterable):
                self.tasks.extend(one)
            else:
                raise InputError(f"{one!r} is not a Task")
        for one in self.tasks:
            if not isinstance(one, Task):
                raise InputError(f"{one!r} is not a Task")
        if not self.tasks:
            raise InputError("a workload must have at least one task")
        names = [task.name for task in self.tasks]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(
                f"two tasks are called {sorted(twice)[0]!r}; use instances() for several equal ones"
            )
        self.name = _named(name, "name")
        self.duration_s: int | None = None
        if duration is not None:
            seconds, rest = divmod(time_ns(duration, "duration"), 10**9)
            if rest or not seconds:
                raise InputError(
                    f"duration is {duration!r}; rt-app's language takes whole seconds: give the "
                    "duration to run() instead"
                )
            self.duration_s = seconds
        if not isinstance(priority_inheritance, bool):
            raise InputError(
                f"priority_inheritance is {priority_inheritance!r}; it must be True or False"
            )
        self.priority_inheritance = priority_inheritance

    def __repr__(self) -> str:
        return f"<Workload {self.name}: {', '.join(task.name for task in self.tasks)}>"

    def to_dict(self) -> dict[str, Any]:
        """Returns the workload in rt-app's language."""
        out: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        if self.duration_s is not None:
            settings["duration"] = self.duration_s
        if self.priority_inheritance:
            settings["pi_enabled"] = True
        if settings:
            out["global"] = settings
        out["tasks"] = {task.name: task.to_dict() for task in self.tasks}
        return out

    def to_json(self) -> str:
        """Returns the text of an rt-app file, which also runs on a real machine."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an rt-app file; an existing one is overwritten."""
        write(path, self.to_json())


def _named(name: Any, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"{what} is {name!r}; it must be a name, a text")
    return name
