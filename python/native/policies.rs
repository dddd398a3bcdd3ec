//! Policies written in Python, loaded as schedulers that a plan can name: [`Policies`].

use crate::errors;
use crate::failure::{Failure, LastFailure};
use crate::policy::PyScheduler;
use crate::threads::threads;
use pyo3::prelude::*;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};
use schedlab_lab::Error;
use schedlab_lab::select::Choice;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// Attribute values by which a policy may list the kernel's scheduling policies.
const POLICY_NAMES: [(&str, Policy); 7] = [
    ("other", Policy::Other),
    ("batch", Policy::Batch),
    ("idle", Policy::Idle),
    ("fifo", Policy::Fifo),
    ("rr", Policy::RoundRobin),
    ("deadline", Policy::Deadline),
    ("iso", Policy::Iso),
];

/// Every subset of the scheduling policies, made when it is first needed. A release refers to its
/// policies for as long as the program runs; the number of subsets is bounded.
static SUBSETS: [OnceLock<Vec<Policy>>; 1 << POLICY_NAMES.len()] =
    [const { OnceLock::new() }; 1 << POLICY_NAMES.len()];

/// Returns the scheduling policies with these names; other names are ignored.
fn policies_called(names: &[String]) -> &'static [Policy] {
    let is_listed = |name: &str| names.iter().any(|other| other == name);
    let bits = POLICY_NAMES.iter().zip(0..);
    let subset: usize = bits.map(|((name, _), bit)| usize::from(is_listed(name)) << bit).sum();
    SUBSETS[subset].get_or_init(|| {
        let listed = POLICY_NAMES.iter().filter(|(name, _)| is_listed(name));
        listed.map(|(_, policy)| *policy).collect()
    })
}

/// Returns the scheduler that `class` describes. What its instances raise goes to `failure`.
fn load(class: &Bound<'_, PyAny>, failure: LastFailure) -> PyResult<Choice> {
    let text = |name: &str| class.getattr(name)?.extract::<String>();
    let cpus_max: u32 = class.getattr("cpus_max")?.extract()?;
    let affinity: bool = class.getattr("affinity")?.extract()?;
    let listed: Vec<String> = class.getattr("policies")?.extract()?;
    let loaded = class.clone().unbind();
    let entry = Entry {
        name: text("name")?.into(),
        title: text("title")?.into(),
        summary: text("summary")?.into(),
        origin: Origin::Own,
        releases: &[],
    };
    let release = Release {
        version: "py",
        also: &[],
        summary: "a policy in Python",
        golden: &[],
        hz_default: class.getattr("hz")?.extract()?,
        hz_range: (100, 10_000),
        cpus_max: cpus_max.clamp(1, CPUS_MAX),
        policies: policies_called(&listed),
        can: Capabilities { affinity, ..Capabilities::BASIC },
        kernel: Some("6.18"),
        build: Build::Loaded(Arc::new(move |config| {
            let made = Python::attach(|py| PyScheduler::new(loaded.bind(py), &failure, config));
            match made {
                Ok(scheduler) => Ok(Box::new(scheduler)),
                Err(raised) => failure.unwind(raised),
            }
        })),
    };
    Ok(Choice::loaded(entry, release))
}

/// A policy that a plan may name, and the place of its last failure.
struct Loaded {
    choice: Choice,
    failure: LastFailure,
}

/// The policies that a plan may name.
#[derive(Default)]
pub struct Policies {
    all: Vec<Loaded>,
}

impl Policies {
    /// Loads classes of Python.
    ///
    /// # Errors
    /// A class lacks an attribute, or an attribute is of another type.
    pub fn load(py: Python<'_>, classes: Vec<Py<PyAny>>) -> PyResult<Policies> {
        let one = |class: Py<PyAny>| {
            let failure = LastFailure::default();
            let choice = load(class.bind(py), failure.clone())?;
            Ok(Loaded { choice, failure })
        };
        Ok(Policies { all: classes.into_iter().map(one).collect::<PyResult<_>>()? })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the number of threads that work with them: the calling one alone if there are any,
    /// as they call back into Python; otherwise the number asked for.
    pub fn threads(&self, asked: Option<usize>) -> NonZeroUsize {
        if self.is_empty() { threads(asked) } else { NonZeroUsize::MIN }
    }

    /// Returns the policies as the engine knows them.
    pub fn choices(&self) -> Vec<Choice> {
        self.all.iter().map(|one| one.choice.clone()).collect()
    }

    /// Takes the exception that a policy raised, if one did: as it is if it is a signal's
    /// (`KeyboardInterrupt`), otherwise as the cause of a `PolicyError`.
    pub fn raised(&self, py: Python<'_>) -> Option<PyErr> {
        let (choice, failure) =
            self.all.iter().find_map(|one| Some((&one.choice, one.failure.take()?)))?;
        Some(match failure.is_signal(py) {
            true => failure.error,
            false => errors::policy(py, &choice.entry.name, failure),
        })
    }

    /// Takes what a signal's handler raised while a policy ran, if it did.
    pub fn signal(&self, py: Python<'_>) -> Option<PyErr> {
        let mut failures = self.all.iter().filter_map(|one| one.failure.take());
        failures.find(|failure: &Failure| failure.is_signal(py)).map(|failure| failure.error)
    }

    /// Whether a signal's handler raised an exception while a policy ran; it is kept.
    pub fn is_interrupted(&self) -> bool {
        self.all.iter().any(|one| one.failure.is_signal())
    }

    /// Returns the error of a plan that names them: `broken` is the message of a scheduler that
    /// could not be built.
    pub fn broken(&self, py: Python<'_>, broken: &str) -> PyErr {
        self.raised(py).unwrap_or_else(|| errors::run(py, broken))
    }

    /// Returns the error of a run under `scheduler`.
    pub fn error(&self, py: Python<'_>, scheduler: &str, error: &Error) -> PyErr {
        if let Error::Broken(_) = error
            && let Some(raised) = self.raised(py)
        {
            return raised;
        }
        errors::engine(py, Some(scheduler), error)
    }
}
