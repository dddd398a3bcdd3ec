/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * BFS: one queue for all CPUs, the earliest virtual deadline first. The twin of the laboratory's
 * bfs@0.404.
 *
 * Slices are endless for the class; a tick or a wakeup cuts them, as BFS asks for a reschedule. What
 * BFS does to the task that leaves a CPU, before it looks for the next, happens in dispatch. While a
 * task runs, its slice and deadline live in the CPU's copies.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define QUEUE 0
#define MAX_CPUS 64
#define NORMAL_PRIO 101
#define IDLE_PRIO 102
#define PRIO_LIMIT 103
#define SCHED_BATCH 3
#define SCHED_IDLE 5
#define LEAST_SLICE 100
#define LEVELS 40

extern int CONFIG_HZ __kconfig __weak;

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
	bool known;
	bool woken;
	bool changed;
	bool worsened;
	bool asks_parent;
	/* It has stopped running by itself; it may be queued again before its CPU has switched. */
	bool gone;
};

struct {
	__uint(type, MAP_TASK_STORAGE);
	__uint(map_flags, 1);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

struct cpu {
	s64 rq_deadline;
	s32 rq_time_slice;
	s32 rq_prio;
	s32 pid;
	/* The last task that was put away here though it wanted to run; others take it with a malus. */
	s32 sticky_pid;
	u64 rq_last_ran;
	u64 old_clock;
	u64 last_niffy;
	u64 last_tick;
	bool busy;
	bool dither;
};

struct cpu cpus[MAX_CPUS];
u64 niffies, last_jiffy, last = 1ULL << 40;
u64 lost;

static __always_inline struct cpu *cpu_of(u32 number)
{
	return &cpus[number % MAX_CPUS];
}

static __always_inline struct task *task_of(struct task_struct *p)
{
	struct task *t = bpf_task_storage_get(&tasks, p, NULL, 0);

	if (!t)
		lost++;
	return t;
}

static __always_inline u64 tick_ns(void)
{
	return 1000000000ULL / (u32)(CONFIG_HZ ? CONFIG_HZ : 250);
}

static __always_inline s64 distance(s32 nice)
{
	u32 level = nice + 20;

	return level < LEVELS ? (s64)ratios[level] * (s64)rr_interval * 8192 : 0;
}

/* What jiffies allow is believed, else it is the least that they allow. */
static __always_inline s64 clamp(s64 diff, u64 jiffies)
{
	s64 least = jiffies > 1 ? (s64)((jiffies - 1) * tick_ns()) : 1;
	s64 most = (s64)((jiffies + 1) * tick_ns());

	return diff < least || diff > most ? least : diff;
}

/* BFS's own clock, as a CPU brings it up to date. */
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

/* Asks an idle CPU, or the one whose task has the latest deadline, if that is later. */
static __always_inline void try_preempt(struct task_struct *p, struct task *t)
{
	s32 worst_prio = -1, worst_cpu = -1, idle = -1, cpu;
	s64 worst = 0;

	if (t->cpu >= 0 && !cpu_of(t->cpu)->busy && bpf_cpumask_test_cpu(t->cpu, p->cpus_ptr)) {
		scx_bpf_kick_cpu(t->cpu, SCX_KICK_IDLE);
		return;
	}
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
	if (idle >= 0) {
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
		return;
	}
	if (t->prio == IDLE_PRIO || worst_cpu < 0)
		return;
	if (t->prio < worst_prio || (t->prio == worst_prio && t->deadline < worst))
		scx_bpf_kick_cpu(worst_cpu, SCX_KICK_PREEMPT);
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
	if (ARG(u64, 1) & SCX_ENQ_RESTORE)
		t->changed = 1;
	else
		t->woken = 1;
	return 0;
}

OPS(bfs_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("enqueue %d %llx", p->pid, ARG(u64, 1));
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ARG(u64, 1));
		return 0;
	}
	if (t->cpu < 0)
		t->cpu = scx_bpf_task_cpu(p);
	if (t->woken) {
		if (!t->known) {
			refresh(t->cpu);
			refill(t);
			t->known = 1;
		}
		refresh(t->cpu);
	}
	if (t->woken || t->changed) {
		t->prio = prio_of(p);
		t->position = ++last;
	}
	scx_bpf_dsq_insert_vtime(p, QUEUE, SCX_SLICE_INF, t->position, ARG(u64, 1));
	if (t->asks_parent && t->woken) {
		t->asks_parent = 0;
		scx_bpf_kick_cpu(t->cpu, SCX_KICK_PREEMPT);
	}
	if (t->woken || (t->changed && !t->worsened))
		try_preempt(p, t);
	t->woken = 0;
	t->changed = 0;
	t->worsened = 0;
	return 0;
}

/* The task of the earliest deadline for a CPU, the first in the queue among equals. */
static __noinline bool earliest(s32 cpu, s32 *prio, s64 *deadline, u64 *position)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool found = 0;

	if (bpf_iter_scx_dsq_new(&it, QUEUE, 0) == 0) {
		while ((p = bpf_iter_scx_dsq_next(&it))) {
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
	}
	bpf_iter_scx_dsq_destroy(&it);
	return found;
}

static __noinline bool take(u64 position)
{
	bool moved = 0;
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	if (bpf_iter_scx_dsq_new(&it, QUEUE, 0) == 0) {
		while ((p = bpf_iter_scx_dsq_next(&it))) {
			if (p->scx.dsq_vtime != position)
				continue;
			moved = scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return moved;
}

static __always_inline void kick_idle(s32 here)
{
	s32 cpu, idle = -1;

	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		if (cpu != here && !cpu_of(cpu)->busy) {
			idle = cpu;
			break;
		}
	}
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

OPS(bfs_dispatch)
{
	s32 cpu = ARG(s32, 0);
	struct task_struct *prev = ARG(struct task_struct *, 1);
	struct cpu *here = cpu_of(cpu);
	struct task *t = NULL;
	u64 now, since_tick, position = 0;
	s64 deadline = 0;
	s32 prio = PRIO_LIMIT;
	bool runnable = 0, found;

	LOG("dispatch %d %d", cpu, prev ? prev->pid : 0);
	now = refresh(cpu);
	charge(here, now);
	/* Idle CPUs have ticks too, which nobody is told of. */
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
				return 0;
			}
			/* Whoever was the last to be put away here, and still waits, looks elsewhere. */
			if (here->sticky_pid && here->sticky_pid != prev->pid)
				kick_idle(cpu);
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
		return 0;
	}
	/* Another CPU may have taken it, or not have let go of it yet. */
	if (!found || !take(position))
		here->busy = 0;
	return 0;
}

OPS(bfs_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *t = task_of(p);

	LOG("running %d", p->pid);
	if (!t)
		return 0;
	t->gone = 0;
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
	return 0;
}

OPS(bfs_tick)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct cpu *here = cpu_of(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now();
	s32 half = (s32)(tick_ns() / 2 / 1000);

	LOG("tick %d", p->pid);
	charge(here, now);
	if (here->dither) {
		if (here->rq_time_slice <= half) {
			here->rq_time_slice = 0;
			p->scx.slice = 0;
		}
	} else if (here->rq_time_slice < LEAST_SLICE) {
		p->scx.slice = 0;
	}
	here->last_tick = now;
	return 0;
}

OPS(bfs_yield)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	LOG("yield %d", p->pid);
	p->scx.slice = 0;
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
	t->worsened = nice > t->nice;
	t->nice = nice;
	return 0;
}

OPS_SLEEPABLE(bfs_init_task)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct scx_init_task_args *args = ARG(struct scx_init_task_args *, 1);
	struct task *t = bpf_task_storage_get(&tasks, p, NULL, 1);
	struct task *parent;
	struct task_struct *current;
	struct cpu *here;

	LOG("init_task %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return -12;
	t->nice = p->static_prio - 120;
	t->prio = prio_of(p);
	t->cpu = -1;
	if (!args->fork || (u64)p->real_parent == (u64)p)
		return 0;
	current = bpf_get_current_task_btf();
	parent = bpf_task_storage_get(&tasks, current, NULL, 0);
	here = cpu_of(scx_bpf_task_cpu(current));
	if (!parent || here->pid != current->pid)
		return 0;
	t->deadline = parent->deadline + distance(t->nice) - distance(parent->nice);
	t->known = 1;
	if (here->rq_time_slice >= 2 * LEAST_SLICE) {
		here->rq_time_slice /= 2;
		t->time_slice = here->rq_time_slice;
	} else {
		here->rq_time_slice = 0;
		refill(t);
	}
	t->asks_parent = (u64)p->mm != (u64)current->mm;
	return 0;
}

OPS_SLEEPABLE(bfs_init)
{
	s32 cpu;

	LOG("init");
	last_jiffy = bpf_jiffies64();
	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		cpu_of(cpu)->rq_prio = PRIO_LIMIT;
		cpu_of(cpu)->old_clock = scx_bpf_now();
	}
	return scx_bpf_create_dsq(QUEUE, -1);
}

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
	.init = (void *)bfs_init,
	.name = "bfs",
};
