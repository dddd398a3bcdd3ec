//! Options of sched_ext policies, shared by all commands that accept the name of a scheduler.

use crate::files;
use clap::{Args, ValueEnum};
use schedlab_lab::scx;
use schedlab_lab::select::Choice;
use schedlab_scx::end::End;
use schedlab_scx::log::{Entry, Log, Witness};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const HEADING: &str = "sched_ext policies (scx:FILE)";

/// Reaction to the end of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OnError {
    /// The run ends with the policy's message.
    Stop,
    /// All tasks continue first come, first served, as a kernel continues with its fair class.
    Fallback,
}

/// Options of policies.
#[derive(Args, Clone, Debug, Default)]
pub struct ScxOptions {
    /// Variable of the policies to set before they are loaded, or ops.FIELD, or
    /// map.NAME.max_entries (`schedlab scx show FILE` lists them)
    #[arg(long, value_name = "NAME=VALUE", help_heading = HEADING)]
    pub scx_set: Vec<String>,
    /// File of such variables, in TOML
    #[arg(long, value_name = "FILE.toml", help_heading = HEADING)]
    pub scx_config: Option<PathBuf>,
    /// Run a program of section `syscall` before the policy is attached, with these numbers
    #[arg(long, value_name = "NAME=N,...", help_heading = HEADING)]
    pub scx_call: Vec<String>,
    /// Script, in TOML, that plays the user half of the policies: it sets variables, fills maps and
    /// calls programs, before the policies are attached and while they run
    #[arg(long, value_name = "FILE.toml", help_heading = HEADING)]
    pub scx_user: Option<PathBuf>,
    /// Features that the policies require of the machine (cpus=4, cpus=1..8, hz=250, smt=no,
    /// numa=no, hotplug=no, affinity=no, groups=no, limits=no, changes=no): in a random world
    /// without them, a failure does not count
    #[arg(long, value_name = "NAME=VALUE,...", value_delimiter = ',', help_heading = HEADING)]
    pub scx_expects: Vec<String>,
    /// Promises of the policies, in ns (wait_ns=N, idle_ns=N, hog_spread_ns=N): random worlds check
    /// them
    #[arg(long, value_name = "NAME=NS,...", value_delimiter = ',', help_heading = HEADING)]
    pub scx_promise: Vec<String>,
    /// Reaction to the end of a policy: stop the run, or continue first come, first served
    #[arg(long, value_enum, value_name = "stop|fallback", help_heading = HEADING)]
    pub scx_on_error: Option<OnError>,
    /// Time in ns for which a CPU whose task could continue ignores tasks that another CPU has put
    /// back; the CPUs of a kernel act on the same tick in no fixed order [default: 0]
    #[arg(long, value_name = "NS", help_heading = HEADING)]
    pub scx_put_back: Option<u64>,
    /// Cost of a BPF instruction, ns (same as --cost scx.insn=NS; others: scx.helper, scx.kfunc
    /// ...)
    #[arg(long, value_name = "NS", help_heading = HEADING)]
    pub scx_insn: Option<f64>,
    /// Write the dump of a policy that ends with an error into this file
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub scx_dump: Option<PathBuf>,
}

impl ScxOptions {
    /// Adds the options to the names that are policies, and arranges for their dumps to be written.
    ///
    /// # Errors
    /// No policy is named to which an option could apply, or an option is not valid.
    pub fn apply(&self, names: Vec<String>) -> Result<Vec<String>, String> {
        if let Some(path) = &self.scx_dump {
            files::check_replaceable(path, "--scx-dump", "a dump", |text| {
                text.starts_with("DEBUG DUMP")
            })
            .map_err(|failure| failure.to_string())?;
            let witness: Arc<Mutex<dyn Witness>> =
                Arc::new(Mutex::new(Dumps { path: path.clone(), text: String::new() }));
            scx::log_all(Some(Log::new(witness)));
        }
        let mut names = names;
        if let Some(path) = &self.scx_config {
            let source = files::read(path)?;
            let set = scx::config(&source.file, &source.text)?;
            names = scx::with_settings(names, &set, "--scx-config")?;
        }
        for setting in &self.scx_set {
            if !setting.contains('=') || setting.contains(',') {
                return Err(format!(
                    "--scx-set {setting}: write NAME=VALUE, e.g. slice_ns=5000000"
                ));
            }
        }
        names = scx::with_settings(names, &self.scx_set, "--scx-set")?;
        let calls: Vec<String> = (self.scx_call.iter())
            .map(|call| match call.split_once('=') {
                Some((name, args)) => format!("call.{name}={}", args.replace(',', "/")),
                None => format!("call.{call}="),
            })
            .collect();
        names = scx::with_settings(names, &calls, "--scx-call")?;
        if let Some(path) = &self.scx_user {
            let path = path.display().to_string();
            if path.contains([',', '[', ']']) {
                return Err(format!(
                    "--scx-user {path}: its name must not contain commas or brackets"
                ));
            }
            names = scx::with_settings(names, &[format!("user={path}")], "--scx-user")?;
        }
        for (option, given, prefix) in [
            ("--scx-expects", &self.scx_expects, "expects"),
            ("--scx-promise", &self.scx_promise, "promise"),
        ] {
            let all: Vec<String> = given.iter().map(|one| format!("{prefix}.{one}")).collect();
            names = scx::with_settings(names, &all, option)?;
        }
        let on_error = self.scx_on_error.map(|on_error| match on_error {
            OnError::Stop => "on_error=stop".to_string(),
            OnError::Fallback => "on_error=fallback".into(),
        });
        names = scx::with_settings(names, on_error.as_slice(), "--scx-on-error")?;
        let put_back = self.scx_put_back.map(|ns| format!("put_back_ns={ns}"));
        scx::with_settings(names, put_back.as_slice(), "--scx-put-back")
    }

    /// Returns `costs` with the costs of policies added.
    pub fn costs(&self, mut costs: Vec<(String, f64)>) -> Vec<(String, f64)> {
        costs.extend(self.scx_insn.map(|ns| ("scx.insn".to_string(), ns)));
        costs
    }
}

/// Observer that writes dumps into a file.
struct Dumps {
    path: PathBuf,
    text: String,
}

impl Witness for Dumps {
    fn entry(&mut self, _: &Entry) {}

    fn ended(&mut self, end: &End) {
        if end.dump.is_empty() {
            return;
        }
        self.text.push_str(&end.dump);
        if let Err(failure) = files::write_whole(&self.path, &self.text) {
            crate::terminal::complain(&format!("--scx-dump: {failure}"));
        }
    }
}

/// Returns a choice as a user types it: a policy by its file, in quotes if it has settings.
pub fn named(choice: &Choice) -> String {
    match scx::spec(choice, &[]) {
        Some(spec) if spec.contains('[') => format!("'{spec}'"),
        Some(spec) => spec,
        None => choice.to_string(),
    }
}
