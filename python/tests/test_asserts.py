"""Assertions: true ones pass, and false ones state the value, the time and the reason."""

from __future__ import annotations

import pytest


def test_a_share_that_is_as_it_should_be(desktop_runs):
    desktop_runs["eevdf"].tasks["audio"].assert_share(0.05, tol=0.005, between=(1, 5))
    desktop_runs["o_1"].tasks["video"].assert_share(0.15, tol=0.01)
    assert desktop_runs["o_1"].tasks["video"].share() == pytest.approx(0.15, abs=0.005)


def test_a_share_that_is_not(desktop_runs):
    with pytest.raises(AssertionError) as caught:
        desktop_runs["o_1"].tasks["hog"].assert_share(0.4, tol=0.02, between=(2, 8))
    said = str(caught.value)
    assert "hog had 0.0" in said and "under o_1@2.6.0, not 0.4 ± 0.02" in said
    assert "between 2.000000 s and 8.000000 s" in said
    assert "waited for" in said and "that CPU went to" in said
    with pytest.raises(ValueError, match="the run goes from 0 to"):
        desktop_runs["o_1"].tasks["hog"].assert_share(0.4, between=(2, 80))


def test_wakeup_latencies(desktop_runs):
    audio = desktop_runs["cfs"].tasks["audio"]
    audio.assert_wakeup_latency("11ms", p99="10ms", median="1ms")
    assert audio.latencies_ns().max() == max(row["latency_max_ns"] for row in audio.figures())
    with pytest.raises(AssertionError) as caught:
        desktop_runs["o_1"].tasks["cc"].assert_wakeup_latency("5ms")
    said = str(caught.value)
    assert "the wakeup latency's max is" in said and "more than 5 ms" in said
    assert "ran in the meantime: " in said and "under o_1@2.6.0" in said
    with pytest.raises(AssertionError, match="hog was not woken"):
        desktop_runs["cfs"].tasks["hog"].assert_wakeup_latency("1ms")


def test_starvation(desktop_runs):
    desktop_runs["eevdf"].assert_no_starvation("20ms")
    with pytest.raises(AssertionError) as caught:
        desktop_runs["o_1"].assert_no_starvation("1s")
    said = str(caught.value)
    assert "starves under o_1@2.6.0: hog-" in said and "waited for longer than 1 s" in said
    assert "by the rule:" in said
    desktop_runs["o_1"].tasks["audio"].assert_no_starvation("1s")


def test_tasks_by_name_key_and_pattern(desktop_runs):
    tasks = desktop_runs["cfs"].tasks
    assert tasks["cc"].names == ["cc-0", "cc-1", "cc-2"]
    assert tasks["cc-1"].numbers == [4]
    assert len(tasks["*-0"]) == 5
    with pytest.raises(KeyError, match="there is no task make; the tasks are audio, video"):
        tasks["make"]
