//! The load of the kernel's test: hogs and sleepers, each a separate process, started in a known
//! order. Prints the CPU time of each.
//!
//! `guest-load SECONDS CPUS TASK...`: CPUS are the CPUs of the tasks (`1`, `0-1`); TASK is
//! `hog:NICE` or `sleeper:NICE:SLEEP_US:ROUNDS`. The program itself waits on the first CPU.

use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::hint::black_box;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

fn spin(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// `2` or `0-3`.
fn cpus(text: &str) -> Option<CpuSet> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    let mut set = CpuSet::new();
    (first..=last).for_each(|cpu| set.set(cpu));
    Some(set)
}

fn task(cpus_text: &str, what: &str) -> Option<()> {
    let mut parts = what.split(':');
    let kind = parts.next()?;
    let nice = parts.next()?.parse().ok()?;
    let numbers: Vec<u64> = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    sched_setaffinity(None, &cpus(cpus_text)?).ok()?;
    setpriority_process(None, nice).ok()?;
    // Sleeps must end on time, not up to 50 us later.
    set_current_timer_slack(std::num::NonZeroU64::new(1)).ok()?;
    println!("ready");
    std::io::stdout().flush().ok()?;
    let mut byte = [0];
    std::io::stdin().read_exact(&mut byte).ok()?;
    match (kind, numbers.as_slice()) {
        ("hog", []) => spin(u64::MAX),
        ("sleeper", &[sleep_us, rounds]) => loop {
            std::thread::sleep(Duration::from_micros(sleep_us));
            spin(rounds);
        },
        _ => return None,
    }
    Some(())
}

/// CPU time and waiting time in ns, and number of turns.
fn schedstat(child: &Child) -> String {
    let pid = child.id();
    std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default().trim().into()
}

fn load(seconds: f64, cpus_text: &str, tasks: &[String]) -> Result<(), String> {
    let mut own = CpuSet::new();
    own.set(0);
    sched_setaffinity(None, &own).map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut children = vec![];
    for what in tasks {
        let child = Command::new(&program)
            .args(["--task", cpus_text, what])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let mut ready = [0; 6];
        let out = child.stdout.as_mut().ok_or("no pipe")?;
        out.read_exact(&mut ready).map_err(|error| format!("{what}: {error}"))?;
        children.push(child);
    }
    // All tasks wait now, to be woken in order. The kernel has finished its work after their births
    // by then.
    std::thread::sleep(Duration::from_millis(500));
    let before: Vec<String> = children.iter().map(schedstat).collect();
    println!("load: begins");
    for child in &mut children {
        let input = child.stdin.as_mut().ok_or("no pipe")?;
        input.write_all(b"!").map_err(|error| error.to_string())?;
    }
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let after: Vec<String> = children.iter().map(schedstat).collect();
    for (number, child) in children.iter().enumerate() {
        let ext = std::fs::read_to_string(format!("/proc/{}/sched", child.id()));
        let ext = ext.unwrap_or_default();
        let ext = ext.lines().find(|line| line.starts_with("ext.enabled"));
        let ext = ext.and_then(|line| line.rsplit(' ').next()).unwrap_or("-");
        println!(
            "load: {} pid {} ext {ext} before {} after {}",
            tasks[number],
            child.id(),
            before[number],
            after[number]
        );
    }
    for child in &mut children {
        let pid = Pid::from_child(child);
        let _ = setpriority_process(Some(pid), 0);
        let _ = child.kill();
    }
    for child in &mut children {
        let _ = child.wait();
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.as_slice() {
        [flag, cpus, what] if flag == "--task" => task(cpus, what)
            .ok_or_else(|| format!("{what} is not a task, or {cpus} is not a set of CPUs")),
        [seconds, cpus, tasks @ ..] if !tasks.is_empty() => match seconds.parse() {
            Ok(seconds) => load(seconds, cpus, tasks),
            Err(_) => Err(format!("{seconds} is not a number of seconds")),
        },
        _ => Err("guest-load SECONDS CPUS TASK...".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("guest-load: {message}");
            ExitCode::from(2)
        }
    }
}
