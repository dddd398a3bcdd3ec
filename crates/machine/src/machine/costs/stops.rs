//! Times at which the CPUs of a recorded machine were stopped: [`Stops`].

use schedlab_core::CpuId;

/// Times at which CPUs of another machine were stopped, by CPU.
#[derive(Debug)]
pub(in crate::machine) struct Stops {
    /// Start and end of each stop, ns, in ascending order, and the number of stops that are over.
    pub times: Vec<(Vec<(u64, u64)>, usize)>,
}

impl Stops {
    /// Returns the time at which `cpu` can act, now or later. The times of successive calls must
    /// not decrease.
    pub(in crate::machine) fn next_ns(&mut self, cpu: CpuId, now_ns: u64) -> u64 {
        let (times, over) = &mut self.times[cpu.index()];
        while times.get(*over).is_some_and(|&(_, until_ns)| until_ns <= now_ns) {
            *over += 1;
        }
        let stop = times.get(*over).filter(|&&(from_ns, _)| from_ns <= now_ns);
        stop.map_or(now_ns, |&(_, until_ns)| until_ns)
    }
}
