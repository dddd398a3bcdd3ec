//! Where a task continues that executes another program.

use super::*;
use crate::classes::core_6::FairClass6;

/// 32 periods of load tracking, ns: the half-life.
const HALF_LIFE: u64 = 32 << 20;

/// The task's contribution to its CPU is subtracted as if the task had been blocked from the last
/// update of its averages to the last update of its queue's: of the 200 of utilisation that it had
/// 32 periods ago, 100 are subtracted from 1000. The remaining 900 make the CPU fully busy (900 x
/// 117 > 102400), and the task goes to the other one; 800 would not.
#[test]
fn an_exec_takes_out_what_the_task_would_add_had_it_been_blocked() {
    for (behind_ns, to) in [(0, CPU), (HALF_LIFE, CpuId(1))] {
        let mut bench = Bench::new(Version::V6_18, 2);
        let tasks = [0, 1, 0].map(|cpu| {
            let allowed = CpuSet::only(CpuId(cpu));
            bench.fork_with(&TaskAttr { allowed, ..TaskAttr::default() })
        });
        for cpu in [0, 1] {
            bench.platform.clear_resched(CpuId(cpu));
            bench.sched.schedule(&mut bench.platform, CpuId(cpu));
        }
        bench.at(100 * MS);
        let pid = bench.pid(tasks[0]);
        bench.sched.set_affinity(&mut bench.platform, tasks[0], &CpuSet::All);
        let fair = &mut bench.sched.fair;
        let e = fair.se_of(pid);
        let avg = &mut fair.info[e].avg;
        avg.last_update_time = 100 * MS - behind_ns;
        avg.period_contrib = 0;
        (avg.util_avg, avg.util_sum) = (200, 200 * 46_718);
        (avg.runnable_avg, avg.runnable_sum) = (0, 0);
        let queue = &mut fair.cfs_rqs[root_rq()].avg;
        (queue.util_avg, queue.runnable_avg) = (1000, 0);
        queue.last_update_time = 100 * MS;
        let other = &mut fair.cfs_rqs[CfsRqId::of_cpu(CpuId(1))].avg;
        (other.util_avg, other.runnable_avg) = (500, 0);
        for cpu in [0, 1] {
            fair.invalidate(CfsRqId::of_cpu(CpuId(cpu)));
        }
        let chosen = fair.select_at_exec(&mut bench.sched.core, &mut bench.platform, pid);
        assert_eq!(chosen, to, "{behind_ns} ns behind");
    }
}
