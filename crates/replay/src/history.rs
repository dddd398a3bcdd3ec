//! Compact storage of the activity of a task: [`History`]. A trace of ten million events has about
//! five million bursts, each with a sleep, slices and actions. Each of these is therefore a row of
//! 16 or 32 bytes, which [`Task`](crate::trace::Task) returns as [`Burst`], [`Sleep`], [`Slice`]
//! and [`Act`].

use crate::burst::{Act, ActKind, Burst, Sleep, SleepKind, Slice};
use schedlab_trace::tracepoint::{Context, State};
use std::ops::Range;

/// Number that stands for no task.
const NO_TASK: u32 = u32::MAX;

/// Burst and the sleep that follows it. They share their ends: a sleep begins where its burst ends,
/// and ends where the next burst begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BurstRow {
    wake_ns: u64,
    end_ns: u64,
    /// End of its slices, which begin where the slices of the row before end. The same holds for
    /// its actions.
    slices_end: u32,
    acts_end: u32,
    /// Task that ended the sleep, or [`NO_TASK`].
    waker: u32,
    /// CPU on which the sleep was ended.
    cpu: u16,
    /// State at the end of the burst. `None`: it has not ended.
    state: Option<State>,
    marks: Marks,
}

const _: () = assert!(size_of::<BurstRow>() == 32);

/// Flags: whether the beginning of the burst was seen, and context and kind of the sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Marks(u8);

impl Marks {
    const CONTEXTS: [Context; 4] = [Context::Task, Context::Soft, Context::Hard, Context::Unknown];
    const KINDS: [SleepKind; 4] =
        [SleepKind::Edge, SleepKind::Relative, SleepKind::Absolute, SleepKind::End];

    fn new(is_woken: bool, context: Context, kind: SleepKind) -> Marks {
        Marks(u8::from(is_woken) | (context as u8) << 1 | (kind as u8) << 3)
    }

    fn is_woken(self) -> bool {
        self.0 & 1 != 0
    }

    fn context(self) -> Context {
        Marks::CONTEXTS[usize::from(self.0 >> 1 & 3)]
    }

    fn kind(self) -> SleepKind {
        Marks::KINDS[usize::from(self.0 >> 3 & 3)]
    }
}

/// Slice: beginning, and length (48 bits: 78 hours) with the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PackedSlice {
    from_ns: u64,
    length_and_cpu: u64,
}

impl PackedSlice {
    const LENGTH_MAX: u64 = (1 << 48) - 1;

    fn of(slice: Slice) -> PackedSlice {
        let length_ns = (slice.to_ns - slice.from_ns).min(PackedSlice::LENGTH_MAX);
        let cpu = u64::from(slice.cpu.min(u32::from(u16::MAX)));
        PackedSlice { from_ns: slice.from_ns, length_and_cpu: length_ns << 16 | cpu }
    }

    fn length_ns(self) -> u64 {
        self.length_and_cpu >> 16
    }

    fn slice(self) -> Slice {
        let cpu = (self.length_and_cpu & 0xffff) as u32;
        Slice { cpu, from_ns: self.from_ns, to_ns: self.from_ns + self.length_ns() }
    }
}

/// Action: its point in the burst with its kind, and the tasks or tokens that it refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PackedAct {
    offset_and_sort: u64,
    first: u32,
    second: u32,
}

impl PackedAct {
    const OFFSET_MAX: u64 = (1 << 56) - 1;

    fn of(act: Act) -> PackedAct {
        let (sort, first, second) = match act.what {
            ActKind::Wake { task, sleep } => (0, task, sleep),
            ActKind::Fork { task } => (1, task, 0),
            ActKind::Post { token } => (2, token, 0),
            ActKind::Wait { token } => (3, token, 0),
            ActKind::Prio { prio } => (4, prio as u32, 0),
            ActKind::Exec => (5, 0, 0),
        };
        let offset_ns = act.offset_ns.min(PackedAct::OFFSET_MAX);
        PackedAct { offset_and_sort: offset_ns << 8 | sort, first, second }
    }

    fn act(self) -> Act {
        let PackedAct { offset_and_sort, first, second } = self;
        let what = match offset_and_sort & 0xff {
            0 => ActKind::Wake { task: first, sleep: second },
            1 => ActKind::Fork { task: first },
            2 => ActKind::Post { token: first },
            3 => ActKind::Wait { token: first },
            4 => ActKind::Prio { prio: first as i32 },
            _ => ActKind::Exec,
        };
        Act { offset_ns: offset_and_sort >> 8, what }
    }
}

/// Bursts, sleeps, slices and actions of a task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct History {
    rows: Vec<BurstRow>,
    slices: Vec<PackedSlice>,
    acts: Vec<PackedAct>,
}

impl History {
    /// Returns the number of bursts.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Opens a burst.
    pub fn open(&mut self, wake_ns: u64, is_woken: bool) {
        self.rows.push(BurstRow {
            wake_ns,
            end_ns: wake_ns,
            slices_end: self.slices.len() as u32,
            acts_end: self.acts.len() as u32,
            waker: NO_TASK,
            cpu: 0,
            state: None,
            marks: Marks::new(is_woken, Context::Unknown, SleepKind::End),
        });
    }

    /// Adds a slice to the burst.
    pub fn slice(&mut self, slice: Slice) {
        if let Some(row) = self.rows.last_mut() {
            self.slices.push(PackedSlice::of(slice));
            row.slices_end = self.slices.len() as u32;
            row.end_ns = slice.to_ns;
        }
    }

    /// Adds an action to the burst.
    pub fn act(&mut self, act: Act) {
        if let Some(row) = self.rows.last_mut() {
            self.acts.push(PackedAct::of(act));
            row.acts_end = self.acts.len() as u32;
        }
    }

    /// Ends the burst. Unless the task dies, it sleeps from then on.
    pub fn stop(&mut self, at_ns: u64, state: State) {
        if let Some(row) = self.rows.last_mut() {
            (row.end_ns, row.state) = (at_ns, Some(state));
        }
    }

    /// Cuts the burst at the end of the trace.
    pub fn cut(&mut self, at_ns: u64) {
        if let Some(row) = self.rows.last_mut() {
            row.end_ns = at_ns;
        }
    }

    /// Records how the last sleep ends, which happens at the beginning of the next burst.
    pub fn woken(&mut self, waker: Option<u32>, context: Context, cpu: u32) {
        if let Some(row) = self.rows.last_mut() {
            row.waker = waker.unwrap_or(NO_TASK);
            row.cpu = cpu.min(u32::from(u16::MAX)) as u16;
            row.marks = Marks::new(row.marks.is_woken(), context, row.marks.kind());
        }
    }

    /// Sets the task that ended the sleep before the last burst.
    pub fn set_waker(&mut self, waker: u32) {
        if let Some(at) = self.rows.len().checked_sub(2) {
            self.rows[at].waker = waker;
        }
    }

    /// Sets the kind of the sleep that follows a burst.
    pub fn set_kind(&mut self, at: usize, kind: SleepKind) {
        if let Some(row) = self.rows.get_mut(at) {
            row.marks = Marks::new(row.marks.is_woken(), row.marks.context(), kind);
        }
    }

    /// Replaces the last action of kind `was`.
    pub fn replace_act(&mut self, was: ActKind, is: ActKind) {
        let found = self.acts.iter_mut().rev().find(|it| it.act().what == was);
        if let Some(packed) = found {
            *packed = PackedAct::of(Act { offset_ns: packed.act().offset_ns, what: is });
        }
    }

    /// Returns a burst by its index.
    pub fn burst(&self, at: usize) -> Option<Burst> {
        let row = self.rows.get(at)?;
        let before = at.checked_sub(1).map(|before| &self.rows[before]);
        let slices = before.map_or(0, |it| it.slices_end)..row.slices_end;
        let acts = before.map_or(0, |it| it.acts_end)..row.acts_end;
        let of_burst = &self.slices[range(&slices)];
        Some(Burst {
            wake_ns: row.wake_ns,
            is_woken: row.marks.is_woken(),
            first_ns: of_burst.first().map(|slice| slice.from_ns),
            cpu_ns: of_burst.iter().map(|slice| slice.length_ns()).sum(),
            slices,
            acts,
            end_ns: row.end_ns,
            state: row.state,
        })
    }

    /// Returns the index of the last burst that has begun by `at_ns`.
    pub fn burst_at(&self, at_ns: u64) -> Option<u32> {
        let after = self.rows.partition_point(|row| row.wake_ns <= at_ns);
        after.checked_sub(1).map(|at| at as u32)
    }

    /// Returns the sleep that follows a burst, by the index of the burst.
    pub fn sleep(&self, at: usize) -> Option<Sleep> {
        let row = self.rows.get(at)?;
        let state = row.state.filter(|state| !state.is_gone())?;
        let last = row.slices_end.checked_sub(1).map(|last| self.slices[last as usize]);
        Some(Sleep {
            at_ns: row.end_ns,
            wake_ns: self.rows.get(at + 1).map(|next| next.wake_ns),
            waker: Some(row.waker).filter(|&waker| waker != NO_TASK),
            context: row.marks.context(),
            cpu: u32::from(row.cpu),
            last_cpu: last.map(|slice| slice.slice().cpu),
            state,
            kind: row.marks.kind(),
        })
    }

    /// Returns the slices of a range, in the order of time.
    pub fn slices(&self, which: &Range<u32>) -> impl ExactSizeIterator<Item = Slice> {
        self.slices[range(which)].iter().map(|slice| slice.slice())
    }

    /// Returns all slices, in the order of time.
    pub fn all_slices(&self) -> impl ExactSizeIterator<Item = Slice> {
        self.slices.iter().map(|slice| slice.slice())
    }

    /// Returns the actions of a range, in the order of time.
    pub fn acts(&self, which: &Range<u32>) -> impl ExactSizeIterator<Item = Act> {
        self.acts[range(which)].iter().map(|act| act.act())
    }

    /// Returns the CPU time of all bursts, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.slices.iter().map(|slice| slice.length_ns()).sum()
    }

    /// Releases unused memory when the history is complete.
    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.slices.shrink_to_fit();
        self.acts.shrink_to_fit();
    }
}

fn range(which: &Range<u32>) -> Range<usize> {
    which.start as usize..which.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_keep_what_is_put_in() {
        for is_woken in [false, true] {
            for context in Marks::CONTEXTS {
                for kind in Marks::KINDS {
                    let marks = Marks::new(is_woken, context, kind);
                    let got = (marks.is_woken(), marks.context(), marks.kind());
                    assert_eq!(got, (is_woken, context, kind));
                }
            }
        }
    }

    #[test]
    fn slices_and_acts_keep_what_is_put_in() {
        let slice = Slice { cpu: 4095, from_ns: u64::MAX / 2, to_ns: u64::MAX / 2 + (1 << 47) };
        assert_eq!(PackedSlice::of(slice).slice(), slice);
        let ever = Slice { cpu: 0, from_ns: 5, to_ns: u64::MAX };
        assert_eq!(PackedSlice::of(ever).slice().to_ns, 5 + PackedSlice::LENGTH_MAX);
        for what in [
            ActKind::Wake { task: 7, sleep: u32::MAX },
            ActKind::Fork { task: u32::MAX - 1 },
            ActKind::Post { token: 3 },
            ActKind::Wait { token: 0 },
            ActKind::Prio { prio: -1 },
            ActKind::Exec,
        ] {
            let act = Act { offset_ns: 123_456_789_012_345, what };
            assert_eq!(PackedAct::of(act).act(), act);
        }
    }
}
