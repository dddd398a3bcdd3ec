//! What is shown, and what keys and the clock make of it: [`App`]. Nothing here draws.

use super::columns::Column;
use super::keys::{self, Act};
use super::side::{Side, WORK};
use crate::options::time;
use crate::top_args::{SPEEDS, window};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use schedlab_core::TaskId;
use schedlab_lab::Error;
use schedlab_measure::film::Lookup;
use schedlab_report::format::duration;
use std::time::Duration;

/// Where the run is to be looked at next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    /// At this time, ns.
    At(u64),
    /// At the end.
    End,
    /// At the decision after, and before, the present.
    Next,
    Previous,
}

/// What Up and Down choose among.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Focus {
    /// CPUs.
    Cpus,
    /// Tasks.
    Tasks,
}

/// What the user is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// A time.
    Time,
    /// A window.
    Window,
    /// A task's name.
    Name,
}

impl Ask {
    /// The question.
    pub fn question(self) -> &'static str {
        match self {
            Ask::Time => "Go to (1.5s, 20ms; +5ms, -5ms from here; 50%): ",
            Ask::Window => "Window for %CPU and %WAIT (e.g. 20ms): ",
            Ask::Name => "Find a task whose name has: ",
        }
    }
}

/// What lies above the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Popup {
    /// The table of keys.
    Help,
    /// An answer is being found.
    Asking,
    /// Lines of an answer.
    Why(Vec<String>),
}

/// Of what it is asked why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A CPU.
    Cpu(u32),
    /// A task.
    Task(TaskId),
}

/// A question that somebody else answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Under which of the schedulers.
    pub side: usize,
    /// When, ns.
    pub at_ns: u64,
    /// Of what.
    pub subject: Subject,
}

/// All that is shown.
pub struct App<'a> {
    /// What is run.
    pub title: String,
    /// One scheduler, or two.
    pub sides: Vec<Side<'a>>,
    /// The side that keys are about.
    pub side: usize,
    /// The moment that is shown, ns.
    pub at_ns: u64,
    /// Whether time stands still.
    pub paused: bool,
    /// Virtual time in real time.
    pub speed: f64,
    /// Of shares, ns.
    pub window_ns: u64,
    /// What Up and Down choose among.
    pub focus: Focus,
    /// The CPU that is chosen.
    pub cpu: usize,
    /// The task that is chosen; none: the first of the table.
    pub task: Option<TaskId>,
    /// By what tasks are sorted.
    pub sort: Column,
    /// The other way round.
    pub reversed: bool,
    /// Without tasks that neither run nor wait.
    pub hide_idle: bool,
    /// One line for all CPUs.
    pub one_line: bool,
    /// What is asked for, and what has been typed.
    pub prompt: Option<(Ask, String)>,
    /// What lies above.
    pub popup: Option<Popup>,
    /// Its first line that is shown.
    pub scroll: usize,
    /// Something to say, until the next key.
    pub message: Option<String>,
    /// A question that is to be answered.
    pub question: Option<Question>,
    /// Whether there are characters beyond ASCII.
    pub unicode: bool,
    /// Whether what is asked for takes long: that is said.
    pub is_late: bool,
    /// So many rows are a page; the view says.
    pub page: usize,
    goal: Option<Goal>,
    /// What is left of a nanosecond when time has passed.
    left: f64,
    is_over: bool,
}

impl<'a> App<'a> {
    /// Shows `sides`, nothing of them yet, beginning at `at_ns`.
    pub fn new(title: String, sides: Vec<Side<'a>>, at_ns: u64) -> App<'a> {
        App {
            title,
            sides,
            side: 0,
            at_ns,
            paused: true,
            speed: 1.0,
            window_ns: 100_000_000,
            focus: Focus::Tasks,
            cpu: 0,
            task: None,
            sort: Column::Cpu,
            reversed: false,
            hide_idle: false,
            one_line: false,
            prompt: None,
            popup: None,
            scroll: 0,
            message: None,
            question: None,
            unicode: false,
            is_late: false,
            page: 10,
            goal: Some(Goal::At(at_ns)),
            left: 0.0,
            is_over: false,
        }
    }

    /// Whether it was ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether something is still to be simulated before the moment asked for can be shown.
    pub fn is_busy(&self) -> bool {
        self.goal.is_some()
    }

    /// The side that keys are about.
    pub fn active(&self) -> &Side<'a> {
        &self.sides[self.side]
    }

    /// Tasks in their order: that of the active side on both, so that they stand beside each other.
    pub fn order(&self) -> Vec<TaskId> {
        let mut order = self.active().order(self.sort, self.reversed, self.hide_idle);
        for other in self.sides.iter() {
            let more = other.order(self.sort, self.reversed, self.hide_idle);
            let mut known = order.clone();
            known.sort_unstable();
            order.extend(more.into_iter().filter(|task| known.binary_search(task).is_err()));
        }
        order
    }

    /// The place of the chosen task in `order`.
    pub fn chosen(&self, order: &[TaskId]) -> usize {
        let place = self.task.and_then(|task| order.iter().position(|other| *other == task));
        place.unwrap_or(0)
    }

    /// Works on what is to be shown next, for a while; whether there is more to do.
    ///
    /// # Errors
    /// A run could not be begun.
    pub fn work(&mut self) -> Result<bool, Error> {
        let Some(goal) = self.goal else { return Ok(false) };
        let side = &mut self.sides[self.side];
        let found = match goal {
            Goal::At(at_ns) => Some(at_ns),
            Goal::End => {
                let mut all = true;
                for side in &mut self.sides {
                    all &= side.player.approach(u64::MAX - 1, WORK)?;
                }
                let ends = self.sides.iter().filter_map(|side| side.player.end());
                all.then(|| ends.map(|(end_ns, _)| end_ns).max().unwrap_or(0))
            }
            Goal::Next => match side.player.next_decision(self.at_ns, WORK)? {
                Some(Lookup::Found(at_ns)) => Some(at_ns),
                Some(_) => {
                    self.message = Some("there is no decision after this".into());
                    Some(self.at_ns)
                }
                None => None,
            },
            Goal::Previous => match side.player.previous_decision(self.at_ns, WORK)? {
                Some(Lookup::Found(at_ns)) => Some(at_ns),
                Some(_) => {
                    self.message = Some("there is no decision before this".into());
                    Some(0)
                }
                None => None,
            },
        };
        let Some(at_ns) = found else { return Ok(true) };
        let mut all = true;
        for side in &mut self.sides {
            all &= side.show(at_ns, self.window_ns, WORK)?;
        }
        if !all {
            self.goal = Some(Goal::At(at_ns));
            return Ok(true);
        }
        self.goal = None;
        self.at_ns = self.within(at_ns);
        if !self.paused && self.ended() {
            self.paused = true;
        }
        Ok(false)
    }

    /// `at_ns`, or the end of the longest run if all are known to be over before.
    fn within(&self, at_ns: u64) -> u64 {
        let within = self.sides.iter().map(|side| side.player.within(at_ns));
        within.max().unwrap_or(at_ns)
    }

    /// Whether all runs are over at the moment that is shown.
    pub fn ended(&self) -> bool {
        let over = |side: &Side<'_>| side.player.end().is_some_and(|(ns, _)| ns <= self.at_ns);
        self.sides.iter().all(over)
    }

    /// So much real time has passed.
    pub fn passed(&mut self, real: Duration) {
        if self.paused || self.goal.is_some() {
            return;
        }
        let ns = real.as_secs_f64() * 1e9 * self.speed + self.left;
        self.left = ns.fract();
        if ns >= 1.0 {
            self.goal = Some(Goal::At(self.at_ns.saturating_add(ns as u64)));
        }
    }

    /// Asks for another moment, ns.
    pub fn go_to(&mut self, at_ns: u64) {
        self.goal = Some(Goal::At(at_ns));
    }

    /// Says something until the next key.
    fn say(&mut self, text: String) {
        self.message = Some(text);
    }

    /// An answer to the last question.
    pub fn answer(&mut self, text: Result<String, String>) {
        if self.popup != Some(Popup::Asking) {
            return;
        }
        match text {
            Ok(text) => {
                self.scroll = 0;
                self.popup = Some(Popup::Why(text.lines().map(str::to_string).collect()));
            }
            Err(error) => {
                self.popup = None;
                self.say(error);
            }
        }
    }

    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) {
        self.message = None;
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.is_over = true;
            return;
        }
        if let Some((ask, text)) = self.prompt.take() {
            self.typed(ask, text, key);
            return;
        }
        let Some(act) = keys::act(key) else { return };
        if self.popup.is_some() {
            self.above(act);
        } else {
            self.act(act);
        }
    }

    /// A key, while something is asked for.
    fn typed(&mut self, ask: Ask, mut text: String, key: KeyEvent) {
        const MOST: usize = 64;
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter => return self.asked(ask, text.trim()),
            KeyCode::Backspace => _ = text.pop(),
            KeyCode::Char(letter) if !letter.is_control() && text.chars().count() < MOST => {
                text.push(letter);
            }
            _ => {}
        }
        self.prompt = Some((ask, text));
    }

    /// What was asked for.
    fn asked(&mut self, ask: Ask, text: &str) {
        if text.is_empty() {
            return;
        }
        match ask {
            Ask::Time => match self.time(text) {
                Ok(at_ns) => self.goal = Some(Goal::At(at_ns)),
                Err(why) => self.say(why),
            },
            Ask::Window => match window(text) {
                Ok(ns) => self.set_window(ns),
                Err(why) => self.say(format!("{text}: {why}")),
            },
            Ask::Name => self.find(text),
        }
    }

    /// A time to go to: from 0, from here, or a part of the whole.
    fn time(&self, text: &str) -> Result<u64, String> {
        let wrong = |why: String| format!("{text}: {why}");
        if let Some(part) = text.strip_suffix('%') {
            let part: f64 = part.trim().parse().map_err(|_| wrong("it is no percentage".into()))?;
            if !(0.0..=100.0).contains(&part) {
                return Err(wrong("it must be from 0% to 100%".into()));
            }
            let whole_ns = self.length_ns().ok_or_else(|| {
                wrong("how long the run lasts is not known before its end is seen (End)".into())
            })?;
            return Ok((whole_ns as f64 * part / 100.0) as u64);
        }
        if let Some(rest) = text.strip_prefix('+') {
            return Ok(self.at_ns.saturating_add(time(rest.trim()).map_err(wrong)?));
        }
        if let Some(rest) = text.strip_prefix('-') {
            return Ok(self.at_ns.saturating_sub(time(rest.trim()).map_err(wrong)?));
        }
        time(text).map_err(wrong)
    }

    /// How long the longest run lasts, as far as that is known, ns.
    pub fn length_ns(&self) -> Option<u64> {
        let lengths: Option<Vec<u64>> =
            self.sides.iter().map(|side| side.player.length_ns()).collect();
        lengths?.into_iter().max()
    }

    fn set_window(&mut self, ns: u64) {
        self.window_ns = ns;
        self.goal.get_or_insert(Goal::At(self.at_ns));
    }

    /// Chooses the next task whose name has `text`.
    fn find(&mut self, text: &str) {
        let order = self.order();
        let start = self.chosen(&order) + 1;
        let wanted = text.to_lowercase();
        let side = self.active();
        let found = order.iter().cycle().skip(start).take(order.len()).find(|&&task| {
            side.row(task).is_some_and(|row| row.name.to_lowercase().contains(&wanted))
        });
        match found {
            Some(&task) => (self.task, self.focus) = (Some(task), Focus::Tasks),
            None => self.say(format!("no task here has \"{text}\" in its name")),
        }
    }

    /// While something lies above the rest.
    fn above(&mut self, act: Act) {
        match act {
            Act::Move(rows) => {
                self.scroll = self.scroll.saturating_add_signed(rows as isize);
            }
            Act::Page { down } => {
                let rows = self.page.max(1) as isize;
                self.scroll = self.scroll.saturating_add_signed(if down { rows } else { -rows });
            }
            Act::Start => self.scroll = 0,
            Act::End => self.scroll = usize::MAX,
            Act::Escape | Act::Quit | Act::Help | Act::Why | Act::Pause => {
                self.popup = None;
                self.question = None;
            }
            _ => {}
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            // What takes long is given up first.
            Act::Escape if self.goal.is_some() && self.is_late => {
                (self.goal, self.paused) = (None, true);
            }
            Act::Quit | Act::Escape => self.is_over = true,
            Act::Pause if self.paused && self.ended() => self.say("the run is over here".into()),
            Act::Pause => self.paused = !self.paused,
            Act::Next => self.step(Goal::Next),
            Act::Previous => self.step(Goal::Previous),
            Act::Window { forward: true } => {
                self.goal = Some(Goal::At(self.at_ns.saturating_add(self.window_ns)));
            }
            Act::Window { forward: false } => {
                self.goal = Some(Goal::At(self.at_ns.saturating_sub(self.window_ns)));
            }
            Act::Start => self.goal = Some(Goal::At(0)),
            Act::End => self.step(Goal::End),
            Act::Speed { faster } => self.speed = other_speed(self.speed, faster),
            Act::AskTime => self.prompt = Some((Ask::Time, String::new())),
            Act::AskWindow => self.prompt = Some((Ask::Window, String::new())),
            Act::AskName => self.prompt = Some((Ask::Name, String::new())),
            Act::Why => self.why(),
            Act::Focus => {
                self.focus = if self.focus == Focus::Cpus { Focus::Tasks } else { Focus::Cpus };
            }
            Act::Side => self.side = (self.side + 1) % self.sides.len(),
            Act::Move(rows) => self.choose(rows as isize),
            Act::Page { down } => {
                let rows = self.page.max(1) as isize;
                self.choose(if down { rows } else { -rows });
            }
            Act::Sort(column) => (self.sort, self.reversed) = (column, false),
            Act::SortBeside { right } => {
                let place = Column::ALL.iter().position(|&column| column == self.sort);
                let place = place.unwrap_or(0) as isize + if right { 1 } else { -1 };
                let place = place.clamp(0, Column::ALL.len() as isize - 1) as usize;
                self.sort = Column::ALL[place];
            }
            Act::Reverse => self.reversed = !self.reversed,
            Act::HideIdle => self.hide_idle = !self.hide_idle,
            Act::OneLine => self.one_line = !self.one_line,
            Act::Help => (self.popup, self.scroll) = (Some(Popup::Help), 0),
        }
    }

    /// Whoever steps wants time to stand still.
    fn step(&mut self, goal: Goal) {
        self.paused = true;
        self.goal = Some(goal);
    }

    /// Chooses a CPU or a task so many rows further down.
    fn choose(&mut self, rows: isize) {
        match self.focus {
            Focus::Cpus => {
                let last = self.active().frame.cpus.len().saturating_sub(1);
                self.cpu = self.cpu.saturating_add_signed(rows).min(last);
            }
            Focus::Tasks => {
                let order = self.order();
                let place = self.chosen(&order).saturating_add_signed(rows);
                self.task = order.get(place.min(order.len().saturating_sub(1))).copied();
            }
        }
    }

    /// Asks why the chosen CPU or task does what it does. Time stands still for it.
    fn why(&mut self) {
        let order = self.order();
        let subject = match self.focus {
            Focus::Cpus => Subject::Cpu(self.cpu as u32),
            Focus::Tasks => match order.get(self.chosen(&order)) {
                Some(&task) => Subject::Task(task),
                None => return self.say("there is no task here".into()),
            },
        };
        self.paused = true;
        self.popup = Some(Popup::Asking);
        let at_ns = self.active().frame.at_ns;
        self.question = Some(Question { side: self.side, at_ns, subject });
    }

    /// A line about time: where, in what, how.
    pub fn status(&self) -> String {
        let how = if self.ended() {
            "at the end"
        } else if self.paused {
            "paused"
        } else {
            "running"
        };
        format!("{how}  speed {}", speed_text(self.speed))
    }

    /// A span of time in three digits.
    pub fn span(&self, ns: u64) -> String {
        duration(ns, self.unicode)
    }
}

/// The next speed of 1, 2, 5, 10, 20 ...
fn other_speed(speed: f64, faster: bool) -> f64 {
    let steps = (-9..=6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let steps = steps.filter(|step| (SPEEDS.0..=SPEEDS.1).contains(step));
    let beside = |other: &f64| (other / speed - 1.0).abs() > 1e-6;
    let other = if faster {
        steps.filter(beside).find(|&step| step > speed)
    } else {
        steps.filter(beside).rfind(|&step| step < speed)
    };
    other.unwrap_or(speed)
}

/// A speed, as a factor or a fraction.
fn speed_text(speed: f64) -> String {
    if speed >= 1.0 {
        return format!("{}", (speed * 100.0).round() / 100.0);
    }
    let whole = 1.0 / speed;
    match (whole.round() / whole - 1.0).abs() < 1e-6 {
        true => format!("1/{}", whole.round()),
        false => format!("{speed}"),
    }
}
