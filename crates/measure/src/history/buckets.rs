//! Sums over periods of equal length: [`Buckets`].

use schedlab_core::{GroupId, TaskId};

/// Maximum number of periods. Any run of 512 ns or more has at least half as many.
pub const BUCKETS: usize = 512;

/// Number of tasks with their own rows. All later tasks share one more row.
pub const TASK_ROWS: usize = 1024;

/// Number of groups with their own rows, including the root. All later groups share one more row.
pub const GROUP_ROWS: usize = 128;

/// Sums for each of up to [`BUCKETS`] periods of equal length. The length is a power of two ns:
/// when time passes the last period, pairs of periods are merged. Sums are exact.
#[derive(Clone, Debug)]
pub struct Buckets {
    width_ns: u64,
    /// CPU time of each task, ns.
    pub tasks: Rows,
    /// CPU time of the tasks in each group itself, ns.
    pub groups: Rows,
    /// Number of runnable tasks (including running ones) times ns.
    pub runnable_ns: Vec<u64>,
    /// Maximum number of tasks that were runnable at one time.
    pub runnable_max: Vec<u64>,
    /// Context switches, including those from and to idle.
    pub switches: Vec<u64>,
    /// Moves between runqueues.
    pub migrations: Vec<u64>,
    /// Wakeups, without starts.
    pub wakeups: Vec<u64>,
    /// Longest wait that ended in the period, ns.
    pub wait_max_ns: Vec<u64>,
    /// Maximum CPU time that a task was owed, ns; `0` if none was. Lags are sampled when tasks get
    /// or leave CPUs, and for all tasks once per period.
    pub owed_max_ns: Vec<u64>,
    /// Maximum time that a task was ahead, ns.
    pub ahead_max_ns: Vec<u64>,
}

impl Default for Buckets {
    fn default() -> Buckets {
        let row = || vec![0; BUCKETS];
        Buckets {
            width_ns: 1,
            tasks: Rows::new(TASK_ROWS),
            groups: Rows::new(GROUP_ROWS),
            runnable_ns: row(),
            runnable_max: row(),
            switches: row(),
            migrations: row(),
            wakeups: row(),
            wait_max_ns: row(),
            owed_max_ns: row(),
            ahead_max_ns: row(),
        }
    }
}

impl Buckets {
    /// Returns the length of a period, ns.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Returns the index of the period that contains `at_ns`.
    pub(super) fn at(&mut self, at_ns: u64) -> usize {
        while at_ns / self.width_ns >= BUCKETS as u64 {
            self.double();
        }
        (at_ns / self.width_ns) as usize
    }

    fn double(&mut self) {
        self.width_ns *= 2;
        self.tasks.double();
        self.groups.double();
        let sums =
            [&mut self.runnable_ns, &mut self.switches, &mut self.migrations, &mut self.wakeups];
        sums.into_iter().for_each(|row| join(row, |a, b| a + b));
        let extremes = [
            &mut self.runnable_max,
            &mut self.wait_max_ns,
            &mut self.owed_max_ns,
            &mut self.ahead_max_ns,
        ];
        extremes.into_iter().for_each(|row| join(row, u64::max));
    }

    /// Divides the time from `start_ns` to `end_ns` among periods: `note` is called with each
    /// period and its part, ns.
    fn divide(
        &mut self,
        start_ns: u64,
        end_ns: u64,
        mut note: impl FnMut(&mut Buckets, usize, u64),
    ) {
        if start_ns >= end_ns {
            return;
        }
        let last = self.at(end_ns - 1);
        let width_ns = self.width_ns;
        for bucket in (start_ns / width_ns) as usize..=last {
            let from_ns = start_ns.max(bucket as u64 * width_ns);
            let to_ns = end_ns.min((bucket as u64 + 1) * width_ns);
            note(self, bucket, to_ns - from_ns);
        }
    }

    /// Records that `task`, which is in `group`, had a CPU.
    pub(super) fn ran(&mut self, task: TaskId, group: GroupId, start_ns: u64, end_ns: u64) {
        self.divide(start_ns, end_ns, |buckets, bucket, ns| {
            buckets.tasks.add(task.index(), bucket, ns);
            buckets.groups.add(group.0 as usize, bucket, ns);
        });
    }

    /// Records the number of runnable tasks.
    pub(super) fn runnable(&mut self, tasks: u64, start_ns: u64, end_ns: u64) {
        self.divide(start_ns, end_ns, |buckets, bucket, ns| {
            buckets.runnable_ns[bucket] += tasks * ns;
            let most = &mut buckets.runnable_max[bucket];
            *most = tasks.max(*most);
        });
    }
}

/// One sum per row and period. Rows beyond the last share it.
#[derive(Clone, Debug)]
pub struct Rows {
    sums: Vec<u64>,
    most: usize,
}

impl Rows {
    fn new(most: usize) -> Rows {
        Rows { sums: vec![], most }
    }

    fn add(&mut self, row: usize, bucket: usize, value: u64) {
        let at = row.min(self.most) * BUCKETS + bucket;
        if at >= self.sums.len() {
            self.sums.resize((row.min(self.most) + 1) * BUCKETS, 0);
        }
        self.sums[at] += value;
    }

    fn double(&mut self) {
        self.sums.chunks_mut(BUCKETS).for_each(|row| join(row, |a, b| a + b));
    }

    /// Returns the existing rows, each with a sum for every period.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.sums.chunks(BUCKETS)
    }
}

/// Merges pairs of neighbours.
fn join(row: &mut [u64], of_two: impl Fn(u64, u64) -> u64) {
    for bucket in 0..BUCKETS / 2 {
        row[bucket] = of_two(row[2 * bucket], row[2 * bucket + 1]);
    }
    row[BUCKETS / 2..].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_divided_among_stretches_and_none_is_lost_when_they_double() {
        let mut buckets = Buckets::default();
        let (a, b, root) = (TaskId(0), TaskId(TASK_ROWS as u32 + 7), GroupId::ROOT);
        buckets.ran(a, root, 10, 300);
        buckets.ran(b, GroupId(2), 300, 700);
        buckets.runnable(3, 0, 700);
        buckets.runnable(5, 700, 701);
        assert_eq!(buckets.width_ns(), 2);
        assert_eq!((buckets.runnable_ns[0], buckets.runnable_max[350]), (6, 5));
        buckets.ran(a, root, 999_000, 1_000_000);
        assert_eq!(buckets.width_ns(), 2048);
        let sums: Vec<u64> = buckets.tasks.rows().map(|row| row.iter().sum()).collect();
        assert_eq!((sums.len(), sums[0], sums[TASK_ROWS]), (TASK_ROWS + 1, 1290, 400));
        let sums: Vec<u64> = buckets.groups.rows().map(|row| row.iter().sum()).collect();
        assert_eq!(sums, [1290, 0, 400]);
        assert_eq!((buckets.runnable_ns[0], buckets.runnable_max[0]), (2105, 5));
    }
}
