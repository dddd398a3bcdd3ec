//! Consistency checks: sums and marks against the CPUs' loads.

use super::Domains;
use alloc::format;
use alloc::string::String;
use schedlab_core::CpuId;

impl Domains {
    /// Checks everything that is updated incrementally.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn audit(&self) -> Result<(), String> {
        for (average, &kept) in self.source_totals.iter().enumerate() {
            let total: u64 = self.loads.iter().map(|load| load.source_load(average)).sum();
            if total != kept {
                return Err(format!("source loads {average}: {total}, counted {kept}"));
            }
        }
        for (cpu, load) in (0..).map(CpuId).zip(&self.loads) {
            if self.overloaded.contains(cpu) != (load.nr_running > 1) {
                return Err(format!("CPU {} has the wrong mark: {load:?}", cpu.0));
            }
        }
        Ok(())
    }
}
