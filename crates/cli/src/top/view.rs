//! Drawing of the screen: [`draw`], and the same contents as text: [`text`].

use super::keys::KEYS;
use super::pane::{FIXED, Room, Theme, broken, exact, fit, pane};
use super::state::{App, Popup};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};
use schedlab_report::text_width;

/// Minimum size of the screen.
const LEAST: (u16, u16) = (40, 12);

/// Width from which two schedulers are side by side; below it, one is above the other.
const BESIDE: usize = 80;

/// Hints at the bottom, where there is room.
const HINTS: [&str; 9] = [
    "Space run/pause",
    "n/b step",
    "g time",
    "+/- speed",
    "Enter why",
    "Tab CPUs",
    "? keys",
    "q end",
    "P T W L sort",
];

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, app: &mut App<'_>, theme: Theme) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text =
            format!("{}x{}: too small, {}x{} needed", area.width, area.height, LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let width = usize::from(area.width);
    let [top, middle, bottom] = [
        Rect { height: 2, ..area },
        Rect { y: area.y + 2, height: area.height - 3, ..area },
        Rect { y: area.bottom() - 1, height: 1, ..area },
    ];
    frame.render_widget(Text::from(vec![title(app, width, theme), clock(app, width, theme)]), top);
    for (number, area) in panes(app.sides.len(), middle).into_iter().enumerate() {
        let room = room(app, number, area);
        if number == app.side {
            app.page = room.tasks.max(1);
        }
        frame.render_widget(Text::from(pane(app, number, room, theme)), area);
    }
    if app.sides.len() > 1 && usize::from(area.width) >= BESIDE {
        let x = panes(2, middle)[0].right();
        let bar = if theme.unicode { "│" } else { "|" };
        let lines = vec![Line::raw(bar); usize::from(middle.height)];
        frame.render_widget(Text::from(lines), Rect { x, width: 1, ..middle });
    }
    frame.render_widget(foot(app, width, theme), bottom);
    if let Some((ask, text)) = &app.prompt {
        let x = text_width(ask.question()) + text_width(text);
        frame.set_cursor_position((bottom.x + (x.min(width - 1)) as u16, bottom.y));
    }
    above(frame, app, middle, theme);
}

/// Areas of the schedulers.
fn panes(sides: usize, area: Rect) -> Vec<Rect> {
    if sides < 2 {
        return vec![area];
    }
    if usize::from(area.width) >= BESIDE {
        let left = (area.width - 1) / 2;
        let right = area.width - 1 - left;
        return vec![
            Rect { width: left, ..area },
            Rect { x: area.x + left + 1, width: right, ..area },
        ];
    }
    let upper = area.height / 2;
    vec![
        Rect { height: upper, ..area },
        Rect { y: area.y + upper, height: area.height - upper, ..area },
    ]
}

/// Divides the lines of a pane.
fn room(app: &App<'_>, number: usize, area: Rect) -> Room {
    let lines = usize::from(area.height).saturating_sub(FIXED);
    let decisions = if lines >= 12 { 2 } else { usize::from(lines >= 4) };
    let lines = lines - decisions;
    let all = app.sides[number].frame.cpus.len();
    let cpus = if app.one_line { 1 } else { all.min((lines / 2).max(1)) };
    Room {
        width: area.width.into(),
        cpus,
        tasks: lines.saturating_sub(cpus),
        decisions,
        chosen: true,
    }
}

fn title(app: &App<'_>, width: usize, theme: Theme) -> Line<'static> {
    let status = match app.is_busy() && app.is_late {
        true => format!("simulating: {}", app.span(app.active().player.made_ns())),
        false => app.status(),
    };
    let left = width.saturating_sub(text_width(&status) + 1);
    let title = fit(&format!("schedlab top - {}", app.title), left, theme);
    Line::from(vec![
        Span::styled(title, Modifier::BOLD),
        Span::raw(" "),
        Span::styled(status, theme.tint(Color::Yellow)),
    ])
}

/// Draws the time, its position in the run, and the window of shares.
fn clock(app: &App<'_>, width: usize, theme: Theme) -> Line<'static> {
    let length_ns = app.length_ns();
    let of = length_ns.map_or(String::new(), |ns| format!(" of {}", app.span(ns)));
    let time = format!("{}{of}", exact(app.at_ns));
    let window = format!("%CPU %WAIT: last {}", app.span(app.active().frame.window_ns));
    let taken = text_width(&time) + text_width(&window) + 6;
    let cells = width.saturating_sub(taken).min(40);
    let mut text = time;
    if let (Some(length_ns), true) = (length_ns, cells >= 4) {
        let done = (u128::from(app.at_ns) * cells as u128 / u128::from(length_ns.max(1))) as usize;
        let bar: String = (0..cells).map(|cell| if cell < done { '=' } else { '-' }).collect();
        text = format!("{text}  [{bar}]");
    }
    let room = width.saturating_sub(text_width(&window));
    Line::raw(fit(&format!("{}{window}", fit(&text, room, theme)), width, theme))
}

fn foot(app: &App<'_>, width: usize, theme: Theme) -> Line<'static> {
    if let Some((ask, text)) = &app.prompt {
        return Line::styled(
            fit(&format!("{}{}", ask.question(), crate::escape::name(text)), width, theme),
            Modifier::BOLD,
        );
    }
    if let Some(message) = &app.message {
        let style = theme.tint(Color::Red).add_modifier(Modifier::BOLD);
        return Line::styled(fit(&crate::escape::name(message), width, theme), style);
    }
    let mut text = String::new();
    for hint in HINTS {
        let gap = if text.is_empty() { "" } else { "  " };
        if text_width(&text) + gap.len() + hint.len() > width {
            break;
        }
        text.push_str(gap);
        text.push_str(hint);
    }
    Line::styled(fit(&text, width, theme), theme.faint())
}

/// Draws the popup.
fn above(frame: &mut Frame<'_>, app: &mut App<'_>, area: Rect, theme: Theme) {
    let Some(popup) = &app.popup else { return };
    let inner = usize::from(area.width.saturating_sub(2));
    let (name, lines): (&str, Vec<String>) = match popup {
        Popup::Help => {
            let keys =
                KEYS.iter().map(|(keys, what)| (format!(" {keys:<21} {what}"), " ".repeat(23)));
            let states = " States: R has a CPU, r waits for one, S asleep, D in uninterruptible \
                          sleep, T stopped, Z ended. %CPU and %WAIT: in the window; %AVG: since \
                          the task's start; ON: its CPU; WAIT: all its waiting; FOR: time in \
                          its present state; LAT: latency of its last wakeup.";
            let mut lines: Vec<String> =
                keys.flat_map(|(line, indent)| broken(&line, inner, &indent)).collect();
            lines.push(String::new());
            lines.extend(broken(states, inner, " "));
            ("Keys", lines)
        }
        Popup::Asking => ("Why", vec![" The run is repeated to find the reason ...".into()]),
        Popup::Why(lines) => {
            let lines = lines.iter().flat_map(|line| broken(line, inner, "      "));
            ("Why", lines.collect())
        }
    };
    let shown = usize::from(area.height.saturating_sub(2)).max(1);
    app.page = shown;
    app.scroll = app.scroll.min(lines.len().saturating_sub(shown));
    let more = lines.len() > shown;
    let title = match more {
        true => format!(
            " {name}, lines {} to {} of {} (Down, Up; Esc) ",
            app.scroll + 1,
            (app.scroll + shown).min(lines.len()),
            lines.len()
        ),
        false => format!(" {name} (Esc) "),
    };
    let text: Vec<Line<'_>> =
        lines.into_iter().skip(app.scroll).take(shown).map(Line::raw).collect();
    let mut block = Block::bordered().title(title);
    if !theme.unicode {
        block = block.border_set(ASCII);
    }
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).block(block), area);
}

/// Frame of a popup in ASCII.
const ASCII: ratatui::symbols::border::Set<'static> = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Returns the display as text of `width` columns, with all CPUs and tasks.
pub fn text(app: &App<'_>, width: usize, theme: Theme) -> String {
    let mut lines: Vec<String> = vec![title_of_text(app), clock(app, width, theme).to_string()];
    let widths: Vec<usize> = match app.sides.len() {
        2 if width >= BESIDE => vec![(width - 3) / 2, width - 3 - (width - 3) / 2],
        sides => vec![width; sides],
    };
    let panes: Vec<Vec<String>> = widths
        .iter()
        .enumerate()
        .map(|(number, &width)| {
            let all = usize::MAX;
            let room = Room { width, cpus: all, tasks: all, decisions: 4, chosen: false };
            pane(app, number, room, theme).iter().map(Line::to_string).collect()
        })
        .collect();
    match panes.as_slice() {
        [left, right] if width >= BESIDE => {
            for row in 0..left.len().max(right.len()) {
                let cell = |pane: &[String]| pane.get(row).cloned().unwrap_or_default();
                let left = fit(&cell(left), widths[0], theme);
                lines.push(format!("{left} | {}", cell(right)));
            }
            while lines.last().is_some_and(|line| line.trim() == "|") {
                lines.pop();
            }
        }
        panes => lines.extend(panes.iter().flatten().cloned()),
    }
    let mut text: String = lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    while text.ends_with("\n\n") {
        text.pop();
    }
    text
}

fn title_of_text(app: &App<'_>) -> String {
    format!("schedlab top - {}", app.title)
}
