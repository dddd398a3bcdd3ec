//! Observers of a session: the report's measures, and at most one observer of the caller.
//!
//! The machine is generic over its observer, so each type of observer costs a copy of the event
//! loop. All sessions share this one type. An attached observer is behind a pointer and costs one
//! virtual call an event; without one the cost is a comparison.

use crate::setup::{self, NewGroup};
use schedlab_core::{Event, Observer};
use schedlab_measure::stats::key_numbers;
use schedlab_measure::{
    Extent, Fairness, GroupUsage, Refusals, Slice, SliceRecorder, Span, SpanRecorder, Stats,
};
use schedlab_workload::programs::Kernel;

/// Everything that observes a session.
#[derive(Default)]
pub struct Observers<'o> {
    /// Virtual time that passes before the observed run begins, ns. Events of that time are
    /// reported at time 0.
    pub(crate) lead_ns: u64,
    /// Measures for the report. `None`: the session has no report.
    pub(crate) measures: Option<Measures>,
    /// Observer of the caller.
    pub(crate) attached: Option<Box<dyn Observer + 'o>>,
}

impl<'o> Observers<'o> {
    /// Returns `observer` alone, without measures.
    pub fn attached(observer: impl Observer + 'o) -> Observers<'o> {
        Observers { attached: Some(Box::new(observer)), ..Observers::default() }
    }
}

impl Observer for Observers<'_> {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        let at_ns = now_ns.saturating_sub(self.lead_ns);
        if let Some(measures) = &mut self.measures {
            measures.on(at_ns, event);
        }
        if let Some(attached) = &mut self.attached {
            attached.on(at_ns, event);
        }
    }
}

/// Observers whose figures make the report.
pub(crate) struct Measures {
    pub stats: Stats,
    pub fairness: Option<Fairness>,
    pub slices: Option<SliceRecorder>,
    pub spans: Option<SpanRecorder>,
    pub group_usage: Option<GroupUsage>,
    pub refusals: Refusals,
    /// Maximum number of slices that `slices` holds.
    pub recorded_most: usize,
}

impl Measures {
    /// Measures of a benchmark: statistics and refusals.
    pub fn of_benchmark(cpus: u32) -> Measures {
        Measures {
            stats: Stats::new(cpus, &[]),
            fairness: None,
            slices: None,
            spans: None,
            group_usage: None,
            refusals: Refusals::new(),
            recorded_most: 0,
        }
    }

    /// Measures of a workload, with histograms by task. `record`: the extent to which slices are
    /// recorded, if at all.
    pub fn of_workload(
        cpus: u32,
        kernel: &Kernel,
        groups: &[NewGroup<'_>],
        fairness: impl FnOnce(usize) -> Fairness,
        record: Option<Extent>,
    ) -> Measures {
        let keys = key_numbers(kernel.threads().map(|thread| thread.key));
        Measures {
            stats: Stats::new(cpus, &keys).with_task_histograms(),
            fairness: Some(fairness(keys.len())),
            slices: record.map(SliceRecorder::within),
            spans: record.map(SpanRecorder::within),
            group_usage: usage_of(cpus, groups),
            refusals: Refusals::new(),
            recorded_most: record.map_or(0, |extent| extent.most),
        }
    }

    /// Measures of a replayed trace: tasks are grouped by `keys`, one key a thread.
    pub fn of_replay(cpus: u32, groups: &[NewGroup<'_>], keys: &[String]) -> Measures {
        let keys = key_numbers(keys.iter().map(String::as_str));
        Measures {
            stats: Stats::new(cpus, &keys),
            group_usage: usage_of(cpus, groups),
            ..Measures::of_benchmark(cpus)
        }
    }

    /// Whether a recorder ran out of room, so that the recording is incomplete.
    pub fn is_over(&self) -> bool {
        self.slices.as_ref().is_some_and(SliceRecorder::is_over)
            || self.spans.as_ref().is_some_and(SpanRecorder::is_over)
    }

    /// Returns the recorded slices and spans, if they were recorded in full.
    pub fn take_recording(&mut self) -> (Option<Vec<Slice>>, Option<Vec<Span>>) {
        let is_over = self.is_over();
        let (slices, spans) = (self.slices.take(), self.spans.take());
        (
            slices.filter(|_| !is_over).map(SliceRecorder::into_slices),
            spans.filter(|_| !is_over).map(SpanRecorder::into_spans),
        )
    }

    /// Returns a copy that is settled at `now_ns` as if the run ended then. The recording is left
    /// out.
    pub fn settled(&self, now_ns: u64) -> Measures {
        let mut copy = Measures {
            stats: self.stats.clone(),
            fairness: self.fairness.clone(),
            slices: None,
            spans: None,
            group_usage: self.group_usage.clone(),
            refusals: self.refusals.clone(),
            recorded_most: 0,
        };
        copy.on(now_ns, Event::Finished);
        copy
    }
}

impl Observer for Measures {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.stats.on(now_ns, event);
        self.fairness.on(now_ns, event);
        self.slices.on(now_ns, event);
        self.spans.on(now_ns, event);
        self.group_usage.on(now_ns, event);
        self.refusals.on(now_ns, event);
    }
}

fn usage_of(cpus: u32, groups: &[NewGroup<'_>]) -> Option<GroupUsage> {
    (!groups.is_empty()).then(|| GroupUsage::new(cpus, setup::parents(groups)))
}
