//! Files of sweeps, and the parts into which their results are written.

use super::{Reader, Shape, text};
use schedlab_lab::plan::Source;
use schedlab_space::Space;
use schedlab_space::limits::Resources;
use schedlab_space::store::{PartForm, decode, encode};
use std::sync::LazyLock;

/// The only other file.
const WORKLOAD: &str = r#"{"global": {"duration": 1}, "tasks": {
    "hog": {"loop": -1, "run": 1000},
    "video": {"instance": 2, "loop": -1, "run": 4000, "timer": {"ref": "t", "period": 20000}}
}}"#;

fn beside(name: &str) -> Result<Source, String> {
    match name {
        "w.json" => Ok(Source { file: name.into(), text: WORKLOAD.into() }),
        _ => Err(format!("{name}: there is no such file")),
    }
}

pub(super) const RESOURCES: Reader = Reader {
    name: "resources",
    about: "limits of containers: Kubernetes manifests and compose files",
    read: read_resources,
    words: &[
        "kind: Deployment\n",
        "kind: CronJob\n",
        "kind: List\nitems:\n- ",
        "services:\n",
        "  web:\n",
        "    cpus: 0.5\n",
        "    cpu_quota: 50ms\n",
        "    cpu_period: 100000\n",
        "    cpu_shares: 512\n",
        "    deploy: {resources: {limits: {cpus: '1.5'}}}\n",
        "    <<: *a\n",
        "&a ",
        "*a",
        "---\n",
        "spec: {template: {spec: {containers: [{name: a, resources: {limits: {cpu: 500m}}}]}}}\n",
        "requests: {cpu: 1e-3}",
        "null",
        "[",
        "{",
        "? ",
        "| ",
        "!!str ",
    ],
    most: 4_000,
};

fn read_resources(input: &[u8]) -> Shape {
    let input = text(input);
    let first = Resources::parse("f.yaml", &input, None);
    let named = Resources::parse("f.yaml", &input, Some("web"));
    for found in [&first, &named].into_iter().flatten() {
        if let Some(limit) = found.limit {
            assert!(limit.quota_us.is_some_and(|us| us >= 1_000), "{found:?}");
            assert!((1_000..=1_000_000).contains(&limit.period_us), "{found:?}");
        }
        assert!(found.shares.is_none_or(|shares| (2..=262_144).contains(&shares)), "{found:?}");
        assert!(found.place.starts_with("f.yaml:"), "{found:?}");
    }
    Shape::of(first).and(Shape::of(named))
}

pub(super) const SPACE: Reader = Reader {
    name: "space",
    about: "files of sweeps: read, checked, written, read again, their points",
    read: read_space,
    words: &[
        "workload = \"w.json\"\n",
        "benchmark = \"hackbench\"\n",
        "schedulers = [\"cfs\", \"eevdf\"]\n",
        "metrics = [\"wait_mean\"]\n",
        "metrics = [\"lag = burst_lag_max / 1ms\"]\n",
        "\"key_wakeup_latency_p99(video)\"",
        "\"figure(time)\"",
        "repeat = 2\n",
        "seed = 1\n",
        "cpus = 2\n",
        "sample = \"latin\"\n",
        "sample = \"random\"\n",
        "samples = 4\n",
        "sample_seed = 3\n",
        "points = [[1], [2]]\n",
        "part_runs = 3\n",
        "\n[[axis]]\n",
        "name = \"cpus\"\n",
        "name = \"seed\"\n",
        "name = \"scheduler\"\n",
        "name = \"duration\"\n",
        "name = \"set.sched_latency_ns\"\n",
        "name = \"set.nice:hog\"\n",
        "name = \"policy.hog\"\n",
        "name = \"affinity.video\"\n",
        "name = \"slice.video\"\n",
        "name = \"cost.switch\"\n",
        "name = \"parameter.groups\"\n",
        "name = \"workload.tasks.video.run\"\n",
        "values = [1, 2]\n",
        "values = [\"0-3,6\"]\n",
        "from = 1\n",
        "to = 9\n",
        "steps = 3\n",
        "step = 2\n",
        "scale = \"log\"\n",
        "integer = true\n",
        "\"1ms\"",
    ],
    most: 800,
};

/// Checks that a space that was read can be written and read again, and has the stated number of
/// points.
fn read_space(input: &[u8]) -> Shape {
    let text = text(input);
    let (space, notes) = match Space::parse("fuzz.toml", &text, &mut beside) {
        Ok(read) => read,
        Err(error) => return Shape::refused(error),
    };
    let written = space.to_json();
    let again = Space::of_json(&written).expect("it was written by the program");
    assert_eq!(again.to_json(), written, "written and read again it is another one");
    assert_eq!(again.runs(), space.runs());
    for number in [0, space.points() / 2, space.points() - 1] {
        let point = space.point(number);
        assert_eq!(point.len(), space.axes().len());
        assert_eq!(again.point(number), point);
        space.describe(number);
    }
    let of_parts: u64 = (0..space.parts().min(50))
        .map(|part| {
            let points = space.points_of(part);
            points.end - points.start
        })
        .sum();
    assert!(space.parts() > 50 || of_parts == space.points(), "the parts are not the whole");
    Shape::taken(space.axes().len() as u64 * 8 + notes.len().min(7) as u64)
}

/// The sweep whose parts are read.
static GRID: LazyLock<Space> = LazyLock::new(|| {
    let text = "workload = \"w.json\"\nschedulers = [\"cfs\"]\nrepeat = 2\n\
                metrics = [\"wait_mean\"]\n[[axis]]\nname = \"cpus\"\nvalues = [1, 2]\n\
                [[axis]]\nname = \"policy.hog\"\n\
                values = [\"SCHED_OTHER\", \"SCHED_BATCH\"]\n";
    Space::parse("grid.toml", text, &mut beside).expect("it is right").0
});

pub(super) const PART: Reader = Reader {
    name: "part",
    about: "parts of a sweep's results, CSV: read, written, read again",
    read: |input| {
        let rows = match decode(&GRID, PartForm::Csv, input) {
            Ok(rows) => rows,
            Err(error) => return Shape::refused(error),
        };
        let written = encode(&GRID, PartForm::Csv, &rows).expect("they were read");
        let again = decode(&GRID, PartForm::Csv, &written).expect("it was written by the program");
        assert_eq!(again.len(), rows.len());
        assert_eq!(encode(&GRID, PartForm::Csv, &again).expect("they were read"), written);
        Shape::taken(rows.len().min(20) as u64)
    },
    words: &[
        "point,repetition,seed,scheduler,cpus,policy.hog,end,error,wait_mean\n",
        "0,0,1,cfs@2.6.32,1,SCHED_OTHER,time_up,,1.5\n",
        ",",
        "\n",
        "\"",
        "failed",
        "nan",
        "-0",
        "1e308",
    ],
    most: 1_500,
};
