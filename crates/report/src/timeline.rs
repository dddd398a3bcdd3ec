//! A run drawn as text: time goes to the right, and every lane is a line.
//!
//! # Which lanes
//!
//! On one or two CPUs with few tasks, a lane is a **task**: it shows when the task ran, waited and slept, which is what one wants
//! to see there. With too many tasks for that, a lane is all tasks of a key. On more CPUs, or with too many keys too, a lane is a
//! **CPU** (or several neighbouring ones, if there are more than [`LANES_MAX`]), and letters tell who had it.
//!
//! # What a cell shows
//!
//! A cell is one column of one lane: a stretch of time, the same for all. In a task's lane its darkness is how much of that time
//! the task ran; a line means that it waited for a CPU, a blank that it slept or was not there. With two CPUs the upper half
//! of the line is CPU 0, the lower half CPU 1, so that a migration can be seen.
//!
//! In a CPU's lane a cell shows who had most of it. A letter stands where the one who has most changes, small where the CPU idled
//! for more than half of the cell; what follows it is darker the more of the cell that one had.

use crate::format::{duration, instant, percent};
use crate::model::{RunReport, SliceRow, SpanRow};
use crate::{Style, shortened, text_width};
use std::fmt;

/// No more lanes than this are drawn.
pub const LANES_MAX: usize = 32;
/// No more owners than this have a letter of their own.
const LETTERS: usize = 26;
/// With no more tasks (or keys) than this, a lane is a task (or a key).
const TASK_LANES_MAX: usize = 24;

/// What a lane is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lanes {
    /// Whatever reads best: see the module.
    #[default]
    Auto,
    /// A task, or a key.
    Tasks,
    /// A CPU.
    Cpus,
}

/// What to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimelineOptions {
    /// What a lane is.
    pub lanes: Lanes,
    /// From when, ns; none = the beginning.
    pub from_ns: Option<u64>,
    /// To when, ns; none, or later than the end of the run = the end.
    pub to_ns: Option<u64>,
}

/// Why there is nothing to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineError {
    /// The slices of the run were not recorded.
    NotRecorded,
    /// The window is empty, or begins after the end of the run, which is told (ns).
    Window {
        /// When the run ended.
        end_ns: u64,
    },
}

impl fmt::Display for TimelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimelineError::NotRecorded => write!(f, "the slices of this run were not recorded"),
            TimelineError::Window { end_ns } => write!(
                f,
                "nothing to draw in that window: the run went from 0 to {}",
                duration(*end_ns, true)
            ),
        }
    }
}

impl std::error::Error for TimelineError {}

/// Draws a run, ending in a newline.
///
/// # Errors
/// If there is nothing to draw.
pub fn draw(run: &RunReport, options: TimelineOptions, style: Style) -> Result<String, TimelineError> {
    let slices = run.slices.as_deref().ok_or(TimelineError::NotRecorded)?;
    let spans = run.spans.as_deref().unwrap_or(&[]);
    let end_ns = run.end.at_ns;
    let from_ns = options.from_ns.unwrap_or(0);
    let to_ns = options.to_ns.unwrap_or(end_ns).min(end_ns);
    if from_ns >= to_ns {
        return Err(TimelineError::Window { end_ns });
    }
    let scene = Scene {
        run,
        slices,
        spans,
        from_ns,
        to_ns,
        style,
    };
    let by_task = Owners::by_task(&scene);
    let by_key = Owners::by_key(&scene);
    let few_cpus = run.machine.cpus <= 2;
    Ok(match options.lanes {
        Lanes::Auto if few_cpus && by_task.len() <= TASK_LANES_MAX => draw_tasks(&scene, &by_task),
        Lanes::Auto if few_cpus && by_key.len() <= TASK_LANES_MAX => draw_tasks(&scene, &by_key),
        Lanes::Tasks if by_task.len() <= TASK_LANES_MAX => draw_tasks(&scene, &by_task),
        Lanes::Tasks => draw_tasks(&scene, &by_key),
        Lanes::Auto | Lanes::Cpus if by_task.len() <= LETTERS => draw_cpus(&scene, &by_task),
        Lanes::Auto | Lanes::Cpus => draw_cpus(&scene, &by_key),
    })
}

/// What is drawn.
struct Scene<'a> {
    run: &'a RunReport,
    slices: &'a [SliceRow],
    spans: &'a [SpanRow],
    from_ns: u64,
    to_ns: u64,
    style: Style,
}

impl Scene<'_> {
    fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// The part of `start_ns..end_ns` that is in the window; none if there is none.
    fn clip(&self, start_ns: u64, end_ns: u64) -> Option<(u64, u64)> {
        let (start_ns, end_ns) = (start_ns.max(self.from_ns), end_ns.min(self.to_ns));
        (start_ns < end_ns).then_some((start_ns, end_ns))
    }

    /// When cell `cell` of `cells` begins, ns.
    fn cell_start_ns(&self, cell: usize, cells: usize) -> u64 {
        self.from_ns + (u128::from(self.length_ns()) * cell as u128 / cells as u128) as u64
    }

    /// The cell that `at_ns` is in.
    fn cell_of(&self, at_ns: u64, cells: usize) -> usize {
        let cell = u128::from(at_ns - self.from_ns) * cells as u128 / u128::from(self.length_ns());
        // Cells begin at whole ns, rounded down: the next may have begun.
        let next = cell as usize + 1;
        if next < cells && self.cell_start_ns(next, cells) <= at_ns {
            next
        } else {
            cell as usize
        }
    }

    /// Divides a stretch among the cells it goes through: calls `each` with cell and ns.
    fn spread(&self, start_ns: u64, end_ns: u64, cells: usize, mut each: impl FnMut(usize, u64)) {
        let Some((start_ns, end_ns)) = self.clip(start_ns, end_ns) else {
            return;
        };
        let mut at_ns = start_ns;
        let mut cell = self.cell_of(start_ns, cells);
        while at_ns < end_ns {
            let until_ns = self.cell_start_ns(cell + 1, cells).min(end_ns);
            if at_ns < until_ns {
                each(cell, until_ns - at_ns);
            }
            at_ns = until_ns;
            cell += 1;
        }
    }

    fn cell_ns(&self, cell: usize, cells: usize) -> u64 {
        self.cell_start_ns(cell + 1, cells) - self.cell_start_ns(cell, cells)
    }

    fn part(&self, ns: u64) -> f64 {
        ns as f64 / self.length_ns() as f64
    }
}

/// Those to whom time is put down: tasks or keys. Only those that ran or were runnable in the window.
struct Owners {
    labels: Vec<String>,
    /// For each task whose time it is.
    of_task: Vec<Option<usize>>,
    /// How many tasks each stands for.
    tasks: Vec<usize>,
    /// CPU time of each in the window, ns.
    cpu_ns: Vec<u64>,
    /// Whether they are keys.
    keys: bool,
}

impl Owners {
    fn by_task(scene: &Scene) -> Owners {
        let names = scene.run.tasks.iter().map(|task| (task.task, task.name.as_str()));
        Owners::new(scene, names.collect(), false)
    }

    fn by_key(scene: &Scene) -> Owners {
        let numbers = crate::model::key_numbers(scene.run.tasks.iter().map(|task| task.key.as_str()));
        let keys = scene
            .run
            .tasks
            .iter()
            .zip(numbers)
            .map(|(task, key)| (key, task.key.as_str()));
        Owners::new(scene, keys.collect(), true)
    }

    /// `candidates`: for each task its owner, by number and name.
    fn new(scene: &Scene, candidates: Vec<(u32, &str)>, keys: bool) -> Owners {
        let mut there = vec![false; candidates.len()];
        let mut task_ns = vec![0; candidates.len()];
        for &SliceRow(_, start_ns, end_ns, task) in scene.slices {
            if let Some((start_ns, end_ns)) = scene.clip(start_ns, end_ns) {
                there[task as usize] = true;
                task_ns[task as usize] += end_ns - start_ns;
            }
        }
        for &SpanRow(start_ns, end_ns, task) in scene.spans {
            there[task as usize] |= scene.clip(start_ns, end_ns).is_some();
        }
        let mut owners = Owners {
            labels: Vec::new(),
            of_task: vec![None; candidates.len()],
            tasks: Vec::new(),
            cpu_ns: Vec::new(),
            keys,
        };
        // Owners are numbered as their first task comes.
        let mut place_of = vec![None; candidates.len()];
        for (task, &(number, label)) in candidates.iter().enumerate().filter(|&(task, _)| there[task]) {
            let place = *place_of[number as usize].get_or_insert_with(|| {
                owners.labels.push(label.into());
                owners.tasks.push(0);
                owners.cpu_ns.push(0);
                owners.labels.len() - 1
            });
            owners.of_task[task] = Some(place);
            owners.tasks[place] += 1;
            owners.cpu_ns[place] += task_ns[task];
        }
        owners
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    /// The label, with the number of tasks if it stands for several.
    fn label(&self, owner: usize, width: usize, style: Style) -> String {
        let sign = if style.unicode { "×" } else { "x" };
        let count = match self.tasks[owner] {
            1 => String::new(),
            tasks => format!(" {sign}{tasks}"),
        };
        let width = width.saturating_sub(text_width(&count)).max(4);
        shortened(&self.labels[owner], width, style) + &count
    }

    /// The `most` owners with the most CPU time, in their own order.
    fn busiest(&self, most: usize) -> Vec<usize> {
        let mut owners: Vec<usize> = (0..self.len()).collect();
        owners.sort_by_key(|&owner| std::cmp::Reverse(self.cpu_ns[owner]));
        owners.truncate(most);
        owners.sort_unstable();
        owners
    }
}

/// Room for a lane's label.
const LABEL_MAX: usize = 18;
/// Room for the figure behind a lane, the blank before it included.
const FIGURE: usize = 9;

/// One lane a task, or a key.
fn draw_tasks(scene: &Scene, owners: &Owners) -> String {
    let style = scene.style;
    let rows = owners.busiest(TASK_LANES_MAX);
    let label_max = LABEL_MAX.min(style.columns() / 4);
    let labels: Vec<String> = rows
        .iter()
        .map(|&owner| owners.label(owner, label_max, style))
        .collect();
    let label_width = labels
        .iter()
        .map(|label| text_width(label))
        .max()
        .unwrap_or(0)
        .max(4);
    let cells = style.columns() - label_width - 1 - FIGURE;

    let two = scene.run.machine.cpus == 2;
    let mut lane_of = vec![None; owners.len()];
    rows.iter()
        .enumerate()
        .for_each(|(lane, &owner)| lane_of[owner] = Some(lane));
    // For each lane and cell the time on even and odd CPUs, and the time that it was runnable.
    let mut ran = vec![[0u64; 2]; rows.len() * cells];
    let mut wanted = vec![0u64; rows.len() * cells];
    let mut busy = vec![0u64; cells];
    for &SliceRow(cpu, start_ns, end_ns, task) in scene.slices {
        let lane = owners.of_task[task as usize].and_then(|owner| lane_of[owner]);
        scene.spread(start_ns, end_ns, cells, |cell, ns| {
            busy[cell] += ns;
            if let Some(lane) = lane {
                ran[lane * cells + cell][cpu as usize % 2] += ns;
            }
        });
    }
    for &SpanRow(start_ns, end_ns, task) in scene.spans {
        let lane = owners.of_task[task as usize].and_then(|owner| lane_of[owner]);
        if let Some(lane) = lane {
            scene.spread(start_ns, end_ns, cells, |cell, ns| {
                wanted[lane * cells + cell] += ns
            });
        }
    }

    let what = if owners.keys {
        "one lane a key"
    } else {
        "one lane a task"
    };
    let mut text = head(scene, what, cells);
    axis(&mut text, scene, label_width, cells, "of a CPU");
    for (lane, &owner) in rows.iter().enumerate() {
        let mut line = Line::new(style);
        line.plain(&padded(&labels[lane], label_width));
        line.plain(" ");
        // A key's lane is full when its tasks have all the CPUs that they could use.
        let most = owners.tasks[owner].min(scene.run.machine.cpus as usize) as u64;
        for cell in 0..cells {
            let full_ns = scene.cell_ns(cell, cells) * most;
            let at = lane * cells + cell;
            let [even, odd] = ran[at];
            let waits_ns = wanted[at].saturating_sub(even + odd);
            let (mark, lit) = if even + odd == 0 {
                (
                    if 2 * waits_ns >= scene.cell_ns(cell, cells) {
                        style.waiting()
                    } else {
                        ' '
                    },
                    false,
                )
            } else if two && most == 1 {
                (style.half(odd > even, 2 * (even + odd) >= full_ns), true)
            } else {
                (style.shade(even + odd, full_ns), true)
            };
            line.put(mark, lit.then(|| palette(owner)));
        }
        line.plain(&figure(scene.part(owners.cpu_ns[owner])));
        line.end(&mut text);
    }
    let mut line = Line::new(style);
    line.plain(&padded("idle", label_width));
    line.plain(" ");
    let cpus = u64::from(scene.run.machine.cpus);
    let mut idle_ns = 0;
    for (cell, busy_ns) in busy.iter().enumerate() {
        let all_ns = scene.cell_ns(cell, cells) * cpus;
        idle_ns += all_ns - busy_ns;
        // Shown where at least one CPU's worth of half the cell was idle.
        let idle = 2 * (all_ns - busy_ns) >= scene.cell_ns(cell, cells).max(1);
        line.put(if idle { style.idle() } else { ' ' }, None);
    }
    line.plain(&figure(scene.part(idle_ns)));
    line.end(&mut text);

    let left_out = owners.len() - rows.len();
    if left_out > 0 {
        let shown_ns: u64 = rows.iter().map(|&owner| owners.cpu_ns[owner]).sum();
        let rest_ns = owners.cpu_ns.iter().sum::<u64>() - shown_ns;
        let kind = if owners.keys { "keys" } else { "tasks" };
        text.push_str(&format!(
            "left out: {left_out} {kind} with the least CPU time, {} together\n",
            percent(scene.part(rest_ns))
        ));
    }
    text.push('\n');
    let mut marks: Vec<String> = if two {
        vec![
            format!(
                "{} on CPU 0, {} on CPU 1",
                style.half(false, true),
                style.half(true, true)
            ),
            format!(
                "{} {} less than half of the column",
                style.half(false, false),
                style.half(true, false)
            ),
        ]
    } else {
        let [a, b, c, d] = style.shades();
        vec![format!("{a}{b}{c}{d} running, all of the column to little of it")]
    };
    if !scene.spans.is_empty() {
        marks.push(format!("{} waiting", style.waiting()));
        marks.push("blank: asleep".into());
    }
    marks.push(format!("{} CPU idle", style.idle()));
    wrapped(&mut text, &marks, style);
    text
}

/// One lane a CPU, or some neighbouring ones.
fn draw_cpus(scene: &Scene, owners: &Owners) -> String {
    let style = scene.style;
    let cpus = scene.run.machine.cpus as usize;
    let per_lane = cpus.div_ceil(LANES_MAX);
    let lanes = cpus.div_ceil(per_lane);
    let label = |lane: usize| {
        let (first, last) = (lane * per_lane, ((lane + 1) * per_lane).min(cpus) - 1);
        if first == last {
            format!("CPU {first}")
        } else {
            format!("CPU {first}-{last}")
        }
    };
    let label_width = (0..lanes).map(|lane| label(lane).len()).max().unwrap_or(0);
    let cells = style.columns() - label_width - 1 - FIGURE;

    // The first letters go to the owners with the most time; the last, if there are too many, to all the others.
    let all_fit = owners.len() <= LETTERS;
    let named = owners.busiest(if all_fit { LETTERS } else { LETTERS - 1 });
    let others = named.len();
    let mut mark_of = vec![others; owners.len()];
    named
        .iter()
        .enumerate()
        .for_each(|(mark, &owner)| mark_of[owner] = mark);
    let marks = if all_fit { named.len() } else { others + 1 };

    let mut had = vec![0u64; lanes * cells * marks];
    for &SliceRow(cpu, start_ns, end_ns, task) in scene.slices {
        let Some(owner) = owners.of_task[task as usize] else {
            continue;
        };
        let lane = cpu as usize / per_lane;
        scene.spread(start_ns, end_ns, cells, |cell, ns| {
            had[(lane * cells + cell) * marks + mark_of[owner]] += ns;
        });
    }

    let what = match per_lane {
        1 => "one lane a CPU".to_string(),
        _ => format!("one lane {per_lane} CPUs"),
    };
    let mut text = head(scene, &what, cells);
    axis(&mut text, scene, label_width, cells, "busy");
    for lane in 0..lanes {
        let mut line = Line::new(style);
        line.plain(&padded(&label(lane), label_width));
        line.plain(" ");
        let in_lane = (cpus - lane * per_lane).min(per_lane) as u64;
        let mut before = None;
        let mut lane_ns = 0;
        for cell in 0..cells {
            let full_ns = scene.cell_ns(cell, cells) * in_lane;
            let at = (lane * cells + cell) * marks;
            let cell_had = &had[at..at + marks];
            let busy_ns: u64 = cell_had.iter().sum();
            lane_ns += busy_ns;
            // The first among equals.
            let most = (0..marks)
                .rev()
                .max_by_key(|&mark| cell_had[mark])
                .filter(|_| busy_ns > 0);
            match most {
                None => line.put(style.idle(), None),
                Some(mark) if before != most => {
                    let letter = letter(mark, others);
                    let letter = if 2 * busy_ns < full_ns {
                        letter.to_ascii_lowercase()
                    } else {
                        letter
                    };
                    line.put(letter, Some(palette(mark)));
                }
                Some(mark) => line.put(style.part(cell_had[mark], busy_ns, full_ns), Some(palette(mark))),
            }
            before = most;
        }
        line.plain(&figure(scene.part(lane_ns) / in_lane as f64));
        line.end(&mut text);
    }
    text.push('\n');

    let machine_ns = |ns: u64| percent(scene.part(ns) / cpus as f64);
    let mut legend: Vec<String> = named
        .iter()
        .enumerate()
        .map(|(mark, &owner)| {
            let label = owners.label(owner, LABEL_MAX, style);
            format!(
                "{} {label} {}",
                letter(mark, others),
                machine_ns(owners.cpu_ns[owner])
            )
        })
        .collect();
    if !all_fit {
        let named_ns: u64 = named.iter().map(|&owner| owners.cpu_ns[owner]).sum();
        let rest_ns = owners.cpu_ns.iter().sum::<u64>() - named_ns;
        let kind = if owners.keys { "keys" } else { "tasks" };
        let count = owners.len() - named.len();
        legend.push(format!("{OTHERS} {count} other {kind} {}", machine_ns(rest_ns)));
    }
    columns(&mut text, &legend, style);
    let [full, most, shared, little] = style.shades();
    let marks = [
        format!("{full} all of the column"),
        format!("{most} most"),
        format!("{shared} shared with others"),
        format!("{little} or small letter: mostly idle"),
        format!("{} idle", style.idle()),
    ];
    wrapped(&mut text, &marks, style);
    text
}

/// Who has no letter of his own.
const OTHERS: char = '*';

fn letter(mark: usize, others: usize) -> char {
    if mark == others {
        OTHERS
    } else {
        (b'A' + mark as u8) as char
    }
}

/// Colours (of the 256) that can be told apart on black and on white.
fn palette(number: usize) -> u8 {
    const COLORS: [u8; 12] = [33, 208, 71, 161, 99, 37, 178, 130, 205, 64, 244, 25];
    COLORS[number % COLORS.len()]
}

impl Style {
    /// From full to little.
    fn shades(&self) -> [char; 4] {
        if self.unicode {
            ['█', '▓', '▒', '░']
        } else {
            ['#', '%', '+', ':']
        }
    }

    /// How much of its cell a task ran.
    fn shade(&self, ns: u64, full_ns: u64) -> char {
        let [full, most, some, little] = self.shades();
        match () {
            () if ns * 8 >= full_ns * 7 => full,
            () if ns * 2 >= full_ns => most,
            () if ns * 4 >= full_ns => some,
            () => little,
        }
    }

    /// How much of its cell the one who had most had.
    fn part(&self, ns: u64, busy_ns: u64, full_ns: u64) -> char {
        let [full, most, shared, little] = self.shades();
        match () {
            () if ns * 8 >= full_ns * 7 => full,
            () if busy_ns * 2 < full_ns => little,
            () if ns * 2 >= full_ns => most,
            () => shared,
        }
    }

    /// A task that ran on CPU 0 (above) or CPU 1 (below), for most of a cell or less.
    fn half(&self, below: bool, most: bool) -> char {
        match (self.unicode, below, most) {
            (true, false, true) => '▀',
            (true, true, true) => '▄',
            (true, false, false) => '▔',
            (true, true, false) => '▁',
            (false, false, true) => '0',
            (false, true, true) => '1',
            (false, false, false) => '\'',
            (false, true, false) => ',',
        }
    }

    fn waiting(&self) -> char {
        if self.unicode { '─' } else { '-' }
    }

    fn idle(&self) -> char {
        if self.unicode { '·' } else { '.' }
    }
}

/// What is drawn, and how much time a column is.
fn head(scene: &Scene, what: &str, cells: usize) -> String {
    let unicode = scene.style.unicode;
    let run = scene.run;
    let cpus = match run.machine.cpus {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    let column = duration(scene.length_ns() / cells as u64, unicode);
    let parts = [run.spec(), cpus, what.into(), format!("one column {column}")];
    let mut text = String::new();
    wrapped(&mut text, &parts, scene.style);
    text
}

/// The time axis: a line of labels, and one of marks.
fn axis(text: &mut String, scene: &Scene, label_width: usize, cells: usize, figure: &str) {
    let unicode = scene.style.unicode;
    let step_ns = step_ns(scene.length_ns(), cells);
    let (line, mark) = if unicode { ('─', '┬') } else { ('-', '+') };
    let mut labels = vec![' '; cells];
    let mut marks = vec![line; cells];
    let mut free_from = 0;
    let mut at_ns = scene.from_ns.next_multiple_of(step_ns);
    while at_ns < scene.to_ns {
        let cell = scene.cell_of(at_ns, cells);
        marks[cell] = mark;
        let label: Vec<char> = instant(at_ns, step_ns, unicode).chars().collect();
        if cell >= free_from && cell + label.len() <= cells {
            labels[cell..cell + label.len()].copy_from_slice(&label);
            free_from = cell + label.len() + 1;
        }
        at_ns += step_ns;
    }
    let indent = " ".repeat(label_width + 1);
    let labels: String = labels.into_iter().collect();
    text.push_str(&format!("{indent}{labels}{figure:>FIGURE$}\n"));
    let marks: String = marks.into_iter().collect();
    text.push_str(&format!("{indent}{marks}\n"));
}

/// How far apart the marks of the axis are: 1, 2 or 5 of a power of ten ns, at least so far that the labels have room.
fn step_ns(length_ns: u64, cells: usize) -> u64 {
    const ROOM: u128 = 10;
    let least_ns = (u128::from(length_ns) * ROOM).div_ceil(cells as u128).max(1);
    let mut power: u128 = 1;
    loop {
        for factor in [1, 2, 5] {
            if factor * power >= least_ns {
                return (factor * power).min(u128::from(u64::MAX)) as u64;
            }
        }
        power *= 10;
    }
}

/// The figure behind a lane.
fn figure(part: f64) -> String {
    format!("{:>FIGURE$}", percent(part))
}

/// `text` and blanks up to `width` columns.
fn padded(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text_width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Writes phrases, separated, on as few lines as they fit on.
fn wrapped(text: &mut String, phrases: &[String], style: Style) {
    const SEPARATOR: &str = "   ";
    let mut used = 0;
    for phrase in phrases {
        let width = text_width(phrase);
        if used > 0 && used + SEPARATOR.len() + width > style.columns() {
            text.push('\n');
            used = 0;
        }
        if used > 0 {
            text.push_str(SEPARATOR);
            used += SEPARATOR.len();
        }
        text.push_str(phrase);
        used += width;
    }
    text.push('\n');
}

/// Writes phrases below each other in columns of equal width, as many as fit.
fn columns(text: &mut String, phrases: &[String], style: Style) {
    let widest = phrases.iter().map(|phrase| text_width(phrase)).max().unwrap_or(0) + 3;
    let per_line = ((style.columns() + 3) / widest).max(1);
    for line in phrases.chunks(per_line) {
        let line: String = line.iter().map(|phrase| padded(phrase, widest)).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A line of text with colours.
struct Line {
    text: String,
    color: bool,
    present: Option<u8>,
}

impl Line {
    fn new(style: Style) -> Line {
        Line {
            text: String::new(),
            color: style.color,
            present: None,
        }
    }

    fn set(&mut self, color: Option<u8>) {
        if self.color && self.present != color {
            match color {
                Some(color) => self.text.push_str(&format!("\x1b[38;5;{color}m")),
                None => self.text.push_str("\x1b[0m"),
            }
            self.present = color;
        }
    }

    fn put(&mut self, c: char, color: Option<u8>) {
        self.set(color);
        self.text.push(c);
    }

    fn plain(&mut self, text: &str) {
        self.set(None);
        self.text.push_str(text);
    }

    fn end(mut self, text: &mut String) {
        self.set(None);
        text.push_str(self.text.trim_end());
        text.push('\n');
    }
}
