//! Descriptions of machines: what is read, what is refused, and the messages.

use super::*;
use schedlab_core::topology::LevelKind;

fn refuse(text: &str) -> String {
    Description::parse("m.json", text).unwrap_err().to_string()
}

/// Returns a file with this topology.
fn with_topology(topology: &str) -> String {
    format!(r#"{{"format": 1, "name": "m", "topology": {topology}}}"#)
}

#[test]
fn every_preset_reads_and_is_called_as_it_calls_itself() {
    for (name, text) in PRESETS {
        let machine = Description::parse(name, text).unwrap();
        assert_eq!(&machine.name, name);
        assert!(!machine.about.is_empty() && !machine.source.is_empty(), "{name}");
    }
    assert_eq!(presets().count(), PRESETS.len());
}

#[test]
fn presets_are_what_they_say() {
    let shape = |name: &str| {
        let topology = find(name).unwrap().topology;
        let kinds: Vec<LevelKind> = topology.levels().iter().map(|level| level.kind).collect();
        (topology.cpus(), kinds)
    };
    use LevelKind::{Cpu, MultiCore, Node, Smt};
    assert_eq!(shape("laptop"), (16, vec![Smt, MultiCore, Cpu]));
    assert_eq!(shape("z800-2x6"), (12, vec![MultiCore, Cpu, Node]));
    assert_eq!(shape("pentium3-700x8"), (8, vec![Cpu]));
    assert_eq!(shape("server-2node"), (64, vec![Smt, MultiCore, Cpu, Node]));
    assert_eq!(shape("flat-3"), (3, vec![Cpu]));
}

#[test]
fn numberings_say_which_cpus_are_siblings() {
    let cores = |numbering: &str| {
        let regular = format!(
            r#"{{"regular": {{"packages": 2, "cores": 2, "threads": 2, "numbering": "{numbering}"}}}}"#
        );
        let machine = Description::parse("m.json", &with_topology(&regular)).unwrap();
        let places = machine.topology.iter().map(|cpu| machine.topology.place(cpu));
        places.map(|place| (place.core, place.package)).collect::<Vec<_>>()
    };
    let (a, b, c, d) = ((0, 0), (1, 0), (2, 1), (3, 1));
    assert_eq!(cores("siblings_apart"), [a, b, c, d, a, b, c, d]);
    assert_eq!(cores("siblings_together"), [a, a, b, b, c, c, d, d]);
    assert_eq!(cores("packages_alternate"), [a, c, b, d, a, c, b, d]);
}

#[test]
fn irregular_machines_are_given_cpu_by_cpu() {
    let cpus = r#"{"cpus": [
        {"core": 0, "cache": 0}, {"core": 0, "cache": 0}, {"core": 1, "cache": 0},
        {"core": 2, "package": 1, "node": 1}
    ]}"#;
    let topology = Description::parse("m.json", &with_topology(cpus)).unwrap().topology;
    assert_eq!(topology.levels()[0].span_of, [0, 0, 1, 2]);
    assert_eq!(topology.nodes(), 2);
}

#[test]
fn mistakes_are_told_with_file_place_and_remedy() {
    assert_eq!(refuse("{\n \"name\": 3 x}"), "m.json:2:12: expected `,` or `}`");
    assert_eq!(
        refuse(r#"{"name": "m"}"#),
        "m.json:format: the format is missing; begin with \"format\": 1"
    );
    assert_eq!(
        refuse(r#"{"format": 2, "costs": {}}"#),
        "m.json:format: format 2 is unknown; this program reads \"format\": 1"
    );
    let unknown = refuse("{\"format\": 1, \"name\": \"m\",\n \"coats\": {}}");
    assert_eq!(
        unknown,
        "m.json:2:8: unknown field `coats`, expected one of `format`, `name`, `about`, `source`, `hz`, `tick_phase_us`, `topology`, `costs`, \
         `caches`, `power`"
    );
    assert_eq!(
        refuse(r#"{"format": 1, "name": "m", "hz": 0, "topology": {"flat": 1}}"#),
        "m.json:hz: 0 ticks per second; give 1 to 10000"
    );
    assert_eq!(
        refuse(&with_topology("{}")),
        "m.json:topology: no CPUs; give \"flat\": N, \"regular\": {...} or \"cpus\": [...]"
    );
    assert_eq!(
        refuse(&with_topology(r#"{"regular": {"cores": 0}}"#)),
        "m.json:topology.regular.cores: is 0; give at least 1"
    );
    assert_eq!(
        refuse(&with_topology(r#"{"regular": {"cores": 2000, "threads": 4294967295}}"#)),
        "m.json:topology.regular.threads: 4294967295 makes more than 4096 CPUs, the maximum"
    );
    assert_eq!(
        refuse(&with_topology(r#"{"flat": 2, "distances": [[10]], "cpus": []}"#)),
        "m.json:topology: more than one of \"flat\", \"regular\" and \"cpus\"; give one of them"
    );
    assert_eq!(
        refuse(&with_topology(r#"{"regular": {"nodes": 2}, "distances": [[10, 20]]}"#)),
        "m.json:topology.distances: 1 rows of distances for 2 nodes: give a row for each node"
    );
    let torn = r#"{"cpus": [{"core": 0, "cache": 0}, {"core": 0, "cache": 1}]}"#;
    assert_eq!(
        refuse(&with_topology(torn)),
        "m.json:topology.cpus: core 0 is in two caches: CPUs 0 and 1 are both in it, but in different caches; give them the same \
         cache, or different cores"
    );
}

/// Returns a machine with these sections after its topology.
fn with_sections(sections: &str) -> String {
    format!(r#"{{"format": 1, "name": "m", "topology": {{"flat": 1}}, {sections}}}"#)
}

#[test]
fn every_number_has_its_source_and_its_unit() {
    let text = with_sections(
        r#""costs": {
            "kernel": {"switch": {"value": 1200.5, "source": "measured"}},
            "by_scheduler": {"o_n@2.4.19": {"scan": {"value": 2, "calibrated_on": "two points"}}, "o_n": {"scan": {"value": 1, "source": "s"}}},
            "calls": {"pipe_read": {"value": 900, "source": "s"}}
        },
        "caches": [{"of": "core", "size_kib": {"value": 256, "source": "s"}, "refill_kib": {"value": 12.5, "source": "s"}}],
        "power": {
            "base_watts": {"value": 1, "source": "s"}, "cpu_watts": {"value": 2, "source": "s"}, "package_watts": {"value": 3, "source": "s"},
            "cpu_idle": [{"name": "C1", "watts": {"value": 0.5, "source": "s"}, "residency_us": {"value": 2, "source": "s"}, "exit_us": {"value": 1, "source": "s"}}]
        }"#,
    );
    let machine = Description::parse("m.json", &text).unwrap();
    let costs = machine.costs.unwrap();
    let kernel_of = |spec| {
        let (entry, release) = schedlab_sched::registry::find(spec).unwrap();
        costs.kernel_of(entry, release)
    };
    assert_eq!(costs.kernel[crate::costs::Cost::Switch], 1_200_500);
    assert_eq!(
        kernel_of("o_n@2.4.19")[crate::costs::Cost::Scan],
        2000,
        "the cost of the release takes precedence"
    );
    assert_eq!(kernel_of("o_n@2.4.22")[crate::costs::Cost::Scan], 1000);
    assert_eq!((costs.calls.pipe_read_ns, costs.caches[0].refill_kib_ps), (900, 12_500));
    let power = costs.power.unwrap();
    assert_eq!((power.cpu_idle[0].residency_ns, power.cpu_idle[0].watts), (2000, 0.5));
    let calibrated: Vec<&str> = machine
        .numbers
        .iter()
        .filter(|number| number.calibrated)
        .map(|number| number.key.as_str())
        .collect();
    assert_eq!(calibrated, ["costs.by_scheduler.o_n@2.4.19.scan"]);
}

#[test]
fn mistakes_in_costs_are_told_with_their_place() {
    let kernel = |entry: &str| with_sections(&format!(r#""costs": {{"kernel": {{{entry}}}}}"#));
    assert!(
        refuse(&kernel(r#""switch": {"value": 1}"#)).starts_with(
            "m.json:costs.kernel.switch: has no source; state where the number is from"
        )
    );
    assert!(
        refuse(&kernel(r#""swatch": {"value": 1, "source": "s"}"#)).starts_with(
            "m.json:costs.kernel.swatch: there is no cost swatch; the costs are scan, "
        )
    );
    assert_eq!(
        refuse(&kernel(r#""switch": {"value": -1, "source": "s"}"#)),
        "m.json:costs.kernel.switch: -1 is out of range; give 0 to 1000000000"
    );
    assert!(
        refuse(&kernel(r#""tick": {"value": 1, "source": "s", "calibrated_on": "t"}"#))
            .contains("has both")
    );
    assert!(refuse(&with_sections(r#""caches": [{"of": "core", "size_kib": {"value": 1, "source": "s"}, "refill_kib": {"value": 1, "source": "s"}}]"#)).contains("has no effect without"));
}

#[test]
fn names_that_lead_nowhere_are_told_what_there_is() {
    assert_eq!(
        find("z801").unwrap_err().to_string(),
        "z801: there is no such preset or file; the presets are laptop, laptop-2020s, z800-2x6, pentium3-1000x1, pentium3-850x2, \
         pentium3-700x4, pentium3-700x8, emulated-icount, server-2node, ideal and flat-N for N equal CPUs"
    );
    assert_eq!(
        find("flat-5000").unwrap_err().to_string(),
        "flat-5000: a machine has 1 to 4096 CPUs, not 5000"
    );
}

#[test]
fn what_one_pentium_was_calibrated_on_the_others_have_by_their_clocks() {
    let number = |machine: &Description, key: &str| {
        machine.numbers.iter().find(|number| number.key == key).expect("the number exists").clone()
    };
    let calibrated = find("pentium3-1000x1").unwrap();
    let calls = ["costs.calls.socket_", "costs.by_scheduler.o_n.call.socket_"];
    for key in calls.iter().flat_map(|call| [format!("{call}write"), format!("{call}read")]) {
        let key = key.as_str();
        let fitted = number(&calibrated, key);
        assert!(fitted.calibrated, "{key}");
        for (name, ghz) in
            [("pentium3-850x2", 0.85), ("pentium3-700x4", 0.7), ("pentium3-700x8", 0.7)]
        {
            let other = number(&find(name).unwrap(), key);
            assert_eq!(other.source, "pentium3-1000x1, calibrated there, by clock");
            assert!(!other.calibrated, "nothing was fitted on {name}");
            assert!((other.value * ghz / fitted.value - 1.0).abs() < 0.001, "{name} {key}");
        }
    }
    // Memory does not get faster with the clock. The contents of a cache do.
    let miss = "costs.by_scheduler.o_n.scan_miss";
    for (name, ghz) in [("pentium3-850x2", 0.85), ("pentium3-700x4", 0.7), ("pentium3-700x8", 0.7)]
    {
        let other = find(name).unwrap();
        let value = number(&calibrated, miss).value;
        assert_eq!((number(&other, miss).value, number(&other, miss).calibrated), (value, false));
        let scan = "costs.by_scheduler.o_n.scan";
        let (one, other) = (number(&calibrated, scan).value, number(&other, scan).value);
        assert!((other * ghz / one - 1.0).abs() < 0.01, "{name} {scan}");
    }
    // The bus was fitted for eight CPUs, and is the same with fewer.
    let bus = |name| number(&find(name).unwrap(), "costs.calls.message_bus");
    let eight = bus("pentium3-700x8");
    assert!(eight.calibrated);
    for fewer in ["pentium3-850x2", "pentium3-700x4"].map(bus) {
        assert_eq!((fewer.value, fewer.calibrated), (eight.value, false));
    }
}

#[test]
fn the_first_cpus_of_a_machine_cost_what_all_do() {
    let all = find("z800-2x6").unwrap();
    let six = all.clone().with_first(Some(6)).unwrap();
    assert_eq!((six.topology.cpus(), six.topology.nodes()), (6, 1));
    assert_eq!((&six.costs, &six.name), (&all.costs, &all.name));
    assert_eq!(all.clone().with_first(None).unwrap(), all);
    let why = all.with_first(Some(13)).unwrap_err().to_string();
    assert_eq!(why, "z800-2x6: it has 12 CPUs, so 13 cannot be used");
}

#[test]
fn tables_of_latencies_are_read_and_wrong_ones_have_their_place() {
    let file = |table: &str| {
        format!(
            r#"{{"format": 1, "name": "m", "tick_phase_us": 1500.5, "topology": {{"flat": 1}},
                "costs": {{"kernel": {{}}, "timer_latency": {table}}}}}"#
        )
    };
    let sourced = r#"{"value": [[0, 1], [1, 2]], "source": "measured"}"#;
    for table in ["[[0, 1], [1, 2]]", sourced] {
        let machine = Description::parse("m.json", &file(table)).expect("the description is valid");
        let costs = machine.costs.expect("the description has costs");
        let read = costs.timer_latency.expect("the costs have a table");
        assert_eq!(read.points(), [(0.0, 1.0), (1.0, 2.0)]);
        assert_eq!((costs.idle_timer_latency, machine.tick_phase_ns), (None, Some(1_500_500)));
    }
    for (table, wanted) in [
        ("[[0, 1]]", "costs.timer_latency: the table does not reach"),
        ("[[0, 1], [1, -2]]", "costs.timer_latency.1: -2 is out of range"),
        (r#"{"value": [[0, 1], [1, 2]]}"#, "has no source"),
        ("5", "expected a table [[share, ns], ...]"),
    ] {
        let error = Description::parse("m.json", &file(table)).expect_err(wanted).to_string();
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
}
