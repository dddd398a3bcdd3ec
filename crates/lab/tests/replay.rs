//! Recordings replayed: compared with other recordings of the same work, damaged, and made of our
//! own runs.

use schedlab_lab::parallel;
use schedlab_lab::plan::{MachineSpec, Source};
use schedlab_lab::replay::{Begin, Replay, ReplayReport};
use schedlab_machine::SplitMix64;
use schedlab_replay::{Tokens, Trace, TraceBuilder, select};
use schedlab_trace::read::Trace as Recording;
use std::num::NonZeroUsize;

fn bytes(file: &str) -> Vec<u8> {
    let path = format!("{}/../../examples/traces/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn text(name: &str) -> String {
    let bytes = schedlab_lab::compressed::unpack(bytes(&format!("{name}.xz")), 1 << 28)
        .expect("the file is compressed correctly");
    String::from_utf8(bytes).expect("the file is text")
}

fn books(text: &str) -> Option<Trace> {
    let mut books = TraceBuilder::new();
    Recording::of_bytes(text.as_bytes().to_vec()).ok()?.read(&mut books).ok()?;
    Some(books.into_trace())
}

/// Returns the replay request for a recording whose work ran in a group with the program's name.
fn question(name: &str, root: &str) -> (Replay, Trace) {
    let file = format!("{}.groups", root.trim_end_matches(".sh"));
    let groups = String::from_utf8(bytes(&file)).expect("the file is text");
    let replay = Replay {
        groups: Some(Source { file, text: groups }),
        only: Some(format!("descendants of {root}")),
        ..Replay::new(name)
    };
    (replay, books(&text(name)).expect("the text is a trace"))
}

fn answer(replay: &Replay, trace: Trace) -> ReplayReport {
    let prepared = replay.prepare(trace).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(parallel::cores()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the end and waiting time, ms, of the groups that `is_in` selects, in a column.
fn of_column(answer: &ReplayReport, column: usize, is_in: impl Fn(&str) -> bool) -> (f64, f64) {
    let mut both = (0.0_f64, 0.0);
    for (group, figures) in answer.groups.iter().zip(&answer.columns[column].groups) {
        if is_in(&group.name) {
            both = (both.0.max(figures.end.median / 1e6), both.1 + figures.wait.median / 1e6);
        }
    }
    both
}

fn near(what: &str, (end, wait): (f64, f64), wanted: (f64, f64), bounds: (f64, f64)) {
    let off = |got: f64, wanted: f64| (got - wanted).abs() / wanted;
    assert!(off(end, wanted.0) <= bounds.0, "{what}: end {end}, recorded {}", wanted.0);
    assert!(off(wait, wanted.1) <= bounds.1, "{what}: wait {wait}, recorded {}", wanted.1);
}

/// Medians of three recordings of the work on one CPU, compared with the prediction from a
/// recording on two CPUs.
#[test]
fn a_desk_on_one_cpu_is_predicted() {
    let (replay, trace) = question("desk", "desk.sh");
    let changes = vec!["taskset descendants of desk.sh 1".into()];
    let answer = answer(&Replay { changes, ..replay }, trace);
    assert!(answer.e_cpu == 0.0 && !answer.hangs, "{:?}", answer.messages);
    assert!(answer.e_end <= 0.08, "{}", answer.e_end);
    assert!(answer.e_wait <= 0.25, "{}", answer.e_wait);
    near_one_cpu(&answer);
    // The whole machine, rather than just the work, on one CPU.
    let (replay, trace) = question("desk", "desk.sh");
    let machine = MachineSpec { cpus: Some(1), ..MachineSpec::default() };
    near_one_cpu(&self::answer(&Replay { machine, ..replay }, trace));
}

/// On a running machine, two hogs share a runqueue or do not, as in the recordings: in three of
/// them they waited for 303, 450 and 487 ms.
#[test]
fn a_desk_of_a_running_machine_has_both_its_modes() {
    let (replay, trace) = question("desk", "desk.sh");
    let fresh = Replay { begin: Begin::Fresh, ..replay.clone() };
    let answer = answer(&replay, trace.clone());
    let hog = answer.groups.iter().position(|group| group.name == "hog").expect("the group exists");
    let wait = &answer.columns[1].groups[hog].wait;
    assert!(wait.least <= 303e6 && wait.greatest >= 487e6, "{wait:?}");
    // If all tasks arrive at once, the hogs never share a runqueue.
    let answer = self::answer(&fresh, trace);
    assert!(answer.columns[1].groups[hog].wait.greatest < 450e6);
}

/// Checks that the third column agrees with a recording of a desk on one CPU.
fn near_one_cpu(answer: &ReplayReport) {
    for (name, end, wait) in [
        ("hog", 1402.4, 1748.2),
        ("video", 1135.8, 739.7),
        ("audio", 1029.2, 204.3),
        ("typist", 1110.4, 133.3),
    ] {
        let got = of_column(answer, 2, |group| group == name);
        near(name, got, (end, wait), (0.03, 0.10));
    }
}

/// Work that is restricted to one CPU has only one order, and the replay reproduces it, if the
/// restriction is specified: a trace does not contain it.
#[test]
fn a_desk_on_one_cpu_is_replayed() {
    let (replay, trace) = question("desk-cpu1", "desk.sh");
    let own = select::tasks(&trace, "descendants of desk.sh").expect("the tasks exist");
    let rows: Vec<String> = (trace.tasks.iter().zip(own))
        .filter(|(_, own)| *own)
        .map(|(task, _)| format!("{{\"tid\": {}, \"allowed\": \"1\"}}", task.pid))
        .collect();
    let text = format!("{{\"schema\": \"schedlab-side/1\", \"tasks\": [{}]}}", rows.join(", "));
    let side = Some(Source { file: "side".into(), text });
    let answer = answer(&Replay { side, ..replay }, trace);
    assert!(answer.e_cpu == 0.0 && !answer.hangs, "{:?}", answer.messages);
    assert!(answer.e_end <= 0.02 && answer.e_wait <= 0.05, "{} {}", answer.e_end, answer.e_wait);
    for group in answer.groups.iter().filter(|group| group.is_large) {
        assert!(group.err_end <= 0.02 && group.err_wait <= 0.05, "{group:?}");
    }
}

/// A build whose hog gets another nice value is predicted.
#[test]
fn a_build_beside_a_nicer_hog_is_predicted() {
    let (replay, trace) = question("build", "build.sh");
    let changes = vec!["nice hog +10".into()];
    let answer = answer(&Replay { changes, ..replay }, trace);
    assert!(answer.e_cpu == 0.0 && !answer.hangs, "{:?}", answer.messages);
    assert!(answer.e_end <= 0.04 && answer.e_wait <= 0.10, "{answer:?}");
    let build = of_column(&answer, 2, |group| group != "hog");
    near("build", build, (2551.7, 3723.0), (0.04, 0.10));
    near("hog", of_column(&answer, 2, |group| group == "hog"), (2551.1, 1922.8), (0.04, 0.10));
}

/// The opposite change is also predicted.
#[test]
fn a_build_beside_a_less_nice_hog_is_predicted() {
    let (replay, trace) = question("build-hog10", "build.sh");
    let changes = vec!["renice hog 0".into()];
    let answer = answer(&Replay { changes, ..replay }, trace);
    assert!(answer.e_cpu == 0.0 && !answer.hangs, "{:?}", answer.messages);
    assert!(answer.e_end <= 0.04 && answer.e_wait <= 0.10, "{} {}", answer.e_end, answer.e_wait);
    let build = of_column(&answer, 2, |group| group != "hog");
    near("build", build, (2540.6, 4745.0), (0.04, 0.10));
    // Its hog is the worst of the predictions that can be checked: errors of 8 % and 14 %.
    near("hog", of_column(&answer, 2, |group| group == "hog"), (1444.1, 822.8), (0.12, 0.20));
}

#[test]
fn a_server_is_replayed() {
    let (replay, trace) = question("redis", "redis.sh");
    let answer = answer(&replay, trace);
    assert!(answer.e_cpu == 0.0 && !answer.hangs, "{:?}", answer.messages);
    assert!(answer.e_end <= 0.08, "{}", answer.e_end);
    // Ends in its own recording: in three recordings, redis-benchmark ended at 139, 149 and 161 ms.
    for name in ["redis-server", "redis-benchmark", "hog"] {
        let (end, _) = of_column(&answer, 0, |group| group == name);
        let (got, _) = of_column(&answer, 1, |group| group == name);
        assert!((got - end).abs() / end <= 0.08, "{name}: {got}, recorded {end}");
    }
    assert!(
        answer.sleeps.edge > 4_500,
        "replies over loopback do not come from a device: {:?}",
        answer.sleeps
    );
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads() {
    let (replay, trace) = question("desk", "desk.sh");
    let replay = Replay { schedulers: vec!["cfs".into(), "bfs".into()], seeds: 3, ..replay };
    let prepared = replay.prepare(trace).unwrap_or_else(|error| panic!("{error}"));
    let of = |threads| {
        let threads = NonZeroUsize::new(threads).expect("the count is not 0");
        prepared.run(threads).unwrap_or_else(|error| panic!("{error}"))
    };
    assert_eq!(of(1), of(3));
}

/// The work as a file is the same work.
#[test]
fn the_written_model_reads_back() {
    let (replay, trace) = question("desk", "desk.sh");
    let prepared = replay.prepare(trace).unwrap_or_else(|error| panic!("{error}"));
    for anonymous in [false, true] {
        let model = prepared.model(anonymous);
        let text = schedlab_workload::rt_app::write(&model);
        let target = schedlab_workload::Target { cpus: 2, limited: true };
        let read = schedlab_workload::rt_app::load(&model.name, &text, &target)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read, model);
        assert_eq!(text.contains("typist"), !anonymous);
    }
}

/// Returns `text`, damaged in one of the ways in which recordings are.
fn damaged(text: &str, way: usize, random: &mut SplitMix64) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    let mut draw = |most: usize| random.below(most as u64) as usize;
    match way {
        0 => lines.truncate(draw(count) + 1),
        1 => drop(lines.drain(..draw(count))),
        2 | 3 => {
            let percent = if way == 2 { 1 } else { 20 };
            lines.retain(|_| draw(100) >= percent);
        }
        4 => {
            for at in (1..count).rev() {
                if draw(50) == 0 {
                    lines.swap(at - 1, at);
                }
            }
        }
        5 => {
            lines =
                lines.into_iter().flat_map(|it| vec![it; 1 + usize::from(draw(50) == 0)]).collect()
        }
        6 => lines.retain(|line| !line.contains("[001]")),
        // Bytes are replaced.
        9 => {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..1 + count / 20 {
                let at = draw(bytes.len());
                bytes[at] ^= 1 << draw(7);
            }
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        // Lines of some period are in random order.
        10 => {
            for part in lines.chunks_mut(60) {
                for at in (1..part.len()).rev() {
                    part.swap(at, draw(at + 1));
                }
            }
        }
        // Contexts are lost.
        7 => {
            let without = |line: &str| {
                let mut line = line.to_string();
                if let Some(at) = line.find("] d.").or_else(|| line.find("] dN")) {
                    line.replace_range(at + 2..at + 8, "");
                }
                line
            };
            return lines.into_iter().map(without).collect::<Vec<String>>().join("\n");
        }
        // Every number is reused.
        _ => {
            let digits = |line: &str| {
                let mut out = String::new();
                let mut rest = line;
                while let Some(at) = rest.find("pid=") {
                    out.push_str(&rest[..at + 4]);
                    rest = &rest[at + 4..];
                    let end = rest.find(' ').unwrap_or(rest.len());
                    let pid: u32 = rest[..end].parse().unwrap_or(0);
                    out.push_str(&(pid % 40).to_string());
                    rest = &rest[end..];
                }
                out + rest
            };
            return lines.into_iter().map(digits).collect::<Vec<String>>().join("\n");
        }
    }
    lines.join("\n")
}

/// Whatever part of a recording is lost, there is a message or a report, and no task waits forever.
#[test]
fn damaged_recordings_are_replayed() {
    let mut random = SplitMix64::new(1);
    let mut answers = 0;
    for name in ["desk", "lua", "build-hog10", "messaging"] {
        let whole = text(name);
        // A part of each that is short to replay.
        let whole: String = whole.lines().take(5_000).flat_map(|line| [line, "\n"]).collect();
        // Text without contexts has none to lose.
        for way in (0..11).filter(|&way| way != 7 || name != "lua" && name != "messaging") {
            for tokens in [Tokens::Strict, Tokens::Counted] {
                let Some(trace) = books(&damaged(&whole, way, &mut random)) else { continue };
                let replay = Replay { tokens, seeds: 1, ..Replay::new(name) };
                let Ok(prepared) = replay.prepare(trace) else { continue };
                let one = NonZeroUsize::MIN;
                let answer = prepared.run(one).unwrap_or_else(|error| panic!("{error}"));
                assert!(!answer.hangs, "{name}, way {way}: {:?}", answer.messages);
                assert_eq!(answer.e_cpu, 0.0, "{name}, way {way}: {:?}", answer.messages);
                answers += 1;
            }
        }
    }
    assert!(answers >= 48, "{answers}");
}

#[test]
fn what_is_asked_wrongly_is_told() {
    let error = |change: &dyn Fn(&mut Replay)| {
        let (mut replay, trace) = question("desk", "desk.sh");
        change(&mut replay);
        match replay.prepare(trace) {
            Ok(_) => panic!("the request is invalid"),
            Err(error) => error.to_string(),
        }
    };
    let message = error(&|it| it.only = Some("tipist".into()));
    assert!(message.contains("tipist") && message.contains("typist"), "{message}");
    let message = error(&|it| it.changes = vec!["nice hog plenty".into()]);
    assert!(message.contains("plenty"), "{message}");
    let message = error(&|it| it.changes = vec!["paint hog red".into()]);
    assert!(message.contains("paint"), "{message}");
    let message = error(&|it| it.recorded = Some("evdf".into()));
    assert!(message.contains("eevdf"), "{message}");
    let message = error(&|it| {
        it.groups = Some(Source { file: "g".into(), text: "hog batch\n".into() });
    });
    assert!(message.starts_with("g: line 1"), "{message}");
    let message = error(&|it| it.without = Some("*".into()));
    assert!(message.contains("no task is left"), "{message}");
    let message = error(&|it| it.limit_ns = Some(0));
    assert!(message.contains("--duration 0"), "{message}");
    let only_switches: String = text("desk")
        .lines()
        .filter(|line| !line.contains("sched_wak"))
        .map(|line| format!("{line}\n"))
        .collect();
    let trace = books(&only_switches).expect("the trace has switches");
    let message = match Replay::new("t").prepare(trace) {
        Ok(_) => panic!("the trace has no wakeups"),
        Err(error) => error.to_string(),
    };
    assert!(message.contains("sched_waking") && message.contains("perf sched record"), "{message}");
}
