"""Plans: a description of runs as plain data, which the engine checks (``docs/plan.md``)."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from . import _native
from ._errors import InputError
from ._policy import Policy
from ._sources import PathLike, WorkloadLike, load, setting, source
from ._units import Moment, moment_ns, whole

#: A scheduler by name, or a class made of Policy.
Scheduler: TypeAlias = "str | type[Policy]"

#: Groups and their settings: a file, ``"/tg1:cpu.weight=200"``, a dict, or several of these.
GroupsLike: TypeAlias = "PathLike | Mapping[str, Mapping[str, Any]] | Sequence[Any]"


def schedulers_of(
    schedulers: Scheduler | Iterable[Scheduler] | None,
) -> tuple[list[str], list[type[Policy]]]:
    """Returns the names of ``schedulers``, and the policies among them."""
    if schedulers is None:
        return ["main"], []
    if isinstance(schedulers, (str, type)):
        schedulers = [schedulers]
    if not isinstance(schedulers, Iterable):
        raise InputError(f"schedulers is {schedulers!r}; it must be a name, or a list of them")
    names: list[str] = []
    policies: list[type[Policy]] = []
    for one in schedulers:
        if isinstance(one, str):
            names.extend(part.strip() for part in one.split(","))
        elif isinstance(one, type) and issubclass(one, Policy):
            one.check()
            if any(other.name == one.name and other is not one for other in policies):
                raise InputError(
                    f"two policies are called {one.name}; variant() gives one another name"
                )
            names.append(one.name)
            policies.append(one)
        else:
            raise InputError(
                f"{one!r} is not a scheduler: give a name that schedlab.schedulers() lists, or "
                "a class derived from schedlab.Policy"
            )
    return names, policies


def _groups(groups: GroupsLike | None) -> dict[str, Any]:
    files: list[dict[str, str]] = []
    settings: list[str] = []
    if groups is None:
        return {}
    if isinstance(groups, (str, os.PathLike, Mapping)):
        groups = [groups]
    if not isinstance(groups, Iterable):
        raise InputError(f"groups is {groups!r}; it must be a file, a setting, a dict, or several")
    for one in groups:
        if isinstance(one, Mapping):
            for path, values in one.items():
                if not isinstance(values, Mapping) or not values:
                    raise InputError(
                        f"groups: {path} has no settings; give a dict of them, such as "
                        '{"cpu.weight": 200}'
                    )
                settings.extend(f"{path}:{name}={value}" for name, value in values.items())
        elif isinstance(one, str) and one.startswith("/") and ":" in one:
            settings.append(one)
        else:
            files.append(source(one))
    return {"files": files, "settings": settings}


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} is {value!r}; it must be a number")
    return number


def listed(value: Any, what: str) -> list[Any]:
    """Returns a list of one text or several; files may be paths."""
    texts = [value] if isinstance(value, (str, os.PathLike)) else value
    if isinstance(texts, Iterable):
        texts = list(texts)
        if all(isinstance(one, (str, os.PathLike)) for one in texts):
            return texts
    raise InputError(f"{what} is {value!r}; it must be a text, or a list of them")


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Returns a dict with names; None gives an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{what} is {value!r}; it must be a dict by name")
    return value


def truth(value: Any, what: str) -> bool:
    """Returns true or false; texts are not accepted."""
    if isinstance(value, (bool, int)) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise InputError(f"{what} is {value!r}; it must be True or False")


def described(machine: Any) -> dict[str, Any]:
    """Returns the description of a machine in a plan, by name or file."""
    if not isinstance(machine, (str, os.PathLike)):
        raise InputError(f"machine is {machine!r}; it must be a name or a file")
    found = _native.machine_source(os.fspath(machine))
    return {} if found is None else {"description": json.loads(found)}


def check_keywords(function: str, plan: Mapping[str, Any]) -> None:
    """Checks that :func:`make` knows the keywords that are passed on to it."""
    known = inspect.signature(make).parameters
    if unknown := [name for name in plan if name not in known]:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}")


def _called(workload: Any) -> str:
    return "that" if isinstance(workload, Mapping) else os.fspath(workload)


def make(
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
) -> tuple[dict[str, Any], list[type[Policy]]]:
    """Returns the plan for these arguments in the engine's format, and the policies that it names.

    The parameters have the meanings that they have in :func:`schedlab.run`.
    """
    given = {
        "cpus": cpus, "machine": machine, "hz": hz, "costs": costs, "nohz": nohz, "set": set,
        "groups": groups, "users": users, "user_groups": user_groups or None,
        "autogroup": autogroup or None, "cgrules": cgrules, "at": at or None, "timetable": timetable or None,
        "duration": duration, "seed": seed, "repeat": repeat, "schedulers": schedulers,
    }
    loaded = load(workload, parameters)
    if "plan" in loaded:
        if beside := [name for name, value in given.items() if value is not None]:
            raise InputError(
                f"{_called(workload)} is a plan, which specifies the runs: {beside[0]} cannot be "
                "given with it"
            )
        plan = loaded["plan"]
        if "workload" in plan.get("load", {}):
            plan["record"] = {**plan.get("record", {}), "slices": record}
        return plan, []
    names, policies = schedulers_of(schedulers)
    plan = {"schedlab_plan": 1, "load": loaded, "schedulers": names}
    spec: dict[str, Any] = {}
    if machine is not None:
        spec = described(machine)
    if cpus is not None:
        spec["cpus"] = whole(cpus, "cpus", 1, 4096)
    if hz is not None:
        spec["hz"] = whole(hz, "hz", 1, 10**9)
    if nohz is not None:
        spec["nohz"] = truth(nohz, "nohz")
    if costs is False:
        spec["no_costs"] = True
    elif isinstance(costs, Mapping):
        spec["costs"] = [[name, _number(ns, f"costs[{name!r}]")] for name, ns in costs.items()]
    elif costs is not None and costs is not True:
        raise InputError(f"costs is {costs!r}; it must be a dict of ns by name, or False")
    if spec:
        plan["machine"] = spec
    if set:
        plan["set"] = [[name, setting(value)] for name, value in mapping(set, "set").items()]
    in_groups = _groups(groups)
    if users is not None and not isinstance(users, Mapping):
        raise InputError(f"users is {users!r}; it must be a dict of users by pattern of tasks")
    if users:
        if wrong := [tasks for tasks, user in users.items() if not isinstance(user, str)]:
            raise InputError(f"users: {wrong[0]} has the user {users[wrong[0]]!r}; give a name")
        in_groups["users"] = [f"{tasks}={user}" for tasks, user in users.items()]
    if truth(user_groups, "user_groups"):
        in_groups["user_groups"] = True
    if truth(autogroup, "autogroup"):
        in_groups["autogroup"] = True
    if cgrules is not None:
        in_groups["cgrules"] = source(cgrules)
    if in_groups:
        plan["groups"] = in_groups
    files, actions = listed(timetable, "timetable"), listed(at, "at")
    if files or actions:
        plan["timetable"] = {"files": [source(one) for one in files], "actions": actions}
    if duration is not None:
        plan["limit_ns"] = moment_ns(duration, "duration")
    is_workload = "workload" in loaded
    if seed is not None:
        plan["seed"] = whole(seed, "seed", 0, 2**64 - 1)
    elif not is_workload:
        plan["seed"] = 1
    if repeat is not None:
        plan["repeat"] = whole(repeat, "repeat", 1)
        plan["late_starts"] = is_workload
    if truth(record, "record") and is_workload:
        plan["record"] = {"slices": True}
    return plan, policies
