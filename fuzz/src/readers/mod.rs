//! Every reader of foreign files and of the languages on the command line, each as a function that
//! reads an input like the program and checks the result.
//!
//! Files that only the program itself writes (`crates/papers/experiments/data`, the benchmarks'
//! tables) are not foreign. A mix's file is read by the command line, member by member as `clap`
//! reads options. Its contents are parameters (`values`) and the mix of a plan (`plan`).

mod groups;
mod lab;
mod machines;
mod papers;
mod results;
mod scx;
mod spaces;
mod traces;
mod workloads;

use std::fmt::Display;

/// A reader of foreign input.
pub struct Reader {
    /// Its name, which is also the name of its corpus.
    pub name: &'static str,
    /// Input that it reads.
    pub about: &'static str,
    /// Reads an input. Panics if the result is wrong.
    pub read: fn(&[u8]) -> Shape,
    /// Words of the language.
    pub words: &'static [&'static str],
    /// Longest useful input, bytes.
    pub most: usize,
}

/// Rough result of an input: two inputs with one shape were read alike. Inputs with new shapes are
/// added to the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Shape(pub u64);

impl Shape {
    /// Returns the shape of an accepted input, with a detail of its contents.
    pub fn taken(detail: u64) -> Shape {
        Shape(detail.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the shape of a refused input: the first line of the message without quotations and
    /// counts.
    pub fn refused(message: impl Display) -> Shape {
        let text = message.to_string();
        assert!(!text.is_empty(), "it was refused without a message");
        // The text after the place and before the first quotation, count or name is the program's
        // own.
        let line = text.lines().next().unwrap_or_default();
        let told = line.rsplit_once(": ").map_or(line, |(_, told)| told);
        let own = |byte: &u8| byte.is_ascii_lowercase() || b" ,'".contains(byte);
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in told.bytes().take_while(own).take(60) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Shape(hash & !1)
    }

    /// Returns the shape of a result whose value is not examined.
    pub fn of<T, E: Display>(result: Result<T, E>) -> Shape {
        match result {
            Ok(_) => Shape::taken(0),
            Err(error) => Shape::refused(error),
        }
    }

    /// Whether the input was accepted.
    pub fn is_taken(self) -> bool {
        self.0 & 1 == 1
    }

    /// Combines two shapes, for a reader that reads an input in several ways.
    pub fn and(self, other: Shape) -> Shape {
        Shape(self.0.rotate_left(7).wrapping_mul(0x0100_0000_01b3) & !1 ^ other.0)
    }
}

/// All readers.
pub const ALL: &[Reader] = &[
    workloads::RT_APP,
    workloads::GOLDEN,
    workloads::REPLAY,
    workloads::TIMETABLE,
    groups::GROUPS,
    groups::CGCONFIG,
    groups::CGRULES,
    groups::USERS,
    machines::MACHINE,
    machines::TOPOLOGY,
    machines::CALIBRATED,
    lab::PLAN,
    lab::VALUES,
    lab::SCHEDULERS,
    lab::PACKED,
    traces::TRACE,
    traces::PERF_DATA,
    traces::TRACE_DAT,
    traces::PERFETTO,
    traces::CHROME_JSON,
    traces::COLUMNS,
    results::REPORT,
    results::BENCH_REPORT,
    results::SWEEP,
    spaces::SPACE,
    spaces::PART,
    spaces::RESOURCES,
    papers::PAPER,
    papers::TARGETS,
    papers::CONTRADICTIONS,
    papers::CALIBRATION,
    papers::EXPRESSION,
    scx::OBJECT,
    scx::ELF,
    scx::BTF,
    scx::PROGRAM,
    scx::SETTING,
];

/// Returns the reader called `name`.
pub fn find(name: &str) -> Option<&'static Reader> {
    ALL.iter().find(|reader| reader.name == name)
}

/// Returns the input as the text that the program would see. Input that is not UTF-8 is refused
/// before any reader, which would reveal nothing.
fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}
