//! The fair class of Linux 5.x and 6.x, whatever its rule of picking is.
//!
//! EEVDF took the place of CFS in 6.6, and what it changed is who is *picked*. How groups are kept
//! and weighed, how load is tracked, on which CPU a task wakes and starts, who takes work from
//! whom, and what becomes of a group without quota went on as they were. So there is one such
//! class here, [`Fair`](class::Fair), and two rules of picking:
//!
//! * [`cfs`]: the least vruntime (6.1, 5.10);
//! * [`eevdf`]: the earliest virtual deadline of those that are eligible (6.6, 6.12, 6.18).
//!
//! # Where to read
//!
//! | file | what |
//! |---|---|
//! | [`enqueue`], [`class`] | coming and going, and what runs, on every level of the groups |
//! | [`task_group`], [`set_task_rq`], [`cpu_cgroup`] | task groups and their queues |
//! | [`update_shares`], [`throttle`] | what groups weigh, and what becomes of them without quota |
//! | [`limbo`] | what becomes of their tasks then, one by one (6.18) |
//! | [`load_avg`] | when load tracking ([`pelt`](crate::classes::pelt)) is brought up to date |
//! | [`domains`] | several CPUs: how the machine is divided, and who is near whom |
//! | [`select_task_rq`], [`find_idlest_cpu`] | where a task wakes, and where a child starts |
//! | [`load_balance`] | who takes work from whom, and when |
//! | [`find_busiest_group`], [`lb_stats`] | from which group, and how much of what |
//! | [`cpu_capacity`] | what real-time and deadline tasks leave of each CPU |
//! | [`detach_tasks`], [`cfs_tasks`] | which tasks |
//! | [`lb_env`] | what balancing keeps |
//! | [`ni_random`] | newly idle CPUs that balance only now and then |
//! | [`lb_cache`] | the same on a wide machine without looking at every CPU |
//! | [`hooks`] | how the core ([`core_6`](crate::classes::core_6)) asks the class |
//! | [`pick_rule`] | the border: what is asked of the rules of picking |
//! | [`balance_tunables`] | the settings of balancing and quotas that all releases have |
//! | [`pick`], [`wakeup_preempt`], [`buddies`] | down the levels of the groups; who is asked |
//! | [`timeline`], [`entity`], [`cfs_rq`] | the tree of those that wait; weights; a queue |
//! | [`load_weight`] | what tasks weigh |
//! | [`rules`] | the rules of decisions by number, and their grounds |
//! | [`audit`] | checks |
//!
//! State stands in files that do not know [`Fair`](class::Fair) ([`entity`], [`cfs_rq`],
//! [`timeline`], [`task_group`], [`cfs_tasks`], [`domains`], [`lb_env`], [`lb_stats`],
//! [`lb_cache`], [`flags`]); rules are methods of `Fair`, and no file imports in a circle. Where
//! rules call each other in a circle the kernel does: the pick throttles a queue that has run out,
//! which dequeues its group, and picks anew; a dequeue charges, which may ask for a throttling.
//!

pub mod audit;
pub mod balance_tunables;
pub mod buddies;
pub mod cfs;
pub mod cfs_rq;
pub mod cfs_tasks;
pub mod class;
pub mod cpu_capacity;
pub mod cpu_cgroup;
pub mod detach_tasks;
pub mod domains;
pub mod eevdf;
pub mod enqueue;
pub mod entity;
pub mod find_busiest_group;
pub mod find_idlest_cpu;
pub mod flags;
pub mod fork_exit;
pub mod group_capacity;
pub mod hooks;
pub mod ids;
pub mod lb_cache;
pub mod lb_env;
pub mod lb_stats;
pub mod limbo;
pub mod load_avg;
pub mod load_balance;
pub mod load_weight;
pub mod ni_random;
pub mod pick;
pub mod pick_rule;
pub mod rule_state;
pub mod rules;
pub mod running;
pub mod select_task_rq;
pub mod set_task_rq;
pub mod task_group;
pub mod throttle;
pub mod timeline;
pub mod update_shares;
pub mod wakeup_preempt;
