//! A checksum of a run.

use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{BlockReason, CpuId, CpuSet, Event, Policy, Request, SchedAttr, TaskId, Waker};
use schedlab_machine::Observer;

/// A checksum over all events of a run, in their order. Equal runs have equal checksums.
///
/// It leaves out [`Event::Decided`], [`Event::Named`] and [`Event::Throttled`], which are reported
/// only on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Returns the checksum so far.
    pub fn value(self) -> u64 {
        self.0
    }

    #[inline]
    fn add(&mut self, values: &[u64]) {
        for value in values {
            self.0 = (self.0 ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    fn add_cpus(&mut self, cpus: &CpuSet) {
        for word in 0..CPUS_MAX as usize / 64 {
            self.add(&[cpus.word(word)]);
        }
    }

    fn add_attr(&mut self, attr: &SchedAttr) {
        let SchedAttr { policy, nice, rt_priority, runtime_ns, deadline_ns, period_ns } = *attr;
        let policy = Policy::ALL.iter().position(|&other| other == policy).unwrap_or_default();
        self.add(&[policy as u64, nice as u64, rt_priority.into()]);
        self.add(&[runtime_ns, deadline_ns, period_ns]);
    }
}

/// Returns a distinct number for each task, and for no task.
const fn task(task: Option<TaskId>) -> u64 {
    match task {
        None => 0,
        Some(task) => task.0 as u64 + 1,
    }
}

const fn cpu(cpu: CpuId) -> u64 {
    cpu.0 as u64
}

const fn waker(waker: Waker) -> u64 {
    let (kind, who) = match waker {
        Waker::Interrupt { .. } => (0, 0),
        Waker::Process { .. } => (1, 0),
        Waker::Task { task, sync: false, .. } => (2, task.0 as u64),
        Waker::Task { task, sync: true, .. } => (3, task.0 as u64),
    };
    kind << 60 | who << 20 | cpu(waker.cpu())
}

const fn reason(reason: BlockReason) -> u64 {
    match reason {
        BlockReason::Interruptible | BlockReason::Futex => 0,
        BlockReason::Uninterruptible => 1,
        BlockReason::Stopped => 2,
        BlockReason::Dead => 3,
    }
}

const fn request(request: Request) -> u64 {
    match request {
        Request::Affinity => 0,
        Request::Group => 1,
        Request::Fork => 2,
        Request::Policy(policy) => 3 + policy as u64,
    }
}

impl Observer for Fingerprint {
    // There is no `..`, and no event is silently ignored: whoever adds an event or a field must
    // decide whether it counts.
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task: who, parent, attr } => {
                self.add(&[1, now_ns, task(Some(who)), task(parent)]);
                self.add_attr(&attr.sched);
                self.add_cpus(&attr.allowed);
                self.add(&[attr.group.0.into(), attr.address_space.into()]);
            }
            Event::Started { task: who, cpu: at, placed, preempts } => {
                let rules = u64::from(placed.0) << 8 | u64::from(preempts.0);
                self.add(&[2, now_ns, task(Some(who)), cpu(at), rules]);
            }
            Event::AttrChanged { task: who, attr } => {
                self.add(&[3, now_ns, task(Some(who))]);
                self.add_attr(attr);
            }
            Event::AffinityChanged { task: who, allowed } => {
                self.add(&[4, now_ns, task(Some(who))]);
                self.add_cpus(allowed);
            }
            Event::GroupChanged { task: who, group } => {
                self.add(&[5, now_ns, task(Some(who)), group.0.into()]);
            }
            Event::Woken { task: who, cpu: at, waker: by, placed, preempts } => {
                let rules = u64::from(placed.0) << 8 | u64::from(preempts.0);
                self.add(&[6, now_ns, task(Some(who)), cpu(at), waker(by), rules]);
            }
            Event::Blocked { task: who, cpu: at, reason: how } => {
                self.add(&[7, now_ns, task(Some(who)), cpu(at), reason(how)]);
            }
            Event::Killed { task: who } => self.add(&[8, now_ns, task(Some(who))]),
            Event::Switched { cpu: at, prev, prev_runnable, next, why } => {
                let who = task(prev) << 32 | task(next);
                let how = u64::from(why.0) << 1 | u64::from(prev_runnable);
                self.add(&[9, now_ns, cpu(at), who, how]);
            }
            Event::Migrated { task: who, from, to, why } => {
                let rule = why.0.into();
                self.add(&[10, now_ns, task(Some(who)), cpu(from) << 32 | cpu(to), rule]);
            }
            Event::Refused { task: who, request: what, errno, from_outside } => {
                let how = request(what) << 1 | u64::from(from_outside);
                self.add(&[11, now_ns, task(Some(who)), errno.number() as u64, how]);
            }
            Event::Ticked { cpu: at } => self.add(&[12, now_ns, cpu(at)]),
            Event::LeavesIdle { cpu: at, from_ns, until_ns } => {
                self.add(&[14, now_ns, cpu(at), from_ns, until_ns]);
            }
            Event::Execed { task: who, cpu: at } => {
                self.add(&[15, now_ns, task(Some(who)), cpu(at)]);
            }
            Event::Online { cpu: at, online } => {
                self.add(&[16, now_ns, cpu(at), u64::from(online)]);
            }
            Event::Decided { account: _ }
            | Event::Named { task: _, name: _ }
            | Event::Throttled { change: _ } => {}
            Event::Finished => self.add(&[13, now_ns]),
            unknown => unreachable!("the fingerprint does not cover {unknown:?}"),
        }
    }
}
