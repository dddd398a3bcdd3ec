//! The fair class of Linux 5.x and 6.x, whatever its rule of picking is.
//!
//! Linux 6.6 replaced CFS by EEVDF. What changed is which task is *picked*. How groups are
//! organised and weighed, how load is tracked, on which CPU a task wakes and starts, which CPU
//! pulls tasks from which, and what happens to a group without quota stayed as they were. So there
//! is one such class here, [`Fair`](class::Fair), and two rules of picking:
//!
//! * [`cfs`]: the smallest vruntime (6.1, 5.10);
//! * [`eevdf`]: the earliest virtual deadline among the eligible entities (6.6, 6.12, 6.18).
//!
//! # Where to read
//!
//! | file | subject |
//! |---|---|
//! | [`class`] | the state of the class |
//! | [`enqueue`], [`running`] | enqueue and dequeue, and what runs, on every level of the groups |
//! | [`one_tree`] | the same where all tasks of a CPU are in one tree (7.3) |
//! | [`fork_exit`] | new threads, dead threads and changes of group |
//! | [`task_group`], [`set_task_rq`], [`cpu_cgroup`] | task groups and their queues |
//! | [`update_shares`], [`throttle`] | the weights of groups, and groups without quota |
//! | [`limbo`] | the tasks of a group without quota, which leave one by one (6.18) |
//! | [`load_avg`] | when load tracking ([`pelt`](crate::classes::pelt)) is updated |
//! | [`runnable_load`] | the same up to 5.6, with the load of what is queued |
//! | [`domains`] | how the machine is divided, and which CPUs are close to each other |
//! | [`select_task_rq`], [`find_idlest_cpu`] | where a task wakes, and where a child starts |
//! | [`load_balance`] | which CPU pulls tasks from which, and when |
//! | [`find_busiest_group`], [`lb_stats`] | from which group, and how much of what |
//! | [`balance_5_4`] | the same before 5.5, by average load |
//! | [`cpu_capacity`], [`group_capacity`] | what real-time and deadline tasks leave of each CPU |
//! | [`detach_tasks`], [`cfs_tasks`] | which tasks are moved |
//! | [`lb_env`] | the state of balancing |
//! | [`ni_random`] | newly idle CPUs that balance only some of the time |
//! | [`lb_cache`] | the same decisions on a wide machine without looking at every CPU |
//! | [`hooks`] | the hooks that the core ([`core_6`](crate::classes::core_6)) calls |
//! | [`pick_rule`], [`rule_state`] | the border between the class and the rules of picking |
//! | [`differences`] | the differences between releases, which can be switched one by one |
//! | [`balance_tunables`] | the tunables of balancing and quotas that all releases have |
//! | [`pick`], [`wakeup_preempt`], [`buddies`] | how decisions go down the levels of the groups |
//! | [`timeline`], [`entity`], [`cfs_rq`] | the tree of waiting entities; weights; a runqueue |
//! | [`ids`] | indices of entities and runqueues |
//! | [`load_weight`] | the weights of tasks |
//! | [`rules`] | the decision rules by number, and their grounds |
//! | [`audit`] | consistency checks |
//!
//! State is in files that do not know the rules ([`entity`], [`cfs_rq`], [`timeline`],
//! [`task_group`], [`cfs_tasks`], [`cpu_capacity`], [`domains`], [`lb_env`], [`lb_stats`],
//! [`lb_cache`], [`flags`]). Rules are methods of `Fair`, and no file imports in a circle. Rules
//! call each other in a circle only where the kernel's do: the pick throttles a queue that has run
//! out of quota, which dequeues its group, and then picks again; a dequeue charges the running
//! entity, which may request a throttling.

pub mod audit;
pub mod balance_5_4;
pub mod balance_tunables;
pub mod buddies;
pub mod cfs;
pub mod cfs_rq;
pub mod cfs_tasks;
pub mod class;
pub mod cpu_capacity;
pub mod cpu_cgroup;
pub mod detach_tasks;
pub mod differences;
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
pub mod one_tree;
pub mod pick;
pub mod pick_rule;
pub mod rule_state;
pub mod rules;
pub mod runnable_load;
pub mod running;
pub mod select_task_rq;
pub mod set_task_rq;
pub mod task_group;
pub mod throttle;
pub mod timeline;
pub mod update_shares;
pub mod wakeup_preempt;
