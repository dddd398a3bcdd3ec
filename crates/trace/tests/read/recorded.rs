//! Recordings of a kernel 6.18 on two CPUs, as the tools wrote them.
//!
//! `sched.perf.data` was written by `perf record`, and `sched.perf.txt` is the output of `perf
//! script --ns` for it. `sched.trace.dat` contains the pages of a ring buffer; `sched-7.trace.dat`
//! was made from it by `trace-cmd convert` (version 7, zstd), and `sched.report-l.txt` and
//! `sched.report-R.txt` are the output of `trace-cmd report -t -l` and `-R` for it. So each reader
//! is compared with an independent one. `desk-begin` is the beginning of a recording by tracefs.

use crate::{EventLog, event_log};
use schedlab_trace::read::{Format, Packing, Reading, Trace, Trouble};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read/recorded").join(name)
}

pub fn recorded(name: &str) -> (EventLog, Reading) {
    let mut event_log = EventLog::default();
    let reading = schedlab_trace::read::read(&path(name), &mut event_log);
    (event_log, reading.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Returns the unpacked bytes of a recording.
pub fn bytes(name: &str) -> Vec<u8> {
    use std::io::Read;
    let bytes = std::fs::read(path(name)).expect("the recording exists");
    if !name.ends_with(".xz") {
        return bytes;
    }
    let mut out = vec![];
    lzma_rust2::XzReader::new(&bytes[..], true).read_to_end(&mut out).expect("the recording is xz");
    out
}

/// Removes the context, which not every tool prints.
fn without_context(event_log: &EventLog) -> Vec<String> {
    let cut = |line: &String| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        format!("{} {} {}", words[0], words[1], words[3])
    };
    event_log.lines.iter().map(cut).collect()
}

/// Checks that both are the same; shows only the first lines that differ.
fn same(left: &[String], right: &[String]) {
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left, right);
    }
    assert_eq!(left.len(), right.len());
}

#[test]
fn perf_data_is_what_perf_script_prints() {
    let (data, reading) = recorded("sched.perf.data.xz");
    let (text, of_text) = recorded("sched.perf.txt.xz");
    assert_eq!(data.lines.len(), 503);
    same(&without_context(&data), &without_context(&text));
    let header = &reading.header;
    assert_eq!(header.release.as_deref(), Some("6.18.44-fc-v669"));
    assert_eq!((header.cpus, header.cpus_online), (2, Some(2)));
    assert!(header.recorder.as_ref().is_some_and(|line| line.contains("perf record -q -a")));
    assert_eq!((header.switches, header.wakeups), (156, 223));
    assert_eq!(reading.problems.count(Trouble::Gap), of_text.problems.count(Trouble::Gap));
    // The text lacks contexts and processes.
    assert!(data.lines.iter().any(|line| line.contains(" s ")), "{}", data.lines[9]);
    assert!(text.lines.iter().all(|line| line.contains(" ? ")));
    assert!(data.tasks.iter().any(|(pid, tgid, ..)| pid != tgid), "threads of one process");
}

#[test]
fn trace_dat_is_what_trace_cmd_prints() {
    let (data, reading) = recorded("sched.trace.dat.xz");
    assert_eq!(data.lines.len(), 2586);
    let (text, _) = recorded("sched.report-l.txt.xz");
    // The plugin prints the letters of old kernels.
    let old = |lines: &[String]| -> Vec<String> {
        let pairs = [("] I >", "] S >"), ("] R+ >", "] R >"), ("] Z >", "] X >")];
        let old = |line: &String| {
            pairs.iter().fold(line.clone(), |line, (new, old)| line.replace(new, old))
        };
        lines.iter().map(old).collect()
    };
    same(&old(&data.lines), &old(&text.lines));
    let (raw, _) = recorded("sched.report-R.txt.xz");
    same(&without_context(&data), &without_context(&raw));
    let (version_7, of_7) = recorded("sched-7.trace.dat");
    assert!(data == version_7);
    assert_eq!(reading.problems, of_7.problems);
    let header = &reading.header;
    assert_eq!(header.release.as_deref(), Some("6.18.44"));
    assert_eq!((header.clock.as_deref(), header.cpus_online), (Some("mono"), Some(2)));
}

/// Beginning of a recording whose totals are known: here they are counted with grep.
#[test]
fn text_of_tracefs_is_read() {
    let (event_log, reading) = recorded("desk-begin.ftrace.txt.xz");
    let text =
        String::from_utf8(bytes("desk-begin.ftrace.txt.xz")).expect("the recording is UTF-8 text");
    let count = |event: &str| text.lines().filter(|line| line.contains(event)).count();
    let events = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(event_log.lines.len(), events);
    assert_eq!(reading.header.switches as usize, count(": sched_switch: "));
    let of = |context: &str| {
        event_log
            .lines
            .iter()
            .filter(|line| line.contains(context) && line.contains("waking"))
            .count()
    };
    let flag = |flag: char| {
        let wakings = text.lines().filter(|line| line.contains(": sched_waking: "));
        wakings
            .filter(|line| {
                line.contains(&format!("] d.{flag}")) || line.contains(&format!("] dN{flag}"))
            })
            .count()
    };
    assert_eq!((of(" h "), of(" s "), of(" . ")), (flag('h'), flag('s'), flag('.')));
}

#[test]
fn what_a_file_is_stands_in_it() {
    let of = |name: &str| {
        let trace = Trace::open(&path(name)).expect("the recording is a trace");
        (trace.format(), trace.packing())
    };
    assert_eq!(of("sched.perf.data.xz"), (Format::PerfData, Packing::Xz));
    assert_eq!(of("sched-7.trace.dat"), (Format::TraceDat, Packing::Plain));
    assert_eq!(of("sched.perf.txt.xz"), (Format::Text, Packing::Xz));
}

/// A recording that is cut anywhere is read up to there, and the missing end is reported.
#[test]
fn a_cut_recording_is_read_as_far_as_it_goes() {
    for name in ["sched.perf.data.xz", "sched.trace.dat.xz", "sched-7.trace.dat"] {
        let whole = bytes(name);
        for part in 1..36 {
            let cut = &whole[..whole.len() * part / 40];
            let mut event_log = EventLog::default();
            let trace = Trace::of_bytes(cut).and_then(|trace| trace.read(&mut event_log));
            match trace {
                Ok(reading) => assert!(reading.problems.count(Trouble::Torn) > 0, "{name} {part}"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    let text = bytes("sched.perf.txt.xz");
    let (half, reading) = event_log(&text[..text.len() / 2]);
    assert!(half.lines.len() > 240 && reading.problems.count(Trouble::Unreadable) <= 1);
}

/// A compressed file that is cut is read up to the point to which it unpacks.
#[test]
fn a_cut_packed_file_is_read_as_far_as_it_goes() {
    let text = bytes("sched.report-l.txt.xz");
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &text).expect("writing to memory does not fail");
    let gzip = gzip.finish().expect("writing to memory does not fail");
    let (event_log, reading) = event_log(&gzip[..gzip.len() * 9 / 10]);
    assert!(event_log.lines.len() > 1000, "{}", event_log.lines.len());
    assert_eq!(reading.problems.count(Trouble::Torn), 1);
}
