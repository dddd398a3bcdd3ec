//! Text of every tool and age.

use crate::{event_log, refused};
use schedlab_trace::read::{Place, Trouble};

/// Switch without which a text does not count as a trace.
const SWITCH: &str = "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> \
                      next_comm=b next_pid=2 next_prio=120";

/// Returns the result for one line, followed by a switch.
fn one(line: &str) -> String {
    let (event_log, reading) =
        event_log(format!("{line}\nx-9 [077] 9999999999.0: {SWITCH}\n").as_bytes());
    assert_eq!(event_log.lines.len(), 2, "{line}: {:?} {reading:?}", event_log.lines);
    event_log.lines[0].clone()
}

/// Heads in the formats of all tools.
#[test]
fn heads_of_all_tools_are_read() {
    let woken = "sched_wakeup_new: comm=w pid=5 prio=120 target_cpu=001";
    let cases = [
        ("            bash-590     [001] d..2.  3497.517478: ", "3497517478000 1 . bash:590"),
        (
            "odd (na-me) [7]-26001   [001] d.h2.  3497.521091: ",
            "3497521091000 1 h odd (na-me) [7]:26001",
        ),
        (" kworker/R-rcu_g-4 [000] 0.000001: ", "1000 0 ? kworker/R-rcu_g:4"),
        ("   bash-590     (    590) [001] d.s. 1.5: ", "1500000000 1 s bash:590"),
        ("   bash-590     (-------) [001] 1.5: ", "1500000000 1 ? bash:590"),
        ("   bash-590     (-----) [001] dNZ1 1.5: ", "1500000000 1 h bash:590"),
        ("   <idle>-0     [000] d.z2. 1.5: ", "1500000000 0 h swapper:0"),
        (
            " qemu-system-x86  1726 [000]  3464.409876:       sched:",
            "3464409876000 0 ? qemu-system-x86:1726",
        ),
        ("my prog  17/18 [000]  1.000000001:  7  sched:", "1000000001 0 ? my prog:18"),
        ("odd [007] 1 18 [000]  1.000000001:    sched:", "1000000001 0 ? odd [007] 1:18"),
        ("        18 [000]  1.000000001:    sched:", "1000000001 0 ? <...>:18"),
        ("     :-1    -1 [000]  1.000000001: sched:", "1000000001 0 ? swapper:0"),
        ("    bash-576     1d..2. 17709us+: ", "17709000 1 . bash:576"),
        ("    bash-576     1d.h2. 17709us : ", "17709000 1 h bash:576"),
        ("    bash-576     1dNh2  17709us!: ", "17709000 1 h bash:576"),
        ("  a b-c-576     12d.s2  6.340458: ", "6340458000 12 s a b-c:576"),
        ("   trace-cmd-119   [000]     6.340458: ", "6340458000 0 ? trace-cmd:119"),
    ];
    for (head, expected) in cases {
        assert_eq!(one(&format!("{head}{woken}")), format!("{expected}: new w:5[120] 1"), "{head}");
    }
    // Old systrace files hold their lines in a JavaScript string.
    let line = format!("  bash-590 ( 590) [001] d..2 1.5: {woken}\\n\\");
    assert_eq!(one(&line), "1500000000 1 . bash:590: new w:5[120] 1");
}

/// Bodies of all releases.
#[test]
fn bodies_of_all_releases_are_read() {
    let cases = [
        (
            "sched_switch: prev_comm=a prev_pid=3 prev_pid=10 prev_prio=120 prev_state=R+ ==> \
             next_comm=b next_pid=11 next_prio=-1",
            "a prev_pid=3:10[120] R+ > b:11[-1]",
        ),
        (
            "sched_switch: prev_comm=a =b prev_pid=10 prev_prio=120 prev_state=256 next_comm=b \
             next_pid=11 next_prio=-1",
            "a =b:10[120] R+ > b:11[-1]",
        ),
        (
            "sched_switch:         kworker/u8:1:29 [120] R ==> swapper/0:0 [120]",
            "kworker/u8:1:29[120] R > swapper:0[120]",
        ),
        (
            "sched_switch: task kworker/u8:1:29 [120] (R) ==> swapper:0 [120]",
            "kworker/u8:1:29[120] R > swapper:0[120]",
        ),
        (
            "sched_switch:   trace-cmd:119 [120] W ==> trace-cmd:118 [120]",
            "trace-cmd:119[120] S > trace-cmd:118[120]",
        ),
        ("sched_switch: task x:9 [120] (D|W) ==> y:8 [98]", "x:9[120] D > y:8[98]"),
        ("sched_waking: comm=a pid=5 prio=98 target_cpu=003", "waking a:5[98] 3"),
        ("sched_wakeup: comm=a pid=5 prio=98 success=1 target_cpu=003", "wakeup a:5[98] 3"),
        ("sched_wakeup: rcu_preempt:15 [120] CPU:000", "wakeup rcu_preempt:15[120] 0"),
        ("sched_wakeup: a:b:5 [98] success=1 CPU:003", "wakeup a:b:5[98] 3"),
        ("sched_wakeup_new: task a:5 [98] success=1 [003]", "new a:5[98] 3"),
        ("sched_migrate_task: comm=a pid=5 prio=98 orig_cpu=3 dest_cpu=0", "migrate a:5[98] 3 0"),
        ("sched_migrate_task: task a:5 [98] from: 3  to: 0", "migrate a:5[98] 3 0"),
        (
            "sched_process_fork: comm=pa pid=5 child_comm=ch pid child_pid=6",
            "fork pa:5[120] ch pid:6[120]",
        ),
        ("sched_process_fork: parent a:5  child a:6", "fork a:5[120] a:6[120]"),
        // Renamed, with the number: the parent is the task that runs.
        ("sched_process_fork: comm=other-1 child_comm=ch child_pid=6", "fork z:7[120] ch:6[120]"),
        ("sched_process_exec: filename=/bin/a b pid=5 old_pid=6", "exec /bin/a b 5"),
        ("sched_process_exit: comm=a pid=5 prio=98 group_dead=true", "exit a:5[98]"),
        ("sched_process_exit: comm=a pid=5 prio=98", "exit a:5[98]"),
        ("sched_process_exit: task a:5 [98]", "exit a:5[98]"),
        ("sched_stat_runtime: comm=a pid=5 runtime=77 [ns]", "runtime a:5[120] 77"),
        ("sched_stat_runtime: comm=a pid=5 runtime=77 [ns] vruntime=8 [ns]", "runtime a:5[120] 77"),
        ("sched_stat_runtime: task: a:5 runtime: 77 [ns], vruntime: 8 [ns]", "runtime a:5[120] 77"),
    ];
    for (body, expected) in cases {
        let line = one(&format!("z-7 [000] d..2 1.0: {body}"));
        assert_eq!(line.split_once(": ").expect("a head").1, expected, "{body}");
    }
}

/// State numbers changed their meaning: 0x20 meant dead before 4.4, and has meant zombie since.
#[test]
fn states_in_numbers_are_those_of_the_release() {
    let state = |release: &str, number: u32| {
        let line = format!(
            "# os release : {release}\nz-7 [000] 1.0: sched_switch: prev_comm=a prev_pid=3 \
             prev_prio=120 prev_state={number} next_comm=b next_pid=11 next_prio=120"
        );
        let (event_log, _) = event_log(line.as_bytes());
        event_log.lines[0].split(' ').nth(5).expect("a state").to_string()
    };
    for (release, number, expected) in [
        ("2.6.32-5-amd64", 16, "Z"),
        ("2.6.32-5-amd64", 32, "X"),
        ("3.14.0", 1024, "R+"),
        ("4.4.0", 16, "X"),
        ("4.4.0", 32, "Z"),
        ("4.4.0", 2048, "R+"),
        ("4.4.0", 0, "R"),
        ("4.20.3", 128, "I"),
        ("6.18.0", 256, "R+"),
        ("6.18.0", 32, "Z"),
    ] {
        assert_eq!(state(release, number), expected, "{release} {number}");
    }
}

/// A wakeup of a task that was awake does not count. A switch from a task without a PID is dropped.
#[test]
fn what_is_of_no_use_is_left_out() {
    let text = format!(
        "a-1 [000] 1.0: sched_wakeup: comm=a pid=5 prio=98 success=0 target_cpu=003\n\
         a-1 [000] 1.0: sched_switch: prev_comm=:-1 prev_pid=-1 prev_prio=120 prev_state=X ==> \
         next_comm=b next_pid=2 next_prio=120\n\
         a-1 [000] 1.5: cpu_idle: state=1 cpu_id=0\n\
         a-1 [000] 2.0: {SWITCH}\n"
    );
    let (event_log, reading) = event_log(text.as_bytes());
    assert_eq!(event_log.lines.len(), 1);
    assert_eq!(reading.problems.count(Trouble::Nameless), 1);
    assert_eq!(reading.header.others.get("cpu_idle"), Some(&1));
}

/// The heading has the number of CPUs and the amount that was overwritten.
#[test]
fn headings_are_kept() {
    let text = format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: 324/1000   #P:2\n#\n\
         a-1 [000] 2.0: {SWITCH}\n"
    );
    let (_, reading) = event_log(text.as_bytes());
    assert_eq!(reading.header.cpus_online, Some(2));
    assert_eq!(reading.problems.count(Trouble::Overwritten), 676);
    let text = format!(
        "# hostname : here\n# os release : 6.18.0\n# nrcpus online : 4\n# cmdline : perf sched \
         record\na 1 [000] 2.0: sched:{SWITCH}\n"
    );
    let header = event_log(text.as_bytes()).1.header;
    assert_eq!(header.release.as_deref(), Some("6.18.0"));
    assert_eq!((header.cpus_online, header.host.as_deref()), (Some(4), Some("here")));
    assert_eq!(header.recorder.as_deref(), Some("perf sched record"));
}

/// Lost events are counted, and the sink receives their place.
#[test]
fn lost_events_are_told() {
    let text = format!(
        "a-1 [000] 1.0: {SWITCH}\nCPU:0 [LOST 230 EVENTS]\n##### CPU 1 buffer started ####\n\
         a-1 [001] 1.5: {SWITCH}\nb-2 [000] 2.0: sched_waking: comm=a pid=5 prio=98 \
         target_cpu=003\nCPU:1 [EVENTS DROPPED]\na-1 [001] 3.0: {SWITCH}\n\
         a 1 [000] 4.0: PERF_RECORD_LOST lost 12\n"
    );
    let (event_log, reading) = event_log(text.as_bytes());
    assert_eq!(reading.problems.count(Trouble::Lost), 242);
    assert_eq!(reading.problems.get(Trouble::Lost).map(|lost| lost.first), Some(Place::Line(2)));
    assert_eq!(reading.problems.count(Trouble::LostUncounted), 1);
    let expected = vec![
        (2_000_000_000, Some(0), Some(230)),
        (3_000_000_000, Some(1), None),
        (4_000_000_000, Some(0), Some(12)),
    ];
    assert_eq!(event_log.lost, expected);
    assert_eq!(reading.problems.count(Trouble::Gap), 0, "the trace itself reports the lost events");
}

/// A switch whose previous task is not the next task of the switch before, and an event in the
/// context of another task.
#[test]
fn gaps_are_counted() {
    let text = format!(
        "a-1 [000] 1.0: {SWITCH}\nb-2 [000] 1.1: sched_waking: comm=a pid=1 prio=98 \
         target_cpu=003\nc-3 [000] 1.2: sched_waking: comm=a pid=1 prio=98 target_cpu=003\n\
         a-1 [000] 1.3: {SWITCH}\n"
    );
    let reading = event_log(text.as_bytes()).1;
    let gaps = reading.problems.get(Trouble::Gap).expect("two gaps were counted");
    assert_eq!((gaps.count, gaps.first), (2, Place::Time(1_200_000_000, 0)));
    assert!(gaps.detail.contains("task 2 should be running, but task 3 is"), "{}", gaps.detail);
}

/// Names at the head of a line were looked up later than the event, so the names in the switches
/// take precedence.
#[test]
fn names_are_those_of_switches() {
    let text = format!(
        "late-1 [000] 1.0: {SWITCH}\nlater-2 [000] 1.1: sched_waking: comm=a pid=1 prio=98 \
         target_cpu=003\n"
    );
    let event_log = event_log(text.as_bytes()).0;
    assert!(event_log.lines[0].starts_with("1000000000 0 ? a:1: "), "{}", event_log.lines[0]);
    assert!(event_log.lines[1].starts_with("1100000000 0 ? b:2: "), "{}", event_log.lines[1]);
}

/// Events are delivered by time, and events of the same time in the order of the file. Garbage is
/// skipped.
#[test]
fn disorder_and_garbage_are_counted() {
    let text = format!(
        "garbage\n\u{1}\u{2}\na-1 [000] 3.0: {SWITCH}\n[000] 5.0: what:\n\
         a-1 [001] 1.0: {SWITCH}\na-1 [002] 1.0: {SWITCH}\n\
         a-1 [001] 2.0: sched_switch: prev_comm=a prev_pid=1\n\
         a-1 [5000] 2.0: {SWITCH}\n\
         a-1 [001] 2.0: sched_exit: comm=a pid=1\n"
    );
    let (event_log, reading) = event_log(text.as_bytes());
    let places: Vec<_> = event_log.lines.iter().map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(places, [Some("1"), Some("2"), Some("0")]);
    assert_eq!(event_log.end_ns, 3_000_000_000);
    assert_eq!(reading.problems.count(Trouble::Unordered), 2);
    let unreadable = reading.problems.get(Trouble::Unreadable).expect("two events were counted");
    assert_eq!((unreadable.count, unreadable.first), (2, Place::Line(7)));
    assert_eq!(unreadable.detail, "sched_switch: next_prio= is missing");
}

/// Silence for ten seconds is reported: a clock jumped, or the recording was suspended.
#[test]
fn jumps_are_counted() {
    let text = format!("a-1 [000] 3.0: {SWITCH}\nb-2 [000] 5000.0: {SWITCH}\n");
    let reading = event_log(text.as_bytes()).1;
    let jump = reading.problems.get(Trouble::Jump).expect("one jump was counted");
    assert_eq!(jump.detail, "4997 s after the event before it");
}

/// Only a text without any usable event is an error, and the message says what would be right.
#[test]
fn what_is_of_no_use_at_all_is_refused() {
    let error = refused(b"hello\nworld\n").to_string();
    assert!(error.contains("no scheduler events") && error.contains("perf sched record"));
    assert!(refused(b"").to_string().contains("empty"));
    let wrong = b"\na 1 [000] 1.0: sched:sched_switch: prev_comm=a prev_pid=1\n";
    let error = refused(wrong).to_string();
    assert!(error.contains("line 2: sched_switch: next_prio= is missing"), "{error}");
    let counter = format!("a-1 [000] 123456: {SWITCH}");
    assert!(refused(counter.as_bytes()).to_string().contains("echo mono > trace_clock"));
    let text = "a 1 [9999] 1.0: sched:sched_stat_runtime: comm=a pid=1 runtime=5 [ns]";
    assert!(refused(text.as_bytes()).to_string().contains("CPU 9999"));
    let text = "a 1 [000] 1.0: sched:sched_stat_runtime: comm=a pid=99999999 runtime=5 [ns]";
    assert!(refused(text.as_bytes()).to_string().contains("pid 99999999"));
    let wakeups = event_log(format!("a-1 [000] 3.0: {SWITCH}").as_bytes()).1.needs_wakeups();
    let error = wakeups.expect_err("the trace has no wakeups").to_string();
    assert!(error.contains("no sched_waking or sched_wakeup") && error.contains("record it with"));
}

/// The worked example of the format description, in full.
#[test]
fn contexts_and_order_are_those_of_the_text() {
    let text = "\
 <idle>-0  [000] d..2. 0.001000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=100 next_prio=120
 hog-100   [000] dNh3. 0.003000: sched_waking: comm=ui pid=200 prio=120 target_cpu=000
 hog-100   [000] d..2. 0.003010: sched_switch: prev_comm=hog prev_pid=100 prev_prio=120 prev_state=R ==> next_comm=ui next_pid=200 next_prio=120
 ui-200    [000] d..2. 0.003510: sched_waking: comm=srv pid=300 prio=120 target_cpu=000
";
    let (event_log, reading) = event_log(text.as_bytes());
    assert_eq!(
        event_log.lines,
        [
            "1000000 0 . swapper:0: swapper:0[120] R > hog:100[120]",
            "3000000 0 h hog:100: waking ui:200[120] 0",
            "3010000 0 . hog:100: hog:100[120] R > ui:200[120]",
            "3510000 0 . ui:200: waking srv:300[120] 0",
        ]
    );
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let task = |pid, name: &str| (pid, pid, 0, name.into());
    assert_eq!(event_log.tasks, [task(100, "hog"), task(200, "ui"), task(300, "srv")]);
    assert_eq!((reading.header.tasks, reading.header.cpus, reading.header.events), (3, 1, 4));
}
