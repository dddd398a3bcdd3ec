#!/usr/bin/env python3
"""Recomputes the metrics of a `schedlab-run/1` document, and compares.

    metrics.py DOCUMENT.json [--shares PATH=WEIGHT ...]

Everything is computed from slices, spans and what tasks were (start, end, policy, nice value,
group), by the definitions in docs/metrics.md and docs/json-schema.md, in the plainest way there is;
nothing is taken from the program. Exit status 0: all agrees; 1: what does not is printed.

Tasks must have had one policy, one nice value and one group all the time, and affinity is left out
of account, as the definitions do.
"""

import json
import math
import sys

# The kernel's table: nice -20 to 19.
WEIGHTS = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
]
OUTSIDE = ("SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE")


def weight(task):
    """Returns the task's weight; `None`: it has none."""
    if task["policy"] in OUTSIDE:
        return None
    return 3 if task["policy"] == "SCHED_IDLE" else WEIGHTS[task["nice"] + 20]


class Check:
    """Compares figures, and records differences."""

    def __init__(self, name):
        self.name, self.count, self.wrong = name, 0, []

    def same(self, what, found, right, slack=0):
        self.count += 1
        if found is None or right is None:
            good = found is right
        else:
            good = abs(found - right) <= slack
        if not good:
            self.wrong.append(f"{self.name}: {what}: {found} in the document, {right} by definition")

    def spread(self, what, found, values, exact=False, slack=1):
        """Checks a distribution of durations, ns. Percentiles are as exact as the histogram."""
        values = sorted(values)
        self.same(f"{what}.count", found["count"], len(values))
        if not values:
            self.same(f"{what}.max_ns", found["max_ns"], None)
            return
        self.same(f"{what}.sum_ns", found["sum_ns"], sum(values), slack * len(values))
        self.same(f"{what}.min_ns", found["min_ns"], values[0], slack)
        self.same(f"{what}.max_ns", found["max_ns"], values[-1], slack)
        mean = sum(values) / len(values)
        self.same(f"{what}.mean_ns", found["mean_ns"], mean, slack + 1)
        for name, part in PERCENTILES.items():
            right = rank(values, part)
            # Never below, less than 1/256 above.
            bucket = 0 if exact else right / 256
            self.same(f"{what}.{name}_ns", found[f"{name}_ns"], right + bucket / 2, slack + bucket / 2)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        self.same(f"{what}.sd_population_ns", found["sd_population_ns"], deviation, slack + 1)


PERCENTILES = {"p50": (50, 100), "p90": (90, 100), "p95": (95, 100), "p99": (99, 100),
               "p999": (999, 1000)}


def rank(values, part):
    """Returns the nearest rank in sorted values."""
    numerator, denominator = part
    return values[max(1, -(-numerator * len(values) // denominator)) - 1]


def jain(values):
    squares = sum(value * value for value in values)
    if squares == 0:
        return None
    return min(1.0, sum(values) ** 2 / (len(values) * squares))


class Fluid:
    """The machine that serves all runnable tasks at once."""

    def __init__(self, cpus, tasks, shares):
        self.cpus, self.tasks, self.shares, self.known = cpus, tasks, shares, {}

    def parts(self, active):
        """Returns the part of the machine to which each is entitled, level by level."""
        parts = {}
        self.divide("", active, 1.0, parts)
        return parts

    def divide(self, path, active, part, parts):
        here = [task for task in active if self.tasks[task]["group"] == path]
        below = {}
        for task in active:
            group = self.tasks[task]["group"]
            if group != path and group.startswith(path + "/"):
                child = path + "/" + group[len(path) + 1:].split("/")[0]
                below.setdefault(child, []).append(task)
        total = sum(weight(self.tasks[task]) for task in here)
        total += sum(self.shares.get(child, 1024) for child in below)
        for task in here:
            parts[task] = part * weight(self.tasks[task]) / total
        for child, members in below.items():
            self.divide(child, members, part * self.shares.get(child, 1024) / total, parts)

    def rates(self, active, taken):
        """Returns the rate at which each of `active` is served, in CPUs, while others take `taken`."""
        key = (active, taken)
        if key not in self.known:
            self.known[key] = self.compute(active, taken)
        return self.known[key]

    def compute(self, active, taken):
        left = self.cpus - taken
        if len(active) <= left:
            return {task: 1.0 for task in active}
        parts, rates, open_tasks = self.parts(active), {}, set(active)
        while open_tasks:
            total = sum(parts[task] for task in open_tasks)
            full = [task for task in open_tasks if left * parts[task] / total > 1 + 1e-12]
            if not full:
                rates.update({task: left * parts[task] / total for task in open_tasks})
                break
            for task in full:
                rates[task] = 1.0
                open_tasks.remove(task)
            left -= len(full)
        return rates


class Lags:
    """Follows two fluid machines through a run: one serves the tasks that are runnable here, since
    the start, and one serves the same bursts."""

    def __init__(self, run, shares):
        self.tasks = run["tasks"]
        self.fluid = Fluid(run["machine"]["cpus"], self.tasks, shares)
        count = len(self.tasks)
        self.share, self.cpu = [0.0] * count, [0] * count
        self.owed, self.ahead = [0.0] * count, [0.0] * count
        self.lag, self.due = [0.0] * count, [0.0] * count
        self.largest, self.burst_largest = [0.0] * count, [0.0] * count
        self.bursts = []
        # Tasks in a burst; tasks served early that stay on the machine; tasks on a CPU; number of
        # CPUs that others have; lag of the tasks that left.
        self.active, self.staying, self.running, self.taken, self.left = set(), set(), set(), 0, 0.0
        self.follow(run)

    def follow(self, run):
        begins, ends, changes = {}, {}, {}
        for start, end, task in run["spans"]:
            begins.setdefault(start, []).append(task)
            ends.setdefault(end, []).append(task)
        for _, start, end, task in run["slices"]:
            changes.setdefault(start, []).append((task, 1))
            changes.setdefault(end, []).append((task, -1))
        at, over = 0, run["end"]["at_ns"]
        ordinary = [task["task"] for task in self.tasks if weight(task) is not None]
        for now in sorted(set(begins) | set(ends) | set(changes) | {over}):
            rates = self.fluid.rates(frozenset(self.active), self.taken)
            for task in self.active:
                self.share[task] += rates[task] * (now - at)
            while at < now:
                at = self.step(at, now)
            for task in ordinary if now == over else ():
                self.look_since_start(task)
            for task in ends.get(now, []):
                if task in self.active:
                    self.end_burst(task)
            for task in begins.get(now, []):
                if weight(self.tasks[task]) is not None:
                    self.active.add(task)
                    if task not in self.staying:
                        self.lag[task] = 0.0
                    self.staying.discard(task)
                    self.burst_largest[task] = 0.0
            for task, _ in changes.get(now, []):
                if weight(self.tasks[task]) is None:
                    continue
                self.look_since_start(task)
                turns = [step for other, step in changes[now] if other == task]
                if task in self.active and len(turns) == 1:
                    self.look(task)
            for task, step in sorted(changes.get(now, []), key=lambda change: change[1]):
                if weight(self.tasks[task]) is None:
                    self.taken += step
                elif step > 0:
                    self.running.add(task)
                else:
                    self.running.discard(task)

    def step(self, at, now):
        """Advances the machine with the same bursts until the first of the staying tasks leaves."""
        there = self.active | self.staying
        rates = self.fluid.rates(frozenset(there), self.taken)
        self.hand_on(there, rates)
        for task in self.staying:
            if rates[task] > 0:
                # To the nanosecond in which it has been served. (A float may be slightly off.)
                now = min(now, at + max(0, math.ceil(-self.lag[task] / rates[task] - 1e-5)))
        for task in there:
            self.lag[task] += rates[task] * (now - at)
        for task in self.active:
            self.due[task] += rates[task] * (now - at)
        for task in self.running:
            self.lag[task] -= now - at
            self.cpu[task] += now - at
        for task in [task for task in self.staying if self.lag[task] >= -1e-5]:
            self.staying.discard(task)
            self.left += self.lag[task]
        return now

    def end_burst(self, task):
        self.look(task)
        self.active.discard(task)
        self.bursts.append(self.burst_largest[task])
        if self.lag[task] < -1e-5:
            self.staying.add(task)
        else:
            self.left += self.lag[task]

    def hand_on(self, there, rates):
        """Gives the lag of the tasks that left to those that stay, to the extent that they are
        ahead."""
        left, self.left = self.left, 0.0
        others = sum(self.lag[task] for task in there)
        gift = min(left, max(-others, 0.0)) if left > 0 else max(left, min(-others, 0.0))
        total = sum(rates.values())
        if gift == 0 or total == 0:
            return
        for task in there:
            self.lag[task] += gift * rates[task] / total
            if task in self.active:
                self.due[task] += gift * rates[task] / total

    def look(self, task):
        lag = abs(self.lag[task])
        self.burst_largest[task] = max(self.burst_largest[task], lag)
        self.largest[task] = max(self.largest[task], lag)

    def look_since_start(self, task):
        lag = self.share[task] - self.cpu[task]
        self.owed[task] = max(self.owed[task], lag)
        self.ahead[task] = max(self.ahead[task], -lag)


def by_task(rows, count, at):
    lists = [[] for _ in range(count)]
    for row in rows:
        lists[row[at]].append(row)
    return lists


def cut(slices, start, end):
    """Returns the turns within a burst, with adjacent ones joined."""
    turns = []
    for _, a, b, _ in slices:
        a, b = max(a, start), min(b, end)
        if a < b:
            if turns and turns[-1][1] == a:
                turns[-1] = (turns[-1][0], b)
            else:
                turns.append((a, b))
    return turns


def check_run(run, shares):
    check = Check(f"{run['scheduler']['name']}@{run['scheduler']['release']}")
    tasks, end, cpus = run["tasks"], run["end"]["at_ns"], run["machine"]["cpus"]
    slices, spans = by_task(run["slices"], len(tasks), 3), by_task(run["spans"], len(tasks), 2)
    totals = run["totals"]
    busy = sum(b - a for _, a, b, _ in run["slices"])
    check.same("totals.busy_ns", totals["busy_ns"], busy)
    check.same("totals.idle_ns", totals["idle_ns"], cpus * end - busy)
    check.same("totals.cpu_use", totals["cpu_use"], busy / (cpus * end), 1e-6)
    started = [task for task in tasks if task["start_ns"] is not None]
    check.same("totals.tasks_started", totals["tasks_started"], len(started))
    check.same("totals.jobs", totals["jobs"], sum(task["jobs"] for task in tasks))
    check.same("totals.throughput_per_s", totals["throughput_per_s"],
               totals["jobs"] * 1e9 / end, 1e-6)

    latencies, responses, slowdowns, waits, longest, open_waits = [], [], [], 0, 0, 0
    for task, own, bursts in zip(tasks, slices, spans):
        cpu = wait = wait_max = wait_open = at = 0
        unseen = task["wakeups"]
        for start, until, _ in bursts:
            while at < len(own) and own[at][2] <= start:
                at += 1
            last = at
            while last < len(own) and own[last][1] < until:
                last += 1
            turns = cut(own[at:last], start, until)
            had = sum(b - a for a, b in turns)
            edges = [start] + [edge for turn in turns for edge in turn] + [until]
            gaps = [b - a for a, b in zip(edges[::2], edges[1::2])]
            cpu, wait = cpu + had, wait + until - start - had
            wait_max = max(wait_max, *gaps)
            is_over = until < end or task["end_ns"] == end
            wait_open = 0 if is_over else gaps[-1]
            woken = start != task["start_ns"]
            # Without a turn that took time, it had one of zero length at the end, and blocked.
            if woken and (turns or is_over):
                latencies.append((turns[0][0] if turns else until) - start)
            if woken and is_over:
                responses.append(until - start)
            unseen -= woken
            if is_over and had:
                slowdowns.append((until - start - had) * 1000 // had)
        # Bursts of zero length are in no list.
        latencies += [0] * unseen
        responses += [0] * unseen
        name = task["name"]
        check.same(f"cpu_ns of {name}", task["cpu_ns"], cpu)
        check.same(f"wait_ns of {name}", task["wait_ns"], wait)
        check.same(f"wait_max_ns of {name}", task["wait_max_ns"], wait_max)
        check.same(f"wait_open_ns of {name}", task["wait_open_ns"], wait_open)
        life = (end if task["end_ns"] is None else task["end_ns"]) - (task["start_ns"] or 0)
        if task["start_ns"] is not None:
            check.same(f"blocked_ns of {name}", task["blocked_ns"], life - cpu - wait)
        waits, longest, open_waits = waits + wait, max(longest, wait_max), open_waits + (wait_open > 0)
    check.same("totals.wait_ns", totals["wait_ns"], waits)
    check.same("totals.wait_mean_ns", totals["wait_mean_ns"], waits // max(1, len(started)))
    check.same("totals.wait_max_ns", totals["wait_max_ns"], longest)
    check.same("totals.waiting_at_end", totals["waiting_at_end"], open_waits)
    check.spread("wakeup_latency", run["wakeup_latency"], latencies)
    check.spread("burst_response", run["burst_response"], responses)
    turnarounds = [task["end_ns"] - task["start_ns"] for task in tasks if task["end_ns"] is not None]
    check.spread("turnaround", run["turnaround"], turnarounds, exact=True)
    check.spread("cpu_time", run["cpu_time"], [task["cpu_ns"] for task in started], exact=True)

    found, slowdowns = run["slowdown"], sorted(slowdowns)
    check.same("slowdown.count", found["count"], len(slowdowns))
    if slowdowns:
        check.same("slowdown.sum", found["sum"], len(slowdowns) + sum(slowdowns) / 1000, 1e-3)
        check.same("slowdown.min", found["min"], 1 + slowdowns[0] / 1000, 1e-6)
        check.same("slowdown.max", found["max"], 1 + slowdowns[-1] / 1000, 1e-6)
        for name, part in PERCENTILES.items():
            beyond = rank(slowdowns, part) / 1000
            check.same(f"slowdown.{name}", found[name], 1 + beyond * (1 + 1 / 512),
                       beyond / 512 + 1e-6)

    lags, fairness = Lags(run, shares), run["fairness"]
    ordinary = [task["task"] for task in tasks if weight(task) is not None]
    check.spread("burst_lag", run["burst_lag"], lags.bursts, slack=4)
    for number in ordinary:
        name = tasks[number]["name"]
        check.same(f"share_ns of {name}", tasks[number]["share_ns"], lags.share[number], 2)
        check.same(f"owed_max_ns of {name}", tasks[number]["owed_max_ns"], lags.owed[number], 2)
        check.same(f"ahead_max_ns of {name}", tasks[number]["ahead_max_ns"], lags.ahead[number], 2)
        check.same(f"burst_lag_max_ns of {name}", tasks[number]["burst_lag_max_ns"],
                   lags.largest[number], 2)
        due = lags.due[number] if spans[number] else None
        check.same(f"due_ns of {name}", tasks[number]["due_ns"], due, 2)
    check.same("fairness.lag_max_ns", fairness["lag_max_ns"],
               max([0] + [max(lags.owed[task], lags.ahead[task]) for task in ordinary]), 2)
    ratios = [1.0 if lags.cpu[task] >= lags.due[task] else lags.cpu[task] / lags.due[task]
              for task in ordinary if spans[task]]
    check.same("fairness.jain_backlogged", fairness["jain_backlogged"], jain(ratios), 2e-6)
    shared = [lags.cpu[task] / lags.share[task] for task in ordinary if lags.share[task] >= 0.5]
    check.same("fairness.jain_by_share", fairness["jain_by_share"], jain(shared), 2e-6)
    parts = lags.fluid.parts(ordinary)
    weighed = [lags.cpu[task] / parts[task] for task in ordinary]
    check.same("fairness.jain_by_weight", fairness["jain_by_weight"], jain(weighed), 2e-6)
    return check


def main(arguments):
    path, *options = arguments
    shares = dict(option.split("=") for option in options if option != "--shares")
    shares = {group: int(number) for group, number in shares.items()}
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    checks = [check_run(run, shares) for run in document["runs"]]
    wrong = [line for check in checks for line in check.wrong]
    print("\n".join(wrong[:40]))
    print(f"{sum(check.count for check in checks)} figures of {len(checks)} runs, "
          f"{len(wrong)} do not agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
