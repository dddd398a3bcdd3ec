//! Runs a custom scheduler next to the built-in ones, or checks it in random worlds.
//! docs/tutorial.md explains it.
//!
//! ```text
//! my_scheduler FILE [--cpus N] [--timeline] [SCHEDULER...]
//! my_scheduler stress [WORLDS]
//! ```

mod inspect;
mod my_scheduler;
mod rules;

use my_scheduler::MyScheduler;
use schedlab::proof::stress::{self, World};
use schedlab::report::{Style, TimelineOptions, table, timeline};
use schedlab::scheduler::topology::CPUS_MAX;
use schedlab::scheduler::{Build, Capabilities, Choice, Entry, Origin, Policy, Release};
use schedlab::{Contender, Load, Plan, Source};
use std::borrow::Cow;
use std::error::Error;
use std::process::ExitCode;

/// Description of the scheduler for schedlab, as for a built-in one.
static ENTRY: Entry = Entry {
    name: Cow::Borrowed("mine"),
    title: Cow::Borrowed("My scheduler"),
    summary: Cow::Borrowed("one queue for all CPUs, turns of 10 ms"),
    origin: Origin::Own,
    releases: &[Release {
        version: "1",
        also: &[],
        summary: "the first",
        golden: &[],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: CPUS_MAX,
        policies: &[Policy::Other],
        can: Capabilities { affinity: false, ..Capabilities::BASIC },
        kernel: Some("6.18"),
        build: Build::Ordinary(|config| Box::new(MyScheduler::new(config.topology.cpus()))),
    }],
};

fn mine() -> Choice {
    Choice::of(&ENTRY, &ENTRY.releases[0])
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        None => {
            Err("usage: my_scheduler FILE [--cpus N] [--timeline] [SCHEDULER...] | stress [WORLDS]"
                .into())
        }
        Some("stress") => stress(args.get(1).map_or("200", String::as_str)),
        Some(file) => compare(file, &args[1..]),
    };
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one workload under `mine` and under other schedulers, side by side.
fn compare(file: &str, args: &[String]) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let mut plan = Plan::new(Load::Workload(Source { file: file.into(), text }), vec![]);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--timeline" => plan.record.slices = true,
            "--cpus" => plan.machine.cpus = Some(args.next().ok_or("--cpus N")?.parse()?),
            name => plan.schedulers.push(name.into()),
        }
    }
    if plan.schedulers.is_empty() {
        plan.schedulers = vec!["o_1".into(), "cfs".into()];
    }
    let prepared = plan.prepare()?;
    let mut runs = vec![prepared.session(&Contender::from(mine()))?.finish()?.report];
    for other in prepared.schedulers() {
        runs.push(prepared.session(other)?.finish()?.report);
    }
    let report = prepared.report(runs);
    let style = Style::plain(100);
    let mut text = table::comparison(&report, style);
    if plan.record.slices {
        for run in &report.runs {
            text += &format!("\n{}", timeline::draw(run, TimelineOptions::default(), style)?);
        }
    }
    Ok(text)
}

/// Checks random worlds against all rules that a scheduler must keep.
fn stress(worlds: &str) -> Result<String, Box<dyn Error>> {
    let worlds: u64 = worlds.parse()?;
    // A scheduler that panics has broken a rule, and is reported like the others.
    std::panic::set_hook(Box::new(|_| {}));
    for seed in 0..worlds {
        let world = World::random(seed, &mine());
        if let Some(failure) = stress::check(&world, &mine()).failure {
            let violation = failure.violation;
            let before =
                stress::recent_events(&world, &mine(), failure.variant, violation.at_ns, 8)
                    .join("\n  ");
            return Err(
                format!("seed {seed}: {violation}\nthe last events before:\n  {before}").into()
            );
        }
    }
    Ok(format!("{worlds} worlds, no rule broken\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_every_rule() {
        if let Err(error) = stress("100") {
            panic!("{error}");
        }
    }

    #[test]
    fn it_runs_beside_the_others() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/desktop.json");
        let args = ["--timeline", "cfs"].map(String::from);
        let text = compare(file, &args).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.contains("mine@1") && text.contains("cfs@"), "{text}");
        let unknown = compare(file, &["cfz".into()]).expect_err("there is no such scheduler");
        assert!(unknown.to_string().contains("did you mean cfs"), "{unknown}");
    }

    #[test]
    fn it_is_less_than_a_hundred_lines() {
        assert!(include_str!("my_scheduler.rs").lines().count() < 100);
    }
}
