/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Does one thing wrong, which `fault` selects by number; else first in, first out. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SHARED 7

/* Number of the fault. */
enum {
	INIT = 1, INIT_TASK, BAD_CPU, BAD_DSQ, TWICE, ANOTHER, MIXED, FORBIDDEN, STALL, ENDLESS_KICK,
	SCX_ERROR, STORE, LOOP, MISSING_FIELD, BUILTIN_VTIME, OVERFLOW, BAD_HELPER, WRITE_PID,
};

const volatile u32 fault;
const volatile int victim = 1000;
u64 exits, exit_kind;
u64 last_pid;

struct nonsense { int a; } CORE;

static void error(char *text, u64 value)
{
	u64 data[1] = { value };

	scx_bpf_error_bstr(text, data, sizeof(data));
}

OPS_SLEEPABLE(faults_init)
{
	scx_bpf_create_dsq(8, -1);
	return fault == INIT ? -12 : scx_bpf_create_dsq(SHARED, -1);
}

OPS_SLEEPABLE(faults_init_task)
{
	return fault == INIT_TASK ? -22 : 0;
}

OPS(faults_select_cpu)
{
	bool idle = 0;

	if (fault == BAD_CPU)
		return 4711;
	return scx_bpf_select_cpu_dfl(ARG(struct task_struct *, 0), ARG(s32, 1), ARG(u64, 2), &idle);
}

static char text[] = "pid %d is not wanted";

OPS(faults_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	u64 dsq = SHARED;

	if (fault == BAD_DSQ)
		dsq = 99;
	if (fault == STALL && p->pid == victim)
		return 0;
	if (fault == SCX_ERROR)
		error(text, p->pid);
	if (fault == STORE)
		*(volatile u64 *)0 = 1;
	if (fault == WRITE_PID)
		p->pid = 3;
	if (fault == LOOP)
		while (*(volatile u64 *)&last_pid != 1)
			;
	if (fault == MISSING_FIELD) {
		struct nonsense *n = (void *)p;
		last_pid = n->a;
	}
	if (fault == BAD_HELPER)
		((long (*)(u64))12)(1);
	if (fault == ANOTHER) {
		struct task_struct *other = bpf_task_from_pid(p->pid == 1000 ? 1001 : 1000);
		if (other) {
			scx_bpf_dsq_insert(other, dsq, SCX_SLICE_DFL, 0);
			bpf_task_release(other);
		}
	}
	if (fault == BUILTIN_VTIME) {
		scx_bpf_dsq_insert_vtime(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 1, 0);
		return 0;
	}
	if (fault == FORBIDDEN) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 1, SCX_SLICE_DFL, 0);
		return 0;
	}
	if (fault == MIXED && p->pid == victim) {
		scx_bpf_dsq_insert_vtime(p, dsq, SCX_SLICE_DFL, 1, 0);
		return 0;
	}
	scx_bpf_dsq_insert(p, dsq, SCX_SLICE_DFL, 0);
	if (fault == TWICE)
		scx_bpf_dsq_insert(p, dsq, SCX_SLICE_DFL, 0);
	return 0;
}

OPS(faults_dispatch)
{
	struct task_struct *p = bpf_task_from_pid(victim);

	if (fault == OVERFLOW && p)
		for (int i = 0; i < 33; i++)
			scx_bpf_dsq_insert(p, SHARED, SCX_SLICE_DFL, 0);
	if (p)
		bpf_task_release(p);
	scx_bpf_dsq_move_to_local(SHARED);
	return 0;
}

OPS(faults_running)
{
	if (fault == ENDLESS_KICK)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(ARG(struct task_struct *, 0)), SCX_KICK_PREEMPT);
	return 0;
}

OPS(faults_exit)
{
	struct scx_exit_info *info = ARG(struct scx_exit_info *, 0);

	exits++;
	exit_kind = info->kind;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops faults_ops = {
	.select_cpu = (void *)faults_select_cpu,
	.enqueue = (void *)faults_enqueue,
	.dispatch = (void *)faults_dispatch,
	.running = (void *)faults_running,
	.init_task = (void *)faults_init_task,
	.init = (void *)faults_init,
	.exit = (void *)faults_exit,
	.timeout_ms = 5000,
	.name = "faults",
};
