"""Facts that the engine knows: schedulers, benchmarks, metrics."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class Release(NamedTuple):
    """A release of a scheduler; ``str()`` returns its full name: ``cfs@2.6.32``."""

    name: str
    release: str
    title: str
    summary: str

    def __str__(self) -> str:
        return f"{self.name}@{self.release}"


class Benchmark(NamedTuple):
    """A benchmark, with descriptions of its parameters."""

    name: str
    about: str
    parameters: dict[str, str]


class Metric(NamedTuple):
    """A figure of a run. ``better`` is ``less``, ``more`` or ``neither``; times are in ns."""

    id: str
    title: str
    unit: str
    better: str


def schedulers() -> list[Release]:
    """Returns every release of every scheduler, in the order in which Linux had them."""
    return [Release(*row) for row in _native.schedulers()]


def benchmarks() -> list[Benchmark]:
    """Returns the benchmarks that :func:`schedlab.run` and :func:`schedlab.bench` know by name."""
    return [Benchmark(name, about, dict(rows)) for name, about, rows in _native.benchmarks()]


def metrics() -> list[Metric]:
    """Returns the figures of a run."""
    return [Metric(*row) for row in _native.metrics()]
