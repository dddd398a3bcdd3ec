//! The world that a policy sees: tasks, CPUs, groups, masks, maps, timers; and how it is called.

use crate::areas::{Arena, Reserved};
use crate::dsq::{Dsq, Key};
use crate::kernel_types::{KernelTypes, TASK_QUEUED};
use crate::log::Log;
use crate::maps::Map;
use crate::memory::{self, FIRST_FREE, Holes, address, place};
use crate::object::Image;
use crate::ops::Callback;
use crate::vm::{Calls, Fault, Outcome, Vm, run};
use schedlab_core::{CpuId, CpuSet, Platform, Policy, SchedAttr, TaskId, Topology};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Arguments that a callback has at most.
const ARGS_MAX: usize = 4;

/// Callbacks nest no deeper (an enqueue within the release of a CPU is the only case).
const NESTED_MAX: usize = 8;

/// So many callbacks are remembered for the message of an ended policy.
const RECENT: usize = 20;

/// Where a call of the kernel comes from: what a policy may do depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// Within no callback that has privileges.
    Other,
    /// `init`, `init_task`, `cgroup_init` and the like, which may sleep.
    Sleepable,
    /// `select_cpu`.
    SelectCpu,
    /// `enqueue`.
    Enqueue,
    /// `dispatch`.
    Dispatch,
    /// `cpu_release`.
    CpuRelease,
}

/// Who has a task that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Holder {
    /// Nobody: it runs, sleeps or is just being moved.
    #[default]
    Nobody,
    /// The policy, which was told by `enqueue`.
    Policy,
    /// A queue, by its number, where it stands.
    Queue(u32, Key),
}

/// A task, or the idle task of a CPU.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Task {
    /// When it was put back by the CPU that ran it, ns, and by which; none: it came otherwise.
    pub put_back: Option<PutBack>,
    /// Whether it was born and has not ended.
    pub is_alive: bool,
    /// Policy, nice value.
    pub attr: SchedAttr,
    /// The CPUs that it may use.
    pub allowed: CpuSet,
    /// How many of the machine's they are.
    pub nr_allowed: u32,
    /// Its group.
    pub group: u32,
    /// The CPU whose runqueue it belongs to.
    pub cpu: u32,
    /// Whether it runs or waits.
    pub is_runnable: bool,
    /// The CPU whose current task it is, which it stays for a moment after it has blocked.
    pub on_cpu: Option<u32>,
    /// Who has it while it waits.
    pub holder: Holder,
    /// The number of its last `enqueue`: what was decided about an earlier one is stale.
    pub qseq: u64,
    /// The queue and flags of an insertion made by `select_cpu` or `enqueue`.
    pub direct: Option<(u64, u64)>,
    /// Up to when its CPU time is charged, ns.
    pub exec_start: u64,
    /// Since when it waits, ns; while it runs, since when it runs.
    pub runnable_at: u64,
    /// It has exited; it is told so when its CPU has switched.
    pub is_dying: bool,
    /// It is the policy's: of an ordinary policy.
    pub is_enabled: bool,
}

/// A CPU.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cpu {
    /// Its current task; none: the idle task.
    pub curr: Option<u32>,
    /// The current task cannot go on: it blocked, or may not be here.
    pub is_curr_gone: bool,
    /// Whether the policy was told last that it is idle.
    pub is_idle: bool,
    /// The CPU that the last choice among several gave.
    pub distribute_prev: u32,
    /// Whether it is on line.
    pub is_online: bool,
    /// A task of a class above runs.
    pub is_taken: bool,
    /// The policy was told so, and not yet that it has it back.
    pub is_released: bool,
    /// What tasks of the class have run, as last charged, ns.
    pub exec_ns: u64,
}

impl Cpu {
    /// Whether a task is the current one and can go on.
    pub fn goes_on_with(&self, row: u32) -> bool {
        self.curr == Some(row) && !self.is_curr_gone
    }

    /// Whether it runs nothing, of whatever class.
    pub fn is_vacant(&self) -> bool {
        self.curr.is_none() && !self.is_taken
    }
}

/// A CPU puts its task back, and others do not see it at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PutBack {
    /// From when on they do, ns.
    pub until_ns: u64,
    /// The CPU.
    pub by: u32,
    /// Only those who have a task to go on with do without.
    pub unless_idle: bool,
}

/// A group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// The group it is in; its own number for the root.
    pub parent: u32,
    /// Its depth: 0 for the root.
    pub level: u32,
    /// `cpu.shares`.
    pub shares: u64,
}

/// A timer of the policy's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BpfTimer {
    /// Its address.
    pub at: u64,
    /// The map it is in.
    pub map: usize,
    /// The function that is called.
    pub callback: Option<usize>,
    /// The CPU that started it, while it is pending.
    pub pending: Option<u32>,
}

/// A walk through a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// The queue.
    pub queue: u32,
    /// Those queued from this insertion on are passed over.
    pub stamp: u64,
    /// Whether it goes from the end.
    pub reversed: bool,
    /// Where it is.
    pub at: Option<Key>,
    /// The slice and the virtual time that the next move sets.
    pub slice: Option<u64>,
    /// See `slice`.
    pub vtime: Option<u64>,
}

/// An insertion made by `dispatch`, not yet carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// Who.
    pub task: u32,
    /// Its `qseq` then.
    pub qseq: u64,
    /// Into which queue.
    pub dsq: u64,
    /// `SCX_ENQ_*`.
    pub flags: u64,
}

/// Why and where a policy ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// `SCX_EXIT_*`.
    pub kind: u64,
    /// The code of `scx_bpf_exit`.
    pub code: i64,
    /// In a few words, as the kernel puts it.
    pub reason: &'static str,
    /// In full.
    pub message: String,
    /// In which callback.
    pub callback: &'static str,
    /// When, ns.
    pub at_ns: u64,
    /// The registers, if the program did something wrong.
    pub registers: Option<[u64; 11]>,
    /// The dump of CPUs and tasks that the kernel writes; empty if it writes none.
    pub dump: String,
}

/// A call of a callback, for the message of an ended policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recent {
    /// Which.
    pub callback: Callback,
    /// When, ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Its arguments.
    pub args: [u64; ARGS_MAX],
    /// How many of them there are.
    pub len: usize,
}

/// How often a callback was called and what that took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallCounts {
    /// Calls.
    pub calls: u64,
    /// Instructions, those of callbacks within helpers included.
    pub insns: u64,
    /// The most instructions that a call took.
    pub insns_max: u64,
}

/// What the policy did, counted. Exact, and the same in every run of the same input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// By callback.
    pub callbacks: [CallCounts; Callback::COUNT],
    /// Of timers' functions.
    pub timers: CallCounts,
    /// Calls of helpers, by number.
    pub helpers: BTreeMap<u32, u64>,
    /// Calls of kernel functions, in the order of [`Image::kfuncs`].
    pub kfuncs: Vec<u64>,
    /// Switches of a CPU from one task, or idleness, to another.
    pub switches: u64,
}

/// Offsets in `task_struct` that change all the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskOffsets {
    /// From one task to the next.
    pub stride: u32,
    /// `scx.slice`.
    pub slice: u32,
    /// `scx.dsq_vtime`.
    pub vtime: u32,
    /// `scx.disallow`.
    pub disallow: u32,
    /// `scx.weight`.
    pub weight: u32,
    /// `scx.flags`.
    pub flags: u32,
    /// `scx.runnable_at`.
    pub runnable_at: u32,
    /// `scx.selected_cpu`.
    pub selected_cpu: u32,
    /// `se.sum_exec_runtime`.
    pub sum_exec: u32,
    /// `utime`.
    pub utime: u32,
    /// `__state`.
    pub state: u32,
    /// `on_rq`.
    pub on_rq: u32,
    /// `on_cpu`.
    pub on_cpu: u32,
    /// `thread_info.cpu`.
    pub cpu: u32,
    /// `nvcsw`.
    pub nvcsw: u32,
    /// `nivcsw`.
    pub nivcsw: u32,
}

impl TaskOffsets {
    fn new(types: &KernelTypes) -> TaskOffsets {
        let at = |path| types.offset("task_struct", path);
        TaskOffsets {
            stride: types.structure("task_struct").map_or(0, |layout| layout.size),
            slice: at("scx.slice"),
            vtime: at("scx.dsq_vtime"),
            disallow: at("scx.disallow"),
            weight: at("scx.weight"),
            flags: at("scx.flags"),
            runnable_at: at("scx.runnable_at"),
            selected_cpu: at("scx.selected_cpu"),
            sum_exec: at("se.sum_exec_runtime"),
            utime: at("utime"),
            state: at("__state"),
            on_rq: at("on_rq"),
            on_cpu: at("on_cpu"),
            cpu: at("thread_info.cpu"),
            nvcsw: at("nvcsw"),
            nivcsw: at("nivcsw"),
        }
    }
}

/// The numbers of the class's own masks in the region of masks.
pub const MASK_IDLE: u32 = 0;
/// CPUs of cores of which all threads are idle.
pub const MASK_IDLE_SMT: u32 = 1;
/// CPUs on line.
pub const MASK_ONLINE: u32 = 2;
/// All CPUs.
pub const MASK_POSSIBLE: u32 = 3;
/// No CPU.
pub const MASK_EMPTY: u32 = 4;
/// The idle CPUs of the first memory node; behind them its idle cores, then those of the next.
pub const MASK_NODES: u32 = 5;

/// The first mask that policies may make, on a machine of so many nodes.
const fn first_mask(nodes: u32) -> u32 {
    MASK_NODES + 2 * nodes
}

fn nodes_of_memory(topology: &Topology) -> u32 {
    (0..topology.cpus()).map(|cpu| topology.place(CpuId(cpu)).node).max().unwrap_or(0) + 1
}

/// For each CPU those of its core.
fn siblings(topology: &Topology) -> Vec<Vec<u32>> {
    let core = |cpu| topology.place(CpuId(cpu)).core;
    let cpus = topology.cpus();
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in 0..cpus {
        cores.entry(core(cpu)).or_default().push(cpu);
    }
    (0..cpus).map(|cpu| cores.get(&core(cpu)).cloned().unwrap_or_default()).collect()
}

/// The world.
#[derive(Debug)]
pub struct World {
    /// The kernel whose class is played.
    pub profile: crate::scheduler::Profile,
    /// See [`Options::put_back_ns`](crate::scheduler::Options::put_back_ns).
    pub put_back_ns: u64,
    /// See [`put_back_as_recorded`](crate::ScxScheduler::put_back_as_recorded).
    pub put_backs: Vec<VecDeque<(u64, u64)>>,
    /// The policy.
    pub image: Arc<Image>,
    /// The BPF machine.
    pub vm: Vm,
    /// Its maps.
    pub maps: Vec<Map>,
    /// The machine's CPUs.
    pub cpus: Vec<Cpu>,
    /// How they hang together.
    pub topology: Topology,
    /// Tasks, the idle tasks first.
    pub tasks: Vec<Task>,
    /// Groups.
    pub groups: Vec<Group>,
    /// Queues: a local one for each CPU, the global one, then the policy's.
    pub queues: Vec<Dsq>,
    /// The policy's queues by their ids.
    pub queue_of: BTreeMap<u64, u32>,
    /// Places of queues that were destroyed.
    pub free_queues: Vec<u32>,
    /// Insertions so far.
    pub stamps: u64,
    /// Calls of `enqueue` so far.
    pub qseqs: u64,
    /// The policy's timers.
    pub timers: Vec<BpfTimer>,
    /// Walks under way, by the address of the iterator.
    pub walks: BTreeMap<u64, Walk>,
    /// The policy's timers by their addresses.
    pub timer_of: BTreeMap<u64, usize>,
    /// Masks of the policy: how many hold each.
    pub mask_refs: Vec<u32>,
    /// Masks that were given back.
    pub mask_free: Vec<u32>,
    /// Objects of the policy, by address: size and how many hold each.
    pub heap: BTreeMap<u64, (u32, u32)>,
    /// Objects that were given back, by size.
    pub heap_free: BTreeMap<u32, Vec<u64>>,
    /// Trees and lists, by the address of their roots: nodes in order.
    pub nodes: BTreeMap<u64, VecDeque<u64>>,
    /// The nodes that stand in trees, with the tree.
    pub in_tree: BTreeMap<u64, u64>,
    /// What `dispatch` inserted.
    pub insertions: Vec<Insertion>,
    /// Where the present call comes from.
    pub context: Context,
    /// The CPU that acts.
    pub cpu: u32,
    /// The CPU that is in `schedule`.
    pub in_schedule: Option<u32>,
    /// For whom a direct insertion may be made.
    pub direct_for: Option<u32>,
    /// The callback that runs, for messages.
    pub callback: &'static str,
    /// How deep callbacks are nested.
    nested: usize,
    /// Whether the class keeps track of idle CPUs.
    pub tracks_idle: bool,
    /// Offsets in `task_struct`.
    pub at: TaskOffsets,
    /// The state of `bpf_get_prandom_u32`.
    pub random: u64,
    /// Whether the watchdog's timer is armed.
    pub is_watched: bool,
    /// Why the policy ended, if it has.
    pub ended: Option<End>,
    /// What it did, counted.
    pub counts: Counts,
    /// The last callbacks.
    pub recent: VecDeque<Recent>,
    /// What it printed (`bpf_trace_printk`): time, CPU, text. Kept only if somebody asked.
    pub printed: Option<Vec<(u64, u32, String)>>,
    /// Pages of the arena.
    pub(crate) arena: Arena,
    /// Records of ring buffers that are being written.
    pub(crate) reserved: Reserved,
    /// Walks through groups and tasks under way, by the address of the iterator: what is left, the
    /// next last.
    pub lists: BTreeMap<u64, Vec<u64>>,
    /// For each CPU those of its core.
    pub siblings: Vec<Vec<u32>>,
    /// Memory nodes.
    pub nodes_of_memory: u32,
    /// Programs that are called before the policy begins: first instructions and arguments.
    pub first_calls: Vec<(usize, Vec<i32>)>,
    /// The region of namespaces, credentials and the like.
    pub(crate) objects: u32,
    /// The first thread of each process that there is, and how many there are.
    pub(crate) threads: BTreeMap<u32, (u32, u32)>,
    /// What its user half has to do.
    pub(crate) user: crate::user_half::State,
    /// Who is told what it does.
    pub log: Option<Log>,
    /// The dump, while it is being written.
    pub dump: Option<String>,
}

/// The weights of nice values -20 to 19, 1024 at 0.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// `scx.weight` of a task: 1 to 10000, 100 at nice 0.
pub fn weight_of(attr: &SchedAttr) -> u32 {
    let weight = match attr.policy {
        Policy::Idle => 3,
        _ => WEIGHTS[(attr.nice.clamp(-20, 19) + 20) as usize],
    };
    ((weight * 100 + 512) / 1024).clamp(1, 10_000) as u32
}

/// `cpu.weight` of a group.
pub fn group_weight(shares: u64) -> u64 {
    (shares.saturating_mul(100) / 1024).clamp(1, 10_000)
}

impl World {
    /// A world without tasks for a policy.
    pub fn new(image: Arc<Image>, topology: &Topology) -> World {
        let cpus = topology.cpus();
        let types = &image.types;
        let mut vm = Vm::default();
        let at = TaskOffsets::new(types);
        let memory = &mut vm.memory;
        memory.set(memory::ARGS, "arguments", ARGS_MAX * 8 * NESTED_MAX, false);
        memory.set(memory::TASKS, "tasks", 0, false);
        memory.holes = Holes {
            region: memory::TASKS,
            stride: at.stride,
            members: vec![
                (at.slice, at.slice + 8),
                (at.vtime, at.vtime + 8),
                (at.disallow, at.disallow + 1),
            ],
        };
        memory.set(memory::GROUPS, "groups", 0, false);
        let rq = types.structure("rq").map_or(0, |layout| layout.size);
        memory.set(memory::RQS, "runqueues", (rq * cpus) as usize, false);
        let mask = types.mask_words() * 8;
        let masks = first_mask(nodes_of_memory(topology));
        memory.set(memory::MASKS, "masks", (mask * masks) as usize, false);
        memory.set(memory::HEAP, "heap", 0, true);
        memory.set(memory::SCRATCH, "structures", 4096, false);
        memory.set(memory::RINGS, "ring buffers", 0, true);
        // No address of the arena has a low half of 0.
        let variables = image.arena.len().next_multiple_of(crate::areas::PAGE as usize);
        let size = if variables > 0 { crate::areas::PAGE as usize + variables } else { 0 };
        memory.set(memory::ARENA, "arena", size, true);
        let start = address(memory::ARENA, crate::areas::PAGE);
        if let Some(place) = memory.slice_mut(start, image.arena.len()) {
            place.copy_from_slice(&image.arena);
        }
        for (number, data) in image.data.iter().enumerate() {
            let region = memory.add(&data.name, data.bytes.clone(), data.is_writable);
            debug_assert_eq!(region, FIRST_FREE + number as u32);
        }
        let maps = image.maps.iter().map(|def| Map::new(def, memory, cpus)).collect();
        let user = crate::user_half::State::new(&image, memory);
        let counts = Counts {
            callbacks: [CallCounts::default(); Callback::COUNT],
            timers: CallCounts::default(),
            helpers: BTreeMap::new(),
            kfuncs: vec![0; image.kfuncs.len()],
            switches: 0,
        };
        let mut world = World {
            vm,
            maps,
            cpus: vec![Cpu { is_online: true, ..Cpu::default() }; cpus as usize],
            topology: topology.clone(),
            tasks: vec![],
            groups: vec![],
            queues: (0..=cpus).map(|cpu| Dsq::new(u64::from(cpu))).collect(),
            queue_of: BTreeMap::new(),
            free_queues: vec![],
            stamps: 0,
            qseqs: 0,
            timers: vec![],
            walks: BTreeMap::new(),
            timer_of: BTreeMap::new(),
            mask_refs: vec![],
            mask_free: vec![],
            heap: BTreeMap::new(),
            heap_free: BTreeMap::new(),
            nodes: BTreeMap::new(),
            in_tree: BTreeMap::new(),
            insertions: vec![],
            profile: crate::scheduler::Profile::default(),
            put_back_ns: 0,
            put_backs: vec![],
            context: Context::Other,
            cpu: 0,
            in_schedule: None,
            direct_for: None,
            callback: "",
            nested: 0,
            tracks_idle: image.callback(Callback::UPDATE_IDLE).is_none()
                || image.ops.flags & crate::kernel_types::OPS_KEEP_BUILTIN_IDLE != 0,
            at,
            random: 0x9e37_79b9_7f4a_7c15,
            is_watched: false,
            ended: None,
            counts,
            recent: VecDeque::with_capacity(RECENT),
            printed: None,
            arena: Arena::with(image.arena.len()),
            reserved: Reserved::new(),
            lists: BTreeMap::new(),
            siblings: siblings(topology),
            nodes_of_memory: nodes_of_memory(topology),
            first_calls: vec![],
            objects: 0,
            threads: BTreeMap::new(),
            user,
            log: None,
            dump: None,
            image,
        };
        world.add_group(0, 1024);
        world.make_objects();
        for cpu in 0..cpus {
            let idle = world.add_task(cpu);
            let task = &mut world.tasks[idle as usize];
            task.cpu = cpu;
            task.allowed = CpuSet::only(CpuId(cpu));
            world.describe_task(idle, &format!("swapper/{cpu}"), None);
            world.set_mask(MASK_ONLINE, cpu, true);
            world.set_mask(MASK_POSSIBLE, cpu, true);
            let image = Arc::clone(&world.image);
            let at = |path| world.rq(cpu) + u64::from(image.types.offset("rq", path));
            let (number, curr, own) = (at("cpu"), at("curr"), at("idle"));
            let idle = world.task_address(idle);
            world.vm.memory.write(number, 4, u64::from(cpu));
            world.vm.memory.write(curr, 8, idle);
            world.vm.memory.write(own, 8, idle);
        }
        world
    }

    /// How deep callbacks are nested now.
    pub fn depth(&self) -> usize {
        self.nested
    }

    /// How many CPUs the machine has.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// The number of the global queue.
    pub fn global(&self) -> u32 {
        self.nr_cpus()
    }

    /// The row of a task of the machine.
    pub fn row(&self, task: TaskId) -> u32 {
        self.nr_cpus() + task.0
    }

    /// The machine's task of a row.
    pub fn task_id(&self, row: u32) -> TaskId {
        TaskId(row - self.nr_cpus())
    }

    /// The address of a task.
    pub fn task_address(&self, row: u32) -> u64 {
        address(memory::TASKS, row * self.at.stride)
    }

    /// The row of the task at an address; none if there is no task.
    pub fn task_at(&self, at: u64) -> Option<u32> {
        let (region, offset) = place(at);
        let row = offset / self.at.stride;
        let is_one = region == memory::TASKS
            && offset % self.at.stride == 0
            && (row as usize) < self.tasks.len();
        is_one.then_some(row)
    }

    /// A number of a task in the policy's memory.
    pub fn task_u64(&self, row: u32, offset: u32) -> u64 {
        self.vm.memory.u64(self.task_address(row) + u64::from(offset))
    }

    /// Writes 8 bytes of a task.
    pub fn set_task_u64(&mut self, row: u32, offset: u32, value: u64) {
        let at = self.task_address(row) + u64::from(offset);
        self.vm.memory.write(at, 8, value);
    }

    /// Writes 4 bytes of a task.
    pub fn set_task_u32(&mut self, row: u32, offset: u32, value: u32) {
        let at = self.task_address(row) + u64::from(offset);
        self.vm.memory.write(at, 4, u64::from(value));
    }

    /// The slice of a task, ns.
    pub fn slice(&self, row: u32) -> u64 {
        self.task_u64(row, self.at.slice)
    }

    /// Sets the slice of a task, ns.
    pub fn set_slice(&mut self, row: u32, slice: u64) {
        self.set_task_u64(row, self.at.slice, slice);
    }

    /// Sets or clears bits of `scx.flags`.
    pub fn set_task_flag(&mut self, row: u32, flag: u32, is_set: bool) {
        let at = self.task_address(row) + u64::from(self.at.flags);
        let flags = self.vm.memory.u32(at);
        let flags = if is_set { flags | flag } else { flags & !flag };
        self.vm.memory.write(at, 4, u64::from(flags));
    }

    /// The address of a CPU's `struct rq`.
    pub fn rq(&self, cpu: u32) -> u64 {
        let size = self.image.types.structure("rq").map_or(0, |layout| layout.size);
        address(memory::RQS, cpu * size)
    }

    /// The address of a mask.
    pub fn mask(&self, number: u32) -> u64 {
        address(memory::MASKS, number * self.image.types.mask_words() * 8)
    }

    /// Puts a CPU into one of the class's masks, or takes it out.
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

    /// Marks a CPU as idle or busy, in the class's own books.
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

    /// The number of the first mask that policies may make.
    pub fn first_mask(&self) -> u32 {
        first_mask(self.nodes_of_memory)
    }

    /// Adds the row `row` to the tasks, and those before it.
    pub fn add_task(&mut self, row: u32) -> u32 {
        if self.tasks.len() <= row as usize {
            self.tasks.resize(row as usize + 1, Task::default());
            let rows = (row + 1).next_power_of_two() as usize;
            self.vm.memory.grow(memory::TASKS, rows * self.at.stride as usize);
        }
        row
    }

    /// Fills in what the policy can see of a task that does not change all the time.
    pub fn describe_task(&mut self, row: u32, name: &str, parent: Option<u32>) {
        let image = Arc::clone(&self.image);
        let base = self.task_address(row);
        let field = |path| base + u64::from(image.types.offset("task_struct", path));
        let is_idle = row < self.nr_cpus();
        let pid = if is_idle { 0 } else { 1000 + u64::from(row - self.nr_cpus()) };
        let parent = self.task_address(parent.unwrap_or(row));
        let cgroup = self.css_set(self.tasks[row as usize].group);
        let memory = &mut self.vm.memory;
        memory.write(field("pid"), 4, pid);
        memory.write(field("tgid"), 4, pid);
        memory.write(field("flags"), 4, if is_idle { 2 } else { 0 });
        memory.write(field("cpus_ptr"), 8, field("cpus_mask"));
        memory.write(field("real_parent"), 8, parent);
        memory.write(field("parent"), 8, parent);
        memory.write(field("group_leader"), 8, base);
        memory.write(field("cgroups"), 8, cgroup);
        self.describe_objects(row);
        let memory = &mut self.vm.memory;
        memory.write(field("scx.sticky_cpu"), 4, u64::from(u32::MAX));
        if let Some(comm) = memory.slice_mut(field("comm"), 16) {
            comm.fill(0);
            let len = name.len().min(15);
            comm[..len].copy_from_slice(&name.as_bytes()[..len]);
        }
        self.describe_attr(row);
        self.describe_mask(row);
    }

    /// Fills in policy, nice value and weight.
    pub fn describe_attr(&mut self, row: u32) {
        let image = Arc::clone(&self.image);
        let attr = self.tasks[row as usize].attr;
        let base = self.task_address(row);
        let field = |path| base + u64::from(image.types.offset("task_struct", path));
        let memory = &mut self.vm.memory;
        let usual = 120 + attr.nice;
        let prio = match attr.policy {
            Policy::Deadline => -1,
            Policy::Fifo | Policy::RoundRobin => 99 - attr.rt_priority as i32,
            Policy::Other | Policy::Batch | Policy::Idle => usual,
        };
        for (path, prio) in [("prio", prio), ("static_prio", usual), ("normal_prio", prio)] {
            memory.write(field(path), 4, prio as u64);
        }
        memory.write(field("policy"), 4, u64::from(attr.policy.number()));
        memory.write(field("rt_priority"), 4, u64::from(attr.rt_priority));
        let weight = self.at.weight;
        self.set_task_u32(row, weight, weight_of(&attr));
    }

    /// Fills in the CPUs that a task may use.
    pub fn describe_mask(&mut self, row: u32) {
        let image = Arc::clone(&self.image);
        let base = self.task_address(row);
        let cpus = self.nr_cpus();
        let mask = base + u64::from(image.types.offset("task_struct", "cpus_mask"));
        let allowed = self.tasks[row as usize].allowed.clone();
        for word in 0..image.types.mask_words() {
            let left = cpus - (word * 64).min(cpus);
            let there = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            let bits = allowed.word(word as usize) & there;
            self.vm.memory.write(mask + u64::from(word) * 8, 8, bits);
        }
        let count = allowed.count(cpus);
        self.tasks[row as usize].nr_allowed = count;
        let at = base + u64::from(image.types.offset("task_struct", "nr_cpus_allowed"));
        self.vm.memory.write(at, 4, u64::from(count));
    }

    /// The offset of a member of a task's structure, as an address.
    pub fn task_field(&self, row: u32, path: &str) -> u64 {
        self.task_address(row) + u64::from(self.image.types.offset("task_struct", path))
    }

    fn group_sizes(&self) -> (u32, u32, u32) {
        let size = |name| self.image.types.structure(name).map_or(0, |layout| layout.size);
        (size("css_set"), size("cgroup"), size("kernfs_node"))
    }

    /// The address of a group's `css_set`.
    pub fn css_set(&self, group: u32) -> u64 {
        let (set, cgroup, node) = self.group_sizes();
        address(memory::GROUPS, group * (set + cgroup + node))
    }

    /// The address of a group.
    pub fn cgroup(&self, group: u32) -> u64 {
        self.css_set(group) + u64::from(self.group_sizes().0)
    }

    /// The group at an address.
    pub fn group_at(&self, at: u64) -> Option<u32> {
        let (set, cgroup, node) = self.group_sizes();
        let (region, offset) = place(at);
        let stride = set + cgroup + node;
        let group = offset / stride;
        let is_one = region == memory::GROUPS
            && offset % stride == set
            && (group as usize) < self.groups.len();
        is_one.then_some(group)
    }

    /// Makes a group; its number.
    pub fn add_group(&mut self, parent: u32, shares: u64) -> u32 {
        let group = self.groups.len() as u32;
        let level = match group {
            0 => 0,
            _ => self.groups.get(parent as usize).map_or(0, |parent| parent.level) + 1,
        };
        self.groups.push(Group { parent, level, shares });
        let (set, cgroup, node) = self.group_sizes();
        let size = (group as usize + 1) * (set + cgroup + node) as usize;
        self.vm.memory.grow(memory::GROUPS, size);
        let types = self.image.types.clone();
        let at = self.cgroup(group);
        let field = |path| at + u64::from(types.offset("cgroup", path));
        let kn = at + u64::from(cgroup);
        let css_parent = if group == 0 { 0 } else { self.cgroup(parent) };
        let set = self.css_set(group);
        let memory = &mut self.vm.memory;
        memory.write(set + u64::from(types.offset("css_set", "dfl_cgrp")), 8, at);
        memory.write(field("self.cgroup"), 8, at);
        // The state of the controller is the first member of a group.
        memory.write(field("self.parent"), 8, css_parent);
        memory.write(field("level"), 4, u64::from(level));
        memory.write(field("kn"), 8, kn);
        memory.write(field("dom_cgrp"), 8, at);
        memory.write(kn + u64::from(types.offset("kernfs_node", "id")), 8, u64::from(group) + 1);
        group
    }

    /// How messages and callbacks call a task: `COMM[PID]`.
    pub fn task_name(&self, row: u32) -> String {
        let comm = self.vm.memory.text(self.task_field(row, "comm"), 16).unwrap_or_default();
        let pid = self.vm.memory.u32(self.task_field(row, "pid"));
        format!("{}[{pid}]", String::from_utf8_lossy(comm))
    }

    /// Ends the policy, unless it has ended.
    pub fn end(&mut self, kind: u64, code: i64, message: impl Into<String>, now_ns: u64) {
        use crate::kernel_types::{
            EXIT_ERROR_BPF, EXIT_ERROR_STALL, EXIT_UNREG_BPF, EXIT_UNREG_KERN,
        };
        if self.ended.is_some() {
            return;
        }
        let reason = match kind {
            EXIT_UNREG_BPF => "unregistered from BPF",
            EXIT_UNREG_KERN => "unregistered from the main kernel",
            EXIT_ERROR_BPF => "scx_bpf_error",
            EXIT_ERROR_STALL => "runnable task stall",
            _ => "runtime error",
        };
        let (message, callback) = (message.into(), self.callback);
        self.ended = Some(End {
            kind,
            code,
            reason,
            message,
            callback,
            at_ns: now_ns,
            registers: None,
            dump: String::new(),
        });
    }

    /// The next number of `bpf_get_prandom_u32`.
    pub fn next_random(&mut self) -> u32 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    }

    /// How many tasks of the class run or wait on a CPU.
    pub fn runnable_on(&self, cpu: u32) -> u32 {
        let at = self.rq(cpu) + u64::from(self.image.types.offset("rq", "scx.nr_running"));
        self.vm.memory.u32(at)
    }

    /// Puts down that a task is, or is no longer, runnable.
    pub fn set_runnable(&mut self, row: u32, is_runnable: bool) {
        let before = std::mem::replace(&mut self.tasks[row as usize].is_runnable, is_runnable);
        self.set_task_u32(row, self.at.on_rq, u32::from(is_runnable));
        self.set_task_flag(row, TASK_QUEUED, is_runnable);
        if before != is_runnable {
            let cpu = self.tasks[row as usize].cpu;
            for path in ["nr_running", "scx.nr_running"] {
                let at = self.rq(cpu) + u64::from(self.image.types.offset("rq", path));
                let count = self.vm.memory.u32(at);
                let count = if is_runnable { count + 1 } else { count.saturating_sub(1) };
                self.vm.memory.write(at, 4, u64::from(count));
            }
        }
    }
}

/// The world while somebody acts in it: with the machine at hand.
#[derive(Debug)]
pub struct Act<'a> {
    /// The world.
    pub w: &'a mut World,
    /// The machine.
    pub p: &'a mut Platform,
}

impl Calls for Act<'_> {
    #[inline]
    fn vm(&mut self) -> &mut Vm {
        &mut self.w.vm
    }

    fn helper(&mut self, number: u32, args: [u64; 5]) -> Outcome {
        *self.w.counts.helpers.entry(number).or_default() += 1;
        self.p.work.scx_helpers += 1;
        crate::helpers::call(self, number, args)
    }

    fn kfunc(&mut self, number: u32, args: [u64; 5]) -> Outcome {
        let index = number as usize;
        self.p.work.scx_kfuncs += 1;
        if let Some(count) = self.w.counts.kfuncs.get_mut(index) {
            *count += 1;
        }
        match self.w.image.kfuncs.get(index).and_then(|&known| crate::kfuncs::KFUNCS.get(known)) {
            Some(known) => (known.run)(self, args),
            None => Err(Fault::new(format!("there is no kernel function {number}"))),
        }
    }

    fn poison(&self, reason: usize) -> String {
        self.w.image.poisons.get(reason).cloned().unwrap_or_default()
    }
}

impl Act<'_> {
    /// The present time, ns.
    pub fn now(&self) -> u64 {
        self.p.now_ns()
    }

    /// Ends the policy with an error of the class's.
    pub fn error(&mut self, message: impl Into<String>) {
        let now = self.now();
        self.w.end(crate::kernel_types::EXIT_ERROR, 0, message, now);
    }

    /// Runs a function of the object.
    ///
    /// # Errors
    /// What it did wrong.
    pub fn run(&mut self, entry: usize, args: [u64; 5]) -> Outcome {
        let image = Arc::clone(&self.w.image);
        run(self, &image.code, entry, args)
    }

    /// Puts down why the policy ends: its program did something wrong.
    pub fn faulted(&mut self, fault: &Fault) {
        let place = fault.at.map_or(String::new(), |at| self.w.image.place(at as usize));
        self.error(format!("{place}: {}", fault.what));
        if let Some(end) = &mut self.w.ended
            && end.registers.is_none()
        {
            end.registers = Some(fault.registers);
        }
    }

    /// Whether the policy has this callback, and has not ended.
    pub fn has(&self, callback: Callback) -> bool {
        self.w.ended.is_none() && self.w.image.callback(callback).is_some()
    }

    /// Calls a callback; none if there is none, or the policy has ended or ends now.
    pub fn call(&mut self, callback: Callback, context: Context, args: &[u64]) -> Option<u64> {
        if self.w.ended.is_some() && callback != Callback::EXIT {
            return None;
        }
        let entry = self.w.image.callback(callback)?;
        let nested = self.w.nested;
        if nested == NESTED_MAX {
            self.error("callbacks are nested too deep");
            return None;
        }
        let base = address(memory::ARGS, (nested * ARGS_MAX * 8) as u32);
        let mut recent =
            Recent { callback, at_ns: self.now(), cpu: self.w.cpu, args: [0; 4], len: args.len() };
        for (number, &arg) in args.iter().take(ARGS_MAX).enumerate() {
            self.w.vm.memory.write(base + number as u64 * 8, 8, arg);
            recent.args[number] = arg;
        }
        if self.w.recent.len() == RECENT {
            self.w.recent.pop_front();
        }
        self.w.recent.push_back(recent);
        let outer = (self.w.context, self.w.callback);
        (self.w.context, self.w.callback) = (context, callback.name());
        self.w.nested += 1;
        self.w.vm.begin();
        let before = self.w.vm.insns;
        let outcome = self.run(entry, [base, 0, 0, 0, 0]);
        let insns = self.w.vm.insns - before;
        let counts = &mut self.w.counts.callbacks[usize::from(callback.0)];
        counts.calls += 1;
        counts.insns += insns;
        counts.insns_max = counts.insns_max.max(insns);
        if nested == 0 {
            // Of those within others these are a part.
            self.p.work.scx_insns += insns;
        }
        let result = match outcome {
            Ok(result) => Some(result),
            Err(fault) => {
                self.faulted(&fault);
                None
            }
        };
        if self.w.log.is_some() {
            self.log_call(&recent, nested, result, insns);
        }
        self.w.nested = nested;
        (self.w.context, self.w.callback) = outer;
        if self.w.ended.is_some() { None } else { result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_specification() {
        let weight = |nice| weight_of(&SchedAttr::nice(nice));
        assert_eq!([0, -20, 19, 5].map(weight), [100, 8668, 1, 33]);
        let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
        assert_eq!(weight_of(&idle), 1);
        assert_eq!([1024, 2048, 2, 1 << 20].map(group_weight), [100, 200, 1, 10_000]);
    }
}
