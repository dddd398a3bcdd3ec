//! Runs a user half.

use super::eval::Context;
use super::plan::{Job, Operation, Puts, UserHalf};
use crate::act::Act;
use crate::errno::{E2BIG, EINVAL, ENOENT};
use crate::format::hex_digits;
use crate::image::PROGRAM_ARGS_MAX;
use crate::memory::{address, little_endian};
use crate::timers::Timer;
use crate::world::World;
use schedlab_core::TimerPhase;

/// Maximum number of rounds of `each`.
const ROUNDS_MAX: i128 = 1_000_000;

/// Maximum number of records that wait in a ring buffer. Its size is the other limit.
const RECORDS_MAX: usize = 1 << 16;

/// Inputs of an evaluation while the policy runs.
struct RunContext<'a> {
    world: &'a World,
    now_ns: u64,
    each: u64,
}

impl Context for RunContext<'_> {
    fn cpus(&self) -> u32 {
        self.world.nr_cpus()
    }
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn each(&self) -> u64 {
        self.each
    }
    fn load(&self, at: u64, size: u32) -> u64 {
        self.world.vm.memory.load(at, size as usize).unwrap_or(0)
    }
    fn values(&self, map: usize, key: u64) -> Vec<u64> {
        let Some(map) = self.world.maps.get(map) else { return vec![] };
        let key = &key.to_le_bytes()[..(map.def.key_size as usize).min(8)];
        let copies = if map.def.kind.is_percpu() { self.world.nr_cpus() } else { 1 };
        (0..copies).map(|cpu| map.find(key, cpu)).filter(|&at| at != 0).collect()
    }
}

impl Act<'_> {
    /// Carries out the actions that precede attaching the policy.
    pub(crate) fn user_before(&mut self) {
        let Some(half) = self.w.user.half.clone() else { return };
        self.as_user(&half, |act| act.carry_out(&half.before, true));
    }

    /// Starts the timed actions. The policy is now attached, and times count from now.
    pub(crate) fn user_begins(&mut self) {
        let Some(half) = self.w.user.half.clone() else { return };
        if self.w.ended.is_some() {
            return;
        }
        let now = self.now();
        self.w.user.began_ns = now;
        self.w.user.due = half.timed.iter().map(|timed| self.due(timed.when.first_ns)).collect();
        self.arm_user();
    }

    /// Returns the time `ns` after the policy was attached. `None`: that time never comes.
    fn due(&self, ns: u64) -> Option<u64> {
        self.w.user.began_ns.checked_add(ns)
    }

    fn arm_user(&mut self) {
        if let Some(next) = self.w.user.due.iter().flatten().min() {
            self.p.arm_timer(Timer::UserHalf.key(), TimerPhase::BeforeTicks, *next);
        }
    }

    /// Carries out the actions that are due.
    pub(crate) fn user_is_due(&mut self) {
        let Some(half) = self.w.user.half.clone() else { return };
        let now = self.now();
        self.as_user(&half, |act| {
            for (number, timed) in half.timed.iter().enumerate() {
                if act.w.ended.is_some() {
                    return;
                }
                let Some(due) = act.w.user.due[number].filter(|&due| due <= now) else { continue };
                let until = act.due(timed.when.until_ns);
                let next = timed.when.every_ns.and_then(|every| due.checked_add(every.max(1)));
                act.w.user.due[number] = next.filter(|&next| until.is_none_or(|end| next <= end));
                let context = RunContext { world: act.w, now_ns: now, each: 0 };
                let is_wanted = timed.only_if.as_ref().is_none_or(|it| it.value(&context) != 0);
                if is_wanted {
                    act.carry_out(&timed.jobs, false);
                }
            }
        });
        if self.w.ended.is_none() {
            self.arm_user();
        }
    }

    /// Calls `what` on the user half's CPU. The work is not charged to any task.
    fn as_user(&mut self, half: &UserHalf, what: impl FnOnce(&mut Self)) {
        let work = self.p.work;
        let outer = (self.w.cpu, self.w.callback);
        (self.w.cpu, self.w.callback) = (half.cpu, "the user half");
        what(self);
        (self.w.cpu, self.w.callback) = outer;
        self.p.work = work;
    }

    fn carry_out(&mut self, jobs: &[Job], before: bool) {
        for job in jobs {
            let context = RunContext { world: self.w, now_ns: self.now(), each: 0 };
            let rounds = job.each.as_ref().map_or(1, |each| each.value(&context));
            if rounds > ROUNDS_MAX {
                let what = format!("each = {rounds}; the maximum is {ROUNDS_MAX} rounds");
                return self.error(format!("{}: {what}", job.place));
            }
            for each in 0..rounds.max(0) as u64 {
                if self.w.ended.is_some() {
                    return;
                }
                if let Err(what) = self.do_one(&job.operation, each, before) {
                    return self.error(format!("{}: {what}", job.place));
                }
            }
        }
    }

    fn do_one(&mut self, operation: &Operation, each: u64, before: bool) -> Result<(), String> {
        let now_ns = self.now();
        let bytes =
            |act: &Self, puts: &Puts| puts.bytes(&RunContext { world: act.w, now_ns, each });
        match operation {
            Operation::Set { name, place, puts } => {
                let context = RunContext { world: self.w, now_ns, each };
                let at = place.address(&context);
                let at = at.ok_or_else(|| format!("{name}: the index is out of range"))?;
                self.user_put(at, puts, each);
                let value = (matches!(puts.size, 1 | 2 | 4 | 8))
                    .then(|| self.w.vm.memory.load(at, puts.size as usize).unwrap_or(0));
                let line = || match value {
                    Some(value) => format!("set {name} = {}", value as i64),
                    None => format!("set {name}"),
                };
                self.log_text("user", line, 0);
            }
            Operation::Write { map, key, value, cpu } => {
                let key = bytes(self, key);
                let copies = match cpu {
                    Some(cpu) => *cpu..cpu + 1,
                    None if self.w.maps[*map].def.kind.is_percpu() => 0..self.w.nr_cpus(),
                    None => 0..1,
                };
                for cpu in copies {
                    let at = self.entry(*map, &key, cpu)?;
                    self.user_put(at, value, each);
                }
                let line = || format!("write {}[{}]", self.w.maps[*map].def.name, hex(&key));
                self.log_text("user", line, 0);
            }
            Operation::Push { map, value } => {
                let value = bytes(self, value);
                let counts = self.w.maps[*map].counts;
                let result = self.w.maps[*map].push(&mut self.w.vm.memory, &value, 0);
                self.w.maps[*map].counts = counts;
                let name = &self.w.maps[*map].def.name;
                failed(name, result)?;
                self.log_text("user", || format!("push {name} {}", hex(&value)), 0);
            }
            Operation::Delete { map, key } => {
                let key = bytes(self, key);
                let counts = self.w.maps[*map].counts;
                let result = self.w.maps[*map].delete(&key);
                self.w.maps[*map].counts = counts;
                let name = &self.w.maps[*map].def.name;
                let found = if result == ENOENT { ", which does not exist" } else { "" };
                self.log_text("user", || format!("delete {name}[{}]{found}", hex(&key)), 0);
            }
            Operation::Send { map, record } => {
                let record = bytes(self, record);
                let most = self.w.maps[*map].def.max_entries as usize;
                let records = self.w.user.records.entry(*map).or_default();
                let used: usize = records.iter().map(|it| it.len().next_multiple_of(8) + 8).sum();
                let name = &self.w.maps[*map].def.name;
                // A real process likewise gets an error when there is no room, and continues.
                let is_full = records.len() == RECORDS_MAX
                    || used + record.len().next_multiple_of(8) + 8 > most;
                let line = match is_full {
                    true => format!("send {name}: no room (-28)"),
                    false => format!("send {name} {}", hex_digits(&record)),
                };
                if !is_full {
                    records.push_back(record);
                }
                self.log_text("user", || line, 0);
            }
            Operation::Call { entry, args, .. } => {
                let mut given = bytes(self, args);
                let shown: Vec<i32> =
                    given.chunks(4).map(|word| little_endian(word) as i32).collect();
                given.resize(4 * PROGRAM_ARGS_MAX, 0);
                let at = address(self.w.user.args, 0);
                if let Some(place) = self.w.vm.memory.slice_mut(at, given.len()) {
                    place.copy_from_slice(&given);
                }
                self.run_program(*entry, at, &shown, before);
            }
            Operation::Read { text, value } => {
                let value = value.value(&RunContext { world: self.w, now_ns, each });
                self.log_text("user", || format!("read {text} = {value}"), 0);
            }
            Operation::ReadMap { map } => self.read_map(*map),
        }
        Ok(())
    }

    /// Carries out writes at an address.
    fn user_put(&mut self, at: u64, puts: &Puts, each: u64) {
        let len = puts.size as usize;
        let Some(mut bytes) = self.w.vm.memory.slice(at, len).map(<[u8]>::to_vec) else { return };
        puts.write(&mut bytes, &RunContext { world: self.w, now_ns: self.now(), each });
        if let Some(place) = self.w.vm.memory.slice_mut(at, len) {
            place.copy_from_slice(&bytes);
        }
    }

    /// Returns the address of an entry's value. The entry is created if it does not exist.
    fn entry(&mut self, map: usize, key: &[u8], cpu: u32) -> Result<u64, String> {
        let found = self.w.maps[map].find(key, cpu);
        if found != 0 {
            return Ok(found);
        }
        let counts = self.w.maps[map].counts;
        let empty = vec![0; self.w.maps[map].def.value_size as usize];
        let result = self.w.maps[map].update(&mut self.w.vm.memory, key, &empty, 0, cpu);
        self.w.maps[map].counts = counts;
        failed(&format!("{}[{}]", self.w.maps[map].def.name, hex(key)), result)?;
        Ok(self.w.maps[map].find(key, cpu))
    }

    /// Logs all entries of a map. All-zero entries of an array are left out.
    fn read_map(&mut self, map: usize) {
        if self.w.log.is_none() {
            return;
        }
        let (def, memory) = (&self.w.maps[map].def, &self.w.vm.memory);
        let (name, kind) = (&def.name, def.kind);
        let copies = if kind.is_percpu() { self.w.nr_cpus() } else { 1 };
        let size = def.value_size as usize;
        let mut lines = vec![];
        for slot in self.w.maps[map].slots() {
            for cpu in 0..copies {
                let (key, value) = self.w.maps[map].entry(slot, cpu);
                let key = match kind.is_hash() {
                    true => memory.slice(key, def.key_size as usize).map_or(String::new(), hex),
                    false => slot.to_string(),
                };
                let Some(value) = memory.slice(value, size) else { continue };
                if !kind.is_hash() && value.iter().all(|&byte| byte == 0) {
                    continue;
                }
                let of_cpu = if copies > 1 { format!(" CPU {cpu}") } else { String::new() };
                lines.push(format!("read {name}[{key}]{of_cpu} = {}", hex(value)));
            }
        }
        for line in lines {
            self.log_text("user", || line, 0);
        }
    }
}

/// Shows bytes as a number if their size permits, else in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    match bytes.len() {
        1 | 2 | 4 | 8 => little_endian(bytes).to_string(),
        _ => hex_digits(bytes),
    }
}

fn failed(what: &str, result: i64) -> Result<(), String> {
    let why = match result {
        0 => return Ok(()),
        E2BIG => " (E2BIG): it is full, or there is no such element",
        EINVAL => " (EINVAL)",
        _ => "",
    };
    Err(format!("{what} cannot be written: {result}{why}"))
}
