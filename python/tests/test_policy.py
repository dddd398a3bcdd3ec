"""Policies in Python: runs, checks in random worlds, and error messages."""

from __future__ import annotations

import gc
import itertools
import json
import resource
import time
import traceback
from pathlib import Path

import pytest

import schedlab
from schedlab import Policy, Tree, _native, _plan
from schedlab.testing import Broken, check_policy


class RoundRobin(Policy):
    """Turns of 10 ms."""

    quantum_ns = 10_000_000
    rules = {"first": "The task that has waited longest runs."}

    def pick(self, cpu):
        return self.ready.pop(cpu)

    def why(self, cpu):
        waiting = (task for task in self.ready if task.may_run_on(cpu))
        return [(task, place) for place, task in enumerate(waiting)]

    def promises(self, tasks, cpus):
        return {"wait_ns": tasks * 3 * self.quantum_ns, "hog_spread_ns": 4 * self.quantum_ns}


class Fair(Policy):
    """The task with the lowest virtual runtime runs."""

    quantum_ns = 3_000_000
    tunables = {"quantum_ns": (1_000_000, 1_000_000_000)}

    def start(self):
        self.ready = Tree(lambda task: task.vruntime)
        self.least = 0

    def fork(self, task, parent):
        task.vruntime = self.least

    def wake(self, task, waker):
        task.vruntime = max(task.vruntime, self.least - 3_000_000)

    def charge(self, task, ran_ns):
        task.vruntime += ran_ns * 1024 // task.weight

    def preempts(self, task, current):
        return task.vruntime + 1_000_000 < current.vruntime

    def pick(self, cpu):
        task = self.ready.pop(cpu)
        if task is not None:
            self.least = max(self.least, task.vruntime)
        return task

    def why(self, cpu):
        return [
            (task, (task.vruntime, place), {"vruntime_ns": task.vruntime})
            for place, task in enumerate(task for task in self.ready if task.may_run_on(cpu))
        ]


def test_round_robin_is_the_textbooks(desktop):
    """Approximately, on one CPU: the textbook's turns end by a timer, these at the next tick."""
    runs = schedlab.run(desktop, [RoundRobin, "rr", "cfs"])
    ours, theirs = runs["RoundRobin"], runs["rr"]
    assert ours.column == "RoundRobin@py"
    assert ours.metrics["jain_backlogged"] == pytest.approx(
        theirs.metrics["jain_backlogged"], abs=0.05
    )
    assert abs(ours.metrics["throughput"] - theirs.metrics["throughput"]) < 10
    assert "RoundRobin" in runs.compare().text()


def test_the_same_run_comes_to_the_same(desktop):
    class Lottery(Policy):
        """Runs a task drawn at random."""

        quantum_ns = 10_000_000

        def pick(self, cpu):
            waiting = [task for task in self.ready if task.may_run_on(cpu)]
            if not waiting:
                return None
            drawn = self.random.choices(waiting, [task.weight for task in waiting])[0]
            self.ready.remove(drawn)
            return drawn

    one, two = (schedlab.run(desktop, Lottery, duration=2, cpus=2).to_json() for _ in "12")
    assert one == two


def test_weights_count(desktop):
    hogs = [schedlab.Task(f"hog{nice}").nice(nice).run("1s") for nice in (0, 5)]
    run = schedlab.run(schedlab.Workload(*hogs, duration="10s"), [Fair])[0]
    run.tasks["hog0"].assert_share(1024 / (1024 + 335), tol=0.01)
    run.assert_no_starvation("50ms")


@pytest.mark.parametrize("policy", [RoundRobin, Fair])
def test_they_keep_every_rule_in_random_worlds(policy):
    assert check_policy(policy, worlds=25).worlds == 25


def test_worlds_find_what_is_wrong():
    class Forgets(RoundRobin):
        """Loses every seventh task that is put back."""

        count = itertools.count()

        def enqueue(self, task):
            if next(self.count) % 7 != 6:
                super().enqueue(task)

    with pytest.raises(Broken, match=r"seed \d+") as caught:
        check_policy(Forgets, worlds=50)
    assert caught.value.seed >= 0

    class Unfair(RoundRobin):
        """Names the first task, and takes the last."""

        def pick(self, cpu):
            waiting = [task for task in self.ready if task.may_run_on(cpu)]
            if waiting:
                self.ready.remove(waiting[-1])
                return waiting[-1]
            return None

    with pytest.raises(Broken, match="the reasons name"):
        check_policy(Unfair, worlds=50)

    class Raises(RoundRobin):
        """Divides by zero."""

        def tick(self, cpu):
            return 1 / 0

    with pytest.raises(Broken, match="(?s)tick failed at .*ZeroDivisionError"):
        check_policy(Raises, worlds=3)


def test_an_error_comes_with_pythons_traceback_and_the_virtual_time(desktop):
    class Late(RoundRobin):
        """Fails after a second."""

        def pick(self, cpu):
            if self.machine.now_ns >= 1_000_000_000:
                return self.no_such_thing
            return super().pick(cpu)

    with pytest.raises(schedlab.PolicyError, match="pick failed at 1.00") as caught:
        schedlab.run(desktop, ["cfs", Late])
    error = caught.value
    assert error.at_ns >= 1_000_000_000 and error.hook == "pick"
    assert isinstance(error.__cause__, AttributeError)
    message = "".join(traceback.format_exception(error.__cause__))
    assert "return self.no_such_thing" in message and __file__ in message
    # The next run is not affected.
    assert len(schedlab.run(desktop, [RoundRobin], duration=1)) == 1


def test_a_policy_that_cannot_be_made_says_why(desktop):
    class Unborn(RoundRobin):
        """Fails in start()."""

        def start(self):
            raise ValueError("no such thing")

    with pytest.raises(schedlab.PolicyError, match="no such thing") as caught:
        schedlab.run(desktop, Unborn)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(Broken, match="(?s)start failed.*no such thing"):
        check_policy(Unborn, worlds=2)


def test_wrong_picks_are_refused(desktop):
    class Odd(Policy):
        """Returns a number."""

        def pick(self, cpu):
            return 3

    with pytest.raises(schedlab.PolicyError, match="returned 3, which is not a living task"):
        schedlab.run(desktop, Odd)

    class Sleeper(RoundRobin):
        """Picks any task, even if it sleeps."""

        def pick(self, cpu):
            super().pick(cpu)
            return next(iter(self.tasks.values()), None)

    with pytest.raises(schedlab.PolicyError, match="which (sleeps|CPU 0 runs)") as caught:
        schedlab.run(desktop, Sleeper, cpus=2)
    assert caught.value.hook == "pick" and caught.value.at_ns is not None


def test_a_policy_that_stops_virtual_time_is_told_of(desktop):
    class Again(RoundRobin):
        """Requests another pick in each pick."""

        def pick(self, cpu):
            self.resched(cpu)
            return super().pick(cpu)

    class Past(RoundRobin):
        """Arms a timer for a time in the past."""

        def start(self):
            self.machine.arm_timer(1, 1_000)

        def timer(self, key):
            self.machine.arm_timer(key, 0)

    for policy in (Again, Past):
        with pytest.raises(schedlab.PolicyError, match="virtual time does not advance"):
            schedlab.run(desktop, policy, duration=1)


def test_errors_in_what_is_asked_of_a_policy_are_its_errors(desktop):
    class Why(RoundRobin):
        """Fails in why()."""

        def why(self, cpu):
            raise LookupError("no reason known")

    run = schedlab.run(desktop, Why, duration=1)[0]
    with pytest.raises(schedlab.PolicyError, match="why failed.*no reason known") as caught:
        run.explain(at=0.5)
    assert caught.value.hook == "why"

    class Promises(RoundRobin):
        """Promises a text."""

        def promises(self, tasks, cpus):
            return {"wait_ns": "soon"}

    class Unknown(RoundRobin):
        """Promises an unknown quantity."""

        def promises(self, tasks, cpus):
            return {"waits_ns": 1}

    for policy, said in ((Promises, "promises failed"), (Unknown, "names 'waits_ns'")):
        with pytest.raises((schedlab.PolicyError, Broken), match=said):
            check_policy(policy, worlds=2)

    class Tunables(RoundRobin):
        """Has a malformed range."""

        tunables = {"quantum_ns": 5}

    with pytest.raises(schedlab.InputError, match="must be minimum and maximum"):
        schedlab.run(desktop, Tunables)


def test_explanations_have_the_policys_own_words(desktop):
    runs = schedlab.run(desktop, [Fair, RoundRobin], duration=3)
    said = str(runs["RoundRobin"].explain(at=2.005))
    assert "The task that has waited longest runs." in said
    assert "vruntime" in str(runs["Fair"].explain(at=2.005))
    assert "waited" in str(runs["RoundRobin"].explain(worst=1))
    assert len(runs["Fair"].wakeups) > 0


def test_tunables_and_variants(desktop):
    runs = schedlab.run(desktop, [Fair], set={"quantum_ns": [1_000_000, 50_000_000]}, duration=3)
    few, many = (run.metrics["switches_involuntary"] for run in reversed(list(runs)))
    assert few < many
    slow = RoundRobin.variant("slow", quantum_ns=100_000_000)
    both = schedlab.run(desktop, [RoundRobin, slow], duration=3)
    assert (
        both["slow"].metrics["switches_involuntary"]
        < both["RoundRobin"].metrics["switches_involuntary"]
    )
    with pytest.raises(schedlab.InputError, match="1000000 to 1000000000"):
        schedlab.run(desktop, [Fair], set={"quantum_ns": 5})


def test_many_policies_come_and_go():
    """Any number of policies can be in use at the same time."""
    load = {"tasks": {"a": {"run": 1000, "loop": 1}}}
    kept = [schedlab.run(load, RoundRobin) for _ in range(150)]
    assert len(kept) == 150


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_policies_that_are_dropped_leave_nothing_behind():
    """Each policy has its own texts, so that texts that are never freed are noticed."""
    load = {"tasks": {"a": {"run": 1000, "loop": 1}}}

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def use(numbers: range) -> None:
        for number in numbers:
            name = f"Policy{number}"
            policy = RoundRobin.variant(
                name, summary=f"{name} {'x' * 1000}", rules={name: f"{name} {'y' * 1000}."}
            )
            plan, policies = _plan.make(load, policy)
            prepared = _native.Prepared(json.dumps(plan), policies)
            if number % 10 == 0:
                prepared.run(1)

    use(range(2_000))
    before = resident()
    ends = time.monotonic() + 5
    numbers = itertools.count(2_000, 500)
    while time.monotonic() < ends and (start := next(numbers)) < 100_000:
        use(range(start, start + 500))
    # The texts of 1000 policies alone take 2 MB.
    assert resident() - before < 4_000_000


def test_reports_and_traces_of_policies(desktop, tmp_path):
    runs = schedlab.run(desktop, [RoundRobin, "cfs"], duration=1)
    runs.report(tmp_path / "r.html")
    assert "RoundRobin@py" in (tmp_path / "r.html").read_text()
    runs.trace(tmp_path / "r.txt")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["r-cfs@2.6.32.txt", "r.html", "r.txt"]


def test_policies_run_benchmarks():
    runs = schedlab.run("hackbench", [RoundRobin, "rr"], cpus=2, parameters={"groups": 1})
    assert runs["RoundRobin"].figures["time"] > 0


def test_what_cannot_be_a_policy_is_said():
    class Nothing(Policy):
        """Picks no task."""

    with pytest.raises(schedlab.InputError, match="has no method pick"):
        schedlab.run({"tasks": {"a": {"run": 1}}}, Nothing)
    with pytest.raises(schedlab.InputError, match="has no attribute quantum"):
        RoundRobin.variant("x", quantum=3)

    with pytest.raises(schedlab.InputError, match="has a scheduler called cfs"):
        schedlab.run({"tasks": {"a": {"run": 1}}}, RoundRobin.variant("cfs"))
    with pytest.raises(schedlab.InputError, match="letters, digits and _"):
        schedlab.run({"tasks": {"a": {"run": 1}}}, RoundRobin.variant("a.b"))

    class NoRealTime(RoundRobin):
        """Changes nothing."""

    load = {"tasks": {"a": {"policy": "SCHED_FIFO", "priority": 3, "run": 10, "loop": 1}}}
    with pytest.raises(schedlab.InputError, match="SCHED_FIFO"):
        schedlab.run(load, NoRealTime)


def test_queues():
    from schedlab import Fifo, PriorityArray, PolicyTask

    tasks = [PolicyTask(number) for number in range(4)]
    tasks[0].allowed = frozenset({1})
    fifo = Fifo()
    for task in tasks:
        fifo.push(task)
    assert fifo.pop(cpu=0) is tasks[1] and fifo.pop(cpu=1) is tasks[0]
    fifo.push_front(tasks[0])
    assert list(fifo) == [tasks[0], tasks[2], tasks[3]] and tasks[2] in fifo
    with pytest.raises(ValueError, match="already"):
        fifo.push(tasks[2])
    array = PriorityArray(3)
    for task, level in zip(tasks, (2, 1, 1, 0)):
        array.push(task, level)
    assert [array.pop() for _ in range(5)] == [tasks[3], tasks[1], tasks[2], tasks[0], None]
    tree = Tree(lambda task: -task.id // 2)
    for task in tasks:
        tree.push(task)
    assert list(tree) == [tasks[3], tasks[1], tasks[2], tasks[0]]
    tree.remove(tasks[1])
    assert tree.first(where=lambda task: task.id < 3) is tasks[2] and len(tree) == 3
