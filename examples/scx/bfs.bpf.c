/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * BFS: one queue for all CPUs, the earliest virtual deadline first. The twin of the laboratory's
 * bfs@0.404.
 *
 * Slices are endless for the class; a tick or a wakeup cuts them where BFS requests a reschedule.
 * BFS's changes to the task that leaves a CPU, made before it looks for the next one, happen in
 * dispatch. While a task runs, its slice and deadline are in the CPU's copies.
 */
#define SCX_TWIN
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define QUEUE 0
#define NORMAL_PRIO 101
#define IDLE_PRIO 102
#define PRIO_LIMIT 103
#define SCHED_BATCH 3
#define SCHED_IDLE 5
#define LEAST_SLICE 100
#define LEVELS 40

const volatile u64 rr_interval = 6;
LOGS;

/* Distances of deadlines by nice value, in 128ths: 10 % more each. */
const s32 ratios[LEVELS] = {
	128, 140, 154, 169, 185, 203, 223, 245, 269, 295,
	324, 356, 391, 430, 473, 520, 572, 629, 691, 760,
	836, 919, 1010, 1111, 1222, 1344, 1478, 1625, 1787, 1965,
	2161, 2377, 2614, 2875, 3162, 3478, 3825, 4207, 4627, 5089,
};

struct task {
	s64 deadline;
	u64 position;
	s32 time_slice;
	s32 prio;
	s32 nice;
	s32 cpu;
	/* The task that forked it, until it begins. */
	s32 parent;
	bool known;
	bool woken;
	bool changed;
	bool worsened;
	/* It has stopped running by itself; it may be queued again before its CPU has switched. */
	bool gone;
};

TASKS

struct cpu {
	s64 rq_deadline;
	s32 rq_time_slice;
	s32 rq_prio;
	s32 pid;
	/* The last runnable task that was put away here; other CPUs take it with a penalty. */
	s32 sticky_pid;
	u64 rq_last_ran;
	u64 old_clock;
	u64 last_niffy;
	u64 last_tick;
	bool busy;
	bool dither;
};

PER_CPU(struct cpu, cpus, cpu_of)

u64 niffies, last_jiffy, last = 1ULL << 40;

static __always_inline s64 distance(s32 nice)
{
	u32 level = nice + 20;

	return level < LEVELS ? (s64)ratios[level] * (s64)rr_interval * 8192 : 0;
}

/* The clock is used within the limits that jiffies allow, else the lower limit. */
static __always_inline s64 clamp(s64 diff, u64 jiffies)
{
	s64 least = jiffies > 1 ? (s64)((jiffies - 1) * tick_ns()) : 1;
	s64 most = (s64)((jiffies + 1) * tick_ns());

	return diff < least || diff > most ? least : diff;
}

/* BFS's own clock, as a CPU updates it. */
static __noinline u64 refresh(u32 number)
{
	struct cpu *here = cpu_of(number);
	u64 now = scx_bpf_now(), jiffies = bpf_jiffies64();
	s64 seen = now - here->old_clock, others = niffies - here->last_niffy;
	u64 passed = jiffies - last_jiffy;

	last_jiffy = jiffies;
	niffies += clamp(seen - others, passed);
	here->old_clock = now;
	here->last_niffy = niffies;
	return now;
}

static __always_inline void charge(struct cpu *here, u64 now)
{
	if (here->busy)
		here->rq_time_slice -= (s32)(clamp((s64)(now - here->rq_last_ran), 1) >> 10);
	here->rq_last_ran = now;
}

static __always_inline void refill(struct task *t)
{
	t->time_slice = (s32)(rr_interval << 10);
	t->deadline = (s64)niffies + distance(t->nice);
}

static __always_inline s32 prio_of(struct task_struct *p)
{
	return p->policy == SCHED_IDLE ? IDLE_PRIO : NORMAL_PRIO;
}

/* Kicks an idle CPU, or the one whose task has the latest deadline, if that is later. */
static __always_inline u64 try_preempt(struct task_struct *p, struct task *t)
{
	s32 worst_prio = -1, worst_cpu = -1, idle = -1, cpu;
	s64 worst = 0;

	if (t->cpu >= 0 && !cpu_of(t->cpu)->busy && bpf_cpumask_test_cpu(t->cpu, p->cpus_ptr))
		return ask(t->cpu, SCX_KICK_IDLE);
	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		struct cpu *there = cpu_of(cpu);

		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (!there->busy) {
			if (idle < 0)
				idle = cpu;
			continue;
		}
		if (there->rq_prio > worst_prio ||
		    (there->rq_prio == worst_prio && there->rq_deadline > worst)) {
			worst_prio = there->rq_prio;
			worst = there->rq_deadline;
			worst_cpu = cpu;
		}
	}
	if (idle >= 0)
		return ask(idle, SCX_KICK_IDLE);
	if (t->prio == IDLE_PRIO || worst_cpu < 0)
		return 0;
	if (t->prio < worst_prio || (t->prio == worst_prio && t->deadline < worst))
		return ask(worst_cpu, SCX_KICK_PREEMPT);
	return 0;
}

/*
 * A task begins: with its parent's deadline and half of the rest of the parent's slice, or, without
 * a parent in this policy, with a full slice from now. Returns the CPUs that it kicks.
 */
static __always_inline u64 begin(struct task_struct *p, struct task *t)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task *parent = NULL;
	s32 cpu = scx_bpf_task_cpu(current);
	struct cpu *here = cpu_of(cpu);
	u64 asks = 0;

	t->known = 1;
	t->nice = p->static_prio - 120;
	if (t->parent && t->parent == current->pid && here->busy && here->pid == current->pid)
		parent = bpf_task_storage_get(&tasks, current, NULL, 0);
	if (!parent || !parent->known) {
		t->parent = 0;
		refresh(t->cpu);
		refill(t);
		return 0;
	}
	t->deadline = parent->deadline + distance(t->nice) - distance(parent->nice);
	if (here->rq_time_slice >= 2 * LEAST_SLICE) {
		here->rq_time_slice /= 2;
		t->time_slice = here->rq_time_slice;
	} else {
		here->rq_time_slice = 0;
		asks = ask(cpu, SCX_KICK_PREEMPT);
		refill(t);
	}
	if ((u64)p->mm != (u64)current->mm)
		asks |= ask(t->cpu, SCX_KICK_PREEMPT);
	return asks;
}

OPS(bfs_select_cpu)
{
	return ARG(s32, 1);
}

OPS(bfs_runnable)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("runnable %d %llx", p->pid, ARG(u64, 1));
	if (!t)
		return 0;
	if (!t->known || !(ARG(u64, 1) & SCX_ENQ_RESTORE))
		t->woken = 1;
	return 0;
}

OPS(bfs_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);
	s32 born_of = 0;
	u64 asks = 0;
	bool woken, is_current;

	LOG("enqueue %d %llx", p->pid, ARG(u64, 1));
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ARG(u64, 1));
		return 0;
	}
	if (t->cpu < 0)
		t->cpu = scx_bpf_task_cpu(p);
	woken = t->woken;
	if (woken) {
		if (!t->known) {
			asks = begin(p, t);
			born_of = t->parent;
		}
		refresh(t->cpu);
	}
	if (woken || t->changed) {
		t->prio = prio_of(p);
		t->position = ++last;
	}
	scx_bpf_dsq_insert_vtime(p, QUEUE, SCX_SLICE_INF, t->position, ARG(u64, 1));
	is_current = cpu_of(t->cpu)->busy && cpu_of(t->cpu)->pid == p->pid;
	if (woken || (t->changed && !is_current && !t->worsened))
		asks |= try_preempt(p, t);
	else if (t->changed && is_current && t->worsened)
		asks |= ask(t->cpu, SCX_KICK_PREEMPT);
	t->woken = 0;
	t->changed = 0;
	DECISION(woken ? DECISION_WAKE : DECISION_ENQUEUE, p, born_of, asks);
	return 0;
}

/* The task with the earliest deadline for a CPU, the first in the queue among equals. */
static __noinline bool earliest(s32 cpu, s32 *prio, s64 *deadline, u64 *position)
{
	struct task_struct *p;
	bool found = 0;

	FOR_QUEUED(p, QUEUE) {
		struct task *t = task_of(p);
		s64 own;

		if (!t || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		own = t->deadline;
		if (t->cpu != cpu && t->cpu >= 0 && cpu_of(t->cpu)->sticky_pid == p->pid)
			own += distance(19);
		if (!found || t->prio < *prio || (t->prio == *prio && own < *deadline)) {
			found = 1;
			*prio = t->prio;
			*deadline = own;
			*position = p->scx.dsq_vtime;
		}
	}
	return found;
}

OPS(bfs_dispatch)
{
	s32 cpu = ARG(s32, 0);
	struct task_struct *prev = ARG(struct task_struct *, 1);
	struct cpu *here = cpu_of(cpu);
	struct task *t = NULL;
	u64 now, since_tick, position = 0;
	s64 deadline = 0;
	s32 prio = PRIO_LIMIT, pid = 0;
	bool runnable = 0, found;

	LOG("dispatch %d %d", cpu, prev ? prev->pid : 0);
	now = refresh(cpu);
	charge(here, now);
	/* Idle CPUs have ticks, too, which the policy does not receive. */
	since_tick = (now - here->last_tick) % tick_ns();
	here->dither = since_tick <= tick_ns() / 2;
	if (prev && prev->pid == here->pid && here->busy)
		t = task_of(prev);
	if (t) {
		runnable = (prev->scx.flags & SCX_TASK_QUEUED) && !t->gone;
		t->time_slice = here->rq_time_slice;
		t->deadline = here->rq_deadline;
		if (t->time_slice < LEAST_SLICE || prev->policy == SCHED_BATCH)
			refill(t);
		if (runnable && bpf_cpumask_test_cpu(cpu, prev->cpus_ptr)) {
			if (!scx_bpf_dsq_nr_queued(QUEUE)) {
				prev->scx.slice = SCX_SLICE_INF;
				PICK(prev->pid, prev);
				return 0;
			}
			/* The last task put away here, if it still waits, looks for another CPU. */
			if (here->sticky_pid && here->sticky_pid != prev->pid)
				KICK_IDLE(cpu, cpu_of);
			here->sticky_pid = prev->pid;
		}
		t->prio = prio_of(prev);
		if (!t->gone)
			t->position = ++last;
	}
	found = earliest(cpu, &prio, &deadline, &position);
	if (t && runnable && bpf_cpumask_test_cpu(cpu, prev->cpus_ptr) &&
	    (!found || t->prio < prio || (t->prio == prio && t->deadline < deadline))) {
		/* The CPU's copies stay as they are. */
		prev->scx.slice = SCX_SLICE_INF;
		PICK(prev->pid, prev);
		return 0;
	}
	if (found)
		pid = take(cpu, QUEUE, position);
	/* Another CPU may have taken it, or may still run it. */
	if (!pid)
		here->busy = 0;
	PICK(pid, prev);
	return 0;
}

OPS(bfs_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *t = task_of(p);
	u64 asks = 0;

	LOG("running %d", p->pid);
	if (!t)
		return 0;
	t->gone = 0;
	/* A running task that is changed need not come from the queue. */
	if (t->changed && t->worsened)
		asks = ask(cpu, SCX_KICK_PREEMPT);
	t->changed = 0;
	DECISION(DECISION_RUN, p, 0, asks);
	if (here->busy && here->pid == p->pid)
		return 0;
	if (t->cpu >= 0 && cpu_of(t->cpu)->sticky_pid == p->pid)
		cpu_of(t->cpu)->sticky_pid = 0;
	t->cpu = cpu;
	here->busy = 1;
	here->pid = p->pid;
	here->rq_time_slice = t->time_slice;
	here->rq_deadline = t->deadline;
	here->rq_prio = t->prio;
	here->rq_last_ran = scx_bpf_now();
	return 0;
}

OPS(bfs_stopping)
{
	struct task *t = task_of(ARG(struct task_struct *, 0));

	LOG("stopping %d %d", ARG(struct task_struct *, 0)->pid, ARG(u32, 1));
	if (t)
		t->gone = !ARG(bool, 1);
	return 0;
}

OPS(bfs_quiescent)
{
	LOG("quiescent %d %llx", ARG(struct task_struct *, 0)->pid, ARG(u64, 1));
	if (ARG(u64, 1) & SCX_DEQ_SLEEP)
		DECISION(DECISION_BLOCK, ARG(struct task_struct *, 0), 0, 0);
	return 0;
}

OPS(bfs_tick)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	u64 now = scx_bpf_now();
	s32 half = (s32)(tick_ns() / 2 / 1000);
	bool asks = 0;

	LOG("tick %d", p->pid);
	charge(here, now);
	if (here->dither) {
		asks = here->rq_time_slice <= half;
		if (asks)
			here->rq_time_slice = 0;
	} else {
		asks = here->rq_time_slice < LEAST_SLICE;
	}
	if (asks)
		p->scx.slice = 0;
	here->last_tick = now;
	DECISION(DECISION_TICK, p, 0, asks ? CPU_BIT(cpu) : 0);
	return 0;
}

OPS(bfs_yield)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	LOG("yield %d", p->pid);
	p->scx.slice = 0;
	DECISION(DECISION_YIELD, p, 0, CPU_BIT(scx_bpf_task_cpu(p)));
	return 0;
}

OPS(bfs_set_weight)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);
	s32 nice = p->static_prio - 120;

	LOG("set_weight %d %d", p->pid, nice);
	if (!t || t->nice == nice)
		return 0;
	if (t->cpu >= 0)
		refresh(t->cpu);
	t->deadline += distance(nice) - distance(t->nice);
	t->changed = 1;
	t->worsened = nice > t->nice;
	t->nice = nice;
	DECISION(DECISION_NICE, p, 0, 0);
	return 0;
}

OPS_SLEEPABLE(bfs_init_task)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct scx_init_task_args *args = ARG(struct scx_init_task_args *, 1);
	struct task *t = bpf_task_storage_get(&tasks, p, NULL, 1);

	LOG("init_task %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return -12;
	t->nice = p->static_prio - 120;
	t->prio = prio_of(p);
	t->cpu = -1;
	if (args->fork && (u64)p->real_parent != (u64)p)
		t->parent = bpf_get_current_task_btf()->pid;
	DECISION(DECISION_INIT_TASK, p, t->parent, 0);
	return 0;
}

OPS_SLEEPABLE(bfs_init)
{
	s32 cpu;

	LOG("init");
	DECISIONS_BEGIN;
	last_jiffy = bpf_jiffies64();
	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		cpu_of(cpu)->rq_prio = PRIO_LIMIT;
		cpu_of(cpu)->old_clock = scx_bpf_now();
	}
	return scx_bpf_create_dsq(QUEUE, -1);
}

RECORDS(bfs)

SEC(".struct_ops.link")
struct sched_ext_ops bfs_ops = {
	.select_cpu = (void *)bfs_select_cpu,
	.enqueue = (void *)bfs_enqueue,
	.dispatch = (void *)bfs_dispatch,
	.tick = (void *)bfs_tick,
	.runnable = (void *)bfs_runnable,
	.running = (void *)bfs_running,
	.stopping = (void *)bfs_stopping,
	.quiescent = (void *)bfs_quiescent,
	.yield = (void *)bfs_yield,
	.set_weight = (void *)bfs_set_weight,
	.init_task = (void *)bfs_init_task,
	.exit_task = (void *)bfs_exit_task,
	.disable = (void *)bfs_disable,
	.init = (void *)bfs_init,
	/* A task that exits still belongs to the policy. */
	.flags = SCX_OPS_ENQ_EXITING,
	.name = "bfs",
};
