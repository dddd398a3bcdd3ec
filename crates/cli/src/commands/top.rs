//! `schedlab top`.

use crate::files;
use crate::plans::{find_machine, newest, note, prepare};
use crate::snapshots::group_paths;
use crate::terminal::{Output, Spinner, style};
use crate::top::pane::Theme;
use crate::top::screen::with_screen;
use crate::top::side::Side;
use crate::top::state::App;
use crate::top::{view, watch};
use crate::top_args::TopArgs;
use crate::{Failure, Status};
use schedlab_lab::plan::{Contender, Groups, Load, MachineSpec, Plan, Prepared, Timetable};
use schedlab_lab::player::Player;
use schedlab_report::format::duration;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory for the recordings of all schedulers together, bytes.
const ROOM: usize = 64 << 20;

/// Time after which progress is shown.
const LONG: Duration = Duration::from_millis(500);

/// Shows a run in virtual time.
pub fn top(args: &TopArgs, output: &mut Output) -> Result<Status, Failure> {
    if !args.batch {
        let lacking = [
            ("standard output", io::stdout().is_terminal()),
            ("standard input", io::stdin().is_terminal()),
        ];
        if let Some((what, _)) = lacking.iter().find(|(_, is_terminal)| !is_terminal) {
            return Err(Failure::Message(format!(
                "error: schedlab top needs a terminal, and {what} is not one\n   = help: --batch \
                 prints one frame as text; `schedlab timehist` prints the whole run, one line per \
                 slice"
            )));
        }
    }
    let (plan, file) = plan(args)?;
    let prepared = prepare(&plan, file.as_deref())?;
    note(&prepared);
    let prepared = Arc::new(prepared);
    let schedulers = contenders(&prepared, &args.schedulers)?;
    let mut sides = vec![];
    for scheduler in &schedulers {
        let wrong = |error| format!("{}: {scheduler}: {error}", prepared.name());
        let room = ROOM / schedulers.len();
        let player = Player::new(&prepared, scheduler, room).map_err(wrong)?;
        sides.push(Side::new(player, &group_paths(&prepared, scheduler)));
    }
    let style = style();
    let theme = Theme { color: style.color, unicode: style.unicode };
    let title = crate::escape::name(prepared.name());
    let mut app = App::new(title, sides, args.at.unwrap_or(0));
    (app.speed, app.window_ns, app.sort) = (args.speed, args.window, args.sort);
    (app.unicode, app.paused) = (style.unicode, args.batch || args.at.is_some());
    if args.batch {
        batch(args, &mut app, style.width, theme, output)?;
    } else {
        arrive(&mut app, args.at)?;
        if theme.color {
            // --color and NO_COLOR have been applied already.
            ratatui::crossterm::style::force_color_output(true);
        }
        with_screen(|screen| watch(&mut app, theme, &prepared, screen))?;
    }
    Ok(Status::Good)
}

/// Prints frames as text.
fn batch(
    args: &TopArgs,
    app: &mut App<'_>,
    width: usize,
    theme: Theme,
    output: &mut Output,
) -> Result<(), Failure> {
    arrive(app, args.at)?;
    for frame in 0..args.iterations {
        if frame > 0 {
            if app.ended() {
                break;
            }
            app.go_to(app.at_ns.saturating_add(args.window));
            arrive(app, None)?;
            writeln!(output)?;
        }
        output.write_all(view::text(app, width.max(40), theme).as_bytes())?;
    }
    Ok(())
}

/// Simulates up to the requested moment, which must precede the end.
fn arrive(app: &mut App<'_>, at: Option<u64>) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut spinner: Option<Spinner> = None;
    while app.work().map_err(|error| error.to_string())? {
        if begun.elapsed() > LONG && spinner.is_none() {
            spinner = Some(Spinner::new("steps"));
        }
        if let Some(spinner) = &spinner {
            spinner.tick();
            spinner.say(format!("simulated {}", duration(app.active().player.made_ns(), true)));
        }
    }
    drop(spinner);
    match at.filter(|&at_ns| at_ns > app.at_ns) {
        None => Ok(()),
        Some(at_ns) => Err(Failure::Message(format!(
            "--at {}: the run ended at {}",
            duration(at_ns, true),
            duration(app.at_ns, true)
        ))),
    }
}

/// Identifiers of options that only affect the display.
const DISPLAY: [&str; 8] =
    ["schedulers", "at", "speed", "window", "sort", "batch", "iterations", "scx_dump"];

/// Returns the plan in the file, with the file's name, or the plan that the options describe.
fn plan(args: &TopArgs) -> Result<(Plan, Option<String>), Failure> {
    let source = files::read(&args.file)?;
    if Plan::is_plan(&source.text) {
        if let Some(option) = args.given.first_option::<TopArgs>(&DISPLAY) {
            return Err(Failure::Message(crate::plans::contradiction(&source.file, &option)));
        }
        let plan = Plan::parse(&source.file, &source.text).map_err(|error| error.to_string())?;
        if !matches!(plan.load, Load::Workload(_)) {
            return Err(Failure::Message(format!(
                "{}: this is the plan of a benchmark; give a workload, or its plan",
                source.file
            )));
        }
        return Ok((plan, Some(source.file)));
    }
    let schedulers = match args.schedulers.as_slice() {
        [] => vec![newest()],
        named => named.to_vec(),
    };
    let schedulers = args.scx.apply(schedulers)?;
    let text = source.text.trim_start_matches('\u{feff}').trim_start();
    if !text.is_empty() && !text.starts_with(['{', '/']) {
        return Err(Failure::Message(format!(
            "{}: this is not a workload, which begins with {{; a recorded trace is shown by \
             `schedlab timehist`, `latency` and `map`",
            source.file
        )));
    }
    let plan = Plan {
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus,
            hz: args.hz,
            no_costs: args.no_costs,
            costs: args.scx.costs(vec![]),
            ..MachineSpec::default()
        },
        set: args.set.clone(),
        groups: Groups {
            files: files::read_all(&args.groups)?,
            settings: args.group.clone(),
            ..Groups::default()
        },
        timetable: Timetable { files: files::read_all(&args.timetable)?, ..Timetable::default() },
        limit_ns: args.duration,
        seed: args.seed,
        ..Plan::new(Load::Workload(source), schedulers)
    };
    Ok((plan, None))
}

/// Returns the one or two schedulers to show.
fn contenders(prepared: &Prepared, names: &[String]) -> Result<Vec<Contender>, Failure> {
    let all = prepared.schedulers();
    if all.len() <= 2 && names.is_empty() {
        return Ok(all.to_vec());
    }
    let chosen: Vec<Contender> = all
        .iter()
        .filter(|one| {
            names.iter().any(|name| one.to_string() == *name || one.choice.entry.name == *name)
        })
        .cloned()
        .collect();
    // A single choice may be named differently (`cfs:sched_latency_ns=6ms`).
    let chosen = if all.len() <= 2 && chosen.len() < names.len() { all.to_vec() } else { chosen };
    match chosen.len() {
        1 | 2 => Ok(chosen),
        _ => {
            let names = all.iter().map(Contender::to_string).collect::<Vec<_>>().join(", ");
            Err(Failure::Message(format!(
                "--scheduler: at most two are shown at a time; choose from {names}"
            )))
        }
    }
}
