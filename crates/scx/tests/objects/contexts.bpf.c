/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Calls functions where they are not allowed, or ends itself; `fault` selects which. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SHARED 7

enum {
	MOVE_IN_ENQUEUE = 1, CREATE_IN_RUNNING, INSERT_IN_RUNNING, UNKNOWN_TO_LOCAL, REENQUEUE, EXIT,
	GROUP_INIT, KICK_FLAGS, KICK_CPU, DEEP, DUMP_OUTSIDE, NODE_DISABLED, CANCEL,
};

struct sched_ext_ops___groups {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	s32 (*init)(void);
	s32 (*cgroup_init)(void *cgrp, void *args);
	char name[128];
};

extern u32 scx_bpf_reenqueue_local(void) __ksym;
extern void scx_bpf_exit_bstr(s64 code, char *fmt, unsigned long long *data, u32 size) __ksym;
extern void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 size) __ksym;
extern s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *mask, int node, u64 flags) __ksym;
extern void scx_bpf_dispatch_cancel(void) __ksym;

const volatile u32 fault;
u64 depth;
static char goodbye[] = "enough of %d";
static char text[] = "nothing";

static __attribute__((noinline)) u64 deeper(u64 n)
{
	/* A form that the compiler does not turn into a loop. */
	u64 below = n ? deeper(n - 1) : 0;

	depth++;
	return below * 3 + depth;
}

OPS_SLEEPABLE(contexts_init)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

OPS_SLEEPABLE(contexts_cgroup_init)
{
	return fault == GROUP_INIT ? -12 : 0;
}

OPS(contexts_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	if (fault == MOVE_IN_ENQUEUE)
		scx_bpf_dsq_move_to_local(SHARED);
	if (fault == REENQUEUE)
		scx_bpf_reenqueue_local();
	if (fault == EXIT) {
		u64 data[1] = { p->pid };

		scx_bpf_exit_bstr(42, goodbye, data, sizeof(data));
	}
	if (fault == KICK_FLAGS)
		scx_bpf_kick_cpu(0, SCX_KICK_IDLE | SCX_KICK_PREEMPT);
	if (fault == KICK_CPU)
		scx_bpf_kick_cpu(99, 0);
	if (fault == DEEP)
		depth = deeper(100);
	if (fault == DUMP_OUTSIDE)
		scx_bpf_dump_bstr(text, NULL, 0);
	if (fault == NODE_DISABLED)
		scx_bpf_pick_idle_cpu_node(p->cpus_ptr, 0, 0);
	scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, 0);
	return 0;
}

OPS(contexts_dispatch)
{
	if (fault == CANCEL)
		scx_bpf_dispatch_cancel();
	scx_bpf_dsq_move_to_local(fault == UNKNOWN_TO_LOCAL ? 98 : SHARED);
	return 0;
}

OPS(contexts_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	if (fault == CREATE_IN_RUNNING)
		scx_bpf_create_dsq(8, -1);
	if (fault == INSERT_IN_RUNNING)
		scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, 0);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops___groups contexts_ops = {
	.enqueue = (void *)contexts_enqueue,
	.dispatch = (void *)contexts_dispatch,
	.running = (void *)contexts_running,
	.init = (void *)contexts_init,
	.cgroup_init = (void *)contexts_cgroup_init,
	.name = "contexts",
};
