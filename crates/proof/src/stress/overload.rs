//! Worlds with more real-time work than real-time tasks may do. Where the kernel throttles them
//! (`sched_rt_runtime_us`, from 2.6.25 on), CPUs are throttled while tasks sleep, wake and move.

use super::tasks::phase;
use super::world::{Kind, World};
use schedlab_core::Policy;
use schedlab_lab::select::Choice;
use schedlab_machine::SplitMix64;
use schedlab_workload::model::{Action, Loops, Properties, Task};

/// Gives every sixth world one to three kinds of real-time tasks that require from half a CPU to
/// all CPUs twice. It has its own random stream.
pub fn add(world: &mut World, choice: &Choice) {
    const APART: u64 = 0x0E_4104D;
    let mut random = SplitMix64::new(world.seed ^ APART);
    let mut random = SplitMix64::new(random.next_u64());
    let policies: Vec<Policy> = [Policy::Fifo, Policy::RoundRobin]
        .into_iter()
        .filter(|policy| choice.release.policies.contains(policy))
        .collect();
    if policies.is_empty() || random.below(6) > 0 {
        return;
    }
    // Without a limit, endless tasks would keep their CPUs forever.
    let limited = limited(world, choice);
    for number in 0..1 + random.below(3) {
        let task = task(&mut random, world, choice, &policies, limited, number);
        if let (Kind::Finite, Loops::Times(rounds)) = (world.kind, task.loops) {
            let events = &task.phases[0].events;
            let round_ns: u64 = events.iter().map(|event| ns(&event.action)).sum();
            let work_ns = round_ns * rounds * u64::from(task.instances);
            // As for the other tasks: enough if all work were done one after the other, at a
            // quarter of a CPU.
            world.until_ns += 4 * work_ns + task.delay_ns;
        }
        world.model.tasks.push(task);
    }
}

fn ns(action: &Action) -> u64 {
    match action {
        Action::Run(ns) | Action::Sleep(ns) => *ns,
        _ => 0,
    }
}

fn task(
    random: &mut SplitMix64,
    world: &World,
    choice: &Choice,
    policies: &[Policy],
    limited: bool,
    number: u64,
) -> Task {
    let cpus = u64::from(world.cpus);
    let instances = 1 + random.below((2 * cpus).min(40)) as u32;
    let run_us = 200 + random.below(60_000);
    let sleep_us = match random.below(3) {
        0 => 0,
        1 => 1_000,
        _ => 1 + random.below(2 * run_us),
    };
    let endless = limited && world.kind == Kind::Endless && random.below(2) == 0;
    // A thread has at most two seconds of work.
    let rounds = 1 + random.below((2_000_000 / run_us).min(200));
    let policy = policies[random.below(policies.len() as u64) as usize];
    let mut properties = Properties {
        policy: Some(policy),
        priority: Some(1 + random.below(99) as i32),
        ..Properties::default()
    };
    if choice.release.can.affinity && random.below(4) == 0 {
        properties.cpus = Some(vec![random.below(cpus) as u32]);
    }
    let mut actions = vec![Action::Run(run_us * 1000)];
    if sleep_us > 0 {
        actions.push(Action::Sleep(sleep_us * 1000));
    }
    Task {
        key: format!("overload{number}"),
        instances,
        delay_ns: random.below(300_000) * 1000,
        loops: if endless { Loops::Forever } else { Loops::Times(rounds) },
        properties,
        phases: vec![phase("", actions)],
        session: None,
        flat: true,
    }
}

/// Whether real-time tasks are throttled in this world.
fn limited(world: &World, choice: &Choice) -> bool {
    let name = "sched_rt_runtime_us";
    let set = world.tunables.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let usual = || {
        let tunables = world.config().tunables_of(choice);
        tunables.into_iter().find(|tunable| tunable.name == name).map(|tunable| tunable.value)
    };
    set.or_else(usual).is_some_and(|runtime| runtime >= 0)
}
