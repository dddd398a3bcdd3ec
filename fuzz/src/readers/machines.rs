//! Descriptions of machines.

use super::{Reader, Shape, text};
use schedlab_lab::machines;
use schedlab_machine::description::{parse_topology, with_calibrated};

/// Words of descriptions.
const WORDS: &[&str] = &[
    "\"format\": 1",
    "\"name\": \"m\"",
    "\"about\": \"\"",
    "\"source\": \"s\"",
    "\"hz\": 250",
    "\"topology\": {",
    "\"regular\": {",
    "\"nodes\": 2",
    "\"packages\": 2",
    "\"caches\": 2",
    "\"cores\": 4",
    "\"threads\": 2",
    "\"numbering\": \"siblings_together\"",
    "\"numbering\": \"siblings_apart\"",
    "\"siblings_last\"",
    "\"cpus\": [",
    "{ \"core\": 0, \"cache\": 0, \"package\": 0, \"node\": 0 }",
    "\"core\": ",
    "\"cache\": ",
    "\"package\": ",
    "\"node\": ",
    "\"distances\": [[10, 20], [20, 10]]",
    "\"node_distances\": [[10, 20], [20, 10]]",
    "\"costs\": {",
    "\"kernel\": {",
    "\"switch\": ",
    "\"tick\": ",
    "{ \"value\": 600, \"source\": \"s\" }",
    "{ \"value\": 600, \"calibrated_on\": \"s\" }",
    "\"calls\": {",
    "\"fork\": ",
    "\"by_scheduler\": {",
    "\"o_n\": {",
    "\"cfs@2.6.24\": {",
    "\"call.futex\"",
    "\"caches\": [",
    "{ \"of\": \"core\", \"size_kib\": 512, \"refill_kib\": 50 }",
    "\"of\": \"cache\"",
    "\"size_kib\": ",
    "\"refill_kib\": ",
    "\"smt_slowdown\": 1.5",
    "\"nohz\": true",
    "\"power\": {",
    "\"base_watts\": 100",
    "\"core_watts\": ",
];

pub(super) const MACHINE: Reader = Reader {
    name: "machine",
    about: "descriptions of machines",
    read: |input| match machines::parse("fuzz.json", &text(input)) {
        Ok(machine) => {
            let (cpus, nodes) = (machine.topology.cpus(), machine.topology.nodes());
            assert!(cpus >= 1 && nodes >= 1 && nodes <= cpus);
            drop(machine.with_first(Some(1)).map(|one| assert_eq!(one.topology.cpus(), 1)));
            Shape::taken(u64::from(cpus.min(63)) * 64 + u64::from(nodes.min(63)))
        }
        Err(error) => Shape::refused(error),
    },
    words: WORDS,
    most: 2_000,
};

pub(super) const TOPOLOGY: Reader = Reader {
    name: "topology",
    about: "the topology of CPUs: a description's `topology`, also in golden files",
    read: |input| match parse_topology(&text(input)) {
        Ok(topology) => Shape::taken(u64::from(topology.cpus().min(63))),
        Err((place, message)) => Shape::refused(format!("{place}: {message}")),
    },
    words: WORDS,
    most: 800,
};

pub(super) const CALIBRATED: Reader = Reader {
    name: "calibrated",
    about: "descriptions into which calibrated numbers are written",
    read: |input| {
        let fitted = [("switch".to_string(), 77.5), ("o_n.call.futex".to_string(), 3.0)];
        match with_calibrated("fuzz.json", &text(input), &fitted, "a fuzzer") {
            Ok(written) => machines::parse("fuzz.json", &written)
                .map_or_else(Shape::refused, |_| Shape::taken(1)),
            Err(error) => Shape::refused(error),
        }
    },
    words: WORDS,
    most: 1_500,
};
