//! The state that a policy's code works on: tasks, CPUs, groups, masks, maps and timers.

use crate::arena::{Arena, PAGE};
use crate::counts::{CallCounts, Counts};
use crate::cpu::{Cpu, MASK_ONLINE, MASK_POSSIBLE, first_mask};
use crate::dsq::{Dsq, Insertion, Walk};
use crate::end::{End, RecentCall};
use crate::group::Group;
use crate::image::Image;
use crate::kernel_types::{
    EXIT_ERROR_BPF, EXIT_ERROR_STALL, EXIT_UNREG_BPF, EXIT_UNREG_KERN, OPS_KEEP_BUILTIN_IDLE,
    TASK_QUEUED,
};
use crate::log::Log;
use crate::maps::Map;
use crate::memory::{self, FIRST_FREE, Holes, address, place};
use crate::ops::{ARGS_MAX, Callback, Context};
use crate::options::Profile;
use crate::task::{Task, TaskOffsets};
use crate::timers::BpfTimer;
use crate::user_half::state::State;
use crate::vm::Vm;
use schedlab_core::{CpuId, CpuSet, TaskId, Topology};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Maximum depth of nested callbacks. (The only case is an enqueue within the release of a CPU.)
pub(crate) const NESTED_MAX: usize = 8;

/// Number of callbacks kept for the message of an ended policy.
pub(crate) const RECENT: usize = 20;

/// Records of ring buffers that are reserved, by address: the map, and the size in bytes.
pub type Reserved = BTreeMap<u64, (usize, u32)>;

/// State of a policy and of the part of the kernel that it can see.
#[derive(Debug)]
pub struct World {
    /// The kernel whose class is emulated.
    pub profile: Profile,
    /// See [`Options::put_back_ns`](crate::options::Options::put_back_ns).
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
    /// Their topology.
    pub topology: Topology,
    /// Tasks, the idle tasks first.
    pub tasks: Vec<Task>,
    /// Groups.
    pub groups: Vec<Group>,
    /// Queues: a local queue for each CPU, the global queue, then the policy's queues.
    pub queues: Vec<Dsq>,
    /// The policy's queues by id.
    pub queue_of: BTreeMap<u64, u32>,
    /// Indices of destroyed queues.
    pub free_queues: Vec<u32>,
    /// Number of insertions so far.
    pub stamps: u64,
    /// Number of calls of `enqueue` so far.
    pub qseqs: u64,
    /// The policy's timers.
    pub timers: Vec<BpfTimer>,
    /// Iterations over queues in progress, by the address of the iterator.
    pub walks: BTreeMap<u64, Walk>,
    /// The policy's timers by address.
    pub timer_of: BTreeMap<u64, usize>,
    /// Reference counts of the policy's masks.
    pub mask_refs: Vec<u32>,
    /// Masks that were released.
    pub mask_free: Vec<u32>,
    /// Objects of the policy, by address: size and reference count.
    pub heap: BTreeMap<u64, (u32, u32)>,
    /// Objects that were released, by size.
    pub heap_free: BTreeMap<u32, Vec<u64>>,
    /// Trees and lists, by the address of their roots: nodes in order.
    pub nodes: BTreeMap<u64, VecDeque<u64>>,
    /// Nodes that are in trees, with the tree.
    pub in_tree: BTreeMap<u64, u64>,
    /// Insertions by `dispatch`.
    pub insertions: Vec<Insertion>,
    /// Origin of the current call.
    pub context: Context,
    /// The acting CPU.
    pub cpu: u32,
    /// The CPU that is in `schedule`.
    pub in_schedule: Option<u32>,
    /// The task for which a direct insertion is allowed.
    pub direct_for: Option<u32>,
    /// The running callback, for messages.
    pub callback: &'static str,
    /// Depth of nested callbacks.
    pub(crate) nested: usize,
    /// Whether the class tracks idle CPUs.
    pub tracks_idle: bool,
    /// Offsets in `task_struct`.
    pub at: TaskOffsets,
    /// State of `bpf_get_prandom_u32`.
    pub random: u64,
    /// Whether the watchdog's timer is armed.
    pub is_watched: bool,
    /// Why the policy ended, if it has.
    pub ended: Option<End>,
    /// Counts of the policy's actions.
    pub counts: Counts,
    /// The last calls of callbacks.
    pub recent: VecDeque<RecentCall>,
    /// Printed output (`bpf_trace_printk`): time, CPU, text. Kept only on request.
    pub printed: Option<Vec<(u64, u32, String)>>,
    /// Pages of the arena.
    pub(crate) arena: Arena,
    /// Records of ring buffers that are being written.
    pub(crate) reserved: Reserved,
    /// Iterations over groups and tasks in progress, by the address of the iterator: the remaining
    /// items, the next one last.
    pub lists: BTreeMap<u64, Vec<u64>>,
    /// For each CPU the CPUs of its core.
    pub siblings: Vec<Vec<u32>>,
    /// Number of memory nodes.
    pub nodes_of_memory: u32,
    /// Programs to call before the policy begins: first instructions and arguments.
    pub first_calls: Vec<(usize, Vec<i32>)>,
    /// The region of namespaces, credentials and similar objects.
    pub(crate) objects: u32,
    /// The first thread of each process, and the number of its threads.
    pub(crate) threads: BTreeMap<u32, (u32, u32)>,
    /// State of its user half.
    pub(crate) user: State,
    /// Receiver of the policy's log.
    pub log: Option<Log>,
    /// The dump, while it is being written.
    pub dump: Option<String>,
}

fn nodes_of_memory(topology: &Topology) -> u32 {
    (0..topology.cpus()).map(|cpu| topology.place(CpuId(cpu)).node).max().unwrap_or(0) + 1
}

/// For each CPU the CPUs of its core.
fn siblings(topology: &Topology) -> Vec<Vec<u32>> {
    let core = |cpu| topology.place(CpuId(cpu)).core;
    let cpus = topology.cpus();
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in 0..cpus {
        cores.entry(core(cpu)).or_default().push(cpu);
    }
    (0..cpus).map(|cpu| cores.get(&core(cpu)).cloned().unwrap_or_default()).collect()
}

impl World {
    /// Makes a world without tasks for a policy.
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
        // The low half of an arena address is never 0.
        let variables = image.arena.len().next_multiple_of(PAGE as usize);
        let size = if variables > 0 { PAGE as usize + variables } else { 0 };
        memory.set(memory::ARENA, "arena", size, true);
        let start = address(memory::ARENA, PAGE);
        if let Some(place) = memory.slice_mut(start, image.arena.len()) {
            place.copy_from_slice(&image.arena);
        }
        for (number, data) in image.data.iter().enumerate() {
            let region = memory.add(&data.name, data.bytes.clone(), data.is_writable);
            debug_assert_eq!(region, FIRST_FREE + number as u32);
        }
        let maps = image.maps.iter().map(|def| Map::new(def, memory, cpus)).collect();
        let user = State::new(&image, memory);
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
            profile: Profile::default(),
            put_back_ns: 0,
            put_backs: vec![],
            context: Context::Other,
            cpu: 0,
            in_schedule: None,
            direct_for: None,
            callback: "",
            nested: 0,
            tracks_idle: image.callback(Callback::UPDATE_IDLE).is_none()
                || image.ops.flags & OPS_KEEP_BUILTIN_IDLE != 0,
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

    /// Returns the depth of nested callbacks.
    pub fn depth(&self) -> usize {
        self.nested
    }

    /// Returns the number of CPUs of the machine.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Returns the index of the global queue.
    pub fn global(&self) -> u32 {
        self.nr_cpus()
    }

    /// Returns the row of a machine's task.
    pub fn row(&self, task: TaskId) -> u32 {
        self.nr_cpus() + task.0
    }

    /// Returns the machine's task in a row.
    pub fn task_id(&self, row: u32) -> TaskId {
        TaskId(row - self.nr_cpus())
    }

    /// Returns the address of a task.
    pub fn task_address(&self, row: u32) -> u64 {
        address(memory::TASKS, row * self.at.stride)
    }

    /// Returns the row of the task at an address. `None` if there is no task.
    pub fn task_at(&self, at: u64) -> Option<u32> {
        let (region, offset) = place(at);
        let row = offset / self.at.stride;
        let is_one = region == memory::TASKS
            && offset % self.at.stride == 0
            && (row as usize) < self.tasks.len();
        is_one.then_some(row)
    }

    /// Reads 8 bytes of a task.
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

    /// Returns the slice of a task, ns.
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

    /// Returns the address of a CPU's `struct rq`.
    pub fn rq(&self, cpu: u32) -> u64 {
        let size = self.image.types.structure("rq").map_or(0, |layout| layout.size);
        address(memory::RQS, cpu * size)
    }

    /// Adds rows to the tasks up to `row`.
    pub fn add_task(&mut self, row: u32) -> u32 {
        if self.tasks.len() <= row as usize {
            self.tasks.resize(row as usize + 1, Task::default());
            let rows = (row + 1).next_power_of_two() as usize;
            self.vm.memory.grow(memory::TASKS, rows * self.at.stride as usize);
        }
        row
    }

    /// Returns the name of a task in messages: `COMM[PID]`.
    pub fn task_name(&self, row: u32) -> String {
        let comm = self.vm.memory.text(self.task_field(row, "comm"), 16).unwrap_or_default();
        let pid = self.vm.memory.u32(self.task_field(row, "pid"));
        format!("{}[{pid}]", String::from_utf8_lossy(comm))
    }

    /// Ends the policy unless it has already ended.
    pub fn end(&mut self, kind: u64, code: i64, message: impl Into<String>, now_ns: u64) {
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

    /// Returns the next number of `bpf_get_prandom_u32`.
    pub fn next_random(&mut self) -> u32 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    }

    /// Returns the number of tasks of the class that run or wait on a CPU.
    pub fn runnable_on(&self, cpu: u32) -> u32 {
        let at = self.rq(cpu) + u64::from(self.image.types.offset("rq", "scx.nr_running"));
        self.vm.memory.u32(at)
    }

    /// Marks a task as runnable or not.
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
