//! `schedlab advise`, as users type it.

use crate::support::{Scratch, root, schedlab};
use serde_json::Value;

const DESK: &str = "examples/traces/desk.xz";
const BUILD: &str = "examples/traces/build.xz";
const BUILD_HOG10: &str = "examples/traces/build-hog10.xz";
const AIM: &str = "long_waits(audio) min, run(hog) <= +50 %";

/// A search of few runs.
fn desk<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let few = ["--only", "hog,audio", "--seeds", "6", "--budget", "150"];
    [&["advise", DESK][..], &few, options].concat()
}

#[test]
fn advice_names_the_change_its_effect_and_its_commands() {
    let text = schedlab(&desk(&["--aim", AIM, "--kinds", "nice,policy"])).good();
    for part in [
        "examples/traces/desk.xz: 1.018 s, 2 CPUs",
        "trust: ",
        "aim:   least long waits(audio); run(hog) <= +50 %\n       17 in the recording, ",
        "judged by held-back seeds",
        "\n1. ",
        "\n   effect long waits(audio) ",
        "\n   keeps  run time(hog) ",
        "\n   noise  better in 6 of 6 pairs of runs\n   trust  ",
        "\n   make   ",
        "(pgrep -w -x hog)\n   undo   renice -n 0 -p $(pgrep -w -x hog)\n",
        "begin and end during the recording",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

#[test]
fn advice_depends_on_seeds_and_not_on_threads_and_serves_a_second_recording() {
    let json = |options: &[&str]| {
        let fixed = ["--aim", AIM, "--kinds", "nice", "--format", "json"];
        schedlab(&desk(&[&fixed, options].concat())).good()
    };
    let one = json(&["--threads", "1"]);
    assert_eq!(one, json(&["--threads", "3"]));
    let one: Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(one["schema"], "schedlab-advice/1");
    assert!(one["runs"].as_u64().expect("runs") <= 150, "{one}");
    let best = &one["suggestions"][0];
    assert!(best["objective"]["change"].as_f64().expect("a change") < -0.2, "{best}");
    assert!(best["conditions"][0]["change"].as_f64().expect("a change") <= 0.5, "{best}");
    // Judged by a copy of itself with the same seeds, the recording gives the same advice.
    let scratch = Scratch::new("advise-copy");
    let copy = scratch.file("copy.xz", std::fs::read(root().join(DESK)).expect("the trace exists"));
    let again: Value = serde_json::from_str(&json(&["--hold-out", &copy])).expect("JSON");
    assert_eq!(again["suggestions"], one["suggestions"]);
}

#[test]
fn without_advice_the_status_is_1() {
    let outcome = schedlab(&desk(&["--aim", "cpu(hog) min", "--kinds", "nice"]));
    assert_eq!(outcome.status, 1, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("Nothing that was tried helps beyond noise"));
}

#[test]
fn a_prediction_is_compared_with_what_then_happened_and_its_score_is_kept() {
    let scratch = Scratch::new("advise-score");
    let file = format!("{}/score.csv", scratch.path());
    let only = ["--only", "descendants of build.sh", "--seeds", "4", "--score", &file];
    // The traces show that the hog was reniced.
    let check = [&["advise", "--check", BUILD, BUILD_HOG10][..], &only].concat();
    let text = schedlab(&check).stdout;
    assert!(text.contains("change: renice hog 10"), "{text}");
    assert!(text.contains("run time(hog)") && text.contains("The direction is right for"));
    let measured = ["--change", "renice hog 10", "--measured", "run(hog)=+68%"];
    let text = schedlab(&[&["advise", "--check", BUILD][..], &measured, &only].concat()).good();
    assert!(text.contains("The direction is right for 1 of 1 figure, and 1 are within"), "{text}");
    let scores = std::fs::read_to_string(&file).expect("scores");
    let rows: Vec<&str> = scores.lines().collect();
    assert!(rows[0].starts_with("before,after,change,figure,recorded_before,"), "{scores}");
    let last = rows.last().expect("rows");
    assert!(rows.len() > 4 && last.contains(",renice hog 10,run time(hog),"), "{scores}");
    assert!(last.contains(",true,true,"), "{scores}");
    assert_eq!(scores.matches("recorded_before").count(), 1, "{scores}");
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_its_place() {
    let scratch = Scratch::new("advise-wrong");
    let other = scratch.file("other.csv", "a,b\n");
    for (options, parts) in [
        (vec![DESK], &["--aim <AIM>"][..]),
        (vec![DESK, "--aim", "p98(audio) min"], &["--aim", "no figure `p98`; there are p50"]),
        (vec![DESK, "--aim", "p99(audio) <= +5 %"], &["--aim", "no figure has min or max"]),
        (vec![DESK, "--aim", "p99(audoi) min"], &["no task \"audoi\"", "did you mean audio?"]),
        (vec![DESK, "--aim", "p99(hog) min"], &["p99 latency(hog)", DESK, "too few values"]),
        (vec![DESK, "--aim", "end min", "--kinds", "nise"], &["--kinds", "nice"]),
        (vec![DESK, "--aim", "end min", "--budget", "3"], &["--budget", "60 to"]),
        (vec![DESK, BUILD, "--aim", "end min"], &["--check", "--hold-out"]),
        (vec!["missing.xz", "--aim", "end min"], &["missing.xz"]),
        (vec!["examples/desktop.json", "--aim", "end min"], &["examples/desktop.json"]),
        (vec!["--check", DESK], &["--check needs a recording made after", "--measured"]),
        (vec!["--check", BUILD, BUILD], &["show no change of settings", "--change"]),
        (vec!["--check", BUILD, BUILD, "--change", "nise hog 5"], &["unknown change `nise`"]),
        (
            vec!["--check", BUILD, "--change", "renice hog 5", "--measured", "x=1s"],
            &["no figure `x`"],
        ),
        (vec!["--check", BUILD, BUILD_HOG10, "--score", &other], &["--score", "not overwritten"]),
    ] {
        schedlab(&[&["advise"][..], &options].concat()).error(parts);
    }
}

#[test]
fn unknown_releases_and_a_recording_that_would_judge_itself_are_refused() {
    let of = |more: &[&str]| {
        let given = ["advise", "examples/traces/desk.xz", "--aim", "p99(audio) min"];
        schedlab(&[&given[..], more].concat())
    };
    of(&["--releases", "nope"]).error(&["--releases: there is no scheduler", "nope"]);
    of(&["--hold-out", "examples/traces/desk.xz"]).error(&["--hold-out", "second recording"]);
}
