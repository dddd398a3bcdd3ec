//! Files that cannot be written are reported before anything runs.

use crate::support::{Scratch, command, schedlab};
use std::path::Path;

const RUN: [&str; 6] = ["run", "examples/desktop.json", "-s", "cfs", "-d", "20ms"];

/// Every option that writes a file, with a suitable name.
const OPTIONS: [(&str, &str); 5] = [
    ("--output", "x.json"),
    ("--report", "x.html"),
    ("--plot", "x.svg"),
    ("--trace", "x.pftrace"),
    ("--plan-out", "x.json"),
];

fn to(option: &str, file: &str) -> crate::support::Outcome {
    schedlab(&[&RUN[..], &[option, file]].concat())
}

#[test]
fn what_cannot_be_written_is_said_and_nothing_is_left() {
    let scratch = Scratch::new("outputs");
    for (option, name) in OPTIONS {
        let path = |directory: &str| format!("{}/{directory}/{name}", scratch.path());
        to(option, &path("nowhere")).error(&["does not exist"]);
        std::fs::create_dir_all(path("taken")).expect("the file can be written");
        to(option, &path("taken")).error(&["this is a directory"]);
        to(option, &format!("/proc/self/{name}")).error(&["cannot be written"]);
        let file = scratch.file(name, "");
        let mut rights = std::fs::metadata(&file).expect("the file exists").permissions();
        rights.set_readonly(true);
        std::fs::set_permissions(&file, rights.clone()).expect("a file of this test");
        to(option, &file).error(&["read-only"]);
        assert_eq!(std::fs::read(&file).expect("the file exists"), b"");
        std::fs::remove_file(&file).expect("a file of this test");
        let ran = to(option, &file);
        assert_eq!(ran.status, 0, "{option}: {}", ran.stderr);
        std::fs::remove_file(&file).expect("the file was written");
        let left: Vec<_> = std::fs::read_dir(scratch.path())
            .expect("the directory exists")
            .map(|entry| entry.expect("a readable entry").file_name())
            .filter(|name| name.to_string_lossy().contains(".tmp"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Opening a pipe without a reader would wait forever. A pipe with a reader receives everything.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_written_if_somebody_reads_it() {
    let scratch = Scratch::new("pipe");
    for (option, name) in OPTIONS {
        let pipe = format!("{}/{name}", scratch.path());
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        to(option, &pipe).error(&["has no reader"]);
        let from = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read(from));
        // The program may be faster than the thread.
        let mut ran = to(option, &pipe);
        while ran.stderr.contains("has no reader") {
            ran = to(option, &pipe);
        }
        assert_eq!(ran.status, 0, "{option}: {}", ran.stderr);
        let read = reader.join().expect("the reader ends").expect("a complete read");
        assert!(read.len() > 1000, "{option}: {}", read.len());
        std::fs::remove_file(&pipe).expect("a file of this test");
    }
}

#[test]
fn two_options_do_not_write_one_file() {
    let scratch = Scratch::new("same");
    let file = format!("{}/a.json", scratch.path());
    let other = format!("{}/../{}/a.json", scratch.path(), name_of(&scratch.path()));
    for second in [&file, &other] {
        schedlab(&[&RUN[..], &["--output", &file, "--trace", second]].concat())
            .error(&["--output and --trace both name", "a.json"]);
    }
    assert!(!Path::new(&file).exists());
    let both = [&RUN[..], &["--output", "/dev/null", "--trace", "/dev/null"]].concat();
    schedlab(&[&both[..], &["--trace-format", "perf"]].concat()).good();
}

fn name_of(path: &str) -> String {
    let name = Path::new(path).file_name().expect("a file name");
    name.to_string_lossy().into_owned()
}

#[test]
fn a_result_of_a_later_schema_is_not_written_over() {
    let scratch = Scratch::new("later");
    let file = scratch.file("a.json", "{\n  \"schema\": \"schedlab-run/2\",\n  \"runs\": []\n}\n");
    to("--output", &file).error(&["exists and is not a result"]);
    let file = scratch.file("b.json", "{\n  \"schema\": \"schedlab-run/1\",\n  \"runs\": []\n}\n");
    to("--output", &file).good();
}

#[test]
fn a_stretch_that_ends_before_it_begins_is_refused_before_the_run() {
    for (from, until) in [("3", "1"), ("1s", "1s"), ("20ms", "10ms")] {
        let window = ["--timeline", "--from", from, "--to", until];
        let ran = schedlab(&[&RUN[..], &window].concat());
        assert_eq!(ran.stdout, "", "it did not run");
        ran.error(&["--from", "--to must be later than --from"]);
    }
    let window = ["--timeline", "--from", "5ms", "--to", "10ms"];
    schedlab(&[&RUN[..], &window].concat()).good();
}

/// Names in files have any length; messages are bounded.
#[test]
fn messages_are_of_bounded_length() {
    let scratch = Scratch::new("bounded");
    let long = "x".repeat(100_000);
    let wrong = format!(r#"{{"tasks": {{"{long}": {{"loop": 1, "rum": 10}}}}}}"#);
    let file = scratch.file("long.json", wrong);
    let said = schedlab(&["run", &file]).error(&["unknown key `rum`", "did you mean `run`?"]);
    assert!(said.len() < 2_000, "{}", said.len());
    let said = schedlab(&["run", "examples/desktop.json", "-s", &long]).error(&["xxx"]);
    assert!(said.len() < 2_000, "{}", said.len());
    let ran = command(&["top", "examples/desktop.json", "-b", "--sort", &long]).output();
    assert!(ran.expect("the program starts").stderr.len() < 2_000);
}
