//! The benchmarks by which schedulers were judged, as programs for the simulated machine.
//!
//! A [`Benchmark`] says which [`Parameter`]s it takes, under the names that the real program has,
//! and makes of their [`Values`] tasks in a [`Kernel`](schedlab_workload::programs::Kernel). It
//! reports what the run found as [`Findings`]: the text that the real program prints, and figures.
//! It knows nothing of schedulers; who runs it chooses one.
//!
//! One file a benchmark; [`ALL`] lists them. Several can run side by side: [`combined`].

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
    Benchmark, Better, Chosen, Conditions, End, Figure, Findings, Prepared, Row, Table,
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

/// The benchmark called `name`.
pub fn find(name: &str) -> Option<&'static dyn Benchmark> {
    ALL.iter().copied().find(|benchmark| benchmark.name() == name)
}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
