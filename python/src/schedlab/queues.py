"""Queues for policies: :class:`Fifo`, :class:`PriorityArray`, :class:`Tree`.

Each contains a task at most once and has a deterministic order. With a CPU as argument, tasks that
may not run there are skipped.
"""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._policy_task import PolicyTask


class Fifo:
    """First in, first out."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[PolicyTask, None] = OrderedDict()

    def push(self, task: PolicyTask) -> None:
        """Adds a task at the end."""
        if task in self._tasks:
            raise ValueError(f"{task} is in the queue already")
        self._tasks[task] = None

    def push_front(self, task: PolicyTask) -> None:
        """Adds a task at the front."""
        self.push(task)
        self._tasks.move_to_end(task, last=False)

    def first(self, cpu: int | None = None) -> PolicyTask | None:
        """Returns the frontmost task that may run on ``cpu``; None if there is none."""
        for task in self._tasks:
            if cpu is None or task.may_run_on(cpu):
                return task
        return None

    def pop(self, cpu: int | None = None) -> PolicyTask | None:
        """Takes out the task that :meth:`first` returns."""
        task = self.first(cpu)
        if task is not None:
            del self._tasks[task]
        return task

    def remove(self, task: PolicyTask) -> None:
        """Takes out a task, if it is in the queue."""
        self._tasks.pop(task, None)

    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def __iter__(self) -> Iterator[PolicyTask]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


class PriorityArray:
    """A FIFO for each of ``levels`` priorities; 0 is the highest."""

    def __init__(self, levels: int = 140) -> None:
        self._queues = [Fifo() for _ in range(levels)]
        self._level: dict[PolicyTask, int] = {}

    def push(self, task: PolicyTask, level: int) -> None:
        """Adds a task at the end of its level's queue."""
        if not 0 <= level < len(self._queues):
            raise ValueError(f"level is {level}; it must be 0 to {len(self._queues) - 1}")
        if task in self._level:
            raise ValueError(f"{task} is in the queue already")
        self._queues[level].push(task)
        self._level[task] = level

    def first(self, cpu: int | None = None) -> PolicyTask | None:
        """Returns the first task of the first level that has one that may run on ``cpu``."""
        for level in sorted(set(self._level.values())):
            task = self._queues[level].first(cpu)
            if task is not None:
                return task
        return None

    def pop(self, cpu: int | None = None) -> PolicyTask | None:
        """Takes out the task that :meth:`first` returns."""
        task = self.first(cpu)
        if task is not None:
            self.remove(task)
        return task

    def remove(self, task: PolicyTask) -> None:
        """Takes out a task, if it is in the array."""
        level = self._level.pop(task, None)
        if level is not None:
            self._queues[level].remove(task)

    def level(self, task: PolicyTask) -> int:
        """Returns the level of a task."""
        return self._level[task]

    def __contains__(self, task: object) -> bool:
        return task in self._level

    def __iter__(self) -> Iterator[PolicyTask]:
        for level in sorted(set(self._level.values())):
            yield from self._queues[level]

    def __len__(self) -> int:
        return len(self._level)


class Tree:
    """Tasks sorted by a key, the smallest first; equal keys in the order of insertion.

    ``key`` is evaluated when a task is added. To change its inputs, take the task out first, and
    add it again.
    """

    def __init__(self, key: Callable[[PolicyTask], Any]) -> None:
        self._key = key
        self._sorted: list[tuple[Any, int, PolicyTask]] = []
        self._place: dict[PolicyTask, tuple[Any, int]] = {}
        self._count = 0

    def push(self, task: PolicyTask) -> None:
        """Inserts a task according to its key."""
        if task in self._place:
            raise ValueError(f"{task} is in the tree already")
        self._count += 1
        place = (self._key(task), self._count)
        self._place[task] = place
        bisect.insort(self._sorted, (*place, task))

    def first(
        self,
        cpu: int | None = None,
        where: Callable[[PolicyTask], bool] | None = None,
    ) -> PolicyTask | None:
        """Returns the task with the smallest key that may run on ``cpu`` and satisfies
        ``where``."""
        for _, _, task in self._sorted:
            if (cpu is None or task.may_run_on(cpu)) and (where is None or where(task)):
                return task
        return None

    def pop(
        self,
        cpu: int | None = None,
        where: Callable[[PolicyTask], bool] | None = None,
    ) -> PolicyTask | None:
        """Takes out the task that :meth:`first` returns."""
        task = self.first(cpu, where)
        if task is not None:
            self.remove(task)
        return task

    def remove(self, task: PolicyTask) -> None:
        """Takes out a task, if it is in the tree."""
        place = self._place.pop(task, None)
        if place is not None:
            del self._sorted[bisect.bisect_left(self._sorted, place, key=lambda row: row[:2])]

    def __contains__(self, task: object) -> bool:
        return task in self._place

    def __iter__(self) -> Iterator[PolicyTask]:
        return (task for _, _, task in self._sorted)

    def __len__(self) -> int:
        return len(self._sorted)
