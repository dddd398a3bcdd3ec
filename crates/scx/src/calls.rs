//! Calls that leave the BPF machine: helpers and kernel functions.

use crate::act::Act;
use crate::helpers;
use crate::kfuncs::KFUNCS;
use crate::vm::{Calls, Fault, Outcome, Vm};

impl Calls for Act<'_> {
    #[inline]
    fn vm(&mut self) -> &mut Vm {
        &mut self.w.vm
    }

    fn helper(&mut self, number: u32, args: [u64; 5]) -> Outcome {
        *self.w.counts.helpers.entry(number).or_default() += 1;
        self.p.work.scx_helpers += 1;
        helpers::call(self, number, args)
    }

    fn kfunc(&mut self, number: u32, args: [u64; 5]) -> Outcome {
        let index = number as usize;
        self.p.work.scx_kfuncs += 1;
        if let Some(count) = self.w.counts.kfuncs.get_mut(index) {
            *count += 1;
        }
        match self.w.image.kfuncs.get(index).and_then(|&known| KFUNCS.get(known)) {
            Some(known) => (known.run)(self, args),
            None => Err(Fault::new(format!("there is no kernel function {number}"))),
        }
    }

    fn poison(&self, reason: usize) -> String {
        self.w.image.poisons.get(reason).cloned().unwrap_or_default()
    }
}
