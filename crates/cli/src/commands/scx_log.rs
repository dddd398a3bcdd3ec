//! `schedlab scx log`: the callbacks of a policy, as text.

#[cfg(feature = "twins")]
use super::scx_replay::DecisionRecorder;
use crate::scx_args::{ScxFormat, ScxLogArgs, ScxLogFormat};
use crate::terminal::Output;
use crate::traced::{SourceArgs, Traced};
use crate::{Failure, Status};
#[cfg(feature = "twins")]
use schedlab_lab::plan::Prepared;
use schedlab_lab::scx;
use schedlab_scx::counts::CallCounts;
use schedlab_scx::end::End;
use schedlab_scx::kfuncs::KFUNCS;
use schedlab_scx::log::{Entry, Log, Summary, Witness};
use schedlab_scx::ops::Callback;
#[cfg(feature = "twins")]
use schedlab_scx::twins::decision::SETTING;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// LogLines of a log, and the counts at its end.
pub(super) struct LogLines {
    wanted: Vec<String>,
    from_ns: u64,
    to_ns: u64,
    format: ScxFormat,
    /// Whether only counts are kept.
    counts_only: bool,
    text: String,
    counts: String,
    end: Option<End>,
}

impl LogLines {
    /// Returns a log of all callbacks between two times, as a table.
    #[cfg(feature = "twins")]
    pub(super) fn between(from_ns: u64, to_ns: u64) -> LogLines {
        LogLines {
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

/// Runs `run` with a log of the policies, and returns its text and the result.
#[cfg(feature = "twins")]
pub(super) fn run_logged<T>(lines: LogLines, run: impl FnOnce() -> T) -> (String, T) {
    let lines = Arc::new(Mutex::new(lines));
    scx::log_all(Some(Log::new(Arc::clone(&lines) as Arc<Mutex<dyn Witness>>)));
    let result = run();
    scx::log_all(None);
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    (lines.text.clone(), result)
}

impl Witness for LogLines {
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

/// Formats the calls and instructions of a run as tables.
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

/// Runs a workload under a policy and prints its callbacks.
pub fn log(args: &ScxLogArgs, output: &mut Output) -> Result<Status, Failure> {
    let source = match &args.workload {
        None => args.source.clone(),
        Some(workload) => {
            if args.source.scheduler.is_some() {
                let message = "--scheduler: the policy is the object given first";
                return Err(Failure::Message(message.into()));
            }
            let object = format!("{}{}", scx::PREFIX, args.source.file.display());
            let scheduler = Some(object);
            SourceArgs { file: workload.clone(), scheduler, ..args.source.clone() }
        }
    };
    #[cfg(feature = "twins")]
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
            "--callback: there is no callback {unknown}; the callbacks are {}",
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
        let message = "scx log: name a policy with --scheduler scx:OBJECT";
        return Err(Failure::Message(message.into()));
    }
    #[cfg(feature = "twins")]
    if let (ScxLogFormat::Decisions, Traced::Run(prepared)) = (args.format, &traced) {
        return print_decisions(&traced, prepared, output);
    }
    let format = match args.format {
        ScxLogFormat::Csv => ScxFormat::Csv,
        ScxLogFormat::Table => ScxFormat::Table,
        #[cfg(feature = "twins")]
        ScxLogFormat::Decisions => ScxFormat::Table,
    };
    let lines = Arc::new(Mutex::new(LogLines {
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

/// Runs a workload and prints the decisions that its policy writes.
#[cfg(feature = "twins")]
fn print_decisions(
    traced: &Traced,
    prepared: &Prepared,
    output: &mut Output,
) -> Result<Status, Failure> {
    let recorder = Arc::new(Mutex::new(DecisionRecorder::default()));
    scx::log_all(Some(Log::new(Arc::clone(&recorder) as Arc<Mutex<dyn Witness>>)));
    let ran = traced.show(|_| ());
    scx::log_all(None);
    ran?;
    let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    write!(output, "{}", recorder.text(prepared)?)?;
    Ok(Status::Good)
}
