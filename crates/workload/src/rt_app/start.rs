//! How the threads with which a run begins begin: [`Start`].
//!
//! Who is forked is placed by the release's rules for forks, and its first slice may be half of
//! one. A load generator on a real machine makes its threads before, lets them sleep, and all begin
//! by *waking*: with what lag they have from before, a whole first slice, and a CPU chosen by the
//! rules for wakeups. So does `schedlab host`, and so does [`Start::Wake`].

use crate::programs::{Instr, Kernel, Scripts};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How the threads with which a run begins begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// Each comes into being when it begins.
    #[default]
    Fork,
    /// All are made before, one after the other; each computes for 10 us, sleeps, and begins by
    /// waking. The workload's time 0 is at [`LEAD_NS`] then.
    Wake,
}

/// So long before the workload begins its threads are made, ns.
pub const LEAD_NS: u64 = 80_000_000;

/// Between two that are made, ns; less where there are many ...
const BETWEEN_NS: u64 = 50_000;

/// ... so that all are made within this, ns.
const MAKING_NS: u64 = 40_000_000;

/// What each does before it sleeps, ns.
const BEFORE_NS: u64 = 10_000;

impl Start {
    /// As options and plans have it: `fork`, `wake`.
    pub fn name(self) -> &'static str {
        match self {
            Start::Fork => "fork",
            Start::Wake => "wake",
        }
    }

    /// That of a name.
    ///
    /// # Errors
    /// There is none of that name; says which there are.
    pub fn parse(name: &str) -> Result<Start, String> {
        match name {
            "fork" => Ok(Start::Fork),
            "wake" => Ok(Start::Wake),
            _ => Err(format!("there is no start `{name}`; there are fork and wake")),
        }
    }

    /// When the workload's time 0 is, ns.
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

/// Lets the threads of `scripts` with which the run begins be there from 0 on, and sleep until they
/// are to begin. Threads of the same scripts that are forked later begin behind that.
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

/// Lets the threads with which the run begins be made one after the other.
pub(super) fn one_after_the_other(kernel: &mut Kernel) {
    let between_ns = BETWEEN_NS.min(MAKING_NS / kernel.task_count().max(1) as u64);
    let mut made = 0;
    kernel.start_at(|| {
        made += 1;
        (made - 1) * between_ns
    });
}
