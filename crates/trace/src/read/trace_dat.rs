//! `trace.dat` of `trace-cmd record`: version 6, and version 7, whose parts may be compressed with
//! zstd or zlib.
//!
//! It contains the pages of each CPU's ring buffer, and the layout of the events ([`Formats`]). The
//! CPUs are read side by side, with one page of each in memory.

use super::ReadError;
use super::binary::Bytes;
use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent};
use super::formats::{Decoded, Formats};
use super::names::Names;
use super::perf_data::ReadSeek;
use super::problems::{Place, Trouble};
use crate::tracepoint::Context;
use std::io::{Read, SeekFrom};

/// Longest part that is read, bytes.
const SECTION_MAX: u64 = 64 << 20;

/// Largest page, bytes.
const PAGE_MAX: usize = 1 << 20;

/// Largest total size of the pages of a compressed buffer, bytes.
const UNPACKED_MAX: usize = 1 << 30;

/// Position of the pages of a CPU.
#[derive(Clone, Copy, Debug)]
struct CpuPages {
    cpu: u32,
    at: u64,
    end: u64,
}

/// Compression of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Codec {
    #[default]
    None,
    Zlib,
    Zstd,
    Other,
}

#[derive(Debug, Default)]
struct TraceDat {
    is_big: bool,
    long: usize,
    page: usize,
    formats: Formats,
    cpu_pages: Vec<CpuPages>,
    codec: Codec,
    /// Unpacked pages. If present, positions refer to this buffer instead of the file.
    unpacked: Option<Vec<u8>>,
}

/// Reads a whole file.
///
/// # Errors
/// Its header is cut, or of another version.
pub(super) fn read(input: &mut dyn ReadSeek, feed: &mut Feed<'_>) -> Result<(), ReadError> {
    let mut this = TraceDat::default();
    let begin = bytes_at(input, 0, 4096);
    let mut begin = Bytes::new(begin.get(10..).unwrap_or(&[]), false);
    let cut = || ReadError::new("it begins like trace.dat, but its header is truncated");
    let before = begin.rest.len();
    let version = begin.string().ok_or_else(cut)?;
    this.is_big = begin.number(1).ok_or_else(cut)? == 1;
    begin.is_big = this.is_big;
    this.formats.is_big = this.is_big;
    this.long = if begin.number(1).ok_or_else(cut)? == 4 { 4 } else { 8 };
    this.page = begin.u32().ok_or_else(cut)? as usize;
    feed.header.recorder = Some("trace-cmd".into());
    let at = |bytes: &Bytes<'_>| (10 + before - bytes.rest.len()) as u64;
    match version {
        b"6" => this.version_6(input, at(&begin), feed),
        b"7" => {
            this.codec = match begin.string().ok_or_else(cut)? {
                b"none" => Codec::None,
                b"zlib" => Codec::Zlib,
                b"zstd" => Codec::Zstd,
                _ => Codec::Other,
            };
            begin.string().ok_or_else(cut)?;
            let options = begin.u64().ok_or_else(cut)?;
            this.version_7(input, options, feed);
        }
        version => {
            return Err(ReadError::new(format!(
                "it is a trace.dat of version {}; versions 6 and 7 can be read: use the text of \
                 `trace-cmd report -t FILE`",
                String::from_utf8_lossy(&version[..version.len().min(20)])
            )));
        }
    }
    if !(64..=PAGE_MAX).contains(&this.page) {
        return Err(ReadError::new(format!(
            "its pages have {} bytes, which is impossible",
            this.page
        )));
    }
    if !this.formats.has_switch() {
        feed.problems.note(Trouble::Foreign, 1, Place::Whole, || {
            "it has no description of sched_switch".into()
        });
    }
    match this.unpacked.take() {
        Some(pages) => this.pages(&mut std::io::Cursor::new(pages), feed),
        None => this.pages(input, feed),
    }
    Ok(())
}

fn length(input: &mut dyn ReadSeek) -> u64 {
    input.seek(SeekFrom::End(0)).unwrap_or(0)
}

/// Reads `size` bytes, or fewer if the file ends.
fn bytes_at(input: &mut dyn ReadSeek, at: u64, size: u64) -> Vec<u8> {
    let mut bytes = vec![];
    if input.seek(SeekFrom::Start(at)).is_ok() {
        // Data that cannot be read is treated as missing.
        let _ = input.take(size.min(SECTION_MAX)).read_to_end(&mut bytes);
    }
    bytes
}

/// Unpacks `bytes` if that results in `size` bytes.
fn unpack(codec: Codec, bytes: &[u8], size: u64) -> Option<Vec<u8>> {
    if size > SECTION_MAX {
        return None;
    }
    let mut out = vec![];
    match codec {
        Codec::None => out.extend_from_slice(bytes),
        Codec::Zlib => {
            flate2::read::ZlibDecoder::new(bytes).take(size).read_to_end(&mut out).ok()?;
        }
        Codec::Zstd => {
            let frame = ruzstd::decoding::StreamingDecoder::new(bytes).ok()?;
            frame.take(size).read_to_end(&mut out).ok()?;
        }
        Codec::Other => return None,
    }
    (out.len() as u64 == size).then_some(out)
}

impl TraceDat {
    fn torn(&self, feed: &mut Feed<'_>, at: u64, what: &str) {
        feed.problems.note(Trouble::Torn, 1, Place::Byte(at), || what.into());
    }

    fn version_6(&mut self, input: &mut dyn ReadSeek, begin: u64, feed: &mut Feed<'_>) {
        let header = bytes_at(input, begin, SECTION_MAX);
        let mut bytes = Bytes::new(&header, self.is_big);
        if self.header_6(&mut bytes, feed).is_none() {
            let at = begin + (header.len() - bytes.rest.len()) as u64;
            self.torn(feed, at, "the header is truncated: the recording was not finished");
        }
    }

    fn header_6(&mut self, bytes: &mut Bytes<'_>, feed: &mut Feed<'_>) -> Option<()> {
        self.formats.add_all(bytes)?;
        // Symbols, printk strings, and names of tasks.
        bytes.sized32()?;
        bytes.sized32()?;
        self.cmdlines(bytes.sized64()?, feed);
        let cpus = bytes.u32()?;
        if cpus > CPUS_MAX {
            return None;
        }
        feed.header.cpus_online = Some(cpus);
        loop {
            match bytes.take(10)? {
                b"options  \0" => loop {
                    let id = bytes.u16()?;
                    if id == 0 {
                        break;
                    }
                    let data = bytes.sized32()?;
                    self.option(id, data, feed);
                },
                b"flyrecord\0" => break,
                _ => {
                    feed.problems.note(Trouble::Foreign, 1, Place::Whole, || {
                        "it contains the text of a latency tracer instead of events".into()
                    });
                    return Some(());
                }
            }
        }
        for cpu in 0..cpus {
            let (at, size) = (bytes.u64()?, bytes.u64()?);
            self.cpu_pages.push(CpuPages { cpu, at, end: at.saturating_add(size) });
        }
        Some(())
    }

    /// Reads lines of `pid comm`.
    fn cmdlines(&mut self, text: &[u8], feed: &mut Feed<'_>) {
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii();
            let Some(blank) = line.iter().position(|&byte| byte == b' ') else { continue };
            let pid = std::str::from_utf8(&line[..blank]).ok().and_then(|pid| pid.parse().ok());
            if let Some(pid) = pid {
                let name = feed.names.number(&line[blank + 1..]);
                feed.named(pid, name);
            }
        }
    }

    /// Reads an option that both versions have.
    fn option(&mut self, id: u16, data: &[u8], feed: &mut Feed<'_>) {
        let text = || {
            let text = super::binary::until_nul(data);
            String::from_utf8_lossy(&text[..text.len().min(1000)]).trim().to_string()
        };
        match id {
            4 => {
                let clock = text();
                // `local [global] counter`, or a single clock.
                let chosen = clock.split_once('[').and_then(|(_, rest)| rest.split(']').next());
                feed.header.clock = Some(chosen.unwrap_or(&clock).to_string());
            }
            5 => {
                // `Linux HOST RELEASE ...`
                let uname = text();
                let mut words = uname.split_whitespace().skip(1);
                feed.header.host = words.next().map(str::to_string);
                feed.header.release = words.next().map(str::to_string);
                let release = feed.header.release.as_deref().unwrap_or_default();
                feed.states.set_release(release);
            }
            8 => {
                let cpus = Bytes::new(data, self.is_big).u32();
                feed.header.cpus_online = cpus.filter(|&cpus| cpus <= CPUS_MAX);
            }
            _ => {}
        }
    }

    /// Returns a section of version 7, unpacked and without its header.
    fn section(&self, input: &mut dyn ReadSeek, at: u64) -> Option<Vec<u8>> {
        let head = bytes_at(input, at, 16);
        let mut head = Bytes::new(&head, self.is_big);
        head.u16()?;
        let flags = head.u16()?;
        head.u32()?;
        let size = head.u64()?;
        let body = bytes_at(input, at.checked_add(16)?, size);
        if flags & 1 == 0 {
            return Some(body);
        }
        let mut packed = Bytes::new(&body, self.is_big);
        let (length, size) = (packed.u32()?, packed.u32()?);
        unpack(self.codec, packed.take(length as usize)?, size.into())
    }

    fn version_7(&mut self, input: &mut dyn ReadSeek, first: u64, feed: &mut Feed<'_>) {
        let mut at = first;
        // The options state the positions of formats, names and buffers. Buffers are read last.
        let mut buffers = vec![];
        for _ in 0..1000 {
            if at == 0 {
                break;
            }
            let Some(options) = self.section(input, at) else {
                self.torn(feed, at, "a list of options is truncated");
                break;
            };
            at = self.options_7(input, &options, &mut buffers, feed).unwrap_or(0);
        }
        for (offset, cpu_pages) in buffers {
            self.buffer_7(input, offset, &cpu_pages, feed);
        }
    }

    /// Reads options of version 7. Returns the position of the next ones.
    fn options_7(
        &mut self,
        input: &mut dyn ReadSeek,
        options: &[u8],
        buffers: &mut Vec<(u64, Vec<CpuPages>)>,
        feed: &mut Feed<'_>,
    ) -> Option<u64> {
        let mut bytes = Bytes::new(options, self.is_big);
        loop {
            let id = bytes.u16()?;
            let data = bytes.sized32()?;
            let mut inner = Bytes::new(data, self.is_big);
            match id {
                0 => return inner.u64(),
                3 => {
                    let at = inner.u64()?;
                    let is_top = inner.string()?.is_empty();
                    let clock = inner.string()?;
                    if is_top || feed.header.clock.is_none() {
                        feed.header.clock = Some(String::from_utf8_lossy(clock).into_owned());
                    }
                    self.page = inner.u32()? as usize;
                    let mut cpu_pages = vec![];
                    for _ in 0..inner.u32()?.min(CPUS_MAX) {
                        let (cpu, at, size) = (inner.u32()?, inner.u64()?, inner.u64()?);
                        if cpu < CPUS_MAX {
                            cpu_pages.push(CpuPages { cpu, at, end: at.saturating_add(size) });
                        }
                    }
                    buffers.push((at, cpu_pages));
                }
                18 => {
                    let at = inner.u64()?;
                    let section = self.section(input, at).unwrap_or_default();
                    let mut systems = Bytes::new(&section, self.is_big);
                    if self.formats.add_systems(&mut systems).is_none() {
                        self.torn(feed, at, "the description of the events is truncated");
                    }
                }
                21 => {
                    let at = inner.u64()?;
                    let section = self.section(input, at).unwrap_or_default();
                    if let Some(text) = Bytes::new(&section, self.is_big).sized64() {
                        self.cmdlines(text, feed);
                    }
                }
                id => self.option(id, data, feed),
            }
        }
    }

    /// Reads the pages of an instance: as they are in the file, or unpacked into memory.
    fn buffer_7(
        &mut self,
        input: &mut dyn ReadSeek,
        offset: u64,
        cpu_pages: &[CpuPages],
        feed: &mut Feed<'_>,
    ) {
        let head = bytes_at(input, offset, 16);
        let flags = Bytes::new(head.get(2..).unwrap_or(&[]), self.is_big).u16().unwrap_or(0);
        if flags & 1 == 0 {
            if self.unpacked.is_none() {
                self.cpu_pages.extend(cpu_pages);
            }
            return;
        }
        let mut pages = self.unpacked.take().unwrap_or_default();
        for pages_of_cpu in cpu_pages {
            let begin = pages.len();
            let is_whole = self.chunks(input, pages_of_cpu, &mut pages);
            if is_whole.is_none() {
                let what = match self.codec {
                    Codec::Other => {
                        "its compression is unknown: use the text of \
                         `trace-cmd report -t FILE`"
                    }
                    _ => "a part cannot be decompressed",
                };
                self.torn(feed, pages_of_cpu.at, what);
            }
            let (at, end) = (begin as u64, pages.len() as u64);
            self.cpu_pages.push(CpuPages { cpu: pages_of_cpu.cpu, at, end });
        }
        self.unpacked = Some(pages);
    }

    /// Unpacks the pages of a CPU, which are compressed in pieces.
    fn chunks(
        &self,
        input: &mut dyn ReadSeek,
        pages_of_cpu: &CpuPages,
        pages: &mut Vec<u8>,
    ) -> Option<()> {
        if pages_of_cpu.end == pages_of_cpu.at {
            return Some(());
        }
        let head = bytes_at(input, pages_of_cpu.at, 4);
        let count = Bytes::new(&head, self.is_big).u32()?;
        let mut at = pages_of_cpu.at + 4;
        for _ in 0..count {
            let head = bytes_at(input, at, 8);
            let mut head = Bytes::new(&head, self.is_big);
            let (packed, size) = (head.u32()?, head.u32()?);
            let bytes = bytes_at(input, at + 8, packed.into());
            if pages.len() + size as usize > UNPACKED_MAX {
                return None;
            }
            pages.extend_from_slice(&unpack(self.codec, &bytes, size.into())?);
            at += 8 + u64::from(packed);
        }
        Some(())
    }

    /// Delivers the events of all CPUs, by time.
    fn pages(&mut self, input: &mut dyn ReadSeek, feed: &mut Feed<'_>) {
        let length = length(input);
        let cpu_pages = std::mem::take(&mut self.cpu_pages);
        if cpu_pages.iter().any(|pages_of_cpu| pages_of_cpu.end > length) {
            let at = length;
            self.torn(feed, at, "pages are missing at the end");
        }
        let mut cursors: Vec<Cursor> = cpu_pages.into_iter().map(Cursor::new).collect();
        for cursor in &mut cursors {
            cursor.load(self, input, feed);
        }
        // Picks the CPU whose next event is the earliest. There are too few CPUs for a heap to pay
        // off.
        while let Some(next) = cursors
            .iter()
            .enumerate()
            .filter_map(|(index, cursor)| Some((cursor.next_ns?, index)))
            .min()
        {
            cursors[next.1].give(self, input, feed);
        }
    }
}

/// Position of a CPU in its pages.
struct Cursor {
    pages_of_cpu: CpuPages,
    page: Vec<u8>,
    /// Position of the page in the file.
    page_at: u64,
    place: usize,
    end: usize,
    now_ns: u64,
    /// Time and position of the next event.
    next_ns: Option<u64>,
    event: std::ops::Range<usize>,
    lost: u64,
}

impl Cursor {
    fn new(pages_of_cpu: CpuPages) -> Cursor {
        Cursor {
            pages_of_cpu,
            page: vec![],
            page_at: pages_of_cpu.at,
            place: 0,
            end: 0,
            now_ns: 0,
            next_ns: None,
            event: 0..0,
            lost: 0,
        }
    }

    /// Moves to the first event of the next page that has one.
    fn load(&mut self, of: &TraceDat, input: &mut dyn ReadSeek, feed: &mut Feed<'_>) {
        self.next_ns = None;
        while self.pages_of_cpu.at < self.pages_of_cpu.end {
            let size = (of.page as u64).min(self.pages_of_cpu.end - self.pages_of_cpu.at);
            self.page = bytes_at(input, self.pages_of_cpu.at, size);
            self.page_at = self.pages_of_cpu.at;
            self.pages_of_cpu.at += of.page as u64;
            let mut bytes = Bytes::new(&self.page, of.is_big);
            let (Some(now_ns), Some(commit)) = (bytes.u64(), bytes.number(of.long)) else {
                return;
            };
            self.now_ns = now_ns;
            self.place = 8 + of.long;
            let length = (commit & 0xf_ffff) as usize;
            self.end = (self.place + length).min(self.page.len());
            if commit & 1 << 31 != 0 {
                // Events were lost before this page. Their number may follow the data.
                let count = (commit & 1 << 30 != 0)
                    .then(|| Bytes::new(&self.page[self.end..], of.is_big).number(of.long))
                    .flatten();
                let place = Place::Byte(self.page_at);
                match count.filter(|&count| count > 0) {
                    Some(count) => {
                        let cpu = self.pages_of_cpu.cpu;
                        let detail = || format!("CPU {cpu}");
                        feed.problems.note(Trouble::Lost, count, place, detail);
                        self.lost = count;
                    }
                    None => {
                        feed.problems.note(Trouble::LostUncounted, 1, place, String::new);
                        self.lost = u64::MAX;
                    }
                }
            }
            self.advance(of);
            if self.next_ns.is_some() {
                return;
            }
        }
    }

    /// Moves to the next event of this page, if there is one.
    fn advance(&mut self, of: &TraceDat) {
        self.next_ns = None;
        while self.place + 4 <= self.end {
            let mut bytes = Bytes::new(&self.page[self.place..self.end], of.is_big);
            let Some(head) = bytes.u32() else { return };
            // Five bits of length and 27 of time, in the order of the machine's bit fields.
            let (kind, delta) = match of.is_big {
                false => (head & 31, u64::from(head >> 5)),
                true => (head >> 27, u64::from(head & 0x7ff_ffff)),
            };
            self.place += 4;
            match kind {
                29 => {
                    // Padding: to the end of the page, or the given number of bytes.
                    if delta == 0 {
                        return;
                    }
                    let Some(length) = bytes.u32() else { return };
                    self.now_ns = self.now_ns.saturating_add(delta);
                    self.place = self.place.saturating_add((length as usize).max(4));
                }
                30 => {
                    let Some(high) = bytes.u32() else { return };
                    let delta = delta + (u64::from(high) << 27);
                    self.now_ns = self.now_ns.saturating_add(delta);
                    self.place += 4;
                }
                31 => {
                    // A full time stamp, without its highest five bits.
                    let Some(high) = bytes.u32() else { return };
                    self.now_ns =
                        (self.now_ns & 0xf800_0000_0000_0000) | (delta + (u64::from(high) << 27));
                    self.place += 4;
                }
                _ => {
                    self.now_ns = self.now_ns.saturating_add(delta);
                    let (begin, length) = match kind {
                        0 => {
                            let Some(length) = bytes.u32() else { return };
                            let length = (length as usize).max(4).next_multiple_of(4);
                            (self.place + 4, length - 4)
                        }
                        words => (self.place, words as usize * 4),
                    };
                    self.place = begin.saturating_add(length);
                    if self.place > self.end {
                        return;
                    }
                    self.event = begin..self.place;
                    self.next_ns = Some(self.now_ns);
                    return;
                }
            }
        }
    }

    /// Delivers the next event, and moves to the one after it.
    fn give(&mut self, of: &TraceDat, input: &mut dyn ReadSeek, feed: &mut Feed<'_>) {
        let (at_ns, cpu) = (self.now_ns, self.pages_of_cpu.cpu);
        let place = Place::Byte(self.page_at + self.event.start as u64);
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            let what = EventKind::Lost { events: if lost == u64::MAX { 0 } else { lost }, cpu };
            let (context, current) = (Context::Unknown, Current::UNKNOWN);
            feed.push(FeedEvent { at_ns, cpu, context, current, what });
        }
        match of.formats.decode(feed, &self.page[self.event.clone()]) {
            Decoded::Event { pid, context, what } => {
                let current = Current { pid, name: Names::UNKNOWN };
                feed.push(FeedEvent { at_ns, cpu, context, current, what });
            }
            Decoded::Redundant => {}
            Decoded::NoTask => feed.problems.note(Trouble::Nameless, 1, place, String::new),
            Decoded::Other(id) => {
                let name = id.and_then(|id| of.formats.name(id)).unwrap_or("unknown");
                feed.other(name);
            }
            Decoded::Torn => feed.problems.note(Trouble::Unreadable, 1, place, || {
                "an event is shorter than its fields".into()
            }),
        }
        self.advance(of);
        if self.next_ns.is_none() {
            self.load(of, input, feed);
        }
    }
}
