//! Barriers: a task that arrives waits until the required number has arrived. The last one wakes
//! the others in the order of their arrival.

/// A barrier, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierId(pub u32);

/// A barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// Number of tasks that must arrive.
    pub needed: usize,
    /// Tasks that have arrived and wait, in that order.
    pub come: Vec<u32>,
}

impl Barrier {
    /// Records the arrival of `task`. Returns whether it is the last one. Then the tasks in
    /// [`come`](Barrier::come) are to be woken.
    pub fn arrive(&mut self, task: u32) -> bool {
        let last = self.come.len() + 1 >= self.needed;
        if !last {
            self.come.push(task);
        }
        last
    }
}
