/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Weighted fair queueing by virtual time, from one queue. With fifo: first in, first out. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SHARED 0

const volatile bool fifo;
const volatile u64 slice_ns = SCX_SLICE_DFL;
LOGS;
u64 vtime_now;
u64 enqueues, directs;

static __always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

OPS(vtime_select_cpu)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	bool idle = 0;
	s32 cpu = scx_bpf_select_cpu_dfl(p, ARG(s32, 1), ARG(u64, 2), &idle);

	if (idle) {
		directs++;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	}
	return cpu;
}

OPS(vtime_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	u64 vtime = p->scx.dsq_vtime;

	LOG("enqueue %d %llx", p->pid, ARG(u64, 1));
	enqueues++;
	if (fifo) {
		scx_bpf_dsq_insert(p, SHARED, slice_ns, ARG(u64, 1));
		return 0;
	}
	/* A sleeper saves at most one slice. */
	if (before(vtime, vtime_now - slice_ns))
		vtime = vtime_now - slice_ns;
	scx_bpf_dsq_insert_vtime(p, SHARED, slice_ns, vtime, ARG(u64, 1));
	return 0;
}

OPS(vtime_dispatch)
{
	struct task_struct *prev = ARG(struct task_struct *, 1);

	LOG("dispatch %d %d", ARG(s32, 0), prev ? prev->pid : 0);
	scx_bpf_dsq_move_to_local(SHARED);
	return 0;
}

OPS(vtime_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	LOG("running %d", p->pid);
	if (before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
	return 0;
}

OPS(vtime_stopping)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	LOG("stopping %d %d", p->pid, ARG(u32, 1));
	p->scx.dsq_vtime += (slice_ns - p->scx.slice) * 100 / p->scx.weight;
	return 0;
}

OPS(vtime_runnable)
{
	LOG("runnable %d %llx", ARG(struct task_struct *, 0)->pid, ARG(u64, 1));
	return 0;
}

OPS(vtime_quiescent)
{
	LOG("quiescent %d %llx", ARG(struct task_struct *, 0)->pid, ARG(u64, 1));
	return 0;
}

OPS(vtime_tick)
{
	LOG("tick %d", ARG(struct task_struct *, 0)->pid);
	return 0;
}

OPS(vtime_enable)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	p->scx.dsq_vtime = vtime_now;
	return 0;
}

OPS_SLEEPABLE(vtime_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops vtime_ops = {
	.select_cpu = (void *)vtime_select_cpu,
	.enqueue = (void *)vtime_enqueue,
	.dispatch = (void *)vtime_dispatch,
	.tick = (void *)vtime_tick,
	.runnable = (void *)vtime_runnable,
	.quiescent = (void *)vtime_quiescent,
	.running = (void *)vtime_running,
	.stopping = (void *)vtime_stopping,
	.enable = (void *)vtime_enable,
	.init = (void *)vtime_init,
	.name = "vtime",
};
