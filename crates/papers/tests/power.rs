//! The published idle power of a machine under a kernel with ticks and one without them. A model is
//! calibrated on both; its results for other tick rates are predictions.

use schedlab_lab::RunConfig;
use schedlab_lab::experiment::Experiment;
use schedlab_lab::select;
use schedlab_lab::session::Session;
use schedlab_machine::costs::CostModel;
use schedlab_machine::description;
use schedlab_papers::calibration::fit::{Effort, Fit, Parameter, fit};
use schedlab_workload::{GroupSettings, Target, rt_app};

/// Returns the mean power of the idle Z800 over two seconds, W.
fn idle_watts(costs: &CostModel, scheduler: &str, hz: u32) -> f64 {
    let text = r#"{"tasks": {"nobody": {"sleep": 3000000, "run": 1, "loop": 1}}}"#;
    let machine = description::find("z800-2x6").expect("the machine exists");
    let cpus = machine.topology.cpus();
    let model = rt_app::load("idle", text, &Target { cpus, limited: true })
        .expect("the text is well formed");
    let experiment = Experiment {
        config: RunConfig {
            costs: Some(costs.clone()),
            hz: Some(hz),
            limit_ns: Some(2_000_000_000),
            ..RunConfig::described(machine)
        },
        ..Experiment::new(model, &GroupSettings::default(), cpus).expect("no settings can be wrong")
    };
    let choice = select::find(scheduler).expect("the scheduler exists");
    let report = experiment.session(&choice).and_then(Session::finish).expect("it runs").report;
    report.energy.expect("its power is known").mean_watts
}

fn z800() -> CostModel {
    description::find("z800-2x6").expect("the machine exists").costs.expect("the machine has costs")
}

fn fitted(costs: &CostModel, names: [&str; 2], measured: [f64; 2]) -> (CostModel, Fit) {
    let power = costs.power.as_ref().expect("the power model exists");
    let parameters = [
        Parameter::within(names[0], power.base_watts, 10.0),
        Parameter::within(names[1], power.cpu_watts, 10.0),
    ];
    let with = |values: &[f64]| {
        let mut costs = costs.clone();
        for (name, value) in names.iter().zip(values) {
            costs.set(name, *value).expect("the cost exists");
        }
        costs
    };
    // 2.6.18 has the O(1) scheduler with domains, and ticks; 2.6.32 has CFS, and does not tick on
    // idle CPUs.
    let fit = fit(&parameters, Effort { precision: 1e-5, ..Effort::default() }, |values| {
        let costs = with(values);
        let simulated =
            [idle_watts(&costs, "o_1@2.6.22", 1000), idle_watts(&costs, "cfs@2.6.32", 1000)];
        Ok::<_, std::convert::Infallible>((0..2).map(|at| measured[at] / simulated[at]).collect())
    })
    .expect("a fit exists");
    (with(&fit.values), fit)
}

#[test]
fn a_machine_that_ticks_draws_more_than_one_that_does_not() {
    let costs = z800();
    assert!(idle_watts(&costs, "o_1@2.6.22", 1000) > idle_watts(&costs, "cfs@2.6.32", 1000));
}

#[test]
fn calibrated_on_the_published_power_other_rates_of_ticks_lie_in_between_in_order() {
    let measured = [245.4821, 200.9792];
    let mut start = z800();
    start.set("power.base_watts", 120.0).expect("the cost exists");
    start.set("power.cpu_watts", 12.0).expect("the cost exists");
    let (costs, fit) = fitted(&start, ["power.base_watts", "power.cpu_watts"], measured);
    assert!(fit.error < 1e-4, "{fit:?}");
    let rates = [1000, 250, 100].map(|hz| idle_watts(&costs, "o_1@2.6.22", hz));
    let tickless = idle_watts(&costs, "cfs@2.6.32", 1000);
    // The numbers in the machine's description.
    assert!((fit.values[0] - 173.4).abs() < 0.1 && (fit.values[1] - 15.55).abs() < 0.05, "{fit:?}");
    assert!(
        rates[0] > rates[1] && rates[1] > rates[2] && rates[2] > tickless,
        "{rates:?} {tickless}"
    );
}
