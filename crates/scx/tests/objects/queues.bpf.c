/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Weighted fair queueing, one queue per CPU. A task whose slice ended queues where its next turn is
 * nearest: at the CPU with the shortest queue, at its own among equals. A CPU whose queue is empty
 * takes from the next queue that is not.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MAX_CPUS 64

LOGS;
const volatile u64 slice_ns = 10000000;
u64 vtime_now[MAX_CPUS];

static __always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

OPS(queues_select_cpu)
{
	return ARG(s32, 1);
}

OPS(queues_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 here = scx_bpf_task_cpu(p), best = here, cpu;
	u64 vtime = p->scx.dsq_vtime, now;
	s32 least = scx_bpf_dsq_nr_queued(here);

	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		s32 queued = scx_bpf_dsq_nr_queued(cpu);

		if (queued < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			least = queued;
			best = cpu;
		}
	}
	/* Clocks of CPUs differ: a task keeps its lead or lag relative to its CPU's clock. */
	now = vtime_now[(u32)best % MAX_CPUS];
	vtime += now - vtime_now[(u32)here % MAX_CPUS];
	if (before(vtime, now - slice_ns))
		vtime = now - slice_ns;
	scx_bpf_dsq_insert_vtime(p, best, slice_ns, vtime, ARG(u64, 1));
	if (best != here)
		scx_bpf_kick_cpu(best, SCX_KICK_IDLE);
	return 0;
}

OPS(queues_dispatch)
{
	s32 here = ARG(s32, 0), step;
	u32 nr = scx_bpf_nr_cpu_ids();

	LOG("dispatch %d", here);
	FOR(step, nr) {
		if (scx_bpf_dsq_move_to_local(((u32)here + step) % nr))
			break;
	}
	return 0;
}

OPS(queues_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	u64 *now = &vtime_now[(u32)scx_bpf_task_cpu(p) % MAX_CPUS];

	if (before(*now, p->scx.dsq_vtime))
		*now = p->scx.dsq_vtime;
	return 0;
}

OPS(queues_stopping)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	p->scx.dsq_vtime += (slice_ns - p->scx.slice) * 100 / p->scx.weight;
	return 0;
}

OPS(queues_enable)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	p->scx.dsq_vtime = vtime_now[(u32)scx_bpf_task_cpu(p) % MAX_CPUS];
	return 0;
}

OPS_SLEEPABLE(queues_init)
{
	s32 cpu, error;

	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		error = scx_bpf_create_dsq(cpu, -1);
		if (error)
			return error;
	}
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops queues_ops = {
	.select_cpu = (void *)queues_select_cpu,
	.enqueue = (void *)queues_enqueue,
	.dispatch = (void *)queues_dispatch,
	.running = (void *)queues_running,
	.stopping = (void *)queues_stopping,
	.enable = (void *)queues_enable,
	.init = (void *)queues_init,
	.name = "queues",
};
