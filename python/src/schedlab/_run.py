"""Runs of workloads: :func:`run`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._errors import SchedlabWarning
from ._plan import GroupsLike, Scheduler, make
from ._runs import Runs
from ._sources import PathLike, WorkloadLike
from ._units import Moment, count


def run(
    workload: WorkloadLike,
    schedulers: Scheduler | Iterable[Scheduler] | None = None,
    *,
    cpus: int | None = None,
    machine: PathLike | None = None,
    hz: int | None = None,
    costs: Mapping[str, float] | bool | None = None,
    nohz: bool | None = None,
    set: Mapping[str, Any] | None = None,
    groups: GroupsLike | None = None,
    users: Mapping[str, str] | None = None,
    user_groups: bool = False,
    autogroup: bool = False,
    cgrules: PathLike | None = None,
    at: str | Iterable[str] = (),
    timetable: PathLike | Iterable[PathLike] = (),
    duration: Moment | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    record: bool = True,
    threads: int | None = None,
) -> Runs:
    """Runs a workload under each scheduler, on a simulated machine in virtual time.

    The same arguments give the same results, to the nanosecond.

    Parameters
    ----------
    workload
        A file in rt-app's language, or a plan; a dict with the same contents; tasks (:class:`Task`,
        :class:`Workload`); the name of a benchmark (:func:`benchmarks`), which is run once, with
        the first of the values of each parameter; a recorded trace, whose work is run from time 0
        as in the output of ``schedlab replay --write``.
    schedulers
        Names as ``schedlab list`` shows them (``cfs``, ``eevdf@6.12``,
        ``cfs:sched_latency_ns=6ms``, ``main``, ``linux``, ``textbook``, ``all``), and classes made
        of :class:`Policy`. Default: the main line.
    cpus
        Number of CPUs; default: the number that the workload names, else the machine's number.
    machine
        A preset (``laptop``, ``z800-2x6`` ...), ``flat-8``, or a file.
    hz
        Ticks per second; default: the value of each release's usual build.
    costs
        Costs of single operations, ns, by name; False: no costs, whatever the machine.
    nohz
        Whether idle CPUs go without ticks, if there are costs.
    set
        Settings of all schedulers that have them: tunables, ``nice:KEY``, ``shares:/GROUP``,
        ``weight:/GROUP``, ``quota:/GROUP``. A list of values makes a column for each.
    groups
        Task groups: a file, ``"/tg1:cpu.weight=200"``, ``{"/tg1": {"cpu.weight": 200}}``, or
        several of these.
    users, user_groups, autogroup, cgrules
        Users of tasks (``{"make-*": "bob"}``); a group for each user; a group for each session;
        libcgroup's rules.
    at, timetable
        Actions on the machine during the run: ``"2s renice video -5"``, or files of such lines.
    duration
        Maximum duration: seconds, or a text such as ``"2500ms"``. Default: that of the workload.
    seed
        Seed of the random order of simultaneous events, and of everything random in a benchmark.
    repeat
        Number of runs, with consecutive seeds from ``seed``; the result is the first run with a
        summary of all.
    parameters
        A benchmark's parameters.
    record
        Whether to record where each task ran.
    threads
        Maximum number of threads; default: one for each core. The result does not depend on it.

    Raises
    ------
    InputError
        The input is invalid: with file, line and column if it is in a file.
    RunError
        A run failed. (If its tasks wait for each other forever while runs under other schedulers
        succeed, it is a warning.)
    PolicyError
        A policy of yours failed; the traceback is that of the policy.
    """
    plan, policies = make(
        workload, schedulers, cpus=cpus, machine=machine, hz=hz, costs=costs, nohz=nohz, set=set,
        groups=groups, users=users, user_groups=user_groups,
        autogroup=autogroup, cgrules=cgrules, at=at, timetable=timetable, duration=duration, seed=seed, repeat=repeat, parameters=parameters,
        record=record,
    )
    prepared = _native.Prepared(json.dumps(plan), list(policies))
    outcome = prepared.run(count(threads, "threads"))
    for warning in outcome.warnings:
        warnings.warn(warning, SchedlabWarning, stacklevel=2)
    return Runs(prepared, outcome)
