//! Barriers: who comes waits until as many have come as must, and the last one wakes the others in
//! the order in which they came.

/// A barrier, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierId(pub u32);

/// A barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// Tasks that must come.
    pub needed: usize,
    /// Who has come and waits, in that order.
    pub come: Vec<u32>,
}

impl Barrier {
    /// `task` comes. True: it is the last one, and [`come`](Barrier::come) are to be woken.
    pub fn arrive(&mut self, task: u32) -> bool {
        let last = self.come.len() + 1 >= self.needed;
        if !last {
            self.come.push(task);
        }
        last
    }
}
