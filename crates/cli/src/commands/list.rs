//! `schedlab list`.

use crate::args::ListArgs;
use crate::options::ListFormat;
use crate::terminal::{Output, counted};
use crate::{Failure, Status};
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{BuildConfig, Policy, Scheduler, Tunable};
use schedlab_lab::kernels::{DISTRIBUTIONS, Distribution};
use schedlab_lab::select::{self, Choice};
use schedlab_machine::description::{self, Description};
use schedlab_sched::nearest::Provenance;
use serde_json::{Value, json};
use std::io::Write;

/// Shows schedulers, releases and tunables.
pub fn list(args: &ListArgs, output: &mut Output) -> Result<Status, Failure> {
    if args.machines {
        write_machines(output)?;
        return Ok(Status::Good);
    }
    if args.kernels {
        write_kernels(output)?;
        return Ok(Status::Good);
    }
    let choices = chosen(&args.schedulers)?;
    if let Some(name) = &args.machine {
        let machine = schedlab_lab::machines::find(name).map_err(|error| error.to_string())?;
        write_domains(&choices, &machine, output)?;
        return Ok(Status::Good);
    }
    match args.format {
        ListFormat::Json => {
            let text = serde_json::to_string_pretty(&as_json(&choices))
                .map_err(|error| error.to_string())?;
            writeln!(output, "{text}")?;
        }
        ListFormat::Table if args.schedulers.is_empty() => write_overview(&choices, output)?,
        ListFormat::Table => {
            write_releases(&choices, output)?;
            write_tunables(&choices, output)?;
        }
    }
    Ok(Status::Good)
}

/// Returns all releases, or the named ones. A name without a release means all of its releases.
fn chosen(names: &[String]) -> Result<Vec<Choice>, Failure> {
    let all = select::all();
    if names.is_empty() {
        return Ok(all);
    }
    let mut chosen = vec![];
    for name in names.iter().flat_map(|name| name.split(',')) {
        let found = select::find(name).map_err(|error| error.to_string())?;
        let of_name = |choice: &&Choice| {
            choice.entry.name == found.entry.name && (!name.contains('@') || **choice == found)
        };
        chosen.extend(all.iter().filter(of_name).cloned());
    }
    Ok(chosen)
}

/// Returns the tunables of a release, with their values on one CPU at its usual HZ.
fn tunables(choice: &Choice) -> Vec<Tunable> {
    let needs = select::Needs { cpus: 1, ..select::Needs::default() };
    let built = choice.build(&choice.build_config(&needs));
    built.map_or(vec![], |scheduler| scheduler.inspect().tunables())
}

fn policies(choice: &Choice) -> String {
    let short = |policy: &Policy| policy.name().trim_start_matches("SCHED_");
    choice.release.policies.iter().map(short).collect::<Vec<_>>().join(" ")
}

/// Prints a line for each release. The first release of each scheduler is its default.
fn write_overview(choices: &[Choice], output: &mut Output) -> Result<(), Failure> {
    let names: Vec<String> = choices.iter().map(Choice::to_string).collect();
    let widest = names.iter().map(String::len).max().unwrap_or(0);
    let mut last = "";
    for (choice, name) in choices.iter().zip(&names) {
        let (entry, release) = (choice.entry.as_ref(), choice.release.as_ref());
        if entry.name != last {
            if !last.is_empty() {
                writeln!(output)?;
            }
            writeln!(output, "{}: {}", entry.name, entry.title)?;
            last = &entry.name;
        }
        let cpus = if release.cpus_max == 1 { ", one CPU" } else { "" };
        writeln!(output, "  {name:widest$}  {}{cpus}", Provenance::of(entry, release).name())?;
    }
    write!(
        output,
        "\n\
         checked: against golden schedules of that kernel; derived: from a checked release,\n\
         by the known differences; reconstructed: from descriptions; defined: in no kernel.\n\
         The first release of each is its default. `schedlab list NAME` describes one:\n\
         differences between its releases, policies, HZ, tunables.\n"
    )?;
    Ok(())
}

fn write_releases(choices: &[Choice], output: &mut Output) -> Result<(), Failure> {
    let mut last = "";
    for choice in choices {
        let (entry, release) = (choice.entry.as_ref(), choice.release.as_ref());
        if entry.name != last {
            if !last.is_empty() {
                writeln!(output)?;
            }
            writeln!(output, "{}: {}: {}", entry.name, entry.title, entry.summary)?;
            last = &entry.name;
        }
        let also = match release.also {
            [] => String::new(),
            also => format!(" (also {})", also.join(", ")),
        };
        let default =
            if release.version == entry.releases[0].version { ", the default" } else { "" };
        writeln!(output, "  {choice}{also}{default}: {}", release.summary)?;
        let hz = match release.hz_range {
            (min, max) if min == max => format!("HZ {min}"),
            (min, max) => format!("HZ {} ({min} to {max})", release.hz_default),
        };
        let cpus = match release.cpus_max.min(CPUS_MAX) {
            1 => "1 CPU".into(),
            most => format!("1 to {most} CPUs"),
        };
        let groups = if release.can.groups { ", task groups" } else { "" };
        writeln!(output, "    {cpus}, {hz}, policies {}{groups}", policies(choice))?;
        let mut kernels: Vec<&str> = release.golden.iter().map(|(_, kernel)| *kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        match Provenance::of(entry, release) {
            Provenance::Checked => {
                writeln!(output, "    checked against golden schedules of {}", kernels.join(", "))?;
            }
            Provenance::Defined => {}
            other => writeln!(output, "    {}: no golden schedules", other.name())?,
        }
    }
    Ok(())
}

/// Prints the kernels of distributions, a line each, and their differences.
fn write_kernels(output: &mut Output) -> Result<(), Failure> {
    let width = DISTRIBUTIONS.iter().map(|it| it.name.len()).max().unwrap_or(0);
    for distribution in DISTRIBUTIONS {
        let kernel = distribution.kernel(distribution.name.into());
        let kernel = kernel.map_err(|error| error.to_string())?;
        let Distribution { name, series, hz, build, differs, .. } = distribution;
        let nearest = match kernel.choice.release.is_called(series) {
            true => "",
            false => " (the nearest)",
        };
        writeln!(
            output,
            "{name:width$}  Linux {series}: {}{nearest}, HZ {hz}, preemption {}; {differs}",
            kernel.choice,
            build.name()
        )?;
    }
    write!(
        output,
        "\n\
         Each name selects a column: schedlab run FILE -s 'ubuntu 24.04,rhel9,host'. A release as\n\
         `uname -r` prints it does, too (6.8.0-45-generic); `host` is the kernel of this machine.\n\
         Series, HZ and preemption models are stated from memory, not read from the \
         distributions.\n"
    )?;
    Ok(())
}

/// Prints a machine in a line or two.
fn write_machine(machine: &Description, output: &mut Output) -> Result<(), Failure> {
    let Description { name, about, source, topology, hz, tick_phase_ns, costs, numbers } = machine;
    writeln!(output, "{name}: {about}")?;
    let nodes = match topology.nodes() {
        1 => String::new(),
        nodes => format!(", {nodes} nodes"),
    };
    let hz = hz.map_or(String::new(), |hz| format!(", HZ {hz}"));
    let phase = tick_phase_ns.map_or(String::new(), |ns| format!(", first tick at {ns} ns"));
    writeln!(
        output,
        "    {}{nodes}{hz}{phase}; {source}",
        counted(topology.cpus() as usize, "CPU")
    )?;
    if costs.is_some() {
        let calibrated = numbers.iter().filter(|number| number.calibrated).count();
        let power =
            if costs.as_ref().is_some_and(|costs| costs.power.is_some()) { ", power" } else { "" };
        writeln!(
            output,
            "    modelled: {} numbers{power}, {calibrated} calibrated",
            numbers.len()
        )?;
    }
    Ok(())
}

fn write_machines(output: &mut Output) -> Result<(), Failure> {
    for machine in description::presets() {
        write_machine(&machine, output)?;
    }
    writeln!(
        output,
        "{}: equal CPUs, as many as needed; all operations are free",
        description::IDEAL
    )?;
    writeln!(output, "flat-N: N equal CPUs, at equal distances from each other")?;
    Ok(())
}

/// Prints the scheduling domains of the releases that have any. The others are listed together.
fn write_domains(
    choices: &[Choice],
    machine: &Description,
    output: &mut Output,
) -> Result<(), Failure> {
    write_machine(machine, output)?;
    let needs = select::Needs { cpus: machine.topology.cpus(), ..select::Needs::default() };
    let mut without = vec![];
    for choice in choices {
        if let Some(why) = choice.refuses(&needs) {
            without.push(format!("{choice} ({why})"));
            continue;
        }
        let config =
            BuildConfig { topology: machine.topology.clone(), ..choice.build_config(&needs) };
        let built = choice.build(&config).map_err(|error| error.to_string())?;
        match built.inspect().describe_domains() {
            Some(domains) => write!(output, "\n{choice}\n{domains}")?,
            None => without.push(choice.to_string()),
        }
    }
    if !without.is_empty() {
        writeln!(output, "\nno domains: {}", without.join(", "))?;
    }
    Ok(())
}

fn write_tunables(choices: &[Choice], output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    writeln!(output, "Tunables (--set NAME=VALUE), with their values on one CPU:")?;
    for choice in choices {
        let tunables = tunables(choice);
        if tunables.is_empty() {
            writeln!(output, "  {choice}: none")?;
            continue;
        }
        writeln!(output, "  {choice}:")?;
        let widest = tunables.iter().map(|tunable| tunable.name.len()).max().unwrap_or(0);
        for tunable in tunables {
            let (min, max) = tunable.range;
            let (name, value) = (tunable.name, tunable.value);
            writeln!(output, "    {name:widest$} = {value} ({min} to {max})")?;
            writeln!(output, "        {}", tunable.help)?;
        }
    }
    Ok(())
}

fn as_json(choices: &[Choice]) -> Value {
    let release = |choice: &Choice| {
        let tunables: Vec<Value> = tunables(choice)
            .iter()
            .map(|tunable| {
                json!({
                    "name": tunable.name,
                    "default": tunable.value,
                    "min": tunable.range.0,
                    "max": tunable.range.1,
                    "help": tunable.help,
                })
            })
            .collect();
        json!({
            "name": choice.to_string(),
            "scheduler": choice.entry.name,
            "title": choice.entry.title,
            "summary": choice.entry.summary,
            "release": choice.release.version,
            "also": choice.release.also,
            "default": choice.release.version == choice.entry.releases[0].version,
            "release_summary": choice.release.summary,
            "hz": choice.release.hz_default,
            "hz_min": choice.release.hz_range.0,
            "hz_max": choice.release.hz_range.1,
            "cpus_max": choice.release.cpus_max.min(CPUS_MAX),
            "policies": choice.release.policies.iter().map(|policy| policy.name()).collect::<Vec<_>>(),
            "groups": choice.release.can.groups,
            "standing": Provenance::of(&choice.entry, &choice.release).name(),
            "golden": choice.release.golden.iter().map(|(_, kernel)| kernel).collect::<Vec<_>>(),
            "tunables": tunables,
        })
    };
    Value::Array(choices.iter().map(release).collect())
}
