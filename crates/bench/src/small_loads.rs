//! Small mixes of tasks, each answering one question.
//!
//! * [`Editor`]: how soon does an interactive task respond alongside endless loops?
//! * [`PeriodicMix`]: does a periodic task keep its pace alongside endless loops?
//! * [`NiceLadder`]: how is the CPU divided by nice value?
//! * [`ForkStorm`]: how soon are continually forked short tasks done?

use crate::benchmark::{Benchmark, Conditions, End, Figure, Findings, Prepared, Table};
use crate::parameter::{BadValue, Parameter, Values};
use crate::programs::{self, Pace, SharedHistogram};
use schedlab_core::TaskId;
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::rc::Rc;

const SECOND_NS: u64 = 1_000_000_000;
const TIME: Parameter = Parameter::whole("time", (1, 100_000), "60", "duration, s");
const HOGS_PER_CPU: Parameter =
    Parameter::whole("hogs", (0, 1_000), "1", "endless loops per CPU").positional();

fn limit(values: &Values) -> Option<u64> {
    Some(values.whole("time") * SECOND_NS)
}

/// Returns the figures, and their text.
fn findings(figures: Vec<Figure>) -> Findings {
    let line = |figure: &Figure| format!("{}: {:.3} {}\n", figure.name, figure.value, figure.unit);
    Findings::new(figures.iter().map(line).collect(), figures)
}

/// Interactive task alongside endless loops.
pub struct Editor;

impl Benchmark for Editor {
    fn name(&self) -> &'static str {
        "editor"
    }

    fn about(&self) -> &'static str {
        "a task that sleeps and then computes 3 ms, next to endless loops: how soon it is done"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::whole("hogs", (0, 100_000), "1", "endless loops").positional(),
            Parameter::real(
                "sleep",
                (0.001, 1e6),
                "100",
                "sleep, ms: the mean of exponential draws",
            ),
            Parameter::real("run", (0.001, 1e6), "3", "CPU time after each sleep, ms"),
            Parameter::real("nice", (-20.0, 19.0), "0", "its nice value"),
            TIME,
        ];
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        _: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let responses = SharedHistogram::default();
        let editor = programs::editor(
            programs::ms(values, "sleep"),
            programs::ms(values, "run").max(1),
            responses.clone(),
        );
        os.start(0, Spawn::new("editor", editor).nice(programs::nice(values, "nice")?));
        for _ in 0..values.whole("hogs") {
            os.start(0, Spawn::new("hog", programs::hog()));
        }
        let finish =
            Box::new(move |_: &End<'_>| findings(programs::summary(&responses, "response")));
        Ok(Prepared { limit_ns: limit(values), finish })
    }
}

/// Periodic task alongside endless loops.
pub struct PeriodicMix;

impl Benchmark for PeriodicMix {
    fn name(&self) -> &'static str {
        "periodic"
    }

    fn about(&self) -> &'static str {
        "a periodic task next to endless loops: its lateness, and the number of missed deadlines"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            HOGS_PER_CPU,
            Parameter::real(
                "run",
                (0.001, 1e6),
                "2.5",
                "CPU time in each period, ms (2.5 of 50, 6.7 of 16.7, 1 of 10)",
            ),
            Parameter::real("period", (0.001, 1e6), "50", "period, ms"),
            TIME,
        ];
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let (run_ns, period_ns) =
            (programs::ms(values, "run").max(1), programs::ms(values, "period").max(1));
        if run_ns > period_ns {
            return Err(BadValue::new("run", "longer than the period; give less"));
        }
        let pace = Rc::new(Pace::default());
        let task = programs::periodic(run_ns, period_ns, pace.clone());
        os.start(0, Spawn::new("periodic", task));
        for _ in 0..values.whole("hogs") * u64::from(conditions.cpus) {
            os.start(0, Spawn::new("hog", programs::hog()));
        }
        let finish = Box::new(move |end: &End<'_>| {
            let mut figures = programs::summary(&pace.starts, "start latency");
            figures.extend(programs::summary(&pace.responses, "response"));
            // The last one may still be running.
            let due = (end.now_ns / period_ns).saturating_sub(1);
            if due > 0 {
                figures.push(Figure::higher(
                    "deadlines met",
                    "%",
                    pace.met.get() as f64 * 100.0 / due as f64,
                ));
            }
            findings(figures)
        });
        Ok(Prepared { limit_ns: limit(values), finish })
    }
}

/// Endless loops at nice values from -20 to 19.
pub struct NiceLadder;

/// Their nice values.
const LADDER: [i32; 9] = [-20, -15, -10, -5, 0, 5, 10, 15, 19];

impl Benchmark for NiceLadder {
    fn name(&self) -> &'static str {
        "nice_ladder"
    }

    fn about(&self) -> &'static str {
        "endless loops at nice -20, -15, ... 15, 19 on one CPU: which part of it each gets"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[TIME];
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        _: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let tasks: Vec<(i32, TaskId)> = LADDER
            .iter()
            .map(|&nice| (nice, os.start(0, Spawn::new("hog", programs::hog()).nice(nice))))
            .collect();
        let finish = Box::new(move |end: &End<'_>| {
            let cpu_ns = |task| end.stats.task(task).map_or(0, |stats| stats.cpu_ns);
            let all_ns: u64 = tasks.iter().map(|&(_, task)| cpu_ns(task)).sum();
            let mut table = Table::new("shares", &["nice", "share %"]);
            let share = |task| cpu_ns(task) as f64 * 100.0 / all_ns.max(1) as f64;
            for &(nice, task) in &tasks {
                table.push(nice.to_string(), vec![share(task)]);
            }
            // The middle task first: it has something to lose on both sides.
            let mut order = tasks.clone();
            order.sort_by_key(|&(nice, _)| nice.abs());
            let figures = order.iter().map(|&(nice, task)| {
                Figure::plain(format!("share at nice {nice}"), "%", share(task))
            });
            Findings { tables: vec![table], ..findings(figures.collect()) }
        });
        Ok(Prepared { limit_ns: limit(values), finish })
    }
}

/// Short tasks that are forked continually.
pub struct ForkStorm;

impl Benchmark for ForkStorm {
    fn name(&self) -> &'static str {
        "fork_storm"
    }

    fn about(&self) -> &'static str {
        "short tasks forked continually next to endless loops: how soon they are done"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::whole("hogs", (0, 1_000), "2", "endless loops per CPU").positional(),
            Parameter::real(
                "rate",
                (0.001, 1e6),
                "200",
                "forks per second, unless the parent is delayed",
            ),
            Parameter::real(
                "run",
                (0.000_001, 1e6),
                "2",
                "CPU time of a child, ms: the mean of exponential draws",
            ),
            Parameter::whole("time", (1, 100_000), "30", "duration, s"),
        ];
        PARAMETERS
    }

    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue> {
        let (starts, responses) = (SharedHistogram::default(), SharedHistogram::default());
        let parent = storm(
            1e9 / values.real("rate"),
            values.real("run") * 1e6,
            starts.clone(),
            responses.clone(),
        );
        os.start(0, Spawn::new("parent", parent));
        for _ in 0..values.whole("hogs") * u64::from(conditions.cpus) {
            os.start(0, Spawn::new("hog", programs::hog()));
        }
        let finish = Box::new(move |end: &End<'_>| {
            let mut figures = programs::summary(&responses, "response");
            figures.extend(programs::summary(&starts, "start latency"));
            let done = responses.borrow().moments().count as f64 * 1e9 / end.now_ns.max(1) as f64;
            figures.push(Figure::higher("children done", "1/s", done));
            findings(figures)
        });
        Ok(Prepared { limit_ns: limit(values), finish })
    }
}

/// Forks and sleeps repeatedly. The parent draws the times of its children, because it starts them
/// in the same order under every scheduler.
fn storm(
    sleep_mean_ns: f64,
    run_mean_ns: f64,
    starts: SharedHistogram,
    responses: SharedHistogram,
) -> impl Program + 'static {
    let mut fork = true;
    move |os: &mut Context<'_>| {
        fork = !fork;
        if !fork {
            return Step::Sleep((os.random().exponential(sleep_mean_ns) as u64).max(1));
        }
        let run_ns = (os.random().exponential(run_mean_ns) as u64).max(1);
        Step::Fork(Box::new(Spawn::new(
            "child",
            child(os.now_ns(), run_ns, starts.clone(), responses.clone()),
        )))
    }
}

/// Computes once. `called_ns` is the time at which its parent called fork.
fn child(
    called_ns: u64,
    run_ns: u64,
    starts: SharedHistogram,
    responses: SharedHistogram,
) -> impl Program + 'static {
    let mut ran = false;
    move |os: &mut Context<'_>| {
        let since_ns = os.now_ns() - called_ns;
        if std::mem::replace(&mut ran, true) {
            responses.borrow_mut().note(since_ns);
            Step::Exit
        } else {
            starts.borrow_mut().note(since_ns);
            Step::Run(run_ns)
        }
    }
}
