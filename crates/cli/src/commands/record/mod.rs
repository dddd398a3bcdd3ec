//! `schedlab record`: records a schedule with perf or through tracefs, with a side file of what a
//! trace does not contain.

mod attach;
mod hierarchies;
mod instance;
mod machine;
mod names;
mod proc;
mod side;
mod watch;

use crate::files::{self, NewFile};
use crate::terminal::{Output, complain};
use crate::trace_args::{RecordArgs, Tool};
use crate::{Failure, Status};
use attach::Attaches;
use instance::Instance;
use names::Names;
use schedlab_trace::read::Trace;
use side::Side;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Events that are recorded, where the kernel has them.
const EVENTS: [&str; 8] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
];

/// Possible mount points of tracefs.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Size of each CPU's buffer in tracefs, KiB.
const BUFFER_KIB: &str = "32768";

/// Records the schedule of this machine.
pub fn record(args: &RecordArgs, output: &mut Output) -> Result<Status, Failure> {
    let side_file = side_file(&args.output);
    let root = Path::new("/");
    if !root.join("proc/self/stat").exists() {
        return Err(Failure::Message("recording needs Linux".into()));
    }
    let mut side = Side::default();
    side.look(root);
    if args.side_only {
        files::write_whole(&side_file, &side.to_json(root, None))?;
        writeln!(output, "{}: {} threads", side_file.display(), side.tasks())?;
        return Ok(Status::Good);
    }
    files::check(&args.output)?;
    check_replaceable(&args.output)?;
    let tracefs = tracefs();
    let command = command(args);
    let mut attaches = tracefs.as_ref().ok().and_then(|tracefs| Attaches::begin(tracefs));
    let mut look = || {
        let events = attaches.as_mut().map_or(vec![], Attaches::take);
        side.look_again(root, &events);
    };
    match (args.with, has_perf(), &tracefs) {
        (Some(Tool::Perf) | None, true, Ok(tracefs)) => perf(args, tracefs, &command, &mut look)?,
        (Some(Tool::Perf), false, _) => {
            return Err(Failure::Message(
                "perf is not installed; install it (Debian: linux-perf), or leave out \
                 --with"
                    .into(),
            ));
        }
        (_, _, Ok(tracefs)) => through_tracefs(args, tracefs, &command, &mut look)?,
        (_, _, Err(why)) => {
            return Err(Failure::Message(format!(
                "{why}; recording the whole machine needs root; without it `schedlab record \
                 --side-only` writes the side file, and a trace of another tool can be \
                 read"
            )));
        }
    }
    look();
    drop(attaches);
    let name = args.output.file_name().map(|name| name.to_string_lossy().into_owned());
    files::write_whole(&side_file, &side.to_json(root, name.as_deref()))?;
    let shown = args.output.display();
    let mut names = Names::default();
    let trace = Trace::open(&args.output).and_then(|trace| trace.read(&mut names));
    let reading = trace.map_err(|error| format!("{shown}: {error}"))?;
    crate::traced::warn_of_problems(&shown.to_string(), &reading);
    if let Some(unseen) = names.unseen(&side) {
        complain(&unseen);
    }
    let header = &reading.header;
    writeln!(
        output,
        "{shown}: {} events of {} tasks on {} CPUs, with {} of {} threads",
        header.events,
        header.tasks,
        header.cpus,
        side_file.display(),
        side.tasks()
    )?;
    Ok(Status::Good)
}

/// Returns the side file of a trace: `desk.data.side.json`.
fn side_file(trace: &Path) -> PathBuf {
    let mut name = trace.file_name().unwrap_or_default().to_os_string();
    name.push(".side.json");
    trace.with_file_name(name)
}

/// Checks that only an earlier recording would be overwritten.
fn check_replaceable(path: &Path) -> Result<(), Failure> {
    let there = path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0);
    if !there || Trace::open(path).is_ok_and(|trace| trace.read(&mut ()).is_ok()) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "--output: {} exists and is not a trace, so it is not overwritten; name another file",
        path.display()
    )))
}

/// Finds the kernel's tracepoints, or returns why they are not available.
fn tracefs() -> Result<PathBuf, String> {
    for place in TRACEFS {
        let place = PathBuf::from(place);
        match fs::read(place.join("events/sched/sched_switch/id")) {
            Ok(_) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!("{} may not be read", place.display()));
            }
            Err(_) => {}
        }
    }
    Err("the kernel's tracepoints were not found: mount tracefs (`mount -t tracefs nodev \
         /sys/kernel/tracing`), or get permission to read it"
        .into())
}

fn has_perf() -> bool {
    Command::new("perf").arg("--version").output().is_ok_and(|run| run.status.success())
}

/// Returns the events that this kernel has.
fn events(tracefs: &Path) -> impl Iterator<Item = &'static str> {
    let directory = tracefs.join("events/sched");
    EVENTS.into_iter().filter(move |event| directory.join(event).is_dir())
}

/// Returns the command to run during the recording.
fn command(args: &RecordArgs) -> Vec<std::ffi::OsString> {
    match &*args.command {
        [] => {
            let seconds = Duration::from_nanos(args.seconds.unwrap_or(5_000_000_000)).as_secs_f64();
            vec!["sleep".into(), seconds.to_string().into()]
        }
        command => command.to_vec(),
    }
}

fn perf(
    args: &RecordArgs,
    tracefs: &Path,
    command: &[std::ffi::OsString],
    look: &mut dyn FnMut(),
) -> Result<(), Failure> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-a", "-m", "4096"]);
    for event in events(tracefs) {
        perf.arg("-e").arg(format!("sched:{event}"));
    }
    // Written under a temporary name first, so that a failure keeps the old file.
    let mut name = args.output.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = args.output.with_file_name(name);
    perf.arg("-o").arg(&temporary).arg("--").args(command);
    let status =
        watch::run(&mut perf, look).map_err(|error| format!("perf cannot be started: {error}"))?;
    if !temporary.metadata().is_ok_and(|there| there.len() > 0) {
        return Err(Failure::Message(format!(
            "perf recorded nothing ({status}); it needs root, or CAP_PERFMON and \
             kernel.perf_event_paranoid -1"
        )));
    }
    if !status.success() {
        complain(&format!("warning: perf, or the command, ended with {status}"));
    }
    fs::rename(&temporary, &args.output)
        .map_err(|error| format!("{}: cannot be written: {error}", args.output.display()))?;
    Ok(())
}

fn through_tracefs(
    args: &RecordArgs,
    tracefs: &Path,
    command: &[std::ffi::OsString],
    look: &mut dyn FnMut(),
) -> Result<(), Failure> {
    let place = tracefs.join(format!("instances/schedlab-{}", std::process::id()));
    let shown = place.display().to_string();
    let instance = Instance::create(place)
        .map_err(|error| format!("{shown}: cannot be created: {error}; recording needs root"))?;
    instance.set("buffer_size_kb", BUFFER_KIB)?;
    instance.set("trace_clock", "mono")?;
    for event in events(tracefs) {
        instance.set(&format!("events/sched/{event}/enable"), "1")?;
    }
    let (program, arguments) = command.split_first().ok_or("the command is missing".to_string())?;
    let status = watch::run(Command::new(program).args(arguments), look);
    instance.set("tracing_on", "0")?;
    match status {
        Ok(status) if !status.success() => {
            complain(&format!("warning: the command ended with {status}"));
        }
        Ok(_) => {}
        Err(error) => {
            let program = program.to_string_lossy();
            return Err(Failure::Message(format!("{program}: cannot be started: {error}")));
        }
    }
    let cannot = |error| format!("{}: cannot be written: {error}", args.output.display());
    let mut text = fs::File::open(instance.file("trace")).map_err(cannot)?;
    let (new, mut file) = NewFile::create(&args.output)?;
    io::copy(&mut text, &mut file).map_err(cannot)?;
    drop(file);
    new.finish()?;
    Ok(())
}
