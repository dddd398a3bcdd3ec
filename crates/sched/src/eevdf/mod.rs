//! EEVDF, "earliest eligible virtual deadline first": the fair class of 6.6 to 6.18.
//!
//! TODO docs

pub mod balance;
pub mod entity;
pub mod fair;
pub mod group;
pub mod kernel;
pub mod load;
pub mod queue;
pub mod select;
pub mod tree;
pub mod version;

pub use kernel::Eevdf;
pub use version::Version;

use crate::classes::deadline::Deadline;
use crate::classes::domains::{DomainParams, Domains};
use crate::classes::rt::{RealTime, RtVersion};
use crate::classes::{Core, Pid};
use crate::interface::Load;
use crate::registry::{Build, BuildConfig, Entry, Release};
use crate::{CpuId, Policy, Promises, Tunable};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use balance::Balance;
use entity::{Entity, Info, NONE};
use fair::{Fair, FairTask};
use group::Group;
use queue::Queue;
use tree::Order;
use version::{FEATURES, Features};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: "eevdf",
    title: "Earliest eligible virtual deadline first",
    summary: "of the tasks that are owed time, the one whose request is due first runs",
    releases: &[
        Release {
            version: "6.18",
            also: &["6.18.15"],
            summary: "the running task is protected up to a point in virtual time",
            golden: &[("eevdf", "6.18.15"), ("deadline", "6.18.15")],
            hz_default: 1000,
            hz_range: (100, 1000),
            cpus_max: 4096,
            policies: &Policy::ALL,
            groups: true,
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_18, config))),
        },
        Release {
            version: "6.12",
            also: &["6.12.117"],
            summary: "delayed dequeue, custom slices",
            golden: &[("eevdf", "6.12.117")],
            hz_default: 1000,
            hz_range: (100, 1000),
            cpus_max: 4096,
            policies: &Policy::ALL,
            groups: true,
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_12, config))),
        },
        Release {
            version: "6.6",
            also: &["6.6.93"],
            summary: "the first EEVDF: sorted by vruntime, lag kept over sleeps of any length",
            golden: &[("eevdf", "6.6.93")],
            hz_default: 1000,
            hz_range: (100, 1000),
            cpus_max: 4096,
            policies: &Policy::ALL,
            groups: true,
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_6, config))),
        },
    ],
};

/// `base_slice_ns` before it is scaled by the number of CPUs (longterm releases and 6.15 on).
const BASE_SLICE_NS: u32 = 700_000;

/// The longest base slice that can be set, ns.
const BASE_SLICE_MAX_NS: i64 = 1_000_000_000;

/// `tunable_scaling` = logarithmic: by how much slices grow with the CPUs, up to 8 of them.
fn scaling(cpus: u32) -> u32 {
    1 + cpus.min(8).ilog2()
}

/// What domains look like to the real-time class, which looks for CPUs that are near.
const DOMAIN: DomainParams = DomainParams {
    min_interval_ms: 1,
    max_interval_ms: 2,
    busy_factor: 16,
    imbalance_pct: 117,
    cache_nice_tries: 1,
    busy_idx: 0,
    idle_idx: 0,
    newidle_idx: 0,
    wake_idx: 0,
    forkexec_idx: 0,
    balance_newidle: true,
    balance_exec: true,
    balance_fork: true,
    balance_wake: false,
    wake_affine: true,
    share_cpupower: false,
    prefer_sibling: false,
    smt_gain: 1024,
};

impl Eevdf {
    /// An idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> Eevdf {
        let cpus = config.topology.cpus();
        let real_time = RtVersion {
            throttling: true,
            // RT_RUNTIME_SHARE is off since 5.10.
            runtime_share: false,
            push_pull: true,
        };
        Eevdf {
            core: Core::new(Domains::new(&config.topology, |_| DOMAIN)),
            deadline: Deadline::new(cpus),
            rt: RealTime::new(real_time, cpus, config.hz),
            fair: Fair::new(version, cpus, config.hz),
        }
    }
}

impl Fair {
    /// Nobody is queued anywhere.
    pub fn new(version: Version, cpus: u32, hz: u32) -> Fair {
        Fair {
            version,
            features: Features::of(version),
            order: Order {
                by_deadline: version.tree_by_deadline(),
                exact_slices: false,
            },
            base_slice: BASE_SLICE_NS * scaling(cpus),
            base_slice_unscaled: BASE_SLICE_NS,
            tick_ns: 1_000_000_000 / u64::from(hz),
            cpus,
            online: cpus,
            base_slice_by_hand: false,
            se: Vec::new(),
            info: Vec::new(),
            nodes: Default::default(),
            free: Vec::new(),
            queues: (0..cpus).map(|cpu| Queue::new(CpuId(cpu), 0, NONE)).collect(),
            groups: alloc::vec![Group::root(cpus)],
            tasks: Vec::new(),
            balance: Balance::new(cpus),
        }
    }

    /// A new thread, of whatever class.
    fn thread_born(&mut self, pid: Pid, group: u32, cpu: CpuId) {
        if self.tasks.len() <= pid.index() {
            self.tasks.resize(pid.index() + 1, FairTask::default());
        }
        let se = self.new_entity(Entity::new(self.base_slice), Info::of_task(pid));
        self.tasks[pid.index()] = FairTask {
            se,
            recent_used_cpu: cpu.0,
            ..FairTask::default()
        };
        self.set_task_rq(pid, group, cpu);
    }

    /// `wake_up_new_task`, first half: the averages that it starts with.
    fn wake_up_new(&mut self, core: &Core, pid: Pid) {
        self.tasks[pid.index()].recent_used_cpu = core.cpu_of(pid).0;
        if self.cpus > 1 {
            self.init_load_avg(self.se_of(pid));
        }
    }

    /// `sched_move_task`, middle part: `pid`, taken off its queue, belongs to `group`.
    fn move_group(&mut self, core: &Core, now_ns: u64, pid: Pid, group: u32) {
        let e = self.se_of(pid);
        if self.cpus > 1 && self.info[e as usize].avg.last_update_time != 0 {
            self.update_load_avg(now_ns, e, load::Attach::Detach);
        }
        self.info[e as usize].avg.last_update_time = 0;
        self.set_task_rq(pid, group, core.cpu_of(pid));
        self.update_load_avg(now_ns, e, load::Attach::Attach);
    }

    fn tunables(&self) -> Vec<Tunable> {
        let mut all = alloc::vec![
            Tunable {
                name: "base_slice_ns",
                value: i64::from(self.base_slice),
                range: (100_000, BASE_SLICE_MAX_NS),
                help: "length of a request, ns, as scaled by the number of CPUs",
            },
            Tunable {
                name: "migration_cost_ns",
                value: self.balance.migration_cost_ns as i64,
                range: (0, i64::from(u32::MAX)),
                help: "a task that ran less than this ago is cache hot and not moved at first, ns",
            },
            Tunable {
                name: "nr_migrate",
                value: i64::from(self.balance.nr_migrate),
                range: (1, 1024),
                help: "tasks looked at in one balancing",
            },
        ];
        if self.version.custom_slices() {
            all.push(Tunable {
                name: "exact_min_slice",
                value: i64::from(self.order.exact_slices),
                range: (0, 1),
                help: "1: subtrees always know their smallest slice (no kernel: theirs lags behind)",
            });
        }
        let mut features = self.features;
        for feature in FEATURES.iter().filter(|feature| feature.since <= self.version) {
            all.push(Tunable {
                name: feature.name,
                value: i64::from(*(feature.switch)(&mut features)),
                range: (0, 1),
                help: feature.help,
            });
        }
        all
    }

    /// Writes a knob; name and range have been checked.
    fn set_tunable(&mut self, name: &str, value: i64) {
        match name {
            "base_slice_ns" => {
                self.base_slice = value as u32;
                self.base_slice_unscaled = value as u32 / scaling(self.online);
                self.base_slice_by_hand = true;
            }
            "migration_cost_ns" => self.balance.migration_cost_ns = value as u64,
            "nr_migrate" => self.balance.nr_migrate = value as u32,
            "exact_min_slice" => self.order.exact_slices = value != 0,
            _ => {
                if let Some(feature) = FEATURES.iter().find(|feature| feature.name == name) {
                    *(feature.switch)(&mut self.features) = value != 0;
                }
            }
        }
    }

    fn promises(&self, load: &Load) -> Promises {
        let _ = load;
        Promises::default()
    }

    fn audit(&self, core: &Core) -> Result<(), String> {
        for (number, queue) in self.queues.iter().enumerate() {
            let waiting = tree::audit(&self.nodes, &queue.tree, &self.se, self.order)
                .map_err(|wrong| alloc::format!("queue {number}: {wrong}"))?;
            let curr = queue.curr != NONE && self.se[queue.curr as usize].on_rq;
            if waiting + usize::from(curr) != queue.nr_queued as usize {
                return Err(alloc::format!(
                    "queue {number}: {} queued, found {waiting}",
                    queue.nr_queued
                ));
            }
            if !queue.audit_sums(&self.nodes, &self.se) {
                return Err(alloc::format!("queue {number}: the sums do not add up"));
            }
        }
        if !self.audit_lists(core) {
            return Err("a CPU's list of tasks is wrong".into());
        }
        Ok(())
    }
}
