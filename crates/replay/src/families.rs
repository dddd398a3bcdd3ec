//! Tasks that serve together: the threads of a process, and the tasks of a name. A request is
//! served by whichever of them is free, so that none of them alone accounts for the wakeups of a
//! client: [`Families`].

use crate::trace::{Sleep, Trace};
use schedlab_trace::tracepoint::{Context, State};
use std::collections::HashMap;

/// Processes, names and families of the tasks of a trace.
pub(crate) struct Families {
    /// Process of each task.
    process: Vec<u32>,
    /// Number of the name of each task.
    name: Vec<u32>,
    /// Family of each task: tasks that a chain of common processes and names connects.
    family: Vec<u32>,
}

impl Families {
    /// Finds the families of `trace`. A task whose process is not known belongs to the process of
    /// its parent if both have the same name, as threads do.
    pub fn of(trace: &Trace) -> Families {
        let (mut process, mut name) = (vec![], vec![]);
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let mut names: HashMap<&str, u32> = HashMap::new();
        for (at, task) in trace.tasks.iter().enumerate() {
            let parent = task.forked_by.filter(|&parent| parent < at);
            let inherited = parent.filter(|&parent| trace.tasks[parent].name == task.name);
            let count = numbers.len() as u32;
            process.push(match (task.process, inherited) {
                (None, Some(parent)) => process[parent],
                (known, _) => {
                    let key = (known.unwrap_or(task.pid), task.incarnation);
                    *numbers.entry(key).or_insert(count)
                }
            });
            let count = names.len() as u32;
            name.push(*names.entry(&task.name).or_insert(count));
        }
        let family = connected(&process, &name);
        Families { process, name, family }
    }

    /// Returns the family of a task.
    pub fn family(&self, task: u32) -> u32 {
        self.family[task as usize]
    }
}

/// Returns for each task the number of its component. Tasks with a common process or name are
/// connected.
fn connected(process: &[u32], name: &[u32]) -> Vec<u32> {
    let of_names = process.iter().max().map_or(0, |most| most + 1);
    let count = of_names + name.iter().max().map_or(0, |most| most + 1);
    let mut above: Vec<u32> = (0..count).collect();
    let top = |above: &mut Vec<u32>, mut at: u32| {
        while above[at as usize] != at {
            above[at as usize] = above[above[at as usize] as usize];
            at = above[at as usize];
        }
        at
    };
    for (&process, &name) in process.iter().zip(name) {
        let (one, other) = (top(&mut above, process), top(&mut above, of_names + name));
        above[one as usize] = other;
    }
    process.iter().map(|&process| top(&mut above, process)).collect()
}

/// Whether a sleep ended in the context of a soft interrupt and may have been a wait for another
/// task's work.
fn is_soft(sleep: &Sleep) -> bool {
    sleep.context == Context::Soft && sleep.state == State::Interruptible
}

/// Number of times that the tasks of a process or name were current when soft interrupts woke a
/// sleeper.
pub(crate) struct Servers<'a> {
    families: &'a Families,
    /// By sleeper and process of the waker, and by sleeper and name of the waker.
    of_process: HashMap<(u32, u32), u64>,
    of_name: HashMap<(u32, u32), u64>,
    /// By sleeper.
    all: HashMap<u32, u64>,
    /// By the names of sleeper and waker, and by the name of the sleeper.
    between_names: HashMap<(u32, u32), u64>,
    all_of_name: HashMap<u32, u64>,
    /// CPU time by process and by name, ns.
    process_cpu_ns: HashMap<u32, u64>,
    name_cpu_ns: HashMap<u32, u64>,
    /// Time of all CPUs, ns.
    capacity_ns: u64,
}

impl<'a> Servers<'a> {
    /// Counts the wakeups of `trace`.
    pub fn of(trace: &Trace, families: &'a Families) -> Servers<'a> {
        let mut this = Servers {
            families,
            of_process: HashMap::new(),
            of_name: HashMap::new(),
            all: HashMap::new(),
            between_names: HashMap::new(),
            all_of_name: HashMap::new(),
            process_cpu_ns: HashMap::new(),
            name_cpu_ns: HashMap::new(),
            capacity_ns: (u64::from(trace.cpus) * trace.span_ns).max(1),
        };
        for (number, task) in trace.tasks.iter().enumerate() {
            let (process, name) = (families.process[number], families.name[number]);
            *this.process_cpu_ns.entry(process).or_default() += task.cpu_ns();
            *this.name_cpu_ns.entry(name).or_default() += task.cpu_ns();
            for (_, sleep) in task.ended_sleeps().filter(|(_, sleep)| is_soft(sleep)) {
                // An idle CPU and a kernel thread count, too: where they are current, no server is.
                *this.all.entry(number as u32).or_default() += 1;
                *this.all_of_name.entry(name).or_default() += 1;
                let Some(waker) = sleep.waker.map(|waker| waker as usize) else { continue };
                let of_process = (number as u32, families.process[waker]);
                let of_name = (number as u32, families.name[waker]);
                *this.of_process.entry(of_process).or_default() += 1;
                *this.of_name.entry(of_name).or_default() += 1;
                *this.between_names.entry((name, families.name[waker])).or_default() += 1;
            }
        }
        this
    }

    /// Whether `sleeper` waits for the process of `waker`, or for the tasks of its name.
    pub fn serve(&self, sleeper: u32, waker: u32) -> bool {
        let count = |counts: &HashMap<(u32, u32), u64>, key| counts.get(&key).copied().unwrap_or(0);
        let one = |counts: &HashMap<u32, u64>, key| counts.get(&key).copied().unwrap_or(0);
        let process = self.families.process[waker as usize];
        let name = self.families.name[waker as usize];
        let all = one(&self.all, sleeper);
        let process_cpu_ns = one(&self.process_cpu_ns, process);
        let name_cpu_ns = one(&self.name_cpu_ns, name);
        let passes = |of, all, cpu_ns| serves(of, all, cpu_ns, self.capacity_ns);
        // A sleeper with few wakeups is judged with the tasks of its name.
        let own = self.families.name[sleeper as usize];
        passes(count(&self.of_process, (sleeper, process)), all, process_cpu_ns)
            || passes(count(&self.of_name, (sleeper, name)), all, name_cpu_ns)
            || count(&self.of_name, (sleeper, name)) == all
                && passes(
                    count(&self.between_names, (own, name)),
                    one(&self.all_of_name, own),
                    name_cpu_ns,
                )
    }
}

/// Whether a sleeper waited for tasks that serve together. It was woken `all` times in soft
/// context, `of_family` of them while one of these tasks was current. They had `cpu_ns` of the
/// time `capacity_ns` of all CPUs.
///
/// They have to be current in at least half of the wakeups, and three times as often as by chance.
/// Where they have much of the CPU time, so that this cannot be, others have to be current three
/// times more seldom than by chance, and chance would have shown others at least three times.
pub(crate) fn serves(of_family: u64, all: u64, cpu_ns: u64, capacity_ns: u64) -> bool {
    let capacity = u128::from(capacity_ns.max(1));
    let cpu = u128::from(cpu_ns).min(capacity);
    let (of, all) = (u128::from(of_family), u128::from(all));
    let is_often = of * capacity >= 3 * cpu * all;
    let others_are_rare = 3 * (all - of.min(all)) * capacity <= all * (capacity - cpu)
        && all * (capacity - cpu) >= 3 * capacity;
    of >= 3 && 2 * of >= all && (is_often || others_are_rare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_serve_together_are_judged_together() {
        // Half of the wakeups, by tasks that have a twentieth of the CPUs.
        assert!(serves(50, 100, 5, 100) && !serves(49, 100, 5, 100));
        assert!(serves(60, 100, 20, 100) && !serves(59, 100, 20, 100));
        // By tasks that have four fifths: others are current in 6 of 100, not in 7.
        assert!(serves(94, 100, 80, 100) && !serves(93, 100, 80, 100));
        // Five wakeups of five may be chance then.
        assert!(!serves(5, 5, 80, 100) && serves(15, 15, 80, 100));
        assert!(!serves(2, 2, 1, 100));
        assert!(!serves(1000, 1000, 100, 100));
    }

    #[test]
    fn a_common_process_or_name_connects() {
        // Processes 0, 0, 1, 2, 2 with the names a, b, b, c, d.
        let family = connected(&[0, 0, 1, 2, 2], &[0, 1, 1, 2, 3]);
        assert_eq!(family[0], family[2]);
        assert_eq!(family[3], family[4]);
        assert_ne!(family[0], family[3]);
    }
}
