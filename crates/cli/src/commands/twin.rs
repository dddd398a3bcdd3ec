//! `schedlab scx twin`: compares a policy, slice by slice, with the scheduler of which it is a
//! twin.

use super::scx_log::{LogLines, run_logged};
use crate::plans::prepare;
use crate::scx_args::ScxTwinArgs;
use crate::terminal::Output;
use crate::{Failure, Status, files};
use schedlab_core::{BuildConfig, CpuId, Event, Observer, Rule, TaskId};
use schedlab_lab::plan::{Contender, Load, MachineSpec, Plan, Prepared, Source};
use schedlab_lab::scx;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Number of turns of each shown before the first difference, and after it.
const AROUND: usize = 4;

/// Beginning of a turn: a CPU switches to a task.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TurnStart {
    at_ns: u64,
    cpu: CpuId,
    next: Option<TaskId>,
}

/// Recorder of all turns of a run, with the rule that began each, and the names of tasks.
#[derive(Default)]
struct TurnRecorder {
    turns: Vec<(TurnStart, Rule)>,
    names: BTreeMap<TaskId, String>,
}

impl Observer for TurnRecorder {
    fn on(&mut self, at_ns: u64, event: Event<'_>) {
        match event {
            Event::Named { task, name } => {
                self.names.insert(task, name.into());
            }
            Event::Switched { cpu, next, why, .. } => {
                let turn = TurnStart { at_ns, cpu, next };
                // A task that is current for an instant only, between two reschedules, has no turn.
                let last = self.turns.iter().rposition(|(turn, _)| turn.cpu == cpu);
                match last.map(|last| (last, self.turns[last].0)) {
                    Some((last, before)) if before.at_ns == at_ns => {
                        self.turns.remove(last);
                    }
                    _ => (),
                }
                let last = self.turns.iter().rev().find(|(turn, _)| turn.cpu == cpu);
                if last.is_none_or(|(before, _)| before.next != next) {
                    self.turns.push((turn, why));
                }
            }
            _ => (),
        }
    }
}

/// Runs and compares both.
pub fn twin(args: &ScxTwinArgs, output: &mut Output) -> Result<Status, Failure> {
    let object = args.object.display().to_string();
    let object = object.strip_prefix(scx::PREFIX).unwrap_or(&object);
    let set = match args.scx_set.is_empty() {
        true => String::new(),
        false => format!("[{}]", args.scx_set.join(",")),
    };
    let of_object = prepared(args, format!("{}{object}{set}", scx::PREFIX))?;
    let of_original = prepared(args, args.with.clone())?;
    let (policy, original) = (only(&of_object)?, only(&of_original)?);
    std::panic::set_hook(Box::new(|_| {}));
    let got = turns(&of_object, policy)?;
    let expected = turns(&of_original, original)?;
    let same = (expected.turns.iter().zip(&got.turns)).take_while(|(a, b)| a.0 == b.0).count();
    if same == expected.turns.len().max(got.turns.len()) {
        writeln!(output, "{policy} is {original} here: {same} turns, all the same")?;
        return Ok(Status::Good);
    }
    let at_ns =
        [&expected, &got].iter().filter_map(|side| Some(side.turns.get(same)?.0.at_ns)).min();
    let at_ns = at_ns.unwrap_or_default();
    writeln!(output, "{policy} is not {original} here: turn {same} differs, at {at_ns} ns")?;
    for (contender, side) in [(original, &expected), (policy, &got)] {
        writeln!(output, "\n{contender}")?;
        show(contender, args, side, same, output)?;
    }
    // Callbacks of the policy since the last equal turn.
    let from_ns = match same.checked_sub(1) {
        Some(last) => got.turns[last].0.at_ns,
        None => 0,
    };
    let lines = LogLines::between(from_ns, at_ns);
    let (text, ran) = run_logged(lines, || turns(&of_object, policy));
    ran?;
    writeln!(output, "\ncallbacks of {policy}, from {from_ns} ns to {at_ns} ns")?;
    output.write_all(text.as_bytes())?;
    writeln!(
        output,
        "\nWhy {original} decided so: schedlab explain {} --scheduler {} --at {at_ns}ns",
        args.workload.display(),
        args.with
    )?;
    Ok(Status::Bad)
}

fn prepared(args: &ScxTwinArgs, scheduler: String) -> Result<Prepared, Failure> {
    let source: Source = files::read_lossy(&args.workload)?;
    let plan = Plan {
        machine: MachineSpec { cpus: Some(args.cpus), hz: Some(args.hz), ..MachineSpec::default() },
        limit_ns: args.duration,
        ..Plan::new(Load::Workload(source), vec![scheduler])
    };
    prepare(&plan, None)
}

fn only(prepared: &Prepared) -> Result<&Contender, Failure> {
    match prepared.schedulers() {
        [one] => Ok(one),
        others => {
            let names: Vec<String> = others.iter().map(ToString::to_string).collect();
            let names = names.join(", ");
            Err(Failure::Message(format!("a twin belongs to one scheduler; these are {names}")))
        }
    }
}

fn turns(prepared: &Prepared, contender: &Contender) -> Result<TurnRecorder, Failure> {
    let mut turns = TurnRecorder::default();
    let ran = prepared.session(contender).and_then(|mut session| {
        session.observe(&mut turns).name_tasks();
        session.finish()
    });
    ran.map_err(|error| Failure::Message(format!("{}: {contender}: {error}", prepared.name())))?;
    Ok(turns)
}

/// Prints the turns around the first difference.
fn show(
    contender: &Contender,
    args: &ScxTwinArgs,
    side: &TurnRecorder,
    same: usize,
    output: &mut Output,
) -> io::Result<()> {
    let built = contender.choice.build(&BuildConfig::flat(args.cpus, args.hz));
    let rules = built.as_ref().map_or(vec![], |scheduler| scheduler.inspect().rules());
    let from = same.saturating_sub(AROUND);
    for (number, (turn, why)) in side.turns.iter().enumerate().skip(from).take(2 * AROUND) {
        let mark = if number == same { '>' } else { ' ' };
        let who = match turn.next {
            None => "idle",
            Some(task) => side.names.get(&task).map_or("?", String::as_str),
        };
        let rule = rules.iter().find(|doc| doc.rule == *why).map_or("", |doc| &doc.name);
        let (at, cpu) = (turn.at_ns, turn.cpu.0);
        writeln!(output, "{mark} {at:>14} ns CPU {cpu:<3} {who:<20} {rule}")?;
    }
    if side.turns.len() <= same {
        writeln!(output, "> (no further turn)")?;
    }
    Ok(())
}
