//! `schedlab top` as users see it: in a pseudo-terminal, with keys, and as text.
//!
//! No test waits for a fixed time: it reads until the screen shows the expected text.
#![cfg(all(unix, feature = "tui"))]

use crate::support::{Scratch, root, schedlab};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const DESKTOP: &str = "examples/desktop.json";

/// Maximum time to wait for a screen: far more than needed, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program in a pseudo-terminal.
struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Everything that it has written.
    written: Vec<u8>,
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn whole(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("not 0")
}

impl Pty {
    fn new(arguments: &[&str]) -> Pty {
        Pty::with(arguments, &[])
    }

    fn with(arguments: &[&str], variables: &[(&str, &str)]) -> Pty {
        let pair = native_pty_system().openpty(size(24, 80)).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_schedlab"));
        command.arg("top");
        command.args(arguments);
        command.cwd(root());
        for name in ["COLUMNS", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("a readable entry");
        let keys = pair.master.take_writer().expect("the file can be written");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let parser = vt100::Parser::new(whole(24), whole(80), 0);
        Pty { child, master: pair.master, keys, output, parser, written: vec![] }
    }

    fn press(&mut self, keys: &str) {
        self.keys
            .write_all(keys.as_bytes())
            .and_then(|()| self.keys.flush())
            .expect("the program reads keys");
    }

    fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    /// Reads until `is` accepts the screen.
    #[track_caller]
    fn until_it(&mut self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is(self.parser.screen()) {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => {
                    self.parser.process(&bytes);
                    self.written.extend(bytes);
                }
                Err(error) => {
                    let said = String::from_utf8_lossy(&self.written);
                    panic!("{what}: {error}; the screen:\n{}\nall:\n{said:?}", self.screen());
                }
            }
        }
    }

    /// Reads until the screen shows all of `texts`.
    #[track_caller]
    fn until(&mut self, texts: &[&str]) {
        self.until_it(&format!("{texts:?}"), |screen| {
            let shown = screen.contents();
            texts.iter().all(|text| shown.contains(text))
        });
    }

    /// Reads to the end, and returns the exit status of the program.
    fn end(&mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => {
                    self.parser.process(&bytes);
                    self.written.extend(bytes);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.screen()),
            }
        }
        self.child.wait().expect("a child process").exit_code()
    }

    /// Returns whether the terminal reads lines and echoes them, as a shell expects.
    fn is_cooked(&self) -> bool {
        const ICANON_AND_ECHO: u32 = 0o12;
        let settings = self.master.get_termios().expect("a terminal");
        settings.local_flags.bits() & ICANON_AND_ECHO == ICANON_AND_ECHO
    }

    /// Asserts that the terminal was restored.
    #[track_caller]
    fn is_given_back(&self) {
        assert!(!self.parser.screen().alternate_screen(), "the other screen is still there");
        assert!(!self.parser.screen().hide_cursor(), "there is no cursor");
        assert!(self.is_cooked(), "the terminal is still raw");
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Steps between decisions in both directions: the desktop under CFS begins as in `timehist`.
#[test]
fn the_run_is_gone_through_step_by_step() {
    let mut pty = Pty::new(&[DESKTOP, "-s", "cfs", "--at", "0.5s"]);
    pty.until(&["0.500000000 s of 10.0 s", "paused", "cfs@2.6.32, 1 CPU", "q end"]);
    pty.until(&["cc-0", "cc-1", "cc-2", "audio-0", "video-0", "shell-0", "%CPU"]);
    assert!(pty.parser.screen().alternate_screen() && !pty.is_cooked());
    pty.press("n");
    pty.until_it("a later time", |screen| !screen.contents().contains("0.500000000 s of"));
    pty.press("b");
    // Back to the last decision before; the starting time was not a decision.
    pty.until(&["0.499000000 s of 10.0 s"]);
    pty.press("\x1b[C");
    pty.until_it("a later time", |screen| !screen.contents().contains("0.499000000 s of"));
    pty.press("\x1b[D");
    pty.until(&["0.499000000 s of 10.0 s"]);
    pty.press("q");
    assert_eq!(pty.end(), 0);
    pty.is_given_back();
}

#[test]
fn time_passes_until_it_is_paused_and_a_time_is_gone_to() {
    let mut pty = Pty::new(&[DESKTOP, "-s", "eevdf", "--speed", "1/10"]);
    pty.until(&["running  speed 1/10"]);
    pty.until_it("time passes", |screen| {
        let shown = screen.contents();
        shown.contains("running") && !shown.contains("0.000000000 s of")
    });
    pty.press(" ");
    pty.until(&["paused"]);
    pty.press("++");
    pty.until(&["paused  speed 1/2"]);
    pty.press("g7.25");
    pty.until(&["Go to", "7.25"]);
    pty.press("\r");
    pty.until(&["7.250000000 s of 10.0 s"]);
    pty.press("\x1b[F");
    pty.until(&["10.000000000 s of 10.0 s", "at the end", "the run has ended"]);
    pty.press("\x1b[H");
    pty.until(&["0.000000000 s of 10.0 s"]);
    pty.press("gsoon\r");
    pty.until(&["soon: it must be a time"]);
    pty.press("\x1b");
    assert_eq!(pty.end(), 0);
    pty.is_given_back();
}

/// The explanation is that of `explain`.
#[test]
fn why_is_answered_for_a_task_and_for_a_cpu() {
    let said = |more: &[&str]| {
        let at = ["explain", DESKTOP, "-s", "cfs", "--at", "0.5s"];
        schedlab(&[&at[..], more].concat()).good()
    };
    let mut pty = Pty::new(&[DESKTOP, "-s", "cfs", "--at", "0.5s"]);
    pty.until(&["paused", "cc-2"]);
    pty.press("/cc-2\r");
    pty.press("w");
    let expected = said(&["--task", "cc-2"]);
    let first = expected.lines().nth(2).expect("text after the title and a blank line");
    assert!(first.contains("cc-2 has been waiting for CPU 0"), "{expected}");
    pty.until(&["Why", first]);
    pty.press("\x1b");
    pty.until_it("the table again", |screen| screen.contents().contains("%CPU  %AVG"));
    pty.press("\t\r");
    let expected = said(&["--cpu", "0"]);
    let picked =
        expected.lines().find(|line| line.starts_with("It was picked by")).expect("a rule");
    pty.until(&["cc-1 has run since", &picked[..40]]);
    pty.press("\x1b[6~");
    pty.until(&["lines "]);
    pty.press("q");
    pty.until_it("the table again", |screen| screen.contents().contains("%CPU  %AVG"));
    pty.press("\x03");
    assert_eq!(pty.end(), 0);
    pty.is_given_back();
}

#[test]
fn two_schedulers_stand_beside_each_other_and_the_screen_can_be_resized() {
    let mut pty = Pty::new(&[DESKTOP, "-s", "o_1,eevdf", "--cpus", "2", "--at", "0.5s"]);
    let heads = ["o_1@2.6.0, 2 CPUs", "eevdf@6.18, 2 CPUs"];
    pty.until(&heads);
    let row = |screen: &vt100::Screen, text: &str| {
        screen.contents().lines().position(|line| line.contains(text))
    };
    pty.until_it("both in a line", |screen| {
        row(screen, heads[0]).is_some() && row(screen, heads[0]) == row(screen, heads[1])
    });
    pty.press("x");
    pty.until(&["> eevdf@6.18"]);
    // Narrower than 80 columns: one above the other.
    pty.parser.screen_mut().set_size(whole(30), whole(60));
    pty.master.resize(size(30, 60)).expect("a terminal that can be resized");
    pty.until_it("one below the other", |screen| {
        let (upper, lower) = (row(screen, heads[0]), row(screen, heads[1]));
        upper.is_some() && lower.is_some_and(|lower| lower > 10)
    });
    pty.parser.screen_mut().set_size(whole(5), whole(30));
    pty.master.resize(size(5, 30)).expect("a terminal that can be resized");
    pty.until(&["30x5: too small"]);
    pty.parser.screen_mut().set_size(whole(24), whole(80));
    pty.master.resize(size(24, 80)).expect("a terminal that can be resized");
    pty.until(&heads);
    pty.press("q");
    assert_eq!(pty.end(), 0);
}

#[test]
fn tasks_are_sorted_and_the_keys_are_told() {
    let mut pty = Pty::new(&[DESKTOP, "-s", "cfs", "--at", "0.5s", "--sort", "nr"]);
    let first_is = |name: &'static str| {
        move |screen: &vt100::Screen| {
            let shown = screen.contents();
            let mut lines = shown.lines().skip_while(|line| !line.contains("%CPU  %AVG"));
            lines.nth(1).is_some_and(|line| line.contains(name))
        }
    };
    pty.until_it("audio-0 first", first_is("audio-0"));
    pty.press("P");
    pty.until_it("cc-2 first", first_is("cc-2"));
    pty.press("PR");
    pty.until_it("shell-0 first", first_is("shell-0"));
    pty.press("?");
    pty.until(&["Keys, lines", "to the next decision", "continue, or pause"]);
    pty.press("\x1b[F");
    pty.until(&["Ctrl-C", "Z ended"]);
    pty.press("q");
    pty.until_it("shell-0 first", first_is("shell-0"));
    pty.press("q");
    assert_eq!(pty.end(), 0);
}

/// A signal ends it, and the terminal is restored.
#[test]
fn a_signal_gives_the_terminal_back() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let mut pty = Pty::new(&[DESKTOP, "-s", "cfs", "--at", "0.5s"]);
        pty.until(&["paused"]);
        let id = pty.child.process_id().expect("a running process").to_string();
        let sent = std::process::Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill starts").success());
        assert_eq!(pty.end(), 130, "{signal}");
        pty.is_given_back();
    }
}

/// While it is paused it is never woken: within a second it is not scheduled once.
#[test]
#[cfg(target_os = "linux")]
fn while_paused_it_does_nothing() {
    let mut pty = Pty::new(&[DESKTOP, "-s", "cfs", "--at", "0.5s"]);
    pty.until(&["paused", "q end"]);
    let id = pty.child.process_id().expect("a running process");
    let switches = || {
        let status =
            std::fs::read_to_string(format!("/proc/{id}/status")).expect("a running process");
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        let count = |line: &str| line.rsplit(char::is_whitespace).next()?.parse::<u64>().ok();
        counts.filter_map(count).sum::<u64>()
    };
    // It may not be asleep yet. Then it stays asleep.
    let quiet = (0..20).any(|_| {
        let before = switches();
        std::thread::sleep(Duration::from_secs(1));
        switches() == before
    });
    assert!(quiet, "it is woken all the time");
    pty.press("q");
    assert_eq!(pty.end(), 0);
}

/// Colours follow `--color` and NO_COLOR. The selection is inverse in any case.
#[test]
fn colours_can_be_left_out() {
    let chosen = |screen: &vt100::Screen| {
        (0..24).any(|row| screen.cell(row, 10).is_some_and(vt100::Cell::inverse))
    };
    let coloured = |pty: &Pty| {
        let cells = (0..24).flat_map(|row| (0..80).map(move |col| (row, col)));
        let screen = pty.parser.screen();
        cells.filter_map(|(row, col)| screen.cell(row, col)).any(|cell| {
            cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
        })
    };
    for (more, variables, wanted) in [
        (&["--color", "auto"], &[][..], true),
        (&["--color", "auto"], &[("NO_COLOR", "1")], false),
        (&["--color", "never"], &[], false),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
    ] {
        let at = [DESKTOP, "-s", "cfs", "--at", "0.5s"];
        let mut pty = Pty::with(&[&at[..], more].concat(), variables);
        pty.until(&["paused", "q end"]);
        pty.until_it("something is chosen", chosen);
        assert_eq!(coloured(&pty), wanted, "{more:?} {variables:?}");
        pty.press("q");
        assert_eq!(pty.end(), 0);
    }
}

#[test]
fn a_name_that_commands_terminals_is_spelled_out() {
    let scratch = Scratch::new("top-names");
    let hostile = r#"{"tasks": {"a\u001b[2J\u001b]0;title\u0007": {"loop": 100, "run": 10000}}}"#;
    let file = scratch.file("w.json", hostile);
    let mut pty = Pty::new(&[&file, "-s", "cfs", "--at", "5ms"]);
    pty.until(&["a\\u{1b}[2J"]);
    pty.press("q");
    assert_eq!(pty.end(), 0);
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let error = schedlab(&["top", DESKTOP, "-s", "cfs"]).error(&["needs a terminal", "--batch"]);
    assert!(error.starts_with("error: ") && error.contains("schedlab timehist"), "{error}");
}

#[test]
fn a_frame_is_printed_as_text() {
    let at = ["top", DESKTOP, "-s", "cfs", "--at", "0.5s", "--batch"];
    let text = schedlab(&at).good();
    assert!(text.contains("0.500000000 s of 10.0 s"), "{text}");
    assert!(text.contains("6 tasks: 1 running, 2 waiting, 3 asleep, 0 ended"), "{text}");
    assert!(!text.contains('\u{1b}'));
    assert_eq!(schedlab(&at).good(), text);
    let text = schedlab(&[&at[..], &["-n", "3", "--window", "20ms"]].concat()).good();
    for time in ["0.500000000 s", "0.520000000 s", "0.540000000 s"] {
        assert_eq!(text.matches(&format!("{time} of")).count(), 1, "{text}");
    }
    let text = schedlab(&["top", DESKTOP, "-s", "o_n,eevdf", "-b"]).good();
    assert!(text.contains("o_n@") && text.contains("| eevdf@6.18"), "{text}");
}

#[test]
fn what_cannot_be_shown_is_told() {
    for (more, parts) in [
        (
            &["-b", "-s", "cfs,o_1,bfs"][..],
            &["at most two are shown", "cfs@2.6.32, o_1@2.6.0, bfs@"][..],
        ),
        (&["-b", "-s", "csf"], &["csf"]),
        (&["-b", "-s", "cfs", "--at", "11s"], &["--at 11.0 s: the run ended at 10.0 s"]),
        (&["-b", "-s", "cfs", "--at", "soon"], &["--at", "it must be a time"]),
        (&["-b", "-s", "cfs", "--speed", "0"], &["--speed", "a factor from"]),
        (&["-b", "-s", "cfs", "--window", "0"], &["--window", "longer than 0"]),
        (&["-n", "2", "-s", "cfs"], &["--batch"]),
    ] {
        schedlab(&[&["top", DESKTOP], more].concat()).error(parts);
    }
    let scratch = Scratch::new("top-trace");
    let trace = scratch.file("trace.txt", "perf 123 [000] 1.0: sched:sched_switch: ...");
    schedlab(&["top", &trace, "-b", "-s", "cfs"]).error(&["trace.txt", "schedlab timehist"]);
    schedlab(&["top", "examples/none.json", "-b", "-s", "cfs"]).error(&["examples/none.json"]);
}

#[test]
fn without_a_name_the_newest_is_shown() {
    let text = schedlab(&["top", DESKTOP, "-b", "--at", "20ms"]).good();
    assert!(text.contains("\neevdf@6.18, 1 CPU"), "{text}");
}

#[test]
fn a_plan_is_shown_with_one_or_two_of_its_schedulers() {
    let scratch = Scratch::new("top-plan");
    let plan = format!("{}/plan.json", scratch.path());
    let run = ["run", DESKTOP, "-s", "o_1,cfs,eevdf", "--cpus", "2", "--plan-out", &plan];
    schedlab(&run).good();
    schedlab(&["top", &plan, "-b"]).error(&["at most two are shown", "o_1@2.6.0, cfs@2.6.32"]);
    let text = schedlab(&["top", &plan, "-b", "-s", "cfs"]).good();
    assert!(text.contains("cfs@2.6.32, 2 CPUs") && !text.contains("o_1"), "{text}");
    schedlab(&["top", &plan, "-b", "-s", "cfs", "--cpus", "3"]).error(&["--cpus", "is a plan"]);
    schedlab(&["top", &plan, "-b", "-s", "bfs"]).error(&["choose from o_1@2.6.0"]);
}
