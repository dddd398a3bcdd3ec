//! The laboratory for Linux process schedulers, as a library.
//!
//! It answers one question: what would this workload have done under that scheduler? A [`Plan`]
//! names a workload, schedulers and a machine. A prepared plan makes a [`Session`] for each
//! scheduler, which runs to its end and returns a [`Run`] with a report.
//!
//! ```
//! use schedlab::{Load, Plan, Source};
//!
//! let text = r#"{"tasks": {
//!     "hog": {"instance": 2, "loop": 100, "run": 10000},
//!     "editor": {"loop": 50, "run": 500, "sleep": 20000}
//! }}"#;
//! let load = Load::Workload(Source { file: "desktop.json".into(), text: text.into() });
//! let plan = Plan::new(load, vec!["cfs@2.6.32".into(), "eevdf@6.18".into()]);
//! let prepared = plan.prepare()?;
//! for scheduler in prepared.schedulers() {
//!     let run = prepared.session(scheduler)?.finish()?;
//!     let editor = &run.report.tasks[2];
//!     println!("{scheduler}: the editor waits {} ns at most", editor.wait_max_ns);
//!     assert_eq!(editor.cpu_ns, 25_000_000);
//! }
//! # Ok::<(), schedlab::Error>(())
//! ```
//!
//! A session can also advance step by step, and an [`Observer`] sees every [`Event`] of it.
//!
//! A scheduler of your own implements [`scheduler::Scheduler`] and runs like the built-in ones:
//!
//! ```
//! use schedlab::scheduler::*;
//! use schedlab::{Load, Plan, Source};
//! use std::borrow::Cow;
//! use std::collections::VecDeque;
//!
//! /// First come, first served, on one CPU.
//! #[derive(Default)]
//! struct Fcfs {
//!     queue: VecDeque<TaskId>,
//!     current: Option<TaskId>,
//! }
//!
//! impl Scheduler for Fcfs {
//!     fn fork(&mut self, platform: &mut Platform, task: TaskId, _: &TaskAttr, _: Parent) {
//!         self.queue.push_back(task);
//!         platform.resched(CpuId(0));
//!     }
//!     fn wake(&mut self, platform: &mut Platform, task: TaskId, _: Waker) {
//!         self.queue.push_back(task);
//!         platform.resched(CpuId(0));
//!     }
//!     fn block(&mut self, _: &mut Platform, _: CpuId, _: TaskId, _: BlockReason) {
//!         self.current = None;
//!     }
//!     fn kill(&mut self, _: &mut Platform, task: TaskId) {
//!         self.queue.retain(|&other| other != task);
//!     }
//!     fn schedule(&mut self, _: &mut Platform, _: CpuId) -> Option<TaskId> {
//!         self.current = self.current.or_else(|| self.queue.pop_front());
//!         self.current
//!     }
//!     fn cpu_of(&self, _: TaskId) -> CpuId {
//!         CpuId(0)
//!     }
//! }
//! impl Inspect for Fcfs {}
//!
//! static ENTRY: Entry = Entry {
//!     name: Cow::Borrowed("mine"),
//!     title: Cow::Borrowed("First come, first served"),
//!     summary: Cow::Borrowed("one queue, no preemption"),
//!     origin: Origin::Own,
//!     releases: &[Release {
//!         version: "1",
//!         also: &[],
//!         summary: "",
//!         golden: &[],
//!         hz_default: 1000,
//!         hz_range: (100, 1000),
//!         cpus_max: 1,
//!         policies: &[Policy::Other],
//!         can: Capabilities::BASIC,
//!         kernel: None,
//!         build: Build::Ordinary(|_| Box::new(Fcfs::default())),
//!     }],
//! };
//!
//! let text = r#"{"tasks": {"a": {"loop": 1, "run": 3000}, "b": {"loop": 1, "run": 5000}}}"#;
//! let load = Load::Workload(Source { file: "two.json".into(), text: text.into() });
//! let plan = Plan::new(load, vec!["mine".into(), "cfs".into()]);
//! let prepared = plan.prepare_with(&[Choice::of(&ENTRY, &ENTRY.releases[0])])?;
//! let run = prepared.session(&prepared.schedulers()[0])?.finish()?;
//! assert_eq!(run.report.tasks[1].wait_ns, 3_000_000);
//! # Ok::<(), schedlab::Error>(())
//! ```
//!
//! The crates `schedlab-*` are internal: their interfaces change without notice.

pub use schedlab_core::{Event, Observer};
pub use schedlab_lab::plan::{
    Contender, Load, MachineSource, MachineSpec, Plan, Prepared, Source, Timetable,
};
pub use schedlab_lab::run::Run;
pub use schedlab_lab::session::{Session, Shared, Snapshot};
pub use schedlab_lab::{Error, RunConfig};

/// Schedulers: the traits that a scheduler implements, its vocabulary, and the built-in ones.
pub mod scheduler {
    pub use schedlab_core::*;
    pub use schedlab_lab::select::{Choice, all, find};
    pub use schedlab_sched::registry;
}

/// Reports: the data of runs, and their forms as text, JSON, CSV, SVG and HTML.
pub mod report {
    pub use schedlab_report::*;
}

/// Measures: observers that compute figures from events, and the catalogue of all metrics.
pub mod measure {
    pub use schedlab_measure::*;
}

/// Workloads: models of tasks, task groups and timetables, and the readers of their files.
pub mod workload {
    pub use schedlab_workload::*;
}

/// Machines: topologies, cost models, and the presets.
pub mod machine {
    pub use schedlab_machine::{costs, description};
}

/// Proof: golden schedules, invariants and random worlds.
pub mod proof {
    pub use schedlab_proof::*;
}

/// Why a scheduler decided as it did.
pub mod explain {
    pub use schedlab_lab::explain::*;
}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
