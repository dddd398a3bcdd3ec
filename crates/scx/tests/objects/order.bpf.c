/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Prints each callback, and leaves all decisions to the class and to one queue. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

#define PRINT(format, ...) ({ static char text[] = format; \
	bpf_trace_printk(text, sizeof(text), ##__VA_ARGS__); })
#define PID(n) (ARG(struct task_struct *, n) ? ARG(struct task_struct *, n)->pid : 0)

const volatile u64 slice_ns = 8000000;

OPS(order_select_cpu)
{
	PRINT("select_cpu %d %d %llx", PID(0), ARG(s32, 1), ARG(u64, 2));
	return ARG(s32, 1);
}

OPS(order_enqueue)
{
	PRINT("enqueue %d %llx", PID(0), ARG(u64, 1));
	scx_bpf_dsq_insert(ARG(struct task_struct *, 0), 0, slice_ns, ARG(u64, 1));
	return 0;
}

OPS(order_dequeue) { PRINT("dequeue %d %llx", PID(0), ARG(u64, 1)); return 0; }

OPS(order_dispatch)
{
	PRINT("dispatch %d %d", ARG(s32, 0), PID(1));
	scx_bpf_dsq_move_to_local(0);
	return 0;
}

OPS(order_tick) { PRINT("tick %d %llu", PID(0), ARG(struct task_struct *, 0)->scx.slice); return 0; }
OPS(order_runnable) { PRINT("runnable %d %llx", PID(0), ARG(u64, 1)); return 0; }
OPS(order_running) { PRINT("running %d", PID(0)); return 0; }
OPS(order_stopping) { PRINT("stopping %d %d", PID(0), ARG(u32, 1)); return 0; }
OPS(order_quiescent) { PRINT("quiescent %d %llx", PID(0), ARG(u64, 1)); return 0; }
OPS(order_set_weight) { PRINT("set_weight %d %u", PID(0), ARG(u32, 1)); return 0; }
OPS(order_set_cpumask) { PRINT("set_cpumask %d %lx", PID(0), ARG(struct cpumask *, 1)->bits[0]); return 0; }
OPS(order_update_idle) { PRINT("update_idle %d %d", ARG(s32, 0), ARG(u32, 1)); return 0; }
OPS_SLEEPABLE(order_init_task) { PRINT("init_task %d", PID(0)); return 0; }
OPS(order_exit_task) { PRINT("exit_task %d", PID(0)); return 0; }
OPS(order_enable) { PRINT("enable %d", PID(0)); return 0; }
OPS(order_disable) { PRINT("disable %d", PID(0)); return 0; }
OPS_SLEEPABLE(order_init) { PRINT("init"); return scx_bpf_create_dsq(0, -1); }

SEC(".struct_ops.link")
struct sched_ext_ops order_ops = {
	.select_cpu = (void *)order_select_cpu,
	.enqueue = (void *)order_enqueue,
	.dequeue = (void *)order_dequeue,
	.dispatch = (void *)order_dispatch,
	.tick = (void *)order_tick,
	.runnable = (void *)order_runnable,
	.running = (void *)order_running,
	.stopping = (void *)order_stopping,
	.quiescent = (void *)order_quiescent,
	.set_weight = (void *)order_set_weight,
	.set_cpumask = (void *)order_set_cpumask,
	.update_idle = (void *)order_update_idle,
	.init_task = (void *)order_init_task,
	.exit_task = (void *)order_exit_task,
	.enable = (void *)order_enable,
	.disable = (void *)order_disable,
	.init = (void *)order_init,
	.flags = 1,
	.name = "order",
};
