"""sched_ext policies, compiled BPF objects, wherever a scheduler's name is accepted."""

from __future__ import annotations

import pytest

import schedlab

from conftest import ROOT

VTIME = f"scx:{ROOT / 'examples' / 'scx' / 'vtime.bpf.o'}"


def test_a_policy_stands_beside_other_schedulers(desktop, program):
    ours = schedlab.run(desktop, ["eevdf", f"{VTIME}[slice_ns=2ms]"], duration=1)
    theirs = program(
        "run", desktop, "-s", f"eevdf,{VTIME}[slice_ns=2ms]", "--duration", "1", "--format", "json"
    )
    assert ours.to_json() == theirs
    assert "slice_ns=2000000" in ours.compare().text(120)


def test_random_worlds_and_benchmarks_take_policies():
    (world,) = schedlab.stress(f"{VTIME}[slice_ns=3ms]", worlds=3)
    assert world.broken is None
    bench = schedlab.bench("hackbench", VTIME, groups=1)
    assert "scx_vtime" in bench.to_json()


def test_a_recorded_trace_under_a_policy():
    trace = ROOT / "examples" / "traces" / "sleepers.xz"
    answer = schedlab.replay(trace, VTIME, seeds=1)
    assert "scx_vtime@6.18" in answer.to_json()


def test_what_is_no_policy_is_refused_in_words(desktop):
    with pytest.raises(schedlab.InputError, match="did you mean slice_ns"):
        schedlab.run(desktop, f"{VTIME}[slice_n=1]", duration=1)
    with pytest.raises(schedlab.InputError, match="there is no such file"):
        schedlab.run(desktop, "scx:nothing.bpf.o", duration=1)
