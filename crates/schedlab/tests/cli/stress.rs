//! `schedlab stress`, as users type it. (`schedlab-proof` tests its rules, with
//! broken schedulers.)

use crate::support::{Scratch, schedlab};

#[test]
fn some_worlds_are_run_and_counted() {
    let text = schedlab(&["stress", "--seeds", "5", "--scheduler", "round_robin,cfs"]).good();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert_eq!((rows[1][0], rows[1][1], rows[1][3]), ("round_robin@1.0", "5", "0"));
    assert_eq!(
        text,
        schedlab(&["stress", "--seeds", "5", "--scheduler", "round_robin,cfs"]).good()
    );
    let others =
        ["stress", "--seeds", "5", "--first-seed", "900", "--scheduler", "round_robin,cfs"];
    assert_ne!(text, schedlab(&others).good());
}

#[test]
fn one_world_is_shown_and_its_saved_workload_runs() {
    let scratch = Scratch::new("world");
    let file = format!("{}/world.json", scratch.path());
    let text = schedlab(&["stress", "--scheduler", "cfs", "--seed", "3", "--save", &file]).good();
    assert!(
        text.contains("cfs@2.6.32, seed 3: ") && text.contains("every rule was kept"),
        "{text}"
    );
    let command =
        text.lines().find(|line| line.trim().starts_with("schedlab run ")).expect("a command");
    let args: Vec<&str> = command.split_whitespace().skip(1).collect();
    schedlab(&args).good();
}

#[test]
fn what_makes_no_sense_is_an_error() {
    schedlab(&["stress", "--seeds", "0"]).error(&["--seeds"]);
    schedlab(&["stress", "--seeds", "many"]).error(&["many"]);
    schedlab(&["stress", "--scheduler", "o_9"]).error(&["no scheduler \"o_9\""]);
    schedlab(&["stress", "--seed", "1", "--save", "/tmp/x"]).error(&["--save needs one scheduler"]);
    schedlab(&["stress", "--save", "x"]).error(&["--seed"]);
    schedlab(&["stress", "--seed", "1", "-s", "cfs", "--save", "/nowhere/x"])
        .error(&["/nowhere/x: the directory /nowhere does not exist"]);
    let last = u64::MAX.to_string();
    schedlab(&["stress", "--first-seed", &last, "--seeds", "2"]).error(&["largest seed"]);
}
