//! Plans, values of benchmarks, names of schedulers, compressed files.

use super::{Reader, Shape, text};
use schedlab_lab::plan::Plan;
use schedlab_lab::{compressed, select};

pub(super) const PLAN: Reader = Reader {
    name: "plan",
    about: "plans: read, written, read again, prepared",
    read: read_plan,
    words: &[
        "\"schedlab_plan\": 1",
        "\"machine\": {",
        "\"description\": { \"preset\": \"laptop\" }",
        "\"preset\": \"flat-8\"",
        "\"file\": { \"file\": \"m\", \"text\": \"{}\" }",
        "\"cpus\": 4",
        "\"hz\": 250",
        "\"no_costs\": true",
        "\"costs\": [[\"switch\", 1500.0]]",
        "\"nohz\": true",
        "\"load\": {",
        "\"workload\": { \"file\": \"w\", \"text\": \"{'tasks': {'a': {'run': 1}}}\" }",
        "\"benchmark\": { \"name\": \"hackbench\", \"parameters\": [[\"groups\", \"1,2\"]] }",
        "\"mix\": { \"members\": [",
        "{ \"called\": \"x\", \"name\": \"game\", \"parameters\": [] }",
        "\"name\": ",
        "\"parameters\": [",
        "[\"time\", \"1\"]",
        "[\"groups\", \"25..100:25\"]",
        "\"schedulers\": [",
        "\"cfs\"",
        "\"o_1\"",
        "\"eevdf\"",
        "\"linux\"",
        "\"set\": [[\"sched_latency_ns\", 6000000]]",
        "\"groups\": {",
        "\"settings\": [\"/tg1:cpu.weight=200\"]",
        "\"files\": [",
        "\"cgrules\": ",
        "\"user_groups\": true",
        "\"autogroup\": true",
        "\"users\": [\"a=bob/1001\"]",
        "\"timetable\": {",
        "\"actions\": [\"1ms renice a 5\"]",
        "\"limit_ns\": 1000000",
        "\"seed\": 1",
        "\"repeat\": 2",
        "\"record\": { \"slices\": true, \"reasons\": true }",
    ],
    most: 1_500,
};

/// Checks that a plan that was read can be written and read again. Preparing finds all remaining
/// errors.
fn read_plan(input: &[u8]) -> Shape {
    let text = text(input);
    let is_plan = Plan::is_plan(&text);
    let plan = match Plan::parse("fuzz.json", &text) {
        Ok(plan) => plan,
        Err(error) => return Shape::refused(error),
    };
    assert!(is_plan, "it is read as a plan, but `is_plan` takes it for a workload");
    let written = plan.to_json();
    let again = Plan::parse("fuzz.json", &written).expect("it was written by the program");
    assert!(again == plan, "written and read again it is another plan: {written}");
    // With many schedulers nothing else would be found, only later.
    if plan.schedulers.len() > 3
        || plan.schedulers.iter().any(|name| ["all", "linux", "textbook"].contains(&name.trim()))
    {
        return Shape::taken(1);
    }
    match plan.prepare() {
        Ok(prepared) => Shape::taken(2 + prepared.notes().len() as u64),
        Err(error) => Shape::refused(error),
    }
}

pub(super) const VALUES: Reader = Reader {
    name: "values",
    about: "values of the benchmarks' parameters, as on the command line and in mixes",
    read: |input| {
        let text = text(input);
        let mut shape = Shape::taken(0);
        // Whole numbers, numbers with a fraction, flags.
        if let Some(benchmark) = schedlab_bench::find("hackbench") {
            for parameter in benchmark.parameters().iter().take(4) {
                shape = shape.and(Shape::of(parameter.read(&text)));
            }
        }
        // Times, words, CPUs.
        for setting in schedlab_bench::combined::SETTINGS {
            shape = shape.and(Shape::of(setting.read(&text)));
        }
        shape
    },
    words: &[
        "..",
        ":",
        ",",
        "-",
        "+",
        "all",
        "0-3",
        "0+2+4-7",
        "25..200:25",
        "1,2,3",
        "true",
        "false",
        "1e3",
        "0x10",
        "other",
        "fifo",
        "rr",
        " ",
        "_",
    ],
    most: 120,
};

pub(super) const SCHEDULERS: Reader = Reader {
    name: "schedulers",
    about: "names of schedulers and of benchmarks",
    read: |input| {
        let text = text(input);
        let names: Vec<&str> = text.split(',').collect();
        let bench = match schedlab_bench::find(&text) {
            Some(benchmark) => Shape::taken(benchmark.name().len() as u64),
            None => Shape::taken(0),
        };
        bench.and(Shape::of(select::choose(&names)))
    },
    words: &[
        "cfs",
        "o_1",
        "o_n",
        "eevdf",
        "bfs",
        "sd",
        "rsdl",
        "round_robin",
        "fifo",
        "sjf",
        "linux",
        "textbook",
        "all",
        "@",
        "2.6.24",
        "2.6.",
        "6.18",
        "6.6",
        "5.10",
        "3.2",
        "latest",
        ",",
    ],
    most: 100,
};

pub(super) const PACKED: Reader = Reader {
    name: "packed",
    about: "files compressed with gzip and xz",
    read: |input| {
        /// Maximum unpacked size.
        const LIMIT: u64 = 1 << 16;
        match compressed::unpack(input.to_vec(), LIMIT) {
            Ok(bytes) => {
                assert!(bytes.len() as u64 <= LIMIT);
                Shape::of(compressed::as_text(&bytes))
            }
            Err(error) => Shape::refused(error),
        }
    },
    words: &[
        "\u{1f}",
        "\u{8}",
        "\u{fd}7zXZ\0",
        "YZ",
        "\0\0\0\u{4}",
        "\u{2}\0!\u{1}\u{16}\0\0\0",
        "\u{1}\0",
        "\u{1}\u{10}",
    ],
    most: 600,
};
