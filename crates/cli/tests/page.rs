//! `schedlab run --report`, `--plot` and `--open`, typed as users type them.

#[allow(dead_code)]
mod support;

use std::fs;
use support::{Scratch, command, ran, schedlab};

const HOGS: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "hog": { "instance": 2, "loop": -1, "run": 10000 },
        "</script>light": { "loop": -1, "run": 1000, "sleep": 19000 },
    },
}"#;

#[test]
fn the_page_is_whole_and_the_same_every_time() {
    let scratch = Scratch::new("page");
    let hogs = scratch.file("hogs.json", HOGS);
    let path = format!("{}/hogs.html", scratch.path());
    let picture = format!("{}/hogs.svg", scratch.path());
    let plain = schedlab(&["run", &hogs, "--scheduler", "o_1,cfs"]).good();
    let args = ["run", &hogs, "--scheduler", "o_1,cfs", "--report", &path, "--plot", &picture];
    assert_eq!(schedlab(&args).good(), plain, "what is printed is the same");
    let first = fs::read_to_string(&path).expect("it was written");
    assert!(first.starts_with("<!DOCTYPE html>") && first.ends_with("</html>"));
    assert_eq!(first.matches("id=\"run-").count(), 2);
    assert!(fs::read_to_string(&picture).expect("it was written").starts_with("<svg"));
    // Its own earlier results are written over.
    schedlab(&args).good();
    assert_eq!(fs::read_to_string(&path).expect("it is there"), first);
}

#[test]
fn what_cannot_be_written_is_said_before_the_run() {
    let scratch = Scratch::new("page-refused");
    let hogs = scratch.file("hogs.json", HOGS);
    let run = |more: &[&str]| schedlab(&[&["run", &hogs, "--scheduler", "cfs"], more].concat());
    let there = run(&["--report", &hogs]).error(&["--report", "is there and is not a page"]);
    assert!(there.contains("hogs.json"), "{there}");
    assert_eq!(fs::read_to_string(&hogs).expect("it is there"), HOGS, "and it was left alone");
    let foreign = scratch.file("foreign.html", "<!DOCTYPE html><p>mine</p>");
    run(&["--report", &foreign]).error(&["is there and is not a page"]);
    run(&["--report", "no/such/place.html"]).error(&["there is no directory no/such"]);
    run(&["--plot", "picture.png"]).error(&["picture.png", "name a file that ends in .svg"]);
    run(&["--open"]).error(&["--report"]);
    schedlab(&["run", &hogs, &hogs, "--report", "x.html"]).error(&["a page is of one workload"]);
}

#[test]
fn where_there_is_no_browser_the_page_is_there_all_the_same() {
    let scratch = Scratch::new("page-open");
    let hogs = scratch.file("hogs.json", HOGS);
    let path = format!("{}/hogs.html", scratch.path());
    let mut run = command(&["run", &hogs, "--scheduler", "cfs", "--report", &path, "--open"]);
    let came = ran(run.env("PATH", scratch.path()).output().expect("the program starts"));
    assert!(came.stderr.contains("no browser could be started"), "{}", came.stderr);
    came.good();
    assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 100_000));
}
