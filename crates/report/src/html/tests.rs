//! Tests of the page: escaping, size, sums after thinning, content security policy.

use super::*;
use crate::data::tests::{empty_run, full_run};
use crate::data::{BucketRow, RunReport, WorkloadInfo};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use schedlab_measure::History;
use schedlab_measure::history::Recorder;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}\"'&<!--";

fn report(runs: Vec<RunReport>) -> Report {
    let workload =
        WorkloadInfo { name: HOSTILE.into(), duration_ns: 100, set: vec![], late_starts: false };
    Report::new(workload, runs)
}

/// Histories of slices cannot be made by hand: the recorder makes them. `turns`: length and task of
/// each slice, on alternating CPUs.
fn history(cpus: u32, tasks: u32, turns: &[(u64, u32)], most: usize) -> History {
    use schedlab_measure::history::testing::play;
    play(Recorder::new(cpus, most, None), cpus, tasks, turns)
}

/// Returns deterministic pseudo-random numbers.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the columns of run `number`, by name, as the reader of a page sees them.
fn read_columns(page: &str, number: usize) -> BTreeMap<String, Vec<u64>> {
    let head = page.split("id=\"head\">").nth(1).and_then(|it| it.split("</script>").next());
    let head: serde_json::Value =
        serde_json::from_str(head.expect("the page has a head")).expect("the head is JSON");
    let text = page.split(&format!("id=\"run-{number}\">")).nth(1).expect("the page has the run");
    let bytes = STANDARD.decode(text.split('<').next().unwrap_or_default()).expect("base64");
    let mut planes = vec![];
    DeflateDecoder::new(&*bytes).read_to_end(&mut planes).expect("deflate");
    let mut at = 0;
    let columns = head["runs"][number]["columns"].as_array().expect("columns");
    let mut found = BTreeMap::new();
    for column in columns {
        let number = |key: &str| column[key].as_u64().expect("a number") as usize;
        let (length, bytes) = (number("length"), number("bytes"));
        let value = |row: usize| {
            (0..bytes)
                .map(|plane| u64::from(planes[at + plane * length + row]) << (8 * plane))
                .sum()
        };
        let name = column["name"].as_str().expect("a name");
        found.insert(name.to_string(), (0..length).map(value).collect());
        at += length * bytes;
    }
    assert_eq!(at, planes.len(), "no data is left over");
    found
}

#[test]
fn names_cannot_become_markup() {
    let mut run = full_run();
    for task in &mut run.tasks {
        task.name = HOSTILE.into();
        task.key = HOSTILE.into();
        task.group = HOSTILE.into();
    }
    run.scheduler.title = HOSTILE.into();
    run.scheduler.name = HOSTILE.into();
    run.machine.model = HOSTILE.into();
    let history = history(2, 2, &[(5, 0), (6, 1)], 100);
    let rules = [(1, HOSTILE.into(), HOSTILE.into())];
    let recordings = [Some(Recording { history: &history, rules: &rules, explained: &[] })];
    let text = page(&Page::new(&report(vec![run]), &recordings));
    assert!(!text.contains("<img"), "an element of a name");
    let head = text.split("id=\"head\">").nth(1).and_then(|it| it.split("</script>").next());
    assert!(head.is_some_and(|head| !head.contains('\u{2028}') && !head.contains('<')));
    // The only comment of the page is uPlot's licence.
    assert_eq!(text.matches("<!--").count(), 1);
    // Nothing ends a script early: every end has its beginning.
    let scripts = assets::SCRIPTS.len() + 2;
    assert_eq!(text.matches("</script>").count(), scripts);
    assert_eq!(text.matches("<script").count(), scripts);
    // The name is present nonetheless, as text and as data.
    assert!(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    assert!(text.contains("\\u003c/script>\\u003cimg src=x onerror=alert(1)>"));
}

#[test]
fn the_policy_lets_run_what_is_there_and_nothing_else() {
    let text = page(&Page::new(&report(vec![full_run()]), &[]));
    let policy = text.split("Content-Security-Policy\" content=\"").nth(1).expect("a policy");
    let policy = policy.split('"').next().unwrap_or_default().replace("&#39;", "'");
    assert!(policy.starts_with("default-src 'none'; "));
    for word in ["unsafe", "http", "data:", "*", "self"] {
        assert!(!policy.contains(word), "{word}: {policy}");
    }
    let mut hashes = 0;
    for (open, close) in [("<script>", "</script>"), ("<style>", "</style>")] {
        for part in text.split(open).skip(1) {
            let inside = part.split(close).next().unwrap_or_default();
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(inside)));
            assert!(policy.contains(&hash), "{}", &inside[..inside.len().min(60)]);
            hashes += 1;
        }
    }
    assert_eq!(policy.matches("'sha256-").count(), hashes);
    // Constructs that a policy cannot allow by hash must be absent.
    for word in [" style=\"", " onclick=\"", "<script src", "<link", "<iframe", "javascript:"] {
        assert!(!text.split("<script>").next().unwrap_or_default().contains(word), "{word}");
    }
}

#[test]
fn of_a_very_long_name_the_page_has_both_ends() {
    let long = "\u{e4}".repeat(100_000);
    let shown = [0, 1].map(|number| data::shown(&format!("{long}-{number}")).into_owned());
    let both_ends = |number| {
        let (begin, end) = ("\u{e4}".repeat(67), "\u{e4}".repeat(10));
        format!("{begin}\u{2026}{end}-{number}")
    };
    assert_eq!(shown, [both_ends(0), both_ends(1)]);
    assert_eq!(data::shown(&both_ends(0)), both_ends(0), "it has 80 letters");
}

#[test]
fn the_best_of_a_row_is_marked_and_definitions_are_there() {
    let (mut good, mut bad) = (full_run(), full_run());
    (good.totals.switches, bad.totals.switches) = (1, 2);
    (good.totals.wait_max_ns, bad.totals.wait_max_ns) = (5, 7);
    let text = page(&Page::new(&report(vec![bad, good]), &[]));
    let row = text.split("data-metric=\"wait_max\"").nth(1).expect("the table has the row");
    let row = row.split("</tr>").next().unwrap_or_default();
    let cells: Vec<&str> = row.split("<td").skip(1).collect();
    assert!(!cells[0].contains("best") && cells[1].contains("class=\"best\""), "{row}");
    assert!(text.contains("data-tip=\""));
}

#[test]
fn turns_can_be_read_back() {
    let turns = [(5_000, 0), (70_000, 1), (300, 2), (41, 0), (9_999_999, 1)];
    let history = history(2, 3, &turns, 100);
    let mut run = empty_run(2, history.end_ns, &["a", "b", "c"]);
    run.wakeup_latency_histogram = vec![BucketRow(1, 2, 3)];
    let recordings = [Some(Recording { history: &history, rules: &[], explained: &[] })];
    let text = page(&Page::new(&report(vec![run]), &recordings));
    let columns = read_columns(&text, 0);
    let mut ends = [0; 2];
    let mut read: Vec<(u64, u64, u64)> = vec![];
    for (row, &cpu) in columns["cpu"].iter().enumerate() {
        let cpu = cpu as usize;
        let start = ends[cpu] + columns["gap"][row];
        ends[cpu] = start + columns["length"][row];
        read.push((columns["task"][row], start, ends[cpu]));
    }
    let list = history.turns.list();
    let there: Vec<_> =
        list.iter().map(|turn| (u64::from(turn.task.0), turn.start_ns, turn.end_ns)).collect();
    assert_eq!(read, there);
}

/// Slices of random lengths and tasks, with random waits: the worst case.
fn million(count: usize, cpus: u32) -> History {
    let mut state = 1;
    let turns: Vec<(u64, u32)> = (0..count)
        .map(|_| (1 + random(&mut state) % 2_000_000, (random(&mut state) % 100) as u32))
        .collect();
    history(cpus, 100, &turns, TURNS_MOST)
}

#[test]
#[ignore = "a million turns take a while; `cargo test -p schedlab-report -- --ignored`"]
fn a_million_turns_are_all_there_in_eight_megabytes() {
    let history = million(1_000_000, 4);
    let run = empty_run(4, history.end_ns, &["a"; 100]);
    let recordings = [Some(Recording { history: &history, rules: &[], explained: &[] })];
    let text = page(&Page::new(&report(vec![run]), &recordings));
    let columns = read_columns(&text, 0);
    assert!(text.len() <= 8_000_000, "{}", text.len());
    assert!(columns["cpu"].len() > 990_000, "{}", columns["cpu"].len());
    assert!(columns["count"].is_empty(), "nothing is merged");
}

#[test]
fn what_is_too_much_is_thinned_and_sums_stay_what_they_were() {
    let history = million(40_000, 3);
    let run = empty_run(3, history.end_ns, &["a"; 100]);
    let recordings = [Some(Recording { history: &history, rules: &[], explained: &[] })];
    let report = report(vec![run]);
    let page = Page::new(&report, &recordings);
    let (whole, thin) = (page_within(&page, usize::MAX), page_within(&page, 150_000));
    assert!(thin.len() < whole.len());
    let (whole, thin) = (read_columns(&whole, 0), read_columns(&thin, 0));
    assert!(thin["cpu"].len() < whole["cpu"].len());
    let busy = |columns: &BTreeMap<String, Vec<u64>>| {
        let sum = |name: &str| columns[name].iter().sum::<u64>();
        (sum("length") - sum("idle"), sum("count") + columns["cpu"].len() as u64)
    };
    assert_eq!(busy(&whole), busy(&thin), "time and slices are conserved");
    for name in ["of_tasks", "of_groups", "wait_max_ns", "runnable_ns", "switches"] {
        assert_eq!(whole[name], thin[name], "{name}");
    }
    let meta: Vec<u8> = thin["meta"].iter().map(|&byte| byte as u8).collect();
    let meta: serde_json::Value = serde_json::from_slice(&meta).expect("the description is JSON");
    assert!(meta["recorded"]["grain_ns"].as_u64() > Some(0), "the page states the grain");
    assert_eq!(meta["recorded"]["wait_unit_ns"], 1000);
}

/// A recorded run above alternatives under other schedulers: runs have their own names, and
/// sections from elsewhere precede theirs.
#[test]
fn runs_have_other_names_where_they_are_given() {
    let (id, title, body) = ("recording", "Recording", maud::html! { "of <it>" });
    let before = [Section { id, title, link: title, body }];
    let report = report(vec![full_run(), full_run()]);
    let page = Page {
        heading: Some("a recording"),
        before: &before,
        names: &["recorded", "what <b> would have done"],
        ..Page::new(&report, &[])
    };
    let text = super::page(&page);
    assert!(text.contains("<h1>a recording</h1>"));
    assert!(text.contains("<section id=\"recording\"><h2>Recording</h2>of &lt;it&gt;</section>"));
    assert!(
        text.contains(">recorded</th>") && text.contains("what &lt;b&gt; would have done</th>")
    );
    assert!(text.contains("\"spec\":\"recorded\""));
    assert!(!text.contains(&report.runs[0].spec()));
    let (recording, comparison) = (
        text.find("id=\"recording\"").expect("the section exists"),
        text.find("id=\"comparison\""),
    );
    assert!(comparison.is_some_and(|comparison| recording < comparison));
}

#[test]
fn a_benchmark_has_each_figure_as_a_curve_and_a_table_and_nothing_becomes_markup() {
    let mut bench = crate::bench::tests::report();
    bench.schedulers[0].title = HOSTILE.into();
    bench.parameters[1].about = HOSTILE.into();
    bench.points[0].runs[0].printed = format!("Time: 10\n{HOSTILE}");
    bench.points[0].runs[0].warning = Some(HOSTILE.into());
    let sections = bench_sections(&bench, Some("waiting longest"));
    let ids: Vec<&str> = sections.iter().map(|section| section.id).collect();
    assert_eq!(ids, ["results", "parameters", "printed"]);
    let empty = report(vec![]);
    let text = page(&Page { before: &sections, ..Page::new(&empty, &[]) });
    assert!(!text.contains("<img") && !text.contains("id=\"comparison\""));
    let figures = bench.figure_names().len();
    assert_eq!(text.matches("class=\"figure-of\"").count(), figures);
    assert_eq!(text.matches("<figure class=\"curve\"><svg").count(), figures);
    // The requested figure is first; the best of a row is marked: slow is half of slower.
    let first = text.find("<option value=\"0\">waiting longest</option>");
    assert!(first.is_some());
    let row = text.split("<th class=\"value\" scope=\"row\">10</th>").nth(1).expect("a row");
    let row = row.split("</tr>").next().unwrap_or_default();
    assert_eq!(row.matches("<td").count(), 2, "{row}");
    assert_eq!(row.matches("class=\"best\"").count(), 1, "{row}");
    assert!(row.contains("± ") && row.contains(" to "), "repeated runs have their spread: {row}");
    assert!(text.contains("<summary>slow@1, groups 10, pipe false, seed 1</summary>"));
}
