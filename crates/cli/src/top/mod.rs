//! `schedlab top`: a run in virtual time, displayed as top and htop display a machine.
//!
//! * [`state`] contains the model: what is shown, and the effect of keys. It draws nothing.
//!   [`side`] is the part of one scheduler, [`columns`] the table, [`keys`] the keys.
//! * [`view`] and [`pane`] draw the model, on a screen or as text.
//! * [`screen`] controls the terminal; [`why`] finds explanations on another thread.
//! * [`watch`] reads keys and the clock, and connects these parts.

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
use why::PendingExplanation;

/// Time between two frames while the run advances.
const PICTURE: Duration = Duration::from_millis(100);

/// Time after which a long operation is reported.
const LONG: Duration = Duration::from_millis(300);

/// Shows `app` until the user ends it.
///
/// # Errors
/// The terminal is lost, or a run could not be started.
pub fn watch(
    app: &mut App<'_>,
    theme: Theme,
    prepared: &Arc<Prepared>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mut answer: Option<PendingExplanation> = None;
    let mut busy_since = Instant::now();
    let mut last = Instant::now();
    while !app.is_over() {
        if !app.is_busy() {
            busy_since = Instant::now();
        }
        // No frame is drawn before a short simulation completes.
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
            answer = Some(PendingExplanation::seek(prepared, scheduler, question));
        }
        if app.popup != Some(Popup::Asking) {
            answer = None;
        }
        if let Some(found) = answer.as_ref().and_then(PendingExplanation::found) {
            app.answer(found);
            answer = None;
        }
        screen.draw(|frame| view::draw(frame, app, theme))?;
        // Nothing changes during a pause: the next key is awaited.
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
