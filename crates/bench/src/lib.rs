//! The benchmarks by which schedulers were judged, as programs for the simulated machine.
//!
//! A [`Benchmark`] says which [`Parameter`]s it takes, under the names that the real program has, and makes of their [`Values`] an
//! [`Os`](schedlab_workload::os::Os) with its tasks in it. What the run found it tells as [`Findings`]: the text that the real
//! program prints, and figures. It knows nothing of schedulers; who runs it chooses one.
//!
//! One file a benchmark; [`ALL`] lists them.

pub mod benchmark;
pub mod hackbench;
pub mod parameter;

pub use benchmark::{Benchmark, Better, Conditions, End, Figure, Findings, Prepared};
pub use parameter::{BadValue, Kind, Parameter, Value, Values};

/// All benchmarks, in the order in which they are listed.
pub const ALL: &[&dyn Benchmark] = &[&hackbench::Hackbench];

/// The benchmark called `name`.
pub fn find(name: &str) -> Option<&'static dyn Benchmark> {
    ALL.iter().copied().find(|benchmark| benchmark.name() == name)
}
