//! Recorded traces: the text of `perf script`, ftrace and `trace-cmd report`.

use super::{Reader, Shape, text};
use schedlab_trace::Sink;
use schedlab_trace::antagonists::Antagonists;
use schedlab_trace::latency::{self, Latency};
use schedlab_trace::map::Map;
use schedlab_trace::read::{ReadError, Reading, Trace};
use schedlab_trace::timehist::{self, Timehist};

fn read(input: &[u8], sink: &mut dyn Sink) -> Result<Reading, ReadError> {
    Trace::of_bytes(input)?.read(sink)
}

pub(super) const TRACE: Reader = Reader {
    name: "trace",
    about: "traces in text: read, and shown by timehist, latency, map and antagonists",
    read: |input| match read(input, &mut ()) {
        Ok(reading) => {
            let cpus = reading.header.cpus;
            let options = timehist::Options {
                with_summary: true,
                wakeups: true,
                migrations: true,
                next: true,
                state: true,
                ..timehist::Options::default()
            };
            let mut timehist = Timehist::new(cpus, options, String::new());
            assert_eq!(read(input, &mut timehist).as_ref(), Ok(&reading), "it reads as before");
            let lines = timehist.into_lines();
            assert!(lines.contains("Total number of context switches"), "{lines}");
            let mut latency = Latency::new();
            drop(read(input, &mut latency));
            drop(latency.table(&latency::Options::default()));
            let mut map = Map::new(cpus, String::new());
            drop(read(input, &mut map));
            let mut antagonists = Antagonists::new("a");
            drop(read(input, &mut antagonists));
            drop(antagonists.table());
            let problems =
                reading.problems.iter().fold(0, |bits, problem| bits | 1u64 << problem.0 as u32);
            Shape::taken(problems << 8 | reading.header.events.min(255))
        }
        Err(error) => Shape::refused(error),
    },
    words: &[
        " a-1 [000] d.h2. 1.000000: ",
        " a 1 [001] 1.5: sched:",
        " a 1/2 [000] 2.000000001: sched:",
        "sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b \
         next_pid=2 next_prio=98",
        "sched_switch: a:1 [120] R ==> swapper/0:0 [120]",
        "sched_waking: comm=a pid=1 prio=120 target_cpu=000",
        "sched_wakeup: a:1 [120] success=1 CPU:000",
        "sched_wakeup_new: comm=a pid=1 prio=120 target_cpu=001",
        "sched_migrate_task: comm=a pid=1 prio=120 orig_cpu=0 dest_cpu=1",
        "sched_process_fork: comm=a pid=1 child_comm=b child_pid=2",
        "sched_process_exit: comm=a pid=1 prio=120 group_dead=true",
        "sched_process_exec: filename=/a pid=1 old_pid=1",
        "sched_stat_runtime: comm=a pid=1 runtime=5 [ns] vruntime=7 [ns]",
        "prev_state=R+",
        "18446744073.709551615: ",
        "[4095] ",
        "4194304",
    ],
    most: 3_000,
};
