//! Real-time and deadline tasks above a policy: `objects/above.bpf.c`.

mod support;

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Parent, Platform, Policy, SchedAttr, Scheduler,
    TaskAttr, TaskId, Waker,
};
use schedlab_machine::{Config, Machine, NewTask, Op, Workload};
use schedlab_scx::{Classes, OnEnd, Options, Profile, ScxScheduler};
use std::convert::Infallible;
use std::sync::Arc;
use support::{Books, HZ, MS, SECOND, link};

/// A policy with the classes above it, called directly by the tests.
struct Rig {
    classes: Classes,
    platform: Platform,
    seen: usize,
}

const OTHER: SchedAttr = SchedAttr::nice(0);
const FIFO: SchedAttr = SchedAttr::realtime(Policy::Fifo, 10);

fn deadline() -> SchedAttr {
    SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: 2 * MS,
        deadline_ns: 10 * MS,
        period_ns: 10 * MS,
        ..OTHER
    }
}

impl Rig {
    fn new(object: &str, cpus: u32, settings: &[&str], profile: Profile) -> Rig {
        let config = BuildConfig::flat(cpus, HZ);
        let image = link(object, cpus, settings).unwrap_or_else(|error| panic!("{error}"));
        let on_end = OnEnd::GoOn;
        let options = Options { keeps_printed: true, on_end, profile, ..Options::default() };
        let policy = ScxScheduler::new(Arc::new(image), &config, options);
        let classes = Classes::new(policy, &config);
        Rig { classes, platform: config.platform(), seen: 0 }
    }

    fn above(cpus: u32, settings: &[&str]) -> Rig {
        Rig::new("above", cpus, settings, Profile::V6_18)
    }

    fn fork(&mut self, task: u32, sched: SchedAttr) {
        self.fork_on(task, sched, CpuSet::All);
    }

    fn fork_on(&mut self, task: u32, sched: SchedAttr, allowed: CpuSet) {
        let attr = TaskAttr { sched, allowed, ..TaskAttr::default() };
        self.classes.fork(&mut self.platform, TaskId(task), &attr, Parent::External);
    }

    /// Reschedules the CPUs that were asked to, until none is.
    fn settle(&mut self) {
        let mut rounds = 0;
        let mut from = 0;
        while let Some(cpu) =
            self.platform.next_resched(from).or_else(|| self.platform.next_resched(0))
        {
            self.platform.clear_resched(cpu);
            self.classes.schedule(&mut self.platform, cpu);
            from = cpu.0 + 1;
            rounds += 1;
            assert!(rounds < 100, "it comes to rest");
        }
        assert_eq!(self.classes.inspect().audit(), Ok(()));
    }

    fn schedule(&mut self, cpu: u32) -> Option<TaskId> {
        self.platform.clear_resched(CpuId(cpu));
        self.classes.schedule(&mut self.platform, CpuId(cpu))
    }

    fn block(&mut self, cpu: u32, task: u32, reason: BlockReason) {
        self.classes.block(&mut self.platform, CpuId(cpu), TaskId(task), reason);
    }

    fn sleep(&mut self, cpu: u32, task: u32) {
        self.block(cpu, task, BlockReason::Interruptible);
    }

    fn wake(&mut self, task: u32) {
        let waker = Waker::Interrupt { cpu: self.classes.cpu_of(TaskId(task)) };
        self.classes.wake(&mut self.platform, TaskId(task), waker);
    }

    fn set(&mut self, task: u32, attr: SchedAttr) {
        let by = self.classes.cpu_of(TaskId(task));
        self.classes.set_attr(&mut self.platform, TaskId(task), &attr, by);
    }

    fn at(&mut self, now_ns: u64) {
        self.platform.set_now_ns(now_ns);
    }

    /// Returns the printed output of the policy since the last call.
    fn printed(&mut self) -> Vec<String> {
        let printed = self.classes.policy().printed();
        let new = printed[self.seen..].iter().map(|(_, _, text)| text.clone()).collect();
        self.seen = printed.len();
        new
    }
}

#[test]
fn a_real_time_task_takes_the_cpu_at_once_and_gives_it_back() {
    let mut rig = Rig::above(1, &[]);
    rig.fork(0, OTHER);
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    rig.at(5 * MS);
    rig.printed();
    rig.fork(1, FIFO);
    // The policy knows the task, but does not have it.
    assert_eq!(rig.printed(), ["init_task 1001"]);
    assert!(rig.platform.resched_pending(CpuId(0)), "it preempts");
    assert_eq!(rig.schedule(0), Some(TaskId(1)));
    // With slice left it returns to the head of the local queue, without a call of `enqueue`.
    assert_eq!(rig.printed(), ["stopping 1000 1", "cpu_release 0 0 1001"]);
    rig.at(7 * MS);
    rig.sleep(0, 1);
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    assert_eq!(rig.printed(), ["cpu_acquire 0", "running 1000"]);
    rig.at(8 * MS);
    rig.wake(1);
    assert_eq!(rig.schedule(0), Some(TaskId(1)));
    rig.block(0, 1, BlockReason::Dead);
    rig.printed();
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    assert_eq!(rig.printed(), ["cpu_acquire 0", "running 1000", "exit_task 1001"]);
    // The rest of the slice is neither lost nor renewed.
    assert_eq!(rig.classes.policy().end(), None);
}

#[test]
fn a_task_without_slice_is_enqueued_when_it_is_preempted() {
    let mut rig = Rig::above(1, &["slice_ns=4000000"]);
    rig.fork(0, OTHER);
    rig.fork(1, OTHER);
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    rig.at(4 * MS);
    rig.fork(2, deadline());
    rig.printed();
    assert_eq!(rig.schedule(0), Some(TaskId(2)));
    // This class looks for work before the deadline class has the CPU. The task that it found waits
    // in the local queue. The reason is 1, a deadline task.
    let printed = ["dispatch 0 1000", "stopping 1000 1", "enqueue 1000 0", "cpu_release 0 1 1002"];
    assert_eq!(rig.printed(), printed);
    rig.sleep(0, 2);
    assert_eq!(rig.schedule(0), Some(TaskId(1)));
    assert_eq!(rig.printed(), ["cpu_acquire 0", "running 1001"]);
}

#[test]
fn tasks_of_the_local_queue_are_asked_back() {
    let mut rig = Rig::above(1, &["asks_back=true"]);
    rig.fork(0, OTHER);
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    rig.fork(1, FIFO);
    rig.printed();
    assert_eq!(rig.schedule(0), Some(TaskId(1)));
    let reenq = format!("enqueue 1000 {:x}", 1_u64 << 40);
    let printed = ["stopping 1000 1", "cpu_release 0 0 1001", &reenq, "asked back 1"];
    assert_eq!(rig.printed(), printed);
}

#[test]
fn nothing_is_released_when_one_real_time_task_follows_another() {
    let mut rig = Rig::above(1, &[]);
    rig.fork(0, OTHER);
    rig.schedule(0);
    rig.fork(1, FIFO);
    rig.schedule(0);
    rig.printed();
    rig.fork(2, SchedAttr::realtime(Policy::Fifo, 20));
    assert_eq!(rig.schedule(0), Some(TaskId(2)));
    rig.fork(3, OTHER);
    assert!(!rig.platform.resched_pending(CpuId(0)), "an ordinary task waits");
    rig.sleep(0, 2);
    assert_eq!(rig.schedule(0), Some(TaskId(1)));
    let printed = rig.printed();
    assert!(!printed.iter().any(|line| line.starts_with("cpu_")), "{printed:?}");
}

#[test]
fn a_cpu_of_a_real_time_task_is_not_idle() {
    let mut rig = Rig::above(2, &[]);
    rig.fork_on(0, FIFO, CpuSet::only(CpuId(1)));
    rig.printed();
    rig.settle();
    // The CPU was idle, and nothing was taken from the policy: no `cpu_release`.
    assert_eq!(rig.printed(), ["dispatch 1 0", "update_idle 1 0"]);
    // An ordinary task that may use both CPUs finds the other.
    rig.fork(1, OTHER);
    rig.settle();
    assert_eq!(rig.classes.cpu_of(TaskId(1)), CpuId(0));
    rig.printed();
    rig.sleep(1, 0);
    rig.settle();
    assert_eq!(rig.printed(), ["dispatch 1 0", "update_idle 1 1"]);
}

#[test]
fn a_task_changes_its_class_while_it_runs() {
    let mut rig = Rig::above(1, &[]);
    rig.fork(0, OTHER);
    rig.fork(1, OTHER);
    rig.schedule(0);
    rig.printed();
    rig.set(0, FIFO);
    assert_eq!(rig.printed(), ["stopping 1000 0", "quiescent 1000 a", "disable 1000"]);
    rig.settle();
    assert_eq!(rig.schedule(0), Some(TaskId(0)), "it goes on, as a real-time task");
    assert_eq!(rig.printed(), Vec::<String>::new());
    rig.set(0, OTHER);
    let printed = [
        "enable 1000",
        "set_weight 1000 100",
        "set_cpumask 1000",
        "runnable 1000 a",
        "running 1000",
    ];
    assert_eq!(rig.printed(), printed);
    rig.settle();
    assert_eq!(rig.schedule(0), Some(TaskId(0)), "it goes on, as an ordinary one");
}

#[test]
fn a_task_changes_its_class_while_it_waits_or_sleeps() {
    let mut rig = Rig::above(1, &[]);
    rig.fork(0, OTHER);
    rig.fork(1, OTHER);
    rig.schedule(0);
    rig.printed();
    rig.set(1, FIFO);
    assert_eq!(rig.printed(), ["quiescent 1001 a", "disable 1001"], "its queue is the class's own");
    assert_eq!(rig.schedule(0), Some(TaskId(1)), "it preempts");
    rig.sleep(0, 1);
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    rig.printed();
    rig.set(1, OTHER);
    assert_eq!(rig.printed(), ["enable 1001", "set_weight 1001 100", "set_cpumask 1001"]);
    rig.wake(1);
    assert_eq!(rig.printed(), ["runnable 1001 9", "enqueue 1001 9"]);
    assert!(!rig.platform.resched_pending(CpuId(0)), "there is no wakeup preemption");
    rig.settle();
}

#[test]
fn what_was_not_promised_is_refused() {
    let mut rig = Rig::above(1, &[]);
    rig.fork(0, OTHER);
    rig.schedule(0);
    rig.printed();
    // The whole CPU. 95 % may be reserved, less 5 % for the server.
    rig.set(0, SchedAttr { runtime_ns: 10 * MS, ..deadline() });
    assert_eq!(rig.printed(), Vec::<String>::new(), "it stays what it was");
    assert_eq!(rig.schedule(0), Some(TaskId(0)));
    // Refused at its birth, the task is an ordinary one.
    rig.fork(1, SchedAttr { runtime_ns: 10 * MS, ..deadline() });
    let printed = rig.printed();
    assert_eq!(printed[0], "init_task 1001");
    assert!(printed.contains(&"enqueue 1001 8".to_string()), "{printed:?}");
    rig.settle();
}

#[test]
fn a_policy_for_some_tasks_alone_is_refused() {
    let mut rig = Rig::above(1, &["ops.flags=9"]);
    rig.fork(0, OTHER);
    let end = rig.classes.policy().end().expect("the policy ends");
    assert!(end.message.contains("SCX_OPS_SWITCH_PARTIAL"), "{}", end.message);
}

/// One endless task for each of the attributes.
struct Hogs(Vec<SchedAttr>);

impl Workload for Hogs {
    type Error = Infallible;
    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let new = |&sched: &SchedAttr| NewTask {
            attr: TaskAttr { sched, ..TaskAttr::default() },
            start_ns: 0,
        };
        self.0.iter().map(new).collect()
    }
    fn next(&mut self, _: u64, _: TaskId, _: CpuId) -> Result<Op, Infallible> {
        Ok(Op::Run { ns: u64::MAX })
    }
}

/// In 6.18 nothing keeps a real-time task from starving the policy's tasks: the fair server serves
/// only the fair class. Later kernels have a server for this class.
#[test]
fn real_time_tasks_starve_the_policy_until_7_x() {
    let run = |profile, until_ns| {
        let Rig { classes, .. } = Rig::new("above", 1, &[], profile);
        let hogs = Hogs(vec![OTHER, FIFO]);
        let mut machine = Machine::new(Config::idealised(1, HZ), classes, hogs, Books::default());
        let Ok(_) = machine.run(until_ns);
        let end = machine.scheduler().policy().end().map(|end| end.message.clone());
        let (_, _, books) = machine.into_parts();
        (books.cpu_ns, end)
    };
    let (cpu_ns, end) = run(Profile::V6_18, 3 * SECOND);
    assert_eq!((cpu_ns, end), (vec![0, 3 * SECOND], None));
    let (_, end) = run(Profile::V6_18, 31 * SECOND);
    let said = end.expect("the watchdog ends it");
    assert_eq!(said, "task-0[1000] failed to run for 30000 ms");
    let (cpu_ns, end) = run(Profile::V7_3, 40 * SECOND);
    assert_eq!(end, None);
    assert!((1900 * MS..=2000 * MS).contains(&cpu_ns[0]), "50 ms of each second: {cpu_ns:?}");
}
