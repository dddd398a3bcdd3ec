//! Files about control groups: any text is read or refused, and what is read keeps the rules of
//! groups.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_workload::cgroups::{
    Group, GroupPlan, GroupSettings, cgconfig, cgrules, parse, parse_option,
};

/// CPUs of the machine.
const CPUS: u32 = 8;

fuzz_target!(|text: &str| {
    for settings in [parse("fuzz", text), parse_option(text)] {
        match settings {
            Ok(settings) => check_settings(&settings),
            Err(error) => drop(error.to_string()),
        }
    }
    match cgconfig::parse("fuzz", text) {
        Ok(config) => {
            check_settings(config.settings());
            if let Some(template) = config.template("t/%u") {
                check_settings(&template.settings("/t/anna"));
            }
        }
        Err(error) => drop(error.to_string()),
    }
    match cgrules::parse("fuzz", text) {
        Ok(rules) => check_rules(&rules),
        Err(error) => drop(error.to_string()),
    }
});

fn check_settings(settings: &GroupSettings) {
    match GroupPlan::new(settings, &["/own".into()], CPUS) {
        Ok(plan) => {
            for (number, group) in plan.groups().iter().enumerate() {
                assert!(group.parent.is_none_or(|parent| parent < number));
                check_group(group, group.parent.map(|parent| &plan.groups()[parent]));
            }
            for note in plan.notes() {
                assert!(note.line() > 0 && !note.to_string().is_empty());
            }
        }
        Err(error) => drop(error.to_string()),
    }
}

fn check_group(group: &Group, parent: Option<&Group>) {
    assert!((2..=262_144).contains(&group.shares));
    assert!((1_000..=1_000_000).contains(&group.period_us));
    if let Some(quota_us) = group.quota_us {
        assert!((1_000..1 << 44).contains(&quota_us) && group.burst_us <= quota_us);
    }
    assert!(group.cpuset.first(CPUS).is_some());
    if let Some(parent) = parent {
        assert!(group.path.starts_with(&parent.path));
        assert!(group.cpuset.iter(CPUS).all(|cpu| parent.cpuset.contains(cpu)));
        assert!(group.frozen || !parent.frozen);
    }
}

fn check_rules(rules: &cgrules::Rules) {
    let accounts =
        cgrules::Accounts::default().with_user("anna", 1000, 100).with_group("users", 100);
    for user in ["root", "anna"] {
        let process = cgrules::Process { user, group: None, name: "/bin/make", pid: 1 };
        if let Ok(cgrules::Verdict::Move(moves)) = rules.classify(&accounts, process) {
            assert!(!moves.is_empty());
            for to in moves {
                assert!(to.path.is_empty() || to.path.starts_with('/'));
            }
        }
    }
    drop(rules.notes(&accounts));
}
