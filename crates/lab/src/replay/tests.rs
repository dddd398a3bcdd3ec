//! What a user is told about a replay.

use super::*;
use schedlab_replay::Books;
use schedlab_trace::read::Trace as Recording;

/// The letters of the messages about a trace in text, and whether a replay hangs.
fn letters(text: &str, change: impl FnOnce(&mut Replay)) -> (String, bool) {
    let mut books = Books::new();
    let recording = Recording::of_bytes(text.as_bytes().to_vec()).expect("it is a trace");
    recording.read(&mut books).expect("it can be read");
    let mut replay = Replay { seeds: 2, ..Replay::new("t") };
    change(&mut replay);
    let prepared = replay.prepare(books.into_trace()).unwrap_or_else(|error| panic!("{error}"));
    let answer = prepared.answer(NonZeroUsize::MIN).unwrap_or_else(|error| panic!("{error}"));
    (answer.messages.iter().map(|message| message.code).collect(), answer.hangs)
}

/// Two tasks on one CPU, of which one sleeps; `flags`: in what context the timer's wakeup is.
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
    let (said, hangs) = letters(&plain, |_| {});
    assert!(said.starts_with("AC") && !hangs, "{said}");
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
    let (said, hangs) = letters(&trace("d.h2.", 120), early);
    assert!(said.contains('L') && !hangs, "{said}");
}
