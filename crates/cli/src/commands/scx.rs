//! `schedlab scx`.

use super::scx_log::log;
use crate::scx_args::{ScxArgs, ScxCensusArgs, ScxCommand, ScxFormat, ScxShowArgs};
use crate::terminal::Output;
use crate::{Failure, Status};
use schedlab_lab::plan::{Load, MachineSpec, Plan, Source};
use schedlab_lab::scx;
use schedlab_lab::session::Session;
use schedlab_scx::Image;
use schedlab_scx::image::Variable;
use schedlab_scx::kfuncs::KFUNCS;
use schedlab_scx::ops::Callback;
use schedlab_scx::survey::Survey;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs a subcommand of `schedlab scx`.
pub fn scx(args: &ScxArgs, output: &mut Output) -> Result<Status, Failure> {
    match &args.command {
        ScxCommand::Show(args) => show(args, output),
        ScxCommand::Log(args) => log(args, output),
        ScxCommand::Census(args) => census(args, output),
        #[cfg(feature = "twins")]
        ScxCommand::Twin(args) => super::twin::twin(args, output),
        #[cfg(feature = "twins")]
        ScxCommand::Replay(args) => super::scx_replay::replay(args, output),
    }
}

fn show(args: &ScxShowArgs, output: &mut Output) -> Result<Status, Failure> {
    let object = scx::read(&args.object)?;
    let settings = scx::settings(args.scx_set.iter().map(String::as_str))?;
    let linked = match &args.scx_user {
        Some(user) => scx::link_with(&object, args.cpus, &settings, user),
        None => scx::link(&object, args.cpus, &settings),
    };
    match linked {
        Ok(image) => {
            write_image(&image, &object.survey(), output)?;
            Ok(Status::Good)
        }
        Err(error) => {
            // Shows the contents, and everything that is missing, not only the first item.
            write_survey(&object.file, &object.survey(), output)?;
            output.flush()?;
            Err(Failure::Message(error))
        }
    }
}

fn write_survey(file: &str, survey: &Survey, output: &mut Output) -> io::Result<()> {
    writeln!(output, "{file}: a sched_ext policy that cannot be loaded in its present form")?;
    writeln!(output, "{} instructions", survey.insns)?;
    let mut list = |title: &str, lines: &[String]| -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(output, "\n{title}")?;
        lines.iter().try_for_each(|line| writeln!(output, "  {line}"))
    };
    list("callbacks", &survey.callbacks)?;
    list("maps", &survey.maps)?;
    list("programs that user space runs (--scx-call)", &survey.programs)?;
    list("missing features", &survey.missing)?;
    list("ends the policy when reached", &survey.ends)
}

/// Workload of every policy in a census: hogs of two weights, a task that sleeps, and one that
/// wakes another.
const TRIAL: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "hog": { "instance": 2, "loop": -1, "run": 100000 },
        "nice": { "loop": -1, "priority": 5, "run": 100000 },
        "sleeper": { "loop": -1, "run": 2000, "sleep": 8000 },
        "ping": { "loop": -1, "run": 500, "resume": "ball", "sleep": 3000 },
        "pong": { "loop": -1, "suspend": "ball", "run": 700 }
    }
}"#;

/// Row of a census.
struct Row {
    file: String,
    policy: String,
    survey: Survey,
    loads: bool,
    runs: bool,
    remark: String,
}

fn census(args: &ScxCensusArgs, output: &mut Output) -> Result<Status, Failure> {
    let mut files = vec![];
    for path in &args.paths {
        objects(path, &mut files).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    files.sort();
    files.dedup();
    std::panic::set_hook(Box::new(|_| {}));
    let mut rows: Vec<Row> = vec![];
    for file in &files {
        // Directories of policies also contain other BPF programs.
        let Ok(object) = scx::read(file) else { continue };
        let survey = object.survey();
        let row = trial(file, &object.file, survey);
        rows.push(row);
    }
    if rows.is_empty() {
        let names: Vec<String> = args.paths.iter().map(|it| it.display().to_string()).collect();
        return Err(Failure::Message(format!(
            "{}: no sched_ext policy among {} objects (files that end in .o)",
            names.join(", "),
            files.len()
        )));
    }
    match args.format {
        ScxFormat::Csv => {
            writeln!(
                output,
                "object,policy,instructions,callbacks,helpers,kfuncs,maps,loads,runs,remark"
            )?;
            for row in &rows {
                let one = &row.survey;
                let quoted = row.remark.replace('"', "\"\"");
                writeln!(
                    output,
                    "{},{},{},{},{},{},{},{},{},\"{quoted}\"",
                    row.file,
                    row.policy,
                    one.insns,
                    one.callbacks.len(),
                    one.helpers.len(),
                    one.kfuncs.len(),
                    one.maps.len(),
                    row.loads,
                    row.runs
                )?;
            }
        }
        ScxFormat::Table => {
            let name = |row: &Row| {
                Path::new(&row.file)
                    .file_name()
                    .map_or(row.file.clone(), |name| name.to_string_lossy().into_owned())
            };
            let widest = rows.iter().map(|row| name(row).len()).max().unwrap_or(0).max(6);
            writeln!(
                output,
                "{:<widest$}  insns  calls  helpers  kfuncs  maps  loads  runs  missing features",
                "object"
            )?;
            for row in &rows {
                let one = &row.survey;
                let said = |is: bool| if is { "yes" } else { "no" };
                writeln!(
                    output,
                    "{:<widest$}  {:>5}  {:>5}  {:>7}  {:>6}  {:>4}  {:<5}  {:<4}  {}",
                    name(row),
                    one.insns,
                    one.callbacks.len(),
                    one.helpers.len(),
                    one.kfuncs.len(),
                    one.maps.len(),
                    said(row.loads),
                    said(row.runs),
                    row.remark
                )?;
            }
            let (load, run) = (
                rows.iter().filter(|row| row.loads).count(),
                rows.iter().filter(|row| row.runs).count(),
            );
            writeln!(output, "{} policies: {load} load, {run} run", rows.len())?;
        }
    }
    Ok(Status::Good)
}

/// Collects all objects at a path.
fn objects(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.metadata()?.is_dir() {
        found.push(path.to_path_buf());
        return Ok(());
    }
    let mut inside: Vec<PathBuf> = std::fs::read_dir(path)?
        .map(|entry| entry.map(|it| it.path()))
        .collect::<Result<_, _>>()?;
    inside.sort();
    for path in inside {
        // Links may form a loop.
        let Ok(kind) = path.symlink_metadata() else { continue };
        if kind.is_dir() {
            objects(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "o") {
            found.push(path);
        }
    }
    Ok(())
}

/// Loads and runs a policy.
fn trial(path: &Path, file: &str, survey: Survey) -> Row {
    let mut row = Row {
        file: file.into(),
        policy: String::new(),
        survey,
        loads: false,
        runs: false,
        remark: String::new(),
    };
    let name = format!("{}{}", scx::PREFIX, path.display());
    let load = Load::Workload(Source { file: "trial".into(), text: TRIAL.into() });
    let machine = MachineSpec { cpus: Some(2), ..MachineSpec::default() };
    let plan = Plan { machine, ..Plan::new(load, vec![name]) };
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_string();
    let prepared = match schedlab_lab::catch_panic(|| plan.prepare()) {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(error)) => {
            let error = first_line(error.to_string());
            row.remark = match row.survey.missing.as_slice() {
                [] => error,
                missing => missing.join("; "),
            };
            return row;
        }
        Err(message) => {
            row.remark = first_line(message);
            return row;
        }
    };
    row.loads = true;
    let contender = &prepared.schedulers()[0];
    row.policy = contender.choice.entry.name.trim_start_matches("scx_").to_string();
    match prepared.session(contender).and_then(Session::finish) {
        Ok(_) => row.runs = true,
        Err(error) => row.remark = first_line(error.to_string()),
    }
    if row.runs && !row.survey.ends.is_empty() {
        row.remark = format!("not reached: {}", row.survey.ends.join(", "));
    }
    row
}

fn write_image(image: &Image, survey: &Survey, output: &mut Output) -> io::Result<()> {
    let ops = image.ops;
    writeln!(output, "{}: sched_ext policy {}", image.file, image.name)?;
    writeln!(
        output,
        "flags {:#x}, timeout_ms {}, dispatch_max_batch {} (0: the default), {} instructions",
        ops.flags,
        ops.timeout_ms,
        ops.dispatch_max_batch,
        image.code.len()
    )?;
    writeln!(output, "\ncallbacks")?;
    for number in 0..Callback::COUNT {
        let callback = Callback(number as u8);
        let function = image.callback(callback).and_then(|pc| image.function_at(pc));
        if let Some(function) = function {
            let (name, insns) = (callback.name(), function.code.len());
            writeln!(output, "  {name:<20} {} ({insns} instructions)", function.name)?;
        }
    }
    let mut list = |title: &str, lines: Vec<String>| -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(output, "\n{title}")?;
        lines.iter().try_for_each(|line| writeln!(output, "  {line}"))
    };
    let maps = image.maps.iter().map(|map| {
        let (kind, entries) = (map.kind.name(), map.max_entries);
        let sizes = format!("key {} B, value {} B", map.key_size, map.value_size);
        format!("{:<20} {kind}, max_entries {entries}, {sizes}", map.name)
    });
    list("maps", maps.collect())?;
    let settable = image.variables.iter().filter(|variable| !image.is_internal(variable));
    let constant = |variable: &&Variable| !image.data[variable.data].is_writable;
    list("settings (constant during a run)", {
        settable.clone().filter(constant).map(|variable| describe(image, variable)).collect()
    })?;
    list("variables", {
        let others = settable.filter(|variable| !constant(variable));
        others.map(|variable| describe(image, variable)).collect()
    })?;
    list("kernel functions", {
        image.kfuncs.iter().map(|&number| KFUNCS[number].name.into()).collect()
    })?;
    list("absent optional features", image.absent.clone())?;
    list("programs that user space runs (--scx-call)", survey.programs.clone())?;
    let ends = image.poisons.iter().chain(&survey.ends).cloned();
    list("ends the policy when reached", ends.collect())?;
    list("never called here", image.never_called.clone())
}

/// Describes a variable: name, value, type.
fn describe(image: &Image, variable: &Variable) -> String {
    let (name, size) = (&variable.name, variable.size);
    let ty = match variable.type_name.as_str() {
        "" => format!("{size} B"),
        ty => format!("{ty}, {size} B"),
    };
    if let Some(element) = variable.element.filter(|&element| element > 0) {
        return format!("{name:<20} {} elements ({ty})", size / element);
    }
    let start = variable.offset as usize;
    let bytes = image.data[variable.data].bytes.get(start..start + size as usize);
    match bytes {
        Some(bytes) if matches!(size, 1 | 2 | 4 | 8) => {
            let bits = bytes.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
            match variable.is_signed {
                true => format!("{name:<20} {} ({ty})", variable.number(bits, size)),
                false => format!("{name:<20} {bits} ({ty})"),
            }
        }
        _ => format!("{name:<20} ({ty})"),
    }
}
