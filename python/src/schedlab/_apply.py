"""Settings as commands that apply them to a machine."""

from __future__ import annotations

import shlex
from typing import Any

#: Release from which the scheduler's tunables are files of debugfs, not sysctls.
_DEBUGFS_SINCE = (5, 13)


def _release(scheduler: str) -> tuple[int, ...]:
    version = scheduler.partition("@")[2].split("[")[0]
    numbers = []
    for part in version.split("."):
        digits = "".join(c for c in part if c.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers) or (2, 6)


def _tunable(name: str, value: Any, release: tuple[int, ...]) -> str:
    old = release < _DEBUGFS_SINCE
    if name.isupper():
        features = "/sys/kernel/debug/sched_features" if old else "/sys/kernel/debug/sched/features"
        return f"echo {name if value else f'NO_{name}'} > {features}"
    if name.startswith(("sched_rt_", "sched_cfs_bandwidth", "sched_deadline")) or old:
        return f"sysctl -w kernel.{name}={value}"
    return f"echo {value} > /sys/kernel/debug/sched/{name.removeprefix('sched_')}"


def command(name: str, value: Any, scheduler: str) -> str:
    """Returns the command that sets the axis ``name`` to ``value`` under a kernel with
    ``scheduler``."""
    kind, _, rest = name.partition(".")
    of_one = kind == "set" and ":" in rest
    if of_one:
        kind, _, rest = rest.partition(":")
    pids = f"$(pgrep -x {shlex.quote(rest)})"
    if of_one:
        group = f"/sys/fs/cgroup{rest}"
        if kind == "nice":
            return f"renice -n {value} -p {pids}"
        if kind == "shares":
            return f"echo {value} > /sys/fs/cgroup/cpu{rest}/cpu.shares"
        if kind == "weight":
            return f"echo {value} > {group}/cpu.weight"
        return f"echo {_cpu_max(str(value))} > {group}/cpu.max"
    if kind == "set":
        return _tunable(rest, value, _release(scheduler))
    if kind == "policy":
        option = {
            "SCHED_OTHER": "--other", "SCHED_BATCH": "--batch", "SCHED_IDLE": "--idle",
            "SCHED_FIFO": "--fifo", "SCHED_RR": "--rr",
        }.get(str(value), f"# {value}")
        priority = 1 if option in ("--fifo", "--rr") else 0
        return f"for pid in {pids}; do chrt {option} -p {priority} $pid; done"
    if kind == "affinity":
        return f"for pid in {pids}; do taskset -cp {value} $pid; done"
    if kind == "slice":
        return f"for pid in {pids}; do chrt --other -T {int(value) * 1000} -p 0 $pid; done"
    if name == "scheduler":
        return f"# a kernel with {value}"
    return f"# {name} = {value}"


def _cpu_max(value: str) -> str:
    """Returns ``20ms/100ms`` in the format of the kernel's file: µs."""
    if value == "max":
        return "max"

    def us(text: str) -> str:
        for unit, factor in (("us", 1), ("ms", 1000), ("s", 1_000_000)):
            if text.endswith(unit):
                return str(int(float(text.removesuffix(unit)) * factor))
        return text

    return '"' + " ".join(us(part) for part in value.split("/")) + '"'
