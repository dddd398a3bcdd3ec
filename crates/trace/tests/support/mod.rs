//! Worlds to run, and traces of them.

use schedlab_lab::plan::{Load, MachineSpec, Plan, Record, Source};
use schedlab_report::RunReport;
use schedlab_trace::{Header, Recorder, TableForm, Tables, TraceFormat, TraceWriter};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// One scheduler of each kind: with one queue for all CPUs and one for each, with and without
/// reasons for lags.
pub const SCHEDULERS: [&str; 5] = ["o_n", "o_1", "cfs", "bfs", "eevdf"];

/// Workload and number of CPUs.
pub struct World {
    name: &'static str,
    text: &'static str,
    cpus: u32,
}

/// Report of the run, to compare with.
pub struct Truth {
    /// Scheduler.
    pub scheduler: String,
    /// Report.
    pub report: RunReport,
}

/// Trace of a run.
pub struct Traced {
    /// The run.
    pub truth: Truth,
    /// Path of the trace or of the tables.
    pub path: PathBuf,
    _directory: Directory,
}

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Creates tasks that fork, end, wake each other, have nice values, and names that are hard for
/// every format.
pub fn worlds() -> Vec<World> {
    let forks = r#"{"global": {"duration": 1}, "tasks": {
        "maker": {"loop": 6, "run": 2000, "fork": "worker", "sleep": 30000},
        "worker": {"instance": 0, "loop": 3, "run": 1500, "sleep": 1000},
        "hog": {"instance": 2, "loop": -1, "run": 1000, "priority": 5},
        "a \"b\", [7] x=1": {"loop": -1, "run": 300, "sleep": 7001, "priority": -3}
    }}"#;
    let wakes = r#"{"global": {"duration": 1}, "tasks": {
        "ping": {"loop": -1, "run": 200, "sem_post": "s", "sleep": 900},
        "pong": {"loop": -1, "sem_wait": "s", "run": 700},
        "hog": {"instance": 3, "loop": -1, "run": 100000}
    }}"#;
    vec![
        World { name: "forks", text: forks, cpus: 2 },
        World { name: "wakes", text: wakes, cpus: 1 },
    ]
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Runs `world` and writes a trace called `name`: a trace whose format the extension selects, or a
/// directory of tables (`csv`, `arrow`, `parquet`).
pub fn trace(world: &World, scheduler: &str, name: &str) -> Traced {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory =
        std::env::temp_dir().join(format!("schedlab-trace-{}-{number}", std::process::id()));
    fs::create_dir_all(&directory).expect("the disk has room");
    let path = directory.join(name);
    let plan = Plan {
        machine: MachineSpec { cpus: Some(world.cpus), ..MachineSpec::default() },
        record: Record { reasons: name.starts_with("lag"), ..Record::default() },
        ..Plan::new(
            Load::Workload(Source { file: world.name.into(), text: world.text.into() }),
            vec![scheduler.into()],
        )
    };
    let prepared = plan.prepare().unwrap_or_else(|error| panic!("{}: {error}", world.name));
    let header = Header { cpus: world.cpus, hz: 100, scheduler: scheduler.into() };
    let format = if name.starts_with("ftrace") {
        Some(TraceFormat::Ftrace)
    } else {
        TraceFormat::of(Path::new(name))
    };
    let writer = format.map(|format| {
        TraceWriter::create(&path, format, &header).expect("the file can be created")
    });
    let form = match name {
        "arrow" => TableForm::Arrow,
        "parquet" => TableForm::Parquet,
        _ => TableForm::Csv,
    };
    let tables =
        format.is_none().then(|| Tables::new(&path, form, vec!["/".into()]).expect("it can"));
    let mut recorder = Recorder::new(world.cpus, (writer, tables));
    let ran = prepared.session(&prepared.schedulers()[0]).and_then(|mut session| {
        session.observe(&mut recorder).name_tasks();
        session.finish()
    });
    let run = ran.unwrap_or_else(|error| panic!("{scheduler}: {error}"));
    let (writer, tables) = recorder.into_sink();
    if let Some(writer) = writer {
        assert!(!path.exists(), "a file gets its name when it is complete");
        writer.close().expect("the trace can be written");
    }
    if let Some(tables) = tables {
        tables.close().expect("the tables can be written");
    }
    let left = fs::read_dir(&directory).expect("the directory exists").count();
    assert_eq!(left, 1, "no temporary file remains");
    let truth = Truth { scheduler: scheduler.into(), report: run.report };
    Traced { truth, path, _directory: Directory(directory) }
}
