//! A sched_ext policy as a scheduler: maps the hooks of the trait to the calls that the kernel's
//! core makes of the class.

use crate::act::Act;
use crate::counts::{Counts, Restarts};
use crate::end::End;
use crate::image::Image;
use crate::log::{Log, Summary};
use crate::maps::MapCounts;
use crate::memory::{self, address};
use crate::options::{OnEnd, Options};
use crate::rules;
use crate::task::Holder;
use crate::timers::Timer;
use crate::world::World;
use schedlab_core::control::{Command, ControlError, Reply};
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, CpuId, CpuSet, Inspect, Load, Parent, Platform, Promises,
    RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey, Topology, Tunable, Waker,
};
use std::sync::Arc;

/// Maximum number of reschedules per CPU in one instant. More are an endless loop.
const RESCHEDULES_MAX: u64 = 20_000;

/// Beginning of the message of an ended policy.
pub const ENDED: &str = "scx: policy ";

/// A scheduler that runs a sched_ext policy.
#[derive(Debug)]
pub struct ScxScheduler {
    pub(crate) world: World,
    pub(crate) options: Options,
    pub(crate) has_started: bool,
    /// Whether the end of the policy has been handled.
    has_ended: bool,
    /// Current instant, ns, and the number of reschedules in it.
    instant: (u64, u64),
    /// Restarts of the policy.
    pub(crate) restarts: Restarts,
}

impl ScxScheduler {
    /// Makes a scheduler for the policy of an image, on the machine that the image was linked for.
    pub fn new(image: Arc<Image>, config: &BuildConfig, options: Options) -> ScxScheduler {
        let world = ScxScheduler::world(image, &config.topology, options);
        let instant = (0, 0);
        let (has_started, has_ended, restarts) = (false, false, Restarts::default());
        ScxScheduler { world, options, has_started, has_ended, instant, restarts }
    }

    /// Returns the world in which the policy of an image begins.
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

    /// Logs the policy's actions to `log`.
    pub fn log_to(&mut self, log: Log) {
        self.world.log = Some(log);
    }

    /// Delays the return of tasks to queues, as recorded on another machine whose CPUs were stopped
    /// within a switch, between the choice of the next task and the return of the old one to its
    /// queue. `times` holds by CPU the times of the choice and of the return, ns, in ascending
    /// order. A returned task is invisible until then.
    pub fn put_back_as_recorded(&mut self, times: Vec<Vec<(u64, u64)>>) {
        let mut times: Vec<_> = times.into_iter().map(Into::into).collect();
        times.resize(self.world.nr_cpus() as usize, Default::default());
        self.world.put_backs = times;
    }

    /// Returns the linked policy.
    pub fn image(&self) -> &Image {
        &self.world.image
    }

    /// Counts of the policy's actions.
    pub fn counts(&self) -> &Counts {
        &self.world.counts
    }

    /// Uses of each map, by name.
    pub fn map_counts(&self) -> impl Iterator<Item = (&str, MapCounts)> {
        self.world.maps.iter().map(|map| (map.def.name.as_str(), map.counts))
    }

    /// Returns the summary of the run so far.
    fn summary(&self) -> Summary<'_> {
        Summary { image: self.image(), counts: self.counts(), maps: self.map_counts().collect() }
    }

    /// Returns the reason why the policy ended. `None` if it has not.
    pub fn end(&self) -> Option<&End> {
        self.world.ended.as_ref()
    }

    /// Returns the policy's printed output, if it is kept: time in ns, CPU, text.
    pub fn printed(&self) -> &[(u64, u32, String)] {
        self.world.printed.as_deref().unwrap_or_default()
    }

    /// Returns the current value of a variable of 1, 2, 4 or 8 bytes. `None` if there is no such
    /// variable.
    pub fn variable(&self, name: &str) -> Option<u64> {
        let variable = self.world.image.variables.iter().find(|known| known.name == name)?;
        let at = address(memory::FIRST_FREE + variable.data as u32, variable.offset);
        self.world.vm.memory.load(at, variable.size as usize)
    }

    /// Returns the message of an ended policy: the reason, the last callbacks, the registers.
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

    /// Runs a hook on a CPU, and handles the end of the policy if it ended.
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
            log.notify(|witness| witness.finished(&self.summary()));
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
        // Tasks that run first come, first served have no promises.
        if self.has_ended { Promises::default() } else { self.options.promises }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    /// Reports the tasks in the CPU's local queue. The policy's next choice is unknown.
    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let Some(queue) = self.world.queues.get(cpu.index()) else { return };
        let order = queue.iter().zip(0..);
        out.extend(order.map(|(entry, place)| {
            Candidate::task(self.world.task_id(entry.task), [place, 0, 0, 0])
        }));
    }

    fn audit(&self) -> Result<(), String> {
        let world = &self.world;
        let mut queued = 0;
        for (number, queue) in world.queues.iter().enumerate() {
            for entry in queue.iter() {
                queued += 1;
                let holder = world.tasks[entry.task as usize].holder;
                if holder != Holder::Queue(number as u32, entry.key) {
                    let name = world.task_name(entry.task);
                    return Err(format!(
                        "{name} is in queue {number}, but its holder is {holder:?}"
                    ));
                }
            }
        }
        let mut held = 0;
        for row in world.nr_cpus()..world.tasks.len() as u32 {
            let task = &world.tasks[row as usize];
            held += usize::from(matches!(task.holder, Holder::Queue(..)));
            let runs = task.on_cpu.is_some_and(|cpu| world.cpus[cpu as usize].goes_on_with(row));
            let is_held = task.holder != Holder::None;
            if task.is_alive && (task.is_runnable && !runs) != is_held {
                let name = world.task_name(row);
                return Err(format!(
                    "{name}: runnable {}, current of {:?}, held by {:?}",
                    task.is_runnable, task.on_cpu, task.holder
                ));
            }
        }
        match queued == held {
            true => Ok(()),
            false => Err(format!(
                "queues hold {queued} tasks, but {held} tasks have a queue as their holder"
            )),
        }
    }
}
