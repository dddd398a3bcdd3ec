"""Loads read from user input: files, dicts, tasks, benchmarks."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _native
from ._errors import InputError
from ._tasks import Task, Workload

if TYPE_CHECKING:
    from typing import Protocol

    class _Writes(Protocol):
        def to_dict(self) -> dict[str, Any]: ...


PathLike: TypeAlias = "str | os.PathLike[str]"

#: A workload that :func:`schedlab.run` accepts.
WorkloadLike: TypeAlias = "PathLike | Mapping[str, Any] | Task | Workload | Iterable[Task]"


def refuse_beside(
    function: Callable[..., Any], name: Any, given: Mapping[str, Any], *but: str
) -> None:
    """Refuses arguments next to a file that specifies everything: the arguments in ``given`` that
    differ from the defaults of ``function``, except the names in ``but``."""
    parameters = inspect.signature(function).parameters
    for one, value in given.items():
        known = parameters.get(one)
        default = None if known is None else known.default
        if one not in but and value is not default and value != default:
            raise InputError(f"{name} specifies the runs: {one} cannot be given with it")


def source(path: PathLike) -> dict[str, str]:
    """Returns a file with its text, in the format of plans."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"{path!r} is not a file; give its path")
    name = os.fspath(path)
    return {"file": name, "text": _native.read_text(name)}


def noted_beside(
    trace: str, groups: PathLike | None = None, side: PathLike | None = None
) -> dict[str, dict[str, str]]:
    """Returns the files next to a recorded trace: ``groups`` with the groups of tasks, and ``side``
    with the notes of ``schedlab record``. ``None``: the file next to the trace, if there is one;
    ``"none"``: no file."""
    found = _native.beside_trace(trace)
    chosen = {
        "groups": groups if groups is not None else found[0],
        "side": side if side is not None else found[1],
    }
    return {
        name: source(path)
        for name, path in chosen.items()
        if path is not None and os.fspath(path) != "none"
    }


def benchmark_names() -> list[str]:
    """Returns the names of all benchmarks."""
    return [name for name, _, _ in _native.benchmarks()]


def setting(value: Any) -> str:
    """Returns a value in the format of the command line; several values as a list with commas."""
    if isinstance(value, bool):
        return str(int(value))
    if hasattr(value, "tolist"):
        # NumPy's numbers and arrays.
        value = value.tolist()
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return ",".join(setting(one) for one in value)
    raise InputError(f"{value!r} is not a value: give a number, a text, or a list of them")


def _json(workload: Mapping[str, Any]) -> str:
    """Returns a dict as JSON, with NumPy's numbers as numbers."""
    try:
        return json.dumps(dict(workload), indent=1, default=lambda value: value.tolist())
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"<dict>: it cannot be written as JSON: {error}") from error


def load(workload: WorkloadLike, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns ``workload`` as a plan's load; for a plan's file the whole plan, ``{"plan":
    ...}``."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InputError(f"parameters is {parameters!r}; it must be a dict")
    if parameters and not isinstance(workload, (str, os.PathLike)):
        raise InputError("parameters apply to benchmarks, and this is a workload")
    if isinstance(workload, Task):
        workload = Workload(workload)
    if isinstance(workload, Workload):
        text = workload.to_json()
        return {"workload": {"file": workload.name, "text": text}}
    if isinstance(workload, Mapping) and "schedlab_plan" in workload:
        return {"plan": json.loads(_json(workload))}
    if isinstance(workload, Mapping):
        return {"workload": {"file": "<dict>", "text": _json(workload)}}
    if isinstance(workload, (str, os.PathLike)):
        return _load_named(os.fspath(workload), parameters)
    if isinstance(workload, Iterable):
        return load(Workload(*workload), parameters)
    raise InputError(
        f"{workload!r} is not a workload: give a file, a dict in rt-app's language, a benchmark's "
        "name, or tasks"
    )


def _load_named(name: str, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    if name in benchmark_names() and not os.path.exists(name):
        if wrong := [key for key in parameters or {} if not isinstance(key, str)]:
            raise InputError(f"parameters: {wrong[0]!r} is not the name of a parameter")
        given = [[key.rstrip("_"), setting(value)] for key, value in (parameters or {}).items()]
        return {"benchmark": {"name": name, "parameters": given}}
    if not os.path.exists(name) and os.path.sep not in name and "." not in name:
        names = ", ".join(benchmark_names())
        raise InputError(
            f"{name}: there is no such file, and no such benchmark; the benchmarks are {names}"
        )
    if parameters:
        raise InputError(f"{name}: parameters apply to benchmarks, and this is a file")
    if _native.is_trace(name):
        asked = {"name": name, **noted_beside(name)}
        return {"workload": {"file": name, "text": _native.trace_workload(name, json.dumps(asked))}}
    text = _native.read_text(name)
    if _native.is_plan(text):
        return {"plan": _beside(json.loads(text), name)}
    return {"workload": {"file": name, "text": text}}


def _beside(plan: dict[str, Any], file: str) -> dict[str, Any]:
    """Returns the plan, with paths of sched_ext objects next to its file resolved from here."""
    directory = os.path.dirname(file)

    def named(scheduler: Any) -> Any:
        if not isinstance(scheduler, str) or not scheduler.startswith("scx:") or not directory:
            return scheduler
        path = re.split(r"\[|@(?:6\.18|7\.3)(?=\[|$)", scheduler[4:])[0]
        there = os.path.join(directory, path)
        if os.path.isabs(path) or not os.path.isfile(there):
            return scheduler
        return f"scx:{there}{scheduler[4 + len(path):]}"

    schedulers = plan.get("schedulers")
    if isinstance(schedulers, list):
        plan = {**plan, "schedulers": [named(one) for one in schedulers]}
    return plan
