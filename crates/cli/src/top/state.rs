//! Model of the display, and the effect of keys and the clock: [`App`]. This module does not draw.

use super::columns::Column;
use super::keys::{self, Action};
use super::side::{Side, WORK};
use crate::options::time;
use crate::top_args::{SPEEDS, window};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use schedlab_core::TaskId;
use schedlab_lab::Error;
use schedlab_measure::film::Lookup;
use schedlab_report::format::duration;
use std::time::Duration;

/// Moment to show next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goal {
    /// A given time, ns.
    At(u64),
    /// The end of the run.
    End,
    /// The next or the previous decision.
    Next,
    Previous,
}

/// List that Up and Down move through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Focus {
    /// CPUs.
    Cpus,
    /// Tasks.
    Tasks,
}

/// Prompt for input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prompt {
    /// A time.
    Time,
    /// A window.
    Window,
    /// A task's name.
    Name,
}

impl Prompt {
    /// Returns the question.
    pub fn question(self) -> &'static str {
        match self {
            Prompt::Time => "Go to (1.5s, 20ms; +5ms, -5ms from here; 50%): ",
            Prompt::Window => "Window for %CPU and %WAIT (e.g. 20ms): ",
            Prompt::Name => "Find a task whose name contains: ",
        }
    }
}

/// Popup above the display.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Popup {
    /// The table of keys.
    Help,
    /// An explanation is being found.
    Asking,
    /// Lines of an explanation.
    Why(Vec<String>),
}

/// Subject of an explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A CPU.
    Cpu(u32),
    /// A task.
    Task(TaskId),
}

/// Request for an explanation, which another thread finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Index of the scheduler.
    pub side: usize,
    /// Moment to explain, ns.
    pub at_ns: u64,
    /// Subject to explain.
    pub subject: Subject,
}

/// Model of the display.
pub struct App<'a> {
    /// Name of the workload.
    pub title: String,
    /// One scheduler, or two.
    pub sides: Vec<Side<'a>>,
    /// Index of the side to which keys apply.
    pub side: usize,
    /// Moment that is shown, ns.
    pub at_ns: u64,
    /// Whether the run is paused.
    pub paused: bool,
    /// Virtual time per real time.
    pub speed: f64,
    /// Window of shares, ns.
    pub window_ns: u64,
    /// List that Up and Down move through.
    pub focus: Focus,
    /// Selected CPU.
    pub cpu: usize,
    /// Selected task; `None`: the first of the table.
    pub task: Option<TaskId>,
    /// Column by which tasks are sorted.
    pub sort: Column,
    /// Whether the order is reversed.
    pub reversed: bool,
    /// Whether tasks that neither run nor wait are hidden.
    pub hide_idle: bool,
    /// Whether one line stands for all CPUs.
    pub one_line: bool,
    /// Prompt, and the text typed so far.
    pub prompt: Option<(Prompt, String)>,
    /// Popup.
    pub popup: Option<Popup>,
    /// First line of the popup that is shown.
    pub scroll: usize,
    /// Message, shown until the next key.
    pub message: Option<String>,
    /// Request for an explanation.
    pub question: Option<Question>,
    /// Whether there are characters beyond ASCII.
    pub unicode: bool,
    /// Whether an operation takes long, which is then shown.
    pub is_late: bool,
    /// Number of rows of a page, set by the view.
    pub page: usize,
    goal: Option<Goal>,
    /// Remainder of a nanosecond when time passes.
    left: f64,
    is_over: bool,
}

impl<'a> App<'a> {
    /// Makes a display of `sides`, beginning at `at_ns`, with nothing shown yet.
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

    /// Returns whether the user has ended it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether simulation is needed before the requested moment can be shown.
    pub fn is_busy(&self) -> bool {
        self.goal.is_some()
    }

    /// Returns the side to which keys apply.
    pub fn active(&self) -> &Side<'a> {
        &self.sides[self.side]
    }

    /// Returns the order of tasks: that of the active side for both, so that rows match.
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

    /// Returns the index of the selected task in `order`.
    pub fn chosen(&self, order: &[TaskId]) -> usize {
        let place = self.task.and_then(|task| order.iter().position(|other| *other == task));
        place.unwrap_or(0)
    }

    /// Simulates for a limited number of events, and returns whether more remain.
    ///
    /// # Errors
    /// A run could not be started.
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
                    self.message = Some("there is no later decision".into());
                    Some(self.at_ns)
                }
                None => None,
            },
            Goal::Previous => match side.player.previous_decision(self.at_ns, WORK)? {
                Some(Lookup::Found(at_ns)) => Some(at_ns),
                Some(_) => {
                    self.message = Some("there is no earlier decision".into());
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

    /// Returns `at_ns`, or the end of the longest run if all are known to have ended before.
    fn within(&self, at_ns: u64) -> u64 {
        let within = self.sides.iter().map(|side| side.player.within(at_ns));
        within.max().unwrap_or(at_ns)
    }

    /// Returns whether all runs have ended at the moment shown.
    pub fn ended(&self) -> bool {
        let over = |side: &Side<'_>| side.player.end().is_some_and(|(ns, _)| ns <= self.at_ns);
        self.sides.iter().all(over)
    }

    /// Advances by an amount of real time.
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

    /// Requests another moment, ns.
    pub fn go_to(&mut self, at_ns: u64) {
        self.goal = Some(Goal::At(at_ns));
    }

    /// Shows a message until the next key.
    fn say(&mut self, text: String) {
        self.message = Some(text);
    }

    /// Takes the answer to the last question.
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

    /// Handles a key.
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

    /// Handles a key at a prompt.
    fn typed(&mut self, ask: Prompt, mut text: String, key: KeyEvent) {
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

    /// Handles the input of a prompt.
    fn asked(&mut self, ask: Prompt, text: &str) {
        if text.is_empty() {
            return;
        }
        match ask {
            Prompt::Time => match self.time(text) {
                Ok(at_ns) => self.goal = Some(Goal::At(at_ns)),
                Err(why) => self.say(why),
            },
            Prompt::Window => match window(text) {
                Ok(ns) => self.set_window(ns),
                Err(why) => self.say(format!("{text}: {why}")),
            },
            Prompt::Name => self.find(text),
        }
    }

    /// Parses a time: from 0, relative to the present, or a part of the whole.
    fn time(&self, text: &str) -> Result<u64, String> {
        let wrong = |why: String| format!("{text}: {why}");
        if let Some(part) = text.strip_suffix('%') {
            let part: f64 =
                part.trim().parse().map_err(|_| wrong("it is not a percentage".into()))?;
            if !(0.0..=100.0).contains(&part) {
                return Err(wrong("it must be from 0% to 100%".into()));
            }
            let whole_ns = self.length_ns().ok_or_else(|| {
                wrong("the length of the run is unknown until its end is reached (End)".into())
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

    /// Returns the length of the longest run, ns, if it is known.
    pub fn length_ns(&self) -> Option<u64> {
        let lengths: Option<Vec<u64>> =
            self.sides.iter().map(|side| side.player.length_ns()).collect();
        lengths?.into_iter().max()
    }

    fn set_window(&mut self, ns: u64) {
        self.window_ns = ns;
        self.goal.get_or_insert(Goal::At(self.at_ns));
    }

    /// Selects the next task whose name contains `text`.
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
            None => self.say(format!("no task name here contains \"{text}\"")),
        }
    }

    /// Handles an action while a popup is shown.
    fn above(&mut self, act: Action) {
        match act {
            Action::Move(rows) => {
                self.scroll = self.scroll.saturating_add_signed(rows as isize);
            }
            Action::Page { down } => {
                let rows = self.page.max(1) as isize;
                self.scroll = self.scroll.saturating_add_signed(if down { rows } else { -rows });
            }
            Action::Start => self.scroll = 0,
            Action::End => self.scroll = usize::MAX,
            Action::Escape | Action::Quit | Action::Help | Action::Why | Action::Pause => {
                self.popup = None;
                self.question = None;
            }
            _ => {}
        }
    }

    fn act(&mut self, act: Action) {
        match act {
            // A long operation is cancelled first.
            Action::Escape if self.goal.is_some() && self.is_late => {
                (self.goal, self.paused) = (None, true);
            }
            Action::Quit | Action::Escape => self.is_over = true,
            Action::Pause if self.paused && self.ended() => {
                self.say("the run has ended here".into())
            }
            Action::Pause => self.paused = !self.paused,
            Action::Next => self.step(Goal::Next),
            Action::Previous => self.step(Goal::Previous),
            Action::Window { forward: true } => {
                self.goal = Some(Goal::At(self.at_ns.saturating_add(self.window_ns)));
            }
            Action::Window { forward: false } => {
                self.goal = Some(Goal::At(self.at_ns.saturating_sub(self.window_ns)));
            }
            Action::Start => self.goal = Some(Goal::At(0)),
            Action::End => self.step(Goal::End),
            Action::Speed { faster } => self.speed = other_speed(self.speed, faster),
            Action::AskTime => self.prompt = Some((Prompt::Time, String::new())),
            Action::AskWindow => self.prompt = Some((Prompt::Window, String::new())),
            Action::AskName => self.prompt = Some((Prompt::Name, String::new())),
            Action::Why => self.why(),
            Action::Focus => {
                self.focus = if self.focus == Focus::Cpus { Focus::Tasks } else { Focus::Cpus };
            }
            Action::Side => self.side = (self.side + 1) % self.sides.len(),
            Action::Move(rows) => self.choose(rows as isize),
            Action::Page { down } => {
                let rows = self.page.max(1) as isize;
                self.choose(if down { rows } else { -rows });
            }
            Action::Sort(column) => (self.sort, self.reversed) = (column, false),
            Action::SortBeside { right } => {
                let place = Column::ALL.iter().position(|&column| column == self.sort);
                let place = place.unwrap_or(0) as isize + if right { 1 } else { -1 };
                let place = place.clamp(0, Column::ALL.len() as isize - 1) as usize;
                self.sort = Column::ALL[place];
            }
            Action::Reverse => self.reversed = !self.reversed,
            Action::HideIdle => self.hide_idle = !self.hide_idle,
            Action::OneLine => self.one_line = !self.one_line,
            Action::Help => (self.popup, self.scroll) = (Some(Popup::Help), 0),
        }
    }

    /// Moves by a step, and pauses.
    fn step(&mut self, goal: Goal) {
        self.paused = true;
        self.goal = Some(goal);
    }

    /// Moves the selection by a number of rows.
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

    /// Requests an explanation of the selected CPU or task, and pauses.
    fn why(&mut self) {
        let order = self.order();
        let subject = match self.focus {
            Focus::Cpus => Subject::Cpu(self.cpu as u32),
            Focus::Tasks => match order.get(self.chosen(&order)) {
                Some(&task) => Subject::Task(task),
                None => return self.say("there are no tasks here".into()),
            },
        };
        self.paused = true;
        self.popup = Some(Popup::Asking);
        let at_ns = self.active().frame.at_ns;
        self.question = Some(Question { side: self.side, at_ns, subject });
    }

    /// Returns a line about time: whether it advances, and how fast.
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

    /// Formats a span of time in three digits.
    pub fn span(&self, ns: u64) -> String {
        duration(ns, self.unicode)
    }
}

/// Returns the next speed of 1, 2, 5, 10, 20 ...
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

/// Formats a speed, as a factor or a fraction.
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
