//! Operations of the calling thread on itself: it joins a group, becomes urgent, looks for gaps.

use crate::job::Groups;
use crate::sys;
use crate::tick::Gap;
use schedlab_core::{Policy, SchedAttr};

/// Moves the calling thread to the heavily weighted group.
pub fn join_group(groups: &Groups) -> Result<(), String> {
    let Some(directory) = &groups.load else { return Ok(()) };
    groups.join(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// The priority of threads that must not wait for others: `fifo 90`.
const URGENT_PRIORITY: u32 = 90;

/// Makes the calling thread as urgent as permitted, and returns the result in words. With `resets`,
/// threads that it creates are ordinary ones.
pub fn urgent(resets: bool) -> String {
    let fifo = SchedAttr::realtime(Policy::Fifo, URGENT_PRIORITY);
    if sys::set_attr(&fifo, resets).is_ok() {
        return format!("fifo {URGENT_PRIORITY}");
    }
    if sys::set_attr(&SchedAttr::nice(-20), resets).is_ok() {
        return "nice -20".into();
    }
    "as it was".into()
}

/// Length from which gaps are noted, ns.
const GAP_NS: u64 = 300;

/// Reads the clock for `length_ns`. Returns the gaps, and the first and last time.
pub fn gaps(length_ns: u64) -> (Vec<Gap>, u64, u64) {
    let mut gaps = Vec::with_capacity(4096);
    let from_ns = sys::now_ns();
    let mut before_ns = from_ns;
    while before_ns < from_ns + length_ns {
        let now_ns = sys::now_ns();
        if now_ns - before_ns >= GAP_NS && gaps.len() < gaps.capacity() {
            gaps.push(Gap { start_ns: before_ns, end_ns: now_ns });
        }
        before_ns = now_ns;
    }
    (gaps, from_ns, before_ns)
}
