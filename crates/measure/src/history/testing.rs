//! Histories made by hand, for tests of their readers: [`play`].

use super::{History, Recorder};
use schedlab_core::{BlockReason, CpuId, Event, Observer, TaskId, Waker};
use std::collections::VecDeque;

/// Plays `turns` into `recorder`: the length of each turn, ns, and its task or, if that is not
/// runnable, the next higher runnable one. A turn goes to the CPU, of `cpus`, that is done first.
/// Every third turn ends with its task asleep. The task is woken when a CPU switches.
pub fn play(mut recorder: Recorder, cpus: u32, tasks: u32, turns: &[(u64, u32)]) -> History {
    let mut running: Vec<(u64, Option<TaskId>)> = vec![(0, None); cpus as usize];
    let mut ready = vec![true; tasks as usize];
    let mut asleep = VecDeque::new();
    for task in 0..tasks {
        recorder.on(0, Event::started(TaskId(task), CpuId(task % cpus)));
    }
    for (number, &(length_ns, wanted)) in turns.iter().enumerate() {
        let lane = (0..running.len()).min_by_key(|&lane| running[lane].0).unwrap_or(0);
        let (now_ns, prev) = running[lane];
        let cpu = CpuId(lane as u32);
        if let Some(task) = asleep.pop_front() {
            let waker = match prev {
                Some(prev) => Waker::Task { task: prev, cpu, sync: false },
                None => Waker::Interrupt { cpu },
            };
            recorder.on(now_ns, Event::woken(task, cpu, waker));
            ready[task.index()] = true;
        }
        let sleeps = prev.filter(|_| number % 3 == 0);
        if let Some(task) = sleeps {
            recorder.on(now_ns, Event::blocked(task, cpu, BlockReason::Interruptible));
            asleep.push_back(task);
        }
        let next =
            (0..tasks).map(|more| (wanted + more) % tasks).find(|&task| ready[task as usize]);
        let next = next.map(TaskId);
        if let Some(task) = next {
            ready[task.index()] = false;
        }
        if let Some(task) = prev.filter(|_| sleeps.is_none()) {
            ready[task.index()] = true;
        }
        recorder.on(now_ns, Event::switched(cpu, prev, prev.is_some() && sleeps.is_none(), next));
        running[lane] = (now_ns + length_ns, next);
    }
    let end_ns = running.iter().map(|(end_ns, _)| *end_ns).max().unwrap_or(0);
    recorder.on(end_ns, Event::Finished);
    recorder.into_history()
}
