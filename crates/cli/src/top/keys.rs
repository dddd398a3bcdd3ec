//! Keys and their actions: [`act`], and the table of keys: [`KEYS`].

use super::columns::Column;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Action of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Continues, or pauses.
    Pause,
    /// Moves to the next decision.
    Next,
    /// Moves to the decision before.
    Previous,
    /// Moves forward or back by a window.
    Window {
        /// Whether to move forward.
        forward: bool,
    },
    /// Moves to the beginning.
    Start,
    /// Moves to the end.
    End,
    /// Changes the speed.
    Speed {
        /// Whether to go faster.
        faster: bool,
    },
    /// Asks for a time to go to.
    AskTime,
    /// Asks for another window.
    AskWindow,
    /// Asks for part of a task's name.
    AskName,
    /// Asks for an explanation.
    Why,
    /// Switches between CPUs and tasks.
    Focus,
    /// Switches between the schedulers.
    Side,
    /// Moves up or down by a number of rows.
    Move(i32),
    /// Moves up or down by a page.
    Page {
        /// Whether to move down.
        down: bool,
    },
    /// Sorts by this column.
    Sort(Column),
    /// Sorts by the neighbouring column.
    SortBeside {
        /// Whether to move to the right.
        right: bool,
    },
    /// Reverses the order.
    Reverse,
    /// Hides or shows tasks that neither run nor wait.
    HideIdle,
    /// Shows one line for all CPUs, or one for each.
    OneLine,
    /// Shows the table of keys.
    Help,
    /// Goes back, or ends.
    Escape,
    /// Ends.
    Quit,
}

/// Table of keys and their actions.
pub const KEYS: [(&str, &str); 21] = [
    ("Space", "continue, or pause"),
    ("Right, n", "to the next decision: a task is placed or moved, a CPU switches"),
    ("Left, b", "to the previous decision"),
    ("] [", "forward, back by a window"),
    ("End, Home", "to the end, to the beginning"),
    ("g", "to a time: 1.5s, 20ms; +5ms, -5ms from here; 50%"),
    ("+ -", "faster, slower"),
    ("Tab", "CPUs or tasks"),
    ("Up, Down, PgUp, PgDn", "choose a CPU or a task"),
    ("x", "the other scheduler"),
    ("Enter, w", "why does it run, or wait?"),
    ("/", "find a task by its name"),
    ("P T W L N", "sort by %CPU, TIME, WAIT, MAXLAT, NR"),
    ("< >", "sort by the column to the left, to the right"),
    ("R", "reverse the order"),
    ("i", "hide tasks that neither run nor wait"),
    ("1", "one line for all CPUs, or one for each"),
    ("d", "change the window for %CPU and %WAIT"),
    ("?, h", "these keys"),
    ("Esc", "back; cancel a long operation; end"),
    ("q, Ctrl-C", "end"),
];

/// Returns the action of a key; `None`: the key has none.
pub fn act(key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'C')).then_some(Action::Quit);
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(' ') => Action::Pause,
        KeyCode::Right | KeyCode::Char('n') => Action::Next,
        KeyCode::Left | KeyCode::Char('b') => Action::Previous,
        KeyCode::Char(']') => Action::Window { forward: true },
        KeyCode::Char('[') => Action::Window { forward: false },
        KeyCode::End => Action::End,
        KeyCode::Home => Action::Start,
        KeyCode::Char('g') => Action::AskTime,
        KeyCode::Char('+' | '=') => Action::Speed { faster: true },
        KeyCode::Char('-') => Action::Speed { faster: false },
        KeyCode::Tab | KeyCode::BackTab => Action::Focus,
        KeyCode::Char('x') => Action::Side,
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::PageUp => Action::Page { down: false },
        KeyCode::PageDown => Action::Page { down: true },
        KeyCode::Enter | KeyCode::Char('w') => Action::Why,
        KeyCode::Char('/') => Action::AskName,
        KeyCode::Char('P') => Action::Sort(Column::Cpu),
        KeyCode::Char('T') => Action::Sort(Column::Time),
        KeyCode::Char('W') => Action::Sort(Column::Wait),
        KeyCode::Char('L') => Action::Sort(Column::Max),
        KeyCode::Char('N') => Action::Sort(Column::Nr),
        KeyCode::Char('<') => Action::SortBeside { right: false },
        KeyCode::Char('>') => Action::SortBeside { right: true },
        KeyCode::Char('R') => Action::Reverse,
        KeyCode::Char('i') => Action::HideIdle,
        KeyCode::Char('1') => Action::OneLine,
        KeyCode::Char('d' | 's') => Action::AskWindow,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Esc => Action::Escape,
        KeyCode::Char('q') => Action::Quit,
        _ => return None,
    })
}
