//! Tests of the notes about a replay.

use super::*;
use schedlab_core::{Event, Observer};
use schedlab_replay::TraceBuilder;
use schedlab_trace::read::Trace as Recording;
use std::sync::atomic::{AtomicU64, Ordering};

/// Letters of the notes about a trace in text, and whether a replay hangs.
fn letters(text: &str, change: impl FnOnce(&mut Replay)) -> (String, bool) {
    let mut books = TraceBuilder::new();
    let recording = Recording::of_bytes(text.as_bytes().to_vec()).expect("the text is a trace");
    recording.read(&mut books).expect("the trace is readable");
    let mut replay = Replay { seeds: 2, ..Replay::new("t") };
    change(&mut replay);
    let prepared = replay.prepare(books.into_trace()).unwrap_or_else(|error| panic!("{error}"));
    let answer = prepared.run(NonZeroUsize::MIN).unwrap_or_else(|error| panic!("{error}"));
    (answer.messages.iter().map(|message| message.code).collect(), answer.hangs)
}

/// Makes a trace of two tasks on one CPU, of which one sleeps. `flags`: context of the timer's
/// wakeup.
fn trace(flags: &str, prio: u32) -> String {
    format!(
        "\
<idle>-0 [000] {flags} 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio={prio}
a-1 [000] {flags} 1.010000: sched_switch: prev_comm=a prev_pid=1 prev_prio={prio} prev_state=D ==> next_comm=b next_pid=2 next_prio=120
b-2 [000] {flags} 1.030000: sched_waking: comm=a pid=1 prio={prio} target_cpu=000
b-2 [000] {flags} 1.030000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio={prio}
a-1 [000] {flags} 1.040000: sched_switch: prev_comm=a prev_pid=1 prev_prio={prio} prev_state=Z ==> next_comm=b next_pid=2 next_prio=120
b-2 [000] {flags} 1.050000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120
"
    )
}

#[test]
fn messages_say_what_was_guessed_and_assumed() {
    let plain = trace("d.h2.", 120);
    let (codes, hangs) = letters(&plain, |_| {});
    assert!(codes.starts_with("AC") && !hangs, "{codes}");
    let groups = |it: &mut Replay| {
        it.groups = Some(Source { file: "g".into(), text: "/x cpu.weight=50\na /x\n".into() });
    };
    assert!(!letters(&plain, groups).0.contains('C'));
    let known = |it: &mut Replay| (it.recorded, it.hz) = (Some("eevdf@6.18".into()), Some(250));
    assert!(!letters(&plain, known).0.contains('A'));
    assert!(letters(&plain.replace("d.h2. ", ""), |_| {}).0.starts_with('F'));
    let (urgent, _) = letters(&trace("d.h2.", 50), |_| {});
    assert!(urgent.contains('R') && !urgent.contains('C'), "{urgent}");
    let more_cpus = |it: &mut Replay| it.machine.cpus = Some(2);
    assert!(letters(&plain, more_cpus).0.contains('D'));
    let gap = plain.replace(
        "b-2 [000] d.h2. 1.030000: sched_waking",
        "c-3 [000] d.h2. 1.030000: sched_waking",
    );
    assert!(letters(&gap, |_| {}).0.starts_with('G'));
}

#[test]
fn a_run_that_is_stopped_early_is_told() {
    let early = |it: &mut Replay| it.limit_ns = Some(20_000_000);
    let (codes, hangs) = letters(&trace("d.h2.", 120), early);
    assert!(codes.contains('L') && !hangs, "{codes}");
}

/// Makes a trace of two CPUs, with times in ms. `w` wakes `p` at 1, and continues. `p` computes for
/// 20 ms, and `x` keeps it from its CPU for 40 ms of that time. Then `p` waits for `w`, which wakes
/// it again at 90.
fn overtaken() -> String {
    let mut text = String::new();
    let mut line = |cpu: u32, ms: u64, who: (&str, u32), body: String| {
        let (comm, pid) = who;
        text.push_str(&format!("{comm}-{pid} [{cpu:03}] d..2. 1.{ms:03}000: {body}\n"));
    };
    let switch = |prev: (&str, u32), state: &str, next: (&str, u32)| {
        format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> \
             next_comm={} next_pid={} next_prio=120",
            prev.0, prev.1, next.0, next.1
        )
    };
    let waking = "sched_waking: comm=p pid=2 prio=120 target_cpu=001";
    let (idle, w, p, x) = (("swapper", 0), ("w", 1), ("p", 2), ("x", 3));
    line(0, 0, idle, switch(idle, "R", w));
    line(1, 0, idle, switch(idle, "R", x));
    line(0, 1, w, waking.into());
    line(1, 1, x, switch(x, "R", p));
    line(1, 11, p, switch(p, "R", x));
    line(1, 51, x, switch(x, "R", p));
    line(1, 61, p, switch(p, "S", x));
    line(0, 90, w, waking.into());
    line(1, 90, x, switch(x, "R", p));
    line(1, 92, p, switch(p, "S", x));
    line(0, 95, w, waking.into());
    line(1, 95, x, switch(x, "R", p));
    line(1, 96, p, switch(p, "Z", x));
    line(0, 100, w, switch(w, "Z", idle));
    line(1, 130, x, switch(x, "Z", idle));
    text
}

/// A task whose inputs were not visible is reported if it runs ahead: `p` has its 20 ms at once
/// under a real-time policy, and `w` has not progressed half as far by then as when it was
/// recorded.
#[test]
fn who_runs_ahead_is_told() {
    let text = overtaken();
    let first = |it: &mut Replay| {
        it.changes = vec!["chrt p fifo 10".into()];
    };
    assert!(letters(&text, first).0.contains('H'));
    let replayed = |change: &str| {
        let mut books = TraceBuilder::new();
        let recording =
            Recording::of_bytes(text.clone().into_bytes()).expect("the text is a trace");
        recording.read(&mut books).expect("the trace is readable");
        let replay =
            Replay { changes: vec![change.into()], seeds: 1, explain: true, ..Replay::new("t") };
        let prepared = replay.prepare(books.into_trace()).unwrap_or_else(|error| panic!("{error}"));
        prepared.run(NonZeroUsize::MIN).unwrap_or_else(|error| panic!("{error}"))
    };
    let ahead = replayed("chrt p fifo 10");
    let message =
        ahead.messages.iter().find(|message| message.code == 'H').expect("the note exists");
    assert!(message.text.starts_with("p runs ahead of w in the replay"), "{}", message.text);
    // `p` no longer waited behind a task, so there is no figure.
    let p = ahead.groups.iter().position(|group| group.name == "p").expect("the group exists");
    let waits = |column: usize| -> f64 {
        let rows = ahead.columns[column].behind.iter().filter(|row| row.group == p);
        rows.map(|row| row.wait.median).sum()
    };
    assert_eq!(waits(2), 0.0, "{:?} {:?}", ahead.columns[2].behind, ahead.columns[2].groups[p]);
    assert_eq!(waits(1), ahead.columns[1].groups[p].wait.median);
    // A task that is asleep when the run is stopped is reported, with the task for which it waits.
    let (codes_then, hangs) = letters(&text, |it| it.limit_ns = Some(70_000_000));
    assert!(codes_then.contains('L') && hangs, "{codes_then}");
    // Without `x`, both have a CPU to themselves and none runs ahead.
    let of_x = |line: &&str| [" 1.011", " 1.051", " 1.130"].iter().any(|at| line.contains(at));
    let idle = |line: &str| {
        line.replace("x-3", "swapper-0")
            .replace("_comm=x ", "_comm=swapper ")
            .replace("_pid=3 ", "_pid=0 ")
    };
    let alone: Vec<String> = text.lines().filter(|line| !of_x(line)).map(idle).collect();
    let (codes, _) = letters(&(alone.join("\n") + "\n"), first);
    assert!(!codes.contains('H'), "{codes}");
}

/// One task had more work when the recording ended, and completes the known work earlier. The
/// replay of another differs from the recording.
#[test]
fn what_ends_too_early_and_what_cannot_be_trusted_is_told() {
    let mut text = String::new();
    let mut line = |cpu: u32, ms: u64, who: &str, body: &str| {
        text.push_str(&format!("{who} [{cpu:03}] d..2. 1.{ms:03}000: {body}\n"));
    };
    let switch = |prev: &str, state: &str, next: &str| {
        let of = |which: &str, who: &str| {
            let pid = match who {
                "a" => 1,
                "b" => 2,
                "c" => 3,
                _ => 0,
            };
            format!("{which}_comm={who} {which}_pid={pid} {which}_prio=120")
        };
        format!("sched_switch: {} prev_state={state} ==> {}", of("prev", prev), of("next", next))
    };
    // `b` waits for 900 ms although CPU 1 is idle, which no scheduler would allow. `c` is cut in a
    // burst of 15 ms, and has waited long before it.
    line(0, 0, "<idle>-0", &switch("idle", "R", "a"));
    line(0, 1, "a-1", "sched_waking: comm=b pid=2 prio=120 target_cpu=000");
    line(0, 2, "a-1", "sched_wakeup_new: comm=c pid=3 prio=120 target_cpu=000");
    line(0, 900, "a-1", &switch("a", "Z", "b"));
    line(0, 980, "b-2", &switch("b", "Z", "c"));
    line(1, 995, "<idle>-0", "sched_waking: comm=d pid=7 prio=120 target_cpu=001");
    let (codes, hangs) = letters(&text, |_| {});
    assert!(codes.contains('X') && codes.contains('P') && !hangs, "{codes}");
}

/// A trace without switches or wakeups cannot be replayed. The message names the command that
/// records it.
#[test]
fn what_cannot_be_replayed_is_refused() {
    let refused = |lines: &[&str]| {
        let mut books = TraceBuilder::new();
        let text = lines.join("\n") + "\n";
        let recording = Recording::of_bytes(text.into_bytes()).expect("the text is a trace");
        match recording.read(&mut books) {
            Ok(_) => match Replay::new("t").prepare(books.into_trace()) {
                Ok(_) => panic!("there is nothing to replay"),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        }
    };
    let whole = trace("d.h2.", 120);
    let all: Vec<&str> = whole.lines().collect();
    let wakeups: Vec<&str> = all.iter().copied().filter(|line| line.contains("waking")).collect();
    let switches: Vec<&str> = all.iter().copied().filter(|line| !line.contains("waking")).collect();
    for lines in [&all[..1], &wakeups, &switches] {
        let message = refused(lines);
        assert!(
            message.contains("sched_waking") && message.contains("perf sched record"),
            "{message}"
        );
    }
}

/// Counts runs and events, and ends its run at the event with this number.
struct Impatient<'a> {
    events: &'a AtomicU64,
    end_at: u64,
}

impl Observer for Impatient<'_> {
    fn on(&mut self, _now_ns: u64, _event: Event<'_>) {
        if self.events.fetch_add(1, Ordering::Relaxed) + 1 == self.end_at {
            std::panic::resume_unwind(Box::new("enough".to_string()));
        }
    }
}

#[test]
fn an_observer_may_end_the_answer_in_the_midst_of_a_run() {
    let mut books = TraceBuilder::new();
    let recording =
        Recording::of_bytes(trace("d.h2.", 120).into_bytes()).expect("the text is a trace");
    recording.read(&mut books).expect("the trace is readable");
    let replay = Replay { seeds: 3, ..Replay::new("t") };
    let prepared = replay.prepare(books.into_trace()).unwrap_or_else(|error| panic!("{error}"));
    let (runs, events) = (AtomicU64::new(0), AtomicU64::new(0));
    let answer = |threads: usize, end_at: u64| {
        runs.store(0, Ordering::Relaxed);
        events.store(0, Ordering::Relaxed);
        let observer = || {
            runs.fetch_add(1, Ordering::Relaxed);
            Impatient { events: &events, end_at }
        };
        prepared.run_observed(NonZeroUsize::new(threads).expect("the count is not 0"), observer)
    };
    // An observer that does not end runs changes nothing.
    assert_eq!(answer(2, u64::MAX).ok(), prepared.run(NonZeroUsize::MIN).ok());
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    let all = events.load(Ordering::Relaxed);
    // It ends the second run; there is no third.
    let error = answer(1, all / 2).err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains("enough")), "{error:?}");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(events.load(Ordering::Relaxed), all / 2);
}
