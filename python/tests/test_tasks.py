"""Workloads built in Python."""

from __future__ import annotations

import datetime
import json

import pytest

import schedlab
from schedlab import InputError, Task, Workload


def test_a_task_is_what_rt_app_says():
    video = Task("video").every("40ms").run("6ms")
    assert video.to_dict() == {
        "loop": -1, "run": 6000, "timer": {"ref": "unique", "period": 40000},
    }
    twice = Task("a").run("1ms").sleep("2ms").run("3ms").lock("m").unlock("m").times(4)
    assert list(twice.to_dict().items()) == [
        ("loop", 4), ("run", 1000), ("sleep", 2000), ("run1", 3000), ("lock", "m"),
        ("unlock", "m"),
    ]
    assert Task("a").run(datetime.timedelta(milliseconds=2)).to_dict()["run"] == 2000


def test_a_built_desktop_is_the_files(desktop):
    built = Workload(
        Task("audio").every("10ms").run("500us"),
        Task("video").every("40ms").run("6ms"),
        Task("shell").phase("typing", 8).run("1ms").sleep("120ms")
        .phase("command").run("30ms").sleep("400ms"),
        Task("cc").instances(3).sleep("4ms").run("90ms").sleep("2ms"),
        Task("hog").instances(2).delay("1s").run("100ms"),
        duration="10s",
    )
    ours = schedlab.run(built, ["o_1", "eevdf"]).data["runs"]
    assert ours == schedlab.run(desktop, ["o_1", "eevdf"]).data["runs"]


def test_everything_the_language_has_is_taken_by_the_engine(tmp_path):
    parent = (
        Task("parent").times(3).lock("m").signal("c").unlock("m").post("s").resume("child")
        .broadcast("d").yield_().fork("forked").run("2ms").runtime("1ms").sleep("1ms")
    )
    workload = Workload(
        parent.group("/g").nice(3),
        Task("child").times(2).suspend().run("1ms"),
        Task("forked").instances(0).times(1).run("5ms"),
        Task("waits").times(1).acquire("s").run("1ms"),
        Task("rt").policy("fifo", 50).every("10ms", absolute=True).run("1ms").times(5),
        Task("dl").deadline("1ms", "5ms", "10ms").every("10ms").run("500us").times(5),
        Task("meet").instances(2).barrier("b").run("1ms").times(3).cpus(0, 1),
        Task("short").slice("3ms").run("4ms").times(2),
        duration="1s",
    )
    runs = schedlab.run(workload, "eevdf", cpus=2, groups={"/g": {"cpu.weight": 50}})
    names = [row["name"] for row in runs["eevdf"].tasks.rows()]
    assert "forked-2" in names and runs["eevdf"].groups["path"][0] == "/g"
    path = tmp_path / "w.json"
    workload.save(path)
    again = schedlab.run(path, "eevdf", cpus=2, groups={"/g": {"cpu.weight": 50}})
    assert again.data["runs"] == runs.data["runs"]
    assert json.loads(path.read_text()) == workload.to_dict()


def test_tasks_are_not_changed_by_what_is_made_of_them():
    base = Task("a").run("1ms")
    nice = base.nice(5).called("b")
    assert "priority" not in base.to_dict() and nice.to_dict()["priority"] == 5
    assert (base.name, nice.name) == ("a", "b")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Task("a").run(6), "must be a time with its unit"),
        (lambda: Task("a").run("6"), "must be a time with its unit"),
        (lambda: Task("a").run("100ns"), "whole microseconds"),
        (lambda: Task("a").nice(20), "-20 to 19"),
        (lambda: Task("a").group("g"), "begins with /"),
        (lambda: Task("a").policy("fast"), "there is no policy"),
        (lambda: Task("a").run("1ms").phase("x"), "name the first phase"),
        (lambda: Workload(Task("a"), Task("a")), "two tasks are called 'a'"),
        (lambda: Workload(Task("a"), duration="1500ms"), "whole seconds"),
        (lambda: Workload(), "at least one task"),
        (lambda: Task("a").instances(-1), "at least 0"),
        (lambda: Task("a").cpus(), "at least one CPU"),
        (lambda: schedlab.run(3), "is not a workload"),
        (lambda: Task(3), "the name of a task is 3"),
        (lambda: Task("a").nice("x"), "nice is 'x'"),
        (lambda: Task("a").lock(3), "mutex is 3"),
        (lambda: Task("a").fork(3), "task is 3"),
        (lambda: Task("a").policy("fifo", 0), "priority is 0"),
        (lambda: Workload(3), "3 is not a Task"),
        (lambda: schedlab.run(Task("a").run("1ms"), 3), "schedulers is 3"),
        (lambda: schedlab.run(Task("a").run("1ms"), [3]), "is not a scheduler"),
    ],
)
def test_what_is_wrong_is_said_at_once(make, says):
    with pytest.raises(InputError, match=says):
        make()
