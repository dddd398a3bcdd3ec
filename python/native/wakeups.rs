//! The wakeups of a run as a table: time, task, CPU, waker, and the time at which the task ran.

use crate::tables::{Table, known_numbers, named, numbers};
use arrow_array::Int32Array;
use pyo3::prelude::*;
use schedlab_core::{Event, Observer, TaskId, Waker};

/// A wakeup, or the start of a task.
struct Wakeup {
    at_ns: u64,
    task: u32,
    cpu: u32,
    is_new: bool,
    waker: Option<u32>,
    run_ns: Option<u64>,
}

/// Records the wakeups of a run; requires the names of tasks.
#[derive(Default)]
pub struct Wakeups {
    names: Vec<String>,
    all: Vec<Wakeup>,
    /// For each task, the index of the wakeup since which it waits.
    waits: Vec<Option<usize>>,
    /// For each task, whether it has a CPU.
    runs: Vec<bool>,
}

impl Wakeups {
    fn room_for(&mut self, task: TaskId) -> usize {
        let place = task.index();
        if self.waits.len() <= place {
            self.waits.resize(place + 1, None);
            self.runs.resize(place + 1, false);
        }
        if self.names.len() <= place {
            let from = self.names.len();
            self.names.extend((from..=place).map(|number| format!("task-{number}")));
        }
        place
    }

    fn begin(&mut self, wakeup: Wakeup) {
        let place = self.room_for(TaskId(wakeup.task));
        // A task that blocked in this very nanosecond and is still current never waits.
        if self.runs[place] {
            self.all.push(Wakeup { run_ns: Some(wakeup.at_ns), ..wakeup });
            return;
        }
        self.waits[place] = Some(self.all.len());
        self.all.push(wakeup);
    }

    /// Converts the record to a table.
    pub fn table(self) -> PyResult<Table> {
        let all = &self.all;
        let keys = |key: &dyn Fn(&Wakeup) -> Option<u32>| -> Int32Array {
            all.iter().map(|wakeup| key(wakeup).map(|key| key as i32)).collect()
        };
        let known = |value: &dyn Fn(&Wakeup) -> Option<u64>| {
            known_numbers(all.iter().map(|wakeup| value(wakeup).map(|it| it as i64)).collect())
        };
        let latency_ns = |wakeup: &Wakeup| wakeup.run_ns.map(|run_ns| run_ns - wakeup.at_ns);
        Table::new(
            "wakeups",
            vec![
                ("at_ns", numbers(all.iter().map(|wakeup| wakeup.at_ns as i64).collect())),
                ("task", numbers(all.iter().map(|wakeup| wakeup.task.into()).collect())),
                ("name", named(keys(&|wakeup| Some(wakeup.task)), &self.names)?),
                ("cpu", numbers(all.iter().map(|wakeup| wakeup.cpu.into()).collect())),
                ("is_new", numbers(all.iter().map(|wakeup| wakeup.is_new.into()).collect())),
                ("waker", known(&|wakeup| wakeup.waker.map(u64::from))),
                ("waker_name", named(keys(&|wakeup| wakeup.waker), &self.names)?),
                ("run_ns", known(&|wakeup| wakeup.run_ns)),
                ("latency_ns", known(&latency_ns)),
            ],
        )
    }
}

impl Observer for Wakeups {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Named { task, name } => {
                let place = self.room_for(task);
                self.names[place] = name.into();
            }
            Event::Started { task, cpu, .. } => self.begin(Wakeup {
                at_ns: now_ns,
                task: task.0,
                cpu: cpu.0,
                is_new: true,
                waker: None,
                run_ns: None,
            }),
            Event::Woken { task, cpu, waker, .. } => self.begin(Wakeup {
                at_ns: now_ns,
                task: task.0,
                cpu: cpu.0,
                is_new: false,
                waker: match waker {
                    Waker::Task { task, .. } => Some(task.0),
                    Waker::Interrupt { .. } | Waker::Process { .. } => None,
                },
                run_ns: None,
            }),
            Event::Switched { prev, next, .. } => {
                if let Some(prev) = prev {
                    let place = self.room_for(prev);
                    self.runs[place] = false;
                }
                if let Some(next) = next {
                    let place = self.room_for(next);
                    self.runs[place] = true;
                    if let Some(wakeup) = self.waits[place].take() {
                        self.all[wakeup].run_ns = Some(now_ns);
                    }
                }
            }
            _ => {}
        }
    }
}
