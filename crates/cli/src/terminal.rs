//! Standard output, messages, and progress on a terminal.

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

/// Breaks `text` into lines of at most `width` columns, of which all but the first begin with
/// `indent`.
pub fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// Returns a count with its noun: `1 CPU`, `2 CPUs`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Destination of results, standard output or a file: buffered by line on a terminal, by block
/// elsewhere.
pub struct Output {
    to: BufWriter<Box<dyn Write>>,
    terminal: bool,
}

impl Output {
    /// Opens standard output.
    pub fn new() -> Output {
        Output { to: BufWriter::new(Box::new(io::stdout())), terminal: io::stdout().is_terminal() }
    }

    /// Returns a file.
    pub fn file(file: File) -> Output {
        Output { to: BufWriter::new(Box::new(file)), terminal: false }
    }

    /// Returns whether people watch the output while it is written.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes text that this program has coloured.
    pub fn write_styled(&mut self, text: &str) -> io::Result<()> {
        self.to.write_all(escape::harmless_styled(text).as_bytes())?;
        self.end_lines(text.as_bytes())
    }

    /// Returns the destination for documents (JSON), whose writers escape control characters.
    pub fn documents(&mut self) -> &mut impl Write {
        &mut self.to
    }

    /// Flushes the output before another program writes.
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
    /// Writes all bytes, with control characters escaped.
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

/// Prints an error or a note on standard error.
pub fn complain(message: &str) {
    let message = escape::bounded(&harmless(message));
    // Diagnostics of files begin with `error:` and their place.
    let prefix = if message.starts_with("error: ") { "" } else { "schedlab: " };
    // A failure to write to standard error cannot be reported.
    let _ = writeln!(io::stderr(), "{prefix}{message}");
}

/// Interval of the lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of a long task, shown on standard error: on a terminal as a bar, after half a second;
/// elsewhere as a line every ten seconds.
pub struct Progress {
    bar: ProgressBar,
    lines: Option<ProgressLines>,
}

/// Writes a line at intervals until it is dropped, where there is no terminal.
struct ProgressLines {
    over: Sender<()>,
    writer: Option<JoinHandle<()>>,
}

impl ProgressLines {
    /// Starts to write; `line` returns the text.
    fn new(line: impl Fn(Duration) -> String + Send + 'static) -> ProgressLines {
        let (over, is_over) = mpsc::channel();
        let begun = Instant::now();
        let writer = std::thread::spawn(move || {
            while is_over.recv_timeout(LINE_EVERY) == Err(RecvTimeoutError::Timeout) {
                complain(&line(begun.elapsed()));
            }
        });
        ProgressLines { over, writer: Some(writer) }
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        let _ = self.over.send(());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Progress {
    /// Starts a task of `steps` steps.
    pub fn new(steps: u64, unit: &'static str) -> Progress {
        let (bar, lines) = if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            (ProgressBar::with_draw_target(Some(steps), target), None)
        } else {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
            let counter = bar.clone();
            let line = move |since: Duration| {
                let (s, message) = (since.as_secs(), counter.message());
                let message = if message.is_empty() { message } else { format!("; {message}") };
                format!("note: {} of {steps} {unit} done after {s} s{message}", counter.position())
            };
            (bar, Some(ProgressLines::new(line)))
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

    /// Completes one step; `print` may write.
    pub fn step<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.inc(1);
        self.bar.suspend(print)
    }

    /// Completes one step, on any thread.
    pub fn tick(&self) {
        self.bar.inc(1);
    }

    /// Sets the message.
    pub fn say(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Lets `print` write.
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

/// Progress of a long task of unknown length, shown as [`Progress`] is.
pub struct Spinner {
    bar: ProgressBar,
    lines: Option<ProgressLines>,
}

impl Spinner {
    /// Starts a task.
    pub fn new(unit: &'static str) -> Spinner {
        let (bar, lines) = if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            (ProgressBar::with_draw_target(None, target), None)
        } else {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            let counter = bar.clone();
            let line = move |since: Duration| {
                let (done, message) = (counter.position(), counter.message());
                let message = if message.is_empty() { message } else { format!("; {message}") };
                format!("note: {done} {unit} done after {} s{message}", since.as_secs())
            };
            (bar, Some(ProgressLines::new(line)))
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

    /// Completes one step, on any thread.
    pub fn tick(&self) {
        self.bar.inc(1);
    }

    /// Sets the message.
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

/// Value of `--color`.
static COLOR: OnceLock<Color> = OnceLock::new();

/// Sets the value of `--color`, before anything is printed.
pub fn set_color(color: Option<Color>) {
    let _ = COLOR.set(color.unwrap_or(Color::Auto));
}

/// Returns the layout of text on standard output: the terminal's width if there is one, otherwise
/// `COLUMNS`, otherwise 120 columns.
pub fn style() -> Style {
    style_where(io::stdout().is_terminal())
}

/// Returns the layout of text in a file, without a terminal.
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

/// Returns whether the locale's characters are UTF-8: the first of these variables that is set
/// decides.
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
