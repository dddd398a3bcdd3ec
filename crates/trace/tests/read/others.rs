//! Forms of old kernels and of other tools: states in numbers, systrace of old Android, fields
//! behind the event's own, raw values of `trace-cmd report -R`, `perf data convert --to-json`,
//! `atrace -z`, Fuchsia.
//!
//! The files in `tests/data` are made by hand.

use crate::{EventLog, event_log, refused};
use schedlab_trace::read::{Format, Packing, Place, Trace, Trouble};
use std::io::Write;

const OLD_STATES: &[u8] = include_bytes!("../data/old-prev-state.txt");
const OLD_ANDROID: &[u8] = include_bytes!("../data/old-android.txt");
const FIELDS_BEHIND: &[u8] = include_bytes!("../data/fields-behind.perf.txt");
const PERF_JSON: &[u8] = include_bytes!("../data/perf.json");

/// Returns the text that `atrace -z` would print for this trace.
fn atrace_z(trace: &[u8]) -> Vec<u8> {
    let out = b"capturing trace... done\r\nTRACE:\r\n".to_vec();
    let mut zlib = flate2::write::ZlibEncoder::new(out, flate2::Compression::default());
    zlib.write_all(trace).expect("writing to memory does not fail");
    zlib.finish().expect("writing to memory does not fail")
}

/// Returns the states in which task 1 leaves, for these values of `prev_state`.
fn states(values: &[&str]) -> (Vec<String>, Option<String>) {
    let line = |(at, value): (usize, &&str)| {
        format!(
            "a-1 [000] {at}.5: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 \
             prev_state={value} ==> next_comm=b next_pid=2 next_prio=120\n"
        )
    };
    let text: String = values.iter().enumerate().map(line).collect();
    let (event_log, reading) = event_log(text.as_bytes());
    let states = event_log.lines.iter().map(|line| line.split(' ').nth(5).unwrap_or("-").into());
    let assumed = reading.problems.get(Trouble::States).map(|problem| problem.detail.clone());
    (states.collect(), assumed)
}

#[test]
fn numbers_of_states_are_read_by_the_era_that_has_them() {
    let (event_log, reading) = event_log(OLD_STATES);
    assert_eq!(
        event_log.lines,
        [
            "100000100000 0 . job:101: wakeup net:202[120] 0",
            "100000110000 0 . job:101: job:101[120] R+ > net:202[120]",
            "100000400000 0 . net:202: net:202[120] S > job:101[120]",
            "100002000000 0 . job:101: job:101[120] I > swapper:0[120]",
        ]
    );
    let assumed = reading.problems.get(Trouble::States).expect("the release is not stated");
    assert_eq!((assumed.count, assumed.first), (2, Place::Time(100_000_110_000, 0)));
    assert_eq!(
        assumed.detail,
        "4096 is read as in Linux 4.8 to 4.13, because the trace has 4096 (preempted)"
    );
    // The evidence may come later than the number that needs it.
    assert_eq!(states(&["64", "0x800", "1026"]).0, ["X", "R+", "I"]);
    assert_eq!(states(&["64", "0x400"]).0, ["X", "R+"]);
    // Numbers of today's kernels need no remark, nor do those that every kernel has.
    assert_eq!(states(&["64", "256", "128"]), (vec!["P".into(), "R+".into(), "I".into()], None));
    assert_eq!(states(&["0", "1", "0x2"]), (vec!["R".into(), "S".into(), "D".into()], None));
    let (letters, assumed) = states(&["64", "1"]);
    assert_eq!(letters, ["P", "S"]);
    let assumed = assumed.expect("64 has two meanings");
    assert!(assumed.starts_with("64 has several meanings, and is read as in Linux 4.14 and later"));
}

#[test]
fn a_number_that_no_kernel_writes_is_an_error() {
    let text = "a 1 [000] 1.0: sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 \
                prev_state=9999 ==> next_comm=b next_pid=2 next_prio=120";
    let error = refused(text.as_bytes()).to_string();
    let expected = "line 1: sched_switch: unknown state \"9999\": it must be letters (R, S, D, \
                    ...) or a number up to 8191";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn systrace_of_old_android_is_read() {
    let (event_log, reading) = event_log(OLD_ANDROID);
    assert_eq!(
        event_log.lines,
        [
            "100000100000 0 . job:101: wakeup net:202[120] 1",
            "100000110000 0 . job:101: job:101[120] R > net:202[120]",
            "100000400000 0 . net:202: net:202[120] S > job:101[120]",
        ]
    );
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    assert!(reading.needs_wakeups().is_ok());
}

#[test]
fn fields_behind_those_of_the_event_are_skipped() {
    let (event_log, reading) = event_log(FIELDS_BEHIND);
    assert_eq!(
        event_log.lines,
        [
            "100000100000 0 ? job:101: wakeup net:202[120] 0",
            "100000110000 0 ? job:101: job:101[120] R > net:202[120]",
            "100000400000 0 ? net:202: net:202[120] S > job:101[120]",
        ]
    );
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
}

/// Returns the result for one body, after its head.
fn one(body: &str) -> String {
    let text = format!(
        "z-7 [000] d..2 1.0: {body}\nx-9 [077] 9.0: sched_switch: prev_comm=a prev_pid=1 \
         prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120\n"
    );
    let (event_log, reading) = event_log(text.as_bytes());
    assert_eq!(event_log.lines.len(), 2, "{body}: {:?}", reading.problems);
    event_log.lines[0].split_once(": ").expect("a head").1.to_string()
}

#[test]
fn fields_behind_every_event_and_form_are_skipped() {
    let cases = [
        ("sched_switch: a [x]:202 [120] R ==> b:8 [98]", "a [x]:202[120] R > b:8[98]"),
        ("sched_wakeup: a:b:5 [98] success=1 CPU:003", "wakeup a:b:5[98] 3"),
        ("sched_wakeup_new: task a:5 [98] success=1 [003]", "new a:5[98] 3"),
        ("sched_migrate_task: comm=a pid=5 prio=98 orig_cpu=3 dest_cpu=0", "migrate a:5[98] 3 0"),
        ("sched_migrate_task: task a:5 [98] from: 3  to: 0", "migrate a:5[98] 3 0"),
        (
            "sched_process_fork: comm=pa pid=5 child_comm=c h child_pid=6",
            "fork pa:5[120] c h:6[120]",
        ),
        ("sched_process_fork: parent a:5  child a:6", "fork a:5[120] a:6[120]"),
        ("sched_process_exec: filename=/bin/a b pid=5 old_pid=6", "exec /bin/a b 5"),
        ("sched_process_exit: comm=a pid=5 prio=98", "exit a:5[98]"),
        ("sched_process_exit: task a:5 [98]", "exit a:5[98]"),
        ("sched_stat_runtime: comm=a pid=5 runtime=77 [ns]", "runtime a:5[120] 77"),
    ];
    for (body, expected) in cases {
        assert_eq!(one(body), expected, "{body}");
        for behind in [" ffffffff8110a0b0 f", "  ffffffff8110a0b0 f+0x1b ([kernel.kallsyms])"] {
            assert_eq!(one(&format!("{body}{behind}")), expected, "{body}{behind}");
        }
    }
}

/// A signed field is decimal in newer releases, and a `long` one was hexadecimal in older ones.
#[test]
fn raw_values_of_trace_cmd_are_read() {
    let cases = [
        (
            "sched_switch:          prev_comm=a prev_pid=10 prev_prio=120 prev_state=0x0 \
             next_comm=b next_pid=11 next_prio=-1",
            "a:10[120] R > b:11[-1]",
        ),
        (
            "sched_switch: prev_comm=ARRAY[61, 07, 62, 00] prev_pid=0xa prev_prio=0x78 \
             prev_state=0x2 next_comm=b next_pid=0xb next_prio=0xffffffff",
            "a?b:10[120] D > b:11[-1]",
        ),
        ("sched_wakeup: comm=a pid=0x5 prio=0x78 success=0x1 target_cpu=0x1", "wakeup a:5[120] 1"),
        ("sched_stat_runtime: comm=a pid=5 runtime=0x4d vruntime=0x8", "runtime a:5[120] 77"),
        (
            "sched_process_fork: parent_comm=a parent_pid=0x5 child_comm=b child_pid=0x6",
            "fork a:5[120] b:6[120]",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(one(body), expected, "{body}");
    }
}

#[test]
fn a_wakeup_without_its_target_is_kept() {
    let cases = [
        ("sched_waking: comm=a pid=5 prio=98", "waking a:5[98] ?"),
        ("sched_wakeup: comm=a pid=5 prio=98 success=1", "wakeup a:5[98] ?"),
        ("sched_wakeup: comm=a pid=5 prio=98 target_cpu=-1", "wakeup a:5[98] ?"),
        ("sched_wakeup_new: comm=a pid=5 prio=98 target_cpu=0xffffffff", "new a:5[98] ?"),
        ("sched_wakeup: a:5 [98]", "wakeup a:5[98] ?"),
        ("sched_wakeup: task a:5 [98] success=1", "wakeup task a:5[98] ?"),
    ];
    for (body, expected) in cases {
        assert_eq!(one(body), expected, "{body}");
    }
    let table = "time_ns,cpu,event,pid,prev_pid,prev_state,next_pid\n1,0,sched_waking,5,,,\n\
                 2,0,sched_switch,,1,S,2\n";
    assert_eq!(event_log(table.as_bytes()).0.lines[0], "1 0 ? swapper:0: waking <...>:5[120] ?");
    // A target that is wrong is an error.
    for (target, message) in [("x", "must be a number"), ("5000", "CPU 5000")] {
        let text = format!("a 1 [000] 1.0: sched_wakeup: comm=a pid=5 prio=98 target_cpu={target}");
        assert!(refused(text.as_bytes()).to_string().contains(message), "{target}");
    }
}

#[test]
fn defects_of_a_table_are_named() {
    let of = |row: &str| {
        let table = format!("time_ns,cpu,event,prev_pid,prev_state,next_pid\n{row}\n");
        refused(table.as_bytes()).to_string()
    };
    for (row, message) in [
        ("1,0,sched_switch,1,S,", "line 2: sched_switch: next_pid= is missing"),
        ("1,0,sched_switch,x,S,2", "line 2: sched_switch: prev_pid=x: it must be a number"),
        ("1,0,sched_switch,1,?,2", "line 2: sched_switch: unknown state \"?\""),
        ("1,9999,sched_switch,1,S,2", "line 2: sched_switch: cpu=9999: CPUs are numbered from 0"),
        (",0,sched_switch,1,S,2", "line 2: the time is missing"),
    ] {
        assert!(of(row).starts_with(message), "{}", of(row));
    }
}

#[test]
fn json_of_perf_is_read() {
    let trace = Trace::of_bytes(PERF_JSON).expect("the file is a trace");
    assert_eq!(trace.format(), Format::PerfJson);
    let (event_log, reading) = event_log(PERF_JSON);
    assert_eq!(
        event_log.lines,
        [
            "1000 0 ? job:101: waking net:202[120] 1",
            "1100 0 ? job:101: fork job:101[120] job:303[120]",
            "1200 0 ? job:101: new job:303[120] 0",
            "2000 0 ? job:101: job:101[120] R+ > net \"x\":202[98]",
            "3000 0 ? net \"x\":202: wakeup job:101[120] ?",
            "4000 0 ? net:202: net:202[98] S > swapper:0[120]",
        ]
    );
    let header = &reading.header;
    assert_eq!((header.release.as_deref(), header.host.as_deref()), (Some("4.9.0"), Some("vm")));
    assert_eq!(header.recorder.as_deref(), Some("/usr/bin/perf record -a"));
    assert_eq!(header.cpus_online, Some(2));
    assert!(event_log.tasks.contains(&(101, 100, 0, "job".into())), "{:?}", event_log.tasks);
    let unreadable = reading.problems.get(Trouble::Unreadable).expect("the last sample is wrong");
    assert_eq!(unreadable.detail, "sched_switch: prev_pid=many: it must be a number");
}

#[test]
fn json_of_perf_without_fields_is_refused_with_the_reason() {
    let json = br#"{"linux-perf-json-version": 1, "samples": [
        {"timestamp": 1, "pid": 1, "tid": 1, "cpu": 0, "comm": "a", "callchain": []}]}"#;
    let error = refused(json).to_string();
    assert!(error.contains("this perf was built without libtraceevent"), "{error}");
    assert!(error.contains("perf script --ns"), "{error}");
}

#[test]
fn output_of_atrace_is_unpacked() {
    let packed = atrace_z(OLD_ANDROID);
    let trace = Trace::of_bytes(&packed[..]).expect("the file is a trace");
    assert_eq!((trace.format(), trace.packing()), (Format::Text, Packing::Atrace));
    assert_eq!(event_log(&packed).0, event_log(OLD_ANDROID).0);
    // Other tools cut the text before the data.
    let zlib = &packed[packed.windows(6).position(|part| part == b"TRACE:").expect("a mark") + 8..];
    assert_eq!(Trace::of_bytes(zlib).expect("it is a trace").packing(), Packing::Zlib);
    assert_eq!(event_log(zlib).0, event_log(OLD_ANDROID).0);
    // Without -z, the text follows.
    let plain = [b"capturing trace... done\nTRACE:\n", OLD_ANDROID].concat();
    assert_eq!(event_log(&plain).0, event_log(OLD_ANDROID).0);
    let broken = b"capturing trace... done\nTRACE:\nx\x9c\r\n\r\n\r\n";
    let error = refused(broken).to_string();
    assert!(
        error.contains("it cannot be decompressed") && error.contains("adb exec-out"),
        "{error}"
    );
}

#[test]
fn fuchsia_is_named() {
    let error = refused(b"\x10\0\x04\x46\x78\x54\x16\0\x31\0\0\0\0\0\0\0").to_string();
    assert!(error.starts_with("it is a trace of Fuchsia (FXT"), "{error}");
    assert!(error.contains("cpu,start_ns,end_ns,pid,task"), "{error}");
    // The table that the message asks for, as the tool prints it, is read.
    let table = "\"cpu\",\"start_ns\",\"end_ns\",\"pid\",\"task\"\n0,100,200,5,\"a\"\n";
    let lines = event_log(table.as_bytes()).0.lines;
    assert_eq!(lines[0], "100 0 . swapper:0: swapper:0[120] R > a:5[120]");
}

/// Whatever is changed in a file, reading it ends with a result or with a message.
#[test]
fn changed_files_are_read_or_refused() {
    let fuchsia = b"\x10\0\x04\x46\x78\x54\x16\0".to_vec();
    let packed = atrace_z(OLD_STATES);
    let files: [&[u8]; 6] = [OLD_STATES, OLD_ANDROID, FIELDS_BEHIND, PERF_JSON, &packed, &fuchsia];
    let words: [&[u8]; 14] = [
        b"0xffffffffffffffff",
        b"-9223372036854775808",
        b"ARRAY[",
        b"ARRAY[]",
        b"]",
        b":",
        b" ",
        b"=",
        b"\"",
        b"{",
        b"}",
        b"success=",
        b" CPU:",
        b"prev_state=0x1fff",
    ];
    let mut dice = 1u64;
    let mut roll = |below: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) as usize % below.max(1)
    };
    for file in files {
        for _ in 0..3_000 {
            let mut changed = file.to_vec();
            for _ in 0..=roll(3) {
                let at = roll(changed.len() + 1);
                let end = (at + roll(12)).min(changed.len());
                match roll(4) {
                    0 => changed.truncate(at),
                    1 => drop(changed.splice(at..end, [])),
                    2 if at < changed.len() => changed[at] = roll(256) as u8,
                    _ => drop(changed.splice(at..end, words[roll(words.len())].iter().copied())),
                }
            }
            let result = Trace::of_bytes(changed).and_then(|it| it.read(&mut EventLog::default()));
            if let Err(error) = result {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}
