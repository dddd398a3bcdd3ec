//! Files in the style of those that circulate with rt-app.

use crate::support::run_vm;
use schedlab_machine::RunEnd;
use schedlab_workload::{Model, Options, Target, rt_app};

/// File, end of its run, and number of threads.
const FILES: [(&str, &str, RunEnd, usize); 18] = [
    ("template", include_str!("../data/template.json"), RunEnd::TimeUp, 3),
    ("browser-short", include_str!("../data/browser-short.json"), RunEnd::TimeUp, 5),
    // Its threads `sync` with the mutex held.
    ("browser-long", include_str!("../data/browser-long.json"), RunEnd::TimeUp, 4),
    // Its `suspend` events have no values.
    ("video-long", include_str!("../data/video-long.json"), RunEnd::TimeUp, 4),
    ("mp3-long", include_str!("../data/mp3-long.json"), RunEnd::TimeUp, 5),
    ("video-short", include_str!("../data/video-short.json"), RunEnd::TimeUp, 6),
    ("spreading-tasks", include_str!("../data/spreading-tasks.json"), RunEnd::TimeUp, 4),
    ("example1", include_str!("../data/example1.json"), RunEnd::TimeUp, 1),
    ("example2", include_str!("../data/example2.json"), RunEnd::TimeUp, 3),
    ("example3", include_str!("../data/example3.json"), RunEnd::AllEnded, 1),
    // Its second thread waits for a signal that no longer comes.
    ("example4", include_str!("../data/example4.json"), RunEnd::Stuck, 2),
    ("example5", include_str!("../data/example5.json"), RunEnd::AllEnded, 2),
    ("example6", include_str!("../data/example6.json"), RunEnd::AllEnded, 1),
    ("example7", include_str!("../data/example7.json"), RunEnd::TimeUp, 2),
    ("example8", include_str!("../data/example8.json"), RunEnd::AllEnded, 3),
    ("example9", include_str!("../data/example9.json"), RunEnd::AllEnded, 1),
    ("example10", include_str!("../data/example10.json"), RunEnd::AllEnded, 6),
    ("example11", include_str!("../data/example11.json"), RunEnd::AllEnded, 2),
];

fn load(name: &str, text: &str) -> Model {
    rt_app::load(name, text, &Target::new(2)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_of_them_load_and_run() {
    for (name, text, end, threads) in FILES {
        let vm = rt_app::prepare(&load(name, text), &Target::new(2), Options::default()).unwrap();
        let ran = run_vm(2, vm);
        assert_eq!(ran.end, Ok(end), "{name}: {}", ran.vm.wait_graph());
        assert_eq!(ran.vm.task_count(), threads, "{name}");
        assert!(ran.slices().len() > 20, "{name}: something ran");
    }
}

#[test]
fn all_of_them_can_be_written_and_read_again() {
    for (name, text, ..) in FILES {
        let model = load(name, text);
        let written = rt_app::write(&model);
        assert_eq!(load(name, &written), model, "{name}:\n{written}");
    }
}

#[test]
fn every_thread_of_the_player_gets_its_turn() {
    let turns = |name: &str, threads: &[&str]| {
        let (_, text, ..) = FILES.iter().find(|file| file.0 == name).unwrap();
        let vm = rt_app::prepare(&load(name, text), &Target::new(2), Options::default()).unwrap();
        let slices = run_vm(2, vm).slices();
        for thread in threads {
            assert!(slices.matches(thread).count() > 50, "{name}: {thread}");
        }
    };
    turns("mp3-long", &["AudioOut-0", "AudioTrack-0", "mp3.decoder-0", "OMXCall-0"]);
    turns("browser-long", &["Main-0", "Render-0", "Compositor-0"]);
    turns("video-long", &["Decoder-0", "Renderer-0", "Mixer-0"]);
}
