//! `schedlab bisect`.

use crate::bisect_args::BisectArgs;
use crate::files;
use crate::options::ListFormat;
use crate::plans::{contradiction, find_machine};
use crate::terminal::{Output, Progress, Spinner, complain, style};
use crate::traced::is_trace;
use crate::{Failure, Status};
use schedlab_lab::explain::Parting;
use schedlab_lab::parallel;
use schedlab_lab::plan::{Groups, Load, MachineSpec, Plan, Timetable};
use schedlab_space::bisect::{Bisect, Causes, Point, Step, Walk, metric_of};
use std::io::Write;
use std::path::PathBuf;

mod document;
mod text;

/// A step that counts, and what was found about it.
struct Examined {
    step: Step,
    causes: Causes,
    /// The first decision in which the two sides part, or the reason why it was not found.
    parting: Result<Option<Parting>, String>,
}

/// Runs every point of the walk, and examines the steps that change the figure.
pub fn bisect(args: &BisectArgs, output: &mut Output) -> Result<Status, Failure> {
    let plan = plan(args)?;
    let name = plan.load.name().to_string();
    let walk = Walk::between(&plan, &args.from, &args.to)?;
    let metric = metric_of(&args.metric, &walk)?;
    for note in &walk.notes {
        complain(&format!("note: {note}"));
    }
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let progress = Progress::new(walk.points.len() as u64, "releases and settings");
    let bisect = Bisect::run(walk, metric, args.threshold / 100.0, threads, || progress.tick())?;
    drop(progress);
    let spinner = Spinner::new("runs with single differences");
    let steps = bisect.steps().into_iter().filter(|step| bisect.counts(step));
    let examined: Vec<Examined> = steps
        .map(|step| Examined {
            step,
            causes: bisect.causes(&step, threads, || spinner.tick()),
            parting: bisect.parting(&step),
        })
        .collect();
    drop(spinner);
    match args.format {
        ListFormat::Table => {
            let explained = |point: &Point, at_ns| explanation(args, point, at_ns);
            let text = text::text(&name, &explained, args.threshold, &bisect, &examined, style());
            output.write_styled(&text)?;
        }
        ListFormat::Json => {
            let document = document::document(&name, args.threshold, &bisect, &examined);
            let text = serde_json::to_string_pretty(&document);
            writeln!(output.documents(), "{}", text.map_err(|error| error.to_string())?)?;
        }
    }
    Ok(if examined.is_empty() { Status::Bad } else { Status::Good })
}

/// Returns the command that explains a moment of the first run of a point. `None`: there is none,
/// because plans name other schedulers, and `explain` lacks some of the options.
fn explanation(args: &BisectArgs, point: &Point, at_ns: u64) -> Option<String> {
    let (prepared, _) = point.side()?;
    let plan = prepared.plan();
    let has_other = args.hz.is_some() || !args.at.is_empty() || args.repeat.is_some();
    let is_plan = files::begins(&args.file, Plan::is_plan);
    if is_plan || has_other || !matches!(plan.load, Load::Workload(_)) {
        return None;
    }
    let mut words = vec!["schedlab explain".into(), quoted(&args.file.display().to_string())];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {}", quoted(&value))));
    };
    let path = |path: &PathBuf| Some(path.display().to_string());
    option("cpus", args.cpus.map(|cpus| cpus.to_string()));
    option("machine", args.machine.clone());
    option("duration", args.duration.map(|ns| format!("{ns}ns")));
    // The plan has only the tunables that this point has.
    plan.set.iter().for_each(|(name, value)| option("set", Some(format!("{name}={value}"))));
    args.groups.iter().for_each(|file| option("groups", path(file)));
    args.group.iter().for_each(|group| option("group", Some(group.clone())));
    args.timetable.iter().for_each(|file| option("timetable", path(file)));
    option("seed", args.seed.map(|seed| seed.to_string()));
    option("scheduler", plan.schedulers.first().cloned());
    option("at", Some(format!("{at_ns}ns")));
    Some(words.join(" "))
}

/// Quotes a word for a shell, if that is necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:=,%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Identifiers of options that select what is compared.
const COMPARISON: [&str; 6] = ["metric", "from", "to", "threshold", "threads", "format"];

/// Returns the plan in the file, or the plan that the options describe. Its schedulers do not
/// count.
fn plan(args: &BisectArgs) -> Result<Plan, Failure> {
    if is_trace(&args.file) {
        let file = quoted(&args.file.display().to_string());
        return Err(Failure::Message(format!(
            "{file}: this is a trace; write its work as a workload, `schedlab replay {file} --write \
             work.json`, and give that file"
        )));
    }
    let source = files::read(&args.file)?;
    if Plan::is_plan(&source.text) {
        if let Some(option) = args.given.first_option::<BisectArgs>(&COMPARISON) {
            return Err(Failure::Message(contradiction(&source.file, &option)));
        }
        return Ok(Plan::parse(&source.file, &source.text).map_err(|error| error.to_string())?);
    }
    Ok(Plan {
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus,
            hz: args.hz,
            ..MachineSpec::default()
        },
        set: args.set.clone(),
        groups: Groups {
            files: files::read_all(&args.groups)?,
            settings: args.group.clone(),
            ..Groups::default()
        },
        timetable: Timetable { files: files::read_all(&args.timetable)?, actions: args.at.clone() },
        limit_ns: args.duration,
        seed: args.seed,
        repeat: args.repeat.unwrap_or(1),
        late_starts: args.repeat.is_some(),
        ..Plan::new(Load::Workload(source), vec![])
    })
}
