//! The scheduling class around the policy: moves tasks between the kernel's core and the callbacks.
//!
//! A CPU runs only tasks of its local queue. They arrive there directly, from the global queue, or
//! from the policy's own queues when `dispatch` moves them. The order of events is the kernel's:
//! see `docs/scx.md`.

use crate::act::Act;
use crate::cpu::MASK_IDLE;
use crate::dsq::{Dsq, Entry, Insertion, MixedOrder};
use crate::kernel_types::{
    DSQ_BUILTIN, DSQ_GLOBAL, DSQ_LOCAL, DSQ_LOCAL_ON, ENQ_DSQ_PRIQ, ENQ_HEAD, ENQ_LAST,
    ENQ_PREEMPT, OPS_ENQ_EXITING, OPS_ENQ_LAST, SLICE_DFL, SLICE_INF,
};
use crate::ops::{Callback, Context};
use crate::options::Profile;
use crate::rules;
use crate::task::{Holder, PutBack};
use schedlab_core::{Candidate, CpuId, Question, Rule};

/// Slice of tasks that run first come, first served after the policy has ended, ns.
pub const SLICE_BYPASS: u64 = 5_000_000;

/// Tolerance when a recorded switch is matched by its time, ns.
const PUT_BACK_SLACK: u64 = 60_000;

/// Maximum number of rounds of `dispatch` in one reschedule.
const DISPATCH_ROUNDS: u32 = 32;

/// Number of tasks that one `dispatch` may insert, unless the policy sets another limit.
const DISPATCH_BATCH: u64 = 32;

impl Act<'_> {
    /// Whether the policy has ended and tasks run first come, first served.
    pub fn is_bypassed(&self) -> bool {
        self.w.ended.is_some()
    }

    /// Moves a task to another CPU's runqueue.
    pub fn move_task(&mut self, row: u32, to: u32) {
        let from = self.w.tasks[row as usize].cpu;
        if from == to {
            return;
        }
        let is_runnable = self.w.tasks[row as usize].is_runnable;
        if is_runnable {
            self.w.set_runnable(row, false);
        }
        self.w.tasks[row as usize].cpu = to;
        self.w.set_task_u32(row, self.w.at.cpu, to);
        if is_runnable {
            self.w.set_runnable(row, true);
        }
        let task = self.w.task_id(row);
        self.p.migrated(task, CpuId(from), CpuId(to));
    }

    /// Charges a CPU's current task for the time since the last charge.
    pub fn charge(&mut self, cpu: u32) {
        let now = self.now();
        let Some(row) = self.w.cpus[cpu as usize].curr else { return };
        let start = self.w.tasks[row as usize].exec_start;
        self.w.tasks[row as usize].exec_start = now.max(start);
        let delta = now.saturating_sub(start);
        if delta == 0 {
            return;
        }
        self.w.cpus[cpu as usize].exec_ns += delta;
        let at = self.w.at;
        for offset in [at.sum_exec, at.utime] {
            let sum = self.w.task_u64(row, offset);
            self.w.set_task_u64(row, offset, sum + delta);
        }
        let slice = self.w.slice(row);
        if slice != SLICE_INF {
            self.w.set_slice(row, slice - slice.min(delta));
        }
    }

    /// Sets the runqueue's clock that the policy sees.
    pub fn update_clock(&mut self, cpu: u32) {
        let now = self.now();
        for path in ["clock", "clock_task", "clock_pelt"] {
            let at = self.w.rq(cpu) + u64::from(self.w.image.types.offset("rq", path));
            self.w.vm.memory.write(at, 8, now);
        }
    }

    /// Chooses the CPU of a task that wakes or is new, with the side effects of the choice.
    pub fn select_cpu(&mut self, row: u32, prev: u32, wake_flags: u64) -> u32 {
        let mut cpu = prev;
        if self.has(Callback::SELECT_CPU) {
            self.w.direct_for = Some(row);
            let args = [self.w.task_address(row), u64::from(prev), wake_flags];
            let chosen = self.call(Callback::SELECT_CPU, Context::SelectCpu, &args);
            self.w.direct_for = None;
            if let Some(chosen) = chosen {
                let number = chosen as i32;
                if u32::try_from(number).is_ok_and(|number| number < self.w.nr_cpus()) {
                    cpu = number as u32;
                } else {
                    let callback = std::mem::replace(&mut self.w.callback, "select_cpu");
                    self.error(format!("invalid CPU {number} from select_cpu"));
                    self.w.callback = callback;
                }
            }
        } else if !self.is_bypassed()
            && self.w.tracks_idle
            && let Some(idle) = self.select_idle(row, prev, wake_flags, None)
        {
            cpu = idle;
            self.w.set_slice(row, SLICE_DFL);
            self.w.tasks[row as usize].direct = Some((DSQ_LOCAL, 0));
        }
        let cpus = self.w.nr_cpus();
        let allowed = &self.w.tasks[row as usize].allowed;
        for choice in [cpu, prev] {
            if allowed.contains(CpuId(choice)) {
                return choice;
            }
        }
        allowed.first(cpus).map_or(prev, |first| first.0)
    }

    /// Whether a CPU is marked as idle.
    pub fn is_idle(&self, cpu: u32) -> bool {
        self.w.mask_has(self.w.mask(MASK_IDLE), cpu)
    }

    /// Clears the idle mark of a CPU. Returns whether it was set.
    pub fn take_idle(&mut self, cpu: u32) -> bool {
        let was = self.is_idle(cpu);
        if was {
            self.w.mark_idle(cpu, false);
        }
        was
    }

    /// Returns the next matching CPU after the last one that this function chose on the acting CPU.
    /// The lowest CPU follows the highest.
    pub fn distribute(&mut self, is_one: impl Fn(&Self, u32) -> bool) -> Option<u32> {
        let cpus = self.w.nr_cpus();
        let acting = self.w.cpu as usize;
        let prev = self.w.cpus[acting].distribute_prev;
        let found = (1..=cpus).map(|step| (prev + step) % cpus).find(|&cpu| is_one(self, cpu))?;
        self.w.cpus[acting].distribute_prev = found;
        self.p.work.queues += u64::from(cpus);
        Some(found)
    }

    /// Makes a task runnable on a CPU.
    pub fn activate(&mut self, row: u32, cpu: u32, enq_flags: u64) {
        self.move_task(row, cpu);
        self.w.set_runnable(row, true);
        self.w.tasks[row as usize].put_back = None;
        self.waits_from_now(row);
        self.w.set_task_u32(row, self.w.at.state, 0);
        self.w.set_task_flag(row, crate::kernel_types::TASK_DEQD_FOR_SLEEP, false);
        let args = [self.w.task_address(row), enq_flags];
        self.call(Callback::RUNNABLE, Context::Other, &args);
        self.enqueue(row, enq_flags);
        self.look(cpu);
    }

    /// Makes an idle CPU look for work.
    pub fn look(&mut self, cpu: u32) {
        if self.w.cpus[cpu as usize].is_vacant() && self.w.in_schedule != Some(cpu) {
            self.p.resched(CpuId(cpu));
        }
    }

    /// Starts the wait of a task.
    pub(crate) fn waits_from_now(&mut self, row: u32) {
        let now = self.now();
        self.w.tasks[row as usize].runnable_at = now;
        let jiffies = self.p.jiffies().wrapping_add(self.first_jiffy());
        self.w.set_task_u64(row, self.w.at.runnable_at, jiffies);
        self.arm_watchdog(now);
    }

    /// Returns the value of jiffies when a run begins: 300 s before the low 32 bits overflow, as in
    /// the kernel.
    pub fn first_jiffy(&self) -> u64 {
        (1 << 32) - 300 * u64::from(self.p.hz())
    }

    /// Puts a runnable task into a queue where a CPU will find it, or gives it to the policy.
    pub fn enqueue(&mut self, row: u32, enq_flags: u64) {
        self.p.work.enqueues += 1;
        if self.is_bypassed() {
            self.w.tasks[row as usize].direct = None;
            self.put(row, self.w.global(), enq_flags & !ENQ_DSQ_PRIQ);
            self.look_for_bypassed(row);
            return;
        }
        if self.w.tasks[row as usize].direct.is_some() {
            return self.insert_directly(row, enq_flags);
        }
        let is_exiting = self.w.tasks[row as usize].is_dying;
        if is_exiting && self.w.image.ops.flags & OPS_ENQ_EXITING == 0 {
            self.w.set_slice(row, SLICE_DFL);
            return self.put(row, self.w.tasks[row as usize].cpu, enq_flags);
        }
        if !self.has(Callback::ENQUEUE) {
            self.w.set_slice(row, SLICE_DFL);
            return self.put(row, self.w.global(), enq_flags);
        }
        self.w.qseqs += 1;
        self.w.tasks[row as usize].qseq = self.w.qseqs;
        self.w.direct_for = Some(row);
        let args = [self.w.task_address(row), enq_flags];
        self.call(Callback::ENQUEUE, Context::Enqueue, &args);
        self.w.direct_for = None;
        if self.w.tasks[row as usize].direct.is_some() {
            self.insert_directly(row, enq_flags);
        } else if self.is_bypassed() {
            // The policy ended in this very call. No task is lost.
            self.put(row, self.w.global(), 0);
        } else {
            self.w.tasks[row as usize].holder = Holder::Policy;
        }
    }

    /// Lets any idle CPU serve a task after the policy has ended.
    fn look_for_bypassed(&mut self, row: u32) {
        let idle = (0..self.w.nr_cpus()).find(|&cpu| {
            self.w.cpus[cpu as usize].is_vacant()
                && self.w.cpus[cpu as usize].is_online
                && self.w.tasks[row as usize].allowed.contains(CpuId(cpu))
        });
        if let Some(cpu) = idle {
            self.look(cpu);
        }
    }

    /// Carries out the insertion that `select_cpu` or `enqueue` requested.
    fn insert_directly(&mut self, row: u32, enq_flags: u64) {
        let Some((dsq, flags)) = self.w.tasks[row as usize].direct.take() else { return };
        let cpu = self.w.tasks[row as usize].cpu;
        match self.queue_of(dsq, cpu) {
            Some(queue) => self.put_where_it_may_be(row, queue, enq_flags | flags),
            None => self.put(row, self.w.global(), enq_flags | flags & !ENQ_DSQ_PRIQ),
        }
    }

    /// Returns the queue with an id, as a CPU sees it. Ends the policy if there is none.
    pub fn queue_of(&mut self, dsq: u64, cpu: u32) -> Option<u32> {
        let number = dsq as u32;
        let found = if dsq == DSQ_LOCAL {
            Some(cpu)
        } else if dsq == DSQ_GLOBAL {
            Some(self.w.global())
        } else if dsq & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            (number < self.w.nr_cpus()).then_some(number)
        } else {
            self.w.queue_of.get(&dsq).copied()
        };
        if found.is_none() {
            self.error(match dsq & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
                true => format!("invalid CPU {number} in SCX_DSQ_LOCAL_ON verdict"),
                false => format!("invalid DSQ ID {dsq:#018x}"),
            });
        }
        found
    }

    /// Puts a task into a queue. Another CPU's local queue must be allowed for the task.
    fn put_where_it_may_be(&mut self, row: u32, queue: u32, flags: u64) {
        let task = &self.w.tasks[row as usize];
        if queue < self.w.nr_cpus() && !task.allowed.contains(CpuId(queue)) {
            let name = self.w.task_name(row);
            self.error(format!("SCX_DSQ_LOCAL[_ON] target CPU {queue} not allowed for {name}"));
            return self.put(row, self.w.global(), flags & !ENQ_DSQ_PRIQ);
        }
        self.put(row, queue, flags);
    }

    /// Puts a task that is in no queue into one.
    pub fn put(&mut self, row: u32, queue: u32, flags: u64) {
        self.w.stamps += 1;
        let stamp = self.w.stamps;
        let vtime = self.w.task_u64(row, self.w.at.vtime);
        let at_head = flags & (ENQ_HEAD | ENQ_PREEMPT) != 0;
        let is_user = queue > self.w.global();
        let dsq = &mut self.w.queues[queue as usize];
        let (id, len) = (dsq.id, dsq.len() as u32);
        let put = if is_user && flags & ENQ_DSQ_PRIQ != 0 {
            self.p.work.tree(len);
            self.p.work.scx_vtime_levels += u64::from(u32::BITS - len.leading_zeros());
            dsq.insert_vtime(row, stamp, vtime)
        } else {
            dsq.insert(row, stamp, at_head)
        };
        match put {
            Ok(key) => self.w.tasks[row as usize].holder = Holder::Queue(queue, key),
            Err(MixedOrder { holds_priq }) => {
                let kind = if holds_priq { "PRIQ" } else { "FIFO" };
                self.error(format!("DSQ ID {id:#018x} already had {kind}-enqueued tasks"));
                // Only queues of the policy can hold tasks of another kind.
                return self.put(row, self.w.global(), flags & !ENQ_DSQ_PRIQ);
            }
        }
        if queue < self.w.nr_cpus() {
            self.put_locally(row, queue, flags);
        }
    }

    /// Handles a task that has come into a local queue.
    fn put_locally(&mut self, row: u32, cpu: u32, flags: u64) {
        self.move_task(row, cpu);
        let mut preempts = false;
        let curr = self.w.cpus[cpu as usize].curr;
        if flags & ENQ_PREEMPT != 0
            && let Some(curr) = curr
            && curr != row
        {
            self.w.set_slice(curr, 0);
            preempts = true;
        }
        let rule = if preempts { rules::CUTS_SLICE } else { rules::WAITS };
        self.p.by_rule(Question::Preempt, CpuId(cpu), rule);
        let is_vacant = self.w.cpus[cpu as usize].is_vacant();
        if (preempts || is_vacant) && self.w.in_schedule != Some(cpu) {
            self.p.resched(CpuId(cpu));
        }
    }

    /// Removes a waiting task from its holder.
    pub fn take_out(&mut self, row: u32) {
        if let Holder::Queue(queue, key) = self.w.tasks[row as usize].holder {
            self.w.queues[queue as usize].remove(key);
            self.p.work.dequeues += 1;
        }
        self.w.tasks[row as usize].holder = Holder::None;
    }

    /// Keeps an insertion by `dispatch` until `dispatch` ends, or moves a task to the local queue.
    pub fn buffer(&mut self, row: u32, dsq: u64, flags: u64) {
        let batch = match self.w.image.ops.dispatch_max_batch {
            0 => DISPATCH_BATCH,
            batch => batch,
        };
        if self.w.insertions.len() as u64 >= batch {
            return self.error("dispatch buffer overflow");
        }
        let qseq = self.w.tasks[row as usize].qseq;
        self.w.insertions.push(Insertion { task: row, qseq, dsq, flags });
    }

    /// Returns the number of free slots of the buffer.
    pub fn slots_left(&self) -> u64 {
        let batch = match self.w.image.ops.dispatch_max_batch {
            0 => DISPATCH_BATCH,
            batch => batch,
        };
        batch.saturating_sub(self.w.insertions.len() as u64)
    }

    /// Carries out the insertions of `dispatch` and returns their number. Stale insertions are
    /// dropped: the policy no longer has the task, or has received it again since.
    pub fn flush(&mut self, cpu: u32) -> usize {
        let mut insertions = std::mem::take(&mut self.w.insertions);
        let count = insertions.len();
        for insertion in insertions.drain(..) {
            let Insertion { task, qseq, dsq, flags } = insertion;
            let row = &self.w.tasks[task as usize];
            if row.holder != Holder::Policy || row.qseq != qseq {
                continue;
            }
            self.w.tasks[task as usize].holder = Holder::None;
            match self.queue_of(dsq, cpu) {
                Some(queue) => {
                    if queue <= self.w.global() {
                        self.leaves_custody(task);
                    }
                    self.put_where_it_may_be(task, queue, flags);
                }
                None => self.put(task, self.w.global(), flags & !ENQ_DSQ_PRIQ),
            }
        }
        // The buffer keeps its memory.
        self.w.insertions = insertions;
        count
    }

    /// Moves the first task of a queue that may run on a CPU to its local queue. Returns whether
    /// there was one. A task that is still current on another CPU is skipped, and the CPU looks
    /// again in the same instant.
    pub fn consume(&mut self, queue: u32, cpu: u32) -> bool {
        let mut passed_over = false;
        let mut found: Option<Entry> = None;
        for entry in self.w.queues[queue as usize].iter() {
            let task = &self.w.tasks[entry.task as usize];
            self.p.work.scanned += 1;
            if !task.allowed.contains(CpuId(cpu)) || self.is_not_seen_yet(task, cpu) {
                continue;
            }
            if task.on_cpu.is_some_and(|on| on != cpu) {
                passed_over = true;
                continue;
            }
            found = Some(*entry);
            break;
        }
        if passed_over {
            self.p.resched(CpuId(cpu));
        }
        let Some(entry) = found else { return false };
        self.take_out(entry.task);
        if queue > self.w.global() {
            self.leaves_custody(entry.task);
        }
        self.put(entry.task, cpu, 0);
        true
    }

    /// Whether another CPU is putting a task back and this CPU does not see it yet.
    pub fn is_not_seen_yet(&self, task: &crate::task::Task, cpu: u32) -> bool {
        let here = &self.w.cpus[cpu as usize];
        let has_one = here.curr.is_some() && !here.is_curr_gone;
        task.put_back.is_some_and(|back| {
            back.by != cpu && self.now() < back.until_ns && (has_one || !back.unless_idle)
        })
    }

    /// Whether a task is invisible to a CPU, because another CPU was stopped while putting it back.
    pub fn is_hidden(&self, row: u32, cpu: u32) -> bool {
        let back = self.w.tasks[row as usize].put_back;
        back.is_some_and(|back| !back.unless_idle) && {
            self.is_not_seen_yet(&self.w.tasks[row as usize], cpu)
        }
    }

    /// Returns the time from which other CPUs see the task that a CPU puts back now.
    pub fn put_back(&mut self, cpu: u32) -> Option<PutBack> {
        let now = self.now();
        if let Some(recorded) = self.w.put_backs.get_mut(cpu as usize) {
            while recorded.front().is_some_and(|&(at, _)| at + PUT_BACK_SLACK < now) {
                recorded.pop_front();
            }
            let (at, until_ns) = *recorded.front()?;
            let is_it = at <= now + PUT_BACK_SLACK;
            return is_it.then_some(PutBack { until_ns, by: cpu, unless_idle: false });
        }
        let until_ns = now + self.w.put_back_ns;
        (self.w.put_back_ns > 0).then_some(PutBack { until_ns, by: cpu, unless_idle: true })
    }

    /// Handles a task of the policy that is taken to run. Later kernels report this to the policy.
    fn leaves_custody(&mut self, row: u32) {
        if self.w.profile >= Profile::V7_3 {
            let args = [self.w.task_address(row), 0];
            self.call(Callback::DEQUEUE, Context::Other, &args);
        }
    }

    /// Chooses what a CPU runs next: S 4 of the specification, up to the choice. Returns whether
    /// the current task is kept, and the rule. If it is not kept, the first task of the local queue
    /// is next.
    pub fn balance(&mut self, cpu: u32, prev: Option<u32>, is_runnable: bool) -> (bool, Rule) {
        if let Some(found) = self.find_work(cpu, prev, is_runnable) {
            return found;
        }
        let keeps_last = self.w.image.ops.flags & OPS_ENQ_LAST == 0 || self.is_bypassed();
        if let Some(prev) = prev.filter(|_| is_runnable && keeps_last) {
            let slice = if self.is_bypassed() { SLICE_BYPASS } else { SLICE_DFL };
            self.w.set_slice(prev, slice);
            return (true, rules::NO_OTHER);
        }
        (false, rules::IDLE)
    }

    /// Searches for a task to run. Leaves open whether the current task continues when there is no
    /// other.
    pub(crate) fn find_work(
        &mut self,
        cpu: u32,
        prev: Option<u32>,
        is_runnable: bool,
    ) -> Option<(bool, Rule)> {
        let can_stay = |act: &Self| prev.is_some_and(|prev| is_runnable && act.w.slice(prev) > 0);
        if can_stay(self) {
            return Some((true, rules::KEEPS));
        }
        if let Some(rule) = self.finds_local(cpu) {
            return Some((false, rule));
        }
        if self.has(Callback::DISPATCH) {
            for round in 0.. {
                if round == DISPATCH_ROUNDS {
                    self.p.resched(CpuId(cpu));
                    break;
                }
                let prev_address = prev.map_or(0, |prev| self.w.task_address(prev));
                let args = [u64::from(cpu), prev_address];
                let before = self.w.stamps;
                self.call(Callback::DISPATCH, Context::Dispatch, &args);
                self.flush(cpu);
                let has_dispatched = self.w.stamps != before;
                if can_stay(self) {
                    return Some((true, rules::NEW_SLICE));
                }
                if let Some(rule) = self.finds_local(cpu) {
                    return Some((false, rule));
                }
                if !has_dispatched || self.is_bypassed() {
                    break;
                }
            }
        }
        None
    }

    /// Names the rule of a pick. The candidates are the current task if it is kept, else the tasks
    /// of the local queue in order.
    pub fn account_for(&mut self, cpu: u32, rule: Rule, kept: Option<u32>) {
        let w = &*self.w;
        self.p.because(Question::Pick, CpuId(cpu), rule, |evidence| {
            let local = w.queues[cpu as usize].iter().map(|entry| entry.task);
            let waiting = local.filter(|&row| {
                kept.is_none() && w.tasks[row as usize].on_cpu.is_none_or(|on| on == cpu)
            });
            for (row, place) in kept.into_iter().chain(waiting).zip(0..) {
                let candidate = Candidate::task(w.task_id(row), [place, 0, 0, 0]);
                let slice = i64::try_from(w.slice(row)).unwrap_or(i64::MAX);
                evidence.candidates.push(candidate.with("slice_ns", slice));
            }
        });
    }

    /// Whether a task waits in the local queue, or can be moved there from the global one.
    fn finds_local(&mut self, cpu: u32) -> Option<Rule> {
        let can_run =
            |entry: &Entry| self.w.tasks[entry.task as usize].on_cpu.is_none_or(|on| on == cpu);
        let local = &self.w.queues[cpu as usize];
        if local.iter().any(can_run) {
            return Some(rules::LOCAL);
        }
        if !local.is_empty() {
            // They are still on other CPUs, which switch in this instant.
            self.p.resched(CpuId(cpu));
        }
        self.consume(self.w.global(), cpu).then_some(rules::GLOBAL)
    }

    /// Takes the first task of the local queue that can run now.
    pub fn take_local(&mut self, cpu: u32) -> Option<u32> {
        let row = self.w.queues[cpu as usize]
            .iter()
            .map(|entry| entry.task)
            .find(|&row| self.w.tasks[row as usize].on_cpu.is_none_or(|on| on == cpu))?;
        self.take_out(row);
        if self.w.slice(row) == 0 {
            self.w.set_slice(row, if self.is_bypassed() { SLICE_BYPASS } else { SLICE_DFL });
        }
        Some(row)
    }

    /// Puts away a current task that is runnable.
    pub fn put_away(&mut self, cpu: u32, row: u32, next: Option<u32>, back: Option<PutBack>) {
        let args = [self.w.task_address(row), 1];
        self.call(Callback::STOPPING, Context::Other, &args);
        self.waits_from_now(row);
        if self.is_bypassed() {
            return self.enqueue(row, 0);
        }
        if self.w.slice(row) > 0 {
            return self.put(row, cpu, ENQ_HEAD);
        }
        let is_last = next.is_none() && self.w.image.ops.flags & OPS_ENQ_LAST != 0;
        self.w.tasks[row as usize].put_back = back;
        self.enqueue(row, if is_last { ENQ_LAST } else { 0 });
        if is_last && !self.w.queues[cpu as usize].is_empty() {
            self.p.resched(CpuId(cpu));
        }
    }

    /// Notifies the policy that a CPU became idle or busy.
    pub fn update_idle(&mut self, cpu: u32, is_idle: bool) {
        if self.w.tracks_idle {
            let is_online = self.w.cpus[cpu as usize].is_online;
            self.w.mark_idle(cpu, is_idle && is_online);
        }
        if self.w.cpus[cpu as usize].is_idle != is_idle {
            self.w.cpus[cpu as usize].is_idle = is_idle;
            let args = [u64::from(cpu), u64::from(is_idle)];
            self.call(Callback::UPDATE_IDLE, Context::Other, &args);
        }
    }

    /// Creates a queue.
    ///
    /// # Errors
    /// `-EINVAL` for a built-in id, `-EEXIST` if the queue exists.
    pub fn create_dsq(&mut self, id: u64) -> Result<(), i64> {
        if id & DSQ_BUILTIN != 0 {
            return Err(crate::errno::EINVAL);
        }
        if self.w.queue_of.contains_key(&id) {
            return Err(crate::errno::EEXIST);
        }
        let queue = match self.w.free_queues.pop() {
            Some(queue) => {
                self.w.queues[queue as usize] = Dsq::new(id);
                queue
            }
            None => {
                self.w.queues.push(Dsq::new(id));
                self.w.queues.len() as u32 - 1
            }
        };
        self.w.queue_of.insert(id, queue);
        Ok(())
    }

    /// Destroys an empty queue.
    pub fn destroy_dsq(&mut self, id: u64) {
        let Some(&queue) = self.w.queue_of.get(&id) else { return };
        if self.w.queues[queue as usize].is_empty() {
            self.w.queue_of.remove(&id);
            self.w.free_queues.push(queue);
        }
    }

    /// Inserts a task on behalf of `select_cpu`, `enqueue` or `dispatch`.
    pub fn insert(&mut self, row: u32, dsq: u64, slice: u64, vtime: Option<u64>, flags: u64) {
        let is_direct = match self.w.context {
            Context::SelectCpu | Context::Enqueue => true,
            Context::Dispatch => false,
            _ => return self.error(format!("kfunc not allowed from ops.{}()", self.w.callback)),
        };
        if flags & ENQ_DSQ_PRIQ != 0 {
            return self.error(format!("invalid enq_flags {flags:#x}"));
        }
        if vtime.is_some() && dsq & DSQ_BUILTIN != 0 {
            return self.error(format!("cannot use vtime ordering for built-in DSQ {dsq:#x}"));
        }
        if is_direct && self.w.direct_for != Some(row) {
            let name = self.w.task_name(row);
            return self.error(format!("attempted to direct-dispatch a different task {name}"));
        }
        if is_direct && self.w.tasks[row as usize].direct.is_some() {
            let name = self.w.task_name(row);
            return self.error(format!("{name} already direct-dispatched"));
        }
        let slice = match slice {
            0 => self.w.slice(row).max(1),
            slice => slice,
        };
        self.w.set_slice(row, slice);
        let mut flags = flags;
        if let Some(vtime) = vtime {
            self.w.set_task_u64(row, self.w.at.vtime, vtime);
            flags |= ENQ_DSQ_PRIQ;
        }
        if is_direct {
            // An id that does not exist is an error immediately.
            let cpu = self.w.tasks[row as usize].cpu;
            if self.queue_of(dsq, cpu).is_some() {
                self.w.tasks[row as usize].direct = Some((dsq, flags));
            }
        } else {
            self.buffer(row, dsq, flags);
        }
    }

    /// Moves a task from one queue to another. Returns whether it did.
    pub fn move_between(&mut self, row: u32, from: u32, dsq: u64, flags: u64) -> bool {
        let Holder::Queue(queue, _) = self.w.tasks[row as usize].holder else { return false };
        if queue != from {
            return false;
        }
        let cpu = if dsq == DSQ_LOCAL { self.w.cpu } else { self.w.tasks[row as usize].cpu };
        let Some(to) = self.queue_of(dsq, cpu) else { return false };
        let task = &self.w.tasks[row as usize];
        if to < self.w.nr_cpus() && task.on_cpu.is_some_and(|on| on != to) {
            self.p.resched(CpuId(to));
            return false;
        }
        self.take_out(row);
        if from > self.w.global() && to <= self.w.global() {
            self.leaves_custody(row);
        }
        self.put_where_it_may_be(row, to, flags);
        true
    }
}
