//! Compares two schedules.

use schedlab_core::CpuId;
use schedlab_measure::Slice;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// A slice for people, with the name of the task from the golden file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedSlice {
    /// CPU, task, begin and end.
    pub slice: Slice,
    /// The task's name.
    pub name: String,
}

impl fmt::Display for NamedSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Slice { cpu, start_ns, end_ns, .. } = self.slice;
        write!(f, "{} on CPU {} from {start_ns} to {end_ns} ns", self.name, cpu.0)
    }
}

/// The first difference between two schedules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Index of the first slice that differs.
    pub slice: usize,
    /// The slice of the real kernel. `None`: its schedule ends there.
    pub expected: Option<NamedSlice>,
    /// The slice of the replay. `None`: the replay ends there.
    pub got: Option<NamedSlice>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slice {}: expected ", self.slice)?;
        match &self.expected {
            Some(slice) => write!(f, "{slice}")?,
            None => write!(f, "no more slices")?,
        }
        match &self.got {
            Some(slice) => write!(f, ", got {slice}"),
            None => write!(f, ", got no more slices"),
        }
    }
}

/// A figure of a task that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FigureDifference {
    /// Name of the task.
    pub name: String,
    /// Name of the figure in the file.
    pub figure: &'static str,
    /// Value in the file.
    pub expected: u64,
    /// Value in the replay.
    pub got: u64,
}

impl fmt::Display for FigureDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FigureDifference { name, figure, expected, got } = self;
        write!(f, "{figure} of {name}: expected {expected}, got {got}")
    }
}

/// Agreement of CPU time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Agreement {
    /// Time during which the same task ran on the same CPU in both schedules, ns.
    pub same_ns: u64,
    /// Time during which a CPU was busy in either schedule, ns, summed over CPUs.
    pub busy_ns: u64,
}

impl Agreement {
    /// Returns the share that agrees; `1.0`: all.
    pub fn share(self) -> f64 {
        if self.busy_ns == 0 { 1.0 } else { self.same_ns as f64 / self.busy_ns as f64 }
    }
}

impl AddAssign for Agreement {
    fn add_assign(&mut self, other: Agreement) {
        self.same_ns += other.same_ns;
        self.busy_ns += other.busy_ns;
    }
}

/// Returns the first difference between `got` and `expected`. Both are sorted by start, then by
/// CPU.
pub fn first_difference(expected: &[Slice], got: &[Slice], names: &[String]) -> Option<Difference> {
    let named = |slice: &Slice| NamedSlice {
        slice: *slice,
        name: match names.get(slice.task.index()) {
            Some(name) => name.clone(),
            None => format!("task {}", slice.task.0),
        },
    };
    let slice =
        (0..expected.len().max(got.len())).find(|&slice| expected.get(slice) != got.get(slice))?;
    Some(Difference {
        slice,
        expected: expected.get(slice).map(named),
        got: got.get(slice).map(named),
    })
}

/// Returns the agreement of CPU time between two schedules.
pub fn agreement(expected: &[Slice], got: &[Slice]) -> Agreement {
    let (expected, got) = (by_cpu(expected), by_cpu(got));
    let mut agreement = Agreement::default();
    let busy_ns = |lanes: &BTreeMap<CpuId, Vec<&Slice>>| -> u64 {
        let all = lanes.values().flatten();
        all.map(|slice| slice.end_ns.saturating_sub(slice.start_ns)).sum()
    };
    let mut both_ns = 0;
    for (cpu, lane) in &expected {
        let mut others = got.get(cpu).map_or(&[][..], Vec::as_slice);
        for slice in lane {
            while let Some(other) = others.first() {
                let overlap_ns = slice
                    .end_ns
                    .min(other.end_ns)
                    .saturating_sub(slice.start_ns.max(other.start_ns));
                both_ns += overlap_ns;
                if slice.task == other.task {
                    agreement.same_ns += overlap_ns;
                }
                if other.end_ns > slice.end_ns {
                    break;
                }
                others = &others[1..];
            }
        }
    }
    agreement.busy_ns = (busy_ns(&expected) + busy_ns(&got)).saturating_sub(both_ns);
    agreement
}

fn by_cpu(slices: &[Slice]) -> BTreeMap<CpuId, Vec<&Slice>> {
    let mut lanes: BTreeMap<CpuId, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        lanes.entry(slice.cpu).or_default().push(slice);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::TaskId;

    fn slice(cpu: u32, start_ns: u64, end_ns: u64, task: &str) -> Slice {
        Slice {
            cpu: CpuId(cpu),
            start_ns,
            end_ns,
            task: TaskId(u32::from(task.as_bytes()[0] - b'a')),
        }
    }

    #[test]
    fn equal_schedules_agree_wholly() {
        let slices = [slice(0, 0, 10, "a"), slice(1, 0, 4, "b"), slice(1, 5, 9, "a")];
        assert_eq!(first_difference(&slices, &slices, &[]), None);
        let all = Agreement { same_ns: 18, busy_ns: 18 };
        assert_eq!(agreement(&slices, &slices), all);
        assert_eq!(all.share(), 1.0);
        assert_eq!(agreement(&[], &[]).share(), 1.0);
    }

    #[test]
    fn the_first_difference_is_found_also_at_the_end() {
        let long = [slice(0, 0, 10, "a"), slice(0, 10, 12, "b")];
        let found = first_difference(&long, &long[..1], &[]).unwrap();
        assert_eq!((found.slice, found.got), (1, None));
        let found = first_difference(&long[..1], &long, &[]).unwrap();
        assert_eq!((found.slice, found.expected), (1, None));
        let other = [slice(0, 0, 10, "c"), long[1]];
        assert_eq!(first_difference(&long, &other, &[]).unwrap().slice, 0);
    }

    #[test]
    fn only_the_same_task_on_the_same_cpu_at_the_same_time_agrees() {
        let expected = [slice(0, 0, 10, "a"), slice(0, 10, 20, "b"), slice(1, 0, 20, "c")];
        // `a` runs 3 ns longer, `b` comes later, `c` is on another CPU, and CPU 1 idles.
        let got = [slice(0, 0, 13, "a"), slice(0, 13, 18, "b"), slice(2, 0, 20, "c")];
        assert_eq!(agreement(&expected, &got), Agreement { same_ns: 15, busy_ns: 60 });
    }
}
