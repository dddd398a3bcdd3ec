//! A run that can be viewed at any time, in both directions: [`Player`].
//!
//! The run is simulated up to the moment that is viewed, and its last part is kept on a [`Film`] in
//! bounded memory. To view earlier times, the run is repeated up to there; it is the same run.

use crate::error::Error;
use crate::plan::{Contender, Prepared};
use crate::session::{Session, Shared};
use schedlab_core::RuleDoc;
use schedlab_machine::RunEnd;
use schedlab_measure::Film;
use schedlab_measure::film::Lookup;
use schedlab_measure::scene::{Note, Scene};
use std::cell::Ref;

/// Approximate number of events that are simulated in a piece.
const PIECE: u64 = 8192;

/// End of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The time was up, or all tasks had ended.
    Well,
    /// No task can ever run again: all remaining tasks sleep or are stopped.
    Stuck,
    /// The run cannot continue, for this reason.
    Broken(String),
}

/// Views the run of a workload under a scheduler.
pub struct Player<'a> {
    prepared: &'a Prepared,
    scheduler: &'a Contender,
    session: Session<'a>,
    film: Shared<Film>,
    /// Memory for the film, bytes.
    room: usize,
    /// Length of the next piece, ns.
    piece_ns: u64,
    /// Time and kind of the end of the run, if it was reached.
    end: Option<(u64, Ended)>,
    rules: Vec<RuleDoc>,
}

impl<'a> Player<'a> {
    /// Views the beginning. The film takes about `room` bytes at most.
    ///
    /// # Errors
    /// The scheduler refuses a setting, or the load is a benchmark.
    pub fn new(
        prepared: &'a Prepared,
        scheduler: &'a Contender,
        room: usize,
    ) -> Result<Player<'a>, Error> {
        let cpus = prepared.experiment_of(scheduler).map_or(1, |it| it.config.cpus);
        let (session, film) = begin(prepared, scheduler, Film::new(cpus, room))?;
        let rules = session.rules().into_iter().cloned().collect();
        Ok(Player {
            prepared,
            scheduler,
            session,
            film,
            room,
            piece_ns: 1_000_000,
            end: None,
            rules,
        })
    }

    /// Returns the scheduler.
    pub fn scheduler(&self) -> &'a Contender {
        self.scheduler
    }

    /// Rules by which it decides.
    pub fn rules(&self) -> &[RuleDoc] {
        &self.rules
    }

    /// Returns the name of a task that has been created.
    pub fn name(&self, task: schedlab_core::TaskId) -> String {
        let film = self.film();
        let names = film.names();
        if task.index() < names.len() { names[task].clone() } else { "?".into() }
    }

    /// Returns the time and kind of the end of the run, if it is known yet.
    pub fn end(&self) -> Option<(u64, &Ended)> {
        self.end.as_ref().map(|(at_ns, how)| (*at_ns, how))
    }

    /// Returns the end of the run, ns, if it is known yet; otherwise its limit, if there is one.
    pub fn length_ns(&self) -> Option<u64> {
        self.end.as_ref().map(|&(at_ns, _)| at_ns).or(self.session.limit_ns())
    }

    /// Returns `at_ns`, or the end of the run if it is known to be earlier.
    pub fn within(&self, at_ns: u64) -> u64 {
        self.end.as_ref().map_or(at_ns, |&(end_ns, _)| at_ns.min(end_ns))
    }

    /// Returns the time up to which the run has been made, ns.
    pub fn made_ns(&self) -> u64 {
        self.session.now_ns()
    }

    /// Whether [`scene`](Player::scene) has `at_ns`: it is on the film, or after the end.
    pub fn knows(&self, at_ns: u64) -> bool {
        let at_ns = self.within(at_ns);
        at_ns >= self.film().from_ns() && (self.is_over() || self.session.now_ns() > at_ns)
    }

    /// Returns the part of the run that is kept.
    fn film(&self) -> Ref<'_, Film> {
        self.film.borrow()
    }

    /// Whether the machine has reached the end.
    fn is_over(&self) -> bool {
        self.end.as_ref().is_some_and(|&(end_ns, _)| self.session.now_ns() >= end_ns)
    }

    /// Simulates about `work` events towards `at_ns`. Returns whether it can be viewed now. A run
    /// that breaks down ends there.
    ///
    /// # Errors
    /// The run could not be restarted.
    pub fn approach(&mut self, at_ns: u64, work: u64) -> Result<bool, Error> {
        if at_ns < self.film().from_ns() {
            self.begin_again()?;
        }
        let mut left = work;
        while !self.knows(at_ns) {
            if left == 0 {
                return Ok(false);
            }
            let target_ns = at_ns.saturating_add(1);
            left = left.saturating_sub(self.piece(target_ns).max(1));
        }
        Ok(true)
    }

    fn begin_again(&mut self) -> Result<(), Error> {
        let cpus = self.film().now().cpus.len() as u32;
        let film = Film::new(cpus, self.room);
        (self.session, self.film) = begin(self.prepared, self.scheduler, film)?;
        Ok(())
    }

    /// Simulates a piece, at most to `target_ns`. Returns its number of events.
    fn piece(&mut self, target_ns: u64) -> u64 {
        let before = self.session.counts().events();
        let to_ns = self.session.now_ns().saturating_add(self.piece_ns).min(target_ns);
        match self.session.advance(to_ns) {
            Ok(None) => {}
            Ok(Some(end)) => {
                let how = if end == RunEnd::Stuck { Ended::Stuck } else { Ended::Well };
                self.end = Some((self.session.now_ns(), how));
            }
            Err(error) => {
                self.end = Some((self.session.now_ns(), Ended::Broken(error.to_string())));
            }
        }
        let done = self.session.counts().events() - before;
        if done < PIECE / 4 {
            self.piece_ns = self.piece_ns.saturating_mul(2);
        } else if done > PIECE {
            self.piece_ns = (self.piece_ns / 2).max(1);
        }
        done
    }

    /// Returns the state at `at_ns`, or at the end if that is earlier, after all events at that
    /// time. `None`: first [`approach`](Player::approach) it.
    pub fn scene(&self, at_ns: u64) -> Option<Scene> {
        if self.knows(at_ns) { self.film().scene(self.within(at_ns)) } else { None }
    }

    /// Returns the time from which scenes are known without running again, ns.
    pub fn from_ns(&self) -> u64 {
        self.film().from_ns()
    }

    /// Returns the time of the first decision after `at_ns`. [`Lookup::Absent`]: there is none.
    /// Simulates about `work` events. `None`: it was not found yet.
    ///
    /// # Errors
    /// As for [`approach`](Player::approach).
    pub fn next_decision(&mut self, at_ns: u64, work: u64) -> Result<Option<Lookup<u64>>, Error> {
        let mut left = work;
        if !self.approach(at_ns, left)? {
            return Ok(None);
        }
        loop {
            let found = self.film().next_decision(at_ns);
            match found {
                Lookup::Absent if self.is_over() => return Ok(Some(Lookup::Absent)),
                Lookup::Absent if left == 0 => return Ok(None),
                Lookup::Absent => left = left.saturating_sub(self.piece(u64::MAX).max(1)),
                found => return Ok(Some(found)),
            }
        }
    }

    /// Returns the time of the last decision before `at_ns`. [`Lookup::Absent`]: there is none.
    /// Simulates about `work` events. `None`: it was not found yet.
    ///
    /// # Errors
    /// As for [`approach`](Player::approach).
    pub fn previous_decision(
        &mut self,
        at_ns: u64,
        work: u64,
    ) -> Result<Option<Lookup<u64>>, Error> {
        let Some(before_ns) = at_ns.checked_sub(1) else { return Ok(Some(Lookup::Absent)) };
        if !self.approach(before_ns, work)? {
            return Ok(None);
        }
        let found = self.film().previous_decision(at_ns);
        Ok(match found {
            // After a run up to this time, the film contains more of what precedes it.
            Lookup::Gone if self.session.now_ns() > at_ns => {
                self.begin_again()?;
                None
            }
            Lookup::Gone => Some(Lookup::Found(self.from_ns())),
            found => Some(found),
        })
    }

    /// Returns the time of the last decision at `at_ns` or before, ns, if it is known without
    /// running again.
    pub fn last_decision(&self, at_ns: u64) -> Option<u64> {
        if !self.knows(at_ns) {
            return None;
        }
        match self.film().previous_decision(self.within(at_ns).saturating_add(1)) {
            Lookup::Found(when_ns) => Some(when_ns),
            Lookup::Absent | Lookup::Gone => None,
        }
    }

    /// Returns the decisions at `at_ns`.
    pub fn decisions_at(&self, at_ns: u64) -> Vec<Note> {
        if self.knows(at_ns) { self.film().decisions_at(at_ns) } else { vec![] }
    }
}

/// Returns a session that `film` observes, before its first event.
fn begin<'a>(
    prepared: &Prepared,
    scheduler: &Contender,
    film: Film,
) -> Result<(Session<'a>, Shared<Film>), Error> {
    let film = Shared::new(film);
    let mut session = prepared.unmeasured_session(scheduler)?;
    session.observe(film.clone()).name_tasks();
    Ok((session, film))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Load, Plan, Source, Timetable};
    use schedlab_core::TaskId;

    fn prepared(text: &str, scheduler: &str, actions: &[&str]) -> Prepared {
        let load = Load::Workload(Source { file: "w.json".into(), text: text.into() });
        let timetable = Timetable {
            actions: actions.iter().map(ToString::to_string).collect(),
            ..Timetable::default()
        };
        let plan = Plan { timetable, ..Plan::new(load, vec![scheduler.into()]) };
        plan.prepare().unwrap_or_else(|error| panic!("{error}"))
    }

    const WORKLOAD: &str = r#"{"global": {"duration": 6}, "tasks": {
        "hog": {"instance": 3, "loop": 40, "run": 25000},
        "sleeper": {"loop": 200, "run": 700, "sleep": 9000, "cpus": [0, 1]},
        "a": {"loop": 50, "run": 500, "resume": "b", "suspend": "b"},
        "b": {"loop": 50, "suspend": "a", "run": 800, "resume": "a"}
    }}"#;

    const ACTIONS: [&str; 4] =
        ["100ms renice hog 5", "every 150ms stop hog-0", "every 200ms cont hog-0", "2s kill a"];

    fn to(player: &mut Player<'_>, at_ns: u64) -> Scene {
        let mut calls = 0;
        while !player.approach(at_ns, 1000).expect("the run continues") {
            calls += 1;
            assert!(calls < 10_000, "the player does not arrive");
        }
        player.scene(at_ns).expect("the scene exists")
    }

    fn facts(scene: &Scene, at_ns: u64) -> Vec<String> {
        let tasks = scene.tasks.iter().map(|(_, row)| row);
        tasks
            .map(|row| {
                let sums = (row.cpu_ns(at_ns), row.wait_ns(at_ns), row.wait_max_ns(at_ns));
                format!("{:?} {sums:?} {row:?}", row.doing)
            })
            .collect()
    }

    /// At the end, a scene agrees with the report of the whole run for every task and CPU.
    #[test]
    fn the_last_scene_agrees_with_the_report() {
        for scheduler in ["o_n", "o_1", "cfs", "bfs", "eevdf"] {
            let prepared = prepared(WORKLOAD, scheduler, &ACTIONS);
            let one = &prepared.schedulers()[0];
            let session = prepared.session(one).expect("the scheduler can run it");
            let report = session.finish().expect("the run ends well").report;
            let mut player = Player::new(&prepared, one, 1 << 20).expect("the session begins");
            let scene = to(&mut player, u64::MAX / 2);
            let (end_ns, how) = player.end().expect("the end was reached");
            // (Under some schedulers, b waits for a, which was killed.)
            assert_eq!(end_ns, report.end.at_ns);
            assert!(matches!(how, Ended::Well | Ended::Stuck));
            assert_eq!(scene.tasks.len(), report.tasks.len());
            for (task, row) in scene.tasks.iter() {
                let reported = &report.tasks[task.index()];
                assert_eq!(player.name(task), reported.name);
                assert_eq!(row.cpu_ns(end_ns), reported.cpu_ns, "{scheduler}: {}", reported.name);
                assert_eq!(row.wait_ns(end_ns), reported.wait_ns, "{scheduler}: {}", reported.name);
                assert_eq!(row.wait_max_ns(end_ns), reported.wait_max_ns, "{}", reported.name);
                let latency_max_ns = reported.latency_max_ns.unwrap_or(0);
                assert_eq!(row.latency_max_ns, latency_max_ns, "{}", reported.name);
                assert_eq!(row.latencies, reported.latency_count, "{}", reported.name);
                assert_eq!(row.switches, reported.switches_in, "{}", reported.name);
                assert_eq!(row.migrations, reported.migrations_cpu, "{}", reported.name);
                assert_eq!(row.involuntary, reported.switches_involuntary, "{}", reported.name);
            }
            for (cpu, row) in scene.cpus.iter().enumerate() {
                assert_eq!(row.busy_ns(end_ns), report.cpus[cpu].busy_ns);
                assert_eq!(row.switches, report.cpus[cpu].switches);
            }
        }
    }

    /// With a film that holds almost nothing, moving in both directions shows the same as moving
    /// forwards.
    #[test]
    fn every_moment_is_the_same_however_one_gets_there() {
        let prepared = prepared(WORKLOAD, "cfs", &ACTIONS);
        let one = &prepared.schedulers()[0];
        let mut whole = Player::new(&prepared, one, usize::MAX).expect("the session begins");
        let mut small = Player::new(&prepared, one, 0).expect("the session begins");
        for at_ms in [3000, 10, 2999, 2001, 2000, 0, 150, 1500, 5000, 149] {
            let at_ns = at_ms * 1_000_000;
            let (a, b) = (to(&mut whole, at_ns), to(&mut small, at_ns));
            assert_eq!(facts(&a, at_ns), facts(&b, at_ns), "{at_ms} ms");
            assert_eq!(format!("{:?}", a.cpus), format!("{:?}", b.cpus), "{at_ms} ms");
        }
    }

    fn next(player: &mut Player<'_>, at_ns: u64) -> Lookup<u64> {
        loop {
            if let Some(found) = player.next_decision(at_ns, 50).expect("the run continues") {
                return found;
            }
        }
    }

    fn previous(player: &mut Player<'_>, at_ns: u64) -> Lookup<u64> {
        loop {
            if let Some(found) = player.previous_decision(at_ns, 50).expect("the run continues") {
                return found;
            }
        }
    }

    /// Moves step by step to the end and all the way back, although little of the run is kept.
    #[test]
    fn steps_back_are_the_steps_forward() {
        let text = r#"{"tasks": {
            "hog": {"instance": 2, "loop": 100, "run": 25000},
            "sleeper": {"loop": 5000, "run": 100, "sleep": 900}
        }}"#;
        let prepared = prepared(text, "eevdf", &[]);
        let mut player =
            Player::new(&prepared, &prepared.schedulers()[0], 0).expect("the session begins");
        let mut times = vec![0];
        while let Lookup::Found(at_ns) = next(&mut player, times[times.len() - 1]) {
            assert!(at_ns > times[times.len() - 1]);
            assert!(!player.decisions_at(at_ns).is_empty());
            times.push(at_ns);
        }
        assert!(times.len() > 4000 && !player.film().is_whole());
        let last = times[times.len() - 1];
        assert_eq!(previous(&mut player, u64::MAX / 2), Lookup::Found(last));
        // Every step of the last part, across the beginning of the film, and of the first part;
        // some steps between.
        let from_ns = player.from_ns();
        let near = |step: usize| {
            let end = step < 200 || step + 200 > times.len();
            end || times[step].abs_diff(from_ns) < 50_000_000 || step.is_multiple_of(97)
        };
        for step in (1..times.len()).rev().filter(|&step| near(step)) {
            let found = previous(&mut player, times[step]);
            assert_eq!(found, Lookup::Found(times[step - 1]), "before {}", times[step]);
        }
        assert_eq!(previous(&mut player, 0), Lookup::Absent);
    }

    #[test]
    fn a_run_that_gets_stuck_ends_so() {
        let text = r#"{"tasks": {"a": {"run": 1000, "sem_wait": "never", "loop": 1}}}"#;
        let prepared = prepared(text, "cfs", &[]);
        let mut player =
            Player::new(&prepared, &prepared.schedulers()[0], 1 << 20).expect("the session begins");
        let scene = to(&mut player, 5_000_000_000);
        assert_eq!(player.end(), Some((1_000_000, &Ended::Stuck)));
        assert_eq!(scene.task(TaskId(0)).map(|row| row.cpu_ns(9_000_000)), Some(1_000_000));
    }

    /// The run can be viewed up to there, in both directions.
    #[test]
    fn a_run_that_breaks_off_ends_there() {
        use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};
        use schedlab_proof::check::faulty_schedulers::{Double, Fault};
        use std::borrow::Cow;
        static ENTRY: Entry = Entry {
            name: Cow::Borrowed("panics"),
            title: Cow::Borrowed("A scheduler with a fault"),
            summary: Cow::Borrowed("panics at its 20th tick"),
            origin: Origin::Own,
            releases: &[Release {
                version: "1",
                also: &[],
                summary: "",
                golden: &[],
                hz_default: 1000,
                hz_range: (100, 1000),
                cpus_max: 8,
                policies: &[Policy::Other],
                can: Capabilities::BASIC,
                kernel: None,
                build: Build::Ordinary(|config| {
                    Box::new(Double::new(Fault::Panics, config.topology.cpus()))
                }),
            }],
        };
        let choice = crate::select::Choice::of(&ENTRY, &ENTRY.releases[0]);
        let text = r#"{"tasks": {"hog": {"loop": 10, "run": 10000}}}"#;
        let prepared = prepared(text, "fcfs", &[]);
        let one = Contender::from(choice);
        let mut player = Player::new(&prepared, &one, 0).expect("the session begins");
        assert_eq!(next(&mut player, 0), Lookup::Absent, "there is one task");
        let scene = to(&mut player, 90_000_000);
        let (end_ns, how) = player.end().expect("the run broke down");
        assert!(matches!(how, Ended::Broken(why) if why.contains("out of ticks")), "{how:?}");
        assert!((19_000_000..=21_000_000).contains(&end_ns), "{end_ns}");
        assert_eq!(scene.task(TaskId(0)).map(|row| row.cpu_ns(end_ns)), Some(end_ns));
        let scene = to(&mut player, 5_000_000);
        assert_eq!(scene.task(TaskId(0)).map(|row| row.cpu_ns(5_000_000)), Some(5_000_000));
        assert_eq!(previous(&mut player, u64::MAX), Lookup::Found(0));
    }
}
