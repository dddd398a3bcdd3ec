//! CFS with a rule for interactivity: tasks that hardly ever sleep are made less nice. This is not
//! a kernel release, but a change to CFS proposed in a paper on its interactivity.
//!
//! # The rule
//!
//! For each task the scheduler records how long it has run and how long it has slept, and
//! `nice_add`, initially 0. On entry to `schedule()` the outgoing task is judged. It is CPU-bound,
//! and `nice_add` grows by 1, if
//!
//! ```text
//! sum_exec_time > sum_sleep_time * (nice_add + 1)^2 * f     and     sum_exec_time > tau
//! ```
//!
//! From then on the task is scheduled with nice + `nice_add`. `nice_add` is never above 3: each
//! step costs a task about a tenth of its time, and more steps would starve the task. The square
//! makes each further step harder, as a safeguard against misjudgement. `tau` (100 ms) is the run
//! time that must have been observed before a task is judged. With f = 1000 a task is affected only
//! if it sleeps less than 0.1 % of the time.
//!
//! # Our interpretation, where the paper is silent
//!
//! Each call of `schedule()` makes at most one step, and `nice_add` never falls. Both kinds of
//! sleep count. A child starts without history. Nice is at most 19. Tasks of policy `SCHED_IDLE`
//! and real-time tasks are not affected. We added a variant, off unless `interactive_reset_ns` is
//! set: a sleep of that length shows that the task is not CPU-bound, and clears its history.

use crate::classes::Pid;
use alloc::vec::Vec;
use schedlab_core::{SchedAttr, Tunable};

/// Maximum of `nice_add`.
const NICE_ADD_MAX: u8 = 3;

/// The tunables.
const TUNABLES: [&str; 3] = ["interactive_f", "interactive_tau_ns", "interactive_reset_ns"];

/// The parameters of the rule, and the history of each thread.
#[derive(Clone, Debug)]
pub struct Interactive {
    /// Factor by which the run time of a CPU-bound task exceeds its sleep time.
    f: u64,
    /// Run time required before a task is judged, ns.
    tau_ns: u64,
    /// Length of a sleep that clears the history, ns; `0`: none does.
    reset_ns: u64,
    rows: Vec<Row>,
}

/// The history of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Row {
    sum_sleep_ns: u64,
    asleep_since_ns: Option<u64>,
    nice_add: u8,
    /// Run time when its history was last cleared, ns. (Only with `reset_ns`.)
    exec_before_ns: u64,
}

impl Default for Interactive {
    fn default() -> Interactive {
        Interactive { f: 1000, tau_ns: 100_000_000, reset_ns: 0, rows: Vec::new() }
    }
}

impl Interactive {
    /// Whether a task with this run time is CPU bound at one step more than before.
    fn is_cpu_bound(&self, row: &Row, sum_exec_ns: u64) -> bool {
        let steps = u128::from(row.nice_add) + 1;
        row.nice_add < NICE_ADD_MAX
            && sum_exec_ns > self.tau_ns
            && u128::from(sum_exec_ns)
                > u128::from(row.sum_sleep_ns) * steps * steps * u128::from(self.f)
    }

    /// Returns the number of steps that a task with these run and sleep times reaches if it is
    /// judged repeatedly.
    pub fn steps(&self, sum_exec_ns: u64, sum_sleep_ns: u64) -> u8 {
        let mut row = Row { sum_sleep_ns, ..Row::default() };
        while self.is_cpu_bound(&row, sum_exec_ns) {
            row.nice_add += 1;
        }
        row.nice_add
    }

    /// Returns the increase of a task's nice value.
    pub fn nice_add(&self, pid: Pid) -> u8 {
        self.rows.get(pid.index()).map_or(0, |row| row.nice_add)
    }

    /// Returns the highest nice value with which a task of `nice` may be scheduled.
    pub(super) fn worst_nice(nice: i32) -> i32 {
        (nice + i32::from(NICE_ADD_MAX)).min(19)
    }

    /// Returns the attributes of a task with its effective nice value.
    pub(super) fn effective(&self, pid: Pid, attr: &SchedAttr) -> SchedAttr {
        SchedAttr { nice: (attr.nice + i32::from(self.nice_add(pid))).min(19), ..*attr }
    }

    /// Creates a thread without history.
    pub(super) fn born(&mut self, pid: Pid) {
        if self.rows.len() <= pid.index() {
            self.rows.resize(pid.index() + 1, Row::default());
        }
        self.rows[pid.index()] = Row::default();
    }

    /// Judges, on entry to `schedule()`, the outgoing task, which has run `sum_exec_ns` in total.
    /// Returns whether its `nice_add` has grown.
    pub(super) fn judge(&mut self, pid: Pid, sum_exec_ns: u64) -> bool {
        let row = &self.rows[pid.index()];
        let bound = self.is_cpu_bound(row, sum_exec_ns - row.exec_before_ns);
        self.rows[pid.index()].nice_add += u8::from(bound);
        bound
    }

    /// Records that `pid` goes to sleep.
    pub(super) fn sleeps(&mut self, pid: Pid, now_ns: u64) {
        self.rows[pid.index()].asleep_since_ns = Some(now_ns);
    }

    /// Records that `pid`, which has run `ran_ns` in total, has been woken. Returns whether its
    /// sleep was long enough to clear its history.
    pub(super) fn wakes(&mut self, pid: Pid, now_ns: u64, ran_ns: u64) -> bool {
        let row = &mut self.rows[pid.index()];
        let Some(since) = row.asleep_since_ns.take() else {
            return false;
        };
        let slept_ns = now_ns - since;
        row.sum_sleep_ns += slept_ns;
        let begins_anew = self.reset_ns > 0 && slept_ns >= self.reset_ns;
        if begins_anew {
            *row = Row { exec_before_ns: ran_ns, ..Row::default() };
        }
        begins_anew
    }

    /// Returns the tunables with their values.
    pub(super) fn tunables(&self) -> [Tunable; 3] {
        let values = [self.f, self.tau_ns, self.reset_ns];
        let helps = [
            "ratio of run time to sleep time above which a task is CPU bound",
            "run time required before a task is judged, ns",
            "variant: a sleep of this length clears the history of a task, ns; 0 = none does",
        ];
        core::array::from_fn(|i| Tunable {
            name: TUNABLES[i].into(),
            value: values[i] as i64,
            range: (i64::from(i == 0), 1_000_000_000_000),
            help: helps[i],
        })
    }

    /// Writes a tunable. Returns `false` if it is not one of these.
    pub(super) fn set_tunable(&mut self, name: &str, value: i64) -> bool {
        let tunable = match TUNABLES.iter().position(|&tunable| tunable == name) {
            Some(0) => &mut self.f,
            Some(1) => &mut self.tau_ns,
            Some(2) => &mut self.reset_ns,
            _ => return false,
        };
        *tunable = value as u64;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Cfs, Version, core_2_6};
    use crate::classes::ClassList;
    use crate::classes::rt::RtVersion;
    use crate::classes::testing::{Bench, Life, MS};
    use schedlab_core::Administer;
    use schedlab_core::BuildConfig;
    use schedlab_core::Scheduler;
    use schedlab_core::TaskId;

    fn machine() -> Bench<ClassList<Cfs>> {
        let config = BuildConfig::flat(1, 1000);
        let sched = core_2_6(Version::INTERACTIVE, RtVersion::V2_6_25, &config);
        Bench::new(sched, 1, 1000)
    }

    fn nice_add(m: &Bench<ClassList<Cfs>>, task: TaskId) -> u8 {
        m.sched.fair.interactive.nice_add(m.sched.core.pid(task))
    }

    #[test]
    fn the_steps_are_where_the_rule_puts_them() {
        let rule = Interactive::default();
        let steps = |sum_sleep_ns, exec_ns: u64| {
            let mut row = Row { sum_sleep_ns, ..Row::default() };
            while rule.is_cpu_bound(&row, exec_ns) {
                row.nice_add += 1;
            }
            row.nice_add
        };
        // Never slept: judged once it has run for more than 100 ms.
        assert_eq!([100 * MS, 100 * MS + 1].map(|exec| steps(0, exec)), [0, 3]);
        // Slept 9 ms in total: more than 9 s, 36 s, 81 s.
        let s = 1000 * MS;
        let exec = [9 * s, 9 * s + 1, 36 * s, 36 * s + 1, 81 * s, 81 * s + 1, 999 * s];
        assert_eq!(exec.map(|exec| steps(9 * MS, exec)), [0, 1, 1, 2, 2, 3, 3]);
        // 999 ms run for each ms slept.
        assert_eq!(steps(1000 * MS, 999 * s), 0);
    }

    #[test]
    fn a_hog_gives_way_to_one_that_sleeps() {
        let mut m = machine();
        let hog = m.nice(0, Life::Hog);
        let life = Life::Periodic { run: 30 * MS, sleep: 3 * MS };
        let other = m.nice(0, life);
        m.run_until(2000 * MS);
        assert_eq!([hog, other].map(|task| nice_add(&m, task)), [3, 0]);
        m.sched.inspect().audit().unwrap();
        let weight = |m: &Bench<ClassList<Cfs>>, task| {
            let e = m.sched.fair.entity_of(m.sched.core.pid(task));
            m.sched.fair.entities[e].load.weight
        };
        assert_eq!([hog, other].map(|task| weight(&m, task)), [526, 1024]);
        // A different nice value is raised as well, to no more than 19.
        m.sched.set_attr(&mut m.platform, hog, &SchedAttr::nice(18), schedlab_core::CpuId(0));
        assert_eq!(weight(&m, hog), 15);
        m.sched.inspect().audit().unwrap();
    }

    #[test]
    fn steps_are_taken_one_at_a_call_of_schedule() {
        let mut m = machine();
        let hogs = [m.nice(0, Life::Hog), m.nice(0, Life::Hog)];
        let mut seen = [0, 0];
        for step in 1..3000 {
            m.run_until(step * MS / 10);
            for (seen, &hog) in seen.iter_mut().zip(&hogs) {
                let now = nice_add(&m, hog);
                assert!(now == *seen || now == *seen + 1);
                *seen = now;
            }
            let used = |hog: TaskId| {
                let slices = m.slices.iter().filter(|slice| slice.3 == hog.0);
                slices.map(|slice| slice.2 - slice.1).sum::<u64>()
            };
            assert!(hogs.iter().zip(seen).all(|(&hog, seen)| seen == 0 || used(hog) > 100 * MS));
        }
        assert_eq!(seen, [3, 3]);
    }

    #[test]
    fn numbers_can_be_set_and_a_long_sleep_can_be_made_to_wipe_out_what_is_known() {
        let mut m = machine();
        for (name, value) in [
            ("interactive_f", 1),
            ("interactive_tau_ns", 10 * MS as i64),
            ("interactive_reset_ns", 500 * MS as i64),
        ] {
            m.sched.set_tunable(&mut m.platform, name, value).unwrap();
        }
        let life = Life::Periodic { run: 100 * MS, sleep: 600 * MS };
        let task = m.nice(0, life);
        m.nice(0, Life::Hog);
        m.run_until(60 * MS);
        assert!(nice_add(&m, task) > 0);
        // Its sleep is over after at most 200 ms and 600 more.
        m.run_until(805 * MS);
        assert_eq!(nice_add(&m, task), 0);
        m.sched.inspect().audit().unwrap();
    }
}
