//! A sched_ext policy as a scheduler: the hooks of the trait, turned into what the kernel's core
//! would ask of the class.

use crate::class::SLICE_BYPASS;
use crate::kernel_types::{
    DEQ_SLEEP, ENQ_MOVE, ENQ_NOCLOCK, ENQ_RESTORE, EXIT_ERROR_STALL, OPS_SWITCH_PARTIAL, SLICE_DFL,
    TASK_DEQD_FOR_SLEEP, WAKE_FORK,
};
use crate::log::Log;
use crate::map_def::MapKind;
use crate::memory::{self, address};
use crate::object::Image;
use crate::ops::Callback;
use crate::restart::Restarts;
use crate::rules;
use crate::timer_keys::Timer;
use crate::world::{Act, Context, Counts, Cpu, End, Holder, Task, World, group_weight, weight_of};
use schedlab_core::control::{Command, ControlError, Reply};
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, CpuId, CpuSet, Errno, GroupId, Inspect, Load, Parent,
    Platform, Promises, Question, RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey,
    TimerPhase, Topology, Tunable, Waker,
};
use std::sync::Arc;

/// So long a runnable task may wait, unless the policy says less, ms.
const TIMEOUT_MS: u64 = 30_000;

/// Flags of Linux 7.3, as read in a trace of 7.3.4: a new task; a task that comes off its queue for
/// a change, and back.
const ENQ_INITIAL: u64 = 0x8_0000;
pub(crate) const DEQ_SCHED_CHANGE: u64 = 1 << 33;
pub(crate) const ENQ_SCHED_CHANGE: u64 = 1 << 60;

/// So many reschedules there may be in one instant for each CPU, before it is an endless loop.
const RESCHEDULES_MAX: u64 = 20_000;

/// With this the message of an ended policy begins.
pub const ENDED: &str = "scx: policy ";

/// What happens when a policy ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEnd {
    /// The run ends: the hook unwinds with the message, and whoever catches a scheduler's panics
    /// reports it. Nothing is printed.
    #[default]
    Stop,
    /// The run goes on: all tasks run first come first served from one queue, in turns of 5 ms, as
    /// a kernel goes on with its fair class.
    GoOn,
}

/// The kernel whose class is played.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Profile {
    /// Linux 6.18.
    #[default]
    V6_18,
    /// Linux 7.3: `dequeue` is called whenever a task leaves the policy's custody, also when it is
    /// taken from one of the policy's queues to run; changes and births carry flags of their own.
    V7_3,
}

/// How a policy is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What happens when it ends.
    pub on_end: OnEnd,
    /// Whether what it prints is kept.
    pub keeps_printed: bool,
    /// What `bpf_get_prandom_u32` starts from.
    pub seed: u64,
    /// The kernel whose class is played.
    pub profile: Profile,
    /// So long a task that a CPU has put back into a queue is not seen by another CPU that has a
    /// task to go on with, ns; 0: an instant is atomic. In a kernel two CPUs whose slices end at
    /// one tick reschedule at once, and neither finds what the other is about to put back.
    pub put_back_ns: u64,
    /// What its author promises; `stress` holds it to that.
    pub promises: Promises,
}

/// A sched_ext policy at work.
#[derive(Debug)]
pub struct ScxScheduler {
    pub(crate) world: World,
    pub(crate) options: Options,
    pub(crate) has_started: bool,
    /// The end has been dealt with.
    has_ended: bool,
    /// The present instant, and how often CPUs have rescheduled in it.
    instant: (u64, u64),
    /// How often it was loaded again.
    pub(crate) restarts: Restarts,
}

impl ScxScheduler {
    /// The policy of an image, on a machine that it was linked for.
    pub fn new(image: Arc<Image>, config: &BuildConfig, options: Options) -> ScxScheduler {
        let world = ScxScheduler::world(image, &config.topology, options);
        let instant = (0, 0);
        let (has_started, has_ended, restarts) = (false, false, Restarts::default());
        ScxScheduler { world, options, has_started, has_ended, instant, restarts }
    }

    /// The world in which the policy of an image begins.
    pub(crate) fn world(image: Arc<Image>, topology: &Topology, options: Options) -> World {
        let mut world = World::new(image, topology);
        world.random ^= options.seed;
        world.profile = options.profile;
        world.put_back_ns = options.put_back_ns;
        if options.keeps_printed {
            world.printed = Some(vec![]);
        }
        world
    }

    /// Tells `log` what it does.
    pub fn log_to(&mut self, log: Log) {
        self.world.log = Some(log);
    }

    /// CPUs of another machine were stopped within a switch, between the choice of the next task
    /// and the return of the old one to its queue: by CPU when they chose, and when they put back,
    /// ns, in rising order. What they put back is not seen before.
    pub fn put_back_as_recorded(&mut self, times: Vec<Vec<(u64, u64)>>) {
        let mut times: Vec<_> = times.into_iter().map(Into::into).collect();
        times.resize(self.world.nr_cpus() as usize, Default::default());
        self.world.put_backs = times;
    }

    /// The policy, linked.
    pub fn image(&self) -> &Image {
        &self.world.image
    }

    /// What it did, counted.
    pub fn counts(&self) -> &Counts {
        &self.world.counts
    }

    /// How often each map was used, by name.
    pub fn map_counts(&self) -> impl Iterator<Item = (&str, crate::maps::MapCounts)> {
        self.world.maps.iter().map(|map| (map.def.name.as_str(), map.counts))
    }

    /// Why it ended; none if it has not.
    pub fn end(&self) -> Option<&End> {
        self.world.ended.as_ref()
    }

    /// What it printed, if that is kept: time in ns, CPU, text.
    pub fn printed(&self) -> &[(u64, u32, String)] {
        self.world.printed.as_deref().unwrap_or_default()
    }

    /// The value of a variable of 1, 2, 4 or 8 bytes, as it is now; none if there is none.
    pub fn variable(&self, name: &str) -> Option<u64> {
        let variable = self.world.image.variables.iter().find(|known| known.name == name)?;
        let at = address(memory::FIRST_FREE + variable.data as u32, variable.offset);
        self.world.vm.memory.load(at, variable.size as usize)
    }

    /// The message of an ended policy: why, the last callbacks, the registers.
    pub fn end_message(&self) -> Option<String> {
        let end = self.world.ended.as_ref()?;
        let name = &self.world.image.name;
        let mut text = format!(
            "{ENDED}{name} ended at {} ns in {}: {}",
            end.at_ns,
            if end.callback.is_empty() { "the class" } else { end.callback },
            end.message
        );
        text += "\n  the last callbacks:";
        for recent in &self.world.recent {
            let args: Vec<String> = recent.args[..recent.len.min(recent.args.len())]
                .iter()
                .map(|&arg| match self.world.task_at(arg) {
                    Some(row) => self.world.task_name(row),
                    None if arg < 4096 => arg.to_string(),
                    None => format!("{arg:#x}"),
                })
                .collect();
            let (at, cpu, callback) = (recent.at_ns, recent.cpu, recent.callback.name());
            text += &format!("\n  {at} ns CPU {cpu} {callback}({})", args.join(", "));
        }
        if let Some(registers) = end.registers {
            text += "\n  registers:";
            for (number, value) in registers.iter().enumerate() {
                text += &format!(" r{number}={value:#x}");
            }
        }
        Some(text)
    }

    /// Carries out a hook on a CPU; what it leaves behind is dealt with.
    pub(crate) fn act<R>(
        &mut self,
        platform: &mut Platform,
        cpu: u32,
        hook: impl FnOnce(&mut Act<'_>) -> R,
    ) -> R {
        let mut act = Act { w: &mut self.world, p: platform };
        if !self.has_started {
            self.has_started = true;
            act.start();
        }
        act.w.cpu = cpu;
        let result = hook(&mut act);
        while self.world.ended.is_some() && !self.has_ended {
            self.has_ended = true;
            let mut act = Act { w: &mut self.world, p: platform };
            act.w.cpu = cpu;
            act.leave();
            if self.is_to_restart(platform.now_ns()) {
                self.has_ended = false;
                self.restart(platform);
            } else if self.options.on_end == OnEnd::Stop {
                let message = self.end_message().unwrap_or_default();
                std::panic::resume_unwind(Box::new(message));
            }
        }
        result
    }
}

impl Act<'_> {
    /// The policy is loaded.
    pub(crate) fn start(&mut self) {
        if self.w.image.ops.flags & OPS_SWITCH_PARTIAL != 0 {
            self.error(
                "SCX_OPS_SWITCH_PARTIAL leaves all tasks but those of SCHED_EXT to the fair class, \
                 which is not here: run it without that flag (--scx-set ops.flags=N)",
            );
        }
        self.user_before();
        self.call_programs();
        let result = self.call(Callback::INIT, Context::Sleepable, &[]);
        if let Some(error) = result.map(|result| result as i32).filter(|&error| error != 0) {
            self.w.callback = "init";
            self.error(format!("init returned {error}"));
            self.w.callback = "";
        }
        let failed = self.init_group(0);
        if let Some(error) = failed {
            self.error(format!("cgroup_init returned {error}"));
        }
        for cpu in 0..self.w.nr_cpus() {
            self.w.cpu = cpu;
            // Only a policy that is loaded again finds busy ones, and such as are off line.
            let Cpu { curr, is_online, .. } = self.w.cpus[cpu as usize];
            if curr.is_none() && is_online {
                self.update_idle(cpu, true);
            }
        }
        self.user_begins();
    }

    /// Tells the policy of a group; the error that it returns.
    pub(crate) fn init_group(&mut self, group: u32) -> Option<i32> {
        let types = self.w.image.types.clone();
        let at = address(memory::SCRATCH, 0);
        let field = |name| at + u64::from(types.offset("scx_cgroup_init_args", name));
        let shares = self.w.groups.get(group as usize).map_or(1024, |group| group.shares);
        self.w.vm.memory.write(field("weight"), 4, group_weight(shares));
        self.w.vm.memory.write(field("bw_period_us"), 8, 100_000);
        // No limit.
        self.w.vm.memory.write(field("bw_quota_us"), 8, u64::MAX);
        self.w.vm.memory.write(field("bw_burst_us"), 8, 0);
        let args = [self.w.cgroup(group), at];
        let result = self.call(Callback::CGROUP_INIT, Context::Sleepable, &args)?;
        Some(result as i32).filter(|&error| error != 0)
    }

    /// The policy has ended: it is told so, and its tasks are taken from it.
    fn leave(&mut self) {
        self.dump();
        let end = self.w.ended.clone();
        if let Some(log) = &self.w.log
            && let Some(end) = &end
        {
            log.tell(|witness| witness.ended(end));
        }
        if let Some(end) = end {
            let types = self.w.image.types.clone();
            let at = address(memory::SCRATCH, 256);
            let field = |name| at + u64::from(types.offset("scx_exit_info", name));
            let texts = [(512, end.reason.to_string()), (2048, end.message.clone())];
            for (offset, text) in &texts {
                let len = text.len().min(1023);
                let to = address(memory::SCRATCH, *offset);
                if let Some(place) = self.w.vm.memory.slice_mut(to, 1024) {
                    place.fill(0);
                    place[..len].copy_from_slice(&text.as_bytes()[..len]);
                }
            }
            self.w.vm.memory.write(field("kind"), 4, end.kind);
            self.w.vm.memory.write(field("exit_code"), 8, end.code as u64);
            self.w.vm.memory.write(field("reason"), 8, address(memory::SCRATCH, 512));
            self.w.vm.memory.write(field("msg"), 8, address(memory::SCRATCH, 2048));
            let mut dump = end.dump.clone().into_bytes();
            dump.push(0);
            self.w.vm.memory.set(memory::DUMP, "dump", dump.len(), false);
            let at_dump = address(memory::DUMP, 0);
            if let Some(place) = self.w.vm.memory.slice_mut(at_dump, dump.len()) {
                place.copy_from_slice(&dump);
            }
            self.w.vm.memory.write(field("dump"), 8, at_dump);
            self.call(Callback::EXIT, Context::Sleepable, &[at]);
        }
        self.w.insertions.clear();
        for row in self.w.nr_cpus()..self.w.tasks.len() as u32 {
            let is_held = match self.w.tasks[row as usize].holder {
                Holder::Policy => true,
                Holder::Queue(queue, _) => queue > self.w.global(),
                Holder::Nobody => false,
            };
            if is_held {
                self.take_out(row);
                self.put(row, self.w.global(), 0);
            }
            let slice = self.w.slice(row).min(SLICE_BYPASS);
            self.w.set_slice(row, slice);
        }
        for cpu in 0..self.w.nr_cpus() {
            if self.w.cpus[cpu as usize].is_online {
                self.p.resched(CpuId(cpu));
            }
        }
    }

    /// The watchdog looks again when somebody can have waited for too long.
    pub(crate) fn arm_watchdog(&mut self, since_ns: u64) {
        if self.w.is_watched || self.w.ended.is_some() {
            return;
        }
        self.w.is_watched = true;
        let at = since_ns.saturating_add(self.timeout_ns());
        self.p.arm_timer(Timer::Watchdog.key(), TimerPhase::BeforeTicks, at);
    }

    fn timeout_ns(&self) -> u64 {
        let timeout = match self.w.image.ops.timeout_ms {
            0 => TIMEOUT_MS,
            timeout => timeout,
        };
        timeout * 1_000_000
    }

    /// Whether a task is the current one of a CPU and can go on.
    pub(crate) fn runs(&self, row: u32) -> bool {
        let on_cpu = self.w.tasks[row as usize].on_cpu;
        on_cpu.is_some_and(|cpu| self.w.cpus[cpu as usize].goes_on_with(row))
    }

    /// The watchdog looks who waits for how long.
    fn watch(&mut self) {
        self.w.is_watched = false;
        let (now, timeout) = (self.now(), self.timeout_ns());
        let waits = (self.w.nr_cpus()..self.w.tasks.len() as u32)
            .filter(|&row| self.w.tasks[row as usize].is_runnable && !self.runs(row));
        let oldest = waits.min_by_key(|&row| self.w.tasks[row as usize].runnable_at);
        let Some(row) = oldest else { return };
        let since = self.w.tasks[row as usize].runnable_at;
        if now - since < timeout {
            return self.arm_watchdog(since);
        }
        let name = self.w.task_name(row);
        let waited = (now - since) / 1_000_000;
        self.w.callback = "the watchdog";
        self.w.end(EXIT_ERROR_STALL, 0, format!("{name} failed to run for {waited} ms"), now);
        self.w.callback = "";
    }

    /// A task is born and begins.
    fn fork(&mut self, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let row = self.w.row(task);
        let (prev, near) = self.born(row, attr, parent);
        self.introduce(row);
        self.w.cpu = near.map_or(prev, |cpu| cpu.0);
        let cpu = self.place(row, prev, WAKE_FORK);
        self.activate_new(row, cpu);
    }

    /// A task that is born, and has its CPU, joins a queue.
    pub(crate) fn activate_new(&mut self, row: u32, cpu: u32) {
        let initial = if self.w.profile >= Profile::V7_3 { ENQ_INITIAL } else { 0 };
        self.activate(row, cpu, ENQ_NOCLOCK | initial);
    }

    /// There is a task more. The CPU that it belongs to, and its parent's.
    pub(crate) fn born(
        &mut self,
        row: u32,
        attr: &TaskAttr,
        parent: Parent,
    ) -> (u32, Option<CpuId>) {
        let task = self.w.task_id(row);
        let (parent, near) = match parent {
            Parent::Task { task, cpu } => (Some(self.w.row(task)), Some(cpu)),
            Parent::External => (None, None),
        };
        self.w.add_task(row);
        let cpus = self.w.nr_cpus();
        let first = attr.allowed.first(cpus).unwrap_or(CpuId(0));
        let prev = near.filter(|&cpu| attr.allowed.contains(cpu)).unwrap_or(first).0;
        self.w.tasks[row as usize] = Task {
            is_alive: true,
            attr: attr.sched,
            allowed: attr.allowed.clone(),
            group: attr.group.0,
            cpu: prev,
            ..Task::default()
        };
        self.w.describe_task(row, &format!("task-{}", task.0), parent);
        let now = self.now();
        let mm = match attr.address_space {
            TaskAttr::NO_ADDRESS_SPACE => 0,
            space => address(memory::MM, space.saturating_add(1).saturating_mul(8)),
        };
        for (path, width, value) in [
            ("tgid", 4, 1000 + u64::from(attr.address_space)),
            ("mm", 8, mm),
            ("start_time", 8, now),
            ("thread_info.cpu", 4, u64::from(prev)),
        ] {
            let at = self.w.task_field(row, path);
            self.w.vm.memory.write(at, width, value);
        }
        self.w.add_thread(row);
        self.w.set_slice(row, SLICE_DFL);
        (prev, near)
    }

    /// A task is made known to the policy, and given to it.
    fn introduce(&mut self, row: u32) {
        self.init_task(row, true);
        self.enable(row);
    }

    /// The policy makes what it needs for a task, at its birth or when the policy is loaded.
    pub(crate) fn init_task(&mut self, row: u32, is_born: bool) {
        let types = self.w.image.types.clone();
        let args = address(memory::SCRATCH, 0);
        let field = |name| args + u64::from(types.offset("scx_init_task_args", name));
        let cgroup = self.w.cgroup(self.w.tasks[row as usize].group);
        self.w.vm.memory.write(field("fork"), 1, u64::from(is_born));
        self.w.vm.memory.write(field("cgroup"), 8, cgroup);
        let p = self.w.task_address(row);
        let result = self.call(Callback::INIT_TASK, Context::Sleepable, &[p, args]);
        if let Some(error) = result.map(|result| result as i32).filter(|&error| error != 0) {
            let name = self.w.task_name(row);
            self.w.callback = "init_task";
            self.error(format!("ops.init_task() failed ({error}) for {name}"));
            self.w.callback = "";
        }
    }

    /// Chooses the CPU of a task that becomes runnable.
    pub(crate) fn place(&mut self, row: u32, prev: u32, wake_flags: u64) -> u32 {
        let cpus = self.w.nr_cpus();
        let task = &self.w.tasks[row as usize];
        let (cpu, rule) = if task.nr_allowed > 1 {
            let rule = match self.has(Callback::SELECT_CPU) {
                true => rules::SELECTED,
                false => rules::BUILT_IN,
            };
            (self.select_cpu(row, prev, wake_flags), rule)
        } else {
            (task.allowed.first(cpus).map_or(prev, |cpu| cpu.0), rules::ONE_CPU)
        };
        self.p.by_rule(Question::SelectCpu, CpuId(cpu), rule);
        cpu
    }

    fn wake(&mut self, row: u32, waker: Waker) {
        let cpu = self.place_woken(row, waker);
        self.activate_woken(row, cpu);
    }

    fn block(&mut self, cpu: u32, row: u32, is_dead: bool) {
        let p = self.w.task_address(row);
        if self.w.cpus[cpu as usize].is_curr_gone {
            // In this very instant it lost the right to be here, and waits for another CPU already.
            self.give_back(row, DEQ_SLEEP | ENQ_NOCLOCK);
        } else {
            self.charge(cpu);
            self.call(Callback::STOPPING, Context::Other, &[p, 0]);
        }
        self.call(Callback::QUIESCENT, Context::Other, &[p, DEQ_SLEEP | ENQ_NOCLOCK]);
        self.w.set_runnable(row, false);
        self.w.set_task_flag(row, TASK_DEQD_FOR_SLEEP, true);
        self.w.set_task_u32(row, self.w.at.state, 1);
        self.w.cpus[cpu as usize].is_curr_gone = true;
        self.w.tasks[row as usize].is_dying = is_dead;
    }

    fn kill(&mut self, row: u32) {
        if self.w.tasks[row as usize].is_runnable {
            self.give_back(row, DEQ_SLEEP | ENQ_NOCLOCK);
            let args = [self.w.task_address(row), DEQ_SLEEP | ENQ_NOCLOCK];
            self.call(Callback::QUIESCENT, Context::Other, &args);
            self.w.set_runnable(row, false);
        }
        self.end_task(row);
    }

    /// A waiting task is taken from whoever has it; the policy is told if it is the one.
    pub(crate) fn give_back(&mut self, row: u32, deq_flags: u64) {
        let is_held = match self.w.tasks[row as usize].holder {
            Holder::Policy => true,
            Holder::Queue(queue, _) => self.w.profile >= Profile::V7_3 && queue > self.w.global(),
            Holder::Nobody => false,
        };
        if is_held {
            let args = [self.w.task_address(row), deq_flags];
            self.call(Callback::DEQUEUE, Context::Other, &args);
        }
        self.take_out(row);
    }

    /// A task is no more.
    pub(crate) fn end_task(&mut self, row: u32) {
        let p = self.w.task_address(row);
        self.disable(row);
        let args = address(memory::SCRATCH, 0);
        self.w.vm.memory.write(args, 1, 0);
        self.call(Callback::EXIT_TASK, Context::Other, &[p, args]);
        for map in &mut self.w.maps {
            if map.def.kind == MapKind::TaskStorage {
                map.delete_storage(p);
            }
        }
        self.w.remove_thread(row);
        self.w.tasks[row as usize].is_alive = false;
        self.w.tasks[row as usize].is_dying = false;
    }

    /// Reschedules a CPU: puts the current task away, picks the next.
    fn schedule(&mut self, cpu: u32) -> Option<u32> {
        self.update_clock(cpu);
        self.w.in_schedule = Some(cpu);
        let next = self.switch(cpu);
        self.w.in_schedule = None;
        if next.is_none() {
            self.look_again(cpu);
        }
        next
    }

    /// A CPU that is about to idle although somebody could run there looks again: tasks came back
    /// while it put its own away.
    fn look_again(&mut self, cpu: u32) {
        let local = !self.w.queues[cpu as usize].is_empty();
        let global = self.w.ended.is_some()
            && self.w.queues[self.w.global() as usize]
                .iter()
                .any(|entry| self.w.tasks[entry.task as usize].allowed.contains(CpuId(cpu)));
        if local || global {
            self.p.resched(CpuId(cpu));
        }
    }

    fn switch(&mut self, cpu: u32) -> Option<u32> {
        let curr = self.w.cpus[cpu as usize].curr;
        let is_runnable = curr.is_some() && !self.w.cpus[cpu as usize].is_curr_gone;
        if is_runnable {
            self.charge(cpu);
        }
        let (is_kept, rule) = self.balance(cpu, curr, is_runnable);
        self.account_for(cpu, rule, curr.filter(|_| is_kept));
        if is_kept {
            return curr;
        }
        let next = self.take_local(cpu);
        // Others see at once, or not, what it puts back.
        let back = self.put_back(cpu);
        let stopped_until = back.filter(|back| !back.unless_idle).map(|back| back.until_ns);
        if let Some(prev) = curr.filter(|_| is_runnable) {
            self.put_away(cpu, prev, next, back);
        }
        self.w.cpus[cpu as usize].curr = next;
        self.w.cpus[cpu as usize].is_curr_gone = false;
        if let Some(prev) = curr.filter(|_| curr != next) {
            self.leaves_cpu(prev, is_runnable);
        }
        if curr != next {
            self.w.counts.switches += 1;
        }
        let at = self.w.rq(cpu) + u64::from(self.w.image.types.offset("rq", "curr"));
        let address = self.w.task_address(next.unwrap_or(cpu));
        self.w.vm.memory.write(at, 8, address);
        match next {
            Some(row) => {
                self.move_task(row, cpu);
                let now = self.now();
                self.w.tasks[row as usize].on_cpu = Some(cpu);
                // A CPU that was stopped within the switch has its clock from behind it.
                self.w.tasks[row as usize].exec_start = stopped_until.unwrap_or(now);
                self.w.tasks[row as usize].runnable_at = now;
                self.w.set_task_u32(row, self.w.at.on_cpu, 1);
                self.update_idle(cpu, false);
                let args = [self.w.task_address(row)];
                self.call(Callback::RUNNING, Context::Other, &args);
            }
            None => {
                self.update_idle(cpu, true);
            }
        }
        next
    }

    /// A CPU has switched away from a task.
    pub(crate) fn leaves_cpu(&mut self, row: u32, is_runnable: bool) {
        self.w.tasks[row as usize].on_cpu = None;
        self.w.set_task_u32(row, self.w.at.on_cpu, 0);
        let count = if is_runnable { self.w.at.nivcsw } else { self.w.at.nvcsw };
        let switches = self.w.task_u64(row, count);
        self.w.set_task_u64(row, count, switches + 1);
        if self.w.tasks[row as usize].is_dying {
            self.end_task(row);
        }
    }

    fn tick(&mut self, cpu: u32) {
        self.update_clock(cpu);
        let curr = self.w.cpus[cpu as usize].curr;
        let Some(row) = curr.filter(|_| !self.w.cpus[cpu as usize].is_curr_gone) else { return };
        self.charge(cpu);
        let args = [self.w.task_address(row)];
        self.call(Callback::TICK, Context::Other, &args);
        if self.w.slice(row) == 0 {
            self.p.resched(CpuId(cpu));
        }
    }

    fn yield_now(&mut self, cpu: u32, row: u32) {
        if self.w.cpus[cpu as usize].is_curr_gone {
            // It waits for another CPU already.
            return self.p.resched(CpuId(cpu));
        }
        self.charge(cpu);
        if self.has(Callback::YIELD) {
            let args = [self.w.task_address(row), 0];
            self.call(Callback::YIELD, Context::Other, &args);
        } else {
            self.w.set_slice(row, 0);
        }
        self.p.resched(CpuId(cpu));
    }

    /// Something of a task changes: while it does, the task is taken off its queue or stopped, and
    /// comes back.
    fn change(&mut self, row: u32, flags: u64, change: impl FnOnce(&mut Self)) {
        let (deq_flags, flags) = match self.w.profile {
            Profile::V6_18 => (flags, flags),
            Profile::V7_3 => (flags | DEQ_SCHED_CHANGE, flags | ENQ_SCHED_CHANGE),
        };
        let p = self.w.task_address(row);
        let is_runnable = self.w.tasks[row as usize].is_runnable;
        let runs = self.runs(row) && is_runnable;
        if runs {
            if let Some(cpu) = self.w.tasks[row as usize].on_cpu {
                self.charge(cpu);
            }
            self.call(Callback::STOPPING, Context::Other, &[p, 0]);
        } else if is_runnable {
            self.give_back(row, deq_flags);
        }
        if is_runnable {
            self.call(Callback::QUIESCENT, Context::Other, &[p, deq_flags]);
        }
        change(self);
        if !is_runnable {
            return;
        }
        self.call(Callback::RUNNABLE, Context::Other, &[p, flags]);
        let here = self.w.tasks[row as usize].cpu;
        let may_stay = self.w.tasks[row as usize].allowed.contains(CpuId(here));
        if runs && may_stay {
            self.call(Callback::RUNNING, Context::Other, &[p]);
            return;
        }
        if !may_stay {
            let cpus = self.w.nr_cpus();
            let to = self.w.tasks[row as usize].allowed.first(cpus).map_or(here, |cpu| cpu.0);
            self.p.by_rule(Question::Migrate, CpuId(to), rules::TAKEN);
            self.move_task(row, to);
        }
        if runs {
            // It must leave its CPU, and stays current there until the switch.
            self.w.cpus[here as usize].is_curr_gone = true;
            self.p.resched(CpuId(here));
        }
        self.enqueue(row, flags);
        let cpu = self.w.tasks[row as usize].cpu;
        self.look(cpu);
    }

    fn set_attr(&mut self, row: u32, attr: &SchedAttr) {
        self.change(row, ENQ_RESTORE | ENQ_NOCLOCK, |act| {
            act.w.tasks[row as usize].attr = *attr;
            act.w.describe_attr(row);
            let args = [act.w.task_address(row), u64::from(weight_of(attr))];
            act.call(Callback::SET_WEIGHT, Context::Other, &args);
        });
    }

    fn set_affinity(&mut self, row: u32, allowed: &CpuSet) {
        self.change(row, ENQ_RESTORE | ENQ_NOCLOCK, |act| {
            act.w.tasks[row as usize].allowed = allowed.clone();
            act.w.describe_mask(row);
            let args = [act.w.task_address(row), act.w.task_field(row, "cpus_mask")];
            act.call(Callback::SET_CPUMASK, Context::Other, &args);
        });
    }

    fn move_group(&mut self, row: u32, to: u32) -> Result<(), ControlError> {
        let from = self.w.cgroup(self.w.tasks[row as usize].group);
        let args = [self.w.task_address(row), from, self.w.cgroup(to)];
        let result = self.call(Callback::CGROUP_PREP_MOVE, Context::Sleepable, &args);
        if let Some(error) = result.map(|result| result as i32).filter(|&error| error != 0) {
            let message = format!("cgroup_prep_move of the policy returned {error}");
            return Err(Errno::Invalid.because(message).into());
        }
        self.change(row, ENQ_RESTORE | ENQ_MOVE | ENQ_NOCLOCK, |act| {
            act.w.tasks[row as usize].group = to;
            let (at, set) = (act.w.task_field(row, "cgroups"), act.w.css_set(to));
            act.w.vm.memory.write(at, 8, set);
            act.call(Callback::CGROUP_MOVE, Context::Other, &args);
        });
        Ok(())
    }

    fn group(&self, group: GroupId) -> Result<u32, ControlError> {
        match self.w.groups.get(group.index()) {
            Some(_) => Ok(group.0),
            None => Err(Errno::NotFound.because("there is no such group").into()),
        }
    }

    fn control(&mut self, command: Command<'_>) -> Result<Reply, ControlError> {
        match command {
            Command::CreateGroup { parent, shares } => {
                let parent = self.group(parent)?;
                let group = self.w.add_group(parent, shares);
                match self.init_group(group) {
                    None => Ok(Reply::Group(GroupId(group))),
                    Some(error) => {
                        self.w.groups.pop();
                        let message = format!("cgroup_init of the policy returned {error}");
                        Err(Errno::Invalid.because(message).into())
                    }
                }
            }
            Command::SetShares { group, shares } => {
                let group = self.group(group)?;
                self.w.groups[group as usize].shares = shares;
                let args = [self.w.cgroup(group), group_weight(shares)];
                self.call(Callback::CGROUP_SET_WEIGHT, Context::Other, &args);
                Ok(Reply::Done)
            }
            Command::SetQuota { group, quota } => {
                let group = self.group(group)?;
                self.set_bandwidth(group, quota);
                Ok(Reply::Done)
            }
            Command::CpuOffline(cpu) | Command::CpuOnline(cpu) => {
                self.hotplug(cpu.0, matches!(command, Command::CpuOnline(_)));
                Ok(Reply::Done)
            }
            Command::MoveTask { task, group } => {
                let group = self.group(group)?;
                let row = self.w.row(task);
                self.w.cpu = self.w.tasks[row as usize].cpu;
                self.move_group(row, group)?;
                Ok(Reply::Done)
            }
            other => Err(other.unsupported()),
        }
    }
}

impl Scheduler for ScxScheduler {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        self.act(platform, 0, |act| act.fork(task, attr, parent));
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let row = self.world.row(task);
        self.act(platform, waker.cpu().0, |act| act.wake(row, waker));
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        let row = self.world.row(task);
        self.act(platform, cpu.0, |act| act.block(cpu.0, row, reason == BlockReason::Dead));
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        let row = self.world.row(task);
        let cpu = self.world.tasks[row as usize].cpu;
        self.act(platform, cpu, |act| act.kill(row));
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let now = platform.now_ns();
        if self.instant.0 != now {
            self.instant = (now, 0);
        }
        self.instant.1 += 1;
        let is_endless = self.instant.1 == RESCHEDULES_MAX * u64::from(self.world.nr_cpus());
        let next = self.act(platform, cpu.0, |act| {
            if is_endless {
                act.error("CPUs reschedule without end within one instant");
            }
            act.schedule(cpu.0)
        });
        next.map(|row| self.world.task_id(row))
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        let row = self.world.row(task);
        CpuId(self.world.tasks.get(row as usize).map_or(0, |task| task.cpu))
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.act(platform, cpu.0, |act| act.tick(cpu.0));
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let row = self.world.row(task);
        self.act(platform, cpu.0, |act| act.yield_now(cpu.0, row));
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let row = self.world.row(task);
        self.act(platform, by.0, |act| act.set_attr(row, attr));
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let row = self.world.row(task);
        let cpu = self.world.tasks[row as usize].cpu;
        self.act(platform, cpu, |act| act.set_affinity(row, allowed));
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        self.act(platform, 0, |act| match Timer::of(key) {
            Some(Timer::Watchdog) => act.watch(),
            Some(Timer::UserHalf) => act.user_is_due(),
            Some(Timer::Policy(number)) => act.fire_timer(number),
            None => (),
        });
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        if let Command::SetTunable { name, value } = command {
            return self.set_now(name, value);
        }
        self.act(platform, 0, |act| act.control(command))
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Drop for ScxScheduler {
    fn drop(&mut self) {
        if let Some(log) = self.world.log.take() {
            log.tell(|witness| witness.finished(self));
        }
    }
}

impl Inspect for ScxScheduler {
    fn tunables(&self) -> Vec<Tunable> {
        self.settings_now()
    }

    fn remarks(&self) -> Vec<String> {
        let end = self.world.ended.iter().filter(|_| self.has_ended);
        let name = &self.world.image.name;
        let again = self.restarts.first.iter().map(|(at, why)| {
            let count = self.restarts.count;
            format!(
                "{ENDED}{name} was loaded again, as its user half would load it, {}, first at \
                 {at} ns: {why}",
                if count == 1 { "once".into() } else { format!("{count} times") }
            )
        });
        let remark = |end: &End| {
            let (at, message) = (end.at_ns, &end.message);
            format!(
                "{ENDED}{name} ended at {at} ns in {}: {message}; from then on all tasks ran first \
                 come first served",
                if end.callback.is_empty() { "the class" } else { end.callback }
            )
        };
        again.chain(end.map(remark)).collect()
    }

    fn promises(&self, _: &Load) -> Promises {
        // Whoever runs first come first served has promised nothing.
        if self.has_ended { Promises::default() } else { self.options.promises }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    /// Those who stand in the local queue of the CPU. Whom the policy would choose nobody knows.
    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let Some(queue) = self.world.queues.get(cpu.index()) else { return };
        let order = queue.iter().zip(0..);
        out.extend(order.map(|(entry, place)| {
            Candidate::task(self.world.task_id(entry.task), [place, 0, 0, 0])
        }));
    }

    fn audit(&self) -> Result<(), String> {
        let world = &self.world;
        let mut standing = 0;
        for (number, queue) in world.queues.iter().enumerate() {
            for entry in queue.iter() {
                standing += 1;
                let holder = world.tasks[entry.task as usize].holder;
                if holder != Holder::Queue(number as u32, entry.key) {
                    let name = world.task_name(entry.task);
                    return Err(format!(
                        "{name} stands in queue {number}, its row says {holder:?}"
                    ));
                }
            }
        }
        let mut held = 0;
        for row in world.nr_cpus()..world.tasks.len() as u32 {
            let task = &world.tasks[row as usize];
            held += usize::from(matches!(task.holder, Holder::Queue(..)));
            let runs = task.on_cpu.is_some_and(|cpu| world.cpus[cpu as usize].goes_on_with(row));
            let is_held = task.holder != Holder::Nobody;
            if task.is_alive && (task.is_runnable && !runs) != is_held {
                let name = world.task_name(row);
                return Err(format!(
                    "{name}: runnable {}, current of {:?}, held by {:?}",
                    task.is_runnable, task.on_cpu, task.holder
                ));
            }
        }
        match standing == held {
            true => Ok(()),
            false => Err(format!("{standing} tasks stand in queues, {held} are said to")),
        }
    }
}
