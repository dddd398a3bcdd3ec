"""``schedlab.run``: the same results as the command line, errors with places, interrupts."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import schedlab

from conftest import ROOT


def test_the_same_bytes_as_the_command_line(desktop, program):
    ours = schedlab.run(
        desktop, ["o_1", "cfs", "eevdf"], cpus=2, duration=3, set={"base_slice_ns": 1_500_000}
    )
    theirs = program(
        "run", desktop, "-s", "o_1,cfs,eevdf", "--cpus", "2", "--duration", "3",
        "--set", "base_slice_ns=1500000", "--format", "json",
    )
    assert ours.to_json() == theirs
    assert ours.compare().text(120) in program(
        "run", desktop, "-s", "o_1,cfs,eevdf", "--cpus", "2", "--duration", "3",
        "--set", "base_slice_ns=1500000",
    )


def test_the_same_bytes_with_all_that_can_be_set(program, tmp_path):
    workload = str(ROOT / "examples" / "nested-groups.json")
    groups = str(ROOT / "examples" / "nested-groups.groups")
    ours = schedlab.run(
        workload, ["cfs", "eevdf"], machine="laptop", groups=[groups, "/alice:cpu.shares=512"],
        at=["1s renice play 5", "2s offline cpu 1"], duration="4s", seed=3, repeat=2, hz=250,
        costs={"switch": 2000.0},
    )
    theirs = program(
        "run", workload, "-s", "cfs,eevdf", "--machine", "laptop", "--groups", groups,
        "--group", "/alice:cpu.shares=512", "--at", "1s renice play 5",
        "--at", "2s offline cpu 1", "--duration", "4", "--seed", "3", "--repeat", "2",
        "--hz", "250", "--cost", "switch=2000", "--format", "json",
    )
    assert ours.to_json() == theirs


def test_results_do_not_depend_on_threads(desktop):
    one, many = (
        schedlab.run(desktop, "linux", duration=1, threads=threads).to_json()
        for threads in (1, 4)
    )
    assert one == many


def test_runs_are_indexed_as_people_expect(desktop_runs):
    assert len(desktop_runs) == 3
    assert desktop_runs["o_1"].column == "o_1@2.6.0"
    assert desktop_runs["o_1@2.6.0"] is desktop_runs[0]
    assert [run.column for run in desktop_runs] == desktop_runs.schedulers
    with pytest.raises(KeyError, match="there is no run of bfs; the runs are o_1@2.6.0"):
        desktop_runs["bfs"]
    assert desktop_runs["cfs"].end_ns == 10**10
    both = schedlab.run({"tasks": {"a": {"run": 1000, "loop": 1}}}, ["eevdf@6.6", "eevdf"])
    with pytest.raises(KeyError, match="there are several"):
        both["eevdf"]


def test_tables_hold_what_the_document_holds(desktop_runs):
    run = desktop_runs["cfs"]
    slices = run.slices
    assert slices.columns == ["cpu", "start_ns", "end_ns", "task", "name"]
    assert slices["start_ns"].dtype == np.int64
    document = json.loads(desktop_runs.to_json())["runs"][1]
    assert len(slices) == len(document["slices"])
    assert slices["end_ns"][7] == document["slices"][7][2]
    # Without a copy: both are views of the same memory.
    assert np.shares_memory(slices["start_ns"], slices["start_ns"])
    assert list(run.tasks.column("cpu_ns")) == [task["cpu_ns"] for task in document["tasks"]]
    lengths = slices["end_ns"] - slices["start_ns"]
    for task in run.tasks.rows():
        assert lengths[slices["task"] == task["task"]].sum() == task["cpu_ns"]
    wakeups = run.wakeups
    woken = wakeups["is_new"] == 0
    latency = wakeups["latency_ns"][woken]
    assert woken.sum() == sum(task["wakeups"] for task in document["tasks"])
    assert np.nanmax(latency) == document["wakeup_latency"]["max_ns"]
    assert desktop_runs.tasks.columns[:3] == ["scheduler", "task", "name"]
    assert len(desktop_runs.tasks) == 3 * len(run.tasks)
    assert set(desktop_runs.wakeups["scheduler"]) == set(desktop_runs.schedulers)
    with pytest.raises(KeyError, match="there is no column start; the columns are cpu"):
        slices["start"]


def test_groups_have_the_same_columns_whoever_can_limit_them(desktop_runs):
    assert len(desktop_runs["cfs"].groups) == 0
    runs = schedlab.run(
        str(ROOT / "examples" / "nested-groups.json"), ["cfs", "eevdf"],
        groups={"/alice": {"cpu.shares": 512}}, duration=1,
    )
    table = runs.groups
    assert table.columns[:4] == ["scheduler", "path", "usage_ns", "machine_share"]
    throttled = table.column("throttling_nr_periods")
    assert np.isnan(throttled[table["scheduler"] == "cfs@2.6.32"]).all()
    assert not np.isnan(throttled[table["scheduler"] == "eevdf@6.18"]).any()
    assert "/alice" in set(table["path"])
    benchmark = schedlab.run("hackbench", "cfs", parameters={"groups": 1})
    with pytest.raises(schedlab.RunError, match="run a workload with record=True"):
        benchmark["cfs"].slices


def test_frames_of_other_libraries(desktop_runs):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    slices = desktop_runs["eevdf"].slices
    frame = slices.to_pandas()
    assert frame["start_ns"].dtype == "int64" and frame["name"].dtype == "category"
    assert frame["cpu"].sum() == 0 and len(frame) == len(slices)
    tasks = desktop_runs.tasks.to_pandas()
    assert isinstance(tasks, pandas.DataFrame)
    assert tasks["end_ns"].isna().all(), "no task of the desktop ends"
    other = slices.to_polars()
    assert other["end_ns"].dtype == polars.Int64 and other.shape == slices.shape
    assert other["name"].to_list()[:9] == list(slices["name"][:9])
    table = pyarrow.table(slices)
    assert table.schema.metadata == {b"schedlab.schema": b"slices/1"}
    assert table["end_ns"].to_pylist() == slices["end_ns"].tolist()
    # Without a copy: numpy uses the engine's memory.
    address = table["end_ns"].chunk(0).buffers()[1].address
    assert address == slices["end_ns"].__array_interface__["data"][0]
    whole = desktop_runs.slices.to_polars()
    assert len(whole) == sum(len(run.slices) for run in desktop_runs)
    assert desktop_runs.compare().to_pandas().loc["switches_voluntary", "cfs@2.6.32"] > 0


def test_what_is_wrong_has_a_place(tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"tasks": {\n  "a": {"rum": 1000}\n}}\n')
    with pytest.raises(schedlab.InputError, match="did you mean") as caught:
        schedlab.run(file, "cfs")
    error = caught.value
    assert (error.file, error.line, error.column) == (str(file), 2, 9)
    assert isinstance(error, ValueError) and isinstance(error, schedlab.Error)
    with pytest.raises(schedlab.InputError, match="did you mean cfs"):
        schedlab.run({"tasks": {"a": {"run": 1}}}, "cfz")
    with pytest.raises(schedlab.InputError, match="nowhere.json"):
        schedlab.run("nowhere.json", "cfs")
    with pytest.raises(schedlab.InputError, match="no such benchmark; the benchmarks are .*hackbench"):
        schedlab.run("hackbensh", "cfs")
    with pytest.raises(schedlab.InputError, match="did you mean sched_latency_ns"):
        schedlab.run({"tasks": {"a": {"run": 1, "loop": 1}}}, "cfs", set={"sched_latenci_ns": 1})
    with pytest.raises(schedlab.InputError, match="is a plan.*cpus"):
        plan = tmp_path / "plan.json"
        plan.write_text(schedlab.run({"tasks": {"a": {"run": 1, "loop": 1}}}, "cfs").plan())
        schedlab.run(plan, cpus=2)
    machine = tmp_path / "machine.json"
    machine.write_text('{"schedlab_machine": 1,\n "cpus": "many"}')
    with pytest.raises(schedlab.InputError) as caught:
        schedlab.run({"tasks": {"a": {"run": 1}}}, "cfs", machine=machine)
    assert caught.value.file == str(machine)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cpus": 0}, "cpus is 0"),
        ({"cpus": "2"}, "cpus is '2'"),
        ({"hz": 1.5}, "hz is 1.5"),
        ({"seed": -1}, "seed is -1"),
        ({"repeat": 0}, "repeat is 0"),
        ({"threads": -1}, "threads is -1"),
        ({"costs": "x"}, "costs is 'x'"),
        ({"costs": {"switch": "x"}}, "costs.'switch'. is 'x'"),
        ({"groups": {"/x": {}}}, "/x has no settings"),
        ({"users": {"a": None}}, "give a name"),
        ({"users": 3}, "users is 3"),
        ({"set": 3}, "set is 3"),
        ({"set": {"sched_latency_ns": b"ab"}}, "is not a value"),
        ({"at": 3}, "at is 3"),
        ({"timetable": 3}, "timetable is 3"),
        ({"duration": float("nan")}, "duration is nan"),
        ({"parameters": {"x": 1}}, "parameters apply to benchmarks"),
        ({"nohz": "no"}, "nohz is 'no'"),
        ({"record": "no"}, "record is 'no'"),
        ({"user_groups": "no"}, "user_groups is 'no'"),
        ({"groups": 5}, "groups is 5"),
        ({"costs": {"switch": float("nan")}}, "must be a number"),
        ({"cpus": 2**64}, "cpus is"),
        ({"duration": "\u00b2"}, "duration is"),
        ({"at": [5]}, "at is .5."),
        ({"set": {1: 1}}, "by name"),
    ],
)
def test_nothing_that_is_given_is_dropped_silently(given, message):
    with pytest.raises(schedlab.InputError, match=message) as caught:
        schedlab.run({"tasks": {"a": {"run": 1, "loop": 1}}}, "cfs", **given)
    assert "plan:" not in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    load = {"tasks": {"a": {"run": np.int64(1000), "loop": 3}}}
    given = {"cpus": 2, "seed": 3, "repeat": 2, "hz": 250}
    ours = schedlab.run(
        load, "cfs", duration=np.float32(1), set={"sched_latency_ns": np.array([6e6, 9e6])},
        **{name: np.int32(value) for name, value in given.items()},
    )
    theirs = schedlab.run(
        {"tasks": {"a": {"run": 1000, "loop": 3}}}, "cfs", duration=1,
        set={"sched_latency_ns": [6e6, 9e6]}, **given,
    )
    assert ours.to_json() == theirs.to_json()


def test_files_are_written_whole_and_nothing_else_is_replaced(desktop_runs, tmp_path):
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    desktop_runs.report(link)
    assert link.is_symlink() and "<html" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    if Path("/dev/full").exists():
        with pytest.raises(OSError):
            desktop_runs.report("/dev/full")
        assert Path("/dev/full").is_char_device()
    with pytest.raises(OSError):
        desktop_runs.report(tmp_path / "nowhere" / "r.html")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.html", "real.html"]


def test_what_is_asked_of_a_run_must_be_there(desktop_runs):
    run = desktop_runs["cfs"]
    for ask, message in (
        (lambda: run.explain(worst=0), "worst is 0"),
        (lambda: run.explain(at=1, worst=1), "exclude each other"),
        (lambda: run.explain(cpu=1), "give at, too"),
        (lambda: run.explain(worst=10**30), "worst is 1"),
        (lambda: run.explain(wakeup=0), "wakeup is 0"),
        (lambda: run.explain(at=1, cpu="x"), "cpu is 'x'"),
        (lambda: run.timeline(10**9), "width is 1000000000"),
        (lambda: desktop_runs.compare().text(0), "width is 0"),
        (lambda: run.tasks["audio"].share(between=3), "pair of moments"),
        (lambda: run.tasks["audio"].share(between=(2, 1)), "a later one"),
        (lambda: run.tasks["audio"].share(between=(0, 1e6)), "the run goes from 0"),
    ):
        with pytest.raises(schedlab.InputError, match=message):
            ask()


def test_a_deadlock_is_an_error_that_says_who_waits():
    stuck = {"tasks": {"a": {"run": 1000, "sem_wait": "never", "loop": 1}}}
    with pytest.raises(schedlab.RunError, match="(?s)no task can ever run again.*a-0"):
        schedlab.run(stuck, "cfs")


def test_a_plan_is_run_again(desktop, tmp_path):
    first = schedlab.run(desktop, "cfs", duration=1, set={"sched_latency_ns": [6e6, "20ms"]})
    path = tmp_path / "plan.json"
    path.write_text(first.plan())
    assert len(first) == 2
    assert schedlab.run(path).to_json() == first.to_json()
    assert schedlab.run(json.loads(first.plan())).to_json() == first.to_json()


def test_a_benchmark_by_name():
    runs = schedlab.run("hackbench", ["o_1", "cfs"], cpus=2, parameters={"groups": 2})
    assert runs["cfs"].figures["time"] > 0
    assert "Time: " in runs["cfs"].printed
    assert runs["cfs"].metrics["switches_voluntary"] > 0
    with pytest.raises(schedlab.InputError, match="no such parameter"):
        schedlab.run("hackbench", "cfs", parameters={"grups": 2})


def test_an_interrupt_ends_a_run(desktop):
    """Otherwise it would take hours. That another thread of Python can send it shows that the
    engine runs without the interpreter's lock."""
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        schedlab.run(desktop, "cfs", duration=10_000_000, record=False)
    # The engine works as before.
    assert len(schedlab.run(desktop, "cfs", duration=1)) == 1


def test_a_notebook_shows_the_comparison_without_a_script(desktop_runs):
    html = desktop_runs._repr_html_()
    assert "wakeup latency p99" in html and "cfs@2.6.32" in html and "<script" not in html
    evil = schedlab.run({"tasks": {"<script>": {"run": 1000, "loop": 1}}}, "cfs")
    assert "<script" not in evil["cfs"].tasks._repr_html_()
    assert str(desktop_runs["cfs"]) == "Run cfs@2.6.32, 1 CPU, 8 tasks, 10 s"


def test_reports_traces_and_explanations(desktop_runs, tmp_path, program, desktop):
    page = tmp_path / "r.html"
    desktop_runs.report(page)
    assert page.read_text().startswith("<!DOCTYPE html>")
    desktop_runs["cfs"].trace(tmp_path / "r.pftrace")
    assert (tmp_path / "r.pftrace").stat().st_size > 10_000
    desktop_runs["cfs"].trace(tmp_path / "r.txt")
    program("run", desktop, "-s", "cfs", "--trace", str(tmp_path / "cli.txt"))
    assert (tmp_path / "r.txt").read_bytes() == (tmp_path / "cli.txt").read_bytes()
    with pytest.raises(schedlab.InputError, match="its extension names no format"):
        desktop_runs["cfs"].trace(tmp_path / "r.xyz")
    said = desktop_runs["cfs"].explain(at=2.5)
    theirs = program("explain", desktop, "-s", "cfs", "--at", "2.5s")
    assert str(said) in theirs
    assert "video-0" in desktop_runs["cfs"].explain(worst=2, task="video")
    with pytest.raises(schedlab.InputError, match="there is no task ghost"):
        desktop_runs["cfs"].explain(at=1, task="ghost")
    assert "cc-0" in desktop_runs["o_1"].timeline(80)


def test_pictures(desktop_runs):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.axes import Axes

    for ax in (
        desktop_runs["cfs"].plot.timeline(between=(1, 2)),
        desktop_runs["cfs"].plot.timeline(by="cpu"),
        desktop_runs["cfs"].plot.shares(),
        desktop_runs.plot.latency(),
        desktop_runs.plot.shares(),
        *desktop_runs.plot.timeline(between=("1s", "1200ms")),
    ):
        assert isinstance(ax, Axes)
    ax = desktop_runs["o_1"].plot.shares()
    layers = ax.collections
    assert len(layers) == 5, "audio, video, shell, cc, hog"
    odd = schedlab.run({"tasks": {"_a$b$": {"run": 1000, "loop": 3}}}, "cfs")
    odd.plot.shares().figure.canvas.draw()
    assert len(odd.plot.shares().get_legend().get_texts()) == 1
    odd.plot.timeline()[0].figure.canvas.draw()
    run = desktop_runs["cfs"]
    with pytest.raises(schedlab.InputError, match="parts is -1"):
        run.plot.shares(parts=-1)
    with pytest.raises(schedlab.InputError, match="the run ends at"):
        run.plot.timeline(between=(100, 200))
    matplotlib.pyplot.close("all")


def test_the_facts():
    assert "cfs@2.6.32" in [str(release) for release in schedlab.schedulers()]
    assert "groups" in {b.name: b for b in schedlab.benchmarks()}["hackbench"].parameters
    assert {m.id: m.better for m in schedlab.metrics()}["wakeup_latency_p99"] == "lower"


def test_the_version_is_the_workspaces():
    manifest = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{schedlab.__version__}"' in manifest
    assert f'version = "{schedlab.__version__}"' in (ROOT / "python" / "Cargo.toml").read_text()


def test_the_program_comes_with_the_package(program):
    assert program("--version").strip() == f"schedlab {schedlab.__version__}"
    assert "Usage: schedlab run" in program("run", "--help")
    program("run", "nowhere.json", status=2)
    assert Path(schedlab.__file__).with_name("py.typed").exists()
