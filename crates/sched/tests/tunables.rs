//! Every tunable of every release keeps the value written to it, whatever it held before, and
//! leaves the others alone.

use schedlab_core::{Administer, BuildConfig, Scheduler, Tunable};
use schedlab_sched::registry;

fn values(scheduler: &dyn Scheduler) -> Vec<Tunable> {
    scheduler.inspect().tunables()
}

fn value(scheduler: &dyn Scheduler, name: &str) -> i64 {
    let all = values(scheduler);
    all.iter().find(|tunable| tunable.name == name).expect("tunables do not disappear").value
}

#[test]
fn what_is_written_is_read_and_the_others_stay() {
    let mut tried = 0;
    for entry in registry::ALL {
        for release in entry.releases {
            let about = format!("{} {}", entry.name, release.version);
            let config = BuildConfig::flat(1, 1000);
            let first = values(&*release.build(&config).expect("a registered release"));
            for tunable in &first {
                let (min, max) = tunable.range;
                assert!((min..=max).contains(&tunable.value), "{about}: {}", tunable.name);
                let mut scheduler = release.build(&config).expect("a registered release");
                let mut platform = config.platform();
                // Some values twice: writing the current value changes nothing.
                for wanted in [tunable.value, min, min, max, max, tunable.value] {
                    let set = scheduler.set_tunable(&mut platform, &tunable.name, wanted);
                    // Some can be set only at boot, or depend on others.
                    if set.is_err() {
                        continue;
                    }
                    tried += 1;
                    let read = value(&*scheduler, &tunable.name);
                    // Some are switches that the kernel keeps as numbers.
                    let switched = (min, max) != (0, 1) && wanted != 0 && read == 1;
                    assert!(
                        read == wanted || switched,
                        "{about}: {} = {wanted}, read {read}",
                        tunable.name
                    );
                }
                for too_much in [min.checked_sub(1), max.checked_add(1)].into_iter().flatten() {
                    let set = scheduler.set_tunable(&mut platform, &tunable.name, too_much);
                    assert!(set.is_err(), "{about}: {} = {too_much}", tunable.name);
                }
                for (before, after) in first.iter().zip(values(&*scheduler)) {
                    let same = after.value == before.value || after.name == tunable.name;
                    assert!(same, "{about}: {} changes {}", tunable.name, after.name);
                }
            }
        }
    }
    assert!(tried > 500, "only {tried} writes");
}
