//! Autogroups: the groups that the kernel makes by itself, one for each session
//! (`sched_autogroup_enabled`, since 2.6.38).
//!
//! A call of `setsid` creates an autogroup. Terminals, logins and daemons begin with such a call.
//! The tasks in the root group compete within their autogroup, and the autogroups compete with each
//! other by their own nice values, which have the weights of tasks. The nice value of a task is
//! thus without effect on the tasks of other sessions. A task that is in a control group is not in
//! an autogroup.

use super::settings::GroupSettings;
use crate::model::{Action, Model};
use schedlab_core::release;
use std::collections::BTreeMap;

/// First part of the paths of these groups.
pub const PREFIX: &str = "/autogroup-";

/// Session of tasks without a `session`: that of the shell which starts the workload.
const SHELL: &str = "shell";

/// Returns whether kernels of this release have autogroups. `None`: the text is not a release.
pub fn is_in(release: &str) -> Option<bool> {
    let mut numbers = release::numbers(release);
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some((major, minor, numbers.next().unwrap_or(0)) >= (2, 6, 38))
}

/// Returns the path of the autogroup with this number, or of the session with this name.
pub fn path(name: impl std::fmt::Display) -> String {
    format!("{PREFIX}{name}")
}

/// Returns the line of a groups file for the autogroup at `path` with this nice value.
pub fn line(path: &str, nice: i32) -> String {
    match nice {
        0 => format!("{path}\n"),
        _ => format!("{path} cpu.weight.nice={nice}\n"),
    }
}

/// Puts every task of `model` that is in no control group into the autogroup of its session.
/// Returns these groups.
pub fn place_by_session(model: &mut Model) -> GroupSettings {
    let sessions = sessions(model);
    for (task, session) in model.tasks.iter_mut().zip(sessions) {
        let path = path(session);
        let moves = task.phases.iter_mut().filter_map(|phase| phase.properties.taskgroup.as_mut());
        moves.filter(|group| group.is_empty()).for_each(|group| group.clone_from(&path));
        let own = &mut task.properties.taskgroup;
        if own.as_ref().is_none_or(String::is_empty) {
            *own = Some(path);
        }
    }
    GroupSettings::default()
}

/// Returns the session of each task: its own, or that of the task that forks it, or else the
/// shell's.
fn sessions(model: &Model) -> Vec<String> {
    let mut of_key: BTreeMap<&str, &str> = BTreeMap::new();
    for task in &model.tasks {
        if let Some(session) = &task.session {
            of_key.insert(&task.key, session);
        } else if task.instances > 0 {
            of_key.insert(&task.key, SHELL);
        }
    }
    // The children of children need further rounds.
    for _ in 0..model.tasks.len() {
        let before = of_key.len();
        for task in &model.tasks {
            let Some(&session) = of_key.get(task.key.as_str()) else { continue };
            for event in task.phases.iter().flat_map(|phase| &phase.events) {
                if let Action::Fork(child) | Action::Thread(child) = &event.action {
                    of_key.entry(child).or_insert(session);
                }
            }
        }
        if of_key.len() == before {
            break;
        }
    }
    let of = |key: &String| of_key.get(key.as_str()).copied().unwrap_or(SHELL).into();
    model.tasks.iter().map(|task| of(&task.key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt_app::{self, Target};

    #[test]
    fn kernels_since_2_6_38_have_autogroups() {
        for (release, is) in [
            ("2.6.37", Some(false)),
            ("2.6.38-8-generic", Some(true)),
            ("2.4.37", Some(false)),
            ("3.2.0", Some(true)),
            ("6.18", Some(true)),
            ("7", None),
            ("", None),
        ] {
            assert_eq!(is_in(release), is, "{release}");
        }
    }

    #[test]
    fn tasks_of_no_group_are_in_the_autogroup_of_their_session() {
        let text = r#"{"tasks": {
            "a": {"session": "tty1", "loop": 1, "run": 10, "fork": "b"},
            "b": {"instance": 0, "loop": 1, "fork": "c"},
            "c": {"instance": 0, "loop": 1, "run": 10},
            "d": {"loop": 1, "run": 10},
            "e": {"session": "tty2", "taskgroup": "/box", "loop": 1, "phases": {
                "x": {"run": 10}, "y": {"taskgroup": "", "run": 10}}}}}"#;
        let target = Target { cpus: 1, limited: true };
        let mut model = rt_app::load("w.json", text, &target).expect("the workload is valid");
        place_by_session(&mut model);
        let group = |at: usize| model.tasks[at].properties.taskgroup.as_deref();
        let one = Some("/autogroup-tty1");
        assert_eq!([0, 1, 2].map(group), [one, one, one]);
        assert_eq!([3, 4].map(group), [Some("/autogroup-shell"), Some("/box")]);
        let back = model.tasks[4].phases[1].properties.taskgroup.as_deref();
        assert_eq!(back, Some("/autogroup-tty2"));
    }
}
