"""Engines that make the runs of a sweep: threads of this process, Ray, Dask, any executor.

Work is sent in batches of whole parts, because a run takes milliseconds and a task of a cluster
costs tens of them. A part has the same bytes wherever it is made.
"""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _native
from ._errors import InputError, RunError

#: Target duration of a task of a cluster, seconds; sending one costs little in comparison.
BATCH_SECONDS = 2.0

#: Maximum number of times that a batch is sent again after its worker died.
ATTEMPTS = 5

#: Receives the number of a part and its bytes.
Ready = Callable[[int, bytes], None]

#: The space that this worker ran last: all batches of a sweep belong to one.
_space: tuple[str, Any] | None = None


def run_batch(text: str, engine: str, form: str, parts: Sequence[int]) -> list[tuple[int, bytes]]:
    """Runs in a worker: returns the bytes of some parts of the space in this JSON text."""
    global _space
    if _native.program != engine:
        raise InputError(
            f"a worker has schedlab {_native.program}, and this is {engine}: their results would "
            "not be comparable; install the same version everywhere"
        )
    if _space is None or _space[0] != text:
        _space = (text, _native.Space.of_json(text))
    done: list[tuple[int, bytes]] = []
    _space[1].run(list(parts), form, 1, lambda part, data, _: done.append((part, data)))
    return done


def _batches(parts: Sequence[int], seconds_of_a_part: float, workers: int) -> list[list[int]]:
    """Batches of about :data:`BATCH_SECONDS`, but enough that no worker idles at the end."""
    by_time = max(1, round(BATCH_SECONDS / max(seconds_of_a_part, 1e-6)))
    by_share = max(1, len(parts) // (4 * max(workers, 1)))
    size = min(by_time, by_share)
    return [list(parts[at : at + size]) for at in range(0, len(parts), size)]


class _Cluster:
    """Accepts batches and returns results in the order of completion."""

    workers: int

    def submit(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def finished(self, tasks: list[Any]) -> Iterator[Any]:
        """Waits for at least one of ``tasks``, and returns those that are finished."""
        raise NotImplementedError

    def result(self, task: Any) -> list[tuple[int, bytes]]:
        raise NotImplementedError

    def died(self, error: BaseException) -> bool:
        """Whether the worker died, rather than the work failed."""
        raise NotImplementedError

    def close(self, *, interrupted: bool) -> None:
        """Releases what was started here."""


class _Executor(_Cluster):
    """An executor of ``concurrent.futures``, or a similar object."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.workers = int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        self.tasks: list[Any] = []

    def submit(self, *arguments: Any) -> Any:
        task = self.executor.submit(run_batch, *arguments)
        self.tasks.append(task)
        return task

    def finished(self, tasks: list[Any]) -> Iterator[Any]:
        done, _ = concurrent.futures.wait(
            tasks, return_when=concurrent.futures.FIRST_COMPLETED
        )
        return iter(done)

    def result(self, task: Any) -> list[tuple[int, bytes]]:
        return task.result()  # type: ignore[no-any-return]

    def died(self, error: BaseException) -> bool:
        # A pool that lost a process accepts no more work.
        return False

    def close(self, *, interrupted: bool) -> None:
        for task in self.tasks:
            task.cancel()


class _Ray(_Cluster):
    def __init__(self, address: str | None, workers: int | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = _import("ray", "ray")
        self.ray = ray
        self.started = not ray.is_initialized()
        if self.started:
            local = {} if address else {
                "num_cpus": workers or os.cpu_count() or 1, "include_dashboard": False,
                "_node_ip_address": "127.0.0.1",
            }
            ray.init(address=address, logging_level="error", log_to_driver=False, **local)
        self.workers = int(ray.cluster_resources().get("CPU", 1))
        # Ray itself runs the work of a dead worker again, without limit.
        remote = ray.remote(num_cpus=1, max_retries=-1, retry_exceptions=False)
        self.remote = remote(run_batch)
        self.tasks: list[Any] = []

    def submit(self, *arguments: Any) -> Any:
        task = self.remote.remote(*arguments)
        self.tasks.append(task)
        return task

    def finished(self, tasks: list[Any]) -> Iterator[Any]:
        # The interpreter checks for signals between these waits.
        while True:
            done, _ = self.ray.wait(tasks, num_returns=1, timeout=0.5)
            if done:
                return iter(done)

    def result(self, task: Any) -> list[tuple[int, bytes]]:
        return self.ray.get(task)  # type: ignore[no-any-return]

    def died(self, error: BaseException) -> bool:
        names = ("WorkerCrashedError", "NodeDiedError", "ObjectLostError", "RaySystemError")
        return type(error).__name__ in names

    def close(self, *, interrupted: bool) -> None:
        if interrupted:
            for task in self.tasks:
                self.ray.cancel(task, force=False)
        if self.started:
            self.ray.shutdown()


class _Dask(_Cluster):
    def __init__(self, client: Any, address: str | None, workers: int | None) -> None:
        distributed = _import("distributed", "dask")
        self.distributed = distributed
        self.cluster = None
        self.started = client is None
        if client is None:
            if address is None:
                # Samples of the workers' activity, a hundred a second, are not needed.
                import dask

                dask.config.set({"distributed.worker.profile.enabled": False})
                self.cluster = distributed.LocalCluster(
                    n_workers=workers or os.cpu_count() or 1, threads_per_worker=1,
                    processes=True, dashboard_address=None, host="127.0.0.1",
                )
            try:
                client = distributed.Client(self.cluster or address)
            except OSError as error:
                raise InputError(f"no Dask scheduler answers at {address}: {error}") from error
        self.client = client
        info = client.scheduler_info(n_workers=-1)["workers"].values()
        self.workers = max(1, sum(int(worker["nthreads"]) for worker in info))
        self.tasks: list[Any] = []

    def submit(self, *arguments: Any) -> Any:
        # The scheduler runs the work of a dead worker again.
        task = self.client.submit(run_batch, *arguments, pure=False, retries=ATTEMPTS)
        self.tasks.append(task)
        return task

    def finished(self, tasks: list[Any]) -> Iterator[Any]:
        done = self.distributed.wait(tasks, return_when="FIRST_COMPLETED").done
        return iter(done)

    def result(self, task: Any) -> list[tuple[int, bytes]]:
        result = task.result()
        # The scheduler keeps results as long as they are referenced.
        task.release()
        return result  # type: ignore[no-any-return]

    def died(self, error: BaseException) -> bool:
        return type(error).__name__ in ("KilledWorker", "FutureCancelledError", "CommClosedError")

    def close(self, *, interrupted: bool) -> None:
        if interrupted:
            self.client.cancel(self.tasks)
        if self.started:
            self.client.close()
        if self.cluster is not None:
            self.cluster.close()


def _import(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"this needs {module}, which is not installed: pip install \"schedlab[{extra}]\""
        ) from error


def _cluster(engine: Any, address: str | None, workers: int | None) -> _Cluster:
    if isinstance(engine, str):
        if engine == "ray" or engine.startswith("ray://"):
            return _Ray(address or (engine if "://" in engine else None), workers)
        if engine == "dask" or engine.startswith(("tcp://", "tls://", "ws://")):
            return _Dask(None, address or (engine if "://" in engine else None), workers)
        raise InputError(
            f"engine={engine!r}: the engines are \"threads\", \"ray\", \"dask\", the address of a "
            "cluster (ray://... or tcp://...), a Dask client and executors"
        )
    if hasattr(engine, "scheduler_info"):
        return _Dask(engine, None, None)
    if hasattr(engine, "submit"):
        return _Executor(engine)
    raise InputError(f"{engine!r} is not an engine: it has no submit()")


def run(
    space: Any,
    parts: Sequence[int],
    form: str,
    ready: Ready,
    *,
    engine: Any = "threads",
    address: str | None = None,
    workers: int | None = None,
) -> None:
    """Makes all runs of ``parts``, and calls ``ready`` for each complete part, in any order.

    A batch whose worker died is run again.
    """
    if not parts:
        return
    if engine is None or engine == "threads":
        if address is not None:
            raise InputError("address applies to clusters: give it with engine \"ray\" or \"dask\"")
        space.run(list(parts), form, workers, lambda part, data, _: ready(part, data))
        return
    cluster = _cluster(engine, address, workers)
    interrupted = True
    try:
        _run_on(cluster, space, parts, form, ready)
        interrupted = False
    finally:
        cluster.close(interrupted=interrupted)


def _run_on(
    cluster: _Cluster, space: Any, parts: Sequence[int], form: str, ready: Ready
) -> None:
    text, engine = space.json(), _native.program
    # The first part shows how long one takes.
    begun = time.perf_counter()
    for part, data in run_batch(text, engine, form, parts[:1]):
        ready(part, data)
    seconds = time.perf_counter() - begun
    todo = [(batch, 1) for batch in _batches(parts[1:], seconds, cluster.workers)]
    todo.reverse()
    running: dict[Any, tuple[list[int], int]] = {}
    missing = set(parts[1:])
    while todo or running:
        # Slightly more than can run at once: no worker waits, and the cluster holds few results.
        while todo and len(running) < 3 * cluster.workers:
            batch, attempt = todo.pop()
            running[cluster.submit(text, engine, form, batch)] = (batch, attempt)
        for task in list(cluster.finished(list(running))):
            batch, attempt = running.pop(task)
            try:
                result = cluster.result(task)
            except concurrent.futures.BrokenExecutor as error:
                raise RunError(
                    "a process of the executor died, and it accepts no more work; with out= "
                    "results are kept, and the same call continues there"
                ) from error
            except Exception as error:
                if not cluster.died(error) or attempt >= ATTEMPTS:
                    raise
                todo.append((batch, attempt + 1))
                continue
            for part, data in result:
                if part in missing:
                    missing.discard(part)
                    ready(part, data)
    if missing:
        raise RunError(f"{len(missing)} parts are missing, the first is {min(missing)}")
