//! Part of the screen of one scheduler, as lines of text: [`pane`].

use super::columns::{Column, letter};
use super::side::{CpuRow, Side};
use super::state::{App, Focus};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use schedlab_core::TaskId;
use schedlab_measure::scene::Doing;
use schedlab_report::text_width;

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// Whether there are colours.
    pub color: bool,
    /// Whether there are characters beyond ASCII.
    pub unicode: bool,
}

impl Theme {
    /// Returns the style of this colour, where there are colours.
    pub fn tint(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// Returns the style of unimportant text. (Dim, because terminals disagree about grey.)
    pub fn faint(self) -> Style {
        if self.color { Style::new().add_modifier(Modifier::DIM) } else { Style::new() }
    }

    /// Returns the style of a state.
    fn doing(self, doing: Doing) -> Style {
        match doing {
            Doing::Running => self.tint(Color::Green).add_modifier(Modifier::BOLD),
            Doing::Waiting => self.tint(Color::Yellow),
            Doing::Uninterruptible => self.tint(Color::Red),
            Doing::Stopped => self.tint(Color::Magenta),
            Doing::Sleeping | Doing::Ended | Doing::NotThere => self.faint(),
        }
    }
}

/// Number of lines for each part of a pane.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Number of columns.
    pub width: usize,
    /// Number of lines for CPUs.
    pub cpus: usize,
    /// Number of lines for tasks.
    pub tasks: usize,
    /// Number of lines for the last decisions.
    pub decisions: usize,
    /// Whether there is a selection: the selected row is marked and in view.
    pub chosen: bool,
}

/// Number of other lines of a pane: the scheduler, its tasks, and the table's heading.
pub const FIXED: usize = 3;

/// Pads or cuts `text` to exactly `width` columns.
pub fn fit(text: &str, width: usize, theme: Theme) -> String {
    let wide = text_width(text);
    if wide <= width {
        return format!("{text}{}", " ".repeat(width - wide));
    }
    let mut cut = String::new();
    let mut taken = 0;
    for char in text.chars() {
        let more = text_width(char.encode_utf8(&mut [0; 4]));
        if taken + more + 1 > width {
            break;
        }
        taken += more;
        cut.push(char);
    }
    if taken < width {
        cut.push(if theme.unicode { '…' } else { '~' });
        taken += 1;
    }
    format!("{cut}{}", " ".repeat(width - taken))
}

/// Returns the first of `shown` places of `len`, so that `chosen` is among them.
pub fn first(chosen: usize, shown: usize, len: usize) -> usize {
    chosen.saturating_sub(shown / 2).min(len.saturating_sub(shown))
}

/// Draws the part of the screen of one scheduler: its heading, its CPUs, its tasks, its last
/// decisions.
pub fn pane(app: &App<'_>, number: usize, room: Room, theme: Theme) -> Vec<Line<'static>> {
    let side = &app.sides[number];
    let is_active = number == app.side;
    let mut lines = vec![head(app, side, is_active, room, theme)];
    let over = side.over().map(|over| format!(" - {over}")).unwrap_or_default();
    lines.push(Line::raw(fit(&format!("{}{over}", side.counts()), room.width, theme)));
    cpus(app, side, is_active, room, theme, &mut lines);
    tasks(app, side, is_active, room, theme, &mut lines);
    decisions(side, room, theme, &mut lines);
    lines
}

fn head(
    app: &App<'_>,
    side: &Side<'_>,
    is_active: bool,
    room: Room,
    theme: Theme,
) -> Line<'static> {
    let mark = if app.sides.len() > 1 && is_active && room.chosen { "> " } else { "" };
    let name = format!("{mark}{}", side.scheduler());
    let cpus = crate::terminal::counted(side.frame.cpus.len(), "CPU");
    let many = schedlab_report::format::count(side.frame.switches);
    let switches =
        if side.frame.switches == 1 { "1 switch".into() } else { format!("{many} switches") };
    let text = fit(&format!("{name}, {cpus}, {switches}"), room.width, theme);
    let style = theme.tint(Color::Cyan).add_modifier(Modifier::BOLD);
    Line::from(Span::styled(text, style))
}

fn cpus(
    app: &App<'_>,
    side: &Side<'_>,
    is_active: bool,
    room: Room,
    theme: Theme,
    lines: &mut Vec<Line<'static>>,
) {
    let all = &side.frame.cpus;
    if app.one_line {
        let busy: u64 = all.iter().map(|cpu| cpu.busy).sum();
        let mean = busy / (all.len() as u64).max(1);
        let running = all.iter().filter(|cpu| cpu.current.is_some()).count();
        let waiting: usize = all.iter().map(|cpu| cpu.queue.len()).sum();
        let text = format!(
            "CPUs {} {:>5}%  {running} of {} run tasks, {waiting} wait",
            meter(mean, 10, theme),
            super::columns::percent(mean),
            all.len()
        );
        lines.push(Line::raw(fit(&text, room.width, theme)));
        return;
    }
    // If not all fit, a line states which are shown.
    let is_cut = all.len() > room.cpus;
    let shown = if is_cut { room.cpus.saturating_sub(1) } else { all.len() };
    let from = if room.chosen { first(app.cpu, shown, all.len()) } else { 0 };
    for row in all.iter().skip(from).take(shown) {
        let is_chosen =
            room.chosen && is_active && app.focus == Focus::Cpus && row.cpu.index() == app.cpu;
        lines.push(cpu(app, side, row, is_chosen, room, theme));
    }
    if is_cut {
        let text = match shown {
            0 => format!("{} CPUs", all.len()),
            _ => format!("CPUs {from} to {} of {}", from + shown - 1, all.len()),
        };
        lines.push(Line::styled(fit(&text, room.width, theme), theme.faint()));
    }
}

/// Draws a bar of `width` cells.
fn meter(share: u64, width: usize, theme: Theme) -> String {
    let full = (share as usize * width).div_ceil(1000).min(width);
    let (on, off) = if theme.unicode { ('█', '░') } else { ('|', '.') };
    (0..width).map(|cell| if cell < full { on } else { off }).collect()
}

fn cpu(
    app: &App<'_>,
    side: &Side<'_>,
    row: &CpuRow,
    is_chosen: bool,
    room: Room,
    theme: Theme,
) -> Line<'static> {
    let is_wide = room.width >= 60;
    let bar = meter(row.busy, if is_wide { 10 } else { 5 }, theme);
    let number = if is_wide { format!("CPU{:>3}", row.cpu.0) } else { format!("{:>3}", row.cpu.0) };
    let name = row.current.map_or("idle".into(), |task| side.name(task));
    let current = fit(&name, if is_wide { 14 } else { 10 }, theme);
    let mut rest = String::new();
    if is_wide {
        let rule = side.rule(row.why);
        rest = format!("{:>7} ", app.span(row.for_ns).replace(' ', ""));
        if !rule.is_empty() {
            rest.push_str(&format!("{rule} "));
        }
    }
    if !row.queue.is_empty() {
        rest.push_str(&format!("+{}", row.queue.len()));
        for &task in row.queue.iter().take(room.width / 4) {
            rest.push_str(&format!(" {}", side.name(task)));
        }
    }
    let head = format!("{number} {bar} {:>5}% ", super::columns::percent(row.busy));
    let left = room.width.saturating_sub(text_width(&head) + text_width(&current) + 1);
    let doing = if row.current.is_some() { Doing::Running } else { Doing::Sleeping };
    let line = Line::from(vec![
        Span::raw(head),
        Span::styled(current, theme.doing(doing)),
        Span::raw(" "),
        Span::raw(fit(&rest, left, theme)),
    ]);
    if is_chosen { inverse(line, Modifier::REVERSED) } else { line }
}

/// Draws a selected line, without its own colours.
fn inverse(line: Line<'static>, how: Modifier) -> Line<'static> {
    Line::styled(line.to_string(), how)
}

fn tasks(
    app: &App<'_>,
    side: &Side<'_>,
    is_active: bool,
    room: Room,
    theme: Theme,
    lines: &mut Vec<Line<'static>>,
) {
    let longest = |text: &dyn Fn(&super::columns::Row) -> usize| {
        let all = app.sides.iter().flat_map(|side| &side.frame.rows);
        all.map(text).max().unwrap_or(0)
    };
    let name = longest(&|row| text_width(&row.name));
    let group = longest(&|row| text_width(&row.group));
    let columns = Column::fitting(room.width, name.min(32), group.min(32), app.sort);
    let mut head: Vec<Span<'static>> = vec![];
    for (place, &(column, width)) in columns.iter().enumerate() {
        if place > 0 {
            head.push(Span::raw(" "));
        }
        let title = column.title();
        let text = match column.is_text() {
            true => fit(title, width, theme),
            false => format!("{title:>width$}"),
        };
        let style = if column == app.sort {
            Modifier::BOLD | Modifier::UNDERLINED
        } else {
            Modifier::empty()
        };
        head.push(Span::styled(text, style));
    }
    lines.push(Line::from(head).style(Modifier::REVERSED));
    let order = app.order();
    let chosen = app.chosen(&order);
    let from = if room.chosen { first(chosen, room.tasks, order.len()) } else { 0 };
    let until = order.len().min(from.saturating_add(room.tasks));
    for (place, &task) in order.iter().enumerate().take(until).skip(from) {
        let is_chosen = room.chosen && app.focus == Focus::Tasks && place == chosen;
        let mut line = task_line(side, task, &columns, theme);
        if is_chosen {
            let how = if is_active { Modifier::REVERSED } else { Modifier::UNDERLINED };
            line = inverse(line, how);
        }
        lines.push(line);
    }
    // On a screen, the following lines stay below.
    if room.chosen {
        lines.extend((until.saturating_sub(from)..room.tasks).map(|_| Line::default()));
    }
}

fn task_line(
    side: &Side<'_>,
    task: TaskId,
    columns: &[(Column, usize)],
    theme: Theme,
) -> Line<'static> {
    let Some(row) = side.row(task) else { return Line::raw("") };
    let mut spans: Vec<Span<'static>> = vec![];
    for (place, &(column, width)) in columns.iter().enumerate() {
        if place > 0 {
            spans.push(Span::raw(" "));
        }
        let text = row.cell(column, theme.unicode);
        let style = match column {
            Column::State | Column::Name => theme.doing(row.doing),
            _ => Style::new(),
        };
        let text = match column {
            Column::State => letter(row.doing).to_string(),
            column if column.is_text() => fit(&text, width, theme),
            _ => format!("{}{text}", " ".repeat(width.saturating_sub(text_width(&text)))),
        };
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

/// Draws the last decisions, within a number of lines.
fn decisions(side: &Side<'_>, room: Room, theme: Theme, lines: &mut Vec<Line<'static>>) {
    let Some((when_ns, notes)) = &side.frame.last else {
        lines.extend((0..room.decisions).map(|_| Line::default()));
        return;
    };
    let words: Vec<String> = notes.iter().take(64).map(|note| side.words(note)).collect();
    let text = format!("{}: {}", exact(*when_ns), words.join("; "));
    let mut broken = broken(&text, room.width.max(1), "  ");
    if broken.len() > room.decisions {
        broken.truncate(room.decisions);
        if let Some(last) = broken.last_mut() {
            let more = if theme.unicode { " …" } else { " ~" };
            *last = fit(last, room.width.saturating_sub(2), theme).trim_end().to_string() + more;
        }
    }
    broken.resize(room.decisions, String::new());
    let style = theme.tint(Color::Cyan);
    lines.extend(broken.into_iter().map(|line| Line::styled(fit(&line, room.width, theme), style)));
}

/// Formats a time to the nanosecond.
pub fn exact(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Breaks `text` into lines of at most `width` columns, between words; lines after the first begin
/// with `indent`. Blanks within the text stay.
pub fn broken(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = vec![];
    let mut line = String::new();
    let mut is_empty = true;
    for word in text.split(' ') {
        let wide = text_width(&line) + usize::from(!is_empty) + text_width(word);
        if !is_empty && wide > width && !line.trim().is_empty() {
            lines.push(std::mem::replace(&mut line, indent.into()));
            line.push_str(word);
            continue;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Theme = Theme { color: false, unicode: false };

    #[test]
    fn text_is_cut_to_its_columns() {
        assert_eq!(fit("abc", 5, PLAIN), "abc  ");
        assert_eq!(fit("abcdef", 5, PLAIN), "abcd~");
        assert_eq!(fit("日本語", 4, PLAIN), "日~ ");
        assert_eq!(fit("日本語", 6, PLAIN), "日本語");
        assert_eq!(fit("abc", 0, PLAIN), "");
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_blanks() {
        assert_eq!(broken("  a  bb ccc", 7, "> "), ["  a  bb", "> ccc"]);
        assert_eq!(broken("", 7, "> "), [""]);
        assert_eq!(broken("longer-than-that x", 7, ""), ["longer-than-that", "x"]);
    }

    #[test]
    fn the_chosen_one_is_in_view() {
        assert_eq!(first(0, 10, 100), 0);
        assert_eq!(first(50, 10, 100), 45);
        assert_eq!(first(99, 10, 100), 90);
        assert_eq!(first(3, 10, 5), 0);
        assert_eq!(first(3, 0, 5), 3);
    }
}
