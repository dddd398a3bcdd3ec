//! `perf.data` as other options of perf write it: a recording whose records are rearranged.

use crate::event_log;
use crate::recorded::bytes;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use schedlab_trace::read::Trouble;
use std::ops::Range;

/// Returns a number of eight bytes.
fn at(file: &[u8], place: usize) -> usize {
    u64::from_le_bytes(file[place..place + 8].try_into().expect("eight bytes")) as usize
}

/// Returns the position of the records.
fn data(file: &[u8]) -> Range<usize> {
    let begin = at(file, 40);
    begin..begin + at(file, 48)
}

/// Returns the kind and the bytes of each record.
fn records(data: &[u8]) -> Vec<(u32, &[u8])> {
    let (mut all, mut rest) = (vec![], data);
    while !rest.is_empty() {
        let kind = u32::from_le_bytes(rest[..4].try_into().expect("four bytes"));
        let (record, more) = rest.split_at(usize::from(u16::from_le_bytes([rest[6], rest[7]])));
        all.push((kind, record));
        rest = more;
    }
    all
}

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 8).expect("records are short");
    [&kind.to_le_bytes()[..], &[0, 0], &length.to_le_bytes(), body].concat()
}

/// Returns the file with these records, which are not longer than its own.
fn with_records(file: &[u8], records: &[u8]) -> Vec<u8> {
    let place = data(file);
    let mut rest = place.len() - records.len();
    let mut out = [&file[..place.start], records].concat();
    // Data after them stays where it is: records of completed rounds, which no reader uses, fill
    // the room.
    while rest > 0 {
        let length = if rest > 65_528 { 60_000 } else { rest };
        out.extend(record(68, &vec![0; length - 8]));
        rest -= length;
    }
    out.extend(&file[place.end..]);
    assert_eq!(out.len(), file.len());
    out
}

/// Removes the end of a frame, as perf does: its last block is not marked as the last.
fn unended(mut frame: Vec<u8>) -> Vec<u8> {
    let descriptor = frame[4];
    assert_eq!(descriptor & 7, 0, "no checksum, no dictionary");
    let is_single = descriptor & 0x20 != 0;
    let size = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
    let mut at = 5 + usize::from(!is_single) + size;
    loop {
        let head = u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], 0]);
        if head & 1 != 0 {
            frame[at] &= !1;
            return frame;
        }
        at += 3 + if head >> 1 & 3 == 1 { 1 } else { (head >> 3) as usize };
    }
}

/// Returns the recording as `perf record -z` would have written it: records of the kernel are
/// packed into records of this kind, cut after `piece` bytes.
fn packed(file: &[u8], kind: u32, piece: usize) -> Vec<u8> {
    let all = records(&file[data(file)]);
    let (kernel, own): (Vec<_>, Vec<_>) = all.into_iter().partition(|(kind, _)| *kind < 64);
    let kernel: Vec<u8> = kernel.into_iter().flat_map(|(_, record)| record).copied().collect();
    let frame = unended(compress_to_vec(&kernel[..], CompressionLevel::Fastest));
    let mut out: Vec<u8> = own.into_iter().flat_map(|(_, record)| record).copied().collect();
    for part in frame.chunks(piece) {
        let body = match kind {
            81 => part.to_vec(),
            _ => {
                let mut body = [&(part.len() as u64).to_le_bytes(), part].concat();
                body.resize(body.len().next_multiple_of(8), 0xee);
                body
            }
        };
        out.extend(record(kind, &body));
    }
    with_records(file, &out)
}

#[test]
fn packed_records_are_those_that_were_packed() {
    let plain = bytes("sched.perf.data.xz");
    let (expected, of_plain) = event_log(&plain);
    for kind in [81, 83] {
        for piece in [997, 20_000, 60_000] {
            let (got, reading) = event_log(&packed(&plain, kind, piece));
            assert!(reading.problems.count(Trouble::Torn) == 0, "{:?}", reading.problems);
            assert_eq!(reading.header, of_plain.header);
            assert!(got.lines == expected.lines, "{kind} {piece}");
        }
    }
}

#[test]
fn packed_records_that_do_not_unpack_are_told_and_the_rest_is_read() {
    let plain = bytes("sched.perf.data.xz");
    let whole = packed(&plain, 83, 5000);
    let (expected, _) = event_log(&whole);
    // One byte in each part of them is changed: the result has never more events than before, and a
    // message or an end.
    let place = data(&whole);
    let mut read = 0;
    for part in 0..60 {
        let mut file = whole.clone();
        file[place.start + (place.len() / 3) * part / 60] ^= 0x55;
        let mut lines = crate::EventLog::default();
        let trace = schedlab_trace::read::Trace::of_bytes(file).expect("the header is intact");
        match trace.read(&mut lines) {
            Ok(_) => read += 1,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        assert!(lines.lines.len() <= expected.lines.len() + 1);
    }
    assert!(read > 0);
    // Not Zstandard at all.
    let other = with_records(&plain, &record(81, b"something else"));
    let error = crate::refused(&other).to_string();
    assert!(error.contains("cannot be decompressed") && error.contains("without -z"), "{error}");
}

/// perf records the parents of tasks that exist when it begins, without a time.
#[test]
fn tasks_that_were_there_before_have_their_parents() {
    let plain = bytes("sched.perf.data.xz");
    let (plain_log, _) = event_log(&plain);
    // Two tasks whose parents no event reveals.
    let mut free = plain_log.tasks.iter().filter(|(pid, _, _, name)| *pid > 1 && name != "perf");
    let (child, parent) = (free.next().expect("a task").0, free.next().expect("another").0);
    let fork = |time: u64| {
        let numbers = [child, parent, child, parent];
        let numbers: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        record(7, &[&numbers[..], &time.to_le_bytes()].concat())
    };
    let parent_of = |file: &[u8]| {
        let (event_log, _) = event_log(file);
        event_log.tasks.iter().find(|(pid, ..)| *pid == child).expect("the child is in the trace").2
    };
    let own = &plain[data(&plain)];
    // Records of completed rounds are left out to make room.
    let rest: Vec<u8> = records(own)
        .into_iter()
        .filter(|(kind, _)| *kind != 68 && *kind != 7)
        .flat_map(|(_, record)| record)
        .copied()
        .collect();
    let with = |time: u64| with_records(&plain, &[fork(time), rest.clone()].concat());
    assert_eq!(parent_of(&with(0)), parent);
    // Tasks that are forked during the recording are among the events.
    assert_eq!(parent_of(&with(5)), 0);
}
