"""The laboratory for Linux process schedulers: how would this workload run under that scheduler?

    import schedlab
    runs = schedlab.run("examples/desktop.json", ["o_1", "cfs", "eevdf"])
    print(runs.compare())

The engine is that of the program ``schedlab``, and its results are identical to the byte. It runs
without the interpreter's lock. Times are whole nanoseconds of virtual time, with the unit in every
name (``start_ns``).
"""

from __future__ import annotations

from . import _native
from ._errors import Error, InputError, PolicyError, RunError, SchedlabWarning
from ._facts import Benchmark, Metric, Release, benchmarks, metrics, schedulers
from ._live import (
    Bound,
    Measured,
    Measurement,
    TaskError,
    Total,
    Witness,
    compare,
    host,
    host_probe,
)
from ._policy import Policy
from ._policy_task import PolicyTask
from ._run import run
from ._runs import Comparison, Explanation, Run, Runs
from ._sweep import Sweep, sweep
from ._table import Table
from ._tasks import Task, Workload
from ._tune import tune
from ._tuning import Tuning
from ._work import (
    Bench,
    Experiment,
    GoldenVerdict,
    Papers,
    Replay,
    World,
    bench,
    paper_ids,
    papers,
    replay,
    stress,
    verify,
)
from .queues import Fifo, PriorityArray, Tree

__version__: str = _native.__version__

__all__ = [
    "Bench",
    "Benchmark",
    "Bound",
    "Comparison",
    "Error",
    "Experiment",
    "Explanation",
    "Fifo",
    "GoldenVerdict",
    "InputError",
    "Measured",
    "Measurement",
    "Metric",
    "Papers",
    "Policy",
    "PolicyError",
    "PolicyTask",
    "PriorityArray",
    "Release",
    "Replay",
    "Run",
    "RunError",
    "Runs",
    "SchedlabWarning",
    "Sweep",
    "Table",
    "Task",
    "TaskError",
    "Total",
    "Tree",
    "Tuning",
    "Witness",
    "Workload",
    "World",
    "__version__",
    "bench",
    "benchmarks",
    "compare",
    "host",
    "host_probe",
    "metrics",
    "paper_ids",
    "papers",
    "replay",
    "run",
    "schedulers",
    "stress",
    "sweep",
    "tune",
    "verify",
]
