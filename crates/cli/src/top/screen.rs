//! The terminal as a screen: [`Screen`], which restores the terminal however the program ends.

use crate::Failure;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use std::any::Any;
use std::io::{self, Stdout};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Exit status of a program that was ended by a signal.
const STATUS: i32 = 130;

/// Whether the terminal is a screen now. Drawing and restoring hold the lock.
#[derive(Clone, Default)]
struct State(Arc<Mutex<bool>>);

impl State {
    fn hold(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The terminal as a screen.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    state: State,
}

impl Screen {
    /// Turns the terminal into a screen. From now on the program's end, even by a signal, restores
    /// the terminal.
    fn open(state: &State) -> Result<Screen, Failure> {
        let handler = state.clone();
        ctrlc::set_handler(move || {
            // The lock stays held, so that nothing is drawn any more.
            let mut is_screen = handler.hold();
            give_back(&mut is_screen);
            std::process::exit(STATUS);
        })
        .map_err(|error| format!("cannot listen for signals: {error}"))?;
        let mut is_screen = state.hold();
        enable_raw_mode().map_err(|error| wrong(&error))?;
        *is_screen = true;
        execute!(io::stdout(), EnterAlternateScreen).map_err(|error| wrong(&error))?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        let terminal = terminal.map_err(|error| wrong(&error))?;
        drop(is_screen);
        Ok(Screen { terminal, state: state.clone() })
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// The terminal is lost.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        let _held = self.state.hold();
        self.terminal.draw(draw).map(|_| ()).map_err(|error| wrong(&error))
    }

    /// Returns whether input is available.
    ///
    /// # Errors
    /// The terminal is lost.
    pub fn event_is_there(&self) -> Result<bool, Failure> {
        event::poll(Duration::ZERO).map_err(|error| wrong(&error))
    }

    /// Waits for input, for a limited time or without limit; `None`: there was no input.
    ///
    /// # Errors
    /// The terminal is lost.
    pub fn event(&self, within: Option<Duration>) -> Result<Option<Event>, Failure> {
        let is_there = match within {
            Some(time) => event::poll(time).map_err(|error| wrong(&error))?,
            None => true,
        };
        if is_there { event::read().map(Some).map_err(|error| wrong(&error)) } else { Ok(None) }
    }
}

fn wrong(error: &io::Error) -> Failure {
    Failure::Message(format!("the terminal: {error}"))
}

/// Restores the terminal. A failure cannot be reported anywhere.
fn give_back(is_screen: &mut bool) {
    if std::mem::take(is_screen) {
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Runs `act` with the terminal as a screen, and restores the terminal, even if `act` panics: the
/// message of the panic is then printed afterwards, where it can be read.
///
/// # Errors
/// Errors of `act`, or the terminal cannot be a screen.
pub fn with_screen(act: impl FnOnce(&mut Screen) -> Result<(), Failure>) -> Result<(), Failure> {
    // A run that panics is caught and reported on the screen: nothing else prints into it.
    let panic_message: Arc<Mutex<String>> = Arc::default();
    let hook = panic_message.clone();
    std::panic::set_hook(Box::new(move |panic| {
        *hook.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    let state = State::default();
    let result = and_then(
        || Screen::open(&state).and_then(|mut screen| act(&mut screen)),
        || give_back(&mut state.hold()),
    );
    match result {
        Ok(result) => result,
        Err(panic) => {
            let panic_message =
                panic_message.lock().unwrap_or_else(PoisonError::into_inner).clone();
            crate::terminal::complain(&format!("error: a fault of schedlab: {panic_message}"));
            resume_unwind(panic)
        }
    }
}

/// Returns the result of `act`, or its panic, after `finally`.
fn and_then<R>(act: impl FnOnce() -> R, finally: impl FnOnce()) -> Result<R, Box<dyn Any + Send>> {
    let result = catch_unwind(AssertUnwindSafe(act));
    finally();
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_end_comes_after_a_panic_too() {
        let ended = Cell::new(0);
        let end = || ended.set(ended.get() + 1);
        assert_eq!(and_then(|| 5, end).ok(), Some(5));
        let panic = and_then(|| resume_unwind(Box::new("no hook is called")), end);
        assert!(panic.is_err_and(|panic| panic.is::<&str>()));
        assert_eq!(ended.get(), 2);
    }

    #[test]
    fn what_is_no_screen_is_not_given_back() {
        let mut is_screen = false;
        give_back(&mut is_screen);
        assert!(!is_screen);
    }
}
