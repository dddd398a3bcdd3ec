//! Programs on a machine with the simplest scheduler: the order and the times of their steps.

use super::*;
use crate::error::{Error, Reason};
use schedlab_core::{BuildConfig, SchedAttr, TaskId};
use schedlab_machine::costs::CallCosts;
use schedlab_machine::{Config, Machine, RunEnd};
use schedlab_sched::registry;
use std::cell::RefCell;
use std::rc::Rc;

/// Recorded events: (time in ns, event).
type Diary = Rc<RefCell<Vec<(u64, &'static str)>>>;

fn os() -> Kernel {
    Kernel::new(Profile::of("2.6.0"), CallCosts { futex_ns: 10, ..CallCosts::default() }, 1)
}

/// Returns a program of these steps that records when each step is taken, and then exits.
fn script(diary: &Diary, mut steps: Vec<(&'static str, Step)>) -> impl Program + 'static {
    let diary = diary.clone();
    steps.reverse();
    move |os: &mut Context<'_>| {
        let (name, step) = steps.pop().unwrap_or(("exit", Step::Exit));
        diary.borrow_mut().push((os.now_ns(), name));
        step
    }
}

/// Runs on one CPU under first come, first served.
fn run(os: Kernel) -> (Result<RunEnd, Error>, u64) {
    let (end, now_ns, _) = run_under("fcfs", os);
    (end, now_ns)
}

/// Runs on one CPU under `scheduler`.
fn run_under(scheduler: &str, os: Kernel) -> (Result<RunEnd, Error>, u64, Kernel) {
    let (_, release) = registry::find(scheduler).expect("the scheduler is registered");
    let config = BuildConfig::flat(1, 1000);
    let scheduler = release.build(&config).expect("the scheduler can be built");
    let mut machine = Machine::new(Config::idealised(1, 1000), scheduler, os, ());
    let end = machine.run(1_000_000_000);
    let now_ns = machine.now_ns();
    let (_, os, _) = machine.into_parts();
    (end, now_ns, os)
}

#[test]
fn a_message_costs_the_writer_before_and_the_reader_after() {
    let mut os = os();
    let socket = os.objects().socket();
    let diary = Diary::default();
    os.start(
        0,
        Spawn::new(
            "reader",
            script(&diary, vec![("read", Step::Read(socket, 100)), ("got", Step::Run(1))]),
        ),
    );
    os.start(
        0,
        Spawn::new(
            "writer",
            script(&diary, vec![("write", Step::Write(socket, 100)), ("sent", Step::Run(5))]),
        ),
    );
    let (end, now_ns) = run(os);
    assert_eq!(end, Ok(RunEnd::AllEnded));
    // The reader blocks at once. The write takes effect after 1700. The reader runs when the writer
    // has ended.
    let expected =
        [(0, "read"), (0, "write"), (1700, "sent"), (1705, "exit"), (3405, "got"), (3406, "exit")];
    assert_eq!(*diary.borrow(), expected);
    assert_eq!(now_ns, 3406);
}

#[test]
fn a_message_waits_while_others_keep_the_bus() {
    let gap_ns = |message_bus_ns| {
        let costs = CallCosts { message_bus_ns, ..CallCosts::default() };
        let mut os = Kernel::new(Profile::of("2.6.0"), costs, 1);
        let socket = os.objects().socket();
        let diary = Diary::default();
        let write = || ("write", Step::Write(socket, 100));
        let read = |what| (what, Step::Read(socket, 100));
        let steps = vec![write(), write(), read("1"), read("2"), ("end", Step::Run(1))];
        os.start(0, Spawn::new("both", script(&diary, steps)));
        assert_eq!(run(os).0, Ok(RunEnd::AllEnded));
        let diary = diary.borrow();
        let at = |what| diary.iter().find(|entry| entry.1 == what).expect("the step was taken").0;
        (at("2") - at("1"), at("end") - at("2"))
    };
    // The first message has been read after 1700 ns. If it occupies the bus for longer, the second
    // waits.
    assert_eq!(gap_ns(1000), (1700, 1700));
    assert_eq!(gap_ns(2000), (1700, 1700 + 300));
}

#[test]
fn a_full_channel_blocks_its_writers_and_no_cost_is_paid_twice() {
    let mut os = os();
    let pipe = os.objects().channel(Capacity::Socket { messages: 1 });
    let diary = Diary::default();
    let writes =
        vec![("1", Step::Write(pipe, 100)), ("2", Step::Write(pipe, 100)), ("sent", Step::Run(5))];
    os.start(0, Spawn::new("writer", script(&diary, writes)));
    let reads = vec![("read", Step::Read(pipe, 100)), ("read", Step::Read(pipe, 100))];
    os.start(0, Spawn::new("reader", script(&diary, reads)));
    let (end, _) = run(os);
    assert_eq!(end, Ok(RunEnd::AllEnded));
    // The second write has spent its cost by 3400, and blocks. The reader's first read wakes the
    // writer, which runs when the reader waits for the second message.
    let expected = [
        (0, "1"),
        (1700, "2"),
        (3400, "read"),
        (5100, "read"),
        (5100, "sent"),
        (5105, "exit"),
        (6805, "exit"),
    ];
    assert_eq!(*diary.borrow(), expected);
}

#[test]
fn all_pollers_are_woken_by_one_byte_that_stays() {
    let mut os = os();
    let wake = os.objects().pipe();
    let diary = Diary::default();
    for _ in 0..3 {
        os.start(0, Spawn::new("poller", script(&diary, vec![("poll", Step::Poll(wake))])));
    }
    os.start(0, Spawn::new("parent", script(&diary, vec![("write", Step::Write(wake, 1))])));
    let (end, now_ns) = run(os);
    assert_eq!((end, now_ns), (Ok(RunEnd::AllEnded), 1000));
}

#[test]
fn a_parent_waits_for_its_children_one_by_one() {
    let mut os = os();
    let diary = Diary::default();
    let child = |diary: &Diary| {
        Box::new(Spawn::new("child", script(diary, vec![("works", Step::Run(100))])))
    };
    let steps = vec![
        ("fork", Step::Fork(child(&diary))),
        ("fork", Step::Fork(child(&diary))),
        ("wait", Step::WaitChild),
        ("wait", Step::WaitChild),
        ("no child", Step::WaitChild),
        ("done", Step::Run(1)),
    ];
    os.start(0, Spawn::new("parent", script(&diary, steps)));
    let (end, now_ns) = run(os);
    assert_eq!(end, Ok(RunEnd::AllEnded));
    assert_eq!(now_ns, 300_201, "two forks of 150 us, two children of 100 ns, and 1 ns");
}

#[test]
fn locks_are_spun_for_and_then_waited_for() {
    let mut os = os();
    let mutex = os.objects().mutex(MutexKind::Barging);
    let diary = Diary::default();
    let holder = vec![
        ("lock", Step::Lock(mutex, 0)),
        ("sleep", Step::Sleep(10_000)),
        ("unlock", Step::Unlock(mutex)),
    ];
    os.start(0, Spawn::new("holder", script(&diary, holder)));
    let spinner = vec![("spin", Step::Lock(mutex, 4_500)), ("mine", Step::Unlock(mutex))];
    os.start(0, Spawn::new("spinner", script(&diary, spinner)));
    let (end, _) = run(os);
    assert_eq!(end, Ok(RunEnd::AllEnded));
    // It spins until 4500 and sleeps. The holder releases the lock at 10000.
    let expected = [
        (0, "lock"),
        (0, "sleep"),
        (0, "spin"),
        (10_000, "unlock"),
        (10_000, "exit"),
        (10_000, "mine"),
        (10_000, "exit"),
    ];
    assert_eq!(*diary.borrow(), expected);
}

#[test]
fn semaphores_latches_and_the_clock() {
    let mut os = os();
    let (semaphore, latch) =
        (os.objects().semaphore(SemaphoreKind::Syscall, 0), os.objects().latch());
    let diary = Diary::default();
    os.start(
        0,
        Spawn::new(
            "waiter",
            script(&diary, vec![("wait", Step::Wait(semaphore)), ("pass", Step::Pass(latch))]),
        ),
    );
    let others = vec![
        ("post", Step::Post(semaphore)),
        ("until", Step::RunUntil(50_000)),
        ("open", Step::Open(latch)),
    ];
    os.start(0, Spawn::new("other", script(&diary, others)));
    let (end, _) = run(os);
    assert_eq!(end, Ok(RunEnd::AllEnded));
    let expected = [
        (0, "wait"),
        (0, "post"),
        (10, "until"),
        (50_000, "open"),
        (50_010, "exit"),
        (50_020, "pass"),
        (50_020, "exit"),
    ];
    assert_eq!(*diary.borrow(), expected);
}

#[test]
fn a_program_that_uses_no_time_is_stopped_and_one_may_end_the_run() {
    let mut os = self::os();
    os.start(5, Spawn::new("idle talk", |_: &mut Context<'_>| Step::Run(0)));
    let error = run(os).0.expect_err("no time passes");
    assert_eq!((error.task(), error.thread(), error.now_ns()), (TaskId(0), "idle talk-0", 5));
    assert_eq!(error.reason(), Reason::NoTimePasses { events: EVENTS_AT_ONE_INSTANT });
    let mut os = self::os();
    os.start(5, Spawn::new("over", |_: &mut Context<'_>| Step::Finish));
    let (end, now_ns) = run(os);
    assert_eq!((end.expect_err("it ends the run").reason(), now_ns), (Reason::Finished, 5));
}

#[test]
fn the_wait_graph_names_what_a_task_waits_for() {
    let mut os = os();
    let pipe = os.objects().pipe();
    os.start(0, Spawn::new("reader", move |_: &mut Context<'_>| Step::Read(pipe, 1)));
    let (_, release) = registry::find("fcfs").expect("the scheduler is registered");
    let make = |config: &BuildConfig| release.build(config).expect("the scheduler can be built");
    let mut machine =
        Machine::new(Config::idealised(1, 1000), make(&BuildConfig::flat(1, 1000)), os, ());
    assert_eq!(machine.run(1_000_000), Ok(RunEnd::Stuck));
    let waiting = machine.workload().wait_graph().waiting;
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].task, waiting[0].thread.as_str()), (TaskId(0), "reader-0"));
    assert_eq!(waiting[0].waits_for.brief(), "to read");
}

#[test]
fn requests_to_a_disk_queue() {
    let mut os = os();
    let disk = os.objects().disk();
    let diary = Diary::default();
    for _ in 0..2 {
        os.start(
            0,
            Spawn::new(
                "reader",
                script(&diary, vec![("read", Step::Disk(disk, 700)), ("read it", Step::Run(1))]),
            ),
        );
    }
    let (end, _) = run(os);
    assert_eq!(end, Ok(RunEnd::AllEnded));
    let expected = [
        (0, "read"),
        (0, "read"),
        (700, "read it"),
        (701, "exit"),
        (1400, "read it"),
        (1401, "exit"),
    ];
    assert_eq!(*diary.borrow(), expected);
}

#[test]
fn computing_until_a_time_ends_at_it_or_as_soon_as_there_is_a_cpu() {
    // They take turns of 10 ms. The task that runs at the time is done at once. The loop has the
    // next turn. Then the other two are done, each in no time.
    let mut os = os();
    let diary = Diary::default();
    const UNTIL_NS: u64 = 345_678_912;
    for name in ["a", "b", "c"] {
        os.start(0, Spawn::new(name, script(&diary, vec![("begin", Step::RunUntil(UNTIL_NS))])));
    }
    os.start(0, Spawn::new("hog", |_: &mut Context<'_>| Step::Run(u64::MAX)));
    assert_eq!(run_under("rr", os).0, Ok(RunEnd::TimeUp));
    let mut done: Vec<u64> = diary
        .borrow()
        .iter()
        .filter(|(_, name)| *name == "exit")
        .map(|&(at_ns, _)| at_ns)
        .collect();
    done.sort_unstable();
    assert_eq!(done, [UNTIL_NS, UNTIL_NS + 10_000_000, UNTIL_NS + 10_000_000]);
}

#[test]
fn parts_have_clocks_and_draws_of_their_own_and_end_with_all_their_tasks() {
    let draws = |diary: &Rc<RefCell<Vec<u64>>>| {
        let diary = diary.clone();
        move |os: &mut Context<'_>| {
            diary.borrow_mut().push(os.random().below(1_000_000));
            Step::Exit
        }
    };
    let (diary, drawn) = (Diary::default(), Rc::new(RefCell::new(vec![])));
    let mut os = os();
    let first = os.begin_part(Part::default());
    os.start(0, Spawn::new("draws", draws(&drawn)));
    os.start(
        0,
        Spawn::new("first", script(&diary, vec![("run", Step::Run(100)), ("over", Step::Finish)])),
    );
    os.start(0, Spawn::new("endless", |_: &mut Context<'_>| Step::Run(u64::MAX)));
    os.start(500, Spawn::new("never born", |_: &mut Context<'_>| Step::Run(u64::MAX)));
    let attr = SchedAttr::nice(5);
    let second = os.begin_part(Part { start_ns: 1000, attr, ..Part::default() });
    os.start(0, Spawn::new("draws", draws(&drawn)));
    let nice = os.start(
        0,
        Spawn::new(
            "second",
            script(&diary, vec![("until", Step::RunUntil(50)), ("sleep", Step::SleepUntil(70))]),
        ),
    );
    assert_eq!((os.attr(nice).sched.nice, os.part_of(nice)), (5, second));
    let (end, now_ns, os) = run_under("fcfs", os);
    assert_eq!((end, now_ns), (Ok(RunEnd::AllEnded), 1070));
    assert_eq!(
        *diary.borrow(),
        [(0, "run"), (100, "over"), (0, "until"), (50, "sleep"), (70, "exit")]
    );
    assert_eq!((os.part_over_ns(first), os.part_over_ns(second)), (Some(100), Some(1070)));
    let alone = Random::new(1, TaskId(0)).below(1_000_000);
    assert_eq!(drawn.borrow()[0], alone, "the first part draws what it draws alone");
    assert_ne!(drawn.borrow()[1], alone);
}
