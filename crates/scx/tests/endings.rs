//! Reasons for which a policy ends, and their messages.

mod support;

use schedlab_core::Scheduler;
use schedlab_scx::OnEnd;
use schedlab_scx::kernel_types::{EXIT_ERROR, EXIT_ERROR_BPF, EXIT_ERROR_STALL, EXIT_UNREG_BPF};
use support::{MS, Run, SECOND, Script, run, scheduler};

/// Faults of `faults.bpf.c`, by number.
const INIT: u32 = 1;
const INIT_TASK: u32 = 2;
const BAD_CPU: u32 = 3;
const BAD_DSQ: u32 = 4;
const TWICE: u32 = 5;
const ANOTHER: u32 = 6;
const MIXED: u32 = 7;
const FORBIDDEN: u32 = 8;
const STALL: u32 = 9;
const ENDLESS_KICK: u32 = 10;
const SCX_ERROR: u32 = 11;
const STORE: u32 = 12;
const LOOP: u32 = 13;
const MISSING_FIELD: u32 = 14;
const BUILTIN_VTIME: u32 = 15;
const OVERFLOW: u32 = 16;
const BAD_HELPER: u32 = 17;
const WRITE_PID: u32 = 18;

/// Runs the policy with a fault. After its end the tasks run first come, first served.
fn run_with(fault: u32) -> Run {
    let policy = scheduler("faults", 2, &[&format!("fault={fault}")], OnEnd::GoOn);
    let tasks = vec![
        Script::hog(0),
        Script::sleeper(MS, 9 * MS),
        Script::hog(0).on(0),
        Script::sleeper(3 * MS, MS),
        Script::hog(5),
    ];
    run(policy, 2, tasks, 10 * SECOND)
}

/// Checks that the run continues after the end and that no task is lost. Returns the message of the
/// end.
fn ended(fault: u32, kind: u64) -> String {
    let run = run_with(fault);
    let policy = run.scheduler();
    let end = policy.end().unwrap_or_else(|| panic!("fault {fault} did not end it"));
    assert_eq!(end.kind, kind, "{}", end.message);
    assert_eq!(policy.variable("exits"), Some(1), "exit is called once: {}", end.message);
    assert_eq!(policy.variable("exit_kind"), Some(kind));
    assert_eq!(policy.inspect().audit(), Ok(()));
    // Two CPUs, three hogs: no CPU idles, and all tasks continue.
    let cpu_ns = &run.observer().cpu_ns;
    assert_eq!(cpu_ns.iter().sum::<u64>(), 20 * SECOND, "{}: {cpu_ns:?}", end.message);
    assert!(cpu_ns.iter().all(|&ns| ns > SECOND / 5), "{}: {cpu_ns:?}", end.message);
    end.message.clone()
}

fn class(fault: u32) -> String {
    ended(fault, EXIT_ERROR)
}

#[test]
fn without_a_fault_it_does_not_end() {
    let run = run_with(0);
    assert_eq!(run.scheduler().end(), None);
    assert_eq!(run.observer().cpu_ns.iter().sum::<u64>(), 20 * SECOND);
    assert_eq!(run.scheduler().inspect().audit(), Ok(()));
}

#[test]
fn initialisation_that_fails() {
    assert_eq!(class(INIT), "init returned -12");
    assert_eq!(class(INIT_TASK), "ops.init_task() failed (-22) for task-0[1000]");
}

#[test]
fn wrong_cpus_and_queues() {
    assert_eq!(class(BAD_CPU), "invalid CPU 4711 from select_cpu");
    assert_eq!(class(BAD_DSQ), "invalid DSQ ID 0x0000000000000063");
    assert_eq!(class(MIXED), "DSQ ID 0x0000000000000007 already had PRIQ-enqueued tasks");
    let forbidden = "SCX_DSQ_LOCAL[_ON] target CPU 1 not allowed for task-2[1002]";
    assert_eq!(class(FORBIDDEN), forbidden);
    let vtime = "cannot use vtime ordering for built-in DSQ 0x8000000000000002";
    assert_eq!(class(BUILTIN_VTIME), vtime);
}

#[test]
fn insertions_that_are_not_allowed() {
    assert_eq!(class(TWICE), "task-0[1000] already direct-dispatched");
    let another = "attempted to direct-dispatch a different task task-0[1000]";
    assert_eq!(class(ANOTHER), another);
    assert_eq!(class(OVERFLOW), "dispatch buffer overflow");
}

#[test]
fn a_task_that_is_forgotten_is_a_stall() {
    let message = ended(STALL, EXIT_ERROR_STALL);
    assert_eq!(message, "task-0[1000] failed to run for 5000 ms");
}

#[test]
fn cpus_that_reschedule_for_ever() {
    assert_eq!(class(ENDLESS_KICK), "CPUs reschedule without end within one instant");
}

#[test]
fn errors_of_the_policys_own() {
    let message = ended(SCX_ERROR, EXIT_ERROR_BPF);
    assert_eq!(message, "scx_bpf_error (pid 1000 is not wanted)");
}

#[test]
fn faults_of_the_program_name_their_place() {
    let message = class(STORE);
    assert!(message.starts_with("faults_enqueue, insn "), "{message}");
    assert!(message.contains("faults.bpf.c:"), "{message}");
    assert!(message.ends_with("stores 8 bytes to 0x0, which is unmapped"), "{message}");
    let message = class(LOOP);
    assert!(message.ends_with("ran for more than 4 million instructions"), "{message}");
    let message = class(MISSING_FIELD);
    let expected = "uses nonsense.a, which the emulated kernel lacks";
    assert!(message.ends_with(expected), "{message}");
    assert!(class(BAD_HELPER).ends_with("helper 12 is not emulated"));
    assert!(class(WRITE_PID).ends_with("stores 4 bytes to tasks, which is read-only"));
}

/// Returns the message and the kind with which `contexts.bpf.c` ends through the fault with this
/// number.
fn context(fault: u32) -> (String, u64) {
    let policy = scheduler("contexts", 1, &[&format!("fault={fault}")], OnEnd::GoOn);
    let run = run(policy, 1, vec![Script::hog(0), Script::sleeper(MS, 3 * MS)], SECOND);
    assert_eq!(run.observer().cpu_ns.iter().sum::<u64>(), SECOND, "fault {fault}: no task is lost");
    let end = run.scheduler().end().unwrap_or_else(|| panic!("fault {fault} did not end it"));
    (end.message.clone(), end.kind)
}

#[test]
fn functions_are_called_where_they_may_be() {
    let class = |fault| {
        let (message, kind) = context(fault);
        assert_eq!(kind, EXIT_ERROR, "{message}");
        message
    };
    assert_eq!(class(1), "scx_bpf_dsq_move_to_local() cannot be called from enqueue");
    assert_eq!(class(2), "scx_bpf_create_dsq() cannot be called from running");
    assert_eq!(class(3), "kfunc not allowed from ops.running()");
    assert_eq!(class(4), "invalid DSQ ID 0x0000000000000062");
    assert_eq!(class(5), "scx_bpf_reenqueue_local() cannot be called from enqueue");
    assert_eq!(class(7), "cgroup_init returned -12");
    assert_eq!(class(8), "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE, flags 0x3");
    assert_eq!(class(9), "invalid CPU 99");
    assert!(class(10).ends_with("calls are nested more than 60 deep"), "{}", class(10));
    assert_eq!(class(11), "scx_bpf_dump() must only be called from ops.dump() and friends");
    assert_eq!(class(12), "per-node idle tracking is disabled");
    assert_eq!(class(13), "dispatch buffer underflow");
}

#[test]
fn a_policy_that_leaves_of_its_own_accord_gives_a_code() {
    let (message, kind) = context(6);
    assert_eq!(kind, EXIT_UNREG_BPF);
    assert_eq!(message, "scx_bpf_exit (enough of 1000), code 0x2a");
}

#[test]
fn an_end_stops_the_run_unless_it_is_to_go_on() {
    let caught = std::panic::catch_unwind(|| {
        let policy = scheduler("faults", 1, &[&format!("fault={STORE}")], OnEnd::Stop);
        run(policy, 1, vec![Script::hog(0)], SECOND);
    });
    let payload = caught.expect_err("the hook unwinds");
    let message = payload.downcast_ref::<String>().expect("a message");
    assert!(message.starts_with("scx: policy faults ended at 0 ns in enqueue: "), "{message}");
    assert!(message.contains("the last callbacks:\n"), "{message}");
    assert!(message.contains("0 ns CPU 0 enqueue(task-0[1000], 8)"), "{message}");
    assert!(message.contains("registers: r0="), "{message}");
}
