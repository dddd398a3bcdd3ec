/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Prints the callbacks around tasks of the classes above. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

#define PRINT(format, ...) ({ static char text[] = format; \
	bpf_trace_printk(text, sizeof(text), ##__VA_ARGS__); })
#define PID(n) (ARG(struct task_struct *, n) ? ARG(struct task_struct *, n)->pid : 0)

const volatile u64 slice_ns = 20000000;
/* In cpu_release the policy requests the tasks of the local queue back. */
const volatile bool asks_back = 0;

enum scx_cpu_preempt_reason { SCX_CPU_PREEMPT_RT };
struct scx_cpu_release_args { enum scx_cpu_preempt_reason reason; struct task_struct *task; } CORE;
struct scx_cpu_acquire_args { int dummy; } CORE;

struct sched_ext_ops___above {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *mask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, void *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	u64 flags;
	char name[128];
};

extern u32 scx_bpf_reenqueue_local(void) __ksym __weak;

OPS(above_enqueue)
{
	PRINT("enqueue %d %llx", PID(0), ARG(u64, 1));
	scx_bpf_dsq_insert(ARG(struct task_struct *, 0), 0, slice_ns, ARG(u64, 1));
	return 0;
}

OPS(above_dispatch)
{
	PRINT("dispatch %d %d", ARG(s32, 0), PID(1));
	scx_bpf_dsq_move_to_local(0);
	return 0;
}

OPS(above_cpu_release)
{
	struct scx_cpu_release_args *args = ARG(struct scx_cpu_release_args *, 1);

	PRINT("cpu_release %d %d %d", ARG(s32, 0), args->reason, args->task->pid);
	if (asks_back)
		PRINT("asked back %d", scx_bpf_reenqueue_local());
	return 0;
}

OPS(above_dequeue) { PRINT("dequeue %d %llx", PID(0), ARG(u64, 1)); return 0; }
OPS(above_cpu_acquire) { PRINT("cpu_acquire %d", ARG(s32, 0)); return 0; }
OPS(above_runnable) { PRINT("runnable %d %llx", PID(0), ARG(u64, 1)); return 0; }
OPS(above_running) { PRINT("running %d", PID(0)); return 0; }
OPS(above_stopping) { PRINT("stopping %d %d", PID(0), ARG(u32, 1)); return 0; }
OPS(above_quiescent) { PRINT("quiescent %d %llx", PID(0), ARG(u64, 1)); return 0; }
OPS(above_set_weight) { PRINT("set_weight %d %u", PID(0), ARG(u32, 1)); return 0; }
OPS(above_set_cpumask) { PRINT("set_cpumask %d", PID(0)); return 0; }
OPS(above_update_idle) { PRINT("update_idle %d %d", ARG(s32, 0), ARG(u32, 1)); return 0; }
OPS_SLEEPABLE(above_init_task) { PRINT("init_task %d", PID(0)); return 0; }
OPS(above_exit_task) { PRINT("exit_task %d", PID(0)); return 0; }
OPS(above_enable) { PRINT("enable %d", PID(0)); return 0; }
OPS(above_disable) { PRINT("disable %d", PID(0)); return 0; }
OPS_SLEEPABLE(above_init) { return scx_bpf_create_dsq(0, -1); }

SEC(".struct_ops.link")
struct sched_ext_ops___above above_ops = {
	.enqueue = (void *)above_enqueue,
	.dequeue = (void *)above_dequeue,
	.dispatch = (void *)above_dispatch,
	.runnable = (void *)above_runnable,
	.running = (void *)above_running,
	.stopping = (void *)above_stopping,
	.quiescent = (void *)above_quiescent,
	.set_weight = (void *)above_set_weight,
	.set_cpumask = (void *)above_set_cpumask,
	.update_idle = (void *)above_update_idle,
	.cpu_acquire = (void *)above_cpu_acquire,
	.cpu_release = (void *)above_cpu_release,
	.init_task = (void *)above_init_task,
	.exit_task = (void *)above_exit_task,
	.enable = (void *)above_enable,
	.disable = (void *)above_disable,
	.init = (void *)above_init,
	.flags = 1,
	.name = "above",
};
