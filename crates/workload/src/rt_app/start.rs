//! The way in which initial threads begin: [`Start`].
//!
//! A forked thread is placed by the release's rules for forks, and its first slice may be half of
//! one. A load generator on a real machine creates its threads beforehand and lets them sleep, and
//! all begin by *waking*: with their earlier lag, a whole first slice, and a CPU chosen by the
//! rules for wakeups. `schedlab host` does the same, and so does [`Start::Wake`].

use crate::programs::{Instr, Kernel, Scripts};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How initial threads begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// Each is created when it begins.
    #[default]
    Fork,
    /// All are created beforehand, one after the other. Each computes for 10 us, sleeps, and begins
    /// by waking. The workload's time 0 is at [`LEAD_NS`] then.
    Wake,
}

/// Time before the workload's beginning at which threads are created, ns.
pub const LEAD_NS: u64 = 80_000_000;

/// Time between two creations, ns. It is less if there are many threads ...
const BETWEEN_NS: u64 = 50_000;

/// ... so that all are created within this time, ns.
const MAKING_NS: u64 = 40_000_000;

/// Work of each thread before it sleeps, ns.
const BEFORE_NS: u64 = 10_000;

impl Start {
    /// Returns the name in options and plans: `fork`, `wake`.
    pub fn name(self) -> &'static str {
        match self {
            Start::Fork => "fork",
            Start::Wake => "wake",
        }
    }

    /// Returns the start called `name`.
    ///
    /// # Errors
    /// If the name does not exist. The message lists the names.
    pub fn parse(name: &str) -> Result<Start, String> {
        match name {
            "fork" => Ok(Start::Fork),
            "wake" => Ok(Start::Wake),
            _ => Err(format!("there is no start `{name}`; the starts are fork and wake")),
        }
    }

    /// Returns the workload's time 0, ns.
    pub fn lead_ns(self) -> u64 {
        match self {
            Start::Fork => 0,
            Start::Wake => LEAD_NS,
        }
    }
}

impl Serialize for Start {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Start, D::Error> {
        Start::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Makes the initial threads of `scripts` exist from 0 on, and sleep until they begin. Threads of
/// the same scripts that are forked later begin after that sleep.
pub(super) fn by_waking(scripts: &mut Scripts) {
    const LEAD: u32 = 2;
    for script in scripts.scripts.iter_mut().filter(|script| script.instances > 0) {
        let begins_ns = LEAD_NS.saturating_add(script.delay_ns);
        let lead = [Instr::Work { ns: BEFORE_NS }, Instr::Until { ns: begins_ns }];
        script.code = lead.into_iter().chain(script.code.iter().copied()).collect();
        if !script.places.is_empty() {
            let places = [crate::programs::NONE; LEAD as usize];
            script.places = places.into_iter().chain(script.places.iter().copied()).collect();
        }
        for phase in &mut script.phases {
            phase.begin += LEAD;
        }
        script.again = LEAD;
    }
    scripts.first_start_ns = scripts.first_start_ns.saturating_add(LEAD_NS);
    scripts.duration_ns = scripts.duration_ns.map(|ns| ns.saturating_add(LEAD_NS));
}

/// Makes the initial threads be created one after the other.
pub(super) fn one_after_the_other(kernel: &mut Kernel) {
    let between_ns = BETWEEN_NS.min(MAKING_NS / kernel.task_count().max(1) as u64);
    let mut made = 0;
    kernel.start_at(|| {
        made += 1;
        (made - 1) * between_ns
    });
}
