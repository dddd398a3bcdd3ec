//! Calibrations with a known result.

use super::*;

const MESSAGES: &str = r#"
title = "a small one"
machine = "pentium3-1000x1"
calibrated_on = "made up"

[[parameter]]
costs = ["call.socket_write", "call.socket_read"]
start = 1700
least = 300
most = 10000

[[measurement]]
for.loops = [{ loops = 2, time = 0.0152 }, { loops = 4, time = 0.0304 }]
bench = "hackbench"
parameters = { groups = 2, loops = "{loops}" }
scheduler = "o_1"
figure = "time"
measured = "{time}"
source = "made up"

[[held_out]]
bench = "hackbench"
parameters = { groups = 2, loops = 8 }
scheduler = "o_1"
figure = "time"
measured = 0.0608
source = "made up"
"#;

fn run(text: &str, threads: usize) -> Result<Calibrated, Error> {
    let threads = NonZeroUsize::new(threads).expect("the number is not 0");
    Calibration::read("m.toml", text)?.run("m.toml", threads, |_| ())
}

/// Returns a calibration file whose measurements are simulated with these costs of a message on
/// each side.
fn measured_with(ns: f64) -> String {
    let start = MESSAGES.replace("start = 1700", &format!("start = {ns}"));
    let calibration = Calibration::read("m.toml", &start).expect("the text is well formed");
    let mut text = MESSAGES.to_string();
    let points = [calibration.points.clone(), calibration.held_out.clone()].concat();
    let simulated = calibration.simulate(
        &points,
        &[ns],
        NonZeroUsize::MIN,
        &mut SimulationCache::default(),
        &|_| (),
    );
    for (from, to) in
        ["0.0152", "0.0304", "0.0608"].iter().zip(simulated.expect("the simulation runs"))
    {
        text = text.replace(from, &to.to_string());
    }
    text
}

#[test]
fn a_known_cost_is_found_again() {
    let text = measured_with(4321.0);
    let calibrated = run(&text, 1).expect("the simulation runs");
    let found = &calibrated.parameters[0];
    assert_eq!(
        (found.name.as_str(), found.before),
        ("call.socket_write = call.socket_read", 1700.0)
    );
    assert!((found.after / 4321.0 - 1.0).abs() < 0.005, "{found:?}");
    assert!(!found.is_at_bound());
    for one in calibrated.measurements.iter().chain(&calibrated.held_out) {
        assert!((one.after / one.measured - 1.0).abs() < 0.005, "{one:?}");
        assert!((one.before / one.measured - 1.0).abs() > 0.1, "{one:?}");
    }
    assert_eq!(
        run(&text, 3).expect("the simulation runs"),
        calibrated,
        "threads make no difference"
    );
    let machine =
        Description::parse("m", &calibrated.description).expect("the text is well formed");
    let marked: Vec<_> =
        machine.numbers.iter().filter(|number| number.source == "made up").collect();
    assert!(marked.iter().all(|number| number.calibrated && number.value == found.after));
    let keys: Vec<&str> = marked.iter().map(|number| number.key.as_str()).collect();
    assert_eq!(keys, ["costs.calls.socket_write", "costs.calls.socket_read"]);
}

#[test]
fn a_bound_that_stops_the_search_is_told() {
    let text = measured_with(4321.0).replace("most = 10000", "most = 2000");
    let calibrated = run(&text, 1).expect("the simulation runs");
    assert!(calibrated.parameters[0].is_at_bound(), "{calibrated:?}");
    assert!(text::calibrated(&calibrated, 100, false).contains("call.socket_read is at its bound"));
}

#[test]
fn a_cost_that_makes_no_difference_is_not_called_fitted() {
    let text = MESSAGES.replace("\"call.socket_write\", \"call.socket_read\"", "\"o_n.scan\"");
    let error = run(&text, 1).expect_err("no task is scanned").to_string();
    assert!(error.starts_with("m.toml: parameter o_n.scan: "), "{error}");
    assert!(error.contains("does not affect any measurement"), "{error}");
}

#[test]
fn mistakes_in_files_are_told() {
    for (from, to, part) in [
        ("title = ", "tilte = ", "unknown field"),
        ("pentium3-1000x1", "pentium4", "machine: pentium4: there is no such preset"),
        ("pentium3-1000x1", "flat-2", "flat-2 has no costs"),
        ("calibrated_on = \"made up\"", "calibrated_on = \" \"", "calibrated_on: is empty"),
        ("start = 1700", "start = 100", "the start between them"),
        ("least = 300", "least = 0", "above 0"),
        ("call.socket_read", "call.socket_write", "named twice"),
        ("call.socket_read", "call.socket_reed", "there is no call socket_reed"),
        ("bench = \"hackbench\"", "bench = \"hackbunch\"", "there is no benchmark hackbunch"),
        ("groups = 2", "grups = 2", "grups"),
        ("\"o_1\"", "\"o_2\"", "o_2"),
        ("\"time\"", "\"tame\"", "there is no figure \"tame\"; the figures are time"),
        ("\"{time}\"", "\"{tame}\"", "measured is {tame}; it must be a number"),
        ("source = \"made up\"", "source = \"\"", "source is empty"),
        ("source = \"made up\"", "source = \"made up\"\nseeds = 100000000000", "give 1 to 10000"),
        ("loops = 8", "loops = 4", "cannot also be held out"),
        ("[[measurement]]", "[[held_out]]", "at least one [[parameter]]"),
    ] {
        let error = run(&MESSAGES.replacen(from, to, 1), 1).expect_err(from).to_string();
        assert!(error.starts_with("m.toml: ") && error.contains(part), "{from}: {error}");
    }
}

#[test]
fn the_files_of_the_project_mean_something() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/calibration");
    let mut read = 0;
    for entry in std::fs::read_dir(directory).expect("the directory exists") {
        let path = entry.expect("the file can be read").path();
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        Calibration::read(&path.display().to_string(), &text)
            .unwrap_or_else(|error| panic!("{error}"));
        read += 1;
    }
    assert!(read > 0);
}
