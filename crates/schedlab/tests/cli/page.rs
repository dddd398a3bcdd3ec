//! `--report`, `--plot` and `--open` of `run`, `bench` and `papers`, as users type them.

use crate::support::{Scratch, command, ran, schedlab};
use std::fs;

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
    assert_eq!(schedlab(&args).good(), plain, "the output is the same");
    let first = fs::read_to_string(&path).expect("the file was written");
    assert!(first.starts_with("<!DOCTYPE html>") && first.ends_with("</html>"));
    assert_eq!(first.matches("id=\"run-").count(), 2);
    assert!(fs::read_to_string(&picture).expect("the file was written").starts_with("<svg"));
    // Its own earlier results are overwritten.
    schedlab(&args).good();
    assert_eq!(fs::read_to_string(&path).expect("the file exists"), first);
}

#[test]
fn what_cannot_be_written_is_said_before_the_run() {
    let scratch = Scratch::new("page-refused");
    let hogs = scratch.file("hogs.json", HOGS);
    let run = |more: &[&str]| schedlab(&[&["run", &hogs, "--scheduler", "cfs"], more].concat());
    let there = run(&["--report", &hogs]).error(&["--report", "exists and is not a page"]);
    assert!(there.contains("hogs.json"), "{there}");
    assert_eq!(fs::read_to_string(&hogs).expect("the file exists"), HOGS, "the file is unchanged");
    let foreign = scratch.file("foreign.html", "<!DOCTYPE html><p>mine</p>");
    run(&["--report", &foreign]).error(&["exists and is not a page"]);
    run(&["--report", "no/such/place.html"]).error(&["the directory no/such does not exist"]);
    run(&["--plot", "picture.jpg"])
        .error(&["picture.jpg", "name a file that ends in .svg or .png"]);
    let text = scratch.file("mine.png", "mine");
    run(&["--plot", &text]).error(&[
        "mine.png",
        if cfg!(feature = "png") { "is not a picture" } else { "without PNG" },
    ]);
    assert_eq!(
        fs::read_to_string(&text).expect("the file exists"),
        "mine",
        "the file is unchanged"
    );
    run(&["--open"]).error(&["--report"]);
    schedlab(&["run", &hogs, &hogs, "--report", "x.html"]).error(&["a page shows one workload"]);
}

#[test]
fn where_there_is_no_browser_the_page_is_there_all_the_same() {
    let scratch = Scratch::new("page-open");
    let hogs = scratch.file("hogs.json", HOGS);
    let path = format!("{}/hogs.html", scratch.path());
    let mut run = command(&["run", &hogs, "--scheduler", "cfs", "--report", &path, "--open"]);
    let outcome = ran(run.env("PATH", scratch.path()).output().expect("the program starts"));
    assert!(outcome.stderr.contains("no browser could be started"), "{}", outcome.stderr);
    outcome.good();
    assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 100_000));
}

/// Returns the width and height of a PNG, in pixels.
#[cfg(feature = "png")]
fn size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[test]
#[cfg(feature = "png")]
fn a_png_has_twice_the_points_of_the_svg_and_is_the_same_every_time() {
    let scratch = Scratch::new("page-png");
    let hogs = scratch.file("hogs.json", HOGS);
    let (svg, png) = (format!("{}/a.svg", scratch.path()), format!("{}/a.png", scratch.path()));
    for path in [&svg, &png] {
        schedlab(&["run", &hogs, "--scheduler", "o_1,cfs", "--plot", path]).good();
    }
    let text = fs::read_to_string(&svg).expect("the file was written");
    let attribute = |name: &str| -> u32 {
        let value = text.split(&format!(" {name}=\"")).nth(1).and_then(|it| it.split('"').next());
        value.expect("the entry exists").parse().expect("a number")
    };
    let first = fs::read(&png).expect("the file was written");
    assert_eq!(size(&first), (2 * attribute("width"), 2 * attribute("height")));
    // An earlier picture is overwritten.
    schedlab(&["run", &hogs, "--scheduler", "o_1,cfs", "--plot", &png]).good();
    assert_eq!(fs::read(&png).expect("the file exists"), first);
}

#[test]
fn a_benchmark_has_a_page_and_prints_what_it_prints_without() {
    let scratch = Scratch::new("page-bench");
    let path = format!("{}/hackbench.html", scratch.path());
    let sweep =
        ["bench", "hackbench", "--groups", "1..2:1", "--loops", "5", "--scheduler", "o_1,cfs"];
    let plain = schedlab(&sweep).good();
    assert_eq!(schedlab(&[&sweep[..], &["--report", &path]].concat()).good(), plain);
    let page = fs::read_to_string(&path).expect("the file was written");
    assert!(page.contains("<h1>hackbench</h1>") && page.contains("class=\"figure-of\""));
    assert_eq!(page.matches("id=\"run-").count(), 2, "a run of each scheduler");
    assert!(page.contains("One run of each scheduler: groups 1, seed 1."));
    let mine = scratch.file("mine.html", "<p>mine</p>");
    schedlab(&[&sweep[..], &["--report", &mine]].concat()).error(&["exists and is not a page"]);
    let jpg = format!("{}/a.jpg", scratch.path());
    schedlab(&[&sweep[..], &["--plot", &jpg]].concat()).error(&["ends in .svg or .png"]);
}

#[test]
fn the_papers_have_a_page_of_one_file() {
    let scratch = Scratch::new("page-papers");
    let path = format!("{}/papers.html", scratch.path());
    schedlab(&["papers", "REL-1", "--report", &path]).good();
    let page = fs::read_to_string(&path).expect("the file was written");
    assert!(page.contains("Content-Security-Policy") && page.contains("id=\"filter\""));
    assert!(page.contains("data-verdict=\"hard-met\"") && !page.contains(".csv"));
    assert_eq!(
        fs::read_dir(scratch.path()).expect("the directory exists").count(),
        1,
        "no other file"
    );
    let mine = scratch.file("mine.html", "<p>mine</p>");
    schedlab(&["papers", "REL-1", "--report", &mine]).error(&["is not part of an earlier report"]);
}
