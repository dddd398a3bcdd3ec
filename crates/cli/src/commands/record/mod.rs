//! `schedlab record`: records a schedule with perf or through tracefs, with a side file of what a
//! trace does not contain.

mod side;

use crate::files::{self, NewFile};
use crate::terminal::{Output, complain};
use crate::trace_args::{RecordArgs, Tool};
use crate::{Failure, Status};
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
    match (args.with, has_perf(), &tracefs) {
        (Some(Tool::Perf) | None, true, Ok(tracefs)) => perf(args, tracefs, &command)?,
        (Some(Tool::Perf), false, _) => {
            return Err(Failure::Message(
                "perf is not installed; install it (Debian: linux-perf), or leave out \
                 --with"
                    .into(),
            ));
        }
        (_, _, Ok(tracefs)) => through_tracefs(args, tracefs, &command)?,
        (_, _, Err(why)) => {
            return Err(Failure::Message(format!(
                "{why}; recording the whole machine needs root; without it `schedlab record \
                 --side-only` writes the side file, and a trace of another tool can be \
                 read"
            )));
        }
    }
    side.look(root);
    let name = args.output.file_name().map(|name| name.to_string_lossy().into_owned());
    files::write_whole(&side_file, &side.to_json(root, name.as_deref()))?;
    let shown = args.output.display();
    let trace = Trace::open(&args.output).and_then(|trace| trace.read(&mut ()));
    let reading = trace.map_err(|error| format!("{shown}: {error}"))?;
    crate::traced::warn_of_problems(&shown.to_string(), &reading);
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

fn perf(args: &RecordArgs, tracefs: &Path, command: &[std::ffi::OsString]) -> Result<(), Failure> {
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
    let status = perf.status().map_err(|error| format!("perf cannot be started: {error}"))?;
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

/// An instance of tracefs, which is removed at the end.
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("tracing_on"), "0");
        let _ = fs::write(self.0.join("events/enable"), "0");
        if let Err(error) = fs::remove_dir(&self.0) {
            complain(&format!("warning: {} could not be removed: {error}", self.0.display()));
        }
    }
}

fn through_tracefs(
    args: &RecordArgs,
    tracefs: &Path,
    command: &[std::ffi::OsString],
) -> Result<(), Failure> {
    let place = tracefs.join(format!("instances/schedlab-{}", std::process::id()));
    fs::create_dir(&place).map_err(|error| {
        format!("{}: cannot be created: {error}; recording needs root", place.display())
    })?;
    let instance = Instance(place);
    let set = |name: &str, value: &str| {
        let path = instance.0.join(name);
        fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
    };
    set("buffer_size_kb", BUFFER_KIB)?;
    set("trace_clock", "mono")?;
    for event in events(tracefs) {
        set(&format!("events/sched/{event}/enable"), "1")?;
    }
    let (program, arguments) = command.split_first().ok_or("the command is missing".to_string())?;
    let status = Command::new(program).args(arguments).status();
    set("tracing_on", "0")?;
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
    let mut text = fs::File::open(instance.0.join("trace")).map_err(cannot)?;
    let (new, mut file) = NewFile::create(&args.output)?;
    io::copy(&mut text, &mut file).map_err(cannot)?;
    drop(file);
    new.finish()?;
    Ok(())
}
