//! Context switches as perf records them, of a thread (`PERF_RECORD_SWITCH`) or on a CPU
//! (`PERF_RECORD_SWITCH_CPU_WIDE`), with `sample_id_all` and the sample type `TID | TIME | CPU`.

/// Types of the kernel's records.
const RECORD_LOST: u32 = 2;
const RECORD_SWITCH: u32 = 14;
const RECORD_SWITCH_CPU_WIDE: u32 = 15;
/// Bit in the record's `misc`: the thread lost its CPU while it was runnable.
const OUT: u16 = 1 << 13;
const OUT_PREEMPTED: u16 = 1 << 14;

/// Size of a record's header: type, misc, size.
const HEADER: usize = 8;

/// A context switch of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// It got a CPU.
    In {
        /// Time, ns.
        at_ns: u64,
        /// Number of the CPU.
        cpu: u32,
    },
    /// It lost its CPU.
    Out {
        /// Time, ns.
        at_ns: u64,
        /// Number of the CPU.
        cpu: u32,
        /// Whether it was still runnable.
        preempted: bool,
    },
    /// Number of records for which the buffer had no room.
    Lost(u64),
}

/// Reads the records in `bytes`, which begin with one. Each comes with the number of its thread
/// (`0`: an idle CPU, or a lost record). A record that is cut off, or shorter than its type, ends
/// the reading.
pub fn parse(mut bytes: &[u8], mut visit: impl FnMut(u32, Switch)) {
    let u32_at = |bytes: &[u8], at: usize| {
        bytes
            .get(at..at + 4)
            .map(|four| u32::from_ne_bytes(four.try_into().expect("the slice has that length")))
    };
    let u64_at = |bytes: &[u8], at: usize| {
        bytes
            .get(at..at + 8)
            .map(|eight| u64::from_ne_bytes(eight.try_into().expect("the slice has that length")))
    };
    while let Some(header) = bytes.get(..HEADER) {
        let kind = u32::from_ne_bytes(header[..4].try_into().expect("the slice has that length"));
        let misc = u16::from_ne_bytes(header[4..6].try_into().expect("the slice has that length"));
        let size = u16::from_ne_bytes(header[6..8].try_into().expect("the slice has that length"))
            as usize;
        if size < HEADER || size > bytes.len() {
            return;
        }
        let (record, rest) = bytes.split_at(size);
        let body = &record[HEADER..];
        match kind {
            RECORD_SWITCH | RECORD_SWITCH_CPU_WIDE => {
                // CPU-wide records begin with pid and tid of the other side. Then: pid, tid, time,
                // cpu, reserved.
                let from = if kind == RECORD_SWITCH { 0 } else { 8 };
                let (Some(tid), Some(at_ns), Some(cpu)) =
                    (u32_at(body, from + 4), u64_at(body, from + 8), u32_at(body, from + 16))
                else {
                    return;
                };
                let preempted = misc & OUT_PREEMPTED != 0;
                let switch = match misc & OUT {
                    0 => Switch::In { at_ns, cpu },
                    _ => Switch::Out { at_ns, cpu, preempted },
                };
                visit(tid, switch);
            }
            // id, lost, and then as above.
            RECORD_LOST => match u64_at(body, 8) {
                Some(lost) => visit(0, Switch::Lost(lost)),
                None => return,
            },
            _ => {}
        }
        bytes = rest;
    }
}

/// A stay on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Slice {
    /// Number of the CPU.
    pub cpu: u32,
    /// Beginning, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
    /// Reason why it ended.
    pub why: Why,
}

/// Reason why a stay on a CPU ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Why {
    /// The thread was preempted while it was runnable.
    #[serde(rename = "p")]
    Preempted,
    /// It blocked.
    #[serde(rename = "b")]
    Blocked,
    /// The thread or the run ended.
    #[serde(rename = "e")]
    End,
}

/// The stays of a thread on CPUs, reconstructed from its switches.
#[derive(Debug, Default)]
pub struct Slices {
    /// Completed stays.
    pub done: Vec<Slice>,
    /// CPU and beginning of the current stay, if its beginning was recorded.
    open: Option<(u32, u64)>,
    /// Time at which the thread last lost its CPU.
    out_ns: Option<u64>,
    /// Number of lost records.
    pub lost: u64,
}

impl Slices {
    /// Adds a switch. Returns how long the thread had no CPU after `since_ns`, up to its return
    /// with this switch, ns.
    pub fn take(&mut self, switch: Switch, since_ns: u64) -> u64 {
        match switch {
            Switch::In { at_ns, cpu } => {
                self.open = Some((cpu, at_ns));
                let out_ns = self.out_ns.take().unwrap_or(at_ns).max(since_ns);
                at_ns.saturating_sub(out_ns)
            }
            Switch::Out { at_ns, cpu, preempted } => {
                if let Some((_, start_ns)) = self.open.take() {
                    let why = if preempted { Why::Preempted } else { Why::Blocked };
                    self.done.push(Slice { cpu, start_ns, end_ns: at_ns, why });
                }
                self.out_ns = Some(at_ns);
                0
            }
            Switch::Lost(records) => {
                self.lost += records;
                self.open = None;
                self.out_ns = None;
                0
            }
        }
    }

    /// Discards everything so far.
    pub fn restart(&mut self) {
        *self = Slices { done: std::mem::take(&mut self.done), ..Slices::default() };
        self.done.clear();
    }

    /// Ends the record at this time, ns; later switches do not count.
    pub fn close(&mut self, ended_ns: u64) {
        if let Some((cpu, start_ns)) = self.open.take() {
            self.done.push(Slice { cpu, start_ns, end_ns: u64::MAX, why: Why::End });
        }
        self.done.retain(|slice| slice.start_ns < ended_ns);
        if let Some(last) = self.done.last_mut().filter(|last| last.end_ns > ended_ns) {
            (last.end_ns, last.why) = (ended_ns, Why::End);
        }
    }
}

/// A stay of any thread on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Stay {
    /// Number of the CPU.
    pub cpu: u32,
    /// Beginning, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
    /// Number of the thread.
    pub tid: u32,
    /// Whether the thread was preempted while it was runnable.
    pub preempted: bool,
}

/// The stays of all threads on CPUs, reconstructed from the CPUs' switches. Idling does not count.
#[derive(Debug, Default)]
pub struct CpuSlices {
    /// Completed stays.
    pub done: Vec<Stay>,
    /// The current thread of each CPU, and the beginning of its stay.
    open: std::collections::BTreeMap<u32, (u32, u64)>,
    /// Number of lost records.
    pub lost: u64,
}

impl CpuSlices {
    /// Adds a switch on `cpu` of the thread `tid`.
    pub fn take(&mut self, cpu: u32, tid: u32, switch: Switch) {
        match switch {
            Switch::In { at_ns, .. } if tid != 0 => {
                self.open.insert(cpu, (tid, at_ns));
            }
            Switch::In { .. } => {}
            Switch::Out { at_ns, preempted, .. } => {
                let open = self.open.remove(&cpu).filter(|&(open, _)| open == tid);
                if let Some((tid, start_ns)) = open {
                    self.done.push(Stay { cpu, start_ns, end_ns: at_ns, tid, preempted });
                }
            }
            Switch::Lost(records) => {
                self.lost += records;
                self.open.remove(&cpu);
            }
        }
    }

    /// Ends the record at this time, ns.
    pub fn close(&mut self, end_ns: u64) {
        for (cpu, (tid, start_ns)) in std::mem::take(&mut self.open) {
            let end_ns = end_ns.max(start_ns);
            self.done.push(Stay { cpu, start_ns, end_ns, tid, preempted: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u64]) -> Vec<u8> {
        let size = (HEADER + 8 * body.len()) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn switch(misc: u16, at_ns: u64, cpu: u32) -> Vec<u8> {
        let [a, b, c, d] = cpu.to_ne_bytes();
        record(RECORD_SWITCH, misc, &[0, at_ns, u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0])])
    }

    fn all(bytes: &[u8]) -> Vec<Switch> {
        let mut found = vec![];
        parse(bytes, |_, switch| found.push(switch));
        found
    }

    #[test]
    fn switches_are_read_and_other_records_passed_over() {
        let mut bytes = switch(OUT | OUT_PREEMPTED, 1000, 3);
        bytes.extend(record(9, 0, &[1, 2, 3]));
        bytes.extend(switch(0, 1500, 5));
        bytes.extend(record(RECORD_LOST, 0, &[7, 12, 0, 0, 0]));
        bytes.extend(switch(OUT, 1900, 5));
        assert_eq!(
            all(&bytes),
            [
                Switch::Out { at_ns: 1000, cpu: 3, preempted: true },
                Switch::In { at_ns: 1500, cpu: 5 },
                Switch::Lost(12),
                Switch::Out { at_ns: 1900, cpu: 5, preempted: false },
            ]
        );
    }

    #[test]
    fn switches_on_a_cpu_say_whose_they_are() {
        let of = |pid: u32, tid: u32| u64::from(pid) | u64::from(tid) << 32;
        let body = [of(1, 2), of(70, 71), 1000, 5];
        // The words of the test are in the byte order of a little-endian machine.
        if cfg!(target_endian = "big") {
            return;
        }
        let bytes = record(RECORD_SWITCH_CPU_WIDE, OUT, &body);
        let mut found = vec![];
        parse(&bytes, |tid, switch| found.push((tid, switch)));
        assert_eq!(found, [(71, Switch::Out { at_ns: 1000, cpu: 5, preempted: false })]);
    }

    #[test]
    fn stays_on_cpus_are_put_together() {
        let mut all = CpuSlices::default();
        all.take(0, 9, Switch::Out { at_ns: 50, cpu: 0, preempted: false });
        all.take(0, 0, Switch::In { at_ns: 50, cpu: 0 });
        all.take(0, 0, Switch::Out { at_ns: 90, cpu: 0, preempted: false });
        all.take(0, 7, Switch::In { at_ns: 90, cpu: 0 });
        all.take(1, 8, Switch::In { at_ns: 95, cpu: 1 });
        all.take(0, 7, Switch::Out { at_ns: 99, cpu: 0, preempted: true });
        all.close(120);
        let of =
            |cpu, start_ns, end_ns, tid, preempted| Stay { cpu, start_ns, end_ns, tid, preempted };
        assert_eq!(all.done, [of(0, 90, 99, 7, true), of(1, 95, 120, 8, false)]);
    }

    #[test]
    fn what_is_cut_off_or_makes_no_sense_ends_it() {
        let whole = switch(0, 1, 0);
        for length in 0..whole.len() {
            assert_eq!(all(&whole[..length]), []);
        }
        // A size of 0 would loop forever.
        let mut endless = whole.clone();
        endless[6..8].copy_from_slice(&0_u16.to_ne_bytes());
        assert_eq!(all(&endless), []);
        assert_eq!(all(&record(RECORD_SWITCH, 0, &[1])), []);
    }

    #[test]
    fn slices_end_where_the_thread_loses_its_cpu() {
        let mut slices = Slices::default();
        // Before its first switch in, nothing is known about the thread.
        assert_eq!(slices.take(Switch::Out { at_ns: 90, cpu: 0, preempted: false }, 0), 0);
        assert_eq!(slices.take(Switch::In { at_ns: 100, cpu: 0 }, 95), 5);
        assert_eq!(slices.take(Switch::Out { at_ns: 300, cpu: 0, preempted: true }, 95), 0);
        assert_eq!(slices.take(Switch::In { at_ns: 700, cpu: 1 }, 95), 400);
        slices.close(900);
        let of = |cpu, start_ns, end_ns, why| Slice { cpu, start_ns, end_ns, why };
        assert_eq!(slices.done, [of(0, 100, 300, Why::Preempted), of(1, 700, 900, Why::End)]);
    }

    #[test]
    fn nothing_is_left_behind_the_end() {
        let mut slices = Slices::default();
        slices.take(Switch::In { at_ns: 100, cpu: 0 }, 0);
        slices.take(Switch::Out { at_ns: 300, cpu: 0, preempted: true }, 0);
        slices.take(Switch::In { at_ns: 700, cpu: 1 }, 0);
        // It was preempted between its last reading of the clock and this one.
        slices.close(250);
        assert_eq!(slices.done, [Slice { cpu: 0, start_ns: 100, end_ns: 250, why: Why::End }]);
    }

    #[test]
    fn time_before_the_burst_is_not_added_to_it() {
        let mut slices = Slices::default();
        slices.take(Switch::Out { at_ns: 100, cpu: 0, preempted: true }, 400);
        assert_eq!(slices.take(Switch::In { at_ns: 300, cpu: 0 }, 400), 0);
    }
}
