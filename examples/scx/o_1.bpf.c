/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The O(1) scheduler of Linux 2.6.0: an active and an expired array of 140 lists per CPU, slices in
 * ticks, and an estimate of how much a task sleeps. The twin of the laboratory's o_1@2.6.0.
 *
 * An array is a queue in the order of priority and of arrival (dsq_vtime). A running task keeps its
 * place, as in 2.6, where it stays in its list. Slices are endless for the class; a tick, a wakeup
 * or a birth cuts them. An idle CPU takes a task from the longest queue; busy CPUs do not balance.
 */
#define SCX_TWIN
#include "scx_lab.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MAX_PRIO 140
#define MAX_BONUS 10
#define CREDIT_LIMIT 100
#define CHILD_PENALTY 95
/* Room between two places in a queue, for children before their parents. */
#define PLACE_STEP (1 << 20)

enum activated { NOT_WOKEN, BY_PROCESS, BY_INTERRUPT };

LOGS;

struct task {
	u64 sleep_avg;
	u64 timestamp;
	u64 key;
	/* Number of keys, from its own on, that no other task has. */
	u64 room;
	s32 interactive_credit;
	u32 time_slice;
	s32 prio;
	s32 static_prio;
	s32 cpu;
	u32 array;
	u32 activated;
	/* The task that forked it, until it begins. */
	s32 parent;
	bool known;
	bool woken;
	bool changed;
	bool improved;
	bool worsened;
	bool before_parent;
};

TASKS

struct rq {
	u64 expired_timestamp;
	u32 active;
	s32 nr_running;
	s32 curr_prio;
	s32 pid;
	bool busy;
};

PER_CPU(struct rq, rqs, rq_of)

u64 place = 1ULL << 40;

static __always_inline u64 array_id(s32 cpu, u32 array)
{
	return ((u32)cpu % MAX_CPUS) * 2 + (array & 1);
}

static __always_inline u32 jiffies(u32 ms)
{
	u32 n = ms * hz() / 1000;

	return n ? n : 1;
}

static __always_inline u32 avg_timeslice(void)
{
	return jiffies(10) + (jiffies(200) - jiffies(10)) * 19 / 39;
}

static __always_inline u32 task_timeslice(struct task *t)
{
	return jiffies(10) + (jiffies(200) - jiffies(10)) * (u32)(139 - t->static_prio) / 39;
}

/* A step of the bonus, ns, and the maximum of the estimate. */
static __always_inline u64 bonus_step(void)
{
	return avg_timeslice() * tick_ns();
}

static __always_inline u64 max_sleep_avg(void)
{
	return MAX_BONUS * bonus_step();
}

static __always_inline u32 bonus(u64 sleep_avg)
{
	return (u32)(sleep_avg / bonus_step());
}

static __always_inline s32 effective_prio(struct task *t)
{
	s32 prio = t->static_prio - (s32)bonus(t->sleep_avg) + MAX_BONUS / 2;

	if (prio < 100)
		return 100;
	return prio > 139 ? 139 : prio;
}

/* Rounded toward zero, as C divides. */
static __always_inline s32 delta(struct task *t)
{
	s32 nice = t->static_prio - 120;

	return 2 + (nice < 0 ? -(s32)((u32)-nice / 4) : (s32)((u32)nice / 4));
}

static __always_inline bool interactive(struct task *t)
{
	return t->prio <= t->static_prio - delta(t);
}

static __always_inline u64 just_interactive(struct task *t)
{
	u32 steps = MAX_BONUS / 2 + delta(t) + 1;

	return (u64)(avg_timeslice() * MAX_BONUS * steps / MAX_BONUS - 1) * tick_ns();
}

static __always_inline bool high_credit(struct task *t)
{
	return t->interactive_credit > CREDIT_LIMIT;
}

static __always_inline bool low_credit(struct task *t)
{
	return t->interactive_credit < -CREDIT_LIMIT;
}

static __always_inline void earn_credit(struct task *t)
{
	if (!high_credit(t))
		t->interactive_credit++;
}

/* The estimate after a sleep, and the resulting priority. */
static __always_inline void recalc_task_prio(struct task *t, u64 now)
{
	u64 slept = now - t->timestamp;

	if (slept > max_sleep_avg())
		slept = max_sleep_avg();
	if (slept > just_interactive(t)) {
		t->sleep_avg = max_sleep_avg() - bonus_step();
		earn_credit(t);
	} else if (slept) {
		u32 is = bonus(t->sleep_avg);

		slept *= is < MAX_BONUS - 1 ? MAX_BONUS - is : 1;
		if (low_credit(t) && slept > task_timeslice(t) * tick_ns())
			slept = task_timeslice(t) * tick_ns();
		t->sleep_avg += slept;
		if (t->sleep_avg > max_sleep_avg()) {
			t->sleep_avg = max_sleep_avg();
			earn_credit(t);
		}
	}
	t->prio = effective_prio(t);
}

/* To the tail of the list of its priority. */
static __always_inline void to_tail(struct task *t)
{
	place += PLACE_STEP;
	t->key = ((u64)t->prio << 52) + place;
	t->room = PLACE_STEP;
}

OPS(o_1_select_cpu)
{
	return ARG(s32, 1);
}

OPS(o_1_runnable)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("runnable %d %llx", p->pid, ARG(u64, 1));
	if (!t)
		return 0;
	t->cpu = scx_bpf_task_cpu(p);
	rq_of(t->cpu)->nr_running++;
	if (!t->known || !(ARG(u64, 1) & SCX_ENQ_RESTORE))
		t->woken = 1;
	return 0;
}

static __always_inline bool expired_starving(struct rq *rq)
{
	u64 limit = (u64)(avg_timeslice() * MAX_BONUS) * (u32)rq->nr_running;

	return rq->expired_timestamp && bpf_jiffies64() - rq->expired_timestamp > limit;
}

/* A tick of a running task; returns whether its CPU must reschedule. */
static __noinline bool scheduler_tick(struct rq *rq, struct task *t)
{
	bool asks = 0;

	if (t->array != rq->active)
		return 1;
	if (t->time_slice)
		t->time_slice--;
	if (!t->time_slice) {
		t->prio = effective_prio(t);
		t->time_slice = task_timeslice(t);
		if (!rq->expired_timestamp)
			rq->expired_timestamp = bpf_jiffies64();
		if (!interactive(t) || expired_starving(rq))
			t->array = rq->active ^ 1;
		to_tail(t);
		asks = 1;
	} else if (interactive(t)) {
		u32 is = bonus(t->sleep_avg);
		u32 steps = is < MAX_BONUS - 1 ? MAX_BONUS - is - 1 : 0;
		u32 granularity = (jiffies(10) << (steps & 15)) * scx_bpf_nr_cpu_ids();
		u32 used = task_timeslice(t) - t->time_slice;

		if (t->time_slice >= granularity && used % granularity == 0) {
			t->prio = effective_prio(t);
			to_tail(t);
			asks = 1;
		}
	}
	rq->curr_prio = t->prio;
	return asks;
}

/*
 * A task begins, with half of its parent's slice and before it in the queue, so that it runs first;
 * or, without a parent in this policy, with a full slice.
 */
static __noinline void begin(struct task_struct *p, struct task *t)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task *parent = NULL;
	u32 is = MAX_BONUS / 2;

	t->known = 1;
	t->static_prio = p->static_prio;
	t->time_slice = task_timeslice(t);
	t->sleep_avg = is * CHILD_PENALTY / 100 * bonus_step();
	t->prio = effective_prio(t);
	if (t->parent && t->parent == current->pid)
		parent = bpf_task_storage_get(&tasks, current, NULL, 0);
	if (!parent || !parent->known) {
		t->parent = 0;
		return;
	}
	t->time_slice = (parent->time_slice + 1) >> 1;
	parent->time_slice >>= 1;
	if (!parent->time_slice) {
		/* It has given away its last tick, and pays for it now. */
		parent->time_slice = 1;
		scheduler_tick(rq_of(scx_bpf_task_cpu(current)), parent);
	}
	/* Both lose the rest of a step of bonus. */
	is = bonus(parent->sleep_avg);
	parent->sleep_avg = is * bonus_step();
	t->sleep_avg = is * CHILD_PENALTY / 100 * bonus_step();
	t->prio = effective_prio(t);
	if (scx_bpf_task_cpu(current) == t->cpu) {
		t->prio = parent->prio;
		t->array = parent->array;
		t->key = parent->key;
		t->room = parent->room / 2;
		parent->key += parent->room - t->room;
		parent->room = t->room;
		t->before_parent = 1;
	}
}

/* The nice value of a queued or running task changed; returns whether the CPU must reschedule. */
static __always_inline bool changed(struct task *t, bool is_current)
{
	bool asks = t->improved || (t->worsened && is_current);

	to_tail(t);
	t->changed = 0;
	t->improved = 0;
	t->worsened = 0;
	return asks;
}

OPS(o_1_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);
	bool preempts = 0, woken;
	s32 born_of = 0;
	u64 asks = 0;
	struct rq *rq;

	LOG("enqueue %d %llx", p->pid, ARG(u64, 1));
	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ARG(u64, 1));
		return 0;
	}
	if (t->cpu != scx_bpf_task_cpu(p)) {
		/* The class moved it without notice. */
		rq_of(t->cpu)->nr_running--;
		t->cpu = scx_bpf_task_cpu(p);
		rq_of(t->cpu)->nr_running++;
	}
	rq = rq_of(t->cpu);
	woken = t->woken;
	if (woken) {
		u64 now = scx_bpf_now();

		t->array = rq->active;
		if (t->known) {
			recalc_task_prio(t, now);
			if (t->activated == NOT_WOKEN)
				t->activated = BY_INTERRUPT;
			preempts = t->prio < rq->curr_prio;
		} else {
			begin(p, t);
			born_of = t->parent;
			preempts = 1;
		}
		t->timestamp = now;
		if (!t->before_parent)
			to_tail(t);
		t->before_parent = 0;
		t->changed = 0;
	} else if (t->changed) {
		preempts = changed(t, rq->busy && rq->pid == p->pid);
	}
	t->woken = 0;
	scx_bpf_dsq_insert_vtime(p, array_id(t->cpu, t->array), SCX_SLICE_INF, t->key,
				 ARG(u64, 1));
	if (preempts)
		asks = ask(t->cpu, SCX_KICK_PREEMPT);
	/* In 2.6 an idle CPU looks at each tick; here it receives no ticks. */
	if (rq->busy)
		KICK_IDLE(t->cpu, rq_of);
	DECISION(woken ? DECISION_WAKE : DECISION_ENQUEUE, p, born_of, asks);
	return 0;
}

/* The key of the first task of an array; the largest number if the array is empty. */
static __noinline u64 first_key(u64 id)
{
	struct task_struct *p;
	u64 key = ~0ULL;

	FOR_QUEUED(p, id) {
		key = p->scx.dsq_vtime;
		break;
	}
	return key;
}

/* The time that a picked task waited counts as sleep. */
static __always_inline void picked(struct task *t, u64 now)
{
	if (t->activated != NOT_WOKEN) {
		u64 waited = now - t->timestamp;

		if (t->activated == BY_PROCESS)
			waited = waited * 38 / 128;
		recalc_task_prio(t, t->timestamp + waited);
		to_tail(t);
	}
	t->activated = NOT_WOKEN;
	t->timestamp = now;
}

/* Takes the first task of an array that may run on a CPU; its process id, 0 if there is none. */
static __noinline s32 take_first(s32 cpu, u64 id, bool pulls)
{
	struct task_struct *p;
	s32 pid = 0;

	FOR_QUEUED(p, id) {
		struct task *t;

		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		t = task_of(p);
		if (t) {
			if (pulls) {
				rq_of(t->cpu)->nr_running--;
				rq_of(cpu)->nr_running++;
				t->cpu = cpu;
				t->array = rq_of(cpu)->active;
			}
			picked(t, scx_bpf_now());
		}
		if (scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL, 0))
			pid = p->pid;
		break;
	}
	return pid;
}

/* An idle CPU takes a task from the longest queue. */
static __noinline s32 pull(s32 here)
{
	s32 busiest = -1, most = 1, cpu, pid;
	u32 active;

	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		if (cpu != here && rq_of(cpu)->nr_running > most) {
			most = rq_of(cpu)->nr_running;
			busiest = cpu;
		}
	}
	if (busiest < 0)
		return 0;
	active = rq_of(busiest)->active;
	pid = take_first(here, array_id(busiest, active ^ 1), 1);
	return pid ? pid : take_first(here, array_id(busiest, active), 1);
}

OPS(o_1_dispatch)
{
	s32 cpu = ARG(s32, 0);
	struct task_struct *prev = ARG(struct task_struct *, 1);
	struct rq *rq = rq_of(cpu);
	struct task *t = NULL;
	u64 now = scx_bpf_now(), key;
	bool runnable = 0, keeps = 0;
	s32 pid;

	LOG("dispatch %d %d", cpu, prev ? prev->pid : 0);
	if (prev && rq->busy && prev->pid == rq->pid)
		t = task_of(prev);
	if (t) {
		u64 run_time = now - t->timestamp;

		runnable = (prev->scx.flags & SCX_TASK_QUEUED) &&
			   bpf_cpumask_test_cpu(cpu, prev->cpus_ptr);
		if (run_time > max_sleep_avg())
			run_time = max_sleep_avg();
		if (high_credit(t) && bonus(t->sleep_avg))
			run_time /= bonus(t->sleep_avg);
		t->sleep_avg -= run_time < t->sleep_avg ? run_time : t->sleep_avg;
		if (!t->sleep_avg && !high_credit(t) && !low_credit(t))
			t->interactive_credit--;
		t->timestamp = now;
	}
	key = first_key(array_id(cpu, rq->active));
	if (key == ~0ULL && !(runnable && t->array == rq->active)) {
		u64 other = first_key(array_id(cpu, rq->active ^ 1));

		if (other == ~0ULL && !runnable) {
			rq->expired_timestamp = 0;
			pid = pull(cpu);
			if (!pid) {
				rq->busy = 0;
				rq->curr_prio = MAX_PRIO;
			}
			PICK(pid, prev);
			return 0;
		}
		rq->active ^= 1;
		rq->expired_timestamp = 0;
		key = other;
	}
	if (t && runnable && t->array == rq->active)
		keeps = t->key < key;
	if (keeps) {
		prev->scx.slice = SCX_SLICE_INF;
		rq->curr_prio = t->prio;
		PICK(prev->pid, prev);
		return 0;
	}
	pid = take_first(cpu, array_id(cpu, rq->active), 0);
	PICK(pid, prev);
	return 0;
}

OPS(o_1_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct rq *rq = rq_of(scx_bpf_task_cpu(p));
	struct task *t = task_of(p);
	u64 asks = 0;

	LOG("running %d", p->pid);
	if (!t)
		return 0;
	/* A running task that is changed need not come from the queue. */
	if (t->changed && changed(t, 1))
		asks = ask(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
	DECISION(DECISION_RUN, p, 0, asks);
	rq->busy = 1;
	rq->pid = p->pid;
	rq->curr_prio = t->prio;
	return 0;
}

OPS(o_1_stopping)
{
	LOG("stopping %d %d", ARG(struct task_struct *, 0)->pid, ARG(u32, 1));
	return 0;
}

OPS(o_1_quiescent)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("quiescent %d %llx", p->pid, ARG(u64, 1));
	if (t)
		rq_of(t->cpu)->nr_running--;
	if (ARG(u64, 1) & SCX_DEQ_SLEEP)
		DECISION(DECISION_BLOCK, p, 0, 0);
	return 0;
}

OPS(o_1_tick)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	s32 cpu = scx_bpf_task_cpu(p);
	struct task *t = task_of(p);
	bool asks;

	LOG("tick %d", p->pid);
	if (!t)
		return 0;
	asks = scheduler_tick(rq_of(cpu), t);
	if (asks)
		p->scx.slice = 0;
	DECISION(DECISION_TICK, p, 0, asks ? CPU_BIT(cpu) : 0);
	return 0;
}

OPS(o_1_yield)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("yield %d", p->pid);
	if (!t)
		return 0;
	t->array = rq_of(scx_bpf_task_cpu(p))->active ^ 1;
	to_tail(t);
	p->scx.slice = 0;
	DECISION(DECISION_YIELD, p, 0, CPU_BIT(scx_bpf_task_cpu(p)));
	return 0;
}

OPS(o_1_set_weight)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct task *t = task_of(p);

	LOG("set_weight %d %d", p->pid, p->static_prio - 120);
	if (!t || t->static_prio == p->static_prio)
		return 0;
	/* The bonus is lost until the next wakeup or end of slice. */
	t->changed = 1;
	t->improved = p->static_prio < t->prio;
	t->worsened = p->static_prio > t->prio;
	t->static_prio = p->static_prio;
	t->prio = p->static_prio;
	DECISION(DECISION_NICE, p, 0, 0);
	return 0;
}

OPS_SLEEPABLE(o_1_init_task)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	struct scx_init_task_args *args = ARG(struct scx_init_task_args *, 1);
	struct task *t = bpf_task_storage_get(&tasks, p, NULL, 1);

	LOG("init_task %d %d", p->pid, p->static_prio - 120);
	if (!t)
		return -12;
	t->static_prio = p->static_prio;
	t->prio = t->static_prio;
	t->timestamp = scx_bpf_now();
	t->cpu = scx_bpf_task_cpu(p);
	if (args->fork && (u64)p->real_parent != (u64)p)
		t->parent = bpf_get_current_task_btf()->pid;
	DECISION(DECISION_INIT_TASK, p, t->parent, 0);
	return 0;
}

OPS_SLEEPABLE(o_1_init)
{
	s32 cpu, error;

	LOG("init");
	DECISIONS_BEGIN;
	FOR(cpu, scx_bpf_nr_cpu_ids()) {
		rq_of(cpu)->curr_prio = MAX_PRIO;
		error = scx_bpf_create_dsq(array_id(cpu, 0), -1);
		if (error)
			return error;
		error = scx_bpf_create_dsq(array_id(cpu, 1), -1);
		if (error)
			return error;
	}
	return 0;
}

RECORDS(o_1)

SEC(".struct_ops.link")
struct sched_ext_ops o_1_ops = {
	.select_cpu = (void *)o_1_select_cpu,
	.enqueue = (void *)o_1_enqueue,
	.dispatch = (void *)o_1_dispatch,
	.tick = (void *)o_1_tick,
	.runnable = (void *)o_1_runnable,
	.running = (void *)o_1_running,
	.stopping = (void *)o_1_stopping,
	.quiescent = (void *)o_1_quiescent,
	.yield = (void *)o_1_yield,
	.set_weight = (void *)o_1_set_weight,
	.init_task = (void *)o_1_init_task,
	.exit_task = (void *)o_1_exit_task,
	.disable = (void *)o_1_disable,
	.init = (void *)o_1_init,
	/* A task that exits still belongs to the policy. */
	.flags = SCX_OPS_ENQ_EXITING,
	.name = "o_1",
};
