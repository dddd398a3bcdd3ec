//! Standard output, complaints, and progress on a terminal.

use crate::escape::{self, harmless};
use crate::options::Color;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use schedlab_report::Style;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// `1 CPU`, `2 CPUs`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Where results go, standard output or a file: by the line on a terminal, in blocks elsewhere.
pub struct Output {
    to: BufWriter<Box<dyn Write>>,
    terminal: bool,
}

impl Output {
    /// Standard output.
    pub fn new() -> Output {
        Output { to: BufWriter::new(Box::new(io::stdout())), terminal: io::stdout().is_terminal() }
    }

    /// A file.
    pub fn file(file: File) -> Output {
        Output { to: BufWriter::new(Box::new(file)), terminal: false }
    }

    /// Whether people look at it while it is written.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes text that this program has coloured.
    pub fn write_styled(&mut self, text: &str) -> io::Result<()> {
        self.to.write_all(escape::harmless_styled(text).as_bytes())?;
        self.end_lines(text.as_bytes())
    }

    /// Where documents are written, piece by piece, by writers that spell out control characters
    /// themselves (JSON).
    pub fn documents(&mut self) -> &mut impl Write {
        &mut self.to
    }

    /// What was written is to be seen before another program writes.
    pub fn flush_now(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    fn end_lines(&mut self, written: &[u8]) -> io::Result<()> {
        if self.terminal && written.contains(&b'\n') {
            self.to.flush()?;
        }
        Ok(())
    }
}

impl Write for Output {
    /// All of it, with control characters spelled out.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match escape::harmless_bytes(bytes) {
            None => self.to.write_all(bytes)?,
            Some(text) => self.to.write_all(text.as_bytes())?,
        }
        self.end_lines(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Says on standard error what is wrong.
pub fn complain(message: &str) {
    let message = escape::bounded(&harmless(message));
    // Diagnostics of files say that they are errors, and where.
    let who = if message.starts_with("error: ") { "" } else { "schedlab: " };
    // If nobody can hear it, there is nobody to tell that nobody can.
    let _ = writeln!(io::stderr(), "{who}{message}");
}

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How far a long piece of work is, shown on standard error: on a terminal as a bar, after half a
/// second; elsewhere by a line every ten seconds.
pub struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Where there is no terminal: writes a line now and then until it is dropped.
struct Lines {
    over: Sender<()>,
    writer: Option<JoinHandle<()>>,
}

impl Lines {
    /// `line` says how it goes.
    fn new(line: impl Fn(Duration) -> String + Send + 'static) -> Lines {
        let (over, is_over) = mpsc::channel();
        let begun = Instant::now();
        let writer = std::thread::spawn(move || {
            while is_over.recv_timeout(LINE_EVERY) == Err(RecvTimeoutError::Timeout) {
                complain(&line(begun.elapsed()));
            }
        });
        Lines { over, writer: Some(writer) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.over.send(());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Progress {
    /// Begins a piece of work of `steps` steps.
    pub fn new(steps: u64, unit: &'static str) -> Progress {
        let (bar, lines) = if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            (ProgressBar::with_draw_target(Some(steps), target), None)
        } else {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
            let counter = bar.clone();
            let line = move |since: Duration| {
                let (s, said) = (since.as_secs(), counter.message());
                let said = if said.is_empty() { said } else { format!("; {said}") };
                format!("note: {} of {steps} {unit} done after {s} s{said}", counter.position())
            };
            (bar, Some(Lines::new(line)))
        };
        let style = ProgressStyle::with_template(&format!(
            "{{bar:30}} {{pos}} of {{len}} {unit}, {{eta}} left {{wide_msg}}"
        ));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if lines.is_none() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Progress { bar, lines }
    }

    /// One step is done; `print` may write.
    pub fn step<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.inc(1);
        self.bar.suspend(print)
    }

    /// One step is done, on any thread.
    pub fn tick(&self) {
        self.bar.inc(1);
    }

    /// How it goes.
    pub fn say(&self, message: String) {
        self.bar.set_message(message);
    }

    /// `print` may write.
    pub fn print<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.lines = None;
        self.bar.finish_and_clear();
    }
}

/// That a long piece of work goes on, where nobody knows how long it will: shown as [`Progress`]
/// is.
pub struct Spinner {
    bar: ProgressBar,
    lines: Option<Lines>,
}

impl Spinner {
    /// Begins a piece of work.
    pub fn new(unit: &'static str) -> Spinner {
        let (bar, lines) = if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            (ProgressBar::with_draw_target(None, target), None)
        } else {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            let counter = bar.clone();
            let line = move |since: Duration| {
                let (done, said) = (counter.position(), counter.message());
                let said = if said.is_empty() { said } else { format!("; {said}") };
                format!("note: {done} {unit} done after {} s{said}", since.as_secs())
            };
            (bar, Some(Lines::new(line)))
        };
        let style = ProgressStyle::with_template(&format!(
            "{{spinner}} {{elapsed}}, {{pos}} {unit}; {{msg}}"
        ));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        if lines.is_none() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Spinner { bar, lines }
    }

    /// One step is done, on any thread.
    pub fn tick(&self) {
        self.bar.inc(1);
    }

    /// How it goes.
    pub fn say(&self, message: String) {
        self.bar.set_message(message);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.lines = None;
        self.bar.finish_and_clear();
    }
}

/// What `--color` says.
static COLOR: OnceLock<Color> = OnceLock::new();

/// Takes note of `--color`, before anything is printed.
pub fn set_color(color: Option<Color>) {
    let _ = COLOR.set(color.unwrap_or(Color::Auto));
}

/// How text for people is to be laid out on standard output: by the terminal's width if there is
/// one, else by `COLUMNS`, else 120 columns.
pub fn style() -> Style {
    style_where(io::stdout().is_terminal())
}

/// The same for a file, which is no terminal.
pub fn style_of_file() -> Style {
    style_where(false)
}

fn style_where(terminal: bool) -> Style {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let size = terminal.then(terminal_size::terminal_size).flatten();
    let width = size.map(|(width, _)| usize::from(width.0)).or_else(columns);
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let color = match COLOR.get() {
        Some(Color::Always) => true,
        Some(Color::Never) => false,
        Some(Color::Auto) | None => terminal && !set("NO_COLOR") && !dumb(),
    };
    Style { width: width.unwrap_or(120), color, unicode: is_unicode_locale() }
}

/// Whether the locale's characters are UTF-8: the first of these variables that is set decides.
fn is_unicode_locale() -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_some_and(|value| {
            let value = value.to_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        })
}
