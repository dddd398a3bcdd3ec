//! What is said of sched_ext policies on the command line, wherever a scheduler's name may stand.

use crate::files;
use clap::{Args, ValueEnum};
use schedlab_lab::scx;
use schedlab_lab::select::Choice;
use schedlab_scx::end::End;
use schedlab_scx::log::{Entry, Log, Witness};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const HEADING: &str = "sched_ext policies (scx:FILE)";

/// What happens when a policy ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OnError {
    /// The run ends with its message.
    Stop,
    /// All tasks go on first come first served, as a kernel goes on with its fair class.
    Fallback,
}

/// Options of policies.
#[derive(Args, Clone, Debug, Default)]
pub struct ScxOptions {
    /// Set a variable of the policies before they are loaded, or ops.FIELD, or
    /// map.NAME.max_entries (`schedlab scx show FILE` lists them)
    #[arg(long, value_name = "NAME=VALUE", help_heading = HEADING)]
    pub scx_set: Vec<String>,
    /// The same from a file in TOML
    #[arg(long, value_name = "FILE.toml", help_heading = HEADING)]
    pub scx_config: Option<PathBuf>,
    /// Run a program of section `syscall` before the policy is attached, with these numbers
    #[arg(long, value_name = "NAME=N,...", help_heading = HEADING)]
    pub scx_call: Vec<String>,
    /// Play the user half of the policies: a script in TOML that sets variables, fills maps, calls
    /// programs before they are attached, and does so again while they run
    #[arg(long, value_name = "FILE.toml", help_heading = HEADING)]
    pub scx_user: Option<PathBuf>,
    /// What the policies ask of the machine (cpus=4, cpus=1..8, hz=250, smt=no, numa=no,
    /// hotplug=no, affinity=no, groups=no, limits=no, changes=no): in a random world that breaks
    /// it, failing does not count
    #[arg(long, value_name = "NAME=VALUE,...", value_delimiter = ',', help_heading = HEADING)]
    pub scx_expects: Vec<String>,
    /// What the policies promise, ns (wait_ns=N, idle_ns=N, hog_spread_ns=N): random worlds hold
    /// them to it
    #[arg(long, value_name = "NAME=NS,...", value_delimiter = ',', help_heading = HEADING)]
    pub scx_promise: Vec<String>,
    /// What happens when a policy ends: the run stops, or goes on first come first served
    #[arg(long, value_enum, value_name = "stop|fallback", help_heading = HEADING)]
    pub scx_on_error: Option<OnError>,
    /// So long a CPU that has a task to go on with does not see what another has put back, ns:
    /// CPUs of a kernel act at one tick, none before the other [default: 0]
    #[arg(long, value_name = "NS", help_heading = HEADING)]
    pub scx_put_back: Option<u64>,
    /// What a BPF instruction costs, ns (as --cost scx.insn=NS; others: scx.helper, scx.kfunc ...)
    #[arg(long, value_name = "NS", help_heading = HEADING)]
    pub scx_insn: Option<f64>,
    /// Write the dump of a policy that ends by an error into this file
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub scx_dump: Option<PathBuf>,
}

impl ScxOptions {
    /// The first option that says what is run.
    pub fn of_runs(&self) -> Option<&'static str> {
        let given = [
            ("scx-set", !self.scx_set.is_empty()),
            ("scx-config", self.scx_config.is_some()),
            ("scx-call", !self.scx_call.is_empty()),
            ("scx-user", self.scx_user.is_some()),
            ("scx-expects", !self.scx_expects.is_empty()),
            ("scx-promise", !self.scx_promise.is_empty()),
            ("scx-on-error", self.scx_on_error.is_some()),
            ("scx-put-back", self.scx_put_back.is_some()),
            ("scx-insn", self.scx_insn.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }

    /// Adds what is said to the names that are policies, and has their dumps written.
    ///
    /// # Errors
    /// There is no policy that it could be for, or it is not as it should be.
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
                return Err(format!("--scx-user {path}: its name cannot have commas or brackets"));
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

    /// Costs, with those of policies.
    pub fn costs(&self, mut costs: Vec<(String, f64)>) -> Vec<(String, f64)> {
        costs.extend(self.scx_insn.map(|ns| ("scx.insn".to_string(), ns)));
        costs
    }
}

/// Writes dumps into a file.
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

/// What a user types for a choice: a policy by its file, in quotes if it has settings.
pub fn named(choice: &Choice) -> String {
    match scx::spec(choice, &[]) {
        Some(spec) if spec.contains('[') => format!("'{spec}'"),
        Some(spec) => spec,
        None => choice.to_string(),
    }
}
