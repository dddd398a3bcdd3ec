"""The laboratory for Linux process schedulers: what would this workload have done under that one?

    import schedlab
    runs = schedlab.run("examples/desktop.json", ["o_1", "cfs", "eevdf"])
    print(runs.compare())

The engine is the one of the program ``schedlab``, and comes to the same results to the byte. It
runs without the interpreter's lock. Times are whole nanoseconds of virtual time, with the unit in
every name (``start_ns``).
"""

from __future__ import annotations

from . import _native
from ._errors import Error, InputError, PolicyError, RunError, SchedlabWarning
from ._facts import Benchmark, Metric, Release, benchmarks, metrics, schedulers
from ._policy import Policy, PolicyTask
from ._run import run
from ._runs import Comparison, Explanation, Run, Runs
from ._table import Table
from ._tasks import Task, Workload
from .queues import Fifo, PriorityArray, Tree

__version__: str = _native.__version__

__all__ = [
    "Benchmark",
    "Comparison",
    "Error",
    "Explanation",
    "Fifo",
    "InputError",
    "Metric",
    "Policy",
    "PolicyError",
    "PolicyTask",
    "PriorityArray",
    "Release",
    "Run",
    "RunError",
    "Runs",
    "SchedlabWarning",
    "Table",
    "Task",
    "Tree",
    "Workload",
    "__version__",
    "benchmarks",
    "metrics",
    "run",
    "schedulers",
]
