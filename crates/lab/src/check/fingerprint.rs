//! A run boiled down to one number.

use schedlab_core::{BlockReason, CpuId, TaskId, Waker};
use schedlab_machine::Observer;

/// A checksum over everything that an observer is told, in its order. Two runs of the same must
/// have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// The number so far.
    pub fn value(self) -> u64 {
        self.0
    }

    #[inline]
    fn add(&mut self, values: [u64; 4]) {
        for value in values {
            self.0 = (self.0 ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }
}

const fn task(task: Option<TaskId>) -> u64 {
    match task {
        None => 0,
        Some(task) => task.0 as u64 + 1,
    }
}

const fn cpu(cpu: CpuId) -> u64 {
    cpu.0 as u64
}

impl Observer for Fingerprint {
    fn started(&mut self, now_ns: u64, whom: TaskId, at: CpuId) {
        self.add([1, now_ns, task(Some(whom)), cpu(at)]);
    }
    fn woken(&mut self, now_ns: u64, whom: TaskId, at: CpuId, waker: Waker) {
        self.add([2, now_ns, task(Some(whom)), cpu(at) << 32 | cpu(waker.cpu())]);
    }
    fn blocked(&mut self, now_ns: u64, whom: TaskId, at: CpuId, reason: BlockReason) {
        self.add([3 + reason as u64, now_ns, task(Some(whom)), cpu(at)]);
    }
    fn killed(&mut self, now_ns: u64, whom: TaskId) {
        self.add([8, now_ns, task(Some(whom)), 0]);
    }
    fn switched(
        &mut self,
        now_ns: u64,
        at: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        self.add([9 + u64::from(prev_runnable), now_ns, cpu(at), task(prev) << 32 | task(next)]);
    }
    fn migrated(&mut self, now_ns: u64, whom: TaskId, from: CpuId, to: CpuId) {
        self.add([11, now_ns, task(Some(whom)), cpu(from) << 32 | cpu(to)]);
    }
    fn ticked(&mut self, now_ns: u64, at: CpuId) {
        self.add([12, now_ns, cpu(at), 0]);
    }
    fn finished(&mut self, now_ns: u64) {
        self.add([13, now_ns, 0, 0]);
    }
}
