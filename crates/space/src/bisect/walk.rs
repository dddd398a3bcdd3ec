//! The points of a walk: [`Walk`].

use super::common::CommonSettings;
use super::point::{Point, Way};
use schedlab_core::{RULE_PREFIX, Release};
use schedlab_lab::kernels;
use schedlab_lab::plan::Plan;
use schedlab_lab::select::{self, Choice, Chosen};
use schedlab_lab::settings::Setting;
use schedlab_lab::sweep::Sweep;

/// The points between two.
pub struct Walk {
    /// The points, from the first to the last.
    pub points: Vec<Point>,
    /// Notes for the user, about releases that stand for others.
    pub notes: Vec<String>,
}

/// Names of the schedulers that were the default of Linux, one after the other.
const DEFAULTS: [&str; 4] = ["o_n", "o_1", "cfs", "eevdf"];

impl Walk {
    /// Returns the points from `from` to `to`, each a release (`6.6`), a kernel (`ubuntu 24.04`) or
    /// a scheduler (`eevdf@6.18:RUN_TO_PARITY=0`), with the load of `plan`.
    ///
    /// The settings that differ are switched first, one by one, on the first release. Then come the
    /// releases, each with the last settings as far as it has them. Schedulers that are not on one
    /// line of releases have none in between.
    ///
    /// # Errors
    /// A name is unknown, `from` is the later release, the two do not differ, or one of them cannot
    /// run the load.
    pub fn between(plan: &Plan, from: &str, to: &str) -> Result<Walk, String> {
        let mut notes = vec![];
        let first = end("--from", from, &mut notes)?;
        let last = end("--to", to, &mut notes)?;
        let releases = releases(&first.choice, &last.choice)
            .map_err(|why| format!("--from {from} --to {to}: {why}"))?;
        if !is_one_line(&first.choice, &last.choice) {
            notes.push(format!(
                "{} and {} are different schedulers with no releases in between",
                first.choice, last.choice
            ));
        }
        let (start_name, last_name) = (format!("--from {from}"), format!("--to {to}"));
        let common = CommonSettings::of(plan, &first, &start_name)?;
        let choices: Vec<&Choice> = std::iter::once(&first.choice).chain(&releases).collect();
        notes.extend(common.notes(&choices)?);
        let first_plan = common.plan_of(&first.choice);
        let start = Point::new(&first_plan, &first.choice, &first.set, Way::Start);
        start.check(&start_name)?;
        if start.side().and_then(|side| side.0.sweep()).is_some_and(Sweep::has_axis) {
            return Err(
                "the plan's benchmark has a parameter with several values; give it one, as \
                        each release runs it once"
                    .into(),
            );
        }
        let knows = |choice: &Choice, setting: &Setting| {
            setting.tunable().is_none_or(|(name, _)| common.has(choice, name))
        };
        let mut set = first.set.clone();
        let mut points = vec![];
        for (name, setting) in changes(&first.set, &last.set) {
            if let Some(setting) = &setting
                && !releases.is_empty()
                && !knows(&first.choice, setting)
            {
                // It comes with the first release that has it.
                continue;
            }
            let place = set.iter().position(|other| other.name() == name);
            match (place, setting) {
                (Some(place), Some(setting)) => set[place] = setting,
                (Some(place), None) => _ = set.remove(place),
                (None, setting) => set.extend(setting),
            }
            points.push(Point::new(&first_plan, &first.choice, &set, Way::Setting(name)));
        }
        for choice in &releases {
            // The last release must have all of them, or is refused.
            let has = |setting: &&Setting| *choice == last.choice || knows(choice, setting);
            let known = last.set.iter().filter(has);
            let set: Vec<Setting> = known.cloned().collect();
            points.push(Point::new(&common.plan_of(choice), choice, &set, Way::Release));
        }
        points.insert(0, start);
        match points.last() {
            Some(point) if points.len() > 1 => point.check(&last_name)?,
            _ => {
                let why: Vec<String> = notes.iter().map(|note| format!(" ({note})")).collect();
                return Err(format!(
                    "--from {from} --to {to}: both are {}{}, so there is no difference; name two \
                     releases, or a setting such as {}:NAME=VALUE",
                    points[0],
                    why.concat(),
                    first.choice
                ));
            }
        }
        for name in last.set.iter().filter(|it| it.name().starts_with(RULE_PREFIX)) {
            notes.push(format!("{name} is in no kernel: it is a rule of another release"));
        }
        Ok(Walk { points, notes })
    }
}

/// Finds the scheduler of an end of the walk.
fn end(option: &str, text: &str, notes: &mut Vec<String>) -> Result<Chosen, String> {
    let chosen = select::choose(&[text]).map_err(|error| format!("{option}: {error}"))?;
    let [mut one] = <[Chosen; 1]>::try_from(chosen).map_err(|several| {
        format!(
            "{option} {text}: this names {} schedulers; name one release, such as 6.6 or eevdf@6.6",
            several.len()
        )
    })?;
    for title in one.set.iter().filter_map(Setting::kernel) {
        let name = if title.starts_with("host ") { "host" } else { title };
        let is_plain = one.choice.release.is_called(title);
        if let (false, Ok(Some(kernel))) = (is_plain, kernels::find(name)) {
            notes.push(kernel.note);
        }
    }
    one.set.retain(|setting| setting.kernel().is_none());
    Ok(one)
}

/// Returns the settings to change, in order: settings of `to` with other values in `from`, and
/// last the settings that only `from` has, which go back to their defaults.
fn changes(from: &[Setting], to: &[Setting]) -> Vec<(String, Option<Setting>)> {
    let new = to.iter().filter(|setting| !from.contains(setting));
    let new = new.map(|setting| (setting.name(), Some(setting.clone())));
    let has = |name: &str| to.iter().any(|other| other.name() == name);
    let gone = from.iter().filter(|setting| !has(&setting.name()));
    new.chain(gone.map(|setting| (setting.name(), None))).collect()
}

/// Returns the releases behind `from`, up to `to`.
fn releases(from: &Choice, to: &Choice) -> Result<Vec<Choice>, String> {
    if from == to {
        return Ok(vec![]);
    }
    if !is_one_line(from, to) {
        return Ok(vec![to.clone()]);
    }
    let is_between = |choice: &Choice| match from.entry.name == to.entry.name {
        true => choice.entry.name == from.entry.name,
        false => is_default(choice),
    };
    let mut all: Vec<Choice> = select::all().into_iter().filter(is_between).collect();
    // Kernels of distributions with series of their own are points only if they are named.
    all.retain(|choice| {
        choice == from || choice == to || is_series(&choice.release) || !is_default(choice)
    });
    // The registry lists the newest first, after the default.
    all.reverse();
    all.sort_by_key(|choice| (number(&choice.release), rank(choice)));
    let place = |wanted: &Choice| all.iter().position(|choice| choice == wanted);
    let (Some(first), Some(last)) = (place(from), place(to)) else {
        return Err(format!("{from} and {to} have no releases in between"));
    };
    if first > last {
        return Err(format!("{from} is later than {to}; swap the two"));
    }
    Ok(all[first + 1..=last].to_vec())
}

/// Whether a scheduler was the default of Linux.
fn is_default(choice: &Choice) -> bool {
    DEFAULTS.contains(&choice.entry.name.as_ref())
}

/// Whether two releases are of one scheduler, or of schedulers that followed each other in Linux.
fn is_one_line(one: &Choice, other: &Choice) -> bool {
    one.entry.name == other.entry.name || (is_default(one) && is_default(other))
}

/// Place of a scheduler among the defaults of Linux.
fn rank(choice: &Choice) -> Option<usize> {
    DEFAULTS.iter().position(|name| *name == choice.entry.name)
}

/// Whether a release is a kernel of the main line, such as `6.8`, and not a distribution's.
fn is_series(release: &Release) -> bool {
    release.version.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Returns the numbers of the kernel of a release, and the numbers of the release.
fn number(release: &Release) -> (Vec<u32>, Vec<u32>) {
    let numbers = |text: &str| -> Vec<u32> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        text[..end].split('.').map_while(|number| number.parse().ok()).collect()
    };
    (numbers(release.kernel()), numbers(release.version))
}
