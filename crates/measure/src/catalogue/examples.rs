//! Worked examples of metrics.

/// Returns a worked example of the metric with this id (of a distribution: of its values). `None`
/// if its definition needs none.
pub fn example(id: &str) -> Option<&'static str> {
    Some(match id {
        "cpu_use" => {
            "2 CPUs offer 20 s in 10 s. If tasks were current for 15 s of them, 75 % were used."
        }
        "jobs" => {
            "A task with one phase, `loop` 10 at the task: 10 loops, 10 jobs. A task whose phase \
             has `loop` -1 of its own never finishes a loop of the task; after 300 rounds of the \
             phase it has done 300 jobs. A task that ends without a loop has done 1."
        }
        "throughput" => "Tasks finished 5,200 jobs in a run of 5 s: 1,040 /s.",
        "turnaround" => {
            "A task starts at 2 s, needs 1 s of CPU time, and ends at 5 s because it shared the \
             CPU: 3 s."
        }
        "wakeup_latency" => {
            "A timer wakes a task at 10.000 ms. The CPU is busy until 10.800 ms, and the task runs \
             from then on: 800 us. Woken with an idle CPU on an idealised machine: 0."
        }
        "start_latency" => "A task starts at 1.0 s and first has a CPU at 1.2 s: 200 ms.",
        "burst_response" => {
            "Woken at 10 ms, waits 1 ms, runs 2 ms, is preempted for 3 ms, runs 1 ms, sleeps at 17 \
             ms: 7 ms."
        }
        "slowdown" => {
            "Woken at 10 ms, waits 1 ms, runs 2 ms, is preempted for 3 ms, runs 1 ms, sleeps at 17 \
             ms. It needed 3 ms of CPU time and took 7: 2.33. Served at once and never preempted: \
             1. A burst of 1 us that waits 200 us for the CPU has 201."
        }
        "wait_mean" => "4 tasks were runnable without a CPU for 2 s together: 500 ms each.",
        "wait_max" => {
            "A task is preempted at 3.0 s and next has a CPU at 3.4 s, and no task ever waits \
             longer: 400 ms."
        }
        "missed_periods" => {
            "A task's timer has a period of 10 ms, and the task works 8 ms in each. Once it has to \
             wait 3 ms: it reaches its timer 11 ms after the last expiry, 1 ms late. 1 missed."
        }
        "idle_exit" => {
            "A timer wakes a task on a CPU in a deep idle state. Leaving it takes 200 us, the \
             interrupt and the switch 1 us: 200 of the 201 us of latency are idle exit."
        }
        "burst_lag" => {
            "A hog and a sleeper of equal weight on one CPU. The sleeper wakes, runs 10 ms at once \
             and sleeps. The fluid machine has given each 5 ms by then: the sleeper is 5 ms ahead, \
             the hog 5 ms behind. 5 ms for this burst. In the next 10 ms the hog runs alone, and \
             the fluid machine does the rest of the sleeper's burst beside it: they are even. If \
             the hog had kept the CPU for 100 ms first, the sleeper would have been 50 ms behind: \
             50 ms."
        }
        "jain_backlogged" => {
            "A hog and a sleeper of equal weight on one CPU. The sleeper needs 1 ms and has to \
             wait 99 ms for it, every time: half of 100 ms was due to it, and it had 1/50 of that. \
             The hog had all that was due to it. (1 + 0.02)^2 / (2 x (1 + 0.0004)) = 0.52. With \
             the sleeper served at once: 1."
        }
        "jain_by_weight" => {
            "Two tasks of equal weight; one runs 9 s, the other sleeps most of the time and runs 1 \
             s: (9 + 1)^2 / (2 x (81 + 1)) = 0.61, although no task took anything from it."
        }
        "jain_by_share" => {
            "A hog, and a sleeper that is served at once for 1 ms of every 10. When both are \
             runnable, half of the CPU is due to each, so the sleeper had 2 x its share, and the \
             hog 0.95 x: (2 + 0.95)^2 / (2 x (4 + 0.9)) = 0.89, although no task ever waited long."
        }
        "lag_max" | "owed_max" => {
            "A hog, and a sleeper that is served at once for 1 ms of every 10. Each time the hog \
             is owed 0.5 ms more, and never gets it back, because the sleeper never waits: 500 ms \
             after 10 s."
        }
        "owed_end" => "As `owed_max`, at the end of the run.",
        "switches_voluntary" => "A task runs, sleeps, is woken, runs, and ends: 2.",
        "switches_involuntary" => "A task's slice is over twice, then it sleeps: 2.",
        "migrations_queue" => {
            "A balancer moves a waiting task from CPU 0 to CPU 1 and back before it runs: 2."
        }
        "migrations_cpu" => "A task that ran on CPU 0 next runs on CPU 1, then on CPU 0: 2.",
        "kernel_time" => {
            "1,000 context switches of 2 us each and 1,000 ticks of 1 us: 3 ms, whether a task was \
             current or the CPU idled."
        }
        "kernel_spin" => {
            "Two CPUs want one runqueue's lock at once; each holds it for 1 us: one of them spins \
             for 1 us."
        }
        "power_mean" => "A machine draws 500 J in a run of 5 s: 100 W.",
        _ => return None,
    })
}
