//! Published experiments, their targets and contradictions, calibrations, and criteria.

use super::{Reader, Shape, text};
use schedlab_papers::calibration::Calibration;
use schedlab_papers::catalogue::Catalogue;
use schedlab_papers::expression::{ValuesByName, evaluate};
use schedlab_papers::{axes, contradictions, targets};

const HEAD: &str = "id,case,quantity,unit,low,high,published\n";

pub(super) const PAPER: Reader = Reader {
    name: "paper",
    about: "published experiments: papers/*.toml",
    read: |input| match Catalogue::read([("fuzz.toml", &*text(input))], ("targets.csv", HEAD)) {
        Ok(catalogue) => {
            let file = &catalogue.experiments[0];
            for run in &file.runs {
                for binding in axes::combinations(&run.axes).iter().take(8) {
                    drop(axes::fill(&file.title, binding));
                }
            }
            Shape::taken((file.runs.len() * 16 + file.criteria.len()) as u64)
        }
        Err(error) => Shape::refused(error),
    },
    words: &[
        "id = \"X-1\"",
        "title = \"t\"",
        "source = \"s\"",
        "question = \"q\"",
        "reported = \"r\"",
        "notes = [\"n\"]",
        "contradictions = [\"C-1\"]",
        "[conditions]",
        "points = 40",
        "fewer = \"f\"",
        "none = \"n\"",
        "ticks = [\"skewed\"]",
        "once = \"o\"",
        "by_rule = true",
        "empty_if = \"v.1 == 0\"",
        "otherwise = [{ says = \"s\", value = \"v.1\" }]",
        "[[run]]",
        "[[target]]",
        "[[criterion]]",
        "[[figure]]",
        "[[not_asked]]",
        "[[figure.series]]",
        "for.n = [1, 2]",
        "for.case = [{ a = 1, b = 2 }]",
        "reduced = false",
        "reduced = { n = [1] }",
        "seeds = 3",
        "bench = \"hackbench\"",
        "rule = \"nice-add {a} 1\"",
        "workload = '''",
        "parameters = { groups = \"{n}\" }",
        "values = { \"v.{n}\" = \"time\" }",
        "scheduler = \"cfs@2.6.24\"",
        "machine = \"laptop\"",
        "cpus = 2",
        "case = \"c\"",
        "quantity = \"q\"",
        "value = \"v.1\"",
        "grade = \"hard\"",
        "grade = \"soft\"",
        "says = \"s\"",
        "test = \"v.1 > 0\"",
        "low = 0",
        "high = 1.5",
        "\n",
        "= ",
        "{n}",
    ],
    most: 1_200,
};

pub(super) const TARGETS: Reader = Reader {
    name: "targets",
    about: "the ranges of the published experiments: targets.csv",
    read: |input| {
        let text = text(input);
        // Without the header everything else is ignored.
        let with_head = targets::parse(&format!("{HEAD}{text}"));
        if let Ok(rows) = &with_head {
            for row in rows {
                assert!(row.low.is_none_or(f64::is_finite) && row.high.is_none_or(f64::is_finite));
            }
        }
        Shape::of(targets::parse(&text)).and(Shape::of(with_head))
    },
    words: &[
        "id,case,quantity,unit,low,high,published",
        "HB-1,a case,slope,,1.3,,1.429",
        ",",
        "\"",
        "\n",
    ],
    most: 300,
};

pub(super) const CONTRADICTIONS: Reader = Reader {
    name: "contradictions",
    about: "contradictions.toml",
    read: |input| Shape::of(contradictions::parse(&text(input))),
    words: &["[[contradiction]]", "id = \"C-1\"", "text = \"t\"", "\n", "'''", "\"\"\"", "= "],
    most: 300,
};

pub(super) const CALIBRATION: Reader = Reader {
    name: "calibration",
    about: "calibrations: crates/papers/experiments/calibration/*.toml",
    read: |input| {
        let text = text(input);
        // The machine may be a file name. No device of this machine must be read for it.
        if text.contains("/") {
            return Shape::taken(1);
        }
        Shape::of(Calibration::read("fuzz.toml", &text))
    },
    words: &[
        "title = \"t\"",
        "machine = \"pentium3-1000x1\"",
        "machine = \"laptop\"",
        "machine = \"ideal\"",
        "calibrated_on = \"c\"",
        "precision = 0.01",
        "tries = 5",
        "[[parameter]]",
        "costs = [\"call.socket_write\", \"o_n.scan\"]",
        "start = 100",
        "least = 10",
        "most = 1000",
        "[[measurement]]",
        "[[held_out]]",
        "for.point = [{ groups = 50, time = 15.52 }]",
        "bench = \"hackbench\"",
        "parameters = { groups = \"{groups}\" }",
        "scheduler = \"o_n@2.4.19\"",
        "seeds = 2",
        "figure = \"time\"",
        "measured = \"{time}\"",
        "measured = 15.5",
        "source = \"s\"",
        "\n",
    ],
    most: 1_200,
};

pub(super) const EXPRESSION: Reader = Reader {
    name: "expression",
    about: "criteria: the language of `test` and `value` in papers",
    read: |input| {
        let mut values = ValuesByName::default();
        for (number, name) in ["time.o_n.4", "time.o_n.8", "time.o_1.4", "gap"].iter().enumerate() {
            values.add((*name).into(), number as f64 - 1.5).expect("each is new");
        }
        match evaluate(&text(input), &values) {
            Ok(outcome) => {
                let kind = std::mem::discriminant(&outcome);
                let number = format!("{kind:?}").bytes().map(u64::from).sum();
                Shape::taken(number)
            }
            Err(error) => Shape::refused(error),
        }
    },
    words: &[
        "time.o_n.4",
        "time.*.4",
        "time.o_n.*",
        "gap",
        "*",
        "min(",
        "max(",
        "mean(",
        "sum(",
        "count(",
        "variance(",
        "sd(",
        "cv(",
        "population_variance(",
        "rising(",
        "falling(",
        "slope(",
        "r2(",
        "abs(",
        "ratio(",
        ")",
        "[1, 2, 3]",
        ",",
        " and ",
        " or ",
        " not ",
        "<=",
        ">=",
        "==",
        "<",
        ">",
        "+",
        "-",
        "*",
        "/",
        "(",
        "1e9",
        "0",
        "1.5",
        ".",
    ],
    most: 300,
};
