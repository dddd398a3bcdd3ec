//! `schedlab scx`.

use super::scx_replay::Recorded;
use crate::scx_args::{
    ScxArgs, ScxCensusArgs, ScxCommand, ScxFormat, ScxLogArgs, ScxLogFormat, ScxShowArgs,
};
use crate::terminal::Output;
use crate::traced::{SourceArgs, Traced};
use crate::{Failure, Status};
use schedlab_lab::plan::{Load, MachineSpec, Plan, Source};
use schedlab_lab::scx;
use schedlab_scx::Image;
use schedlab_scx::counts::CallCounts;
use schedlab_scx::end::End;
use schedlab_scx::image::Variable;
use schedlab_scx::kfuncs::KFUNCS;
use schedlab_scx::log::{Entry, Log, Summary, Witness};
use schedlab_scx::ops::Callback;
use schedlab_scx::survey::Survey;
use schedlab_scx::twins::decision::SETTING;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Looks at policies.
pub fn scx(args: &ScxArgs, output: &mut Output) -> Result<Status, Failure> {
    match &args.command {
        ScxCommand::Show(args) => show(args, output),
        ScxCommand::Log(args) => log(args, output),
        ScxCommand::Census(args) => census(args, output),
        ScxCommand::Twin(args) => super::twin::twin(args, output),
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
            // What is there, and all that is missing, not only the first.
            write_survey(&object.file, &object.survey(), output)?;
            output.flush()?;
            Err(Failure::Message(error))
        }
    }
}

fn write_survey(file: &str, survey: &Survey, output: &mut Output) -> io::Result<()> {
    writeln!(output, "{file}: a sched_ext policy that cannot be loaded as it is")?;
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
    list("missing to run it", &survey.missing)?;
    list("ends the policy if it gets there", &survey.ends)
}

/// Lines of a log, and what is told of it in the end.
pub(super) struct Lines {
    wanted: Vec<String>,
    from_ns: u64,
    to_ns: u64,
    format: ScxFormat,
    /// Only what is counted.
    counts_only: bool,
    text: String,
    counts: String,
    end: Option<End>,
}

impl Lines {
    /// All callbacks of some time, in a table.
    pub(super) fn between(from_ns: u64, to_ns: u64) -> Lines {
        Lines {
            wanted: vec![],
            from_ns,
            to_ns,
            format: ScxFormat::Table,
            counts_only: false,
            text: String::new(),
            counts: String::new(),
            end: None,
        }
    }
}

/// What policies did while something ran, as text, and what came of it.
pub(super) fn ran_with<T>(lines: Lines, run: impl FnOnce() -> T) -> (String, T) {
    let lines = Arc::new(Mutex::new(lines));
    scx::log_all(Some(Log::new(Arc::clone(&lines) as Arc<Mutex<dyn Witness>>)));
    let result = run();
    scx::log_all(None);
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    (lines.text.clone(), result)
}

impl Witness for Lines {
    fn entry(&mut self, entry: &Entry) {
        let is_wanted = self.wanted.is_empty() || self.wanted.iter().any(|it| it == entry.name);
        if self.counts_only || !is_wanted || !(self.from_ns..=self.to_ns).contains(&entry.at_ns) {
            return;
        }
        let Entry { at_ns, cpu, name, depth, pid, text, result, insns } = entry;
        let pid = pid.map_or(String::new(), |pid| pid.to_string());
        let result = result.map_or(String::new(), |result| result.to_string());
        let text = text.trim_end();
        match self.format {
            ScxFormat::Csv => {
                let quoted = text.replace('"', "\"\"");
                let _ =
                    writeln!(self.text, "{at_ns},{cpu},{name},{pid},\"{quoted}\",{result},{insns}");
            }
            ScxFormat::Table => {
                let seconds = format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000);
                let name = format!("{}{name}", "  ".repeat(*depth));
                let arrow = if result.is_empty() { String::new() } else { format!(" = {result}") };
                let _ = writeln!(
                    self.text,
                    "{seconds:>14} {cpu:>4} {name:<18} {pid:>6} {insns:>6}  {text}{arrow}"
                );
            }
        }
    }

    fn ended(&mut self, end: &End) {
        self.end = Some(end.clone());
    }

    fn finished(&mut self, summary: &Summary<'_>) {
        let counts = summary.counts;
        if counts.callbacks.iter().any(|one| one.calls > 0) {
            self.counts = counted(summary);
        }
    }
}

/// Calls and instructions of a run, as tables.
fn counted(summary: &Summary<'_>) -> String {
    let counts = summary.counts;
    let mut out = String::new();
    let row = |out: &mut String, name: &str, one: &CallCounts| {
        let mean = one.insns as f64 / one.calls.max(1) as f64;
        let (calls, insns, most) = (one.calls, one.insns, one.insns_max);
        let _ = writeln!(out, "  {name:<20} {calls:>10} {insns:>12} {mean:>9.1} {most:>8}");
    };
    let _ = writeln!(
        out,
        "{:<22} {:>10} {:>12} {:>9} {:>8}",
        "callbacks", "calls", "instructions", "mean", "most"
    );
    let mut all = CallCounts::default();
    for (number, one) in counts.callbacks.iter().enumerate().filter(|(_, one)| one.calls > 0) {
        row(&mut out, Callback(number as u8).name(), one);
        all.calls += one.calls;
        all.insns += one.insns;
        all.insns_max = all.insns_max.max(one.insns_max);
    }
    if counts.timers.calls > 0 {
        row(&mut out, "timers", &counts.timers);
    }
    row(&mut out, "all callbacks", &all);
    let per_switch = all.insns as f64 / counts.switches.max(1) as f64;
    let _ = writeln!(out, "  {} switches, {per_switch:.1} instructions each", counts.switches);
    if !counts.helpers.is_empty() {
        let _ = writeln!(out, "\nhelpers");
    }
    for (number, calls) in &counts.helpers {
        let name = schedlab_scx::helpers::name(*number).unwrap_or("?");
        let _ = writeln!(out, "  {name:<28} {calls:>10}");
    }
    if counts.kfuncs.iter().any(|&calls| calls > 0) {
        let _ = writeln!(out, "\nkernel functions");
    }
    for (&known, &calls) in summary.image.kfuncs.iter().zip(&counts.kfuncs) {
        if calls > 0 {
            let _ = writeln!(out, "  {:<28} {calls:>10}", KFUNCS[known].name);
        }
    }
    let maps = &summary.maps;
    if !maps.is_empty() {
        let _ =
            writeln!(out, "\n{:<22} {:>10} {:>10} {:>10}", "maps", "lookups", "updates", "deletes");
    }
    for (name, uses) in maps {
        let (lookups, updates, deletes) = (uses.lookups, uses.updates, uses.deletes);
        let _ = writeln!(out, "  {name:<20} {lookups:>10} {updates:>10} {deletes:>10}");
    }
    out
}

fn log(args: &ScxLogArgs, output: &mut Output) -> Result<Status, Failure> {
    let source = match &args.workload {
        None => args.source.clone(),
        Some(workload) => {
            if args.source.scheduler.is_some() {
                let message = "--scheduler: the policy is the object that stands first";
                return Err(Failure::Message(message.into()));
            }
            let object = format!("{}{}", scx::PREFIX, args.source.file.display());
            let scheduler = Some(object);
            SourceArgs { file: workload.clone(), scheduler, ..args.source.clone() }
        }
    };
    let source = match (&args.format, source.scheduler) {
        (ScxLogFormat::Decisions, Some(name)) if scx::is_spec(&name) => {
            let logs = [format!("{}=1", SETTING)];
            let names = scx::with_settings(vec![name], &logs, "--format decisions")?;
            SourceArgs { scheduler: Some(names.join(",")), ..source }
        }
        (_, scheduler) => SourceArgs { scheduler, ..source },
    };
    let known = |name: &str| {
        Callback::find(name).is_some()
            || ["timer", "printk", "ringbuf", "syscall", "user"].contains(&name)
    };
    if let Some(unknown) = args.callback.iter().find(|name| !known(name)) {
        return Err(Failure::Message(format!(
            "--callback: there is no callback {unknown}; there are {}",
            Callback::NAMES.join(", ")
        )));
    }
    let traced = source.open()?;
    let is_policy = match &traced {
        Traced::Run(prepared) => {
            prepared.schedulers().iter().any(|one| scx::is_policy(&one.choice))
        }
        Traced::Recorded { .. } => false,
    };
    if !is_policy {
        let message = "scx log: name a policy, by --scheduler scx:OBJECT";
        return Err(Failure::Message(message.into()));
    }
    if let (ScxLogFormat::Decisions, Traced::Run(prepared)) = (args.format, &traced) {
        let recorded = Arc::new(Mutex::new(Recorded::default()));
        scx::log_all(Some(Log::new(Arc::clone(&recorded) as Arc<Mutex<dyn Witness>>)));
        let ran = traced.show(|_| ());
        scx::log_all(None);
        ran?;
        let recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
        write!(output, "{}", recorded.text(prepared)?)?;
        return Ok(Status::Good);
    }
    let format = match args.format {
        ScxLogFormat::Csv => ScxFormat::Csv,
        ScxLogFormat::Table | ScxLogFormat::Decisions => ScxFormat::Table,
    };
    let lines = Arc::new(Mutex::new(Lines {
        wanted: args.callback.clone(),
        from_ns: args.from.unwrap_or(0),
        to_ns: args.to.unwrap_or(u64::MAX),
        format,
        counts_only: args.counts,
        text: String::new(),
        counts: String::new(),
        end: None,
    }));
    scx::log_all(Some(Log::new(Arc::clone(&lines) as Arc<Mutex<dyn Witness>>)));
    let ran = traced.show(|_| ());
    scx::log_all(None);
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    match format {
        ScxFormat::Csv => {
            writeln!(output, "time_ns,cpu,callback,pid,arguments,result,instructions")?;
            output.write_all(lines.text.as_bytes())?;
        }
        ScxFormat::Table => {
            if !args.counts {
                writeln!(
                    output,
                    "{:>14} {:>4} {:<18} {:>6} {:>6}  arguments",
                    "time", "CPU", "callback", "pid", "insns"
                )?;
                output.write_all(lines.text.as_bytes())?;
                writeln!(output)?;
            }
            output.write_all(lines.counts.as_bytes())?;
            if let Some(end) = &lines.end {
                writeln!(output, "\n{}", end.dump)?;
            }
        }
    }
    output.flush()?;
    ran?;
    Ok(Status::Good)
}

/// What every policy of a census runs: hogs of two weights, a task that sleeps, one that wakes
/// another.
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

/// A row of a census.
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
        // Other BPF programs lie beside policies.
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
                "{:<widest$}  insns  calls  helpers  kfuncs  maps  loads  runs  what is missing",
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

/// All objects at a path.
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
        // A link may lead round.
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
    match prepared.run(contender) {
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
    list("settings (constant while it runs)", {
        settable.clone().filter(constant).map(|variable| describe(image, variable)).collect()
    })?;
    list("variables", {
        let others = settable.filter(|variable| !constant(variable));
        others.map(|variable| describe(image, variable)).collect()
    })?;
    list("kernel functions", {
        image.kfuncs.iter().map(|&number| KFUNCS[number].name.into()).collect()
    })?;
    list("asked for and not there (it can do without)", image.absent.clone())?;
    list("programs that user space runs (--scx-call)", survey.programs.clone())?;
    let ends = image.poisons.iter().chain(&survey.ends).cloned();
    list("ends the policy if it gets there", ends.collect())?;
    list("never called here", image.never_called.clone())
}

/// A variable: name, value, type.
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
