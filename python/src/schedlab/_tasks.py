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
}


class _Phase:
    """Events in their order, with how often they are gone through."""

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
            # Events are known by what their keys begin with; keys must differ.
            out[f"{kind}{number}" if number else kind] = value
        return out


class Task:
    """A task, or several alike: what it does, said in the order in which it does it.

    Every method returns a new task, so that one can be made from another::

        video = Task("video").every("40ms").run("6ms")
        heavy = video.called("heavy").run("4ms").nice(5).instances(2)

    A task goes on for ever unless :meth:`times` says how often. Times are texts with their units
    (``"6ms"``) or timedeltas, and whole microseconds, as in rt-app.
    """

    def __init__(self, name: str) -> None:
        if not name or not isinstance(name, str):
            raise InputError(f"a task is called {name!r}; it must have a name, a text")
        self._name = name
        self._instances: int | None = None
        self._properties: dict[str, Any] = {}
        self._loop = -1
        self._phases: list[_Phase] = [_Phase("", None)]

    @property
    def name(self) -> str:
        """Its name: of several alike they are ``name-0``, ``name-1`` ..."""
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

    # What it is.

    def called(self, name: str) -> Task:
        """The same task under another name."""
        new = self._copy()
        new._name = Task(name)._name
        return new

    def instances(self, number: int) -> Task:
        """So many of it; 0: none before somebody forks it."""
        new = self._copy()
        new._instances = whole(number, "instances", 0)
        return new

    def nice(self, value: int) -> Task:
        """Its nice value, -20 (most CPU time) to 19 (least)."""
        return self._property("priority", whole(value, "nice", -20, 19))

    def policy(
        self,
        name: Literal["other", "batch", "idle", "fifo", "rr"],
        priority: int | None = None,
    ) -> Task:
        """Its scheduling policy; ``priority`` is 1 to 99 (most urgent) for ``fifo`` and ``rr``."""
        ordinary = [one for one in _POLICIES if one != "deadline"]
        if name not in ordinary:
            names = ", ".join(ordinary)
            raise InputError(f"there is no policy {name!r}; there are {names}, and deadline()")
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
        """The slice that it asks EEVDF for (kernels from 6.12 on)."""
        return self._property("dl-runtime", time_us(length, "slice"))

    def cpus(self, *cpus: int) -> Task:
        """The CPUs it may run on; from 0."""
        if not cpus:
            raise InputError("cpus: name at least one CPU")
        return self._property("cpus", [whole(cpu, "a CPU", 0) for cpu in cpus])

    def group(self, path: str) -> Task:
        """Its task group, as ``/alice/make``."""
        if not isinstance(path, str) or not path.startswith("/"):
            raise InputError(f"group is {path!r}; a path begins with /")
        return self._property("taskgroup", path)

    def delay(self, time: Time) -> Task:
        """It starts so much later."""
        new = self._copy()
        new._properties["delay"] = time_us(time, "delay")
        return new

    # What it does.

    def times(self, number: int) -> Task:
        """It goes through all of it so often, and ends."""
        new = self._copy()
        new._loop = whole(number, "times", 1)
        return new

    def phase(self, name: str, times: int = 1) -> Task:
        """What follows is a phase of its own, gone through ``times`` times in each round."""
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
        """All of it once in every period: it sleeps until the next one begins.

        A round that is late is not left out: the next begins at once. ``absolute``: periods are
        counted from the start, however late rounds are, instead of from when it was late.
        """
        new = self._copy()
        timer: dict[str, Any] = {"ref": "unique", "period": time_us(period, "period")}
        if absolute:
            timer["mode"] = "absolute"
        new._phases[-1].timer = timer
        return new

    def run(self, time: Time) -> Task:
        """Computes, so long as it takes on a CPU at full capacity."""
        return self._event("run", time_us(time, "run"))

    def runtime(self, time: Time) -> Task:
        """Computes until so much time has passed, whoever had the CPU meanwhile."""
        return self._event("runtime", time_us(time, "runtime"))

    def sleep(self, time: Time) -> Task:
        """Sleeps."""
        return self._event("sleep", time_us(time, "sleep"))

    def lock(self, mutex: str) -> Task:
        """Takes a mutex."""
        return self._event("lock", _named(mutex, "mutex"))

    def unlock(self, mutex: str) -> Task:
        """Gives a mutex back."""
        return self._event("unlock", _named(mutex, "mutex"))

    def wait(self, condition: str, mutex: str) -> Task:
        """Waits for a condition, giving up the mutex meanwhile."""
        names = {"ref": _named(condition, "condition"), "mutex": _named(mutex, "mutex")}
        return self._event("wait", names)

    def signal(self, condition: str) -> Task:
        """Wakes one that waits for a condition."""
        return self._event("signal", _named(condition, "condition"))

    def broadcast(self, condition: str) -> Task:
        """Wakes all that wait for a condition."""
        return self._event("broad", _named(condition, "condition"))

    def barrier(self, name: str) -> Task:
        """Waits until all who name the barrier have come to it."""
        return self._event("barrier", _named(name, "barrier"))

    def post(self, semaphore: str) -> Task:
        """Adds one to a semaphore, which wakes one that waits for it."""
        return self._event("sem_post", _named(semaphore, "semaphore"))

    def acquire(self, semaphore: str) -> Task:
        """Takes one from a semaphore, and waits if there is none."""
        return self._event("sem_wait", _named(semaphore, "semaphore"))

    def suspend(self) -> Task:
        """Sleeps until somebody resumes it."""
        return self._event("suspend", self._name)

    def resume(self, task: str | Task) -> Task:
        """Wakes all threads of a task that suspended themselves."""
        return self._event("resume", _named(getattr(task, "name", task), "task"))

    def yield_(self) -> Task:
        """Calls ``sched_yield``."""
        return self._event("yield", "")

    def fork(self, task: str | Task) -> Task:
        """Starts one more thread of a task."""
        return self._event("fork", _named(getattr(task, "name", task), "task"))

    def to_dict(self) -> dict[str, Any]:
        """It as rt-app's language has it."""
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

    ``duration`` is how long, in whole seconds, as rt-app has it (shorter runs: ``duration`` of
    :func:`schedlab.run`); without it they run until all have ended. ``priority_inheritance``:
    mutexes lend the priority of those who wait.
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
                raise InputError(f"{one!r} is no Task")
        for one in self.tasks:
            if not isinstance(one, Task):
                raise InputError(f"{one!r} is no Task")
        if not self.tasks:
            raise InputError("a workload must have at least one task")
        names = [task.name for task in self.tasks]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(
                f"two tasks are called {sorted(twice)[0]!r}; instances() makes more of one"
            )
        self.name = _named(name, "name")
        self.duration_s: int | None = None
        if duration is not None:
            seconds, rest = divmod(time_ns(duration, "duration"), 10**9)
            if rest or not seconds:
                raise InputError(
                    f"duration is {duration!r}; rt-app's language has whole seconds: give the "
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
        """It as rt-app's language has it."""
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
        """It as an rt-app file's text, which runs on a real machine, too."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as an rt-app file, over what is there."""
        write(path, self.to_json())


def _named(name: Any, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"{what} is {name!r}; it must be a name, a text")
    return name
