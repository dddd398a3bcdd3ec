/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The scheduler of Linux 2.4, O(n): one list of all tasks, counters in ticks, and goodness. The twin
 * of the laboratory's o_n@2.4.19, and of o_n@2.4.22 with at_tail.
 *
 * The list is a queue in the order of positions (dsq_vtime). A running task keeps its position, as
 * in 2.4, where it stays in the list. An epoch is a number; each task catches up when it is looked
 * at. Nothing preempts but what 2.4 asks for: slices are endless, and a tick or a wakeup cuts them.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define LIST 0
#define MAX_CPUS 64
#define ANOTHER_CPU 15
#define NOTHING_FOUND (-1000)
/* So many epochs lead any counter to where it stays. */
#define EPOCHS 16

extern int CONFIG_HZ __kconfig __weak;

const volatile bool at_tail;
LOGS;

struct task {
	s32 counter;
	s32 nice;
	u64 epoch;
	u64 position;
	s32 processor;
	bool yielded;
	bool woken;
};

struct {
	__uint(type, MAP_TASK_STORAGE);
	__uint(map_flags, 1);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

/* What runs on a CPU, as others see it. */
struct cpu {
	bool busy;
	bool yielded;
	s32 counter;
	s32 nice;
	u64 epoch;
	u64 mm;
	u64 last_schedule;
};

struct cpu cpus[MAX_CPUS];
u64 epoch;
u64 first = 1ULL << 40, last = 1ULL << 40;
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

static __always_inline s32 full(s32 nice)
{
	u32 hz = CONFIG_HZ ? CONFIG_HZ : 250;
	u32 left = 20 - nice;

	if (hz < 200)
		left >>= 2;
	else if (hz < 400)
		left >>= 1;
	else if (hz >= 1600)
		left <<= 2;
	else if (hz >= 800)
		left <<= 1;
	return left + 1;
}

/*
 * The epochs that began since the counter was looked at. (No static function: a verifier looks at
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

/* What others see of the task that runs on a CPU. */
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
	if (t && !(ARG(u64, 1) & SCX_ENQ_RESTORE)) {
		t->woken = 1;
		t->position = at_tail ? ++last : --first;
	}
	return 0;
}

/* Asks at most one CPU to look at a task. */
static __always_inline void reschedule_idle(struct task_struct *p, struct task *t)
{
	u32 nr = scx_bpf_nr_cpu_ids();
	s32 best_cpu = -1, most = 0, cpu;
	u64 oldest = ~0ULL;
	bool found_idle = 0;

	if (t->processor >= 0 && !cpu_of(t->processor)->busy &&
	    bpf_cpumask_test_cpu(t->processor, p->cpus_ptr)) {
		scx_bpf_kick_cpu(t->processor, SCX_KICK_IDLE);
		return;
	}
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
	if (best_cpu >= 0)
		scx_bpf_kick_cpu(best_cpu, found_idle ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

OPS(goodness_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);
	bool woken, yielded;

	LOG("enqueue %d %llx", p->pid, ARG(u64, 1));
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ARG(u64, 1));
		return 0;
	}
	catch_up(t);
	if (t->processor < 0)
		t->processor = scx_bpf_task_cpu(p);
	woken = t->woken;
	yielded = t->yielded;
	t->woken = 0;
	/* The schedule tail: who was put away has not yielded any more, and looks for a CPU. */
	if (!woken)
		t->yielded = 0;
	scx_bpf_dsq_insert_vtime(p, LIST, SCX_SLICE_INF, t->position, ARG(u64, 1));
	if (woken || (is_smp() && !yielded))
		reschedule_idle(p, t);
	return 0;
}

/* The position of the best task of the list for a CPU, and how good it is. */
static __noinline s32 walk(u32 cpu, u64 mm, u64 *position)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	s32 best = NOTHING_FOUND;
	bool smp = is_smp();

	if (bpf_iter_scx_dsq_new(&it, LIST, 0) == 0) {
		while ((p = bpf_iter_scx_dsq_next(&it))) {
			struct task *t = task_of(p);
			s32 good;

			if (!t || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
				continue;
			catch_up(t);
			good = goodness(t->counter, t->nice, t->yielded,
					smp && t->processor == cpu, has_mm(p, mm));
			if (good > best) {
				best = good;
				*position = t->position;
			}
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return best;
}

/* Takes the task of a position to the local queue. */
static __noinline void take(u64 position)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	if (bpf_iter_scx_dsq_new(&it, LIST, 0) == 0) {
		while ((p = bpf_iter_scx_dsq_next(&it))) {
			if (p->scx.dsq_vtime != position)
				continue;
			scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
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

	LOG("dispatch %d %d", cpu, prev ? prev->pid : 0);
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
		return 0;
	}
	if (best > NOTHING_FOUND) {
		take(position);
	} else {
		here->busy = 0;
		here->last_schedule = scx_bpf_now();
	}
	return 0;
}

OPS(goodness_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *t = task_of(p);

	LOG("running %d", p->pid);
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
	return 0;
}

OPS(goodness_yield)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("yield %d", p->pid);
	if (!t || !scx_bpf_dsq_nr_queued(LIST))
		return 0;
	t->yielded = 1;
	t->position = ++last;
	p->scx.slice = 0;
	show(cpu_of(scx_bpf_task_cpu(p)), t);
	return 0;
}

OPS(goodness_set_weight)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("set_weight %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return 0;
	/* Past epochs gave what the old value said. */
	catch_up(t);
	t->nice = p->static_prio - 120;
	return 0;
}

OPS_SLEEPABLE(goodness_init_task)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct scx_init_task_args *args = ARG(struct scx_init_task_args *, 1);
	struct task *t = bpf_task_storage_get(&tasks, p, NULL, 1);
	struct task *parent;

	LOG("init_task %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return -12;
	t->nice = p->static_prio - 120;
	t->counter = full(t->nice);
	t->epoch = epoch;
	t->processor = -1;
	if (!args->fork || (u64)p->real_parent == (u64)p)
		return 0;
	/* Half of what the parent has; nobody gains by forking. */
	p = bpf_get_current_task_btf();
	parent = bpf_task_storage_get(&tasks, p, NULL, 0);
	if (!parent)
		return 0;
	catch_up(parent);
	t->counter = (parent->counter + 1) >> 1;
	parent->counter >>= 1;
	if (!parent->counter)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
	return 0;
}

OPS_SLEEPABLE(goodness_init)
{
	LOG("init");
	return scx_bpf_create_dsq(LIST, -1);
}

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
	.init = (void *)goodness_init,
	.name = "goodness",
};
