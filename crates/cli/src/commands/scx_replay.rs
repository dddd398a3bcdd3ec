//! `schedlab scx replay`: replays a decision log through the scheduler of which its policy is a
//! twin. `schedlab scx log --format decisions` writes such logs in the laboratory.

use crate::scx_args::ScxReplayArgs;
use crate::terminal::Output;
use crate::{Failure, Status};
use schedlab_core::Policy;
use schedlab_lab::plan::Prepared;
use schedlab_lab::select::{self, Needs};
use schedlab_lab::{catch_panic, compressed};
use schedlab_scx::log::{Entry, Summary, Witness};
use schedlab_scx::twins::collector::Collector;
use schedlab_scx::twins::decision::{self, Decision};
use schedlab_scx::twins::log::{Header, Log};
use schedlab_scx::twins::retrace::{Options, retrace};
use std::io::Write;

/// Policies of examples/scx, their settings, and the schedulers of which they are then twins.
const TWINS: [(&str, &[&str], &str); 4] = [
    ("goodness", &["at_tail=1", "at_tail=true"], "o_n@2.4.22"),
    ("goodness", &[], "o_n@2.4.19"),
    ("o_1", &[], "o_1@2.6.0"),
    ("bfs", &[], "bfs@0.404"),
];

/// Returns the scheduler of which the policy of a log is a twin.
fn original(header: &Header) -> Option<&'static str> {
    let fits = |(policy, set, _): &&(&str, &[&str], &str)| {
        let is_set = |setting: &String| set.contains(&setting.as_str());
        *policy == header.policy && (set.is_empty() || header.settings.iter().any(is_set))
    };
    TWINS.iter().find(fits).map(|(.., original)| *original)
}

/// Replays a log.
pub fn replay(args: &ScxReplayArgs, output: &mut Output) -> Result<Status, Failure> {
    let file = args.log.display().to_string();
    let wrong = |error| format!("{file}: {error}");
    let bytes = compressed::read(&args.log, compressed::LIMIT).map_err(wrong)?;
    let log = Log::read(&file, compressed::as_text(&bytes).map_err(wrong)?)?;
    let name = match args.with.as_deref().or_else(|| original(&log.header)) {
        Some(name) => name,
        None => {
            return Err(Failure::Message(format!(
                "{file}: {} is not a known twin of a scheduler: name the scheduler, e.g. --with \
                 o_n@2.4.19",
                log.header.policy
            )));
        }
    };
    let choice = select::find(name).map_err(|error| error.to_string())?;
    let Header { policy, kernel, hz, cpus, .. } = &log.header;
    let needs = Needs { cpus: *cpus, hz: Some(*hz), ..Needs::default() };
    if let Some(reason) = choice.refuses(&needs) {
        return Err(Failure::Message(format!(
            "{file}: {choice} cannot make the decisions of the log: {reason}"
        )));
    }
    let options = Options {
        shown: args.show as usize,
        around: args.around as usize,
        policies: choice.release.policies,
    };
    if !options.policies.contains(&Policy::Fifo) {
        // Without real-time priorities it cannot be forced to follow the policy.
        crate::terminal::complain(&format!(
            "{choice} has no SCHED_FIFO: after the first difference it cannot follow the log"
        ));
    }
    let original = choice.build(&choice.build_config(&needs)).map_err(|error| error.to_string())?;
    std::panic::set_hook(Box::new(|_| {}));
    let report = catch_panic(|| retrace(&log, original, options));
    let _ = std::panic::take_hook();
    let report = report.map_err(|message| {
        format!(
            "{file}: its events are impossible: {choice} stops with: {}",
            message.lines().next().unwrap_or_default()
        )
    })?;
    writeln!(output, "{file}: {policy} on {cpus} CPUs at {hz} Hz, {kernel}")?;
    write!(output, "{}", report.text(policy, &choice.to_string()))?;
    Ok(if report.is_same() { Status::Good } else { Status::Bad })
}

/// Records the decisions that a policy writes in the laboratory.
#[derive(Default)]
pub struct DecisionRecorder {
    policy: String,
    decisions: Vec<Decision>,
}

impl Witness for DecisionRecorder {
    fn entry(&mut self, entry: &Entry) {
        if entry.name == "ringbuf"
            && let Some(decision) = decision::from_ring(&entry.text)
        {
            self.decisions.push(decision);
        }
    }

    fn finished(&mut self, summary: &Summary<'_>) {
        self.policy.clone_from(&summary.image.name);
    }
}

impl DecisionRecorder {
    /// Returns the log of a run.
    ///
    /// # Errors
    /// The policy has written no decisions.
    pub fn text(&self, prepared: &Prepared) -> Result<String, String> {
        if self.decisions.is_empty() {
            let twins = "the twins in examples/scx do";
            return Err(format!("--format decisions: the policy writes no such records; {twins}"));
        }
        let own = prepared.schedulers().first().map_or(&[][..], |one| &one.tunables);
        let settings = own.iter().map(|(name, value)| format!("{name}={value}"));
        let settings = settings.filter(|it| !it.starts_with(decision::SETTING));
        let mut collector =
            Collector::new(&self.policy, "schedlab's laboratory", settings.collect());
        self.decisions.iter().for_each(|&decision| collector.push(decision));
        collector.take(true)
    }
}
