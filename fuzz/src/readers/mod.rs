//! Every reader of foreign files and of the words of the command line, each as a function that
//! reads an input as the program would and checks what came of it.
//!
//! Files of which the program only reads its own (`papers/data`, the benchmarks' tables) are not
//! foreign. A mix's file is read by the command line, member by member as `clap` reads options;
//! what stands in it are parameters (`values`) and the mix of a plan (`plan`).

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
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Reads an input; panics if what came of it is not as it should be.
    pub read: fn(&[u8]) -> Shape,
    /// Words of the language.
    pub words: &'static [&'static str],
    /// The longest input that is worth making, bytes.
    pub most: usize,
}

/// What came of an input, roughly: two inputs of one shape were read alike. New shapes are worth
/// going on with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Shape(pub u64);

impl Shape {
    /// An input that was taken, with something about what it held.
    pub fn taken(detail: u64) -> Shape {
        Shape(detail.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// An input that was refused: the first line of the message without what it quotes and counts.
    pub fn refused(message: impl Display) -> Shape {
        let text = message.to_string();
        assert!(!text.is_empty(), "it was refused without a word");
        // Behind the place and before the first thing that is quoted, counted or named: that much
        // of a message is the program's own.
        let line = text.lines().next().unwrap_or_default();
        let told = line.rsplit_once(": ").map_or(line, |(_, told)| told);
        let own = |byte: &u8| byte.is_ascii_lowercase() || b" ,'".contains(byte);
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in told.bytes().take_while(own).take(60) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Shape(hash & !1)
    }

    /// Of a result whose good half is not looked at.
    pub fn of<T, E: Display>(result: Result<T, E>) -> Shape {
        match result {
            Ok(_) => Shape::taken(0),
            Err(error) => Shape::refused(error),
        }
    }

    /// Whether the input was taken.
    pub fn is_taken(self) -> bool {
        self.0 & 1 == 1
    }

    /// Both: for a reader that reads an input in several ways.
    pub fn and(self, other: Shape) -> Shape {
        Shape(self.0.rotate_left(7).wrapping_mul(0x0100_0000_01b3) & !1 ^ other.0)
    }
}

/// All of them.
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

/// The reader called `name`.
pub fn find(name: &str) -> Option<&'static Reader> {
    ALL.iter().find(|reader| reader.name == name)
}

/// The input as the text that the program would see. What is no UTF-8 is refused before any reader,
/// and nothing would be learnt from that.
fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}
