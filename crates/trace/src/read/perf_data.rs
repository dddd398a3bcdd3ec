//! `perf.data` of `perf record` and `perf sched record`, from a file or a pipe.
//!
//! Samples contain the raw bytes of tracepoints, whose layout is in the file ([`Formats`]). The
//! records of one round are stored CPU by CPU: the feed's window sorts them.

use super::ReadError;
use super::binary::{Bytes, until_nul};
use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent, PID_MAX};
use super::formats::{Decoded, Formats};
use super::names::Names;
use super::problems::{Place, Trouble};
use crate::compressed::zstd::Pieces;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

/// Longest section of the header that is read, bytes.
const SECTION_MAX: u64 = 64 << 20;

/// Maximum number of kinds of samples in a file.
const ATTRS_MAX: u64 = 4096;

/// Maximum number of samplers (a kind of sample on a CPU) in a file.
const IDS_MAX: usize = 1 << 20;

const SAMPLE_IP: u64 = 1 << 0;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ADDR: u64 = 1 << 3;
const SAMPLE_READ: u64 = 1 << 4;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_ID: u64 = 1 << 6;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_PERIOD: u64 = 1 << 8;
const SAMPLE_STREAM_ID: u64 = 1 << 9;
const SAMPLE_RAW: u64 = 1 << 10;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const FLAG_USE_CLOCKID: u64 = 1 << 25;

/// Kind of samples.
#[derive(Clone, Copy, Debug, Default)]
struct Attr {
    sample_type: u64,
    read_format: u64,
    flags: u64,
    clock: u32,
}

/// Contents of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Sample<'a> {
    pid: Option<u32>,
    tid: Option<u32>,
    time: Option<u64>,
    cpu: Option<u32>,
    raw: Option<&'a [u8]>,
}

/// Stream with random access.
pub(super) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

#[derive(Debug, Default)]
struct PerfData {
    is_big: bool,
    attrs: Vec<Attr>,
    /// Kind of each sampler, as an index.
    ids: BTreeMap<u64, usize>,
    formats: Formats,
    at: u64,
    packed: Packed,
}

/// Records that are packed into others (`perf record -z`).
#[derive(Debug, Default)]
struct Packed {
    pieces: Pieces,
    /// Unpacked data that is not a whole record yet.
    unpacked: Vec<u8>,
    /// Whether unpacking failed; further data is ignored.
    is_broken: bool,
}

/// Reads a whole file.
///
/// # Errors
/// The file has no header.
pub(super) fn read(input: &mut dyn ReadSeek, feed: &mut Feed<'_>) -> Result<(), ReadError> {
    let mut begin = [0; 16];
    input.read_exact(&mut begin).map_err(|_| cut("header"))?;
    let is_big = begin.starts_with(b"2ELIFREP");
    let mut this = PerfData { is_big, ..PerfData::default() };
    this.formats.is_big = is_big;
    let size = Bytes::new(&begin[8..], is_big).u64().unwrap_or(0);
    if size <= 16 {
        this.at = 16;
        this.records(input, u64::MAX, feed);
    } else {
        this.file(input, feed)?;
    }
    if feed.header.recorder.is_none() {
        feed.header.recorder = Some("perf".into());
    }
    if !this.formats.has_switch() && feed.problems.is_empty() {
        feed.problems.note(Trouble::Foreign, 1, Place::Whole, || {
            "it has no description of sched_switch, so that was not recorded".into()
        });
    }
    Ok(())
}

fn cut(what: &str) -> ReadError {
    ReadError::new(format!("it begins like perf.data, but its {what} is truncated"))
}

/// Returns the bytes of a section.
fn section(input: &mut dyn ReadSeek, offset: u64, size: u64) -> Option<Vec<u8>> {
    if size > SECTION_MAX {
        return None;
    }
    input.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = vec![];
    input.take(size).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == size).then_some(bytes)
}

impl PerfData {
    fn bytes<'a>(&self, bytes: &'a [u8]) -> Bytes<'a> {
        Bytes::new(bytes, self.is_big)
    }

    /// Reads a file whose header has the positions of all parts.
    fn file(&mut self, input: &mut dyn ReadSeek, feed: &mut Feed<'_>) -> Result<(), ReadError> {
        let header = section(input, 0, 104).ok_or_else(|| cut("header"))?;
        let mut header = self.bytes(&header[16..]);
        let mut next = || header.u64().unwrap_or(0);
        let attr_size = next();
        let (attrs_at, attrs_size) = (next(), next());
        let (data_at, data_size) = (next(), next());
        let (_, _) = (next(), next());
        let features = [next(), next(), next(), next()];
        let attrs = section(input, attrs_at, attrs_size).ok_or_else(|| cut("list of events"))?;
        if !(32..=4096).contains(&attr_size) {
            return Err(cut("list of events"));
        }
        for attr in attrs.chunks_exact(attr_size as usize).take(ATTRS_MAX as usize) {
            let (attr, ids) = attr.split_at(attr.len() - 16);
            let mut place = self.bytes(ids);
            let (at, size) = (place.u64().unwrap_or(0), place.u64().unwrap_or(0));
            self.add_attr(attr, feed);
            let ids = section(input, at, size).unwrap_or_default();
            self.add_ids(&ids);
        }
        // The table of the other sections follows the data.
        let mut table_at = data_at.saturating_add(data_size);
        for feature in 0..256u32 {
            if features[feature as usize / 64] >> (feature % 64) & 1 == 0 {
                continue;
            }
            let place = section(input, table_at, 16);
            table_at = table_at.saturating_add(16);
            let Some(place) = place else {
                feed.problems.note(Trouble::Torn, 1, Place::Byte(table_at), || {
                    "the table at the end is missing: the recording was not finished".into()
                });
                break;
            };
            let mut place = self.bytes(&place);
            let (at, size) = (place.u64().unwrap_or(0), place.u64().unwrap_or(0));
            if [1, 3, 4, 5, 7, 11].contains(&feature) {
                match section(input, at, size) {
                    Some(bytes) => self.feature(feature, &bytes, feed),
                    None => feed.problems.note(Trouble::Torn, 1, Place::Byte(at), || {
                        "a part of the header is missing".into()
                    }),
                }
            }
        }
        self.at = data_at;
        let size = if data_size == 0 { u64::MAX } else { data_size };
        if input.seek(SeekFrom::Start(data_at)).is_ok() {
            self.records(input, size, feed);
        }
        Ok(())
    }

    fn add_attr(&mut self, bytes: &[u8], feed: &mut Feed<'_>) {
        let at = |offset: usize, size: usize| {
            let rest = bytes.get(offset..).unwrap_or(&[]);
            self.bytes(rest).number(size).unwrap_or(0)
        };
        let attr = Attr {
            sample_type: at(24, 8),
            read_format: at(32, 8),
            flags: at(40, 8),
            clock: at(92, 4) as u32,
        };
        if attr.flags & FLAG_USE_CLOCKID != 0 && feed.header.clock.is_none() {
            let name = match attr.clock {
                0 => "realtime",
                1 => "mono",
                4 => "mono_raw",
                7 => "boot",
                11 => "tai",
                _ => "another",
            };
            feed.header.clock = Some(name.into());
        }
        self.attrs.push(attr);
    }

    /// Registers the samplers of the last attribute.
    fn add_ids(&mut self, bytes: &[u8]) {
        let attr = self.attrs.len() - 1;
        let mut ids = self.bytes(bytes);
        while let Some(id) = ids.u64() {
            if self.ids.len() < IDS_MAX {
                self.ids.insert(id, attr);
            }
        }
    }

    /// Reads a section about the recording as a whole.
    fn feature(&mut self, feature: u32, section: &[u8], feed: &mut Feed<'_>) {
        let mut bytes = self.bytes(section);
        let text = |bytes: &mut Bytes<'_>| {
            let text = until_nul(bytes.sized32()?);
            Some(String::from_utf8_lossy(&text[..text.len().min(1000)]).into_owned())
        };
        match feature {
            1 => self.tracing_data(section, feed),
            3 => feed.header.host = text(&mut bytes),
            4 => {
                feed.header.release = text(&mut bytes);
                let release = feed.header.release.as_deref().unwrap_or_default();
                feed.states.set_release(release);
            }
            7 => feed.header.cpus_online = bytes.u32().filter(|&cpus| cpus <= CPUS_MAX),
            11 => {
                let count = bytes.u32().unwrap_or(0).min(64);
                let words: Vec<_> = (0..count).map_while(|_| text(&mut bytes)).collect();
                feed.header.recorder = Some(words.join(" "));
            }
            _ => {}
        }
    }

    /// Reads the layout of the tracepoints.
    fn tracing_data(&mut self, section: &[u8], feed: &mut Feed<'_>) {
        let begin = b"\x17\x08\x44tracing";
        let is_whole = section.strip_prefix(begin).and_then(|rest| {
            let mut bytes = self.bytes(rest);
            bytes.string()?;
            self.formats.is_big = bytes.number(1)? == 1;
            bytes.is_big = self.formats.is_big;
            bytes.number(1)?;
            bytes.u32()?;
            self.formats.add_all(&mut bytes)
        });
        if is_whole.is_none() {
            feed.problems.note(Trouble::Torn, 1, Place::Whole, || {
                "the description of the events is truncated".into()
            });
        }
    }

    /// Reads records, `size` bytes in total.
    fn records(&mut self, input: &mut dyn ReadSeek, size: u64, feed: &mut Feed<'_>) {
        let mut input = io::BufReader::with_capacity(1 << 16, input);
        let end = self.at.saturating_add(size);
        let mut body = vec![];
        let torn = loop {
            if self.at >= end {
                break None;
            }
            let mut head = [0; 8];
            match read_up_to(&mut input, &mut head) {
                0 if size == u64::MAX => break None,
                8 => {}
                _ => break Some("the file ends within a record"),
            }
            let place = Place::Byte(self.at);
            let mut bytes = self.bytes(&head);
            let kind = bytes.u32().unwrap_or(0);
            let _misc = bytes.u16();
            let length = u64::from(bytes.u16().unwrap_or(0));
            if length < 8 {
                break Some("a record has no length");
            }
            body.resize(length as usize - 8, 0);
            if read_up_to(&mut input, &mut body) < body.len() {
                break Some("the file ends within a record");
            }
            self.at += length;
            if let Some(more) = self.record(kind, &body, place, feed) {
                // Data that follows its record.
                if kind == 66 && more <= SECTION_MAX {
                    let mut data = vec![];
                    let read = (&mut input).take(more).read_to_end(&mut data);
                    self.tracing_data(&data, feed);
                    if read.is_err() || (data.len() as u64) < more {
                        break Some("the file ends within a record");
                    }
                } else if io::copy(&mut (&mut input).take(more), &mut io::sink()).ok() != Some(more)
                {
                    break Some("the file ends within a record");
                }
                self.at = self.at.saturating_add(more);
            }
        };
        if let Some(what) = torn {
            feed.problems.note(Trouble::Torn, 1, Place::Byte(self.at), || what.into());
        }
        self.unpack(None, Place::Byte(self.at), feed);
    }

    /// Takes the records that are packed into one; `None`: the input has ended. A record may begin
    /// in one and end in the next.
    fn unpack(&mut self, packed: Option<&[u8]>, place: Place, feed: &mut Feed<'_>) {
        if self.packed.is_broken {
            return;
        }
        let mut all = std::mem::take(&mut self.packed);
        let unpacked = &mut all.unpacked;
        let mut is_senseless = false;
        let mut take = |bytes: &[u8]| {
            if !is_senseless {
                unpacked.extend_from_slice(bytes);
                match self.unpacked(unpacked, place, feed) {
                    Some(taken) => drop(unpacked.drain(..taken)),
                    None => is_senseless = true,
                }
            }
        };
        let mut result = match packed {
            Some(packed) => all.pieces.take(packed, &mut take),
            None => all.pieces.finish(&mut take),
        };
        if is_senseless {
            result = Err("a record has no length".into());
        }
        if let Err(error) = result {
            all = Packed { is_broken: true, ..Packed::default() };
            feed.problems.note(Trouble::Torn, 1, place, || {
                format!(
                    "its compressed records cannot be decompressed from here on ({error}): record \
                     without -z, or read the text of `perf script`"
                )
            });
        } else if packed.is_none() && !all.unpacked.is_empty() {
            let detail = || "the file ends within a packed record".into();
            feed.problems.note(Trouble::Torn, 1, place, detail);
        }
        self.packed = all;
    }

    /// Takes the whole records at the beginning of these bytes and returns their length. `None`:
    /// they are not records.
    fn unpacked(&mut self, bytes: &[u8], place: Place, feed: &mut Feed<'_>) -> Option<usize> {
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + 8) {
            let mut head = self.bytes(head);
            let kind = head.u32().unwrap_or(0);
            let _misc = head.u16();
            let length = usize::from(head.u16().unwrap_or(0));
            if length < 8 {
                return None;
            }
            let Some(body) = bytes.get(at + 8..at + length) else { break };
            // Only records of the kernel are packed, and no data follows such a record.
            if !matches!(kind, 66 | 71 | 81 | 83) {
                let _ = self.record(kind, body, place, feed);
            }
            at += length;
        }
        Some(at)
    }

    /// Takes a record and returns the length of the data that follows it.
    fn record(&mut self, kind: u32, body: &[u8], place: Place, feed: &mut Feed<'_>) -> Option<u64> {
        match kind {
            9 => self.sample(body, place, feed),
            2 | 13 => {
                let mut bytes = self.bytes(body);
                if kind == 2 {
                    bytes.u64();
                }
                let events = bytes.u64().unwrap_or(0);
                feed.problems.note(Trouble::Lost, events, place, String::new);
                if let Some((at_ns, cpu)) = self.trailer(body)
                    && events > 0
                {
                    let what = EventKind::Lost { events, cpu };
                    let (context, current) = (Default::default(), Current::UNKNOWN);
                    feed.push(FeedEvent { at_ns, cpu, context, current, what });
                }
            }
            3 => {
                // PERF_RECORD_COMM: the name of a task that no switch names.
                let mut bytes = self.bytes(body);
                if let (Some(pid), Some(tid)) = (bytes.u32(), bytes.u32()) {
                    let name = feed.names.number(until_nul(bytes.rest));
                    feed.process(tid, pid);
                    feed.named(tid, name);
                }
            }
            7 => {
                // PERF_RECORD_FORK. For a task that existed before, it has no time: perf wrote it
                // at the start. All others are among the events.
                let mut bytes = self.bytes(body);
                let mut next = || bytes.u32().unwrap_or(0);
                let (_, _, tid, parent) = (next(), next(), next(), next());
                if bytes.u64() == Some(0) {
                    feed.parent(tid, parent);
                }
            }
            64 => {
                // HEADER_ATTR, in a pipe: the attribute, then its samplers.
                let size = self.bytes(body.get(4..).unwrap_or(&[])).u32().unwrap_or(0) as usize;
                if let Some((attr, ids)) = body.split_at_checked(size)
                    && (self.attrs.len() as u64) < ATTRS_MAX
                {
                    self.add_attr(attr, feed);
                    self.add_ids(ids);
                }
            }
            66 => return self.bytes(body).u32().map(|size| u64::from(size).next_multiple_of(8)),
            71 => return self.bytes(body).u64(),
            80 => {
                // HEADER_FEATURE, in a pipe.
                let mut bytes = self.bytes(body);
                let feature = bytes.u64().unwrap_or(0);
                let feature = u32::try_from(feature).unwrap_or(0);
                self.feature(feature, bytes.rest, feed);
            }
            // PERF_RECORD_COMPRESSED, and its variant with the size, because that one is padded.
            81 => self.unpack(Some(body), place, feed),
            83 => {
                if let Some(packed) = self.bytes(body).sized64() {
                    self.unpack(Some(packed), place, feed);
                }
            }
            _ => {}
        }
        None
    }

    /// Returns the kind of a sample.
    fn attr_of(&self, body: &[u8]) -> Option<Attr> {
        let first = *self.attrs.first()?;
        if self.attrs.len() == 1 {
            return Some(first);
        }
        // With PERF_SAMPLE_IDENTIFIER, the sampler comes first. Without it, the kinds have the same
        // layout up to the sampler.
        let mut bytes = self.bytes(body);
        if first.sample_type & SAMPLE_IDENTIFIER == 0 {
            if first.sample_type & SAMPLE_ID == 0 {
                return Some(first);
            }
            for bit in [SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR] {
                if first.sample_type & bit != 0 {
                    bytes.u64()?;
                }
            }
        }
        let id = bytes.u64()?;
        self.ids.get(&id).and_then(|&attr| self.attrs.get(attr)).copied().or(Some(first))
    }

    fn fields<'a>(&self, attr: Attr, body: &'a [u8]) -> Option<Sample<'a>> {
        let mut bytes = self.bytes(body);
        let mut sample = Sample::default();
        let has = |bit: u64| attr.sample_type & bit != 0;
        for bit in [SAMPLE_IDENTIFIER, SAMPLE_IP] {
            if has(bit) {
                bytes.u64()?;
            }
        }
        if has(SAMPLE_TID) {
            (sample.pid, sample.tid) = (Some(bytes.u32()?), Some(bytes.u32()?));
        }
        if has(SAMPLE_TIME) {
            sample.time = Some(bytes.u64()?);
        }
        for bit in [SAMPLE_ADDR, SAMPLE_ID, SAMPLE_STREAM_ID] {
            if has(bit) {
                bytes.u64()?;
            }
        }
        if has(SAMPLE_CPU) {
            sample.cpu = Some(bytes.u32()?);
            bytes.u32()?;
        }
        if has(SAMPLE_PERIOD) {
            bytes.u64()?;
        }
        if has(SAMPLE_READ) {
            let format = attr.read_format;
            let times = u64::from(format & 1 != 0) + u64::from(format & 2 != 0);
            let each = 1 + u64::from(format & 4 != 0) + u64::from(format & 16 != 0);
            let words = match format & 8 {
                0 => each + times,
                _ => bytes.u64()?.checked_mul(each)?.checked_add(times)?,
            };
            bytes.take(usize::try_from(words.checked_mul(8)?).ok()?)?;
        }
        if has(SAMPLE_CALLCHAIN) {
            let frames = bytes.u64()?;
            bytes.take(usize::try_from(frames.checked_mul(8)?).ok()?)?;
        }
        if has(SAMPLE_RAW) {
            sample.raw = Some(bytes.sized32()?);
        }
        Some(sample)
    }

    fn sample(&self, body: &[u8], place: Place, feed: &mut Feed<'_>) {
        let Some(sample) = self.attr_of(body).and_then(|attr| self.fields(attr, body)) else {
            let detail = || "a sample is shorter than its fields".into();
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
            return;
        };
        let Some(raw) = sample.raw else {
            feed.other("samples without a tracepoint");
            return;
        };
        let (pid, context, what) = match self.formats.decode(feed, raw) {
            Decoded::Event { pid, context, what } => (pid, context, what),
            Decoded::Redundant => return,
            Decoded::NoTask => {
                feed.problems.note(Trouble::Nameless, 1, place, String::new);
                return;
            }
            Decoded::Other(id) => {
                let name = id.and_then(|id| self.formats.name(id)).unwrap_or("unknown");
                feed.other(name);
                return;
            }
            Decoded::Torn => {
                let detail = || "a tracepoint is shorter than its fields".into();
                feed.problems.note(Trouble::Unreadable, 1, place, detail);
                return;
            }
        };
        let (Some(at_ns), Some(cpu)) = (sample.time, sample.cpu) else {
            let detail =
                || "samples have no time or no CPU: record with `perf sched record`".into();
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
            return;
        };
        if cpu >= CPUS_MAX {
            let detail = || format!("CPU {cpu}: CPUs are numbered from 0 to {}", CPUS_MAX - 1);
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
            return;
        }
        let pid = pid.or(sample.tid).filter(|&pid| pid <= PID_MAX);
        if let (Some(process), Some(thread)) = (sample.pid, sample.tid) {
            feed.process(thread, process);
        }
        let current = Current { pid, name: Names::UNKNOWN };
        feed.push(FeedEvent { at_ns, cpu, context, current, what });
    }

    /// Returns time and CPU of a record that is not a sample: it ends with these fields of one.
    fn trailer(&self, body: &[u8]) -> Option<(u64, u32)> {
        let attr = self.attrs.first()?;
        if attr.flags & FLAG_SAMPLE_ID_ALL == 0 {
            return None;
        }
        let bits =
            [SAMPLE_TID, SAMPLE_TIME, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU, SAMPLE_IDENTIFIER];
        let present = bits.iter().filter(|&&bit| attr.sample_type & bit != 0);
        let begin = body.len().checked_sub(8 * present.count())?;
        let mut bytes = self.bytes(&body[begin..]);
        let (mut at_ns, mut cpu) = (None, None);
        for bit in bits.into_iter().filter(|bit| attr.sample_type & bit != 0) {
            match bit {
                SAMPLE_TIME => at_ns = Some(bytes.u64()?),
                SAMPLE_CPU => {
                    cpu = Some(bytes.u32()?);
                    bytes.u32()?;
                }
                _ => {
                    bytes.u64()?;
                }
            }
        }
        at_ns.zip(cpu.filter(|&cpu| cpu < CPUS_MAX))
    }
}

/// Reads the available bytes, and returns their number.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    filled
}
