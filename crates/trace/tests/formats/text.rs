//! Texts of `perf script` and ftrace, parsed only for this test: the reader splits lines at the
//! names of fields, as scripts do.

use crate::{Counter, each};
use std::io::Read;
use std::path::Path;

/// Returns the text between ` key=` and the next ` next=` (or the end).
fn field<'a>(line: &'a str, key: &str, next: &str) -> &'a str {
    let begin = line.find(key).unwrap_or_else(|| panic!("no {key} in {line}")) + key.len();
    let rest = &line[begin..];
    if next.is_empty() { rest } else { &rest[..rest.find(next).expect("the next field")] }
}

/// Returns the CPU and the time of a line, in ns.
fn head(line: &str) -> (u64, u64) {
    // Names of tasks may also have brackets. The CPU is followed by a time or flags.
    let mut at = None;
    for (place, _) in line.match_indices("[0") {
        let cpu = &line[place + 1..place + 4];
        if line[place + 4..].starts_with(']') && cpu.bytes().all(|byte| byte.is_ascii_digit()) {
            at = Some((place, cpu.parse().expect("a CPU")));
        }
    }
    let (place, cpu) = at.unwrap_or_else(|| panic!("no CPU in {line}"));
    let time = line[place + 5..].split_whitespace().find(|word| word.ends_with(':'));
    let time = time.expect("a time").trim_end_matches(':');
    let (seconds, fraction) = time.split_once('.').expect("a fraction");
    assert_eq!(fraction.len(), 9, "nanoseconds");
    let ns = seconds.parse::<u64>().expect("seconds") * 1_000_000_000;
    (cpu, ns + fraction.parse::<u64>().expect("nanoseconds"))
}

fn check(text: &str, truth: &crate::support::Truth) {
    let mut counter = Counter::new(truth.report.end.at_ns);
    let mut last = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (cpu, at_ns) = head(line);
        assert!(at_ns >= last, "lines are in the order of time");
        last = at_ns;
        let pid = |text: &str| text.trim().parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        if line.contains("sched_switch: ") {
            let prev = pid(field(line, " prev_pid=", " prev_prio="));
            let state = field(line, " prev_state=", " ==> ");
            let next = pid(field(line, " next_pid=", " next_prio="));
            counter.switch(at_ns, cpu, prev, state, next);
        } else if line.contains("sched_wakeup: ") {
            counter.wakeup(pid(field(line, " pid=", " prio=")));
        }
    }
    counter.agree(truth);
}

fn unpacked(path: &Path) -> String {
    let file = std::fs::File::open(path).expect("the trace exists");
    let mut text = String::new();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => {
            flate2::read::MultiGzDecoder::new(file)
                .read_to_string(&mut text)
                .expect("the file is gzip");
        }
        Some("zst") => {
            let bytes = std::fs::read(path).expect("the trace exists");
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let mut frame =
                    ruzstd::decoding::StreamingDecoder::new(&mut rest).expect("a frame");
                frame.read_to_string(&mut text).expect("the frame is Zstandard");
            }
        }
        _ => text = std::fs::read_to_string(path).expect("the file is UTF-8 text"),
    }
    text
}

#[test]
fn the_text_of_perf_says_what_the_run_says() {
    each("out.txt", |traced| check(&unpacked(&traced.path), &traced.truth));
}

#[test]
fn the_text_of_ftrace_says_what_the_run_says_packed_or_not() {
    each("ftrace.txt.gz", |traced| check(&unpacked(&traced.path), &traced.truth));
    each("ftrace.txt.zst", |traced| check(&unpacked(&traced.path), &traced.truth));
}

/// The results of `perf sched` are the same for a run and for the text of the run.
#[test]
fn our_own_reader_reads_both() {
    use schedlab_trace::latency::{Latency, Options};
    use schedlab_trace::read::Trace;
    for name in ["out.txt", "ftrace.txt"] {
        each(name, |traced| {
            let text = unpacked(&traced.path);
            let trace = Trace::of_bytes(text.as_bytes()).expect("the text is a trace");
            let mut latency = Latency::new();
            trace.read(&mut latency).expect("the text is well formed");
            let rows = latency.rows(&Options { per_task: true, ..Options::default() });
            for task in traced.truth.report.tasks.iter().filter(|task| task.switches_in > 0) {
                let row = rows.iter().find(|row| row.pid == task.task + 1).expect("the task ran");
                assert_eq!(row.runtime_ns, task.cpu_ns, "{}", task.name);
            }
        });
    }
}
