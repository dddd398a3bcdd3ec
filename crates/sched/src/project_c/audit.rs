//! Consistency checks: queues, counts and masks against the tasks' own records.

use super::ranking::Ranking;
use super::run_queue::LEVELS;
use super::{Node, ProjectC};
use alloc::format;
use alloc::string::String;
use schedlab_core::CpuId;

impl<R: Ranking> ProjectC<R> {
    /// Checks that every task is where its record says, and that all counts and masks are right.
    pub(super) fn audit_all(&self) -> Result<(), String> {
        let mut on_lists = 0;
        for number in 0..self.cpus.len() as u32 {
            on_lists += self.audit_cpu(CpuId(number))?;
        }
        let queued = self.entities.iter().filter(|(_, entity)| entity.queued).count();
        if on_lists != queued {
            return Err(format!("{queued} tasks count as queued, {on_lists} are on lists"));
        }
        Ok(())
    }

    /// Checks one CPU. Returns the number of entities on its lists.
    fn audit_cpu(&self, cpu: CpuId) -> Result<usize, String> {
        let here = &self.cpus[cpu.index()];
        let wrong = |what: String| Err(format!("CPU {}: {what}", cpu.0));
        let (mut count, mut bitmap, mut stray) = (0_usize, 0_u64, None);
        let mut before: Option<(Node, u8)> = None;
        here.queue.for_each(&self.entities, |node, level| {
            let entity = &self.entities[node];
            let expected = match before {
                Some((prev, same)) if same == level => prev,
                _ => Node::NONE,
            };
            if !entity.queued || entity.cpu != cpu || entity.prev != expected {
                stray = Some(node);
            }
            (count, bitmap, before) = (count + 1, bitmap | 1 << level, Some((node, level)));
        });
        if let Some(node) = stray {
            return wrong(format!("{node:?} is on a list where it does not belong"));
        }
        if bitmap != here.queue.bitmap() {
            return wrong(format!("bitmap {:x}, lists {bitmap:x}", here.queue.bitmap()));
        }
        if here.nr_running as usize != count {
            return wrong(format!("nr_running is {}, {count} are on lists", here.nr_running));
        }
        if self.masks.pending.contains(cpu) != (count > 1) {
            return wrong(format!("the pending mask is wrong for {count} tasks"));
        }
        let level = self.masks.level(cpu);
        if level != here.queue.best_level() || self.masks.idle.contains(cpu) != (level == LEVELS) {
            return wrong(format!("level {level}, best is {}", here.queue.best_level()));
        }
        let core_idles = self.masks.sibling(cpu).is_some_and(|sibling| {
            self.masks.idle.contains(cpu) && self.masks.idle.contains(sibling)
        });
        if self.masks.sg_idle.contains(cpu) != core_idles {
            return wrong("the mask of idle cores is wrong".into());
        }
        if here.curr.is_some_and(|curr| self.entities[curr].cpu != cpu) {
            return wrong("the running task belongs to another CPU".into());
        }
        Ok(count)
    }
}
