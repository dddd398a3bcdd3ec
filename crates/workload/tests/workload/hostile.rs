//! The readers return for any input: they do not panic or hang, or accept what they should not. The
//! same properties are fuzz targets in the folder `fuzz`.

use crate::support::run_vm;
use proptest::prelude::*;
use schedlab_workload::{GoldenFile, Options, Target, groups, rt_app};

/// Reads any text. The fuzzer also runs this.
fn read_anything(text: &str) {
    let target = Target { cpus: 4, limited: true };
    match rt_app::load("any.json", text, &target) {
        Err(error) => {
            let _ = error.to_string();
        }
        Ok(model) => {
            let again = rt_app::load("any.json", &rt_app::write(&model), &target);
            assert_eq!(again.as_ref(), Ok(&model), "the written model is read as the same model");
            if model.initial_threads() <= 20 {
                let mut model = model;
                model.global.duration_ns = Some(2_000_000);
                let vm = rt_app::prepare(&model, &target, Options::default())
                    .expect("the model was checked");
                let _ = run_vm(4, vm).vm.wait_graph().to_string();
            }
        }
    }
    let _ = GoldenFile::parse("any.json", text).map_err(|error| error.to_string());
    let _ = groups::parse("any", text).map_err(|error| error.to_string());
    let _ = groups::parse_option(text).map_err(|error| error.to_string());
}

const SEEDS: [&str; 4] = [
    include_str!("../data/video-short.json"),
    include_str!("../data/browser-short.json"),
    include_str!("../data/example10.json"),
    include_str!("../data/example11.json"),
];

/// Pieces of files, and some that do not belong there.
const WORDS: [&str; 30] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "\n",
    "-1",
    "0",
    "1e9",
    "9223372036854775807",
    "\"run\"",
    "\"tasks\"",
    "\"a\"",
    "\"loop\"",
    "\"lock\"",
    "\"phases\"",
    "\"timer\"",
    "null",
    "true",
    "1.5",
    "é",
    "\u{0}",
    "\\ud800",
    "\"fork\": \"a\"",
];

#[test]
fn texts_that_once_needed_care() {
    for text in [
        "",
        "{",
        "\"",
        "[",
        "/",
        "/*",
        "//",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"tasks\"",
        "\\",
        "\u{feff}",
        "\u{feff}{",
        "-",
        "1.",
        "1e",
        "\"\\",
        "\"\\u",
        "\"\\ud800\\u0000\"",
        "é",
        "{é}",
        "[é]",
        "{\"é\" é}",
        "{\"tasks\": {\"a\": {\"loop\": 9223372036854775807, \"phases\": {\"p\": {\"loop\": 9223372036854775807}}}}}",
        "{\"tasks\": {\"a\": {\"instance\": 100000, \"barrier\": \"b\", \"sleep\": 9223372036854775}}}",
        "{\"tasks\": {\"a\": {\"loop\": 1, \"run\": 9223372036854775, \"run\": 9223372036854775}}}",
        "{\"tasks\": {\"a\": {\"delay\": 9223372036854775, \"timer\": {\"ref\": \"t\", \"period\": 9223372036854775}}}}",
        "{\"tasks\": {\"a\": {\"loop\": 1, \"iorun\": 1125899906842624, \"iorun\": 1125899906842624}}}",
        "{\"global\": {\"duration\": 99999999999999999999.5}, \"tasks\": {\"a\": {}}}",
        "/a cpu.weight=99999999999999999999",
        "/a:b:c",
        ":",
        "/:",
        "# only",
        "/a\u{0}",
    ] {
        read_anything(text);
    }
}

#[test]
fn deep_nesting_and_long_input_take_time_in_proportion() {
    for text in [
        "[".repeat(200_000),
        "{\"a\":".repeat(200_000),
        "/*".repeat(200_000),
        "\\".repeat(200_000),
        "\"\\n".repeat(200_000),
        format!("{{\"tasks\": {{\"a\": {{{}}}}}}}", "\"run\": 1,".repeat(100_000)),
        format!(
            "{{\"tasks\": {{{}}}}}",
            (0..20_000).map(|n| format!("\"t{n}\": {{\"sleep\": 1}},")).collect::<String>()
        ),
        (0..20_000).map(|n| format!("/g{n} cpu.shares=5\n")).collect(),
    ] {
        read_anything(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        read_anything(&text);
    }

    #[test]
    fn any_words(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60)) {
        read_anything(&words.concat());
    }

    #[test]
    fn good_files_with_pieces_changed(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, prop::sample::select(&WORDS[..])),
            1..5,
        ),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (at, removed, word) in changes {
            let at = at.index(bytes.len());
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, word.bytes());
        }
        read_anything(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn good_files_with_other_numbers(
        seed in 0..SEEDS.len(),
        numbers in prop::collection::vec(prop::sample::select(&["-1", "0", "1", "2", "7", "1000", "100000", "9223372036854775"][..]), 40),
    ) {
        let mut text = String::new();
        let mut numbers = numbers.iter().cycle();
        let mut in_number = false;
        for c in SEEDS[seed].chars() {
            if c.is_ascii_digit() {
                if !in_number && !text.ends_with(|c: char| c.is_alphanumeric()) {
                    text += numbers.next().expect("the iterator is endless");
                    in_number = true;
                } else if !in_number {
                    text.push(c);
                }
            } else {
                in_number = false;
                text.push(c);
            }
        }
        read_anything(&text);
    }
}
