//! A prepared measurement in words: [`Prepared::describe`].

use crate::facts::format_cpus;
use crate::prepared::Prepared;
use schedlab_workload::Start;

/// Escapes the control characters of a name, so that it stays within a line of a table.
pub(crate) fn in_line(name: &str) -> String {
    let spell = |char: char| match char.is_control() {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    name.chars().map(spell).collect()
}

impl Prepared {
    /// Describes what would be set, line by line.
    pub fn describe(&self) -> String {
        let mut lines = vec![];
        let facts = &self.probe.facts;
        let options = &self.options;
        let length = match self.model.global.duration_ns {
            Some(ns) => format!("{} s", ns as f64 / 1e9),
            None => "until its last task has ended".into(),
        };
        lines.push(format!(
            "{} under Linux {}, on CPUs {}, {length}, {} quiet runs of at most {} (noise up to {} \
             %), threads start by {}",
            self.name,
            facts.release,
            format_cpus(&self.cpus),
            options.runs,
            self.tries(),
            options.noise_limit * 100.0,
            match options.start {
                Start::Wake => "waking",
                Start::Fork => "being forked",
            }
        ));
        lines.push(match &self.probe.home {
            Some(home) => {
                format!(
                    "all threads in a heavily weighted group below {}",
                    home.directory.display()
                )
            }
            None => format!("no heavily weighted group: {}", self.probe.group.how),
        });
        for group in self.groups.groups() {
            let mut line = format!("group {}: shares {}", in_line(&group.path), group.shares);
            if let Some(quota_us) = group.quota.quota_us {
                line.push_str(&format!(", {quota_us} us of each {} us", group.quota.period_us));
            }
            if group.idle {
                line.push_str(", idle");
            }
            lines.push(line);
        }
        lines.push(match (self.options.records, self.probe.switches.yes) {
            (true, true) => "switches are recorded by the kernel".into(),
            (false, _) => "switches are not recorded: --trace none".into(),
            (true, false) => format!("switches are not recorded: {}", self.probe.switches.how),
        });
        for task in &self.model.tasks {
            let properties = &task.properties;
            let policy = properties.policy.unwrap_or(self.model.global.default_policy);
            let mut line = format!(
                "task {}: {} thread{}, {}",
                in_line(&task.key),
                task.instances,
                if task.instances == 1 { "" } else { "s" },
                policy.name()
            );
            let mut say = |what: &str, value: Option<String>| {
                if let Some(value) = value {
                    line.push_str(&format!(", {what} {value}"));
                }
            };
            say("priority", properties.priority.map(|priority| priority.to_string()));
            say("slice", properties.slice_us.map(|us| format!("{us} us")));
            let reads = properties.clock_read_us.filter(|&us| us > 0);
            say("reads its CPU clock every", reads.map(|us| format!("{us} us")));
            say("dl-runtime", properties.dl_runtime_us.map(|us| format!("{us} us")));
            say("CPUs", properties.cpus.as_deref().map(format_cpus));
            let group = properties.taskgroup.as_deref().filter(|path| !path.is_empty());
            say("group", group.map(in_line));
            say("from", (task.delay_ns > 0).then(|| format!("{} s", task.delay_ns as f64 / 1e9)));
            lines.push(line);
        }
        lines.extend(self.left_out.iter().map(|refusal| format!("left out: {refusal}")));
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines.join("\n") + "\n"
    }
}
