//! The runner: the process that contains the workload's threads. It reads a [`Job`] from its
//! standard input and writes a [`JobResult`] to its standard output for the parent.
//!
//! It ends with the parent, and its threads end with it. Three guards end it if it hangs: every
//! thread reads the clock and stops at the end of the run; the kernel ends a real-time thread that
//! does not block for longer than the run (`RLIMIT_RTTIME`), and the whole process after too much
//! CPU time (`RLIMIT_CPU`); and the parent waits for a limited time only.

use crate::job::{Accounts, AllSwitches, Groups, Job, JobResult, JobTask, Measured, Run, Thread};
use crate::noise::{self, Noise, Reading, Source};
use crate::switches::{CpuSlices, Slice};
use crate::sync::locked;
use crate::this_thread::{gaps, join_group, urgent};
use crate::thread::{Begins, Shared, spawn};
use crate::{measure, sys, tick};
use rustix::process::{Resource, Rlimit, Signal};
use schedlab_workload::rt_app::{self, LEAD_NS};
use schedlab_workload::{Costs, Start, Target};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time before the start at which CPU time is read, ns.
const READ_BEFORE_NS: u64 = 2_000_000;
/// Time that threads may take to end after the end of the run, ns.
const PATIENCE_NS: u64 = 3_000_000_000;
/// Time after which a run without a duration is given up, ns.
pub const ENDLESS_NS: u64 = 60_000_000_000;
/// Interval at which the main thread checks for failures and for the end of all threads, ns.
const LOOK_NS: u64 = 100_000_000;

/// Runs a process that was started as the runner: its main function. The result goes to `output`.
///
/// # Errors
/// The input is not a job, or the output cannot be written.
pub fn run(mut input: impl Read, mut output: impl Write) -> std::io::Result<()> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    let answer = match guard(&job) {
        Ok(()) => answer(job),
        Err(why) => JobResult::Refused(why),
    };
    output.write_all(serde_json::to_string(&answer)?.as_bytes())?;
    output.flush()
}

fn answer(job: Job) -> JobResult {
    let answer = match job.task {
        JobTask::Run(run) => workload(run, job.groups).map(JobResult::Measured),
        JobTask::Tick { cpus, hz } => ticks(&cpus, hz, &job.groups).map(JobResult::Tick),
        JobTask::Measure { cpus, repetitions } => {
            measure::costs(&cpus, repetitions, &job.groups).map(JobResult::Costs)
        }
    };
    answer.unwrap_or_else(JobResult::Refused)
}

/// Ensures that this process does not outlive its parent or its time.
fn guard(job: &Job) -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the runner cannot bind itself to its parent: {error}"))?;
    if sys::parent_process() != job.parent {
        return Err("the runner's parent has ended".into());
    }
    let at_most = |resource, limit: u64, grace: u64| {
        let limit = limited(rustix::process::getrlimit(resource).maximum, limit, grace);
        rustix::process::setrlimit(resource, limit)
            .map_err(|error| format!("the runner cannot limit itself: {error}"))
    };
    // Each thread has two open files.
    let files = rustix::process::getrlimit(Resource::Nofile);
    let files = Rlimit { current: files.maximum, ..files };
    // If the limit cannot be raised, the thread that cannot open a file reports it.
    let _ = rustix::process::setrlimit(Resource::Nofile, files);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    at_most(Resource::Core, 0, 0)?;
    at_most(Resource::Cpu, job.guard_s.saturating_mul(cpus), 1)?;
    at_most(Resource::Rttime, job.guard_s.saturating_mul(1_000_000), 1_000_000)
}

/// Returns a limit at which the kernel sends the signal `SIGXCPU`, and after the additional time
/// `grace` ends the process without a message; not above `maximum`.
fn limited(maximum: Option<u64>, limit: u64, grace: u64) -> Rlimit {
    let most = limit.saturating_add(grace);
    let most = maximum.map_or(most, |maximum| maximum.min(most));
    Rlimit { current: Some(limit.min(most)), maximum: Some(most) }
}

/// Locks the memory of this process, unless that could exceed the limit of lockable memory.
fn lock_memory() -> bool {
    use rustix::mm::MlockAllFlags;
    let limit = rustix::process::getrlimit(Resource::Memlock).current;
    let is_ample = limit.is_none_or(|bytes| bytes >= 256 << 20);
    // The limit does not apply to a process with CAP_IPC_LOCK.
    let may = is_ample || crate::facts::has_capability(crate::facts::CAP_IPC_LOCK);
    may && rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).is_ok()
}

fn workload(run: Run, groups: Groups) -> Result<Measured, String> {
    let target = Target { cpus: run.machine_cpus, limited: run.duration_ns.is_some() };
    let mut model = rt_app::load(&run.name, &run.text, &target).map_err(|e| e.to_string())?;
    model.tasks.retain(|task| !run.without.contains(&task.key));
    let scripts = rt_app::scripts(&model, &target, &Costs::default()).map_err(|e| e.to_string())?;
    let memory_locked = lock_memory();
    let mut shared = Shared::new(scripts, run.cpus.clone(), run.machine_cpus, groups);
    (shared.records, shared.gap_ns) = (run.records, run.gap_ns);
    let shared = Arc::new(shared);

    let mut starts: Vec<(u64, u32)> = vec![];
    for (number, script) in shared.scripts.scripts.iter().enumerate() {
        let start = (script.delay_ns, number as u32);
        starts.extend((0..script.instances).map(|_| start));
    }
    if run.start == Start::Wake {
        for &(_, script) in &starts {
            spawn(&shared, script, Begins::Asleep)?;
        }
        while shared.ready.load(Ordering::Acquire) < starts.len() {
            fail_early(&shared)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let main = urgent(true);
    let start_ns = sys::now_ns() + LEAD_NS;
    let end_ns = run.duration_ns.map_or(u64::MAX, |ns| start_ns.saturating_add(ns));
    // A thread that failed has set the end to 0.
    let _ = shared.end_ns.compare_exchange(u64::MAX, end_ns, Ordering::AcqRel, Ordering::Acquire);
    shared.begin(start_ns);
    let mut recorder = match run.records_all {
        true => Some(Recorder::new(&run.cpus)?),
        false => None,
    };
    sys::sleep_until(start_ns - READ_BEFORE_NS);
    let before = read(&run.accounts, &run.cpus)?;
    if run.start == Start::Fork {
        starts.sort_by_key(|&(delay_ns, _)| delay_ns);
        for (delay_ns, script) in starts {
            let at_ns = start_ns.saturating_add(delay_ns);
            if at_ns >= end_ns {
                break;
            }
            sys::sleep_until(at_ns);
            spawn(&shared, script, Begins::Now(at_ns))?;
        }
    }
    // If the run ends with its last task, that end must be noticed soon.
    let look_ns = if run.duration_ns.is_some() { LOOK_NS } else { LOOK_NS / 50 };
    let give_up_ns = match run.duration_ns {
        Some(_) => u64::MAX,
        None => start_ns.saturating_add(ENDLESS_NS),
    };
    while sys::now_ns() < end_ns && shared.alive.load(Ordering::Acquire) > 0 {
        if sys::now_ns() > give_up_ns {
            return Err(format!(
                "after {} s {} had not ended: it works for longer, or waits forever; \
                 give the run an end with --duration, or `duration` in the file's `global`",
                ENDLESS_NS / 1_000_000_000,
                shared.unfinished()
            ));
        }
        // A failure ends the run at once; sleeping threads would not notice it.
        fail_early(&shared)?;
        if let Some(recorder) = &mut recorder {
            recorder.catch_up();
        }
        sys::sleep_until(end_ns.min(sys::now_ns() + look_ns));
    }
    if run.duration_ns.is_some() {
        sys::sleep_until(end_ns);
    }
    while shared.alive.load(Ordering::Acquire) > 0 {
        fail_early(&shared)?;
        if end_ns < u64::MAX && sys::now_ns() > end_ns.saturating_add(PATIENCE_NS) {
            let left = shared.alive.load(Ordering::Acquire);
            return Err(format!("{left} threads did not end with the run"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let after = read(&run.accounts, &run.cpus)?;
    let all_switches = recorder.map(|recorder| recorder.finish(start_ns));
    fail_early(&shared)?;
    let mut records = std::mem::take(&mut *locked(&shared.records_done));
    records.sort_by_key(|&(number, _)| number);
    let mut threads: Vec<Thread> = records.into_iter().map(|(_, record)| record).collect();
    let workload_ns = threads.iter().map(|thread| thread.cpu_ns).sum();
    note_preemptions(&mut threads);
    let last_ns = threads.iter().map(|thread| thread.end_ns).max().unwrap_or(0);
    Ok(Measured {
        duration_ns: run.duration_ns.unwrap_or(last_ns),
        start_ns,
        noise: Noise::between(before, after, workload_ns, run.cpus.len()),
        main,
        memory_locked,
        threads,
        all_switches,
    })
}

/// Records the switches of all tasks on some CPUs.
struct Recorder {
    rings: Vec<(u32, sys::SwitchRing)>,
    slices: CpuSlices,
}

/// Pages of a CPU's ring: 26,000 switches.
const RING_PAGES: usize = 256;
/// Maximum number of names of other threads that are looked up.
const NAMES_MAX: usize = 1000;

impl Recorder {
    fn new(cpus: &[u32]) -> Result<Recorder, String> {
        let open = |&cpu: &u32| {
            let ring = sys::SwitchRing::open_cpu(cpu, RING_PAGES);
            let ring = ring.map_err(|error| {
                format!("the switches on CPU {cpu} cannot be recorded: {error}")
            })?;
            Ok((cpu, ring))
        };
        let rings: Result<Vec<_>, String> = cpus.iter().map(open).collect();
        Ok(Recorder { rings: rings?, slices: CpuSlices::default() })
    }

    fn catch_up(&mut self) {
        for (cpu, ring) in &mut self.rings {
            ring.drain(|tid, switch| self.slices.take(*cpu, tid, switch));
        }
    }

    fn finish(mut self, start_ns: u64) -> AllSwitches {
        self.catch_up();
        self.slices.close(sys::now_ns());
        let CpuSlices { done: mut stays, lost, .. } = self.slices;
        stays.retain(|stay| stay.end_ns > start_ns);
        for stay in &mut stays {
            stay.start_ns = stay.start_ns.saturating_sub(start_ns);
            stay.end_ns -= start_ns;
        }
        stays.sort_by_key(|stay| (stay.cpu, stay.start_ns));
        let mut tids: Vec<u32> = stays.iter().map(|stay| stay.tid).collect();
        tids.sort_unstable();
        tids.dedup();
        let name = |tid: u32| {
            let name = std::fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
            Some((tid, name.trim_end().to_string()))
        };
        let names = tids.into_iter().take(NAMES_MAX).filter_map(name).collect();
        AllSwitches { stays, lost, names }
    }
}

fn fail_early(shared: &Shared) -> Result<(), String> {
    locked(&shared.failure).take().map_or(Ok(()), Err)
}

fn note_preemptions(threads: &mut [Thread]) {
    let lists: Option<Vec<&[Slice]>> =
        threads.iter().map(|thread| thread.slices.as_deref()).collect();
    // If the slices of one thread are unknown, it is unknown who ran.
    let Some(lists) = lists else { return };
    let counts = noise::preempted_by_others(&lists);
    for (thread, count) in threads.iter_mut().zip(counts) {
        thread.preempted_by_others = Some(count);
    }
}

/// Reads the CPU time of all tasks on these CPUs.
///
/// # Errors
/// A file cannot be read.
pub fn read(accounts: &Accounts, cpus: &[u32]) -> Result<Reading, String> {
    let text_of = |path: &std::path::Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let stat = text_of("/proc/stat".as_ref())?;
    let (in_steps_ns, steal_ns) = noise::of_proc_stat(&stat, cpus)
        .ok_or_else(|| format!("/proc/stat does not list CPUs {cpus:?}"))?;
    let busy_ns = match accounts.source {
        Source::ProcStat => Some(in_steps_ns),
        Source::Cpuacct => noise::of_usage_percpu(&text_of(&accounts.file)?, cpus),
        Source::CpuStat => noise::of_cpu_stat(&text_of(&accounts.file)?),
    };
    let busy_ns = busy_ns.ok_or_else(|| format!("{}: unknown format", accounts.file.display()))?;
    Ok(Reading { at_ns: sys::now_ns(), busy_ns, steal_ns })
}

/// Time for which CPUs are watched for the tick, ns.
const WATCH_NS: u64 = 100_000_000;
/// Watches all CPUs at once and returns the tick of the CPU on which it was seen best.
fn ticks(cpus: &[u32], hz: Option<u32>, groups: &Groups) -> Result<Option<tick::Tick>, String> {
    std::thread::scope(|scope| {
        let watch = |cpu: u32| {
            scope.spawn(move || -> Result<Option<tick::Tick>, String> {
                join_group(groups)?;
                sys::set_affinity(&[cpu]).map_err(|error| format!("CPU {cpu}: {error}"))?;
                let (gaps, from_ns, to_ns) = gaps(WATCH_NS);
                Ok(tick::find(&gaps, from_ns, to_ns, hz))
            })
        };
        let watched: Vec<_> = cpus.iter().map(|&cpu| watch(cpu)).collect();
        let mut best: Option<tick::Tick> = None;
        for watcher in watched {
            let seen = watcher.join().map_err(|_| "a thread panicked".to_string())??;
            let better = |tick: &tick::Tick| best.as_ref().is_none_or(|best| tick.seen > best.seen);
            if let Some(tick) = seen.filter(better) {
                best = Some(tick);
            }
        }
        Ok(best)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_warns_before_it_kills() {
        let is = |maximum, current, most| {
            let found = limited(maximum, 10, 1);
            assert_eq!((found.current, found.maximum), (Some(current), Some(most)), "{maximum:?}");
        };
        is(None, 10, 11);
        is(Some(1000), 10, 11);
        // A limit from outside is kept.
        is(Some(10), 10, 10);
        is(Some(3), 3, 3);
    }
}
