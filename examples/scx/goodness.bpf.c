/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The scheduler of Linux 2.4, O(n): one list of all tasks, counters in ticks, and goodness. The
 * twin of the laboratory's o_n@2.4.19, and of o_n@2.4.22 with at_tail.
 *
 * The list is a queue in the order of positions (dsq_vtime). A running task keeps its position, as
 * in 2.4. An epoch is a number; each task catches up when its counter is read. Preemption happens
 * only where 2.4 requests it: slices are endless, and a tick or a wakeup cuts them.
 */
#define SCX_TWIN
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define LIST 0
#define ANOTHER_CPU 15
#define NOTHING_FOUND (-1000)
/* Number of epochs after which any counter has reached its limit. */
#define EPOCHS 16

const volatile bool at_tail;
LOGS;

struct task {
	s32 counter;
	s32 nice;
	u64 epoch;
	u64 position;
	s32 processor;
	/* The task that forked it, until it begins. */
	s32 parent;
	bool known;
	bool yielded;
	bool woken;
};

TASKS

/* The task that runs on a CPU, as other CPUs see it. */
struct cpu {
	bool busy;
	bool yielded;
	s32 counter;
	s32 nice;
	u64 epoch;
	u64 mm;
	u64 last_schedule;
};

PER_CPU(struct cpu, cpus, cpu_of)

u64 epoch;
u64 first = 1ULL << 40, last = 1ULL << 40;

static __always_inline s32 full(s32 nice)
{
	u32 left = 20 - nice;

	if (hz() < 200)
		left >>= 2;
	else if (hz() < 400)
		left >>= 1;
	else if (hz() >= 1600)
		left <<= 2;
	else if (hz() >= 800)
		left <<= 1;
	return left + 1;
}

/*
 * The epochs that began since the counter was last read. (Not a static function: a verifier checks
 * it once, not at each call.)
 */
s32 caught_up(s32 counter, s32 nice, u64 since);
__noinline s32 caught_up(s32 counter, s32 nice, u64 since)
{
	u64 missed = epoch - since;

#pragma clang loop unroll(disable)
	for (int i = 0; i < EPOCHS; i++) {
		if (i >= missed)
			break;
		counter = (counter >> 1) + full(nice);
	}
	return counter;
}

static __always_inline void catch_up(struct task *t)
{
	t->counter = caught_up(t->counter, t->nice, t->epoch);
	t->epoch = epoch;
}

static __always_inline s32 goodness(s32 counter, s32 nice, bool yielded, bool is_here, bool has_mm)
{
	if (yielded)
		return -1;
	if (counter == 0)
		return 0;
	return counter + (is_here ? ANOTHER_CPU : 0) + (has_mm ? 1 : 0) + 20 - nice;
}

static __always_inline bool is_smp(void)
{
	return scx_bpf_nr_cpu_ids() > 1;
}

static __always_inline bool has_mm(struct task_struct *p, u64 at_hand)
{
	u64 mm = (u64)p->mm;

	return !mm || mm == at_hand;
}

/* Publishes the task that runs on a CPU for other CPUs. */
static __always_inline void show(struct cpu *here, struct task *t)
{
	here->counter = t->counter;
	here->nice = t->nice;
	here->epoch = t->epoch;
	here->yielded = t->yielded;
}

OPS(goodness_select_cpu)
{
	return ARG(s32, 1);
}

OPS(goodness_runnable)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("runnable %d %llx", p->pid, ARG(u64, 1));
	if (t && (!t->known || !(ARG(u64, 1) & SCX_ENQ_RESTORE))) {
		t->woken = 1;
		t->position = at_tail ? ++last : --first;
	}
	return 0;
}

/* Kicks at most one CPU for a task; returns which. */
static __always_inline u64 reschedule_idle(struct task_struct *p, struct task *t)
{
	u32 nr = scx_bpf_nr_cpu_ids();
	s32 best_cpu = -1, most = 0, cpu;
	u64 oldest = ~0ULL;
	bool found_idle = 0;

	if (t->processor >= 0 && !cpu_of(t->processor)->busy &&
	    bpf_cpumask_test_cpu(t->processor, p->cpus_ptr))
		return ask(t->processor, SCX_KICK_IDLE);
	FOR(cpu, nr) {
		struct cpu *there = cpu_of(cpu);
		s32 difference, counter;

		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (!there->busy) {
			if (!found_idle || there->last_schedule < oldest) {
				oldest = there->last_schedule;
				best_cpu = cpu;
				found_idle = 1;
			}
			continue;
		}
		if (found_idle)
			continue;
		counter = caught_up(there->counter, there->nice, there->epoch);
		difference = goodness(t->counter, t->nice, t->yielded,
				      nr > 1 && t->processor == cpu, has_mm(p, there->mm)) -
			     goodness(counter, there->nice, there->yielded, nr > 1, 1);
		if (difference > most) {
			most = difference;
			best_cpu = cpu;
		}
	}
	if (best_cpu < 0)
		return 0;
	return ask(best_cpu, found_idle ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

/* A task begins with half of its parent's counter: forking gains nothing. Else with a full one. */
static __always_inline u64 begin(struct task_struct *p, struct task *t)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task *parent = NULL;

	t->known = 1;
	t->nice = p->static_prio - 120;
	t->counter = full(t->nice);
	t->epoch = epoch;
	if (t->parent && t->parent == current->pid)
		parent = bpf_task_storage_get(&tasks, current, NULL, 0);
	if (!parent || !parent->known) {
		t->parent = 0;
		return 0;
	}
	/* It may have called execve since it began to run. */
	if (current->mm)
		cpu_of(scx_bpf_task_cpu(current))->mm = (u64)current->mm;
	catch_up(parent);
	t->counter = (parent->counter + 1) >> 1;
	parent->counter >>= 1;
	show(cpu_of(scx_bpf_task_cpu(current)), parent);
	return parent->counter ? 0 : ask(scx_bpf_task_cpu(current), SCX_KICK_PREEMPT);
}

OPS(goodness_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);
	bool woken, yielded;
	u64 asks = 0;
	s32 born_of = 0;

	LOG("enqueue %d %llx", p->pid, ARG(u64, 1));
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ARG(u64, 1));
		return 0;
	}
	if (!t->known) {
		asks = begin(p, t);
		born_of = t->parent;
	}
	catch_up(t);
	if (t->processor < 0)
		t->processor = scx_bpf_task_cpu(p);
	woken = t->woken;
	yielded = t->yielded;
	t->woken = 0;
	/* The schedule tail: the task put away has no longer yielded, and looks for a CPU. */
	if (!woken)
		t->yielded = 0;
	/* A task that was put back before it was ever runnable has no row yet. */
	if (!t->position)
		t->position = at_tail ? ++last : --first;
	scx_bpf_dsq_insert_vtime(p, LIST, SCX_SLICE_INF, t->position, ARG(u64, 1));
	if (woken || (is_smp() && !yielded && !(ARG(u64, 1) & SCX_ENQ_RESTORE)))
		asks |= reschedule_idle(p, t);
	DECISION(woken ? DECISION_WAKE : DECISION_ENQUEUE, p, born_of, asks);
	return 0;
}

/* The position of the best task of the list for a CPU, and its goodness. */
static __noinline s32 walk(u32 cpu, u64 mm, u64 *position)
{
	struct task_struct *p;
	s32 best = NOTHING_FOUND;
	bool smp = is_smp();

	FOR_QUEUED(p, LIST) {
		struct task *t = task_of(p);
		s32 good;

		if (!t || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		catch_up(t);
		good = goodness(t->counter, t->nice, t->yielded, smp && t->processor == cpu,
				has_mm(p, mm));
		if (good > best) {
			best = good;
			*position = t->position;
		}
	}
	return best;
}

OPS(goodness_dispatch)
{
	s32 cpu = ARG(s32, 0);
	struct task_struct *prev = ARG(struct task_struct *, 1);
	struct cpu *here = cpu_of(cpu);
	struct task *t = NULL;
	u64 position = 0;
	s32 best = NOTHING_FOUND;
	bool keep = 0;
	s32 pid = 0;

	LOG("dispatch %d %d", cpu, prev ? prev->pid : 0);
	/* It may have called execve since it began to run. */
	if (prev && prev->mm)
		here->mm = (u64)prev->mm;
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED) &&
	    bpf_cpumask_test_cpu(cpu, prev->cpus_ptr))
		t = task_of(prev);
	for (int round = 0; round < 2; round++) {
		best = walk(cpu, here->mm, &position);
		keep = 0;
		if (t) {
			s32 own;

			catch_up(t);
			own = goodness(t->counter, t->nice, t->yielded, is_smp(),
				       has_mm(prev, here->mm));
			if (own > best || (own == best && (s64)(t->position - position) < 0)) {
				best = own;
				keep = 1;
			}
		}
		if (best)
			break;
		epoch++;
	}
	if (keep) {
		t->yielded = 0;
		show(here, t);
		prev->scx.slice = SCX_SLICE_INF;
		PICK(prev->pid, prev);
		return 0;
	}
	if (best > NOTHING_FOUND) {
		pid = take(cpu, LIST, position);
	} else {
		here->busy = 0;
		here->last_schedule = scx_bpf_now();
	}
	PICK(pid, prev);
	return 0;
}

OPS(goodness_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *t = task_of(p);

	LOG("running %d", p->pid);
	DECISION(DECISION_RUN, p, 0, 0);
	if (!t)
		return 0;
	catch_up(t);
	t->processor = cpu;
	if (p->mm)
		here->mm = (u64)p->mm;
	here->busy = 1;
	here->last_schedule = scx_bpf_now();
	show(here, t);
	return 0;
}

OPS(goodness_stopping)
{
	LOG("stopping %d %d", ARG(struct task_struct *, 0)->pid, ARG(u32, 1));
	return 0;
}

OPS(goodness_quiescent)
{
	LOG("quiescent %d %llx", ARG(struct task_struct *, 0)->pid, ARG(u64, 1));
	if (ARG(u64, 1) & SCX_DEQ_SLEEP)
		DECISION(DECISION_BLOCK, ARG(struct task_struct *, 0), 0, 0);
	return 0;
}

OPS(goodness_tick)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("tick %d", p->pid);
	if (!t)
		return 0;
	catch_up(t);
	t->counter--;
	if (t->counter <= 0) {
		t->counter = 0;
		p->scx.slice = 0;
	}
	show(cpu_of(scx_bpf_task_cpu(p)), t);
	DECISION(DECISION_TICK, p, 0, t->counter ? 0 : CPU_BIT(scx_bpf_task_cpu(p)));
	return 0;
}

OPS(goodness_yield)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("yield %d", p->pid);
	if (!t)
		return 0;
	if (!scx_bpf_dsq_nr_queued(LIST)) {
		DECISION(DECISION_YIELD, p, 0, 0);
		return 0;
	}
	t->yielded = 1;
	t->position = ++last;
	p->scx.slice = 0;
	show(cpu_of(scx_bpf_task_cpu(p)), t);
	DECISION(DECISION_YIELD, p, 0, CPU_BIT(scx_bpf_task_cpu(p)));
	return 0;
}

OPS(goodness_set_weight)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("set_weight %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return 0;
	/* Past epochs use the old value. */
	catch_up(t);
	t->nice = p->static_prio - 120;
	DECISION(DECISION_NICE, p, 0, 0);
	return 0;
}

OPS_SLEEPABLE(goodness_init_task)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct scx_init_task_args *args = ARG(struct scx_init_task_args *, 1);
	struct task *t = bpf_task_storage_get(&tasks, p, NULL, 1);

	LOG("init_task %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return -12;
	t->nice = p->static_prio - 120;
	t->processor = -1;
	if (args->fork && (u64)p->real_parent != (u64)p)
		t->parent = bpf_get_current_task_btf()->pid;
	DECISION(DECISION_INIT_TASK, p, t->parent, 0);
	return 0;
}

OPS_SLEEPABLE(goodness_init)
{
	LOG("init");
	DECISIONS_BEGIN;
	return scx_bpf_create_dsq(LIST, -1);
}

RECORDS(goodness)

SEC(".struct_ops.link")
struct sched_ext_ops goodness_ops = {
	.select_cpu = (void *)goodness_select_cpu,
	.enqueue = (void *)goodness_enqueue,
	.dispatch = (void *)goodness_dispatch,
	.tick = (void *)goodness_tick,
	.runnable = (void *)goodness_runnable,
	.running = (void *)goodness_running,
	.stopping = (void *)goodness_stopping,
	.quiescent = (void *)goodness_quiescent,
	.yield = (void *)goodness_yield,
	.set_weight = (void *)goodness_set_weight,
	.init_task = (void *)goodness_init_task,
	.exit_task = (void *)goodness_exit_task,
	.disable = (void *)goodness_disable,
	.init = (void *)goodness_init,
	/* A task that exits still belongs to the policy. */
	.flags = SCX_OPS_ENQ_EXITING,
	.name = "goodness",
};
