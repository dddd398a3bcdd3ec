//! Keys and their actions: [`act`], and the table of keys: [`KEYS`].

use super::columns::Column;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Action of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Continues, or pauses.
    Pause,
    /// Moves to the next decision.
    Next,
    /// Moves to the decision before.
    Previous,
    /// Moves forward or back by a window.
    Window {
        /// Forward.
        forward: bool,
    },
    /// Moves to the beginning.
    Start,
    /// Moves to the end.
    End,
    /// Changes the speed.
    Speed {
        /// Faster.
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
        /// Down.
        down: bool,
    },
    /// Sorts by this column.
    Sort(Column),
    /// Sorts by the neighbouring column.
    SortBeside {
        /// To the right.
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
pub fn act(key: KeyEvent) -> Option<Act> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'C')).then_some(Act::Quit);
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(' ') => Act::Pause,
        KeyCode::Right | KeyCode::Char('n') => Act::Next,
        KeyCode::Left | KeyCode::Char('b') => Act::Previous,
        KeyCode::Char(']') => Act::Window { forward: true },
        KeyCode::Char('[') => Act::Window { forward: false },
        KeyCode::End => Act::End,
        KeyCode::Home => Act::Start,
        KeyCode::Char('g') => Act::AskTime,
        KeyCode::Char('+' | '=') => Act::Speed { faster: true },
        KeyCode::Char('-') => Act::Speed { faster: false },
        KeyCode::Tab | KeyCode::BackTab => Act::Focus,
        KeyCode::Char('x') => Act::Side,
        KeyCode::Up | KeyCode::Char('k') => Act::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Act::Move(1),
        KeyCode::PageUp => Act::Page { down: false },
        KeyCode::PageDown => Act::Page { down: true },
        KeyCode::Enter | KeyCode::Char('w') => Act::Why,
        KeyCode::Char('/') => Act::AskName,
        KeyCode::Char('P') => Act::Sort(Column::Cpu),
        KeyCode::Char('T') => Act::Sort(Column::Time),
        KeyCode::Char('W') => Act::Sort(Column::Wait),
        KeyCode::Char('L') => Act::Sort(Column::Max),
        KeyCode::Char('N') => Act::Sort(Column::Nr),
        KeyCode::Char('<') => Act::SortBeside { right: false },
        KeyCode::Char('>') => Act::SortBeside { right: true },
        KeyCode::Char('R') => Act::Reverse,
        KeyCode::Char('i') => Act::HideIdle,
        KeyCode::Char('1') => Act::OneLine,
        KeyCode::Char('d' | 's') => Act::AskWindow,
        KeyCode::Char('?' | 'h') => Act::Help,
        KeyCode::Esc => Act::Escape,
        KeyCode::Char('q') => Act::Quit,
        _ => return None,
    })
}
