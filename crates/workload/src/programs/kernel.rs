//! The kernel of programs: [`Kernel`], its tasks, and how they are started.

use super::blocked::Blocked;
use super::limits::{EVENTS_AT_ONE_INSTANT, Instant};
use super::mutex::Heir;
use super::objects::Objects;
use super::part::{Part, PartId, PartState};
use super::profile::Profile;
use super::random::Random;
use super::requests::Requests;
use super::script::{AddressSpaces, Conventions, Cursor, Log, ScriptOptions, Scripts};
use super::semaphore::SemaphoreKind;
use super::step::{OwnState, Spawn};
use super::task::{Attempt, Body, Order, Stage, Task, Timing};
use crate::error::{Error, Reason};
use schedlab_core::{GroupId, TaskAttr, TaskId};
use schedlab_machine::NewTask;
use schedlab_machine::costs::CallCosts;
use std::collections::VecDeque;
use std::fmt;

/// Child of a fork that the machine is processing, with its attributes at birth.
pub(super) enum PendingFork {
    /// Code.
    Program(Box<Spawn>, TaskAttr),
    /// A script, and the time at which it starts, ns.
    Script(u32, TaskAttr, u64),
}

/// The kernel that programs use, together with the programs.
pub struct Kernel {
    pub(super) costs: CallCosts,
    /// Time until which messages occupy the memory bus, ns.
    pub(super) bus_free_at_ns: u64,
    pub(super) calls_are_free: bool,
    seed: u64,
    pub(super) objects: Objects,
    pub(super) tasks: Vec<Task>,
    /// By task, from the first mutex with priority inheritance on.
    pub(super) heirs: Vec<Heir>,
    /// Parts, at least one. Tasks are started in the last one.
    pub(super) parts: Vec<PartState>,
    pub(super) initial: Vec<NewTask>,
    pub(super) forking: Option<PendingFork>,
    /// Wakeups left over from tasks that were killed.
    pub(super) orphans: VecDeque<Order>,
    address_spaces: u32,
    /// Counts tasks that wait for a mutex or are suspended.
    pub(super) tickets: u64,
    pub(super) instant: Instant,
    pub(super) scripts: Scripts,
    /// Numbers that the scheduler gives to the scripts' groups.
    pub(super) group_ids: Vec<GroupId>,
    pub(super) conventions: Conventions,
    /// By script: the number of its next thread.
    next_instance: Vec<u32>,
    pub(super) log: Option<Log>,
    pub(super) requests: Option<Requests>,
}

/// Gives access to the kernel inside a wrapper.
impl AsRef<Kernel> for Kernel {
    fn as_ref(&self) -> &Kernel {
        self
    }
}

impl Kernel {
    /// Creates a kernel without tasks. `seed` is the seed of all random draws.
    pub fn new(profile: Profile, costs: CallCosts, seed: u64) -> Kernel {
        Kernel {
            calls_are_free: costs == CallCosts::FREE,
            costs,
            bus_free_at_ns: 0,
            seed,
            objects: Objects::new(profile),
            tasks: vec![],
            heirs: vec![],
            parts: vec![PartState::new(Part::default())],
            initial: vec![],
            forking: None,
            orphans: VecDeque::new(),
            address_spaces: 0,
            tickets: 0,
            instant: Instant::default(),
            scripts: Scripts::default(),
            group_ids: vec![GroupId::ROOT],
            conventions: Conventions::default(),
            next_instance: vec![],
            log: None,
            requests: None,
        }
    }

    /// Creates a kernel with the threads of `scripts`. Objects keep their numbers.
    ///
    /// # Panics
    /// If an instruction refers to an object that `scripts` does not contain, or the number of
    /// [`group_ids`](ScriptOptions::group_ids) differs from the number of groups.
    pub fn with_scripts(scripts: Scripts, options: ScriptOptions) -> Kernel {
        scripts.assert_complete();
        let profile = Profile::of("");
        let mut kernel = Kernel::new(profile, options.calls.unwrap_or(CallCosts::FREE), 0);
        if !options.group_ids.is_empty() {
            assert_eq!(options.group_ids.len(), scripts.groups.len() - 1, "one number per group");
            kernel.group_ids.extend(options.group_ids);
        } else {
            kernel.group_ids.extend((1..scripts.groups.len() as u32).map(GroupId));
        }
        let objects = &mut kernel.objects;
        for _ in &scripts.mutexes {
            objects.mutex(scripts.mutex_kind());
        }
        for _ in &scripts.conditions {
            objects.condition();
        }
        for barrier in &scripts.barriers {
            objects.barrier(barrier.needed);
        }
        for _ in &scripts.semaphores {
            objects.semaphore(SemaphoreKind::Handed, 0);
        }
        for _ in &scripts.suspensions {
            objects.suspension();
        }
        objects.add_timers(scripts.timers);
        for _ in 0..scripts.disks {
            objects.disk();
        }
        kernel.conventions = options.conventions;
        kernel.log = (options.log_lines > 0).then(|| Log::new(options.log_lines, &scripts));
        kernel.requests = options.requests.map(|filter| Requests::new(&filter, &scripts));
        kernel.next_instance = vec![0; scripts.scripts.len()];
        kernel.tasks.reserve(scripts.initial_threads());
        kernel.initial.reserve(scripts.initial_threads());
        if options.conventions.address_spaces == AddressSpaces::PerTask {
            kernel.address_spaces = scripts.scripts.len() as u32;
        }
        kernel.scripts = scripts;
        for script in 0..kernel.scripts.scripts.len() {
            for _ in 0..kernel.scripts.scripts[script].instances {
                let start_ns = kernel.scripts.scripts[script].delay_ns;
                let attr = kernel.script_attr(script as u32);
                kernel.initial.push(NewTask { attr: attr.clone(), start_ns });
                kernel.add_script(script as u32, attr, None, PartId::default(), start_ns);
            }
        }
        kernel
    }

    /// Returns the shared objects, to create some before the run.
    pub fn objects(&mut self) -> &mut Objects {
        &mut self.objects
    }

    /// Returns the costs of calls.
    pub fn costs(&self) -> &CallCosts {
        &self.costs
    }

    /// Delays the start of each initial task by the result of `later`, in ns. `later` is called
    /// once per task, in the order of their numbers.
    pub fn start_later(&mut self, mut later: impl FnMut() -> u64) {
        for (new, task) in self.initial.iter_mut().zip(&mut self.tasks) {
            new.start_ns = new.start_ns.saturating_add(later());
            (task.start_ns, task.since_ns) = (new.start_ns, new.start_ns);
        }
    }

    /// Starts each initial task at the result of `at`, in ns. `at` is called once per task, in the
    /// order of their numbers.
    pub fn start_at(&mut self, mut at: impl FnMut() -> u64) {
        for (new, task) in self.initial.iter_mut().zip(&mut self.tasks) {
            new.start_ns = at();
            (task.start_ns, task.since_ns) = (new.start_ns, new.start_ns);
        }
    }

    /// Starts a task at `start_ns` by the clock of its part. It must be called before the run
    /// begins.
    pub fn start(&mut self, start_ns: u64, spawn: Spawn) -> TaskId {
        let id = self.last_part();
        let part = &self.parts[id.index()].part;
        let start_ns = part.start_ns.saturating_add(start_ns);
        let (sched, allowed, group) = (part.attr, part.allowed.clone(), part.group);
        let attr = TaskAttr {
            sched: spawn.attr.unwrap_or(sched),
            allowed: spawn.allowed.clone().unwrap_or(allowed),
            group: spawn.group.unwrap_or(group),
            address_space: self.address_space(None),
        };
        self.initial.push(NewTask { attr: attr.clone(), start_ns });
        self.add_program(spawn, attr, None, id, start_ns)
    }

    pub(super) fn last_part(&self) -> PartId {
        PartId(self.parts.len() as u32 - 1)
    }

    /// Returns the number of tasks, including those that have ended.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the name that `task` shares with the others of its kind: the name of its script, or
    /// that in [`Spawn`].
    pub fn name(&self, task: TaskId) -> &str {
        let task = &self.tasks[task.index()];
        match task.script() {
            Some(cursor) => &self.scripts.scripts[cursor.script as usize].name,
            None => task.name,
        }
    }

    /// Returns the name of `task` alone: `name-instance` of a script's thread, `name-number` of
    /// others.
    ///
    /// # Panics
    /// If the task does not exist.
    pub fn thread_name(&self, task: TaskId) -> String {
        let instance = self.tasks[task.index()].script().map_or(task.0, |cursor| cursor.instance);
        format!("{}-{instance}", self.name(task))
    }

    /// Returns the attributes of `task`: those at birth with later changes.
    pub fn attr(&self, task: TaskId) -> &TaskAttr {
        &self.tasks[task.index()].attr
    }

    pub(super) fn address_space(&mut self, shared: Option<u32>) -> u32 {
        shared.unwrap_or_else(|| {
            self.address_spaces += 1;
            self.address_spaces
        })
    }

    /// Returns the attributes at birth of the next thread of a script.
    pub(super) fn script_attr(&mut self, number: u32) -> TaskAttr {
        let script = &self.scripts.scripts[number as usize];
        let (attr, cpus, group) = (script.attr, script.cpus, script.group);
        TaskAttr {
            sched: self.scripts.attrs[attr as usize],
            allowed: self.scripts.cpu_sets[cpus as usize].clone(),
            group: self.group_ids[group as usize],
            address_space: match self.conventions.address_spaces {
                AddressSpaces::Process => 0,
                AddressSpaces::PerTask => number,
                AddressSpaces::PerThread => self.tasks.len() as u32,
            },
        }
    }

    pub(super) fn add_program(
        &mut self,
        spawn: Spawn,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
        start_ns: u64,
    ) -> TaskId {
        let body = Body::Program(spawn.program);
        let task = self.add(body, attr, parent, part, start_ns);
        let this = &mut self.tasks[task.index()];
        this.name = spawn.name;
        this.footprint_kib = spawn.footprint_kib;
        task
    }

    pub(super) fn add_script(
        &mut self,
        number: u32,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
        start_ns: u64,
    ) -> TaskId {
        let script = &self.scripts.scripts[number as usize];
        let own_timers = self.objects.add_timers(script.unique_timers);
        let instance = &mut self.next_instance[number as usize];
        let mut cursor = Cursor::new(number, *instance, script, own_timers);
        if parent.is_some() {
            // The instructions before it are for initial threads only.
            cursor.pc = script.again;
        }
        let body = Body::Script(cursor);
        let footprint_kib = script.footprint_kib;
        *instance += 1;
        let task = self.add(body, attr, parent, part, start_ns);
        self.tasks[task.index()].footprint_kib = footprint_kib;
        task
    }

    fn add(
        &mut self,
        body: Body,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
        start_ns: u64,
    ) -> TaskId {
        let number = TaskId(self.tasks.len() as u32);
        let within = self.parts[part.index()].task_comes();
        let random = Random::new(part.seed(self.seed), within);
        if let Some(requests) = &mut self.requests {
            requests.new_thread(match &body {
                Body::Script(cursor) => Some(cursor.script),
                _ => None,
            });
        }
        self.tasks.push(Task {
            name: "",
            part,
            body,
            stage: Stage::Between,
            blocked: Blocked::No,
            timing: Timing::No,
            since_ns: start_ns,
            attr,
            footprint_kib: 0,
            own: OwnState { random, succeeded: false, child: None },
            orders: VecDeque::new(),
            owes_ns: 0,
            attempt: Attempt::First,
            after_run: false,
            worked: false,
            forked: parent.is_some(),
            killed: false,
            parent,
            children: 0,
            zombies: 0,
            tokens: 0,
            start_ns,
            part_start_ns: self.parts[part.index()].part.start_ns,
            ticket: 0,
            periods: 0,
            missed_periods: 0,
            instant_ns: 0,
            instant_events: 0,
        });
        if let Some(log) = &mut self.log {
            log.new_thread();
        }
        number
    }

    pub(super) fn stop(&self, now_ns: u64, task: u32, reason: Reason) -> Error {
        let task = TaskId(task);
        Error::new(now_ns, task, self.thread_name(task), self.place(task), reason)
    }

    #[cold]
    pub(super) fn no_time_passes(&self, now_ns: u64, task: u32) -> Error {
        let own = self.tasks[task as usize].instant_events;
        let reason = if own >= EVENTS_AT_ONE_INSTANT {
            Reason::NoTimePasses { events: own }
        } else {
            Reason::NoTimePassesForAny { events: self.instant.counted() }
        };
        self.stop(now_ns, task, reason)
    }

    /// Returns the current step of the task, for messages.
    pub(super) fn place(&self, task: TaskId) -> String {
        match self.tasks[task.index()].script() {
            Some(cursor) => self.scripts.place(cursor.script, cursor.at).into(),
            None => "its program".into(),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}
