"""Sweeps: axes, independence of the results from the engine, refused requests."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import schedlab

ROOT = Path(__file__).resolve().parents[2]

#: Two hogs and a video, for half a second: a run takes less than a millisecond.
WORKLOAD = {
    "global": {"duration": 1},
    "tasks": {
        "hog": {"instance": 2, "loop": -1, "run": 100000},
        "video": {"loop": -1, "run": 4000, "timer": {"ref": "t", "period": 20000}},
    },
}

GRID = {
    "sched_latency_ns": [None, 6_000_000, "24ms"],
    "workload.tasks.video.run": {"from": 1000, "to": 9000, "step": 2000},
}

METRICS = ["wakeup_latency_p99", "minimize w = key_wait(hog) / 1ms", "throughput of video"]


def small(**more: object) -> schedlab.Sweep:
    """30 points, two schedulers, three seeds: 90 runs."""
    given: dict = dict(schedulers=["cfs"], metrics=METRICS, repeat=3, duration=0.5)
    return schedlab.sweep(WORKLOAD, GRID, **{**given, **more})


def files(directory: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(directory.glob("part-*"))
            if one.suffix != ".tmp"}


def test_a_sweep_has_a_row_for_each_run():
    done = small(schedulers=["cfs", "eevdf"])
    assert len(done) == 15 * 2 * 3
    assert done.columns[:4] == ["point", "repetition", "seed", "scheduler"]
    assert done.axes == ["set.sched_latency_ns", "workload.tasks.video.run"]
    assert not done.failed
    assert set(done["scheduler"]) == {"cfs@2.6.32", "eevdf@6.18"}
    summary = done.summary()
    assert len(summary) == 30
    best = done.best("w")
    assert best["w"] == min(row["w"] for row in summary)
    assert best["w ±"] >= 0
    front = done.pareto("w", "throughput of video")
    assert best["point"] in [row["point"] for row in front]
    assert "best w:" in done.table()
    assert "<svg" in done.page() and "Pareto" in done.page()


def test_a_row_is_the_run_that_run_makes():
    done = small(repeat=None, seed=5)
    row = done.rows()[-1]
    workload = {**WORKLOAD, "tasks": {**WORKLOAD["tasks"]}}
    workload["tasks"]["video"] = {**WORKLOAD["tasks"]["video"], "run": 9000}
    runs = schedlab.run(
        workload, ["cfs"], set={"sched_latency_ns": 24_000_000}, seed=5, duration=0.5
    )
    waits = sum(t["wait_ns"] for t in runs["cfs"].tasks.rows() if t["key"] == "hog")
    assert row["w"] == waits / 1e6


def test_frames_have_the_same_numbers():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    done = small()
    frame = done.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 45
    assert list(frame["w"]) == list(done["w"])
    table = done.to_arrow()
    assert table.column("w").to_pylist() == list(done["w"])
    assert isinstance(done.to_polars(), polars.DataFrame)
    assert done.to_polars()["w"].to_list() == list(done["w"])
    assert frame["set.sched_latency_ns"].isna().sum() == 15


def test_threads_processes_and_pieces_make_the_same_bytes(tmp_path):
    one = tmp_path / "one"
    small(workers=1, out=one, part_runs=10)
    small(workers=8, out=tmp_path / "eight", part_runs=10)
    assert len(files(one)) == 5
    assert files(one) == files(tmp_path / "eight")
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        small(engine=pool, out=tmp_path / "pool", part_runs=10)
    assert files(one) == files(tmp_path / "pool")


def test_an_interrupted_sweep_goes_on(tmp_path):
    out = tmp_path / "out"
    whole = small(out=out, part_runs=10)
    before = files(out)
    (out / sorted(before)[1]).unlink()
    kept = (out / sorted(before)[0]).stat().st_mtime_ns
    again = small(out=out, part_runs=10)
    assert files(out) == before
    assert (out / sorted(before)[0]).stat().st_mtime_ns == kept, "what is there is not run again"
    assert again.to_csv() == whole.to_csv()
    with pytest.raises(schedlab.InputError, match="resume is False"):
        small(out=out, part_runs=10, resume=False)
    with pytest.raises(schedlab.InputError, match="of another sweep"):
        small(out=out, part_runs=10, duration=0.6)


def test_samples_are_the_same_each_time_and_fill_the_ranges():
    space = {"sched_latency_ns": {"from": "1ms", "to": "100ms", "scale": "log"},
             "cpus": range(1, 3)}
    for sample in ("random", "latin", "sobol"):
        if sample == "sobol":
            pytest.importorskip("scipy")
        given = dict(schedulers="cfs", sample=sample, samples=16, duration=0.05,
                     metrics="wait_mean")
        done = schedlab.sweep(WORKLOAD, space, **given)
        assert done.to_csv() == schedlab.sweep(WORKLOAD, space, **given).to_csv()
        values = done["set.sched_latency_ns"]
        assert len(done) == 16 and values.min() >= 1e6 and values.max() <= 1e8
        if sample != "random":
            assert (values < 1e7).sum() == 8, f"{sample}: half lie below the middle"


def test_a_benchmark_is_swept():
    done = schedlab.sweep(
        "hackbench", {"parameter.groups": [1, 2]}, schedulers=["o_n", "cfs"],
        parameters={"loops": 3}, metrics="figure(time)", repeat=2,
    )
    assert len(done) == 8 and (done["figure(time)"] > 0).all()


@pytest.mark.parametrize(
    ("grid", "given", "message"),
    [
        ({"sched_latncy_ns": [1]}, {}, "not a tunable"),
        ({"sched_latency_ns": [6e6, 1]}, {}, "it must be"),
        ({"workload.tasks.vido.run": [1]}, {}, "did you mean `video`"),
        ({"cpus": []}, {}, "no values"),
        ({"cpus": 4}, {}, "neither a list of values"),
        ({}, {}, "nothing varies"),
        ({"cpus": [1]}, {"metrics": "key_jobs(vido)"}, "did you mean video"),
        ({"cpus": [1]}, {"metrics": "throughputt"}, "did you mean throughput"),
        ({"cpus": [1]}, {"engine": "rya"}, "the engines are"),
        ({"cpus": [1]}, {"engine": 5}, "is not an engine"),
        ({"cpus": {"from": 1, "to": 4}}, {}, "a grid needs values"),
        ({"scheduler": ["cfs", "csf"]}, {}, "csf"),
        ({"scheduler": ["cfs", "o_1"]}, {"schedulers": "eevdf"}, "scheduler varies, and is also given"),
        ({"cpus": [1, 2]}, {"cpus": 4}, "cpus varies, and is also given"),
        ({"cpus": [1, 2]}, {"points": [[1]], "samples": 3}, "have no effect"),
        ({"cpus": [1, 2]}, {"points": [3]}, "points must be lists"),
        ({"cpus": [1, 2]}, {"sample_seed": 3}, "no effect on a grid"),
        ({"cpus": [1, 2]}, {"address": "x"}, "address applies to clusters"),
        ({"cpus": [1, 2]}, {"workers": 0}, "workers is 0"),
        ({"cpus": [print]}, {}, "cannot vary"),
        ({"cpus": [float("nan")]}, {}, "nan is not a finite number"),
        ({5: [1]}, {}, "must be a dict by name"),
        ([1], {}, "must be a dict by name"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(grid, given, message):
    given = {"schedulers": None if "scheduler" in grid else "cfs", **given}
    with pytest.raises(schedlab.InputError, match=message):
        schedlab.sweep(WORKLOAD, grid, **given)


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    done = small(repeat=1)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        done.report(tmp_path / "nowhere" / "s.html")
    with pytest.raises(TypeError, match="sweep.. got an unexpected keyword argument 'nope'"):
        small(nope=1)


def test_a_file_is_swept_as_the_program_does(program, tmp_path):
    file = tmp_path / "s.toml"
    (tmp_path / "w.json").write_text(
        '{"tasks": {"hog": {"instance": 2, "loop": 20, "run": 10000}}}'
    )
    file.write_text(textwrap.dedent("""
        workload = "w.json"
        schedulers = ["round_robin", "cfs"]
        metrics = ["length", "switches"]
        axis = [{ name = "workload.tasks.hog.run", values = [5000, 10_000] }]
    """))
    done = schedlab.sweep(file)
    assert done.to_csv() == program("sweep", str(file), "--format", "csv")
    assert done.table() == program("sweep", str(file))
    for more in ({"repeat": 3}, {"sample": "latin"}, {"sample_seed": 2}, {"cpus": 2}):
        with pytest.raises(schedlab.InputError, match=f"{next(iter(more))} cannot be given with"):
            schedlab.sweep(file, **more)
    # The program continues a sweep that Python began, and vice versa.
    schedlab.sweep(file, out=tmp_path / "out", parts="csv")
    again = [sys.executable, "-m", "schedlab", "sweep", str(file), "--output",
             str(tmp_path / "out"), "--parts", "csv"]
    message = subprocess.run(again, capture_output=True, text=True, check=True).stderr
    assert "parts already exist" in message
    as_json = tmp_path / "s.json"
    as_json.write_text(json.dumps({
        "workload": "w.json", "schedulers": ["round_robin", "cfs"],
        "metrics": ["length", "switches"],
        "axis": [{"name": "workload.tasks.hog.run", "values": [5000, 10_000]}],
    }))
    assert schedlab.sweep(as_json).to_csv() == done.to_csv()
    file.write_text(file.read_text().replace("sobol", "").replace(
        "values = [5000, 10_000]", "from = 1, to = 100").replace(
        "metrics", 'sample = "sobol"\nsamples = 8\nmetrics'))
    pytest.importorskip("scipy")
    assert len(program("sweep", str(file), "--format", "csv").splitlines()) == 17


#: A script that sweeps 2,000 runs on an engine, as a user would write it.
SCRIPT = """
    import os, sys, pathlib
    import schedlab

    def main():
        engine, out = sys.argv[1:]
        done = schedlab.sweep(
            {workload!r}, {{"workload.tasks.video.run": range(100, 8100, 20),
                           "seed": range(5)}},
            schedulers="cfs", metrics={metrics!r}, duration=4, part_runs=20,
            engine=engine, workers=2, out=out,
        )
        print(len(done), len(done.failed))

    if __name__ == "__main__":
        main()
"""


def workers_of(pid: int, mark: str) -> list[int]:
    """The processes below ``pid`` with ``mark`` in their command lines."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            parents[int(entry.name)], commands[int(entry.name)] = int(stat[1]), command

    def is_below(one: int) -> bool:
        while one in parents:
            one = parents[one]
            if one == pid:
                return True
        return False

    return [one for one in parents if mark in commands[one] and is_below(one)]


@pytest.mark.parametrize(
    ("engine", "module", "mark"),
    [("dask", "distributed", "spawn_main"), ("ray", "ray", "ray::run_batch")],
)
def test_a_cluster_that_loses_a_worker_makes_the_same_bytes(tmp_path, engine, module, mark):
    pytest.importorskip(module, reason=f"{module} is not installed: the cluster is NOT tested")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(workload=WORKLOAD, metrics=METRICS))
    alone = subprocess.run(
        [sys.executable, script, "threads", tmp_path / "threads"], capture_output=True, text=True
    )
    assert alone.stdout == "2000 0\n", alone.stderr
    out = tmp_path / engine
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        [sys.executable, script, engine, out], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment,
    ) as running:
        killed = 0
        # A worker dies as soon as the first results of the cluster exist.
        while running.poll() is None and not killed:
            if len(files(out)) > 1:
                for worker in workers_of(running.pid, mark)[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed += 1
            time.sleep(0.01)
        printed, complaints = running.communicate(timeout=600)
    assert killed == 1, f"no worker was found to be killed: {complaints}"
    assert printed.splitlines()[-1] == "2000 0", complaints
    assert len(files(out)) == 100
    assert files(out) == files(tmp_path / "threads")
