//! Tests of the display: its contents at a moment, the effect of keys, and its layout.

use super::columns::Column;
use super::pane::Theme;
use super::side::Side;
use super::state::{App, Focus, Popup, Subject};
use super::view;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use schedlab_core::TaskId;
use schedlab_lab::plan::{Load, Plan, Prepared, Source};
use schedlab_lab::player::Player;
use schedlab_measure::scene::Doing;
use std::time::Duration;

const MS: u64 = 1_000_000;

const PLAIN: Theme = Theme { color: false, unicode: false };

/// Two hogs, and a sleeper that runs for 5 ms every 70 ms.
const HOGS: &str = r#"{"global": {"duration": 1}, "tasks": {
    "hog": {"instance": 2, "loop": -1, "run": 10000},
    "sleeper": {"loop": -1, "sleep": 70000, "run": 5000}
}}"#;

fn prepared(text: &str, schedulers: &[&str]) -> Prepared {
    let load = Load::Workload(Source { file: "hogs.json".into(), text: text.into() });
    let plan = Plan::new(load, schedulers.iter().map(ToString::to_string).collect());
    plan.prepare().unwrap_or_else(|error| panic!("{error}"))
}

fn app<'a>(prepared: &'a Prepared, at_ns: u64) -> App<'a> {
    let side = |scheduler| {
        let player = Player::new(prepared, scheduler, 1 << 20).expect("the run starts");
        Side::new(player, &["/".to_string()])
    };
    let sides = prepared.schedulers().iter().map(side).collect();
    let mut app = App::new("hogs.json".into(), sides, at_ns);
    settle(&mut app);
    app
}

fn settle(app: &mut App<'_>) {
    while app.work().expect("the run continues") {}
}

fn press(app: &mut App<'_>, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            '→' => KeyCode::Right,
            '←' => KeyCode::Left,
            '↓' => KeyCode::Down,
            '↑' => KeyCode::Up,
            key => KeyCode::Char(key),
        };
        app.key(KeyEvent::new(code, KeyModifiers::NONE));
        settle(app);
    }
}

fn drawn(app: &mut App<'_>, width: u16, height: u16) -> String {
    let mut terminal =
        Terminal::new(TestBackend::new(width, height)).expect("the backend is valid");
    terminal.draw(|frame| view::draw(frame, app, PLAIN)).expect("the backend accepts a frame");
    terminal.backend().to_string()
}

/// Linux 1.0 gives 15 ticks of 10 ms each: hog-0 runs until 150, hog-1 until 300. Then the sleeper
/// is current without running (it sleeps first) until 370, while hog-0 runs; the sleeper runs from
/// 370 to 375; hog-1 until 445; the sleeper until 450; and then hog-0.
#[test]
fn shares_waits_and_latencies_are_those_of_the_schedule() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let app = app(&prepared, 450 * MS);
    let frame = &app.active().frame;
    assert_eq!((frame.at_ns, frame.window_ns), (450 * MS, 100 * MS));
    let shown: Vec<_> = frame
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.doing, row.cpu_share, row.cpu_ns / MS, row.wait_ns / MS))
        .collect();
    assert_eq!(
        shown,
        [
            ("hog-0", Doing::Running, 200, 150 + 70, 150 + 75 + 5),
            ("hog-1", Doing::Waiting, 700, 150 + 70, 150 + 75 + 5),
            ("sleeper-0", Doing::Sleeping, 100, 10, 300),
        ]
    );
    // Of the time since its start: 220 of 450 ms; waits within the window.
    assert_eq!(frame.rows[0].average, 489);
    assert_eq!(frame.rows.iter().map(|row| row.wait_share).collect::<Vec<_>>(), [800, 300, 0]);
    assert_eq!(frame.rows[1].for_ns, 5 * MS);
    assert_eq!((frame.rows[0].latency_ns, frame.rows[2].latency_max_ns), (None, Some(0)));
    let cpu = &frame.cpus[0];
    assert_eq!((cpu.busy, cpu.current, cpu.for_ns), (1000, Some(TaskId(0)), 0));
    assert_eq!(cpu.queue, [TaskId(1)]);
}

#[test]
fn steps_go_from_decision_to_decision_and_back() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let mut app = app(&prepared, 0);
    let mut times = vec![];
    for _ in 0..6 {
        press(&mut app, "→");
        times.push(app.at_ns / MS);
    }
    // At 300 the sleeper gets the CPU and blocks at once; at 370 and 445 it is woken and switched
    // to; at 375 and 450 it blocks.
    assert_eq!(times, [150, 300, 370, 375, 445, 450]);
    assert_eq!(app.active().frame.last.as_ref().map(|(at_ns, _)| *at_ns), Some(450 * MS));
    let mut back = vec![];
    for _ in 0..7 {
        press(&mut app, "←");
        back.push(app.at_ns / MS);
    }
    assert_eq!(back, [445, 375, 370, 300, 150, 0, 0]);
    assert_eq!(app.message.as_deref(), Some("there is no earlier decision"));
}

#[test]
fn time_passes_at_the_speed_that_is_set() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let mut app = app(&prepared, 0);
    app.passed(Duration::from_millis(100));
    settle(&mut app);
    assert_eq!(app.at_ns, 0, "it is paused");
    press(&mut app, " ");
    app.passed(Duration::from_millis(100));
    settle(&mut app);
    assert_eq!(app.at_ns, 100 * MS);
    press(&mut app, "--");
    assert_eq!(app.status(), "running  speed 1/5");
    app.passed(Duration::from_millis(100));
    settle(&mut app);
    assert_eq!(app.at_ns, 120 * MS);
    press(&mut app, "+++++");
    assert_eq!(app.status(), "running  speed 10");
    app.passed(Duration::from_millis(100));
    settle(&mut app);
    // The run lasts a second.
    assert_eq!((app.at_ns, app.paused, app.ended()), (1_000 * MS, true, true));
    press(&mut app, " ");
    assert_eq!(app.message.as_deref(), Some("the run has ended here"));
}

/// Slow motion: less than a nanosecond a picture adds up.
#[test]
fn no_part_of_a_nanosecond_is_lost() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let mut app = app(&prepared, 0);
    (app.speed, app.paused) = (1e-9, false);
    for _ in 0..10 {
        app.passed(Duration::from_millis(300));
        settle(&mut app);
    }
    assert!((2..=3).contains(&app.at_ns), "{}", app.at_ns);
}

#[test]
fn a_time_to_go_to_can_be_said_in_many_ways() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let mut app = app(&prepared, 0);
    for (typed, at_ms) in [("0.2", 200), ("20ms", 20), ("+5ms", 25), ("-10ms", 15), ("50%", 500)] {
        press(&mut app, &format!("g{typed}\n"));
        assert_eq!(app.at_ns, at_ms * MS, "{typed}");
    }
    press(&mut app, "g0.x\u{1b}");
    assert_eq!((app.at_ns, &app.prompt), (500 * MS, &None));
    press(&mut app, "gsoon\n");
    assert!(app.message.as_ref().is_some_and(|said| said.starts_with("soon: it must be a time")));
    press(&mut app, "g120%\n");
    assert!(app.message.as_ref().is_some_and(|said| said.contains("from 0% to 100%")));
    press(&mut app, "]]");
    assert_eq!(app.at_ns, 700 * MS);
    press(&mut app, "[g9\n");
    assert_eq!((app.at_ns, app.ended()), (1_000 * MS, true));
    press(&mut app, "d20ms\n");
    assert_eq!(app.active().frame.window_ns, 20 * MS);
    app.key(KeyEvent::new(KeyCode::Home, KeyModifiers::NONE));
    settle(&mut app);
    assert_eq!(app.at_ns, 0);
    app.key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
    settle(&mut app);
    assert_eq!(app.at_ns, 1_000 * MS);
}

#[test]
fn tasks_are_sorted_found_and_asked_about() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let mut app = app(&prepared, 450 * MS);
    let names = |app: &App<'_>| -> Vec<String> {
        app.order().iter().map(|&task| app.active().name(task)).collect()
    };
    assert_eq!(names(&app), ["hog-1", "hog-0", "sleeper-0"]);
    press(&mut app, "R");
    assert_eq!(names(&app), ["sleeper-0", "hog-0", "hog-1"]);
    press(&mut app, "W");
    assert_eq!(names(&app), ["sleeper-0", "hog-0", "hog-1"], "300, 230, 230 ms");
    press(&mut app, "N<>>");
    assert_eq!(app.sort, Column::Pr);
    press(&mut app, "Ni");
    assert_eq!(names(&app), ["hog-0", "hog-1"]);
    press(&mut app, "i/SLEEP\n");
    assert_eq!(app.task, Some(TaskId(2)));
    press(&mut app, "/xyz\n");
    assert_eq!(app.message.as_deref(), Some("no task name here contains \"xyz\""));
    press(&mut app, "↑↑↑↓");
    assert_eq!(app.task, Some(TaskId(1)));
    press(&mut app, "w");
    let question = app.question.take().expect("a question is pending");
    assert_eq!((question.at_ns, question.subject), (450 * MS, Subject::Task(TaskId(1))));
    assert_eq!(app.popup, Some(Popup::Asking));
    app.answer(Ok("because\nof this".into()));
    assert_eq!(app.popup, Some(Popup::Why(vec!["because".into(), "of this".into()])));
    press(&mut app, "q\t\n");
    assert_eq!(app.focus, Focus::Cpus);
    assert_eq!(app.question.map(|it| it.subject), Some(Subject::Cpu(0)));
    // The question was withdrawn.
    press(&mut app, "\u{1b}");
    app.answer(Ok("too late".into()));
    assert_eq!((app.popup.as_ref(), app.is_over()), (None, false));
    press(&mut app, "q");
    assert!(app.is_over());
}

/// Rows of both match, in the order of the side to which keys apply.
#[test]
fn two_schedulers_are_at_the_same_time_and_in_one_order() {
    let prepared = prepared(HOGS, &["round_robin", "cfs"]);
    let mut app = app(&prepared, 400 * MS);
    assert_eq!(app.sides.len(), 2);
    // In the last 100 ms hog-0 had 70, hog-1 25; under CFS hog-1 was ahead by 2.
    assert_eq!(app.order(), [TaskId(0), TaskId(1), TaskId(2)]);
    press(&mut app, "x");
    assert_eq!(app.order(), [TaskId(1), TaskId(0), TaskId(2)]);
    press(&mut app, "→");
    assert!(app.at_ns > 400 * MS && app.at_ns < 410 * MS, "a decision of cfs: {}", app.at_ns);
    assert!(app.sides.iter().all(|side| side.frame.at_ns == app.at_ns));
}

/// A longer run continues on its side. The other side shows its end.
#[test]
fn a_run_that_is_over_stays_at_its_end() {
    let text = r#"{"tasks": {
        "hog": {"instance": 2, "loop": 10, "run": 10000},
        "t": {"loop": 10, "sleep": 30000, "run": 5000}
    }}"#;
    let prepared = prepared(text, &["fcfs", "cfs"]);
    let mut app = app(&prepared, 5_000 * MS);
    let ends: Vec<u64> = app.sides.iter().map(|side| side.frame.at_ns).collect();
    assert_ne!(ends[0], ends[1]);
    assert_eq!(app.at_ns, ends[0].max(ends[1]));
    assert!(app.sides.iter().all(|side| side.over().is_some()));
    let earlier = ends[0].min(ends[1]) / MS - 1;
    press(&mut app, &format!("g{earlier}ms\n"));
    assert!(app.sides.iter().all(|side| side.over().is_none()));
}

#[test]
fn the_screen_of_one_scheduler() {
    let prepared = prepared(HOGS, &["round_robin"]);
    let mut app = app(&prepared, 450 * MS);
    insta::assert_snapshot!("one", drawn(&mut app, 80, 24));
    press(&mut app, "?");
    insta::assert_snapshot!("help", drawn(&mut app, 80, 24));
    press(&mut app, "qg12");
    insta::assert_snapshot!("prompt", drawn(&mut app, 60, 12));
}

#[test]
fn the_screen_of_two_schedulers() {
    let prepared = prepared(HOGS, &["round_robin", "eevdf"]);
    let mut app = app(&prepared, 450 * MS);
    insta::assert_snapshot!("beside", drawn(&mut app, 110, 16));
    insta::assert_snapshot!("above", drawn(&mut app, 60, 24));
}

#[test]
fn a_frame_as_text() {
    let prepared = prepared(HOGS, &["round_robin", "eevdf"]);
    let app = app(&prepared, 450 * MS);
    insta::assert_snapshot!("text", view::text(&app, 100, PLAIN));
}

/// No size of the screen makes drawing exceed the buffer.
#[test]
fn every_size_can_be_drawn() {
    let prepared = prepared(HOGS, &["round_robin", "cfs"]);
    let mut app = app(&prepared, 450 * MS);
    for popup in [None, Some(Popup::Help), Some(Popup::Why(vec!["x".repeat(300); 50]))] {
        for (width, height) in [(1, 1), (10, 50), (39, 11), (40, 12), (79, 13), (80, 12), (300, 90)]
        {
            app.popup = popup.clone();
            app.scroll = usize::MAX;
            let screen = drawn(&mut app, width, height);
            assert_eq!(screen.lines().count(), usize::from(height));
        }
    }
}

/// Esc first cancels a long operation, and only then ends.
#[test]
fn what_takes_long_is_given_up() {
    let text = HOGS.replace("\"duration\": 1", "\"duration\": 100000");
    let prepared = prepared(&text, &["cfs"]);
    let mut app = app(&prepared, 450 * MS);
    app.key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
    assert!(app.work().expect("the run continues") && app.is_busy());
    app.is_late = true;
    assert!(drawn(&mut app, 80, 24).contains("simulating: "));
    app.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
    assert!(!app.is_busy() && !app.is_over());
    assert_eq!((app.at_ns, app.active().frame.at_ns), (450 * MS, 450 * MS));
    press(&mut app, "n");
    assert!(app.at_ns > 450 * MS && app.at_ns < 460 * MS);
    press(&mut app, "\u{1b}");
    assert!(app.is_over());
}

/// With more CPUs than lines, those around the selected one are shown, with their range.
#[test]
fn of_many_cpus_those_around_the_chosen_one_are_shown() {
    let text = HOGS.replace("\"loop\": -1, \"run\"", "\"loop\": -1, \"cpus\": [63], \"run\"");
    let prepared = prepared(&text, &["cfs"]);
    let mut app = app(&prepared, 450 * MS);
    assert_eq!(app.active().frame.cpus.len(), 64);
    let screen = drawn(&mut app, 80, 24);
    assert!(screen.contains("CPU  0 ") && !screen.contains("CPU 63 "), "{screen}");
    press(&mut app, "\t↑");
    for _ in 0..63 {
        press(&mut app, "↓");
    }
    let screen = drawn(&mut app, 80, 24);
    assert!(screen.contains("CPU 63 ") && screen.contains(" to 63 of 64"), "{screen}");
    press(&mut app, "1");
    let screen = drawn(&mut app, 80, 24);
    assert!(screen.contains("of 64 run tasks"), "{screen}");
}

#[test]
fn names_do_not_command_the_terminal() {
    let text = r#"{"tasks": {"a\u001b[2J\u009b31m": {"loop": 10, "run": 10000}}}"#;
    let prepared = prepared(text, &["cfs"]);
    let mut app = app(&prepared, 5 * MS);
    for screen in [drawn(&mut app, 100, 24), view::text(&app, 100, PLAIN)] {
        assert!(screen.contains("a\\u{1b}[2J"), "{screen}");
        assert!(!screen.chars().any(|char| char.is_control() && char != '\n'));
    }
}

/// The document's table of keys is the one that `?` shows, and it lists all columns.
#[test]
fn the_document_tells_all_keys_and_columns() {
    let document = include_str!("../../../../docs/top.md");
    for (keys, what) in super::keys::KEYS {
        let row = format!("| `{}` | {what} |", keys.replace(", ", "`, `"));
        assert!(document.contains(&row), "{row}");
    }
    for column in Column::ALL {
        assert!(document.contains(&format!("| `{}` | ", column.title())), "{}", column.title());
    }
}
