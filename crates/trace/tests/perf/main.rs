//! Compares perf's own output about a recording with the output of this crate for the text of that
//! recording.
//!
//! `recorded/` contains a `perf sched record` of `perf bench sched messaging` (2 CPUs, kernel 6.18,
//! perf 6.1): the text of `perf script --ns`, and the output of `perf sched timehist`, `latency`
//! and `map`. Names of other programs of that machine were replaced by names of the same length.

use flate2::read::GzDecoder;
use schedlab_trace::latency::{self, Latency};
use schedlab_trace::map::Map;
use schedlab_trace::read::Trace;
use schedlab_trace::timehist::{self, Timehist};
use schedlab_trace::{Record, Sink, State, Tracepoint};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf/recorded").join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("the recording is gzip");
    text
}

fn of_text(text: &str) -> Trace {
    Trace::of_bytes(text.as_bytes()).expect("perf wrote it")
}

/// Number of CPUs of that machine.
const CPUS: u32 = 2;

/// Processes come from perf's own records, which the text lacks: `name[tid/pid]` becomes `[tid]`,
/// and so does `name[tid]`.
fn without_names(line: &str) -> String {
    let mut out = String::new();
    for word in line.split_whitespace() {
        let tid = word.find('[').filter(|_| word.ends_with(']')).map(|place| &word[place..]);
        match tid {
            Some(tid) => {
                let tid = tid.split('/').next().unwrap_or(tid).trim_end_matches(']');
                out.push_str(tid);
            }
            // A number, or a word of perf's own.
            None if word.starts_with(|letter: char| letter.is_ascii_digit())
                || ["awakened:", "next:"].contains(&word) =>
            {
                out.push_str(word);
            }
            None => continue,
        }
        out.push(' ');
    }
    out
}

/// Time, CPU, task and durations of each of a thousand lines.
#[test]
fn timehist_is_what_perf_prints() {
    let text = recorded("script.txt.gz");
    let trace = of_text(&text);
    let mut timehist = Timehist::new(CPUS, timehist::Options::default(), String::new());
    trace.read(&mut timehist).expect("perf wrote it");
    let ours = timehist.into_lines();
    let theirs = recorded("timehist.txt.gz");
    let head = |text: &str| text.lines().take(3).map(String::from).collect::<Vec<_>>();
    assert_eq!(head(&ours), head(&theirs));
    let rows = |text: &str| text.lines().skip(3).map(without_names).collect::<Vec<_>>();
    let (ours, theirs) = (rows(&ours), rows(&theirs));
    assert_eq!(ours.len(), theirs.len());
    // perf loses the name of a task that has since been reaped. The text has it.
    let lost = |line: &str| line.contains("[-1 ");
    assert_eq!(theirs.iter().filter(|line| lost(line)).count(), 2);
    let differ = ours.iter().zip(&theirs).filter(|(_, theirs)| !lost(theirs));
    let differ: Vec<_> = differ.filter(|(ours, theirs)| ours != theirs).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}

/// Counts, sums and deviations of each task.
#[test]
fn the_summary_is_what_perf_prints() {
    let text = recorded("script.txt.gz");
    let trace = of_text(&text);
    let options = timehist::Options { summary_only: true, ..timehist::Options::default() };
    let mut timehist = Timehist::new(CPUS, options, String::new());
    trace.read(&mut timehist).expect("perf wrote it");
    let (ours, theirs) = (timehist.into_lines(), recorded("timehist-s.txt.gz"));
    let head = |text: &str| text.lines().take(5).map(String::from).collect::<Vec<_>>();
    assert_eq!(head(&ours), head(&theirs));
    // By tid, without names and parents, some of which perf takes from /proc.
    let rows = |text: &str| -> BTreeMap<String, String> {
        let rows = text.lines().filter_map(|line| {
            let (name, rest) = line.split_at_checked(38)?;
            let tid = name.rsplit_once('[')?.1.split(['/', ']']).next()?;
            // perf counts migrations only if it shows them.
            Some((tid.to_string(), rest.trim_end().rsplit_once(' ')?.0.to_string()))
        });
        rows.collect()
    };
    let (of_ours, mut of_theirs) = (rows(&ours), rows(&theirs));
    // perf counts two slices of this task for a task that it calls -1.
    assert!(of_theirs.remove("-1").is_some() && of_theirs.remove("10969").is_some());
    assert!(of_theirs.len() > 50);
    for (tid, row) in &of_theirs {
        assert_eq!(of_ours.get(tid), Some(row), "{tid}");
    }
}

/// Columns are compared to the blank, for lines whose tasks have the same name in the text.
#[test]
fn lines_stand_in_perfs_columns() {
    let text = recorded("script.txt.gz");
    let trace = of_text(&text);
    let options = timehist::Options {
        wakeups: true,
        next: true,
        state: true,
        cpu_visual: true,
        ..timehist::Options::default()
    };
    let mut timehist = Timehist::new(CPUS, options, String::new());
    trace.read(&mut timehist).expect("perf wrote it");
    let ours = timehist.into_lines();
    let theirs = recorded("timehist-wnsV.txt.gz");
    assert_eq!(
        ours.lines().take(3).collect::<Vec<_>>(),
        theirs.lines().take(3).collect::<Vec<_>>()
    );
    // The letter of the state is in a fixed column, whatever the letter is.
    let shape = |line: &str| {
        let mut letters: Vec<char> = line.chars().collect();
        if line.contains("  next: ") {
            let place = line.find("  next: ").expect("every line has a next task") - 1;
            letters[place] = '?';
        }
        letters.into_iter().collect::<String>()
    };
    let theirs: Vec<String> = theirs.lines().map(shape).collect();
    let ours: Vec<String> = ours.lines().map(shape).collect();
    let same = ours.iter().filter(|line| theirs.contains(line)).count();
    assert!(
        same * 10 > theirs.len() * 3,
        "{same} of {}; ours:\n{}\ntheirs:\n{}",
        theirs.len(),
        ours[3..40].join("\n"),
        theirs[3..40].join("\n")
    );
    let counts = |lines: &[String], what: &str| lines.iter().filter(|l| l.contains(what)).count();
    assert_eq!(counts(&ours, "awakened: "), counts(&theirs, "awakened: "));
    assert_eq!(counts(&ours, "next: "), counts(&theirs, "next: "));
}

/// Recording as `latency` of perf 6.1 interprets it: perf waits for `sched_wakeup`, which the
/// recording lacks, and treats `R+` as a sleep.
struct AsPerfSees<'a>(&'a mut Latency);

impl Sink for AsPerfSees<'_> {
    fn record(&mut self, record: &Record<'_>) {
        let mut record = *record;
        match &mut record.tracepoint {
            Tracepoint::Waking { .. } => return,
            Tracepoint::Switch { prev_state, .. } if *prev_state == State::Preempted => {
                *prev_state = State::Interruptible;
            }
            _ => {}
        }
        self.0.record(&record);
    }
}

#[test]
fn latency_is_what_perf_prints() {
    let text = recorded("script.txt.gz");
    let trace = of_text(&text);
    let mut latency = Latency::new();
    trace.read(&mut AsPerfSees(&mut latency)).expect("perf wrote it");
    let options = latency::Options { per_task: true, ..latency::Options::default() };
    // Rows by tid, without names.
    let rows = |table: &str| -> BTreeMap<String, String> {
        table
            .lines()
            .filter(|line| line.contains("| avg:"))
            .map(|line| {
                let (name, rest) = line.split_once('|').expect("columns");
                let tid = name.trim().rsplit_once(':').expect("a tid").1;
                (tid.to_string(), rest.to_string())
            })
            .collect()
    };
    let ours = latency.table(&options);
    let theirs = recorded("latency-p.txt.gz");
    let (mut of_ours, mut of_theirs) = (rows(&ours), rows(&theirs));
    // A task without a name, which the text does not show.
    of_ours.remove("69");
    of_theirs.remove("69");
    for (tid, row) in &of_theirs {
        assert_eq!(of_ours.get(tid), Some(row), "{tid}");
    }
    let begin = |table: &str| {
        let lines = table.lines().skip_while(|line| line.is_empty()).take(3);
        lines.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(begin(&ours), begin(&theirs));
}

#[test]
fn map_is_what_perf_prints() {
    let text = recorded("script.txt.gz");
    let trace = of_text(&text);
    let mut map = Map::new(CPUS, String::new());
    trace.read(&mut map).expect("perf wrote it");
    // perf explains a task again when it learns a new name, which the text shows differently.
    let rows = |text: &str| -> Vec<String> {
        let row = |line: &str| line.split_once(" secs ").map_or("", |(row, _)| row).to_string();
        text.lines().map(row).collect()
    };
    let (ours, theirs) = (rows(&map.into_lines()), rows(&recorded("map.txt.gz")));
    assert_eq!(ours.len(), theirs.len());
    let first = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None);
}

/// Output of perf 6.1 for another recording, `tests/read/recorded/sched.perf.data.xz`, with the
/// options of these lines; parents, which perf takes from /proc, are left out.
mod options {
    use super::*;

    fn shown(options: timehist::Options) -> String {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read/recorded/sched.perf.data.xz");
        let mut timehist = Timehist::new(CPUS, options, String::new());
        schedlab_trace::read::read(&path, &mut timehist).expect("perf wrote it");
        timehist.into_lines()
    }

    /// Returns the row of a task without its parent.
    fn row(text: &str, task: &str) -> String {
        let row = text.lines().find(|line| line.trim_start().starts_with(task));
        let row = row.unwrap_or_else(|| panic!("{task} in {text}"));
        format!("{}{}", &row[..32], &row[38..])
    }

    #[test]
    fn states_make_a_summary_of_waits() {
        let options =
            timehist::Options { summary_only: true, state: true, ..timehist::Options::default() };
        let text = shown(options);
        let head: Vec<&str> = text.lines().take(5).collect();
        assert_eq!(
            head[1..4],
            [
                "Wait-time summary",
                "                          comm  parent   sched-in     run-time      sleep      \
                 iowait     preempt       delay",
                "                                          (count)       (msec)     (msec)      \
                 (msec)      (msec)       (msec)",
            ]
        );
        assert_eq!(head[4], "-".repeat(117));
        for theirs in [
            "               rcu_preempt[15]            1        0.005      0.000       0.000       \
             0.000       3.991 ",
            "               migration/0[18]            1        0.074      0.000       0.000       \
             0.000       0.006 ",
            "                   perf[12397]            4        0.119      4.226       0.000       \
             6.135       0.006 ",
        ] {
            let task = theirs.split_whitespace().next().expect("the row begins with a task");
            assert_eq!(row(&text, task), theirs);
        }
    }

    #[test]
    fn of_one_cpu_only_its_turns_are_summed_up() {
        let options =
            timehist::Options { summary_only: true, cpus: vec![0], ..timehist::Options::default() };
        let text = shown(options);
        let (running, ended) =
            text.split_once("\nTerminated tasks:\n").expect("the summary has both parts");
        assert_eq!(running.lines().skip(5).count(), 3, "{text}");
        assert!(ended.starts_with("<no terminated tasks>\n"), "{text}");
        assert!(text.contains("    Total number of unique tasks: 3\n"), "{text}");
        let theirs = "                   perf[12397]            1        0.000      0.000";
        assert!(row(&text, "perf[12397]").starts_with(theirs), "{text}");
        assert!(!text.contains("CPU  1 idle"), "{text}");
    }

    #[test]
    fn a_migration_has_a_mark_of_its_own() {
        let options = timehist::Options {
            migrations: true,
            cpu_visual: true,
            ..timehist::Options::default()
        };
        let text = shown(options);
        let migrated: Vec<&str> = text.lines().filter(|line| line.contains("migrated: ")).collect();
        assert_eq!(
            migrated[0],
            "   27293.363219 [0000]   m     migration/0[18]                                     \
             \u{20}            migrated: perf[12397] cpu 0 => 1"
        );
    }
}
