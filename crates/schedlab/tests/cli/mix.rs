//! `schedlab bench mix`, as users type it.

use crate::support::{Scratch, schedlab};
use serde_json::Value;

fn mix(more: &[&str]) -> crate::support::Outcome {
    schedlab(&[&["bench", "mix", "--scheduler=o_1"], more].concat())
}

fn json(more: &[&str]) -> Value {
    let text = mix(&[more, &["--format=json"]].concat()).good();
    serde_json::from_str(&text).expect("valid JSON")
}

/// Splits a command line into words, as a shell does.
fn words(line: &str) -> Vec<&str> {
    let in_quotes = line.split('"').enumerate();
    let words = in_quotes.flat_map(|(number, part)| match number % 2 {
        1 => vec![part],
        _ => part.split_whitespace().collect(),
    });
    words.collect()
}

#[test]
fn the_examples_of_the_page_work_when_pasted() {
    let page = std::fs::read_to_string(crate::support::root().join("docs/benchmarks/mix.md"))
        .expect("the file exists");
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    for line in lines {
        let words = words(line);
        assert_eq!(words[0], "schedlab", "{line}");
        let text = schedlab(&words[1..]).good();
        assert!(text.contains("mix on "), "{line}:\n{text}");
    }
}

#[test]
fn each_member_prints_under_its_name_and_there_is_one_table() {
    let text = mix(&["editor --time 2", "late=hackbench 1 --fds 2 --loops 5 --start 1.5"]).good();
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no \"{part}\" in:\n{text}"));
    let places = [
        place("[editor] 0.000 s to 2.000 s\nresponse mean: "),
        place("[late] 1.500 s to 1.5"),
        place("Running in process mode with 1 groups"),
        place("mix on 1 CPU (idealised)"),
        place("editor: response mean"),
        place("late: time"),
        place("late: share of the CPUs"),
    ];
    assert!(places.is_sorted(), "{places:?}\n{text}");
}

#[test]
fn a_member_alone_is_what_it_is_without_a_mix() {
    let alone =
        schedlab(&["bench", "editor", "2", "--time=5", "--scheduler=o_1", "--format=json"]).good();
    let alone: Value = serde_json::from_str(&alone).expect("valid JSON");
    let mixed = json(&["editor 2 --time 5"]);
    let figures = |report: &Value| -> Vec<Value> {
        let figures = report["points"][0]["figures"].as_array().cloned().unwrap_or_default();
        let of_editor = |figure: &Value| {
            let name = figure["name"].as_str().unwrap_or_default();
            name.trim_start_matches("editor: ").starts_with("response")
        };
        figures
            .iter()
            .filter(|figure| of_editor(figure))
            .map(|figure| figure["mean"].clone())
            .collect()
    };
    assert_eq!(figures(&alone).len(), 3);
    assert_eq!(figures(&alone), figures(&mixed));
    // A later start draws the same numbers: its clock starts with it.
    assert_eq!(figures(&alone), figures(&json(&["editor 2 --time 5 --start 3"])));
}

#[test]
fn the_others_go_on_when_a_member_is_over() {
    let report = json(&["short=li --count 1 --time 2", "long=li --count 1 --time 6"]);
    let share = |name: &str| {
        let figures = report["points"][0]["figures"].as_array().expect("a list");
        let name = format!("{name}: share of the CPUs");
        let figure =
            figures.iter().find(|figure| figure["name"] == *name).expect("the entry exists");
        figure["mean"].as_f64().expect("a number")
    };
    // Half of two seconds; and out of six seconds, half of two, and four.
    assert!((share("short") - 50.0).abs() < 6.0, "{}", share("short"));
    assert!((share("long") - 100.0 * 5.0 / 6.0).abs() < 3.0, "{}", share("long"));
}

#[test]
fn nice_policy_affinity_and_groups_are_those_of_the_member() {
    let share = |member: &str, scheduler: &str, cpus: &str| {
        let args =
            ["bench", "mix", member, "li --count 1 --time 4", "--format=json", scheduler, cpus];
        let report: Value = serde_json::from_str(&schedlab(&args).good()).expect("valid JSON");
        let figures = report["points"][0]["figures"].as_array().expect("a list").clone();
        let of_it = figures.iter().find(|figure| figure["name"] == "it: share of the CPUs");
        of_it.expect("the entry exists")["mean"].as_f64().expect("a number")
    };
    let cfs = |member: &str| {
        share(&format!("it=li --count 1 --time 4 {member}"), "--scheduler=cfs", "--cpus=1")
    };
    let even = cfs("");
    assert!((even - 50.0).abs() < 3.0, "{even}");
    let nice = cfs("--nice 5");
    assert!((nice - 25.0).abs() < 3.0, "335 of 335 + 1024: {nice}");
    assert!(cfs("--policy idle") < 2.0);
    let few = share("it=li --count 3 --time 4 --shares 512", "--scheduler=cfs", "--cpus=1");
    assert!((few - 100.0 / 3.0).abs() < 4.0, "512 beside a task of 1024: {few}");
    let free = share("it=li --count 2 --time 4", "--scheduler=cfs", "--cpus=4");
    assert!((free - 50.0).abs() < 2.0, "{free}");
    let bound = share("it=li --count 2 --time 4 --affinity 3", "--scheduler=cfs", "--cpus=4");
    assert!((bound - 25.0).abs() < 2.0, "{bound}");
    let refused = ["bench", "mix", "li --shares 512", "--scheduler=o_1"];
    schedlab(&refused).error(&["o_1@2.6.0 cannot run mix: it has no task groups"]);
}

#[test]
fn lists_of_any_member_make_a_curve() {
    let text = mix(&["editor --time 2", "li --count 1..3 --time 2"]).good();
    assert!(text.contains("mix on 1 CPU (idealised): editor: response mean"), "{text}");
    assert!(text.contains("li.count"), "{text}");
    let report = json(&["editor --time 1 --sleep 50,100", "li --time 1 --affinity 0,all"]);
    let swept: Vec<&str> = report["swept"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|place| report["parameters"][place.as_u64()? as usize]["name"].as_str())
        .collect();
    assert_eq!(swept, ["editor.sleep", "li.affinity"]);
    assert_eq!(report["points"].as_array().map(Vec::len), Some(4));
    let report = json(&["editor --time 1,2 --hogs 1,2", "li --time 1"]);
    let parameters = &report["parameters"];
    assert_eq!(
        parameters[report["swept"][0].as_u64().expect("a place") as usize]["name"],
        "editor.time"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    mix(&[]).error(&["required", "MEMBER"]);
    mix(&["game", "hackbanch 3"]).error(&["member \"hackbanch 3\": ", "did you mean hackbench?"]);
    mix(&["mix game"]).error(&["there is no benchmark \"mix\""]);
    mix(&["game --hgs 3"]).error(&["member \"game --hgs 3\": ", "'--hgs'", "'--hogs'"]);
    mix(&["hackbench 0"])
        .error(&["member \"hackbench 0\": ", "0 is out of range; give 1 to 10000"]);
    mix(&["game --nice 20"]).error(&["20 is out of range; give -20 to 19"]);
    mix(&["game --policy fast"])
        .error(&["\"fast\" is unknown; give one of other, batch, idle, fifo, rr"]);
    mix(&["game --affinity 1-0"]).error(&["\"1-0\" names no CPUs; give all, 3, 0-3 or 0+2+4-7"]);
    mix(&["game --affinity 1"])
        .error(&["--game.affinity: there is no CPU 1; the last one of this machine is 0"]);
    mix(&["a=game", "a=game"]).error(&["two members are called a"]);
    mix(&["a.b=game"]).error(&["\"a.b\" is not a name for a member"]);
    mix(&["periodic --run 60"]).error(&["--periodic.run: longer than the period; give less"]);
    mix(&["--file", "no/such/file"]).error(&["no/such/file: "]);
    let scratch = Scratch::new("mix-file");
    let file = scratch.file("my.mix", "# mine\ngame --time 1 # a second\nhackbench --goups 3\n");
    mix(&["--file", &file]).error(&["my.mix:3: ", "'--goups'", "'--groups'"]);
    let empty = scratch.file("empty.mix", "\n# nothing\n");
    mix(&["--file", &empty]).error(&["the mix has no members"]);
}

#[test]
fn the_help_tells_of_it() {
    let all = schedlab(&["bench", "--help"]).good();
    assert!(all.contains("  mix "), "{all}");
    let one = schedlab(&["bench", "mix", "--help"]).good();
    for part in ["--start S", "--affinity CPUS", "--file <FILE>", "--plot <FILE.svg|png>"] {
        assert!(one.contains(part), "no \"{part}\" in:\n{one}");
    }
    assert!(mix(&["game --help"]).good().contains("--vsync"));
}

/// Both have the same parameters: only the name of the benchmark differs.
#[test]
fn results_of_other_members_are_not_taken() {
    let scratch = Scratch::new("mix-members");
    let saved = format!("{}/saved", scratch.path());
    mix(&["a=yield --seconds 1 --hogs 1", "--save", &saved, "--duration=0.05"]).good();
    mix(&["a=ring-test --seconds 1 --hogs 1", "--resume", &saved, "--duration=0.05"])
        .error(&["its benchmark is mix of a=yield, not mix of a=ring-test"]);
    mix(&["a=yield --seconds 1 --hogs 1", "--resume", &saved, "--duration=0.05"]).good();
}
