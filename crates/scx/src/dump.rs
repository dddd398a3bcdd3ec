//! The dump that the kernel writes when it ends a policy: the state of its CPUs and of the tasks
//! that wait there, with the output of the policy's own callbacks.
//!
//! The specification states that there is a dump and which callbacks add to it, but not its layout.
//! The layout follows published dumps, from recollection. Items that this machine lacks
//! (backtraces, `ops_state`) are left out.

use crate::act::Act;
use crate::kernel_types::{DSQ_LOCAL_ON, EXIT_ERROR};
use crate::memory::{self, address};
use crate::ops::{Callback, Context};
use crate::task::Holder;

/// Maximum length of a dump unless the policy sets another, bytes.
const LEN_DEFAULT: u64 = 32_768;

impl Act<'_> {
    /// Writes the dump of a policy that ends with an error.
    pub(crate) fn dump(&mut self) {
        let Some(end) = self.w.ended.clone().filter(|end| end.kind >= EXIT_ERROR) else { return };
        self.w.dump = Some(String::new());
        let rule = "=".repeat(80);
        let who = match self.w.cpus.get(self.w.cpu as usize).and_then(|cpu| cpu.curr) {
            Some(row) => self.w.task_name(row),
            None => self.w.task_name(self.w.cpu),
        };
        self.dump_text(&format!("DEBUG DUMP\n{rule}\n\n{who} triggered exit kind {}:\n", end.kind));
        self.dump_text(&format!("  {} ({})\n", end.reason, end.message));
        let ctx = self.dump_context(&end);
        self.dump_call(Callback::DUMP, &[ctx]);
        self.dump_text("\nCPU states\n----------\n");
        for cpu in 0..self.w.nr_cpus() {
            self.dump_cpu(cpu, ctx);
        }
        let most = match self.w.image.ops.exit_dump_len {
            0 => LEN_DEFAULT,
            most => most,
        };
        let mut text = self.w.dump.take().unwrap_or_default();
        let mut len = text.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        text.truncate(len);
        if let Some(end) = &mut self.w.ended {
            end.dump = text;
        }
    }

    /// Fills in `struct scx_dump_ctx`.
    fn dump_context(&mut self, end: &crate::end::End) -> u64 {
        let types = self.w.image.types.clone();
        let at = address(memory::SCRATCH, 3200);
        let field = |name| at + u64::from(types.offset("scx_dump_ctx", name));
        let reason = address(memory::SCRATCH, 3300);
        let jiffies = self.first_jiffy() + self.p.jiffies();
        let memory = &mut self.w.vm.memory;
        if let Some(place) = memory.slice_mut(reason, end.reason.len() + 1) {
            place[..end.reason.len()].copy_from_slice(end.reason.as_bytes());
            place[end.reason.len()] = 0;
        }
        memory.write(field("kind"), 4, end.kind);
        memory.write(field("exit_code"), 8, end.code as u64);
        memory.write(field("reason"), 8, reason);
        memory.write(field("at_ns"), 8, end.at_ns);
        memory.write(field("at_jiffies"), 8, jiffies);
        at
    }

    /// Calls a callback of the policy although it has ended, so that it can add to the dump.
    fn dump_call(&mut self, callback: Callback, args: &[u64]) -> bool {
        if self.w.image.callback(callback).is_none() {
            return false;
        }
        let before = self.w.dump.as_ref().map_or(0, String::len);
        // An error in this call does not end the policy a second time.
        let ended = self.w.ended.take();
        self.call(callback, Context::Other, args);
        let failed = self.w.ended.take();
        self.w.ended = ended;
        if let Some(failed) = failed {
            self.dump_text(&format!("  {}: {}\n", callback.name(), failed.message));
        }
        let text = self.w.dump.as_ref().map_or("", |text| &text[before..]);
        let (wrote, is_whole) = (!text.is_empty(), text.ends_with('\n'));
        if wrote && !is_whole {
            self.dump_text("\n");
        }
        wrote
    }

    fn dump_cpu(&mut self, cpu: u32, ctx: u64) {
        let curr = self.w.cpus[cpu as usize].curr;
        let waiting: Vec<u32> = (self.w.nr_cpus()..self.w.tasks.len() as u32)
            .filter(|&row| {
                let task = &self.w.tasks[row as usize];
                task.is_alive && task.is_runnable && task.cpu == cpu && Some(row) != curr
            })
            .collect();
        let is_idle = curr.is_none() && waiting.is_empty();
        if is_idle {
            // An idle CPU appears only if the policy adds something.
            let before = self.w.dump.as_ref().map_or(0, String::len);
            let wrote = self.dump_call(Callback::DUMP_CPU, &[ctx, u64::from(cpu), 1]);
            if wrote && let Some(text) = &mut self.w.dump {
                let own = text.split_off(before);
                text.push_str(&format!("\nCPU {cpu:<4}: idle\n{own}"));
            }
            return;
        }
        let running = waiting.len() + usize::from(curr.is_some());
        let (who, class) = match curr {
            Some(row) => (self.w.task_name(row), "ext_sched_class"),
            None => (self.w.task_name(cpu), "idle_sched_class"),
        };
        let qseq = self.w.qseqs;
        self.dump_text(&format!("\nCPU {cpu:<4}: nr_run={running} ops_qseq={qseq}\n"));
        self.dump_text(&format!("          curr={who} class={class}\n"));
        self.dump_call(Callback::DUMP_CPU, &[ctx, u64::from(cpu), 0]);
        for row in curr.into_iter().chain(waiting) {
            self.dump_task(row, Some(row) == curr, ctx);
        }
    }

    fn dump_task(&mut self, row: u32, runs: bool, ctx: u64) {
        let now = self.now();
        let task = &self.w.tasks[row as usize];
        let mark = if runs { '*' } else { ' ' };
        let waited_ms = now.saturating_sub(task.runnable_at) / 1_000_000;
        let dsq = match task.holder {
            Holder::Queue(queue, _) if queue < self.w.nr_cpus() => {
                format!("{:#x}", DSQ_LOCAL_ON | u64::from(queue))
            }
            Holder::Queue(queue, _) => format!("{:#x}", self.w.queues[queue as usize].id),
            Holder::Policy | Holder::None => "(n/a)".into(),
        };
        let cpus = self.w.nr_cpus();
        let words = cpus.div_ceil(64);
        let mask: Vec<String> = (0..words)
            .rev()
            .map(|word| {
                let left = cpus - word * 64;
                let there = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
                format!("{:x}", task.allowed.word(word as usize) & there)
            })
            .collect();
        let (name, slice) = (self.w.task_name(row), self.w.slice(row));
        let vtime = self.w.task_u64(row, self.w.at.vtime);
        let at = self.w.task_address(row);
        let weight = self.w.vm.memory.u32(at + u64::from(self.w.at.weight));
        let flags = self.w.vm.memory.u32(at + u64::from(self.w.at.flags));
        let qseq = self.w.tasks[row as usize].qseq;
        self.dump_text(&format!(
            "\n {mark}R {name} -{waited_ms}ms\n      scx_flags={flags:#x} qseq={qseq} \
             dsq_id={dsq}\n      dsq_vtime={vtime} slice={slice} weight={weight}\n      \
             cpus={}\n",
            mask.join(",")
        ));
        self.dump_call(Callback::DUMP_TASK, &[ctx, at]);
    }

    /// Adds to the dump that is being written.
    pub(crate) fn dump_text(&mut self, text: &str) {
        if let Some(dump) = &mut self.w.dump {
            dump.push_str(text);
        }
    }
}
