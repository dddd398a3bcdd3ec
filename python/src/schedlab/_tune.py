"""Searches for the best settings for a load: :func:`tune`."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._errors import InputError
from ._objective import parse
from ._plan import check_keywords, make
from ._problem import Problem
from ._search import Search, one_at_a_time, optuna, study
from ._sources import PathLike, WorkloadLike, benchmark_names, refuse_beside
from ._sweep import axis
from ._tasks import Task, Workload
from ._tuning import Trial, Tuning
from ._units import count, whole
from ._verdict import edges, front, importance, verdict

#: Distance of held-out seeds from the seeds of the search.
HELD_OUT_SEEDS_FROM = 1_000_000

SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "one_at_a_time")


def _list(value: Any, what: str) -> list[Any]:
    """Returns a list of no, one or several texts."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, Mapping, Task, Workload)) or callable(value):
        return [value]
    if not isinstance(value, Iterable):
        raise InputError(f"{what} is {value!r}; it must be a text, or a list of them")
    return list(value)


def _texts(value: Any, what: str) -> list[str]:
    texts = _list(value, what)
    if wrong := [one for one in texts if not isinstance(one, str)]:
        raise InputError(f"{what} has {wrong[0]!r}; it must be a text")
    return texts


def tune(
    workloads: WorkloadLike | Sequence[WorkloadLike],
    schedulers: str | Sequence[str] = "cfs",
    objective: Any = None,
    *,
    space: Mapping[str, Any] | None = None,
    subject_to: str | Sequence[str] = (),
    budget: int = 60,
    seeds: int = 2,
    held_out: WorkloadLike | Sequence[WorkloadLike] | None = None,
    held_out_seeds: int = 8,
    seed: int = 1,
    sampler: str | None = None,
    yardsticks: Sequence[str] = ("random",),
    batch: int = 8,
    prune: bool = True,
    storage: PathLike | None = None,
    threads: int | None = None,
    metrics: Sequence[str] = (),
    title: str | None = None,
    progress: bool | None = None,
    **plan: Any,
) -> Tuning:
    """Searches for the settings that are best for some workloads.

    Parameters
    ----------
    workloads
        The workloads of the search: as for :func:`schedlab.run`, one or several; or the file of a
        tuning (``.toml``), which specifies everything.
    schedulers
        The schedulers to tune; with several, the scheduler is also searched for, and the first is
        the default.
    objective
        ``"minimize p99 wakeup latency of audio subject to throughput of cc >= 95 % of default"``;
        several texts are several objectives. A callable receives the metrics of a run by name (name
        them in ``metrics``) and returns a value to minimize. Objectives are relative to the
        default's values.
    space
        The settings that may change, as ``grid`` of :func:`schedlab.sweep`: ranges (``from``,
        ``to``, ``scale``) and lists. ``at_most`` names another entry as an upper bound; ``only``
        names the schedulers to which the entry applies.
    subject_to
        Further constraints.
    budget
        Number of settings that are tried, also by each of ``yardsticks``.
    seeds, held_out, held_out_seeds
        Number of seeds with which each workload is run in the search; the workloads (default: the
        same) and the number of seeds by which the result is judged, none of them used in the
        search.
    seed
        Seed of the search: the same seed gives the same result.
    sampler
        ``"tpe"`` (the default), ``"cmaes"`` (numbers only), ``"nsga2"`` (the default for several
        objectives), ``"random"``, ``"one_at_a_time"`` (one-dimensional search).
    yardsticks
        Searches with the same budget for comparison: ``"random"``, ``"one_at_a_time"``.
    batch
        Number of settings that are tried at the same time, on all cores.
    prune
        Whether bad settings are given up: during a run, at a quarter and at half of its length, or
        before the next workload (if they are worse than the median of earlier ones).
    storage
        A file in which the search is kept (Optuna's journal); an existing search continues.
    plan
        Other arguments of :func:`schedlab.run`: ``cpus``, ``machine``, ``duration`` ...

    Raises
    ------
    InputError
        A mistake in anything, before the first run.
    """
    given = dict(locals())
    if isinstance(workloads, (str, os.PathLike)) and os.fspath(workloads).endswith(".toml"):
        given.update(given.pop("plan"))
        may = ("workloads", "budget", "seed", "storage", "threads", "progress")
        refuse_beside(tune, workloads, given, *may)
        its_own = {name: given[name] for name in ("budget", "seed")
                   if given[name] != inspect.signature(tune).parameters[name].default}
        return tune_file(
            os.fspath(workloads), threads=threads, storage=storage, progress=progress, **its_own
        )
    check_keywords("tune", plan)
    threads = count(threads, "threads")
    for name, why in (("repeat", "name the number of seeds"), ("record", "it has no effect")):
        if name in plan:
            raise InputError(f"{name} cannot be given to a search: {why}")
    goals = _list(objective, "objective")
    if not goals:
        raise InputError('objective is missing: give one, such as "minimize wait_mean"')
    for goal in goals:
        if not isinstance(goal, str) and not callable(goal):
            raise InputError(f"objective is {goal!r}; it must be a text, or a function")
    texts = [goal for goal in goals if isinstance(goal, str)]
    callables = [(getattr(goal, "__name__", "goal"), goal) for goal in goals
                 if not isinstance(goal, str)]
    objectives, constraints = ([], []) if callables and not texts and not subject_to else parse(
        texts or ["throughput"], _texts(subject_to, "subject_to")
    )
    if callables and not texts:
        objectives = []
    sampler = sampler or ("tpe" if len(goals) < 2 else "nsga2")
    yardsticks = _texts(yardsticks, "yardsticks")
    metrics = _texts(metrics, "metrics")
    if not isinstance(prune, bool):
        raise InputError(f"prune is {prune!r}; it must be True or False")
    if title is not None and not isinstance(title, str):
        raise InputError(f"title is {title!r}; it must be a text")
    for name in (sampler, *yardsticks):
        if name not in SAMPLERS:
            raise InputError(f"there is no sampler {name}; the samplers are {', '.join(SAMPLERS)}")
    if sampler == "cmaes" and len(goals) > 1:
        raise InputError('sampler="cmaes" takes one objective; nsga2 takes several')
    budget, batch = whole(budget, "budget", 1), whole(batch, "batch", 1)
    seeds = whole(seeds, "seeds", 1)
    held_out_seeds = whole(held_out_seeds, "held_out_seeds", 1)
    seed = whole(seed, "seed", 0, 2**32 - 1)
    if space is not None and not isinstance(space, Mapping):
        raise InputError(f"space is {space!r}; it must be a dict of the settings that may change")
    optuna()
    names = [part.strip() for one in _texts(schedulers, "schedulers") for part in _split(one)]
    if not names:
        raise InputError("schedulers are missing: name the one to tune")
    axes = [_axis(*item) for item in (space or {}).items()]
    for one in axes:
        if one["name"] in ("seed", "duration"):
            raise InputError(
                f"axis {one['name']}: a search changes settings; this would change the workload or "
                "the machine"
            )
    if not axes and len(names) < 2:
        raise InputError("space is missing: give the settings that may change")
    base: list[str] | None = names
    if len(names) > 1:
        axes.insert(0, {"name": "scheduler", "values": names})
        base = names[:1]

    def problem(loads: list[WorkloadLike], repeat: int, first: int) -> Problem:
        plans = []
        for load in loads:
            made, policies = make(load, base, repeat=repeat, seed=first, record=False, **plan)
            if policies:
                raise InputError("a policy written in Python cannot be tuned")
            plans.append((_name(load), made))
        return Problem(plans, axes, objectives, constraints, callables, metrics, threads)

    loads = _list(workloads, "workloads")
    if not loads:
        raise InputError("workloads are missing")
    searched = problem(loads, seeds, seed)
    held = problem(_list(held_out, "held_out") or loads, held_out_seeds, seed + HELD_OUT_SEEDS_FROM)
    heading = title or f"{', '.join(names)} for {', '.join(_name(load) for load in loads)}"
    return _search_all(
        heading, searched, held, names[0], sampler, list(yardsticks), budget, batch, seed, storage,
        prune, progress,
    )


def _search_all(
    title: str, searched: Problem, held: Problem, scheduler: str, sampler: str,
    yardsticks: list[str], budget: int, batch: int, seed: int, storage: PathLike | None,
    prune: bool, progress: bool | None,
) -> Tuning:
    begun = time.monotonic()
    shown = sys.stderr.isatty() if progress is None else progress

    def say(text: str) -> None:
        if shown:
            passed = time.monotonic() - begun
            sys.stderr.write(f"{text} ({passed:.0f} s)\n")
            sys.stderr.flush()

    search = Search(searched, say)
    journal, key = None, "search"
    if storage is not None:
        library = optuna()
        texts = [space.json() for _, space in searched.spaces]
        texts.append(json.dumps([
            searched.signs, seed, [one.text for one in searched.constraints], searched.at_most,
            searched.only, [(name, _identity(call)) for name, call in searched.callables],
        ]))
        key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
        _check_journal(os.fspath(storage))
        try:
            backend = library.storages.journal.JournalFileBackend(os.fspath(storage))
            journal = library.storages.JournalStorage(backend)
            names = library.get_all_study_names(journal)
        except OSError:
            raise
        except Exception as error:
            raise InputError(
                f"{os.fspath(storage)} holds no search, or is damaged: name another file, or "
                f"remove it ({error})"
            ) from error
        others = [name for name in names if not name.startswith(key)]
        if others:
            raise InputError(
                f"{os.fspath(storage)} holds another search; name another file, or remove it"
            )
    trials: dict[str, list[Trial]] = {}
    for name in dict.fromkeys([sampler, *yardsticks]):
        if name == "one_at_a_time":
            trials[name] = one_at_a_time(search, budget)
        else:
            # Random trials are not pruned: the importance of axes is computed from them.
            may = prune and name != "random"
            trials[name] = study(search, name, budget, batch, seed, journal, key, may)
    best = {name: min(list_, key=Trial.rank) for name, list_ in trials.items()}
    say("held-out runs")
    verdicts = {name: verdict(held, trial.point) for name, trial in best.items()}
    warnings = edges(searched, best[sampler].point)
    own = verdicts[sampler]
    for metric, was, it in own.worse:
        warnings.append(f"side effect: {metric} is worse {was:.4g} -> {it:.4g}")
    for text, far in zip([one.text for one in held.constraints], own.violations):
        if far > 0:
            warnings.append(f"not met on held-out runs: {text} (off by {100 * far:.1f} %)")
    for name in yardsticks:
        mine, other = own.ratios[0], verdicts[name].ratios[0]
        if name != sampler and other[0] < mine[0]:
            warnings.append(f"{name} found an equal or better result: {other[0]:.3f} of default")
    pool = trials.get("random") or [it for list_ in trials.values() for it in list_]
    return Tuning(
        title, searched.goals, [one.text for one in searched.constraints],
        [name for name, _, _ in searched.axes], scheduler, sampler, trials, best, verdicts,
        front(trials[sampler]) if len(searched.signs) > 1 else [],
        importance(searched, pool), warnings, time.monotonic() - begun,
    )


def _check_journal(path: str) -> None:
    """Checks that every line of a storage is valid: Optuna does not report where it is damaged."""
    if not os.path.isfile(path):
        return
    for number, line in enumerate(_native.read_text(path).splitlines(), 1):
        try:
            json.loads(line)
        except ValueError:
            raise InputError(
                f"{path}:{number}: it is not a storage of a search, or damaged here; name another "
                "file, or remove the line", file=path, line=number
            ) from None


def _identity(call: Any) -> str:
    """Identifies an objective that is a function as well as possible, to detect changes."""
    code = getattr(call, "__code__", None)
    if code is None:
        return f"{type(call).__module__}.{type(call).__qualname__}"
    parts = [code.co_code.hex(), *code.co_names, *(
        repr(one) for one in code.co_consts if not hasattr(one, "co_code")
    )]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _split(names: str) -> list[str]:
    """Splits names at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(names):
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append(names[start:at])
            start = at + 1
    return [*parts, names[start:]]


def _axis(name: str, values: Any) -> dict[str, Any]:
    extra = {}
    if isinstance(values, Mapping):
        extra = {key: values[key] for key in ("at_most", "only") if key in values}
        values = {key: value for key, value in values.items() if key not in extra}
        if "values" in values:
            values = values["values"]
    made = axis(name, values)
    made.update(extra)
    return made


def _name(load: Any) -> str:
    if isinstance(load, (str, os.PathLike)):
        return os.path.basename(os.fspath(load))
    return str(getattr(load, "name", "workload"))


_KEYS = {
    "title", "workloads", "held_out", "schedulers", "objective", "subject_to", "budget", "seeds",
    "held_out_seeds", "seed", "sampler", "yardsticks", "batch", "prune", "axis", "cpus", "machine",
    "hz", "duration", "set", "at",
}


def tune_file(
    name: str,
    *,
    budget: int | None = None,
    seed: int | None = None,
    storage: PathLike | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Tunes according to a file (``docs/tuning.md``)."""
    text = _native.read_text(name)
    form = json.loads(_native.toml_json(name, text))

    def wrong(message: str, at: re.Match[str] | None) -> InputError:
        if at is None:
            return InputError(f"{name}: {message}", file=name)
        start = at.start("place")
        line = text.count("\n", 0, start) + 1
        column = start - (text.rfind("\n", 0, start) + 1) + 1
        return InputError(f"{name}:{line}:{column}: {message}", file=name, line=line,
                          column=column)

    def key_at(key: str) -> re.Match[str] | None:
        """Finds a key; for a table, its head."""
        return re.search(rf"(?m)^\s*\[*\s*(?P<place>{re.escape(key)})\b", text)

    def axis_at(axis: str, number: int = 0) -> re.Match[str] | None:
        """Finds the occurrence with this number of an axis's name."""
        form = rf"(?m)^\s*name\s*=\s*(?P<place>[\"']{re.escape(axis)}[\"'])"
        found = list(re.finditer(form, text))
        return found[number] if number < len(found) else None

    for key in form:
        if key not in _KEYS:
            message = f"unknown key `{key}`; the keys are {', '.join(sorted(_KEYS))}"
            raise wrong(message, key_at(key))
    for key in ("workloads", "objective"):
        if key not in form:
            raise InputError(f"{name}: {key} is missing", file=name)
    directory = os.path.dirname(name)

    def found(one: str) -> str:
        return one if one in benchmark_names() else os.path.join(directory, one)

    for key in ("workloads", "held_out", "schedulers", "objective", "subject_to", "yardsticks"):
        try:
            _texts(form.get(key), key)
        except InputError as error:
            raise wrong(str(error), key_at(key)) from None
    beside = [found(one) for one in _list(form.pop("workloads"), "workloads")]
    held = [found(one) for one in _list(form.pop("held_out", None), "held_out")]
    space: dict[str, Any] = {}
    axes = form.pop("axis", [])
    if not isinstance(axes, list) or not all(isinstance(one, dict) for one in axes):
        raise wrong("axis must be tables, headed by [[axis]]", key_at("axis"))
    for one in axes:
        one = dict(one)
        called = one.pop("name", None)
        if not isinstance(called, str):
            raise wrong("an [[axis]] has no name, or one that is not a text", key_at("axis"))
        if called in space:
            raise wrong(f"there is an axis {called} already", axis_at(called, 1))
        space[called] = one
    machine = form.get("machine")
    if machine is not None and not isinstance(machine, str):
        raise wrong(f"machine is {machine!r}; it must be a name or a file", key_at("machine"))
    if machine and os.path.exists(os.path.join(directory, machine)):
        form["machine"] = os.path.join(directory, machine)
    if budget is not None:
        form["budget"] = budget
    if seed is not None:
        form["seed"] = seed
    schedulers = form.pop("schedulers", "cfs")
    objective = form.pop("objective")
    try:
        return tune(
            beside, schedulers, objective, space=space, held_out=held or None, storage=storage,
            threads=threads, progress=progress, **form,
        )
    except InputError as error:
        if error.file is not None:
            raise
        message = str(error)
        about = next((one for one in space if re.search(
            rf"(?<![\w:]){re.escape(one.removeprefix('set.'))}(?![\w])", message)), None)
        key = re.match(r"[a-z_]+", message)
        place = axis_at(about) if about else key_at(key[0]) if key and key[0] in _KEYS else None
        raise wrong(message, place) from None
