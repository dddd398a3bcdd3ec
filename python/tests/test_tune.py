"""Tuning: searches, their verdicts, reports, refused requests."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import schedlab
from schedlab._apply import command
from schedlab._objective import constraint, parse

optuna = pytest.importorskip("optuna", reason="optuna is not installed: tuning is NOT tested")

ROOT = Path(__file__).resolve().parents[2]

WORKLOAD = {
    "global": {"duration": 1},
    "tasks": {
        "hog": {"instance": 3, "loop": -1, "run": 100000},
        "video": {"loop": -1, "run": 4000, "timer": {"ref": "t", "period": 20000}},
    },
}

SPACE = {
    "sched_latency_ns": {"from": "1ms", "to": "60ms", "scale": "log"},
    "sched_min_granularity_ns": {"from": "0.1ms", "to": "60ms", "scale": "log",
                                 "at_most": "sched_latency_ns"},
    "nice:hog": {"from": 0, "to": 10},
}

GOAL = "minimize key_wait(video)"


def small(**more):
    given = dict(space=SPACE, budget=16, batch=4, seeds=1, held_out_seeds=3, duration=0.5)
    return schedlab.tune(WORKLOAD, "cfs", GOAL, **{**given, **more})


def test_a_search_finds_what_is_plainly_better():
    found = small()
    # Hogs with nice 10 leave the CPU mostly to the video.
    assert found.found, found.report()
    assert found.held_out["tpe"].ratios[0][0] < 0.9
    assert found.settings["set.nice:hog"] > 0
    assert len(found.trials["tpe"]) == len(found.trials["random"]) == 16
    assert "better than the default on held-out runs" in found.report()
    assert any(line.startswith("renice -n ") for line in found.commands)
    assert set(found.importance) == set(found.axes)
    assert all(0 <= part <= 1 for part in found.importance.values())


def test_what_depends_on_another_is_derived_so_that_no_trial_fails():
    found = small(budget=24)
    for trials in found.trials.values():
        for trial in trials:
            latency, granularity, _ = trial.point
            assert granularity <= latency
            assert trial.pruned or max(trial.costs) < 1e8


def test_the_same_seed_is_the_same_search():
    assert small(seed=3).settings == small(seed=3, threads=1).settings


def test_constraints_hold():
    free = small(seed=2, space={"nice:video": {"from": -10, "to": 10}})
    bound = small(
        seed=2, space={"nice:video": {"from": -10, "to": 10}},
        subject_to="key_cpu(hog) >= 99.99 % of default and key_jobs(hog) >= 0",
    )
    assert free.settings["set.nice:video"] < 0
    best = bound.best["tpe"]
    assert best.met and best.violations[1] <= 0


def test_that_nothing_better_was_found_is_said_plainly():
    found = small(space={"sched_rt_period_us": [1_000_000, 900_000]}, budget=4)
    assert not found.found
    assert "nothing better than the default was found" in found.report()


def test_edges_and_what_was_left_out_are_told():
    # For the video's own wait, nice 0 is best.
    found = small(space={"nice:video": {"from": 0, "to": 10}}, budget=40)
    assert "at the lower edge of its range (0 to 10)" in " ".join(found.warnings)
    # Long slices cause few switches, and long waits.
    found = schedlab.tune(
        WORKLOAD, "cfs", "minimize switches_involuntary", budget=2, seeds=1, held_out_seeds=2,
        duration=0.5, space={"sched_latency_ns": ["200ms"]},
    )
    assert any("side effect: wait_max is worse" in one for one in found.warnings)


def test_the_scheduler_itself_is_searched_for():
    found = schedlab.tune(
        WORKLOAD, ["o_1", "cfs", "eevdf"], GOAL, budget=9, batch=3, seeds=1, held_out_seeds=2,
        duration=0.5, space={"sched_latency_ns": {"from": "1ms", "to": "60ms", "only": "cfs"}},
    )
    assert found.axes == ["scheduler", "set.sched_latency_ns"]
    for trial in found.trials["tpe"]:
        assert (trial.point[1] is None) == (trial.point[0] != "cfs")


def test_several_goals_have_a_front():
    found = schedlab.tune(
        WORKLOAD, "cfs", [GOAL, "maximize key_cpu(hog)"], space=SPACE, budget=24, seeds=1,
        held_out_seeds=2, duration=0.5,
    )
    assert found.sampler == "nsga2"
    assert found.front
    for one in found.front:
        assert not any(
            all(a <= b for a, b in zip(other.costs, one.costs)) and other.costs != one.costs
            for other in found.trials["nsga2"] if not other.pruned
        )


def test_a_search_is_kept_and_goes_on(tmp_path):
    storage = tmp_path / "tune.log"
    first = small(budget=8, storage=storage)
    then = small(budget=16, storage=storage)
    points = [trial.point for trial in first.trials["tpe"]]
    assert [trial.point for trial in then.trials["tpe"]][:8] == points
    assert len(then.trials["tpe"]) == 16
    with pytest.raises(schedlab.InputError, match="holds another search"):
        small(storage=storage, duration=0.7)


def test_hopeless_settings_are_not_tried_on_all_workloads():
    whole = small(budget=40, yardsticks=[], prune=False)
    assert not any(trial.pruned for trial in whole.trials["tpe"])
    other = {**WORKLOAD, "global": {"duration": 2}}
    several = schedlab.tune(
        [WORKLOAD, other], "cfs", GOAL, space=SPACE, budget=40, seeds=1, held_out_seeds=2,
        duration=0.5, yardsticks=["one_at_a_time"],
    )
    assert any(trial.pruned for trial in several.trials["tpe"])
    assert not several.best["tpe"].pruned


def test_hopeless_runs_end_in_their_middle():
    found = small(budget=40, yardsticks=[])
    ended = [trial for trial in found.trials["tpe"] if trial.pruned]
    assert 0 < len(ended) < 40 and not found.best["tpe"].pruned
    assert f"({len(ended)} of them ended early)" in found.report()
    # The first runs have no others to be compared with; a run that ended reached its last rung.
    assert not any(trial.pruned for trial in found.trials["tpe"][:8])
    assert all(min(len(way) for way in trial.passed[0]) < 2 or trial.passed[0][0][1] is not None
               for trial in ended)
    again = small(budget=40, yardsticks=[], threads=1)
    assert again.trials == found.trials
    # Only a single objective that the engine knows can be compared before the end.
    both = schedlab.tune(
        WORKLOAD, "cfs", [GOAL, "maximize key_cpu(hog)"], space=SPACE, budget=24, seeds=1,
        held_out_seeds=2, duration=0.5,
    )
    assert not any(trial.pruned for trial in both.trials["nsga2"])


def test_a_run_without_a_value_is_no_good_run():
    from schedlab._problem import ratio

    assert ratio(1, 3.0, 2.0) == 1.5
    assert ratio(-1, 3.0, 2.0) == pytest.approx(2 / 3)
    assert ratio(1, math.inf, 2.0) == ratio(-1, math.inf, 2.0) == math.inf
    assert ratio(1, 0.0, 0.0) == 1.0


def test_a_callable_is_a_goal():
    def lag(row):
        return row["wait"] / 1e6

    found = schedlab.tune(
        WORKLOAD, "cfs", lag, metrics=["wait = key_wait(video)"], space=SPACE, budget=8,
        seeds=1, held_out_seeds=2, duration=0.5,
    )
    assert found.goals == ["lag"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "waitingg"}, "no metric"),
        ({"objective": "2 * key_wait(video)"}, "minimize or maximize"),
        ({"objective": "minimize"}, "minimize what"),
        ({"subject_to": "throughput"}, "write it as EXPRESSION >= LIMIT"),
        ({"subject_to": "throughput >= x % of default"}, "x"),
        ({"sampler": "bayes"}, "there is no sampler bayes"),
        ({"sampler": "cmaes", "space": {"cpus": [1, 2]}}, "supports numbers only"),
        ({"budget": 0}, "budget is 0"),
        ({"space": None}, "space is missing"),
        ({"space": {"sched_latncy_ns": {"from": 1, "to": 2}}}, "not a tunable"),
        ({"space": {"nice:hog": {"from": 1, "to": 2, "at_most": "x"}}}, "at_most must name an earlier axis"),
        ({"space": {"sched_latency_ns": {"from": "1ms", "to": "60ms"},
                    "sched_min_granularity_ns": {"from": "2ms", "to": "60ms",
                                                 "at_most": "sched_latency_ns"}}},
         "begins at 2e.06, but must be at most"),
        ({"space": {"nice:hog": {"from": 0, "to": 5},
                    "nice:video": {"values": [1, 2], "at_most": "nice:hog"}}}, "applies to ranges"),
        ({"space": {"nice:hog": {"from": 0, "to": 5, "only": ["cfs"]}}}, "several schedulers"),
        ({"space": {"nice:hog": {"from": 0, "to": 5, "only": 3}}}, "must name schedulers"),
        ({"space": {"seed": {"from": 0, "to": 5}}}, "axis seed: a search changes settings"),
        ({"space": {"duration": [1, 2]}}, "axis duration: a search changes settings"),
        ({"space": 3}, "must be a dict"),
        ({"objective": 3}, "objective is 3"),
        ({"subject_to": 3}, "subject_to is 3"),
        ({"prune": "no"}, "True or False"),
        ({"title": 3}, "title is 3"),
        ({"yardsticks": [3]}, "yardsticks has 3"),
        ({"repeat": 3}, "number of seeds"),
        ({"seeds": "two"}, "seeds is 'two'"),
        ({"seed": -1}, "seed is -1"),
        ({"duration": float("nan")}, "duration is nan"),
        ({"machine": 3}, "machine is 3"),
        ({"held_out": 3}, "held_out is 3"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(given, message):
    objective = given.pop("objective", GOAL)
    with pytest.raises(schedlab.InputError, match=message):
        schedlab.tune(WORKLOAD, "cfs", objective, **{"space": SPACE, **given})


def test_objectives_and_constraints_are_read():
    goals, limits = parse(
        ["p99 wakeup latency of audio subject to throughput of make >= 95 % of default and "
         "wait_max <= 20ms"], []
    )
    assert goals[0].expression == "p99 wakeup latency of audio" and goals[0].sign is None
    assert (limits[0].expression, limits[0].sign, limits[0].part) == (
        "throughput of make", -1, 0.95)
    assert (limits[1].sign, limits[1].part, limits[1].limit) == (1, None, "20ms")
    assert constraint("a <= default").part == 1.0


def test_settings_are_told_as_one_applies_them():
    cases = {
        ("set.sched_latency_ns", 6000000, "cfs@2.6.32"):
            "sysctl -w kernel.sched_latency_ns=6000000",
        ("set.sched_latency_ns", 6000000, "cfs@6.1"):
            "echo 6000000 > /sys/kernel/debug/sched/latency_ns",
        ("set.base_slice_ns", 700000, "eevdf@6.18"):
            "echo 700000 > /sys/kernel/debug/sched/base_slice_ns",
        ("set.GENTLE_FAIR_SLEEPERS", 0, "cfs@2.6.32"):
            "echo NO_GENTLE_FAIR_SLEEPERS > /sys/kernel/debug/sched_features",
        ("set.weight:/a", 200, "eevdf@6.18"): "echo 200 > /sys/fs/cgroup/a/cpu.weight",
        ("set.quota:/a", "20ms/100ms", "eevdf@6.18"):
            'echo "20000 100000" > /sys/fs/cgroup/a/cpu.max',
        ("affinity.make", "0-3", "cfs"):
            "for pid in $(pgrep -x make); do taskset -cp 0-3 $pid; done",
        ("policy.make", "SCHED_BATCH", "cfs"):
            "for pid in $(pgrep -x make); do chrt --batch -p 0 $pid; done",
    }
    for (name, value, scheduler), expected in cases.items():
        assert command(name, value, scheduler) == expected


def test_the_program_tunes_a_file(program, tmp_path):
    (tmp_path / "w.json").write_text(json.dumps(WORKLOAD))
    file = tmp_path / "t.toml"
    file.write_text(textwrap.dedent("""
        workloads = "w.json"
        schedulers = "cfs"
        duration = 0.5
        objective = "minimize wait of video"
        budget = 8
        seeds = 1
        held_out_seeds = 6

        [[axis]]
        name = "set.nice:hog"
        from = 0
        to = 15
    """))
    page = tmp_path / "t.html"
    printed = program("tune", str(file), "--report", str(page))
    assert "better than the default" in printed and "renice" in printed
    assert "<svg" in page.read_text()
    file.write_text(file.read_text().replace("nice:hog", "nice:hgo"))
    program("tune", str(file), status=2)
    with pytest.raises(schedlab.InputError, match=r"t.toml:\d+:\d+: .*hgo"):
        schedlab.tune(file)
    with pytest.raises(schedlab.InputError, match="t.toml specifies the runs: sampler cannot"):
        schedlab.tune(file, sampler="random")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("workloads = 3", ":1:1: workloads is 3"),
        ('seeds = "x"', ":2:1: seeds is 'x'"),
        ("budgt = 3", ":2:1: unknown key `budgt`"),
        ("axis = 3", ":2:1: axis must be tables"),
        ("[[axis]]\nname = 3", ":3:3: an .*axis.* has no name"),
        ('machine = ["x"]', ":2:1: machine is"),
        ("duration = nan", ":2:12: nan is not a usable number"),
        ('cpus = "two"', ":2:1: cpus is 'two'"),
        ("set = 3", ":2:1: set is 3"),
        ("at = 3", ":2:1: at is 3"),
        ('[[axis]]\nname = "nice:h"\nfrom = 0\nto = 1\n[[axis]]\nname = "nice:h"',
         ":8:8: there is"),
        ('[[axis]]\nname = "cpus"\nfrom = 2\nto = 4\nonly = ["nope"]', ":4:8: axis cpus: only"),
    ],
)
def test_a_wrong_file_is_told_by_its_place(tmp_path, wrong, message):
    (tmp_path / "w.json").write_text(json.dumps(WORKLOAD))
    first = "" if wrong.startswith("workloads") else 'workloads = "w.json"\n'
    own = 'objective = "minimize wait_mean"\n'
    table = "" if "axis" in wrong else '[[axis]]\nname = "set.nice:hog"\nfrom = 0\nto = 5\n'
    head, _, rest = wrong.partition("[[")
    file = tmp_path / "t.toml"
    file.write_text(f"{first}{head}" + (f"[[{rest}" if rest else "") + f"\n{table}")
    text = file.read_text()
    at = text.find("[[")
    # The objective stands before all tables, and after the mistake.
    file.write_text(text + own if at < 0 else text[:at] + own + text[at:])
    with pytest.raises(schedlab.InputError, match="t.toml" + message):
        schedlab.tune(file, budget=1)


def test_a_storage_is_of_one_search(tmp_path):
    storage = tmp_path / "tune.log"
    small(budget=4, storage=storage)
    loose = {**SPACE, "sched_min_granularity_ns": {"from": "0.1ms", "to": "60ms", "scale": "log"}}
    with pytest.raises(schedlab.InputError, match="holds another search"):
        small(budget=4, storage=storage, space=loose)
    storage.write_text("no journal\n")
    with pytest.raises(schedlab.InputError, match="tune.log:1: it is not a storage"):
        small(budget=4, storage=storage)
    calls = tmp_path / "calls.log"
    for goal, is_other in ((lambda row: row["w"], False), (lambda row: row["w"] * 2, True)):
        def tune(goal=goal):
            schedlab.tune(
                WORKLOAD, "cfs", goal, metrics="w = key_wait(video)", space=SPACE, budget=4,
                seeds=1, held_out_seeds=2, duration=0.5, storage=calls, yardsticks=[],
            )
        if is_other:
            with pytest.raises(schedlab.InputError, match="holds another search"):
                tune()
        else:
            tune()


def test_a_break_changes_nothing(tmp_path):
    whole = small(budget=24, batch=8)
    for storage, budgets in ((tmp_path / "a.log", (8, 24)), (tmp_path / "b.log", (16, 24))):
        for budget in budgets:
            parts = small(budget=budget, batch=8, storage=storage)
        points = {name: [it.point for it in all_] for name, all_ in parts.trials.items()}
        assert points == {name: [it.point for it in all_] for name, all_ in whole.trials.items()}
        assert parts.settings == whole.settings


def test_processes_share_a_storage_and_its_budget(tmp_path):
    storage = tmp_path / "shared.log"
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_tune import small
        found = small(budget=24, batch=4, storage={str(storage)!r})
        print(len(found.trials["tpe"]), len(found.trials["random"]))
    """)
    both = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
            for _ in range(2)]
    assert [one.communicate()[0].split() for one in both] == [["24", "24"]] * 2
    assert [one.returncode for one in both] == [0, 0]


def test_tasks_of_python_are_tuned():
    tasks = [schedlab.Task("hog").instances(2).run("10ms"),
             schedlab.Task("video").every("20ms").run("4ms")]
    found = schedlab.tune(
        schedlab.Workload(*tasks), "cfs", GOAL, space={"nice:hog": {"from": 0, "to": 10}},
        budget=4, seeds=1, held_out_seeds=2, duration=0.5, yardsticks=[],
    )
    assert len(found.trials["tpe"]) == 4
