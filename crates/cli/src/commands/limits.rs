//! `schedlab limits`.

use crate::files;
use crate::limits_args::LimitsArgs;
use crate::options::RunFormat;
use crate::plans::{find_machine, newest};
use crate::terminal::{Output, Spinner, complain, style};
use crate::traced::is_trace;
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::{Groups, Load, MachineSpec, Plan};
use schedlab_space::limits::{Limits, LimitsSpec};
use std::io::Write;

mod document;
mod text;

/// Runs a workload under limits of a group.
pub fn limits(args: &LimitsArgs, output: &mut Output) -> Result<Status, Failure> {
    let spec = spec(args)?;
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let spinner = Spinner::new("runs");
    let threads = args.cores.unwrap_or_else(parallel::cores);
    let limits = Limits::run(&spec, threads, || spinner.tick())?;
    drop(spinner);
    for note in &limits.notes {
        complain(&format!("note: {note}"));
    }
    let name = spec.plan.load.name();
    match args.format {
        RunFormat::Table => output.write_styled(&text::text(name, &limits, style()))?,
        RunFormat::Csv => write!(output.documents(), "{}", document::csv(&limits))?,
        RunFormat::Json => {
            let text = serde_json::to_string_pretty(&document::json(name, &limits));
            writeln!(output.documents(), "{}", text.map_err(|error| error.to_string())?)?;
        }
    }
    let is_missed = !spec.aims.is_empty() && limits.best().is_none();
    Ok(if is_missed { Status::Bad } else { Status::Good })
}

/// Returns the limits that the options describe.
fn spec(args: &LimitsArgs) -> Result<LimitsSpec, Failure> {
    let file = args.file.display();
    if is_trace(&args.file) {
        return Err(Failure::Message(format!(
            "{file}: this is a recording; `schedlab limits` takes workloads. Try limits on it one \
             by one, `schedlab replay {file} --change 'group {} cpu.max=20000 100000'`, or write \
             its work as a workload, `schedlab replay {file} --write work.json`",
            args.group
        )));
    }
    let source = files::read(&args.file)?;
    if Plan::is_plan(&source.text) {
        return Err(Failure::Message(format!(
            "{file}: this is a plan; `schedlab limits` takes the workload itself"
        )));
    }
    let mut groups = Groups::default();
    for path in &args.groups {
        groups.files.push(files::read(path)?);
    }
    let scheduler = args.scheduler.clone().unwrap_or_else(newest);
    let plan = Plan {
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            hz: args.hz,
            // The first of several is enough to check the plan.
            cpus: args.cpus.first().copied(),
            ..MachineSpec::default()
        },
        set: args.set.clone(),
        groups,
        limit_ns: args.duration,
        seed: Some(args.seed),
        repeat: args.repeat,
        late_starts: true,
        ..Plan::new(Load::Workload(source), vec![scheduler])
    };
    Ok(LimitsSpec {
        plan,
        group: args.group.clone(),
        quotas: args.quota.clone(),
        periods_us: args.period.clone(),
        bursts_us: args.burst.clone(),
        cpus: args.cpus.clone(),
        aims: args.aims.clone(),
    })
}
