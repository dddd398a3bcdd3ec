//! Formats without recordings in this repository: hand-made files.

use crate::{event_log, refused};
use schedlab_trace::read::{Format, Trace, Trouble};

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(field: u64, value: u64) -> Vec<u8> {
    let mut out = vec![];
    varint(&mut out, field << 3);
    varint(&mut out, value);
    out
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    varint(&mut out, field << 3 | 2);
    varint(&mut out, value.len() as u64);
    out.extend(value);
    out
}

fn packed(field: u64, values: &[u64]) -> Vec<u8> {
    let mut out = vec![];
    values.iter().for_each(|&value| varint(&mut out, value));
    bytes(field, &out)
}

/// The smallest useful file of the format description, byte by byte.
#[test]
fn the_smallest_perfetto_file_is_read() {
    let hex = "0a2a5001 0a260800 122208c0 843d1000 221a0a09 73776170 7065722f 30100018 7820002a \
               03686f67 30643878";
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let file: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
        .collect();
    assert_eq!(file.len(), 44);
    let (event_log, _) = event_log(&file);
    assert_eq!(event_log.lines, ["1000000 0 ? swapper:0: swapper:0[120] R > hog:100[120]"]);
}

/// Bundles in columns: times are differences, and the previous task is the next task of the switch
/// before. The first switch of a CPU only begins its history.
#[test]
fn compact_bundles_are_read() {
    let mut compact = vec![];
    compact.extend(bytes(5, b"hog"));
    compact.extend(bytes(5, b"ui"));
    compact.extend(packed(1, &[1000, 500, 250]));
    compact.extend(packed(2, &[0, 0x100, 1]));
    compact.extend(packed(3, &[7, 8, 0]));
    compact.extend(packed(4, &[120, 98, 120]));
    compact.extend(packed(6, &[0, 1, 0]));
    compact.extend(packed(7, &[1400]));
    compact.extend(packed(8, &[8]));
    compact.extend(packed(9, &[0]));
    compact.extend(packed(10, &[98]));
    compact.extend(packed(11, &[1]));
    compact.extend(packed(12, &[8]));
    let bundle = [number(1, 0), bytes(4, &compact)].concat();
    let packet = bytes(1, &bytes(1, &bundle));
    let expected = [
        "1400 0 h hog:7: waking ui:8[98] 0",
        "1500 0 ? hog:7: hog:7[120] R+ > ui:8[98]",
        "1750 0 ? ui:8: ui:8[98] S > swapper:0[120]",
    ];
    assert_eq!(event_log(&packet).0.lines, expected);
    // The same bundle, compressed.
    let mut zlib = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut zlib, &packet).expect("writing to memory does not fail");
    let zlib = zlib.finish().expect("writing to memory does not fail");
    assert_eq!(event_log(&bytes(1, &bytes(50, &zlib))).0.lines, expected);
    // With lost events before it.
    let bundle = [number(1, 0), number(3, 1), bytes(4, &compact)].concat();
    let (event_log, reading) = event_log(&bytes(1, &bytes(1, &bundle)));
    assert_eq!(reading.problems.count(Trouble::LostUncounted), 1);
    assert_eq!(event_log.lost, [(1000, Some(0), None)]);
}

/// Numbers of states have the meaning that they have in the kernel that the file names.
#[test]
fn perfetto_states_are_those_of_the_release() {
    let switch = [
        bytes(1, b"a"),
        number(2, 5),
        number(3, 120),
        number(4, 0x1000 | 0x800),
        bytes(5, b"b"),
        number(6, 6),
        number(7, u64::MAX),
    ];
    let event = [number(1, 9), number(2, 5), number(5, 0x10), bytes(4, &switch.concat())].concat();
    let bundle = bytes(1, &bytes(1, &[number(1, 3), bytes(2, &event)].concat()));
    let info = bytes(45, &bytes(1, &bytes(3, b"4.9.0")));
    let file = [bytes(1, &info), bundle].concat();
    let (event_log, reading) = event_log(&file);
    assert_eq!(event_log.lines, ["9 3 s a:5: a:5[120] R+ > b:6[-1]"]);
    assert_eq!(reading.header.release.as_deref(), Some("4.9.0"));
}

/// A table of events, as a bpftrace script would print it.
#[test]
fn tables_with_named_columns_are_read() {
    let table = "Attaching 2 probes...\n\
        nsecs,cpu,probe,context,current_pid,prev_comm,prev_pid,prev_prio,prev_state,next_comm,\
        next_pid,next_prio,comm,pid,prio,target_cpu\n\
        1000,1,tracepoint:sched:sched_waking,s,5,,,,,,,,\"a,b\",6,120,0\n\
        2000,1,sched_switch,.,5,x y,5,120,S,\"a,b\",6,98,,,,\n\
        3000,1,sched_exit,.,5,,,,,,,,,,,\n\
        4000,1,sched_switch,.,5,x y,5,,,,,,,,,\n";
    let (event_log, reading) = event_log(table.as_bytes());
    assert_eq!(
        event_log.lines,
        ["1000 1 s <...>:5: waking a,b:6[120] 0", "2000 1 . x y:5: x y:5[120] S > a,b:6[98]"]
    );
    assert_eq!(reading.problems.count(Trouble::Unreadable), 1);
    assert_eq!(reading.header.others.get("sched_exit"), Some(&1));
    let table = "time\tcpu\tevent\tprev_pid\tprev_state\tnext_pid\n1.5\t0\tsched_switch\t1\t1\t2\n";
    let trace = Trace::of_bytes(table.as_bytes()).expect("it is a trace");
    assert_eq!(trace.format(), Format::Columns);
    let lines = crate::event_log(table.as_bytes()).0.lines;
    assert_eq!(lines, ["1500000000 0 ? <...>:1: <...>:1[120] S > <...>:2[120]"]);
}

/// The table of slices that `schedlab run --save` writes.
#[test]
fn a_table_of_slices_is_read() {
    let table = "cpu,start_ns,end_ns,pid,task,prio,end_state\n0,0,500,1,a,120,R\n\
                 0,500,800,2,b,98,S\n0,900,950,1,a,120,Z\n0,940,990,1,a,120,Z\n";
    let (event_log, reading) = event_log(table.as_bytes());
    assert_eq!(
        event_log.lines,
        [
            "0 0 . swapper:0: swapper:0[120] R > a:1[120]",
            "500 0 . a:1: a:1[120] R > b:2[98]",
            "800 0 . b:2: b:2[98] S > swapper:0[120]",
            "900 0 . swapper:0: swapper:0[120] R > a:1[120]",
            "950 0 . a:1: a:1[120] Z > swapper:0[120]",
        ]
    );
    assert_eq!(reading.problems.count(Trouble::Unreadable), 1);
}

/// Perfetto's own JSON contains ftrace text; an array may have no end.
#[test]
fn json_of_others_is_read() {
    let json = r##"{"traceEvents":[{"ph":"X","cat":"x","ts":1}],"displayTimeUnit":"ns",
        "systemTraceEvents":"# tracer: nop\n   a-1 ( 1) [000] d..3 1.000001: sched_switch: prev_comm=a \"b\" prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=c next_pid=2 next_prio=120\n"}"##;
    assert_eq!(
        event_log(json.as_bytes()).0.lines,
        ["1000001000 0 . a \"b\":1: a \"b\":1[120] S > c:2[120]"]
    );
    let open = r#"[{"ph":"X","cat":"sched","name":"hog","pid":1,"tid":1,"ts":0.001,"dur":2.5,
        "args":{"pid":7,"prio":120,"end_state":"R"}},{"ph":"X","cat":"sch"#;
    let (event_log, reading) = event_log(open.as_bytes());
    assert_eq!(
        event_log.lines,
        [
            "1 0 . swapper:0: swapper:0[120] R > hog:7[120]",
            "2501 0 . hog:7: hog:7[120] R > swapper:0[120]"
        ]
    );
    assert_eq!(reading.problems.count(Trouble::Torn), 1);
    let error = refused(br#"{"traceEvents":[{"ph":"X","cat":"gpu","ts":1}]}"#);
    assert!(error.to_string().contains("no scheduler events"));
}
