"""Measurements on the real kernel, if permitted, and comparisons of recorded ones."""

from __future__ import annotations

import json
import sys
import warnings

import pytest

import schedlab

from conftest import ROOT

RECORDED = ROOT / "examples" / "live" / "hog-vs-inter-1ms-9ms.json.xz"


@pytest.fixture(scope="module")
def witness() -> schedlab.Witness:
    """A measurement of Linux 6.18, compared with three simulated runs."""
    return schedlab.compare(RECORDED, runs=3, placements="cpu0")


def test_a_comparison_is_that_of_the_command(witness, program):
    args = ("compare", str(RECORDED), "--runs", "3", "--placement", "cpu0")
    assert witness.to_json() == program(*args, "--format", "json")
    assert witness.to_csv() == program(*args, "--format", "csv")
    assert witness.data["format"] == "schedlab-compare/1"


def test_errors_totals_and_bounds_are_typed(witness):
    cpu = [one for one in witness.errors if one.metric == "cpu"]
    assert {one.task for one in cpu} == {"H-0", "I-0"}
    for one in cpu:
        assert isinstance(one, schedlab.TaskError) and one.placement == "cpu0"
        assert one.real.min <= one.real.median <= one.real.max
        assert abs(one.error) < 1 and one.verdict == "met"
    of_cpu = next(one for one in witness.totals if one.metric == "cpu")
    assert of_cpu.kind == "one_cpu" and of_cpu.tasks == 2 and of_cpu.met == 100.0
    assert of_cpu.ceiling is None or 0 <= of_cpu.ceiling <= 100
    assert witness.bounds and all(isinstance(one, schedlab.Bound) for one in witness.bounds)
    assert witness.holds == all(one.holds for one in witness.bounds)
    assert "H-0" in witness.text(width=100) and "H-0" not in witness.text(tasks=False)
    assert "Witness" in repr(witness) and "<pre>" in witness._repr_html_()


def test_errors_as_a_frame(witness):
    pandas = pytest.importorskip("pandas")
    frame = witness.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(witness.errors)
    assert set(frame["verdict"]) <= {"met", "within_its_range", "missed"}


def test_a_page_of_one_placement(witness, tmp_path):
    page = tmp_path / "witness.html"
    witness.report(page)
    assert page.read_text().lstrip().lower().startswith("<!doctype html")
    both = schedlab.compare(RECORDED, runs=1)
    with pytest.raises(schedlab.InputError, match="one placement"):
        both.report(page)


def test_another_release_is_another_result(witness):
    other = schedlab.compare(RECORDED, "eevdf@6.6", runs=3, placements=["cpu0"])
    assert other.to_json() != witness.to_json()
    tight = schedlab.compare(RECORDED, runs=3, placements="cpu0", thresholds={"cpu_percent": 0})
    assert any(one.verdict != "met" for one in tight.errors if one.metric == "cpu")
    bare = schedlab.compare(RECORDED, runs=1, placements="cpu0", costs=False, noise="none")
    assert bare.errors


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"scheduler": "ghost"}, "ghost"),
        ({"placements": "cpu9"}, "cpu0"),
        ({"noise": "loud"}, "noise"),
        ({"thresholds": {"cpu": 1}}, "cpu"),
        ({"thresholds": {"cpu_percent": -1}}, "cpu_percent"),
        ({"runs": 0}, "runs"),
        ({"costs": {"nothing": 5}}, "nothing"),
        ({"costs": {"switch": "dear"}}, "costs: switch is 'dear'"),
        ({"set": {"NOTHING": 1}}, "NOTHING"),
        ({"machine": "no-such-machine"}, "no-such-machine"),
    ],
)
def test_what_is_wrong_with_a_comparison_is_said(given, wanted):
    with pytest.raises(schedlab.InputError, match=wanted):
        schedlab.compare(RECORDED, **{"runs": 1, **given})


def test_what_is_no_measurement_is_refused(tmp_path):
    with pytest.raises(schedlab.InputError, match="nowhere.json"):
        schedlab.compare("nowhere.json")
    with pytest.raises(schedlab.InputError, match="not a measurement"):
        schedlab.compare(5)
    torn = tmp_path / "torn.json"
    torn.write_text('{"format": "live-schedule/1", "machine": {')
    with pytest.raises(schedlab.InputError, match="torn.json"):
        schedlab.compare(torn)
    with pytest.raises(schedlab.InputError, match="torn.json"):
        schedlab.Measurement.load(torn)


HOGS = {"tasks": {"hog": {"loop": -1, "run": 5000}, "nap": {"loop": -1, "run": 500, "sleep": 2000}}}


@pytest.mark.skipif(sys.platform != "linux", reason="SKIPPED: host() needs Linux")
class TestHost:
    """Measures on this machine's own kernel."""

    def test_a_workload_is_measured_and_compared(self, tmp_path):
        rights = {one["what"]: one["yes"] for one in schedlab.host_probe()["rights"]}
        if not rights["schedstat of threads"]:
            pytest.skip("SKIPPED: this kernel keeps no schedstat of threads")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", schedlab.SchedlabWarning)
            measured = schedlab.host(HOGS, cpus=0, duration=0.3, runs=1, tries=1)
        cpu = measured.figure("hog-0", "cpu_ns")
        assert 0 < cpu.min <= cpu.median <= cpu.max
        assert measured.kernel and measured.messages and list(measured.rows())
        path = tmp_path / "here.json"
        measured.save(path)
        again = schedlab.Measurement.load(path)
        assert again.data == measured.data and again.is_quiet == measured.is_quiet
        witness = measured.compare(runs=2)
        assert {one.task for one in witness.errors} == {"hog-0", "nap-0"}
        assert json.loads(witness.to_json())["placements"][0]["placement"] == "cpu0"
        with pytest.raises(schedlab.InputError, match="ghost, cpu_ns; .* hog-0, nap-0"):
            measured.figure("ghost", "cpu_ns")
        with pytest.raises(schedlab.InputError, match="the figures are .*cpu_ns"):
            measured.figure("hog-0", "cpu")
        with pytest.raises(schedlab.InputError, match="no placement cpu9; the placements are cpu0"):
            measured.figure("hog-0", "cpu_ns", placement="cpu9")

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [
            ({"cpus": 4095}, "CPU 4095"),
            ({"cpus": "0-"}, "list of CPUs"),
            ({"runs": 0}, "runs"),
            ({"trace": "some"}, "trace"),
            ({"start": "late"}, "start"),
            ({"noise_limit": 2}, "noise_limit"),
            ({"noise_limit": "low"}, "noise_limit is 'low'"),
            ({"runs": 3, "tries": 2}, "--tries 2"),
            ({"duration": 0}, "a run of 0 s"),
            ({"group": "/proc"}, "not a control group"),
            ({"duration": None}, "duration"),
        ],
    )
    def test_what_cannot_be_done_is_refused_before_anything_runs(self, given, wanted):
        with pytest.raises(schedlab.InputError, match=wanted):
            schedlab.host(HOGS, **{"duration": 0.1, **given})

    def test_a_benchmark_is_no_workload(self):
        with pytest.raises(schedlab.InputError, match="workload"):
            schedlab.host("hackbench")
