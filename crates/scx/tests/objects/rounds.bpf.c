/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Round robin from one queue, with slices proportional to weights. Nothing depends on the past. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SHARED 0

LOGS;
const volatile u64 slice_ns = 30000000;

OPS(rounds_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	scx_bpf_dsq_insert(p, SHARED, slice_ns * p->scx.weight / 100, ARG(u64, 1));
	return 0;
}

OPS(rounds_dispatch)
{
	LOG("dispatch %d", ARG(s32, 0));
	scx_bpf_dsq_move_to_local(SHARED);
	return 0;
}

OPS_SLEEPABLE(rounds_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops rounds_ops = {
	.enqueue = (void *)rounds_enqueue,
	.dispatch = (void *)rounds_dispatch,
	.init = (void *)rounds_init,
	.name = "rounds",
};
