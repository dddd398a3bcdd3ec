//! Reschedules: slices, the pick, and the stopper.

use super::entity::{Node, RESCHED_NS, SLICE_NS};
use super::ranking::Ranking;
use super::{ProjectC, rules};
use schedlab_core::{CpuId, Platform, Policy, Question, TaskId, TimerKey, TimerPhase};

/// The shortest time for which the slice timer is set, ns.
const HRTICK_MIN_NS: i64 = 10_000;

impl<R: Ranking> ProjectC<R> {
    /// `schedule`: again and again, as long as the stopper is picked, which does its work in no
    /// time.
    pub(super) fn reschedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        platform.work.clock_reads += 1;
        loop {
            match self.schedule_once(platform, cpu).map(|next| self.entities.task(next)) {
                None => return None,
                Some(Some(task)) => return Some(task),
                Some(None) => self.run_stopper(platform, cpu),
            }
        }
    }

    /// One reschedule. Returns what runs next.
    fn schedule_once(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<Node> {
        self.update_clock(platform, cpu);
        let prev = self.cpus[cpu.index()].curr;
        match prev {
            Some(prev) => self.put_prev(platform, cpu, prev),
            None if self.cpus[cpu.index()].nr_running == 0 => {
                platform.by_rule(Question::Pick, cpu, rules::IDLE);
                return None;
            }
            None => {}
        }
        if self.cpus[cpu.index()].queue.first().is_none() {
            self.take_tasks(platform, cpu);
        }
        let next = self.cpus[cpu.index()].queue.first();
        platform.work.bitmap(self.masks.level(cpu));
        self.explain_pick(platform, cpu);
        match next {
            Some(next) => self.start_hrtick(platform, cpu, self.entities[next].time_slice),
            None => self.stop_hrtick(platform, cpu),
        }
        let here = &mut self.cpus[cpu.index()];
        here.curr = next;
        match next {
            Some(next) if Some(next) == prev => self.priority_balance(platform, cpu, next),
            Some(next) => self.entities[next].last_ran = here.clock,
            None => self.smt_balance(platform, cpu),
        }
        next
    }

    /// Puts `prev`, the running task: it leaves the queue if it has blocked, and is charged.
    fn put_prev(&mut self, platform: &mut Platform, cpu: CpuId, prev: Node) {
        let entity = &mut self.entities[prev];
        if entity.blocked && entity.queued {
            R::blocks(entity);
            self.dequeue(platform, prev);
        }
        self.charge(cpu, prev);
        if self.entities[prev].time_slice < RESCHED_NS {
            self.time_slice_expired(platform, cpu, prev);
        }
    }

    /// `update_curr`: charges `node`, the running task of `cpu`, for the time since the last
    /// charge.
    pub(super) fn charge(&mut self, cpu: CpuId, node: Node) {
        let clock = self.cpus[cpu.index()].clock;
        let entity = &mut self.entities[node];
        let used = clock.saturating_sub(entity.last_ran);
        entity.time_slice = entity.time_slice.saturating_sub_unsigned(used);
        entity.last_ran = clock;
    }

    /// `time_slice_expired`: a full slice, another rank, and the last place of its level.
    pub(super) fn time_slice_expired(&mut self, platform: &mut Platform, cpu: CpuId, node: Node) {
        let time_edge = self.cpus[cpu.index()].time_edge;
        let entity = &mut self.entities[node];
        entity.time_slice = SLICE_NS;
        R::renew(entity, time_edge);
        if entity.queued && entity.policy != Policy::Fifo {
            self.requeue(platform, node);
        }
    }

    /// `hrtick_start`: the slice timer of `cpu` ends a slice of which this much is left.
    pub(super) fn start_hrtick(&mut self, platform: &mut Platform, cpu: CpuId, left_ns: i64) {
        self.cpus[cpu.index()].hrtick = true;
        let at_ns = platform.now_ns().saturating_add_signed(left_ns.max(HRTICK_MIN_NS));
        platform.arm_timer(TimerKey(cpu.0), TimerPhase::BeforeTicks, at_ns);
    }

    /// Cancels the slice timer of `cpu`.
    fn stop_hrtick(&mut self, platform: &mut Platform, cpu: CpuId) {
        if core::mem::replace(&mut self.cpus[cpu.index()].hrtick, false) {
            platform.cancel_timer(TimerKey(cpu.0));
        }
    }

    /// `scheduler_tick`.
    pub(super) fn charge_tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.update_clock(platform, cpu);
        if let Some(curr) = self.cpus[cpu.index()].curr {
            self.charge(cpu, curr);
            if self.entities[curr].time_slice < RESCHED_NS {
                platform.resched(cpu);
            }
        }
    }

    /// Wakes the stopper of `cpu`, a task of level 0, unless it is awake. It can use no other CPU,
    /// but is asked for one like any task, so that its level is watched afterwards.
    pub(super) fn wake_stopper(&mut self, platform: &mut Platform, cpu: CpuId) {
        let stopper = Node::stopper(cpu);
        if !self.entities[stopper].queued {
            self.entities[stopper].blocked = false;
            self.wake_up(platform, stopper);
        }
    }

    /// The stopper of `cpu` does what it was woken for, and blocks.
    fn run_stopper(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.move_forbidden(platform, cpu);
        self.move_to_idle_core(platform, cpu);
        self.entities[Node::stopper(cpu)].blocked = true;
    }
}
