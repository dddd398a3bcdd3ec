/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The kernel's types and functions that the test policies use: names, and only the members in use.
 * Offsets are filled in when a policy is loaded (CO-RE), so that the order of members does not
 * matter.
 */
#ifndef SCX_LAB_H
#define SCX_LAB_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __weak __attribute__((weak))
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define CORE __attribute__((preserve_access_index))
#define NULL ((void *)0)

/* Definitions of maps: numbers are lengths of arrays, types are pointers. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name

/* Addresses of the kernel's configuration, filled in when a policy is loaded. */
#define __kconfig __attribute__((section(".kconfig")))

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_ARRAY = 6, MAP_QUEUE = 22, MAP_TASK_STORAGE = 29 };

struct cpumask { unsigned long bits[1]; } CORE;

struct sched_entity { u64 sum_exec_runtime; } CORE;

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
} CORE;

struct mm_struct { int dummy; } CORE;

struct task_struct {
	int pid;
	int static_prio;
	unsigned int policy;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct sched_ext_entity scx;
	char comm[16];
} CORE;

struct scx_init_task_args { bool fork; } CORE;
enum scx_exit_kind { SCX_EXIT_NONE };
struct scx_exit_info { enum scx_exit_kind kind; s64 exit_code; const char *msg; } CORE;

/* Numbers that user space fills in when a policy is loaded. */
#define SCX_NUMBER(name) const volatile u64 __##name __weak SEC(".rodata")

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *mask);
	void (*update_idle)(s32 cpu, bool idle);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, void *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

/* Arguments of callbacks come as an array of words. */
#define ARG(type, n) ((type)ctx[n])
#define OPS(name) SEC("struct_ops/" #name) int name(u64 *ctx)
#define OPS_SLEEPABLE(name) SEC("struct_ops.s/" #name) int name(u64 *ctx)

#define SCX_OPS_ENQ_EXITING (1 << 2)
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)
#define SCX_DSQ_LOCAL_ON (3ULL << 62)
#define SCX_DSQ_GLOBAL ((1ULL << 63) | 1)
#define SCX_ENQ_WAKEUP 1
#define SCX_ENQ_RESTORE 2
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_DEQ_SLEEP 1
#define SCX_SLICE_DFL 20000000ULL
#define SCX_SLICE_INF (~0ULL)
#define SCX_TASK_QUEUED 1
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2

extern s32 scx_bpf_create_dsq(u64 id, s32 node) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 id, u64 slice, u64 flags) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 id, u64 slice, u64 vtime,
				     u64 flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local(u64 id) __ksym __weak;
extern s32 scx_bpf_dsq_nr_queued(u64 id) __ksym;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 flags, bool *idle) __ksym;
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask *mask, u64 flags) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 size) __ksym __weak;
extern u64 scx_bpf_now(void) __ksym;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;

/* Walking through a queue. */
struct bpf_iter_scx_dsq { u64 opaque[6]; } __attribute__((aligned(8)));
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 id, u64 flags) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 id,
			     u64 flags) __ksym __weak;
extern void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;

/* A loop over numbers from 0 whose end a verifier need not know. */
struct bpf_iter_num { u64 opaque[1]; } __attribute__((aligned(8)));
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
#define FOR(number, end) \
	for (struct bpf_iter_num it_##number __attribute__((cleanup(bpf_iter_num_destroy))), \
	     *once_##number __attribute__((unused)) = \
		(bpf_iter_num_new(&it_##number, 0, end), (void *)0); \
	     ({ int *next = bpf_iter_num_next(&it_##number); number = next ? *next : 0; next; });)

#define HELPER(number, type, name, ...) static type (*const name)(__VA_ARGS__) = (void *)number

HELPER(1, void *, bpf_map_lookup_elem, void *map, const void *key);
HELPER(2, long, bpf_map_update_elem, void *map, const void *key, const void *value, u64 flags);
HELPER(3, long, bpf_map_delete_elem, void *map, const void *key);
HELPER(5, u64, bpf_ktime_get_ns, void);
HELPER(6, long, bpf_trace_printk, const char *fmt, u32 size, ...);
HELPER(8, u32, bpf_get_smp_processor_id, void);
HELPER(87, long, bpf_map_push_elem, void *map, const void *value, u64 flags);
HELPER(88, long, bpf_map_pop_elem, void *map, void *value);
HELPER(158, struct task_struct *, bpf_get_current_task_btf, void);
HELPER(118, u64, bpf_jiffies64, void);
HELPER(156, void *, bpf_task_storage_get, void *map, void *p, void *value, u64 flags);
HELPER(169, long, bpf_timer_init, void *timer, void *map, u64 flags);
HELPER(170, long, bpf_timer_set_callback, void *timer, void *callback);
HELPER(171, long, bpf_timer_start, void *timer, u64 ns, u64 flags);
HELPER(181, long, bpf_loop, u32 count, void *callback, void *context, u64 flags);

/* Decisions, printed if the setting log_events is set: the same text here and in a kernel. */
#define LOGS const volatile bool log_events
#define LOG(format, ...) do { \
	if (log_events) { \
		static const char text[] = format; \
		bpf_trace_printk(text, sizeof(text), ##__VA_ARGS__); \
	} \
} while (0)

/* Walks through a queue in its order. */
#define FOR_QUEUED(p, id) \
	for (struct bpf_iter_scx_dsq it __attribute__((cleanup(bpf_iter_scx_dsq_destroy))), \
	     *once __attribute__((unused)) = (bpf_iter_scx_dsq_new(&it, id, 0), (void *)0); \
	     (p = bpf_iter_scx_dsq_next(&it));)

#ifdef SCX_TWIN
/*
 * Code that the twins of the laboratory's schedulers share. Each defines `struct task`, its data of
 * a task, and uses TASKS; it declares its data of a CPU with PER_CPU.
 */

/* A power of two: the usual maximum number of CPUs of a kernel for servers. */
#define MAX_CPUS 1024
/* Records of decisions have one bit for each of at most this number of CPUs. */
#define MAX_CPUS_LOGGED 64

/* The map of tasks, and the function that finds a task's row: NULL if it has none. */
#define TASKS \
	struct { \
		__uint(type, MAP_TASK_STORAGE); \
		__uint(map_flags, 1); \
		__type(key, int); \
		__type(value, struct task); \
	} tasks SEC(".maps"); \
	u64 lost; \
	static __always_inline struct task *task_of(struct task_struct *p) \
	{ \
		struct task *t = bpf_task_storage_get(&tasks, p, NULL, 0); \
		if (!t) \
			lost++; \
		return t; \
	}

/* Rows of CPUs, and the function that finds a CPU's row. */
#define PER_CPU(type, rows, of) \
	type rows[MAX_CPUS]; \
	static __always_inline type *of(u32 number) \
	{ \
		return &rows[number % MAX_CPUS]; \
	}

extern int CONFIG_HZ __kconfig __weak;

static __always_inline u32 hz(void)
{
	return CONFIG_HZ ? CONFIG_HZ : 250;
}

static __always_inline u64 tick_ns(void)
{
	return 1000000000ULL / hz();
}

/* Wakes the first idle CPU except `here`; `of` finds a CPU's row, which holds its busy flag. */
#define KICK_IDLE(here, of) do { \
	s32 other, idle = -1; \
	FOR(other, scx_bpf_nr_cpu_ids()) { \
		if (other != (here) && !of(other)->busy) { \
			idle = other; \
			break; \
		} \
	} \
	if (idle >= 0) \
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE); \
} while (0)

#define CPU_BIT(cpu) (1ULL << ((u32)(cpu) % MAX_CPUS_LOGGED))

/* Asks a CPU to reschedule; returns the mask for the record of the decision. */
static __always_inline u64 ask(s32 cpu, u64 flags)
{
	scx_bpf_kick_cpu(cpu, flags);
	return CPU_BIT(cpu);
}

/*
 * Moves the task at a position of a queue to the local queue of the CPU, if it may run there;
 * returns its process id, 0 if it is gone.
 */
static __noinline s32 take(s32 cpu, u64 id, u64 position)
{
	struct task_struct *p;
	s32 pid = 0;

	FOR_QUEUED(p, id) {
		if (p->scx.dsq_vtime != position || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (scx_bpf_dsq_move(&it, p, SCX_DSQ_LOCAL, 0))
			pid = p->pid;
		break;
	}
	return pid;
}

/*
 * Events and the policy's decisions, as records of a ring buffer, if the setting
 * log_decisions is set. docs/live-kernel.md describes them; crates/scx/src/twins/decision.rs
 * reads them.
 */
enum what {
	DECISION_INIT, DECISION_INIT_TASK, DECISION_WAKE, DECISION_ENQUEUE, DECISION_TICK,
	DECISION_BLOCK, DECISION_YIELD, DECISION_NICE, DECISION_PICK, DECISION_RUN, DECISION_LEAVE,
	DECISION_EXIT,
};

struct decision {
	u64 number;
	u64 at;
	u64 jiffies;
	/* The address space. */
	u64 mm;
	/* The task's affinity. */
	u64 allowed;
	/* CPUs that the policy asked to reschedule. */
	u64 asks;
	s32 what;
	s32 cpu;
	s32 pid;
	/* The parent of a new task; the task that a pick replaces; at first: ticks per second. */
	s32 other;
	s32 nice;
	s32 policy;
	/* The CPU that the task belongs to. */
	s32 on;
	s32 unused;
};

HELPER(130, long, bpf_ringbuf_output, void *map, const void *record, u64 size, u64 flags);

enum { MAP_RINGBUF = 27, RB_NO_WAKEUP = 1 };

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 4 << 20);
} decisions SEC(".maps");

const volatile bool log_decisions;
u64 decision_number;

static __noinline void write_decision(struct task_struct *p, s32 what, s32 pid, s32 other, u64 asks)
{
	struct decision d = {};

	d.number = __sync_fetch_and_add(&decision_number, 1);
	d.at = scx_bpf_now();
	d.jiffies = bpf_jiffies64();
	d.asks = asks;
	d.what = what;
	d.cpu = bpf_get_smp_processor_id();
	d.pid = pid;
	d.other = other;
	if (p) {
		d.pid = p->pid;
		d.mm = (u64)p->mm;
		d.allowed = p->cpus_ptr->bits[0];
		d.nice = p->static_prio - 120;
		d.policy = p->policy;
		d.on = scx_bpf_task_cpu(p);
	}
	/*
	 * A record that finds no room is noticed by its missing number. No reader is woken: it
	 * would be one more task to write records of.
	 */
	bpf_ringbuf_output(&decisions, &d, sizeof(d), RB_NO_WAKEUP);
}

#define DECISION(what, p, other, asks) do { \
	if (log_decisions) \
		write_decision(p, what, 0, other, asks); \
} while (0)

/* The policy is loaded: number of CPUs, and ticks per second. */
#define DECISIONS_BEGIN do { \
	if (log_decisions) \
		write_decision(NULL, DECISION_INIT, scx_bpf_nr_cpu_ids(), hz(), 0); \
} while (0)

/* The task that runs next on this CPU: a process id, 0: none. */
#define PICK(next, prev) do { \
	struct task_struct *before = prev; \
	if (log_decisions) \
		write_decision(NULL, DECISION_PICK, next, before ? before->pid : 0, 0); \
} while (0)

/* Callbacks that only write records. */
#define RECORDS(policy) \
	OPS(policy##_disable) \
	{ \
		DECISION(DECISION_LEAVE, ARG(struct task_struct *, 0), 0, 0); \
		return 0; \
	} \
	OPS(policy##_exit_task) \
	{ \
		DECISION(DECISION_EXIT, ARG(struct task_struct *, 0), 0, 0); \
		return 0; \
	}

#endif

#endif
