//! `schedlab top`: a run in virtual time, as top and htop show a machine.
//!
//! * [`state`] knows what is shown and what keys make of it; it draws nothing. [`side`] is a
//!   scheduler's part of it, [`columns`] the table, [`keys`] the keys.
//! * [`view`] and [`pane`] draw it, on a screen or as text.
//! * [`screen`] has the terminal; [`why`] finds answers beside it.
//! * [`watch`] reads keys and the clock, and lets these do their parts.

pub mod columns;
pub mod keys;
pub mod pane;
pub mod screen;
pub mod side;
pub mod state;
#[cfg(test)]
mod tests;
pub mod view;
pub mod why;

use crate::Failure;
use pane::Theme;
use ratatui::crossterm::event::{Event, KeyEventKind};
use schedlab_lab::plan::Prepared;
use screen::Screen;
use state::{App, Popup};
use std::sync::Arc;
use std::time::{Duration, Instant};
use why::Answer;

/// Between two pictures while time passes.
const PICTURE: Duration = Duration::from_millis(100);

/// From then on it is said that something takes long.
const LONG: Duration = Duration::from_millis(300);

/// Shows `app` until the user ends it.
///
/// # Errors
/// The terminal is gone; a run could not be begun.
pub fn watch(
    app: &mut App<'_>,
    theme: Theme,
    prepared: &Arc<Prepared>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mut answer: Option<Answer> = None;
    let mut busy_since = Instant::now();
    let mut last = Instant::now();
    while !app.is_over() {
        if !app.is_busy() {
            busy_since = Instant::now();
        }
        // Of what is soon simulated no picture is drawn before.
        let until = Instant::now() + PICTURE;
        while app.work().map_err(|error| error.to_string())? && Instant::now() < until {
            app.is_late = busy_since.elapsed() > LONG;
            if screen.event_is_there()? {
                break;
            }
        }
        app.is_late &= app.is_busy();
        if let Some(question) = app.question.take() {
            let scheduler = app.sides[question.side].scheduler();
            answer = Some(Answer::seek(prepared, scheduler, question));
        }
        if app.popup != Some(Popup::Asking) {
            answer = None;
        }
        if let Some(found) = answer.as_ref().and_then(Answer::found) {
            app.answer(found);
            answer = None;
        }
        screen.draw(|frame| view::draw(frame, app, theme))?;
        // Nothing moves while it is paused: then nothing is done before a key is pressed.
        let within = if app.is_busy() {
            Some(Duration::ZERO)
        } else if !app.paused || answer.is_some() {
            Some(PICTURE.saturating_sub(last.elapsed()))
        } else {
            None
        };
        let mut event = screen.event(within)?;
        while let Some(now) = event {
            if let Event::Key(key) = now
                && key.kind != KeyEventKind::Release
            {
                app.key(key);
            }
            event = if app.is_over() { None } else { screen.event(Some(Duration::ZERO))? };
        }
        let real = last.elapsed();
        if within.is_none() || app.is_busy() || app.paused {
            last = Instant::now();
        } else if real >= PICTURE {
            app.passed(real);
            last = Instant::now();
        }
    }
    Ok(())
}
