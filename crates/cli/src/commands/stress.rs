//! `schedlab stress`.

use crate::args::StressArgs;
use crate::scx;
use crate::terminal::{Output, Progress, complain, counted};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::select::{Choice, choose};
use schedlab_proof::broken_by;
use schedlab_proof::check::Rule;
use schedlab_proof::stress::{
    Checked, Failure as Broken, World, check, recent_events, run_command, side_files,
};
use schedlab_workload::rt_app;
use std::io::Write;
use std::path::Path;

/// Runs random worlds under every rule.
pub fn stress(args: &StressArgs, output: &mut Output) -> Result<Status, Failure> {
    let names = args.scx.apply(args.schedulers.clone())?;
    let chosen = choose(&names).map_err(|error| error.to_string())?;
    let chosen = schedlab_lab::scx::all_fixed(&chosen).map_err(|error| error.to_string())?;
    if let Some(one) = chosen.iter().find(|one| !one.set.is_empty()) {
        let message = format!(
            "{}: random worlds choose the tunables themselves; leave out [...]",
            one.choice
        );
        return Err(Failure::Message(message));
    }
    let choices: Vec<Choice> = chosen.iter().map(|chosen| chosen.choice.clone()).collect();
    match args.seed {
        Some(seed) => one_world(seed, &choices, args.save.as_deref(), output),
        None => many_worlds(args, &choices, output),
    }
}

/// Number of worlds above which a run takes minutes.
const MANY_WORLDS: u64 = 10_000;

/// Results of the worlds of a scheduler.
#[derive(Default)]
struct Tally {
    worlds: u64,
    events: u64,
    /// Broken rules, with counts.
    broken: Vec<(Rule, u64)>,
    /// Number of worlds that lack a required feature of the policy, and failures in them.
    unasked: (u64, u64),
}

/// Returns the command that runs a saved world; policies in files are named by their files.
fn command(world: &World, choice: &Choice, file: &str) -> String {
    let held = format!("--scheduler {choice} ");
    let named = format!("--scheduler {} ", scx::named(choice));
    run_command(world, choice, file).replacen(&held, &named, 1)
}

fn many_worlds(
    args: &StressArgs,
    choices: &[Choice],
    output: &mut Output,
) -> Result<Status, Failure> {
    if args.first_seed.checked_add(args.seeds - 1).is_none() {
        return Err(Failure::Message(
            "--first-seed and --seeds together exceed the largest seed".into(),
        ));
    }
    // A scheduler that panics has broken a rule. Its message is reported with the others.
    std::panic::set_hook(Box::new(|_| {}));
    let mut tallies: Vec<Tally> = choices.iter().map(|_| Tally::default()).collect();
    let worlds = args.seeds.saturating_mul(choices.len() as u64);
    if worlds >= MANY_WORLDS {
        complain(&format!("note: {worlds} worlds: this takes minutes"));
    }
    let progress = Progress::new(worlds, "worlds");
    let mut written = Ok(());
    // Worlds run in batches, so that a million of them need little memory.
    const BATCH: u64 = 64;
    let mut first = 0;
    while first < args.seeds && written.is_ok() {
        let batch = first..(first + BATCH).min(args.seeds);
        first = batch.end;
        let of_seed =
            |offset| (0..choices.len()).map(move |choice| (args.first_seed + offset, choice));
        let items: Vec<(u64, usize)> = batch.flat_map(of_seed).collect();
        parallel::for_each_in_order(
            &items,
            parallel::cores(),
            |&(seed, choice)| check(&World::random(seed, &choices[choice]), &choices[choice]),
            |index, checked| {
                let (seed, choice) = items[index];
                let reported = progress.step(|| {
                    report_world(seed, &choices[choice], &checked, &mut tallies[choice], output)
                });
                let goes_on = reported.is_ok();
                if written.is_ok() {
                    written = reported;
                }
                goes_on
            },
        );
    }
    drop(progress);
    written?;
    write_tallies(choices, &tallies, output)?;
    let broken = tallies.iter().any(|tally| !tally.broken.is_empty());
    Ok(if broken { Status::Bad } else { Status::Good })
}

/// Counts a world, and reports it if its scheduler breaks this rule for the first time.
fn report_world(
    seed: u64,
    choice: &Choice,
    checked: &Checked,
    tally: &mut Tally,
    output: &mut Output,
) -> std::io::Result<()> {
    tally.worlds += 1;
    tally.events += checked.events;
    let is_unasked = broken_by(choice, &World::random(seed, choice)).is_some();
    tally.unasked.0 += u64::from(is_unasked);
    let Some(Broken { variant, violation }) = &checked.failure else {
        return Ok(());
    };
    if is_unasked {
        tally.unasked.1 += 1;
        return Ok(());
    }
    if let Some((_, count)) = tally.broken.iter_mut().find(|(rule, _)| *rule == violation.rule) {
        *count += 1;
        return Ok(());
    }
    tally.broken.push((violation.rule, 1));
    writeln!(output, "BROKEN  {choice}: {violation}")?;
    writeln!(
        output,
        "        with {variant}; to repeat it: schedlab stress --scheduler {} --seed {seed}",
        scx::named(choice)
    )
}

fn write_tallies(
    choices: &[Choice],
    tallies: &[Tally],
    output: &mut Output,
) -> std::io::Result<()> {
    let names: Vec<String> = choices.iter().map(Choice::to_string).collect();
    let widest = names.iter().map(String::len).max().unwrap_or(0);
    writeln!(output, "{:widest$}  {:>8}  {:>12}  broken", "scheduler", "worlds", "events")?;
    for (name, tally) in names.iter().zip(tallies) {
        let broken: u64 = tally.broken.iter().map(|(_, count)| count).sum();
        writeln!(output, "{name:widest$}  {:>8}  {:>12}  {broken}", tally.worlds, tally.events)?;
    }
    for (name, tally) in names.iter().zip(tallies) {
        let (worlds, failed) = tally.unasked;
        if worlds > 0 {
            let are = if worlds == 1 { "is" } else { "are" };
            writeln!(
                output,
                "{name}: {} {are} outside its requirements; failures in {failed} of them do \
                 not count",
                counted(worlds as usize, "world")
            )?;
        }
    }
    Ok(())
}

/// Number of events shown before a violation.
const EVENTS_SHOWN: usize = 40;

fn one_world(
    seed: u64,
    choices: &[Choice],
    save: Option<&Path>,
    output: &mut Output,
) -> Result<Status, Failure> {
    if let (Some(_), true) = (save, choices.len() > 1) {
        return Err(Failure::Message(
            "--save needs one scheduler (--scheduler NAME): each scheduler has its own \
             world"
                .into(),
        ));
    }
    if let Some(path) = save {
        // An earlier saved world may have been edited since: it is not overwritten either.
        crate::files::check_replaceable(path, "--save", "empty", |_| false)?;
    }
    let mut status = Status::Good;
    for choice in choices {
        let world = World::random(seed, choice);
        if let Some(path) = save {
            save_world(&world, choice, path)?;
            writeln!(output, "saved; to run it without the checks:")?;
            writeln!(output, "    {}", command(&world, choice, &path.display().to_string()))?;
        }
        writeln!(
            output,
            "{choice}, seed {seed}: {}, {}, HZ {}, {}, {} set, {}",
            world.kind,
            counted(world.cpus as usize, "CPU"),
            world.hz,
            counted(world.model.initial_threads(), "thread"),
            counted(world.tunables.len(), "tunable"),
            counted(world.groups.len(), "group")
        )?;
        for (name, value) in &world.tunables {
            writeln!(output, "    {name} = {value}")?;
        }
        if let Some(structure) = &world.structure {
            writeln!(output, "    topology {}", structure.text)?;
        }
        if world.forks_inherit {
            writeln!(output, "    forked tasks have their parents' attributes")?;
        }
        for line in &world.changes {
            writeln!(output, "    {line}")?;
        }
        for option in &world.group_settings {
            writeln!(output, "    group {option}")?;
        }
        for (path, shares) in &world.groups {
            writeln!(output, "    group {path}: cpu.shares = {shares}")?;
        }
        // The message of a panic on standard error is part of the details.
        let checked = check(&world, choice);
        let Some(Broken { variant, violation }) = checked.failure else {
            writeln!(output, "    every rule was kept, over {} events", checked.events)?;
            continue;
        };
        match broken_by(choice, &world) {
            None => status = Status::Bad,
            Some(what) => writeln!(output, "It requires {what}: this does not count.")?,
        }
        writeln!(output, "BROKEN  {violation}")?;
        writeln!(output, "        with {variant}")?;
        writeln!(output, "The last events before it:")?;
        for line in recent_events(&world, choice, variant, violation.at_ns, EVENTS_SHOWN) {
            writeln!(output, "{line}")?;
        }
    }
    Ok(status)
}

fn save_world(world: &World, choice: &Choice, path: &Path) -> Result<(), Failure> {
    let name = path.display().to_string();
    let text = format!("// {}\n{}", command(world, choice, &name), rt_app::write(&world.model));
    crate::files::write_whole(path, &text)?;
    for (ending, text) in side_files(world) {
        crate::files::write_whole(Path::new(&format!("{name}.{ending}")), &text)?;
    }
    Ok(())
}
