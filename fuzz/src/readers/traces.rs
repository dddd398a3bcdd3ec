//! Recorded traces: the text of `perf script`, ftrace and `trace-cmd report`.

use super::{Reader, Shape};
use schedlab_trace::Sink;
use schedlab_trace::antagonists::Antagonists;
use schedlab_trace::latency::{self, Latency};
use schedlab_trace::map::Map;
use schedlab_trace::read::{ReadError, Reading, Trace};
use schedlab_trace::timehist::{self, Timehist};

fn read(input: &[u8], sink: &mut dyn Sink) -> Result<Reading, ReadError> {
    Trace::of_bytes(input)?.read(sink)
}

/// Reads a trace in all forms in which it can be shown.
fn shape(input: &[u8]) -> Shape {
    match read(input, &mut ()) {
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
    }
}

pub(super) const PERF_DATA: Reader = Reader {
    name: "perf_data",
    about: "perf.data, of a file and of a pipe",
    read: shape,
    words: BINARY_WORDS,
    most: 6_000,
};

pub(super) const TRACE_DAT: Reader = Reader {
    name: "trace_dat",
    about: "trace.dat of versions 6 and 7",
    read: shape,
    words: BINARY_WORDS,
    most: 6_000,
};

pub(super) const PERFETTO: Reader = Reader {
    name: "perfetto",
    about: "Perfetto's binary traces, in full and compact",
    read: shape,
    words: BINARY_WORDS,
    most: 3_000,
};

pub(super) const CHROME_JSON: Reader = Reader {
    name: "chrome_json",
    about: "JSON traces: Chrome's, and that of perf data convert",
    read: shape,
    words: &[
        "{\"traceEvents\":[",
        "\"systemTraceEvents\":\"",
        "\\u0041",
        "{\"ph\":\"X\",\"cat\":\"sched\",\"name\":\"a\",\"tid\":1,\"ts\":1.5,\"dur\":2,\"args\":{\"pid\":3}}",
        "{\"ph\":\"s\",\"cat\":\"wakeup\",\"id\":1,\"tid\":1,\"ts\":1}",
        "{\"ph\":\"f\",\"cat\":\"wakeup\",\"id\":1,\"tid\":1,\"ts\":2}",
        "{\"linux-perf-json-version\":1,\"samples\":[",
        "{\"timestamp\":1,\"pid\":1,\"tid\":1,\"cpu\":0,\"comm\":\"a\",\"comm\":\"b\",\"pid\":\"2\"}",
        "\"event\":\"sched:sched_switch\",",
        "\"prev_state\":\"0x1000\",",
        "\"target_cpu\":\"-1\"",
        "1e300",
        "18446744073709551615",
    ],
    most: 3_000,
};

pub(super) const COLUMNS: Reader = Reader {
    name: "columns",
    about: "tables with named columns: of events, and of slices",
    read: shape,
    words: &[
        "time,cpu,event",
        "sched_switch",
        "sched_migrate_task",
        "sched_process_fork",
        "orig_cpu,dest_cpu,child_pid,parent_pid,filename,runtime",
        "cpu,start_ns,end_ns,pid,task",
        "\"\"",
        "18446744073709551615",
        "4194304",
        "4095",
    ],
    most: 3_000,
};

const BINARY_WORDS: &[&str] = &[
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n",
    "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n",
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n",
    "name: sched_process_exec\nID: 365\n",
    "name: sched_stat_runtime\nID: 371\n",
    "size:4294967295;",
    "offset:4294967295;",
    "\0\0\0\0",
    "\u{7f}\u{7f}\u{7f}\u{7f}",
    "PERFILE2",
    "flyrecord\0",
    "options  \0",
    "zstd\0",
];

pub(super) const TRACE: Reader = Reader {
    name: "trace",
    about: "traces in text: read, and shown by timehist, latency, map and antagonists",
    read: shape,
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
        "prev_state=4096",
        "prev_state=0x400",
        " success=1 target_cpu=001 state=W",
        " ffffffff8110a0b0 try_to_wake_up+0x1b ([kernel.kallsyms])",
        "comm=ARRAY[61, 00]",
        "TRACE:\n",
        "18446744073.709551615: ",
        "[4095] ",
        "4194304",
    ],
    most: 3_000,
};
