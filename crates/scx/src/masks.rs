//! CPU masks of the class: idle CPUs and cores, online CPUs, and their copies by memory node.

use crate::cpu::{MASK_IDLE, MASK_IDLE_SMT, MASK_NODES, first_mask};
use crate::memory::{self, address};
use crate::world::World;
use schedlab_core::CpuId;

impl World {
    /// Returns the address of a mask.
    pub fn mask(&self, number: u32) -> u64 {
        address(memory::MASKS, number * self.image.types.mask_words() * 8)
    }

    /// Adds a CPU to one of the class's masks, or removes it.
    pub fn set_mask(&mut self, number: u32, cpu: u32, is_in: bool) {
        let at = self.mask(number) + u64::from(cpu / 64) * 8;
        let word = self.vm.memory.u64(at);
        let bit = 1 << (cpu % 64);
        self.vm.memory.write(at, 8, if is_in { word | bit } else { word & !bit });
    }

    /// Whether a CPU is in the mask at an address.
    pub fn mask_has(&self, at: u64, cpu: u32) -> bool {
        cpu < self.nr_cpus()
            && self.vm.memory.u64(at + u64::from(cpu / 64) * 8) >> (cpu % 64) & 1 == 1
    }

    /// Marks a CPU as idle or busy in the class's masks.
    pub fn mark_idle(&mut self, cpu: u32, is_idle: bool) {
        self.set_mask(MASK_IDLE, cpu, is_idle);
        let node = MASK_NODES + 2 * self.topology.place(CpuId(cpu)).node;
        self.set_mask(node, cpu, is_idle);
        // A core is idle while all of its threads are.
        let idle = self.mask(MASK_IDLE);
        let is_whole = self.siblings[cpu as usize].iter().all(|&cpu| self.mask_has(idle, cpu));
        for place in 0..self.siblings[cpu as usize].len() {
            let sibling = self.siblings[cpu as usize][place];
            self.set_mask(MASK_IDLE_SMT, sibling, is_whole);
            self.set_mask(node + 1, sibling, is_whole);
        }
    }

    /// Returns the number of the first mask that policies may create.
    pub fn first_mask(&self) -> u32 {
        first_mask(self.nodes_of_memory)
    }
}
