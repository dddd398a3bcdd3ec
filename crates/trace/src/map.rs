//! Who is on which CPU, switch by switch, as `perf sched map` prints it: [`Map`].

use crate::timehist::Lines;
use crate::tracepoint::{Record, Sink, Tracepoint};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Makes a line of each switch. Tasks have names of a letter and a digit, which are explained when
/// they first appear; `.` is idle.
#[derive(Debug)]
pub struct Map<L> {
    lines: L,
    /// By CPU: who runs there.
    current: Vec<Option<String>>,
    names: BTreeMap<u32, Known>,
    next: usize,
    /// What comes now only brings to an end what still runs.
    is_closing: bool,
}

#[derive(Clone, Debug)]
struct Known {
    short: String,
    comm: String,
}

impl<L: Lines> Map<L> {
    /// Of a machine with `cpus` CPUs.
    pub fn new(cpus: u32, lines: L) -> Map<L> {
        Map {
            lines,
            current: vec![None; cpus as usize],
            names: BTreeMap::new(),
            next: 0,
            is_closing: false,
        }
    }

    /// Where the lines went.
    pub fn into_lines(self) -> L {
        self.lines
    }

    /// The next short name: A0 to Z0, A1 to Z9, and A0 again.
    fn short(&mut self) -> String {
        let number = self.next % 260;
        self.next += 1;
        format!("{}{}", (b'A' + (number % 26) as u8) as char, number / 26)
    }
}

impl<L: Lines> Sink for Map<L> {
    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, tracepoint, .. } = record;
        let Tracepoint::Switch { next, .. } = tracepoint else { return };
        if self.is_closing {
            return;
        }
        if cpu as usize >= self.current.len() {
            self.current.resize(cpu as usize + 1, None);
        }
        let mut explained = None;
        let short = match self.names.get_mut(&next.pid) {
            _ if next.pid == 0 => ".".to_string(),
            Some(known) => {
                if known.comm != next.comm {
                    known.comm = next.comm.into();
                    explained = Some(known.short.clone());
                }
                known.short.clone()
            }
            None => {
                let short = self.short();
                let known = Known { short: short.clone(), comm: next.comm.into() };
                self.names.insert(next.pid, known);
                explained = Some(short.clone());
                short
            }
        };
        self.current[cpu as usize] = Some(short);
        let mut line = String::from("  ");
        for (other, current) in self.current.iter().enumerate() {
            let mark = if other == cpu as usize { '*' } else { ' ' };
            match current {
                // Writing into a string does not fail.
                Some(short) => {
                    let _ = write!(line, "{mark}{short:<2} ");
                }
                None => line.push_str("    "),
            }
        }
        let time = format!("{}.{:06}", at_ns / 1_000_000_000, at_ns / 1_000 % 1_000_000);
        let _ = write!(line, "  {time:>12} secs ");
        if let Some(short) = explained {
            let _ = write!(line, "{short} => {}:{}", next.comm, next.pid);
        }
        line.push('\n');
        self.lines.line(&line);
    }

    fn closing(&mut self, _at_ns: u64) {
        self.is_closing = true;
    }
}
