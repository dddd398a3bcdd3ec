//! Every scheduler keeps every rule in random worlds, and equal worlds give equal results.

use schedlab_lab::{parallel, select};
use schedlab_proof::stress::{Checked, Failure, World, check};
use std::num::NonZeroUsize;

/// Seeds of the worlds of a release, of both kinds (seeds from 10,000 on make wider worlds).
/// `schedlab stress` runs any number of worlds.
fn seeds() -> impl Iterator<Item = u64> {
    (0..12).chain(10_000..10_024)
}

fn check_seed((choice, seed): &(select::Choice, u64)) -> Checked {
    check(&World::random(*seed, choice), choice)
}

#[test]
fn every_rule_is_kept_in_random_worlds() {
    let choices = select::all();
    let items: Vec<_> =
        choices.iter().flat_map(|choice| seeds().map(|seed| (choice.clone(), seed))).collect();
    let mut failures = vec![];
    let mut events = 0;
    parallel::for_each_in_order(&items, parallel::cores(), check_seed, |index, checked| {
        events += checked.events;
        if let Some(Failure { variant, violation }) = checked.failure {
            let (choice, seed) = &items[index];
            failures.push(format!(
                "schedlab stress --scheduler {choice} --seed {seed}: {variant}: {violation}"
            ));
        }
        true
    });
    println!("{} worlds, {events} events", items.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn worlds_come_to_the_same_on_any_number_of_threads() {
    let items: Vec<_> = select::defaults()
        .into_iter()
        .flat_map(|choice| (100..104).map(move |seed| (choice.clone(), seed)))
        .collect();
    let on =
        |threads: usize| parallel::map(&items, NonZeroUsize::new(threads).unwrap(), check_seed);
    let first = on(1);
    assert!(first == on(4), "the same seeds give other results on four threads");
    assert!(first.iter().any(|checked| checked.fingerprint != first[0].fingerprint));
}

#[test]
fn virtual_times_of_other_groups_are_no_fault_of_the_books() {
    // A task moves back and forth between two groups and two CPUs, and takes the virtual time of
    // each to the other, so that sums of sums wrap around. 2.6.32 does the same.
    let choices = select::all();
    let choice = choices.iter().find(|choice| choice.to_string() == "cfs@2.6.32").unwrap();
    let checked = check_seed(&(choice.clone(), 1279));
    assert_eq!(checked.failure, None);
    assert!(checked.events > 1_000);
}

#[test]
fn worlds_in_which_a_rule_was_once_broken_are_in_order() {
    for (scheduler, seed) in [
        // A sleeper's affinity changed between its last work and the reschedule.
        ("sd@2.6.22-ck1", 68),
        ("rsdl@0.36", 68),
        // The balancer moved a migration thread that an execve had woken.
        ("cfs@2.6.24", 35),
        // The check assumed that an affinity was granted that a deadline task was refused.
        ("cfs@5.10", 113),
        // CPUs of overlapping nodes were counted twice in the bandwidth of real-time tasks.
        ("eevdf@6.6", 65),
        ("cfs@2.6.32", 1279),
        // A task that was still running but no longer counted called `execve`: its group was
        // throttled.
        ("cfs@5.10", 10_006),
        // A migration thread waited for the end of real-time throttling, and with it a bound task.
        ("cfs@3.2", 10_414),
        // Reasons sorted wrapped virtual times in another order than the tree.
        ("cfs@2.6.32", 33_589),
        ("cfs_interactive@2.6.32", 33_589),
        // The check took jiffies of cache distance for milliseconds, at HZ 100.
        ("bfs@0.316", 24_656),
        ("bfs@0.316", 25_778),
        ("bfs@0.316", 29_731),
        // It waited for a task of the same priority to sleep.
        ("cfs@2.6.24", 11_731),
        // A throttled CPU went offline, and its real-time tasks were not counted again.
        ("cfs@5.10", 10_205),
        // A bound task waited while a CPU was idle, which 2.4 does not exclude.
        ("o_n@2.4.22", 10_427),
        // A task yielded whose group was already throttled: a buddy to skip was not queued.
        ("cfs@3.2", 16_459),
        // A task ran on a forbidden CPU after its own CPU had gone offline. (This has not happened
        // since the costs of searches changed. The cause is unknown.)
        ("cfs@6.1", 16_723),
        // Products of large weights and long virtual times did not fit 64 bits.
        ("eevdf@7.1", 50_191),
        // A group got its first task below a throttled group, and had no weight.
        ("cfs@3.10", 50_503),
        // Threads of a core drove two tasks around without end.
        ("muqss@0.196", 50_096),
    ] {
        let choice = select::find(scheduler).expect("the release exists");
        let checked = check_seed(&(choice, seed));
        if let Some(Failure { variant, violation }) = checked.failure {
            panic!("schedlab stress --scheduler {scheduler} --seed {seed}: {variant}: {violation}");
        }
    }
}
