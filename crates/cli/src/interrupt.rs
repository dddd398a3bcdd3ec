//! Handles interrupts (Ctrl-C, `kill`) while files are being written: closes the files, so that
//! their contents are readable, and ends the program with status 130.

use crate::Failure;
use crate::terminal::complain;
use schedlab_core::{Event, Observer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time for which the program waits for runs to close their files.
const PATIENCE: Duration = Duration::from_secs(10);

/// Exit status of an interrupted program.
const STATUS: i32 = 130;

/// Whether an interrupt has arrived, and the observers with open files.
#[derive(Clone, Debug)]
pub struct Interrupts {
    there_was_one: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Starts to listen.
    ///
    /// # Errors
    /// The system does not permit it.
    pub fn listen() -> Result<Interrupts, Failure> {
        let this = Interrupts { there_was_one: Arc::default(), open: Arc::default() };
        let handler = this.clone();
        ctrlc::set_handler(move || handler.wait_and_exit())
            .map_err(|error| format!("cannot listen for interrupts: {error}"))?;
        Ok(this)
    }

    fn wait_and_exit(&self) {
        self.there_was_one.store(true, Ordering::SeqCst);
        let since = Instant::now();
        while self.open.load(Ordering::SeqCst) > 0 && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        complain("interrupted: the files contain the events up to now");
        std::process::exit(STATUS);
    }

    /// Guards `observer` and its files, which `close` moves into place.
    pub fn watch<'a, O: Observer>(
        &self,
        observer: O,
        close: impl FnOnce(O) -> Result<(), Vec<String>> + 'a,
    ) -> Interruptible<'a, O> {
        self.open.fetch_add(1, Ordering::SeqCst);
        Interruptible {
            open: Some((observer, Box::new(close))),
            interrupts: self.clone(),
            events: 0,
            now_ns: 0,
            is_finished: false,
        }
    }
}

type Close<'a, O> = Box<dyn FnOnce(O) -> Result<(), Vec<String>> + 'a>;

/// Observer whose files are closed at an interrupt.
pub struct Interruptible<'a, O: Observer> {
    open: Option<(O, Close<'a, O>)>,
    interrupts: Interrupts,
    events: u32,
    now_ns: u64,
    is_finished: bool,
}

impl<O: Observer> Interruptible<'_, O> {
    /// Number of events between two checks for an interrupt.
    const BETWEEN: u32 = 256;

    /// Returns the observer; `None` after an interrupt.
    pub fn observer(&self) -> Option<&O> {
        self.open.as_ref().map(|(observer, _)| observer)
    }

    /// Moves the files into place.
    ///
    /// # Errors
    /// Files that could not be written.
    pub fn close(&mut self) -> Result<(), Vec<String>> {
        match self.open.take() {
            Some((observer, close)) => {
                let closed = close(observer);
                self.interrupts.open.fetch_sub(1, Ordering::SeqCst);
                closed
            }
            None => Ok(()),
        }
    }

    #[cold]
    fn interrupted(&mut self, now_ns: u64) {
        if let Some((mut observer, close)) = self.open.take() {
            observer.on(now_ns, Event::Finished);
            for complaint in close(observer).err().into_iter().flatten() {
                complain(&complaint);
            }
            self.interrupts.open.fetch_sub(1, Ordering::SeqCst);
        }
        // The program ends as soon as all observers have closed their files.
        loop {
            std::thread::sleep(PATIENCE);
        }
    }
}

impl<O: Observer> Drop for Interruptible<'_, O> {
    /// Closes the files of a failed run, such as a deadlock: they show its history.
    fn drop(&mut self) {
        if let Some((mut observer, close)) = self.open.take() {
            if !std::thread::panicking() {
                if !self.is_finished {
                    observer.on(self.now_ns, Event::Finished);
                }
                for complaint in close(observer).err().into_iter().flatten() {
                    complain(&complaint);
                }
            }
            self.interrupts.open.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl<O: Observer> Observer for Interruptible<'_, O> {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.events += 1;
        if self.events == Self::BETWEEN {
            self.events = 0;
            if self.interrupts.there_was_one.load(Ordering::Relaxed) {
                self.interrupted(now_ns);
            }
        }
        self.now_ns = now_ns;
        self.is_finished |= matches!(event, Event::Finished);
        if let Some((observer, _)) = &mut self.open {
            observer.on(now_ns, event);
        }
    }
}
