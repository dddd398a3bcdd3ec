//! What keys do: [`act`], and the table of them: [`KEYS`].

use super::columns::Column;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Goes on, or pauses.
    Pause,
    /// To the next decision.
    Next,
    /// To the decision before.
    Previous,
    /// On or back by a window.
    Window {
        /// On.
        forward: bool,
    },
    /// To the beginning.
    Start,
    /// To the end.
    End,
    /// Faster, or slower.
    Speed {
        /// Faster.
        faster: bool,
    },
    /// Asks for a time to go to.
    AskTime,
    /// Asks for another window.
    AskWindow,
    /// Asks for a task's name.
    AskName,
    /// Says why.
    Why,
    /// Between CPUs and tasks.
    Focus,
    /// Between the schedulers.
    Side,
    /// Up or down by so many rows.
    Move(i32),
    /// Up or down by a page.
    Page {
        /// Down.
        down: bool,
    },
    /// Sorts by this column.
    Sort(Column),
    /// Sorts by the column beside.
    SortBeside {
        /// At the right.
        right: bool,
    },
    /// Sorts the other way round.
    Reverse,
    /// With or without tasks that are neither on a CPU nor wait for one.
    HideIdle,
    /// A line for each CPU, or one for all.
    OneLine,
    /// The table of keys.
    Help,
    /// Back, or ends.
    Escape,
    /// Ends.
    Quit,
}

/// The table of keys: which, and what they do.
pub const KEYS: [(&str, &str); 21] = [
    ("Space", "go on, or pause"),
    ("Right, n", "to the next decision: a task is placed or moved, a CPU switches"),
    ("Left, b", "to the decision before"),
    ("] [", "on, back by a window"),
    ("End, Home", "to the end, to the beginning"),
    ("g", "to a time: 1.5s, 20ms; +5ms, -5ms from here; 50%"),
    ("+ -", "faster, slower"),
    ("Tab", "CPUs or tasks"),
    ("Up, Down, PgUp, PgDn", "choose a CPU or a task"),
    ("x", "the other scheduler"),
    ("Enter, w", "why does it run, or wait?"),
    ("/", "find a task by its name"),
    ("P T W L N", "sort by %CPU, TIME, WAIT, MAXLAT, NR"),
    ("< >", "sort by the column at the left, at the right"),
    ("R", "sort the other way round"),
    ("i", "hide tasks that neither run nor wait"),
    ("1", "one line for all CPUs, or one for each"),
    ("d", "another window for %CPU and %WAIT"),
    ("?, h", "these keys"),
    ("Esc", "back; give up what takes long; end"),
    ("q, Ctrl-C", "end"),
];

/// What a key asks for; nothing: it has no meaning.
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
