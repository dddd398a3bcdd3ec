"""Benchmarks, random worlds, golden schedules, experiments, traces: as on the command line."""

from __future__ import annotations

import json
import os
import signal
import threading

import pytest

import schedlab

from conftest import ROOT

#: A recorded trace.
DESK = ROOT / "examples" / "traces" / "desk.xz"


def test_a_benchmark_is_the_command_lines(program, tmp_path):
    ours = schedlab.bench("hackbench", ["o_1", "cfs"], cpus=2, groups=[1, 2], repeat=2)
    args = ["bench", "hackbench", "--scheduler", "o_1,cfs", "--cpus", "2", "--groups", "1,2"]
    theirs = program(*args, "--repeat", "2", "--format", "json")
    assert ours.to_json() == theirs
    assert ours.axes == {"groups": [1, 2]}
    rows = list(ours.rows())
    assert len(rows) == 8 and rows[0]["scheduler"] == "o_1@2.6.0" and rows[0]["time"] > 0
    assert "groups" in ours.text() and "o_1" in ours.text("wakeup latency p99")
    ours.report(tmp_path / "b.html")
    assert (tmp_path / "b.html").read_text().startswith("<!DOCTYPE html>")
    plan = tmp_path / "mix.json"
    evening = str(ROOT / "examples" / "evening.mix")
    program("bench", "mix", "--file", evening, "--plan-out", str(plan))
    mix = schedlab.bench(str(plan))
    assert mix.to_json() == program("bench", "plan", str(plan), "--format", "json")
    with pytest.raises(schedlab.InputError, match="there is no figure speed"):
        ours.text("speed")
    with pytest.raises(schedlab.InputError, match="there is no benchmark hackbensh"):
        schedlab.bench("hackbensh")


def test_a_benchmark_as_a_picture_and_a_frame():
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    bench = schedlab.bench("hackbench", "cfs", groups=range(1, 3))
    ax = bench.plot()
    assert (ax.get_xlabel(), ax.get_ylabel(), len(ax.lines)) == ("groups", "time", 1)
    assert list(bench.to_pandas()["groups"]) == [1, 2]
    single = schedlab.bench("hackbench", "cfs", groups=1)
    with pytest.raises(schedlab.InputError, match="only one point"):
        single.plot()


def test_a_picture_has_a_line_for_each_value_of_other_parameters():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    several = schedlab.bench("hackbench", "cfs", groups=[1, 2], loops=[5, 50])
    lines = {line.get_label(): list(line.get_ydata()) for line in several.plot().lines}
    rows = [row["time"] for row in several.rows()]
    assert len(lines) == 2 and sorted(sum(lines.values(), [])) == sorted(rows)


def test_a_plan_says_all_of_a_benchmark(tmp_path):
    plan = tmp_path / "b.plan"
    plan.write_text(schedlab.run("hackbench", "cfs", parameters={"groups": 1}).plan())
    assert schedlab.bench(plan).schedulers == ["cfs@2.6.32"]
    for more in ({"cpus": 7}, {"groups": [1, 2]}, {"seed": 9}, {"schedulers": "o_1"}):
        with pytest.raises(schedlab.InputError, match=f"{next(iter(more))} cannot be given"):
            schedlab.bench(plan, **more)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: schedlab.stress("cfs", worlds=-1), "worlds is -1"),
        (lambda: schedlab.stress("cfs", threads=0), "threads is 0"),
        (lambda: schedlab.testing.check_policy("cfs", first_seed=-1), "first_seed is -1"),
        (lambda: schedlab.verify(5), "paths is 5"),
        (lambda: schedlab.papers(5), "ids is 5"),
        (lambda: schedlab.bench(5), "is neither a benchmark"),
        (lambda: schedlab.bench("hackbench", threads=-1), "threads is -1"),
        (lambda: schedlab.replay(DESK, set=5), "set is 5"),
        (lambda: schedlab.replay(DESK, seeds=-1), "seeds is -1"),
        (lambda: schedlab.replay(DESK, at=5), "at is 5"),
        (lambda: schedlab.replay(DESK, machine=5), "machine is 5"),
        (lambda: schedlab.replay(DESK, cpus="x"), "cpus is 'x'"),
    ],
)
def test_wrong_kinds_are_told(work, message):
    with pytest.raises(schedlab.InputError, match=message):
        work()


def test_an_interrupt_ends_a_benchmark_and_a_policys_run(desktop):
    class First(schedlab.Policy):
        """First come, first served."""

        def pick(self, cpu):
            return self.ready.pop(cpu)

    class Endless(schedlab.Policy):
        """Never returns."""

        def pick(self, cpu):
            while True:
                pass

    for start in (
        lambda: schedlab.stress(Endless, worlds=2),
        lambda: schedlab.testing.check_policy(Endless, worlds=2),
        lambda: schedlab.run(desktop, Endless),
        lambda: schedlab.run(desktop, "cfs", repeat=100_000, record=False),
        lambda: schedlab.bench("hackbench", "o_n", cpus=2, groups=range(200, 400)),
        lambda: schedlab.run(desktop, First, duration=1_000_000, record=False),
        lambda: schedlab.stress(First, worlds=1_000_000),
        lambda: schedlab.replay(ROOT / "examples" / "traces" / "desk.xz", "cfs", seeds=1_000),
    ):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            start()


def test_random_worlds_of_built_in_schedulers():
    worlds = schedlab.stress(["cfs", "eevdf"], worlds=3)
    assert [(world.scheduler, world.worlds) for world in worlds] == [
        ("cfs@2.6.32", 3), ("eevdf@6.18", 3),
    ]
    assert all(world.events > 100 and world.broken is None for world in worlds)
    with pytest.raises(schedlab.InputError, match="set tunables themselves"):
        schedlab.stress("cfs:sched_latency_ns=6ms")


def test_golden_schedules():
    verdicts = schedlab.verify(ROOT / "tests" / "golden" / "round_robin")
    assert len(verdicts) > 5 and all(verdict.agrees for verdict in verdicts)
    assert verdicts[0].scheduler and verdicts[0].share == 1.0
    missing = schedlab.verify(["nowhere.json"])[0]
    assert not missing.agrees and missing.error


def test_published_experiments():
    assert schedlab.paper_ids()["REL-1"] == "One nice step"
    papers = schedlab.papers("REL-1", reduced=True)
    assert papers.experiments[0].title == "One nice step" and not papers.failed
    assert all(row["verdict"] for row in papers.verdicts)
    assert "1 experiment" in papers.summary
    with pytest.raises(schedlab.InputError, match="XYZ"):
        schedlab.papers("XYZ")


def test_a_recorded_trace(program, tmp_path):
    trace = str(ROOT / "examples" / "traces" / "desk.xz")
    ours = schedlab.replay(trace, "cfs", seeds=1)
    path = tmp_path / "replay.json"
    program("replay", trace, "-s", "cfs", "--seeds", "1", "--json", str(path))
    assert ours.to_json() == path.read_text()
    assert ours.grade and len(ours.columns) == 3
    runs = schedlab.run(trace, ["cfs", "eevdf"], cpus=2, duration=5)
    assert len(runs["cfs"].tasks) > 5
    with pytest.raises(schedlab.InputError, match="nowhere.data"):
        schedlab.replay("nowhere.data", "cfs")


def test_what_lies_beside_a_trace_is_taken_as_the_command_takes_it(program, tmp_path):
    trace = tmp_path / "desk.xz"
    trace.write_bytes((ROOT / "examples" / "traces" / "desk.xz").read_bytes())
    bare = schedlab.replay(trace, seeds=1)
    groups = (ROOT / "examples" / "traces" / "desk.groups").read_text()
    (tmp_path / "desk.groups").write_text(groups)
    grouped = schedlab.replay(trace, seeds=1)
    assert grouped.to_json() != bare.to_json()
    assert schedlab.replay(trace, seeds=1, groups="none").to_json() == bare.to_json()
    side = {"schema": "schedlab-side/1", "kernel": "6.6.1", "tunables": {"base_slice_ns": 700000}}
    (tmp_path / "desk.xz.side.json").write_text(json.dumps(side))
    noted = schedlab.replay(trace, seeds=1)
    path = tmp_path / "replay.json"
    program("replay", str(trace), "--seeds", "1", "--json", str(path))
    assert noted.to_json() == path.read_text() != grouped.to_json()
    assert schedlab.replay(trace, seeds=1, side="none").to_json() == grouped.to_json()
    # The workload of a trace also has its groups.
    (tmp_path / "desk.xz.side.json").unlink()
    model = tmp_path / "desk.json"
    program("replay", str(trace), "--write", str(model))
    runs = [schedlab.run(it, "eevdf", cpus=2, duration=2) for it in (trace, model)]
    assert runs[0]["eevdf"].groups.to_pandas().equals(runs[1]["eevdf"].groups.to_pandas())
    assert len(runs[0]["eevdf"].groups)
