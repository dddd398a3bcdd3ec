//! tmp
use schedlab_lab::stress::*;
use schedlab_lab::select;
fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    for choice in select::all() {
        if !only.is_empty() && !only[0].is_empty() && !choice.to_string().contains(&only[0]) { continue; }
        let range = if only.len() > 1 { let s: u64 = only[1].parse().unwrap(); s..s+1 } else { 0..40 };
        for seed in range {
            let t = std::time::Instant::now();
            let world = World::random(seed, &choice);
            eprint!("{choice} {seed} {:?} cpus {} hz {} tasks {} until {} {:?}", world.kind, world.cpus, world.hz, world.model.initial_threads(), world.until_ns as f64/1e9, world.tunables);
            let checked = check(&world, &choice);
            eprintln!(" -> {} events {:?} {}", checked.events, t.elapsed(), checked.failure.map_or(String::new(), |f| format!("FAIL {}: {}", f.turn, f.violation)));
        }
    }
}
