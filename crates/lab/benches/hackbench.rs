//! Duration of simulating the largest published run: hackbench with 200 groups (8,000 tasks, 8
//! million messages) on the eight-way machine of 2003, under O(1), on the modelled machine and on
//! the idealised one.
//!
//! ```sh
//! cargo bench -p schedlab-lab --bench hackbench               # 200 groups
//! cargo bench -p schedlab-lab --bench hackbench -- --groups 20 --scheduler cfs
//! ```

use schedlab_bench::Values;
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::select;
use schedlab_machine::description;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Ignores options for the other benchmarks, and those that cargo passes.
    let arguments: Vec<String> = std::env::args().collect();
    let given = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).map(String::as_str)
    };
    let groups = given("--groups").unwrap_or("200");
    let choice = select::find(given("--scheduler").unwrap_or("o_1"))?;
    let benchmark = schedlab_bench::find("hackbench").ok_or("there is no hackbench")?;
    let values =
        Values::defaults(benchmark.parameters()).with(benchmark.parameters(), "groups", groups)?;
    let machine = description::find("pentium3-700x8")?;
    for modelled in [true, false] {
        let bench = Bench {
            values: values.clone(),
            config: RunConfig {
                costs: machine.costs.clone().filter(|_| modelled),
                hz: None,
                ..RunConfig::described(machine.clone())
            },
            ..Bench::new(benchmark)
        };
        let start = Instant::now();
        let run = bench.session(&choice)?.finish()?;
        let took_s = start.elapsed().as_secs_f64();
        let time_s = run.findings.figure("time").ok_or("it was cut off")?;
        let totals = &run.report.totals;
        let events = totals.switches + totals.wakeups + totals.ticks;
        println!(
            "hackbench {groups}, {choice}, {}: {took_s:.2} s for {time_s:.3} simulated s, {:.1} million events/s",
            run.report.machine.model,
            events as f64 / took_s / 1e6
        );
    }
    Ok(())
}
