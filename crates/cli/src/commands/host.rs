//! `schedlab host`.

use crate::host_args::{HostArgs, HostFormat, TraceOption};
use crate::terminal::{Output, complain, style};
use crate::{Failure, Status, files};
use schedlab_host::costs::Costs;
use schedlab_host::probe::Probe;
use schedlab_host::{
    Error, GroupChoice, Options, Prepared, Runner, machine_file, measurement, prepared, result,
    runner, this_program,
};
use schedlab_machine::description::Description;
use schedlab_report::table;
use schedlab_workload::{GroupSettings, groups};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status of an interrupted program.
const INTERRUPTED: i32 = 130;

/// Measures a workload, or costs, on the host.
pub fn host(args: &HostArgs, output: &mut Output) -> Result<Status, Failure> {
    if args.as_runner {
        return Ok(runner::run(io::stdin().lock(), io::stdout().lock()).map(|()| Status::Good)?);
    }
    if let Some(path) = &args.out {
        files::check(path)?;
        files::check_replaceable(path, "--out", "a result of `schedlab host`", is_ours)?;
    }
    let choice = match &*args.group {
        "auto" => GroupChoice::Auto,
        "none" => GroupChoice::None,
        path => GroupChoice::At(PathBuf::from(path)),
    };
    let probe = prepared::probe(&choice)?;
    if args.probe {
        return show_probe(args, &probe, output);
    }
    if args.measure {
        return measure(args, &probe, output);
    }
    if args.trace == TraceOption::Own && !probe.switches.yes {
        let paranoid = probe.facts.perf_event_paranoid;
        return Err(Failure::Message(format!(
            "--trace own: switches cannot be recorded: {}; kernel.perf_event_paranoid is {}, 2 or \
             less permits it (`sudo sysctl kernel.perf_event_paranoid=2`), or leave --trace out to \
             measure without slices",
            probe.switches.how,
            paranoid.map_or("unknown".into(), |now| now.to_string())
        )));
    }
    let file = args.file.as_deref().ok_or_else(|| "FILE is missing".to_string())?;
    let source = files::read(file)?;
    let options = Options {
        cpus: args.cpus.clone().map(|cpus| cpus.0),
        runs: args.runs,
        duration_ns: args.duration,
        start: args.start,
        noise_limit: args.noise_limit,
        tries: args.tries,
        group: choice,
        records: args.trace != TraceOption::None,
        records_all: args.trace == TraceOption::All,
        leave_out: args.leave_out,
        settings: settings(&args.groups)?,
    };
    let prepared = Prepared::new(&source.file, &source.text, probe, options)?;
    if args.dry_run {
        output.write_all(prepared.describe().as_bytes())?;
        return Ok(Status::Good);
    }
    for refusal in &prepared.left_out {
        complain(&format!("note: left out: {refusal}"));
    }
    for note in &prepared.notes {
        complain(&format!("note: {note}"));
    }
    let interrupted = listen()?;
    let outcome = prepared.run(&this_as_runner()?, &interrupted, &mut |said| complain(said));
    let outcome = outcome.map_err(ended)?;
    let document = result::document(&prepared, &outcome);
    let written = args.out.as_ref().map(|path| files::write_whole(path, &as_text(&document)));
    // The result of a long measurement is shown even where it cannot be written.
    match args.format {
        HostFormat::Json => {
            output.documents().write_all(as_text(&document).as_bytes())?;
        }
        HostFormat::Table => {
            let (heads, rows) = result::rows(&outcome);
            output.write_all(table::rows(&heads, &rows, style()).as_bytes())?;
            writeln!(output, "{}", result::noise_line(&outcome))?;
        }
    }
    written.transpose()?;
    Ok(if outcome.is_quiet { Status::Good } else { Status::TooNoisy })
}

/// Returns this program as the process that contains the threads.
fn this_as_runner() -> Result<Runner, Failure> {
    let arguments = ["host", "--as-runner"].map(OsString::from);
    let this = this_program(arguments.clone())?;
    // If the Python package calls this function, the program is Python, named by a variable; the
    // path by which it was started finds the package, and the target of a link may not.
    let is_this = |python: &PathBuf| {
        let of = |path: &Path| path.canonicalize().ok();
        of(python).is_some_and(|python| Some(python) == of(&this.program))
    };
    let python = std::env::var_os("SCHEDLAB_PYTHON").map(PathBuf::from).filter(is_this);
    Ok(match python {
        None => this,
        Some(program) => {
            let module = ["-m", "schedlab"].map(OsString::from);
            Runner { program, arguments: module.into_iter().chain(arguments).collect() }
        }
    })
}

/// Returns whether an existing file may be overwritten.
fn is_ours(text: &str) -> bool {
    text.contains(result::FORMAT) || text.contains("schedlab host --measure")
}

fn as_text(document: &Value) -> String {
    document.to_string() + "\n"
}

/// Interrupts are only noted from now on, so that the host is left clean.
fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let noted = interrupted.clone();
    ctrlc::set_handler(move || noted.store(true, Ordering::SeqCst))
        .map_err(|error| format!("cannot listen for interrupts: {error}"))?;
    Ok(interrupted)
}

fn ended(error: Error) -> Failure {
    match error {
        Error::Refused(why) => Failure::Message(why),
        Error::Interrupted => {
            complain(&error.to_string());
            std::process::exit(INTERRUPTED);
        }
    }
}

fn settings(paths: &[PathBuf]) -> Result<GroupSettings, Failure> {
    let mut settings = GroupSettings::default();
    for path in paths {
        let source = files::read(path)?;
        let read = groups::parse(&source.file, &source.text);
        settings.add(read.map_err(|error| error.to_string())?);
    }
    Ok(settings)
}

fn show_probe(args: &HostArgs, probe: &Probe, output: &mut Output) -> Result<Status, Failure> {
    if args.format == HostFormat::Json {
        output.documents().write_all(as_text(&probe.to_json()).as_bytes())?;
        return Ok(Status::Good);
    }
    let facts = &probe.facts;
    writeln!(
        output,
        "Linux {} on {}{}, user {}, kernel.perf_event_paranoid {}, preemption: {}",
        facts.release,
        facts.arch,
        if facts.virtual_machine { " (virtual machine)" } else { "" },
        probe.user,
        facts.perf_event_paranoid.map_or("unknown".into(), |paranoid| paranoid.to_string()),
        facts.preempt
    )?;
    let lines = probe.lines();
    let width = lines.iter().map(|(what, ..)| what.len()).max().unwrap_or(0);
    for (what, yes, how) in lines {
        let line = format!("{what:<width$}  {:<3}  {how}", if yes { "yes" } else { "no" });
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(Status::Good)
}

/// Number of repetitions, whose median is each cost.
const REPETITIONS: u32 = 5;

fn measure(args: &HostArgs, probe: &Probe, output: &mut Output) -> Result<Status, Failure> {
    let cpus = prepared::cpus(args.cpus.as_ref().map(|cpus| &cpus.0[..]), probe)?;
    if !probe.group.yes {
        complain(&format!("note: without a heavily weighted group: {}", probe.group.how));
    }
    let interrupted = listen()?;
    let runner = this_as_runner()?;
    let measured = measurement::measure(probe, &cpus, REPETITIONS, &runner, &interrupted);
    let costs = measured.map_err(ended)?;
    if let Some(why) = machine_file::missing_table(&costs) {
        complain(&format!("note: {why}"));
    }
    let name = args.out.as_deref().and_then(Path::file_stem);
    let name = name.map_or("this-host".into(), |name| name.to_string_lossy().into_owned());
    // Restricted to what this program's simulator reads.
    let with = machine_file::machine_file(&name, &probe.facts, &costs, true);
    let takes_latencies = Description::parse(&name, &with.to_string()).is_ok();
    let file = match takes_latencies {
        true => with,
        false => machine_file::machine_file(&name, &probe.facts, &costs, false),
    };
    let pretty =
        |value: &Value| serde_json::to_string_pretty(value).expect("all keys are strings") + "\n";
    let read = Description::parse(&name, &file.to_string());
    read.map_err(|error| format!("the measurements are not a valid machine: {error}"))?;
    match &args.out {
        Some(path) => {
            files::write_whole(path, &pretty(&file))?;
            write!(output, "{}", summary(&costs, args.format))?;
            complain(&format!("note: the machine's file is {}", path.display()));
            if !takes_latencies {
                let latencies_file = latencies_file(path);
                files::write_whole(&latencies_file, &pretty(&latencies(&costs)))?;
                complain(&format!(
                    "note: the simulator does not read timer_latency and idle_timer_latency yet: \
                     they are in {}",
                    latencies_file.display()
                ));
            }
        }
        None => {
            output.documents().write_all(pretty(&file).as_bytes())?;
            complain(summary(&costs, HostFormat::Table).trim_end());
        }
    }
    Ok(Status::Good)
}

/// Returns the file for other measurements: `here.latencies.json` for `here.json`.
fn latencies_file(path: &Path) -> PathBuf {
    path.with_extension("latencies.json")
}

/// Returns the values that the simulator does not read yet, and all other measurements.
fn latencies(costs: &Costs) -> Value {
    let mut all = serde_json::json!({
        "format": "schedlab-host-latencies/1",
        "source": "measured by `schedlab host --measure`",
        "unit": "ns; tables are [share, ns]",
    });
    for (name, table) in machine_file::latency_tables(costs) {
        all[name] = table;
    }
    all["measured"] = serde_json::to_value(costs).expect("all keys are strings");
    all
}

/// Formats the measurements for people.
fn summary(costs: &Costs, format: HostFormat) -> String {
    if format == HostFormat::Json {
        return serde_json::to_string(costs).expect("all keys are strings") + "\n";
    }
    let ns = |ns: f64| format!("{ns:.1} ns");
    let mut rows = vec![
        ("clock read".to_string(), ns(costs.clock)),
        ("system call that does nothing".into(), ns(costs.null_call)),
        ("sched_yield, alone".into(), ns(costs.yield_alone)),
        ("sched_yield between two threads".into(), ns(costs.yield_between_two)),
        ("futex wakeup, one CPU".into(), ns(costs.futex_hop)),
        ("a byte through a pipe, one CPU".into(), ns(costs.pipe_hop)),
    ];
    if let Some(call) = costs.wake_remote_call {
        rows.push(("waking another CPU, the waker's side".into(), ns(call)));
    }
    for (name, latency) in [
        ("timer, over a hog", &costs.timer_latency),
        ("timer, idle CPU", &costs.idle_timer_latency),
        ("wakeup on another CPU", &costs.wake_remote_latency),
    ] {
        let Some(latency) = latency else { continue };
        let quantiles: Vec<String> = latency
            .quantiles
            .iter()
            .map(|&(share, ns)| format!("p{} {:.1}", share * 100.0, ns as f64 / 1e3))
            .collect();
        rows.push((format!("{name} ({})", latency.of), format!("{} us", quantiles.join(", "))));
    }
    rows.push(match &costs.tick {
        Some(tick) => (
            format!("tick at {} Hz", tick.hz),
            format!("p50 {} ns, p99 {} ns", tick.gap_p50_ns, tick.gap_p99_ns),
        ),
        None => ("tick".into(), "not seen".into()),
    });
    rows.push(("lost to interrupts".into(), format!("{:.2} %", costs.interrupted * 100.0)));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}
