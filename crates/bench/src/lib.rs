//! Benchmarks that were used to judge schedulers, as programs for the simulated machine.
//!
//! A [`Benchmark`] declares its [`Parameter`]s, under the names of the real program, and turns
//! their [`Values`] into tasks in a [`Kernel`](schedlab_workload::programs::Kernel). It reports the
//! results of the run as [`Findings`]: the output of the real program, and figures. It does not
//! depend on the scheduler, which the caller chooses.
//!
//! Each benchmark has its own file, and [`ALL`] lists all benchmarks. The module [`combined`] runs
//! several at the same time.

pub mod benchmark;
pub mod chat;
pub mod chew;
pub mod combined;
pub mod compile;
pub mod cyclictest;
pub mod fiftyp;
pub mod game;
pub mod hackbench;
pub mod interbench;
pub mod irman2;
pub mod lat_ctx;
pub mod latt;
pub mod li_cf;
pub mod massive_intr;
pub mod noise;
pub mod oltp;
pub mod parameter;
mod programs;
pub mod ring_test;
pub mod schbench;
pub mod small_loads;
pub mod test_starve;
pub mod thud;
mod units;
pub mod yield_loops;

pub use benchmark::{
    AnyBenchmark, Benchmark, Better, Conditions, End, Figure, Findings, Prepared, Row, Table,
};
pub use parameter::{BadValue, Kind, Parameter, Value, Values};

/// All benchmarks, in the order in which they are listed.
pub const ALL: &[&dyn Benchmark] = &[
    &hackbench::Hackbench,
    &lat_ctx::LatCtx,
    &latt::Latt,
    &schbench::Schbench,
    &cyclictest::Cyclictest,
    &massive_intr::MassiveIntr,
    &fiftyp::Fiftyp,
    &thud::Thud,
    &irman2::Irman2,
    &test_starve::TestStarve,
    &chew::Chew,
    &ring_test::RingTest,
    &yield_loops::YieldLoops,
    &chat::Chat,
    &interbench::Interbench,
    &oltp::Oltp,
    &game::Game,
    &compile::Compile,
    &li_cf::Li,
    &li_cf::Cf,
    &small_loads::Editor,
    &small_loads::PeriodicMix,
    &small_loads::NiceLadder,
    &small_loads::ForkStorm,
];

/// Returns the benchmark called `name`.
pub fn find(name: &str) -> Option<&'static dyn Benchmark> {
    ALL.iter().copied().find(|benchmark| benchmark.name() == name)
}

/// Example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
