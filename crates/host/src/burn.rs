//! Consuming a given amount of CPU time without system calls.
//!
//! The thread reads the clock until its time is over, and postpones the end by any time during
//! which it had no CPU. The kernel reports those times: it records the thread's switches in a ring
//! buffer of the thread's own ([`SwitchRing`]), and checking for new records is a single load.
//! Without a ring, a gap between two readings that is longer than a tick's counts as time without a
//! CPU.
//!
//! The thread's CPU clock would also be exact. But reading it is a system call at which the kernel
//! charges the thread: slices would end there and not at the tick.

use crate::switches::Slices;
use crate::sys::{self, SwitchRing};

/// Consumes CPU time, and records where the thread ran during that time.
#[derive(Debug)]
pub struct Burner {
    ring: Option<SwitchRing>,
    /// Without a ring: length from which a gap counts as time without a CPU, ns.
    gap_ns: u64,
    /// Where the thread ran, if there is a ring.
    pub slices: Slices,
    /// Without a ring: number of gaps counted as time without a CPU.
    pub gaps: u64,
    /// CPU time consumed so far, ns.
    pub burned_ns: u64,
}

impl Burner {
    /// Creates a burner for the calling thread. `gap_ns` applies without a ring.
    pub fn new(ring: Option<SwitchRing>, gap_ns: u64) -> Burner {
        let mut slices = Slices::default();
        slices.done.reserve(1024);
        Burner { ring, gap_ns, slices, gaps: 0, burned_ns: 0 }
    }

    /// Whether the kernel reports when the thread had no CPU.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Consumes `ns` of CPU time. Returns `false` if the clock reached `until_ns` first.
    pub fn burn(&mut self, ns: u64, until_ns: u64) -> bool {
        let start_ns = sys::now_ns();
        let mut end_ns = start_ns.saturating_add(ns);
        let mut before_ns = start_ns;
        // Time during which the thread had no CPU, ns.
        let mut away_ns = 0;
        loop {
            let now_ns = sys::now_ns();
            // Switches after the clock was read also postpone the end, so that none is missed.
            match &mut self.ring {
                Some(ring) => {
                    if ring.head() != ring.seen() {
                        let slices = &mut self.slices;
                        let mut off_ns = 0;
                        ring.drain(|_, switch| off_ns += slices.take(switch, start_ns));
                        end_ns = end_ns.saturating_add(off_ns);
                        away_ns += off_ns;
                    }
                }
                None => {
                    let gap_ns = now_ns - before_ns;
                    if gap_ns >= self.gap_ns {
                        end_ns = end_ns.saturating_add(gap_ns);
                        away_ns += gap_ns;
                        self.gaps += 1;
                    }
                    before_ns = now_ns;
                }
            }
            if now_ns >= until_ns.min(end_ns) {
                self.burned_ns += (now_ns - start_ns).saturating_sub(away_ns);
                return now_ns < until_ns;
            }
        }
    }

    /// Reads all records from the ring, so that it does not overflow.
    pub fn catch_up(&mut self) {
        if let Some(ring) = &mut self.ring {
            let slices = &mut self.slices;
            ring.drain(|_, switch| {
                slices.take(switch, u64::MAX);
            });
        }
    }

    /// Discards everything recorded so far.
    pub fn restart(&mut self) {
        self.catch_up();
        self.slices.restart();
        self.gaps = 0;
        self.burned_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_takes_its_cpu_time_whatever_else_runs() {
        let Ok(ring) = SwitchRing::open(8) else {
            let why = "this user's own switches cannot be recorded here";
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("SKIPPED: {why}\n").as_bytes(),
            );
            return;
        };
        let mut burner = Burner::new(Some(ring), 0);
        burner.restart();
        let start_ns = sys::now_ns();
        assert!(burner.burn(5_000_000, u64::MAX));
        let end_ns = sys::now_ns();
        burner.catch_up();
        burner.slices.close(end_ns);
        // The first slice began earlier, and its beginning was not recorded.
        let slices = &burner.slices.done;
        let off_ns: u64 = slices.windows(2).map(|pair| pair[1].start_ns - pair[0].end_ns).sum();
        assert!(end_ns - start_ns - off_ns >= 5_000_000, "{off_ns} of {}", end_ns - start_ns);
        assert!(burner.burned_ns >= 5_000_000, "{} ns", burner.burned_ns);
        assert!(burner.burned_ns <= end_ns - start_ns - off_ns, "{} ns", burner.burned_ns);
    }

    #[test]
    fn a_burst_ends_with_the_run() {
        let mut burner = Burner::new(None, 1_000_000);
        let end_ns = sys::now_ns() + 2_000_000;
        assert!(!burner.burn(u64::MAX, end_ns));
        assert!(sys::now_ns() >= end_ns);
    }
}
