"""Running things: :func:`run`."""

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
        A file in rt-app's language, or a plan; the same as a dict; tasks (:class:`Task`,
        :class:`Workload`); the name of a benchmark (:func:`benchmarks`), of which one run is made
        with the first of each of its values; a recorded trace, whose work is run from time 0 as
        ``schedlab replay --write`` writes it.
    schedulers
        Names as ``schedlab list`` shows them (``cfs``, ``eevdf@6.12``,
        ``cfs:sched_latency_ns=6ms``, ``main``, ``linux``, ``textbook``, ``all``), and classes made
        of :class:`Policy`. Default: the main line.
    cpus
        Number of CPUs; default: as many as the workload names, or the machine has.
    machine
        A preset (``laptop``, ``z800-2x6`` ...), ``flat-8``, or a file.
    hz
        Ticks a second; default: what each release had in its usual build.
    costs
        What single things cost, ns, by name; False: nothing costs anything, whatever the machine.
    nohz
        Whether idle CPUs go without ticks, where things cost something.
    set
        What is set of all schedulers that have it: tunables, ``nice:KEY``, ``shares:/GROUP``,
        ``weight:/GROUP``, ``quota:/GROUP``. A list of values makes a column each.
    groups
        Task groups: a file, ``"/tg1:cpu.weight=200"``, ``{"/tg1": {"cpu.weight": 200}}``, or
        several of these.
    users, user_groups, cgrules
        Whose tasks are (``{"make-*": "bob"}``); a group for each user; libcgroup's rules.
    at, timetable
        What is done to the machine meanwhile: ``"2s renice video -5"``, or files of such lines.
    duration
        How long at most: seconds, or a text as ``"2500ms"``. Default: what the workload says.
    seed
        Simultaneous events happen in random order by this seed; of a benchmark all that is random.
    repeat
        How often each is run, with the seeds from ``seed`` on; the result is the first run with a
        summary of all.
    parameters
        A benchmark's parameters.
    record
        Whether to record who ran when.
    threads
        So many at most; default: as many as there are cores. The result is the same.

    Raises
    ------
    InputError
        Something is not as it should be: with file, line and column where it stands in a file.
    RunError
        A run ended badly. (One whose tasks wait for each other for ever, while those under other
        schedulers went on, is a warning.)
    PolicyError
        A policy of yours failed; the traceback is its own.
    """
    plan, policies = make(
        workload, schedulers, cpus=cpus, machine=machine, hz=hz, costs=costs, nohz=nohz, set=set,
        groups=groups, users=users, user_groups=user_groups, cgrules=cgrules, at=at,
        timetable=timetable, duration=duration, seed=seed, repeat=repeat, parameters=parameters,
        record=record,
    )
    prepared = _native.Prepared(json.dumps(plan), list(policies))
    outcome = prepared.run(count(threads, "threads"))
    for warning in outcome.warnings:
        warnings.warn(warning, SchedlabWarning, stacklevel=2)
    return Runs(prepared, outcome)
