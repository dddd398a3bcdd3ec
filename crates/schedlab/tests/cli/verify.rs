//! `schedlab verify` and `schedlab list`, as users type them.

use crate::support::{Scratch, command, root, schedlab};
use std::io::Read;
use std::process::Stdio;

fn golden(name: &str) -> Vec<u8> {
    let path = root().join("tests/golden/round_robin").join(name);
    schedlab_lab::compressed::read(&path, 1 << 30).expect("the entry exists")
}

/// Returns the name of a golden file of round robin.
fn some_golden() -> String {
    let mut names: Vec<String> = std::fs::read_dir(root().join("tests/golden/round_robin"))
        .expect("the directory exists")
        .map(|entry| {
            entry.expect("a readable entry").file_name().into_string().expect("valid text")
        })
        .collect();
    names.sort();
    names.swap_remove(0)
}

#[test]
fn a_directory_is_searched_and_summed_up() {
    let text = schedlab(&["verify", "tests/golden/round_robin"]).good();
    let agreeing = text.lines().filter(|line| line.starts_with("agrees ")).count();
    assert_eq!(agreeing, 24);
    let all = text.lines().last().expect("a summary");
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["all", "24", "24", "100%"]);
    let mut sorted: Vec<&str> = text.lines().take(24).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, text.lines().take(24).collect::<Vec<_>>(), "in the order of the names");
    let quiet = schedlab(&["verify", "--quiet", "tests/golden/round_robin"]).good();
    assert!(!quiet.contains("agrees "));
    assert_eq!(quiet.lines().last(), Some(all));
}

#[test]
fn plain_and_compressed_files_are_read_whatever_they_are_called() {
    let scratch = Scratch::new("plain");
    let text = golden(&some_golden());
    let plain = scratch.file("a.json", &text);
    let odd = scratch.file("no-extension", &text);
    let gz = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(&text).unwrap();
        scratch.file("b.json.gz", encoder.finish().unwrap())
    };
    let text = schedlab(&["verify", &plain, &gz, &odd]).good();
    assert_eq!(text.lines().filter(|line| line.starts_with("agrees ")).count(), 3, "{text}");
}

#[test]
fn a_schedule_that_is_not_met_is_exit_status_1() {
    let scratch = Scratch::new("differs");
    let mut file: serde_json::Value = serde_json::from_slice(&golden(&some_golden())).unwrap();
    file["slices"][3][2] = serde_json::json!(file["slices"][3][2].as_u64().unwrap() - 1_000_000);
    let path = scratch.file("changed.json", file.to_string());
    let ran = schedlab(&["verify", &path]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.starts_with("DIFFERS "), "{}", ran.stdout);
    assert!(ran.stdout.contains("slice 3: expected "), "{}", ran.stdout);
    assert!(ran.stdout.contains(", got "), "{}", ran.stdout);
    assert!(ran.stdout.contains(" 99."), "{}", ran.stdout);
    // A difference does not hide an error, and other files are still replayed.
    let ran = schedlab(&["verify", &path, "nowhere.json", "tests/golden/round_robin"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stdout.contains("agrees "), "{}", ran.stdout);
    assert!(ran.stderr.contains("nowhere.json: there is no such file"), "{}", ran.stderr);
}

#[test]
fn what_is_no_golden_schedule_is_exit_status_2() {
    let scratch = Scratch::new("broken");
    let text = golden(&some_golden());
    let cut = scratch.file("cut.json", &text[..text.len() / 2]);
    schedlab(&["verify", &cut]).error(&["error: ", "cut.json:"]);
    let other = scratch.file("other.json", "{\"tasks\": {}}");
    schedlab(&["verify", &other]).error(&["error: ", "other.json:1:1", "format"]);
    let packed =
        std::fs::read(root().join("tests/golden/round_robin").join(some_golden())).unwrap();
    let damaged = scratch.file("damaged.json.xz", &packed[..packed.len() - 20]);
    schedlab(&["verify", &damaged]).error(&["damaged.json.xz: ", "xz", "cannot be decompressed"]);
    schedlab(&["verify", "tests/golden/pelt/task-decay.json.xz"]).error(&["load-tracking vectors"]);
    let unknown = String::from_utf8(text).unwrap().replace("\"round_robin\"", "\"rr9\"");
    let unknown = scratch.file("unknown.json", unknown);
    schedlab(&["verify", &unknown]).error(&[
        "there is no scheduler rr9 of kernel",
        "unknown.json:",
        "(scheduler)",
    ]);
    let mut file: serde_json::Value = serde_json::from_slice(&golden(&some_golden())).unwrap();
    let start_ns = file["slices"][3][1].as_u64().unwrap();
    file["slices"][3][2] = serde_json::json!(start_ns - 1);
    let backwards = scratch.file("backwards.json.txt", file.to_string());
    schedlab(&["verify", &backwards]).error(&[
        "backwards.json.txt:1:",
        "slices",
        "before it begins",
    ]);
    // Such files of a directory are reported together.
    schedlab(&["verify", &scratch.path()]).error(&["has no scheduler rr9", "1 file not replayed"]);
    let empty = Scratch::new("empty");
    empty.file("README.md", "nothing");
    schedlab(&["verify", &empty.path()]).error(&["no .json"]);
    schedlab(&["verify"]).error(&["FILE|DIRECTORY", "Usage"]);
}

#[test]
fn a_file_that_is_known_to_disagree_is_listed_with_the_reason() {
    let scratch = Scratch::new("known");
    scratch.file("agrees.json", golden(&some_golden()));
    scratch.file("sub/differs.json", changed(|file| file["slices"][0][2] = 1.into()));
    assert_eq!(schedlab(&["verify", &scratch.path()]).status, 1);

    scratch.file("disagreements.tsv", "sub/differs.json\tnobody knows why\n");
    let ran = schedlab(&["verify", &scratch.path()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("known    "), "{}", ran.stdout);
    assert!(ran.stderr.contains("1 file known to disagree"), "{}", ran.stderr);

    // A listed file that agrees is reported, as is a line without its file.
    scratch.file("disagreements.tsv", "sub/differs.json\ta reason\nagrees.json\ta reason\n");
    let ran = schedlab(&["verify", "--quiet", &scratch.path()]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.contains("AGREES   "), "{}", ran.stdout);
    scratch.file("disagreements.tsv", "sub/gone.json\ta reason\n");
    schedlab(&["verify", &scratch.path()])
        .error(&["disagreements.tsv:1: sub/gone.json", "no such golden schedule"]);
    scratch.file("disagreements.tsv", "sub/differs.json for no reason\n");
    schedlab(&["verify", &scratch.path()]).error(&["disagreements.tsv:1:", "a tab"]);
}

#[test]
#[cfg(unix)]
fn a_directory_with_a_link_to_itself_is_searched_once() {
    let scratch = Scratch::new("circle");
    scratch.file("a.json", golden(&some_golden()));
    std::os::unix::fs::symlink(".", std::path::Path::new(&scratch.path()).join("self")).unwrap();
    let text = schedlab(&["verify", &scratch.path()]).good();
    assert_eq!(text.lines().filter(|line| line.starts_with("agrees ")).count(), 1, "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = command(&["verify", "tests/golden/round_robin"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(said, "");
}

#[test]
fn list_shows_every_release_and_what_can_be_set() {
    let text = schedlab(&["list"]).good();
    assert!(text.contains("round_robin@1.0"), "{text}");
    assert!(text.contains("reconstructed") && !text.contains("sched_latency_ns"), "{text}");
    // A line for each release, two for each scheduler, and the explanation.
    assert!(text.lines().count() < 120, "the list is short");
    let text = schedlab(&["list", "cfs"]).good();
    assert!(text.contains("cfs@2.6.32, the default"), "{text}");
    assert!(text.contains("Tunables") && text.contains("sched_latency_ns"), "{text}");
    let one = schedlab(&["list", "round_robin@1.2"]).good();
    assert!(one.contains("round_robin@1.2") && !one.contains("round_robin@1.0"), "{one}");
    let json: serde_json::Value =
        serde_json::from_str(&schedlab(&["list", "--format", "json"]).good()).expect("valid JSON");
    let first = &json[0];
    assert_eq!(first["name"], "round_robin@1.0");
    assert_eq!(first["standing"], "checked");
    assert_eq!(first["policies"], serde_json::json!(["SCHED_OTHER"]));
    schedlab(&["list", "rond_robin"])
        .error(&["no scheduler \"rond_robin\"", "did you mean round_robin?"]);
    let parts = ["nearest is eevdf@6.8 (eevdf@6.9: rules as 6.8; they were not"];
    schedlab(&["list", "eevdf@6.9"]).error(&parts);
    schedlab(&["list", "--format", "xml"]).error(&["xml", "table", "json"]);
}

#[test]
fn help_is_written_for_people() {
    for command in ["run", "verify", "list", "stress"] {
        let text = schedlab(&[command, "--help"]).good();
        assert!(text.contains("Examples:"), "{text}");
    }
    let text = schedlab(&["--help"]).good();
    assert!(text.contains("Exit status"), "{text}");
    schedlab(&["frobnicate"]).error(&["frobnicate", "Usage"]);
    schedlab(&[]).error(&["Usage"]);
}

/// Makes a golden file with `change` applied.
fn changed(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut file = serde_json::from_slice(&golden(&some_golden())).unwrap();
    change(&mut file);
    file.to_string()
}

#[test]
fn figures_of_tasks_are_compared_too() {
    let scratch = Scratch::new("figures");
    for figure in ["runtime_ns", "wait_ns", "max_wait_ns"] {
        let text = changed(|file| {
            let tasks = file["tasks"].as_object_mut().expect("figures");
            let task = tasks.values_mut().next().expect("a task");
            task[figure] = (task[figure].as_u64().unwrap() + 1).into();
        });
        let ran = schedlab(&["verify", &scratch.file("figures.json", text)]);
        assert_eq!(ran.status, 1, "{figure}: {}", ran.stdout);
        assert!(ran.stdout.contains(&format!("slices agree) {figure} of ")), "{}", ran.stdout);
    }
}

#[test]
fn what_stands_twice_in_a_golden_file_is_refused() {
    let scratch = Scratch::new("twice");
    let text = changed(|_| ());
    for (part, twice, key) in [
        ("\"hz\":", "\"hz\":50,\"hz\":", "hz"),
        ("\"kernel\":", "\"kernel\":\"x\",\"kernel\":", "kernel"),
        ("\"tunables\":{", "\"tunables\":{\"a\":1,\"a\":2,", "a"),
        ("\"wait_ns\":", "\"wait_ns\":1,\"wait_ns\":", "wait_ns"),
    ] {
        assert!(text.contains(part), "{part} in {text}");
        let file = scratch.file("twice.json", text.replacen(part, twice, 1).replace(",}", "}"));
        schedlab(&["verify", &file]).error(&[&format!("`{key}` is repeated"), "twice.json:1:"]);
    }
    let more = text.replacen("\"wait_ns\":", "\"waited_ns\":1,\"wait_ns\":", 1);
    schedlab(&["verify", &scratch.file("more.json", more)]).error(&["unknown key `waited_ns`"]);
}

#[test]
fn whose_schedule_cannot_be_replayed_is_told_with_its_place() {
    let scratch = Scratch::new("places");
    for (change, parts) in [
        (
            ("kernel", serde_json::json!("9.9")),
            ["of kernel 9.9 in this program", "(kernel)", "1.0"],
        ),
        (
            ("scheduler", serde_json::json!("o_9")),
            ["no scheduler o_9", "(scheduler)", "round_robin"],
        ),
    ] {
        let text = changed(|file| file[change.0] = change.1.clone());
        schedlab(&["verify", &scratch.file("a.json", text)]).error(&parts);
    }
    let text = changed(|file| file["machine"]["hz"] = 7.into());
    schedlab(&["verify", &scratch.file("a.json", text)]).error(&[
        "ticks 7 times a second",
        "(machine.hz)",
        "a.json:1:",
    ]);
    let text = changed(|file| file["machine"]["cpus"] = 2.into());
    schedlab(&["verify", &scratch.file("a.json", text)])
        .error(&["the machine has 2 CPUs", "(machine.cpus)"]);
}
