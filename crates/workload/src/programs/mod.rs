//! The kernel of programs: one set of tasks, mutexes, semaphores, pipes and timers for every kind
//! of workload.
//!
//! A program returns one [`Step`] after another, much as a process issues system calls: run, write
//! to a socket, wait for a child. [`Kernel`] holds the objects that programs share and is the
//! [`Workload`](schedlab_machine::Workload) of the machine. There are two kinds of programs, and
//! both can run side by side:
//!
//! * [`Program`]: code, as in benchmarks. Any closure is a program.
//! * [`Script`]: plain data, a list of instructions in phases and rounds. Files in rt-app's
//!   language are compiled to [`Scripts`]. Any other reader can produce them as well.
//!
//! # When a step takes effect
//!
//! A write, a post or a fork spends its CPU cost first and then takes effect, all at one instant. A
//! read or a wait takes effect (or blocks) at once and spends its cost after it has succeeded. The
//! cost of a message thus always lies on the message's path. A step that blocks is tried again when
//! the task has been woken and runs. No cost is paid twice. `calls.rs` lists the costs of calls.
//! Creating a channel or a lock, exit, and waiting for a child are free.
//!
//! # Plain data
//!
//! ```
//! use schedlab_machine::Workload;
//! use schedlab_workload::programs::{Instr, Kernel, Script, ScriptOptions, Scripts};
//!
//! // One task that runs for 2 ms and sleeps for 8 ms, once.
//! let script = Script {
//!     name: "recorded".into(),
//!     instances: 1,
//!     ..Script::straight([Instr::Run { ns: 2_000_000 }, Instr::Sleep { ns: 8_000_000 }])
//! };
//! let scripts = Scripts { scripts: vec![script], ..Scripts::default() };
//! let mut kernel = Kernel::with_scripts(scripts, ScriptOptions::default());
//! assert_eq!(kernel.initial_tasks().len(), 1);
//! ```

mod barrier;
mod blocked;
mod burst;
mod calls;
mod channel;
mod device;
mod effect;
mod execute;
mod kernel;
mod limits;
mod locking;
mod mutex;
#[cfg(test)]
mod mutex_tests;
mod objects;
mod part;
mod parts;
mod profile;
mod random;
mod requests;
#[cfg(test)]
mod requests_tests;
mod script;
mod semaphore;
mod step;
mod task;
#[cfg(test)]
mod tests;
mod timer;
mod wait_graph;
mod wait_queue;
mod workload;

pub use barrier::BarrierId;
pub use channel::{Capacity, ChannelId, Wakes};
pub use device::{CHUNK_KIB, CacheId, DiskId, LogId};
pub use kernel::Kernel;
pub use limits::{
    EVENTS_AT_ONE_INSTANT, EVENTS_AT_ONE_INSTANT_EACH, EVENTS_AT_ONE_INSTANT_TOGETHER, THREADS_MAX,
};
pub use mutex::{MutexId, MutexKind};
pub use objects::Objects;
pub use part::{Part, PartId};
pub use profile::Profile;
pub use random::Random;
pub use requests::{Request, Requests};
pub use script::{
    AddressSpaces, BarrierInfo, Conventions, Instr, Log, LogLine, NONE, PhaseCode, RequestFilter,
    Script, ScriptOptions, Scripts, ThreadInfo,
};
pub use semaphore::{SemaphoreId, SemaphoreKind};
pub use step::{Context, Program, Spawn, Step};
pub use timer::TimerId;
pub use wait_graph::{Deadlock, WaitingThread, WaitsFor};
pub use wait_queue::{ConditionId, LatchId, SuspensionId};
