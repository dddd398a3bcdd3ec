//! Costs of memory and I/O events.

use crate::model::{MemRun, MemRunKind};

/// Cost model of `mem`, `memrun` and `iorun`. The default is not a particular machine's. It
/// documents the assumptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Bytes read or written per ns.
    pub bytes_per_ns: u64,
    /// Time of a step of a pointer chase within [`cache_bytes`](Costs::cache_bytes), ns.
    pub near_step_ns: u64,
    /// Time of a step of a pointer chase in a larger buffer, ns.
    pub far_step_ns: u64,
    /// Size of the largest near buffer.
    pub cache_bytes: u64,
    /// CPU time of an I/O request without copying, ns.
    pub io_cpu_ns: u64,
    /// Time that the device takes for any request, ns.
    pub io_wait_ns: u64,
    /// Time that the device takes per byte, ns.
    pub io_byte_ns: u64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            bytes_per_ns: 8,
            near_step_ns: 2,
            far_step_ns: 80,
            cache_bytes: 256 * 1024,
            io_cpu_ns: 20_000,
            io_wait_ns: 100_000,
            io_byte_ns: 2,
        }
    }
}

impl Costs {
    /// Returns the CPU time of `mem`, ns.
    pub fn mem_ns(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes_per_ns.max(1))
    }

    /// Returns the CPU time of `memrun`, ns.
    pub fn mem_run_ns(&self, run: &MemRun) -> u64 {
        match run.kind {
            MemRunKind::Read | MemRunKind::Write => self.mem_ns(run.count),
            MemRunKind::PointerChase => {
                let near = run.size <= self.cache_bytes;
                let step_ns = if near { self.near_step_ns } else { self.far_step_ns };
                run.count.saturating_mul(step_ns)
            }
        }
    }

    /// Returns the CPU time of `iorun`, ns.
    pub fn io_cpu_ns(&self, bytes: u64) -> u64 {
        self.io_cpu_ns.saturating_add(self.mem_ns(bytes))
    }

    /// Returns the time that the request of an `iorun` occupies the device, ns.
    pub fn io_device_ns(&self, bytes: u64) -> u64 {
        self.io_wait_ns.saturating_add(bytes.saturating_mul(self.io_byte_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_figures() {
        let costs = Costs::default();
        assert_eq!(costs.mem_ns(8000), 1000);
        assert_eq!(costs.mem_ns(1), 1);
        assert_eq!(costs.io_cpu_ns(4096), 20_512);
        assert_eq!(costs.io_device_ns(4096), 108_192);
        let mut run = MemRun {
            kind: MemRunKind::Write,
            size: 4096,
            count: 1000,
            stride: None,
            pattern: None,
            buffer: None,
        };
        // Accesses cycle through the buffer. Its size does not matter.
        assert_eq!(costs.mem_run_ns(&run), 125);
        run.kind = MemRunKind::PointerChase;
        assert_eq!(costs.mem_run_ns(&run), 2000);
        run.size = 256 * 1024 + 1;
        assert_eq!(costs.mem_run_ns(&run), 80_000);
    }
}
