//! scratch
use schedlab_bench::Values;
use schedlab_lab::bench::Bench;
use schedlab_lab::{RunConfig, machines, parallel, select};
fn run(
    bench: &str,
    machine: &str,
    cpus: Option<u32>,
    kernel: &str,
    params: &[(String, String)],
    costs: &[(String, f64)],
    seed: u64,
    phase: f64,
) -> Vec<(String, f64)> {
    let m = machines::find(machine).and_then(|m| m.with_first(cpus)).unwrap();
    let mut config = RunConfig::described(m);
    for (k, v) in costs {
        let c = config.costs.as_mut().unwrap();
        if k.ends_with('%') {
            let k = k.trim_end_matches('%');
            schedlab_lab::machines::set_cost(c, k, *v).unwrap();
        } else {
            schedlab_lab::machines::set_cost(c, k, *v).unwrap();
        }
    }
    config.seed = Some(seed);
    let n = config.machine.as_ref().unwrap().topology.cpus();
    config.tick_offsets_ns =
        vec![(phase * if kernel.starts_with("o_n") { 1e7 } else { 1e6 }) as u64; n as usize];
    let b = schedlab_bench::find(bench).unwrap();
    let p = b.parameters();
    let mut values = Values::defaults(p);
    for (k, v) in params {
        values = values.with(p, k, v).unwrap();
    }
    let bench = Bench { values, config, ..Bench::new(b) };
    let choice = select::find(kernel).unwrap();
    let r = bench.run(&choice).unwrap();
    let mut out: Vec<(String, f64)> =
        ["time", "switches voluntary", "switches involuntary", "messages a second"]
            .iter()
            .map(|f| (f.to_string(), r.findings.figure(f).unwrap_or(f64::NAN)))
            .collect();
    out[1].1 = r.report.totals.switches_voluntary as f64;
    out[2].1 = r.report.totals.switches_involuntary as f64;
    out
}
fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0 / n, s.1 + p.1 / n));
    let above: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    above / logs.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut machines = vec!["pentium3-700x8".to_string()];
    let mut groups = vec![50u32, 100, 150, 200];
    let mut kernels = vec!["o_n@2.4.19".to_string(), "o_1@2.6.0".to_string()];
    let mut costs = vec![];
    let mut seeds = 1u64;
    let mut chat = false;
    for a in &args {
        let (k, v) = a.split_once('=').unwrap_or((a, ""));
        match k {
            "m" => machines = v.split(',').map(String::from).collect(),
            "g" => groups = v.split(',').map(|x| x.parse().unwrap()).collect(),
            "k" => kernels = v.split(',').map(String::from).collect(),
            "r" => seeds = v.parse().unwrap(),
            "chat" => chat = true,
            _ => costs.push((k.to_string(), v.parse().unwrap())),
        }
    }
    let threads = parallel::cores();
    if chat {
        let mut cells = vec![];
        for k in &kernels {
            for c in [1u32, 8] {
                for nice in ["0", "19"] {
                    cells.push((k.clone(), c, nice));
                }
            }
        }
        let r = parallel::map(&cells, threads, |(k, c, nice)| {
            let mut costs = costs.clone();
            if !costs.iter().any(|(k, _)| k == "call.socket_write") {
                costs.push(("call.socket_write".into(), 4607.0));
                costs.push(("call.socket_read".into(), 4607.0));
            }
            run(
                "chat",
                &machines[0],
                Some(*c),
                k,
                &[
                    ("rooms".into(), "10".into()),
                    ("messages".into(), "100".into()),
                    ("nice".into(), nice.to_string()),
                ],
                &costs,
                1,
                0.0,
            )
        });
        for (c, r) in cells.iter().zip(r) {
            println!("{c:?} {:.0}/s vol {:.0} invol {:.0}", r[3].1, r[1].1, r[2].1);
        }
        return;
    }
    for m in &machines {
        let mut cells = vec![];
        for k in &kernels {
            for &g in &groups {
                for s in 0..seeds {
                    cells.push((k.clone(), g, s));
                }
            }
        }
        let r = parallel::map(&cells, threads, |(k, g, s)| {
            run(
                "hackbench",
                m,
                None,
                k,
                &[("groups".into(), g.to_string())],
                &costs,
                s + 1,
                (*s as f64 + 0.5) / seeds as f64 * 0.99,
            )
        });
        let mut means = vec![];
        for k in &kernels {
            let mut t = vec![];
            let mut sw = vec![];
            let mut all = vec![];
            for &g in &groups {
                let mut of: Vec<&Vec<(String, f64)>> = cells
                    .iter()
                    .zip(&r)
                    .filter(|(c, _)| &c.0 == k && c.1 == g)
                    .map(|(_, r)| r)
                    .collect();
                of.sort_by(|a, b| a[0].1.total_cmp(&b[0].1));
                let med = of[of.len() / 2][0].1;
                t.push(med);
                all.push(format!("{:.2}-{:.2}", of[0][0].1, of[of.len() - 1][0].1));
                let x = of[of.len() / 2];
                sw.push(format!(
                    "{:.3}+{:.3}",
                    x[1].1 / 40000.0 / g as f64,
                    x[2].1 / 40000.0 / g as f64
                ));
            }
            let pts: Vec<(f64, f64)> =
                groups.iter().map(|&g| g as f64).zip(t.iter().copied()).collect();
            println!(
                "{m} {k} {} p={:.2} sw {}{}",
                t.iter().map(|x| format!("{x:.2}")).collect::<Vec<_>>().join(" "),
                slope(&pts),
                sw.join(" "),
                if seeds > 1 { format!(" [{}]", all.join(" ")) } else { String::new() }
            );
            means.push(t);
        }
        if means.len() == 2 {
            println!(
                "   ratio {}",
                means[0]
                    .iter()
                    .zip(&means[1])
                    .map(|(a, b)| format!("{:.2}", a / b))
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
    }
}
