//! Programs of section `syscall`, which user space runs before it attaches a policy.

use crate::act::Act;
use crate::error::ObjectError;
use crate::image::PROGRAM_ARGS_MAX;
use crate::memory::{self, address};
use crate::ops::Context;
use crate::scheduler::ScxScheduler;

impl ScxScheduler {
    /// Runs the program `name` of section `syscall` before the policy begins. `args` are its
    /// arguments, 32 bits each, stored consecutively.
    ///
    /// # Errors
    /// If there is no such program, or there are too many arguments.
    pub fn call_first(&mut self, name: &str, args: &[i32]) -> Result<(), ObjectError> {
        let entry = self.world.image.program(name)?;
        if args.len() > PROGRAM_ARGS_MAX {
            let what =
                format!("{} arguments of {name}; the maximum is {PROGRAM_ARGS_MAX}", args.len());
            return Err(ObjectError::new("", what).in_file(&self.world.image.file));
        }
        self.world.first_calls.push((entry, args.to_vec()));
        Ok(())
    }
}

impl Act<'_> {
    /// Runs the programs that must run before the policy begins. An error that a program returns is
    /// logged and ends the policy: user space would not have attached it.
    pub(crate) fn call_programs(&mut self) {
        // The list is kept: a policy that is loaded again runs them again.
        for (entry, args) in self.w.first_calls.clone() {
            if self.w.ended.is_some() {
                return;
            }
            // The program may write its arguments, which are memory of user space.
            let at = address(memory::HEAP, 0);
            self.w.vm.memory.grow(memory::HEAP, 4 * PROGRAM_ARGS_MAX);
            for place in 0..PROGRAM_ARGS_MAX {
                let value = args.get(place).copied().unwrap_or(0) as u32;
                self.w.vm.memory.write(at + 4 * place as u64, 4, u64::from(value));
            }
            self.run_program(entry, at, &args, true);
        }
    }

    /// Runs a program with its arguments at `at`. If it runs `before` the policy is attached, an
    /// error that it returns ends the policy.
    pub(crate) fn run_program(&mut self, entry: usize, at: u64, args: &[i32], before: bool) {
        let name = self.w.image.function_at(entry).map_or(String::new(), |it| it.name.clone());
        let outer = (self.w.context, self.w.callback);
        (self.w.context, self.w.callback) = (Context::Sleepable, "a program of user space");
        self.w.vm.begin();
        let insns = self.w.vm.insns;
        let outcome = self.run(entry, [at, 0, 0, 0, 0]);
        let insns = self.w.vm.insns - insns;
        let line = |result: &str| {
            let args: Vec<String> = args.iter().map(i32::to_string).collect();
            format!("{name}({}){result}", args.join(", "))
        };
        match outcome {
            Ok(0) => self.log_text("syscall", || line(""), insns),
            Ok(result) => {
                let error = result as i32;
                self.log_text("syscall", || line(&format!(" = {error}")), insns);
                if before {
                    self.error(format!("{name} returned {error}"));
                }
            }
            Err(fault) => self.faulted(&fault),
        }
        (self.w.context, self.w.callback) = outer;
    }
}
