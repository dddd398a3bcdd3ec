//! Policies of Python as schedulers of the registry's kind.
//!
//! The engine knows a scheduler by a static [`Entry`], whose release has a function that makes one
//! and is told nothing but the machine. A class of Python comes and goes. So there is a number of
//! slots, each with a function of its own, and a policy is put in one of them for so long as a plan
//! or a result needs it. Entries are kept for ever, once for each slot and description.

use crate::errors;
use crate::policy::{Failure, PyScheduler};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{
    Build, BuildConfig, Capabilities, Entry, Origin, Policy, Release, RuleDoc, Scheduler,
};
use schedlab_lab::{Error, parallel};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;

/// So many policies can be in use at a time.
const SLOTS: usize = 64;

/// What is in a slot.
struct Slot {
    class: Mutex<Option<Py<PyAny>>>,
    /// What the policy raised last, and when.
    failure: Mutex<Option<Failure>>,
}

static ALL: [Slot; SLOTS] =
    [const { Slot { class: Mutex::new(None), failure: Mutex::new(None) } }; SLOTS];

/// The entries that were made, by slot and description.
static ENTRIES: Mutex<BTreeMap<(usize, Description), &'static Entry>> = Mutex::new(BTreeMap::new());

/// Texts that the engine wants for ever.
static TEXTS: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());

/// What the engine is told of a policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Description {
    name: String,
    title: String,
    summary: String,
    hz: u32,
    cpus_max: u32,
    affinity: bool,
    policies: Vec<String>,
}

/// `text`, kept for ever, once.
pub fn keep(text: &str) -> &'static str {
    let mut texts = TEXTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match texts.get(text) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = Box::leak(text.to_string().into_boxed_str());
            texts.insert(text.into(), kept);
            kept
        }
    }
}

/// Rules that the engine wants for ever.
static RULES: Mutex<Vec<&'static RuleDoc>> = Mutex::new(Vec::new());

/// `rule`, kept for ever, once.
pub fn keep_rule(rule: RuleDoc) -> &'static RuleDoc {
    let mut rules = RULES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(kept) = rules.iter().find(|kept| ***kept == rule) {
        return kept;
    }
    let kept: &'static RuleDoc = Box::leak(Box::new(rule));
    rules.push(kept);
    kept
}

/// The function of slot `N`.
fn build<const N: usize>(config: &BuildConfig) -> Box<dyn Scheduler> {
    let made = Python::attach(|py| {
        let class = ALL[N]
            .class
            .lock()
            .ok()
            .and_then(|class| class.as_ref().map(|class| class.clone_ref(py)));
        PyScheduler::new(py, N, class, config)
    });
    match made {
        Ok(scheduler) => Box::new(scheduler),
        Err(failure) => failure.unwind(N),
    }
}

type Make = fn(&BuildConfig) -> Box<dyn Scheduler>;

macro_rules! builders {
    ($($number:literal)*) => { [$(build::<$number>),*] };
}

static BUILDERS: [Make; SLOTS] = builders![
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
];

/// Puts down what a policy raised.
pub fn failed(slot: usize, failure: Failure) {
    if let Ok(mut place) = ALL[slot].failure.lock() {
        *place = Some(failure);
    }
}

fn describe(class: &Bound<'_, PyAny>) -> PyResult<Description> {
    Ok(Description {
        name: class.getattr("name")?.extract()?,
        title: class.getattr("title")?.extract()?,
        summary: class.getattr("summary")?.extract()?,
        hz: class.getattr("hz")?.extract()?,
        cpus_max: class.getattr("cpus_max")?.extract()?,
        affinity: class.getattr("affinity")?.extract()?,
        policies: class.getattr("policies")?.extract()?,
    })
}

/// The number of a policy by the name that it has in Python.
pub fn policy_called(name: &str) -> Option<Policy> {
    Some(match name {
        "other" => Policy::Other,
        "batch" => Policy::Batch,
        "idle" => Policy::Idle,
        "fifo" => Policy::Fifo,
        "rr" => Policy::RoundRobin,
        "deadline" => Policy::Deadline,
        _ => return None,
    })
}

fn entry(slot: usize, description: &Description) -> &'static Entry {
    let mut entries = ENTRIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (slot, description.clone());
    if let Some(entry) = entries.get(&key) {
        return entry;
    }
    let policies: Vec<Policy> =
        description.policies.iter().filter_map(|name| policy_called(name)).collect();
    let release = Release {
        version: "py",
        also: &[],
        summary: keep(&description.summary),
        golden: &[],
        hz_default: description.hz,
        hz_range: (100, 10_000),
        cpus_max: description.cpus_max.clamp(1, CPUS_MAX),
        policies: Box::leak(policies.into_boxed_slice()),
        can: Capabilities { affinity: description.affinity, ..Capabilities::BASIC },
        kernel: Some("6.18"),
        build: Build::Ordinary(BUILDERS[slot]),
    };
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        name: description.name.clone().into(),
        title: description.title.clone().into(),
        summary: description.summary.clone().into(),
        origin: Origin::Own,
        releases: Box::leak(Box::new([release])),
    }));
    entries.insert(key, entry);
    entry
}

/// What was put down last in a slot.
fn taken(slot: usize) -> Option<Failure> {
    ALL[slot].failure.lock().ok()?.take()
}

/// Whether it is no error of the policy's, but was raised to end the program.
fn is_signal(py: Python<'_>, failure: &Failure) -> bool {
    !failure.error.is_instance_of::<PyException>(py)
}

/// Policies in their slots; they leave them when this is dropped.
#[derive(Default)]
pub struct Held {
    all: Vec<(usize, &'static Entry)>,
}

/// Puts a policy in a slot that is free.
fn put(class: &mut Option<Py<PyAny>>) -> Option<usize> {
    (0..SLOTS).find(|&slot| {
        let Ok(mut place) = ALL[slot].class.lock() else { return false };
        if place.is_none() {
            *place = class.take();
            return true;
        }
        false
    })
}

/// Puts policies in slots.
///
/// # Errors
/// There is none free.
pub fn hold(py: Python<'_>, policies: Vec<Py<PyAny>>) -> PyResult<Held> {
    let mut held = Held::default();
    for class in policies {
        let description = describe(class.bind(py))?;
        let mut class = Some(class);
        let mut free = put(&mut class);
        if free.is_none() {
            // Results that nobody holds but they each other are gone when they are collected.
            py.import("gc")?.call_method0("collect")?;
            free = put(&mut class);
        }
        let Some(slot) = free else {
            let message = format!(
                "{SLOTS} policies are in use; results that were made with others must be let go"
            );
            return Err(errors::run(py, message));
        };
        held.all.push((slot, entry(slot, &description)));
    }
    Ok(held)
}

impl Drop for Held {
    fn drop(&mut self) {
        for (slot, _) in &self.all {
            let slot = &ALL[*slot];
            let class = slot.class.lock().ok().and_then(|mut class| class.take());
            let failure = slot.failure.lock().ok().and_then(|mut failure| failure.take());
            drop((class, failure));
        }
    }
}

/// So many threads; none: as many as there are cores.
pub fn threads(asked: Option<usize>) -> NonZeroUsize {
    asked.and_then(NonZeroUsize::new).unwrap_or_else(parallel::cores)
}

impl Held {
    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        !self.all.is_empty()
    }

    /// On so many threads work with them is done: on the calling one if there are any, as they call
    /// back into Python; else on so many as are asked for; none: on all cores.
    pub fn threads(&self, asked: Option<usize>) -> NonZeroUsize {
        if self.are_there() { NonZeroUsize::MIN } else { threads(asked) }
    }

    /// As the engine knows them.
    pub fn entries(&self) -> Vec<&'static Entry> {
        self.all.iter().map(|(_, entry)| *entry).collect()
    }

    /// What a policy raised, if one did: as it is if it is a signal's (`KeyboardInterrupt`).
    pub fn raised(&self, py: Python<'_>) -> Option<PyErr> {
        let (entry, failure) =
            self.all.iter().find_map(|(slot, entry)| Some((entry, taken(*slot)?)))?;
        Some(match is_signal(py, &failure) {
            true => failure.error,
            false => errors::policy(py, &entry.name, failure),
        })
    }

    /// What a signal's handler raised while a policy ran, if it did.
    pub fn signal(&self, py: Python<'_>) -> Option<PyErr> {
        let mut failures = self.all.iter().filter_map(|(slot, _)| taken(*slot));
        failures.find(|failure| is_signal(py, failure)).map(|failure| failure.error)
    }

    /// Whether a signal's handler raised something while a policy ran; it stays where it is.
    pub fn is_interrupted(&self) -> bool {
        self.all.iter().any(|(slot, _)| {
            let Ok(failure) = ALL[*slot].failure.lock() else { return false };
            let is_signals = |failure: &Failure| Python::attach(|py| is_signal(py, failure));
            failure.as_ref().is_some_and(is_signals)
        })
    }

    /// What went wrong with a plan that names them: `broken` is the message of a scheduler that
    /// could not be built.
    pub fn broken(&self, py: Python<'_>, broken: &str) -> PyErr {
        self.raised(py).unwrap_or_else(|| errors::run(py, broken))
    }

    /// What went wrong with a run under `who`.
    pub fn error(&self, py: Python<'_>, who: &str, error: &Error) -> PyErr {
        if let Error::Broken(_) = error
            && let Some(raised) = self.raised(py)
        {
            return raised;
        }
        errors::engine(py, Some(who), error)
    }
}
