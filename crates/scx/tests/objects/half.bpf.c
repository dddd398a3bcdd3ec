/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A policy that does not run without its user half: an array that is resized, maps that are filled,
 * a program that is called before it is attached, variables that are adjusted while it runs, and
 * records that user space writes. It ends like policies whose user half is missing: `lacks` selects
 * the way. The results are stored in variables; tasks run from queue 64.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

enum {
	MAP_PERCPU_HASH = 5, MAP_LRU_PERCPU_HASH = 10, MAP_ARRAY_OF_MAPS = 12, MAP_RINGBUF = 27,
	MAP_USER_RINGBUF = 31
};
enum kind { KIND_NONE, KIND_BATCH, KIND_URGENT = 7 };

HELPER(195, void *, bpf_map_lookup_percpu_elem, void *map, const void *key, u32 cpu);
HELPER(197, long, bpf_dynptr_from_mem, void *data, u32 size, u64 flags, void *dynptr);
HELPER(198, long, bpf_ringbuf_reserve_dynptr, void *map, u32 size, u64 flags, void *dynptr);
HELPER(199, void, bpf_ringbuf_submit_dynptr, void *dynptr, u64 flags);
HELPER(200, void, bpf_ringbuf_discard_dynptr, void *dynptr, u64 flags);
HELPER(201, long, bpf_dynptr_read, void *to, u32 len, const void *dynptr, u32 offset, u64 flags);
HELPER(202, long, bpf_dynptr_write, const void *dynptr, u32 offset, void *from, u32 len,
       u64 flags);
HELPER(203, void *, bpf_dynptr_data, const void *dynptr, u32 offset, u32 len);
HELPER(209, long, bpf_user_ringbuf_drain, void *map, void *callback, void *context, u64 flags);

struct bpf_dynptr { u64 opaque[2]; } __attribute__((aligned(8)));
extern u64 bpf_dynptr_size(const struct bpf_dynptr *dynptr) __ksym;
extern bool bpf_dynptr_is_rdonly(const struct bpf_dynptr *dynptr) __ksym;
extern s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *mask, int node, u64 flags) __ksym;

/* Objects that layered policies read. */
struct kuid { u32 val; };
struct cred { struct kuid euid; } CORE;
struct ns_common { u32 inum; } CORE;
struct pid_namespace { struct ns_common ns; u32 level; } CORE;
struct upid { int nr; struct pid_namespace *ns; } CORE;
struct pid { u32 level; struct upid numbers[1]; } CORE;
struct signal_struct { int nr_threads; } CORE;
struct task_struct___objects {
	struct pid *thread_pid;
	const struct cred *real_cred;
	struct signal_struct *signal;
} CORE;

struct limits { u32 low; u32 high; };
struct domain {
	u64 mask;
	struct limits limits;
	u32 weights[3];
	u32 is_big : 1;
	u32 level : 7;
	enum kind kind;
	char name[8];
};
struct cmd { u32 what; u64 value; };
struct cpu_arg { s32 cpu; u32 weight; u64 wide; };

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct domain);
} domains SEC(".maps");
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 0);
	__type(key, u32);
	__type(value, u64);
} table SEC(".maps");
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} stats SEC(".maps");
struct {
	__uint(type, MAP_LRU_PERCPU_HASH);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} recent SEC(".maps");
struct {
	__uint(type, MAP_QUEUE);
	__uint(max_entries, 4);
	__type(value, u32);
} todo SEC(".maps");
struct inner {
	__uint(type, MAP_QUEUE);
	__uint(max_entries, 2);
	__type(value, u32);
};
struct {
	__uint(type, MAP_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__uint(value_size, 4);
	struct inner *values[];
} groups SEC(".maps");
struct { __uint(type, MAP_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");
struct { __uint(type, MAP_USER_RINGBUF); __uint(max_entries, 4096); } commands SEC(".maps");

/* 0 nothing; 1 a node without tracking of idle CPUs; 2 a queue that was never created; 3 the same
 * queue twice */
const volatile u32 lacks;
const volatile u32 nr_cpus = 1;
const volatile struct limits bounds = { 1, 2 };
/* The user half makes it as large as the machine. */
u64 of_cpu[1] SEC(".data.of_cpu");

u64 slice_ns = 20000000;
u64 primary, given, sum, first_weight, bits, kind, mask, todos, inners, high, table_last, per_cpu;
u64 drained, values, rdonly, sizes, read_error, uid, nspid, inum, threads, queued, ticks, recents;
u64 dynptrs;
struct cmd last;

static char not_ready[] = "Primary CPUs not initialized";
static char no_entry[] = "Did not find map entry";
static char no_dsq[] = "failed to create DSQ %d";

SEC("syscall")
int set_primary(struct cpu_arg *arg)
{
	if (arg->cpu < 0)
		return -22;
	primary |= 1ULL << (arg->cpu & 63);
	given += arg->weight + arg->wide;
	return 0;
}

SEC("syscall")
int adjust(struct cpu_arg *arg)
{
	slice_ns = arg->weight;
	return 0;
}

static long take(struct bpf_dynptr *record, void *context)
{
	struct cmd cmd = {};
	u64 *sum_of = context;

	if (bpf_dynptr_read(&cmd, sizeof(cmd), record, 0, 0)) {
		read_error++;
		return 0;
	}
	*sum_of += cmd.value;
	last = cmd;
	sizes += bpf_dynptr_size(record);
	rdonly += bpf_dynptr_is_rdonly(record);
	/* Records that user space writes are read-only. */
	read_error += 10 * (bpf_dynptr_write(record, 0, &cmd, 4, 0) != -22);
	return cmd.what == 9;
}

static void use_dynptrs(void)
{
	struct bpf_dynptr dynptr;
	u64 word[2] = { 1, 2 }, copy = 0;
	u64 *at;

	if (bpf_dynptr_from_mem(word, sizeof(word), 0, &dynptr))
		return;
	if (bpf_dynptr_read(&copy, 8, &dynptr, 8, 0) || copy != 2)
		return;
	if (bpf_dynptr_read(&copy, 8, &dynptr, 9, 0) != -7)
		return;
	copy = 5;
	if (bpf_dynptr_write(&dynptr, 0, &copy, 8, 0) || word[0] != 5)
		return;
	if (bpf_ringbuf_reserve_dynptr(&events, 16, 0, &dynptr)) {
		bpf_ringbuf_discard_dynptr(&dynptr, 0);
		return;
	}
	at = bpf_dynptr_data(&dynptr, 0, 16);
	if (at)
		*at = 77;
	bpf_ringbuf_submit_dynptr(&dynptr, 0);
	if (bpf_dynptr_data(&dynptr, 0, 1))
		return;
	if (bpf_ringbuf_reserve_dynptr(&events, 1 << 20, 0, &dynptr) == -22)
		dynptrs = 1;
	bpf_ringbuf_discard_dynptr(&dynptr, 0);
}

static void read_maps(void)
{
	u32 key = 3, zero = 0, last = nr_cpus - 1, value;
	struct domain *domain = bpf_map_lookup_elem(&domains, &key);
	u64 *number;
	void *inner;

	if (domain) {
		mask = domain->mask;
		first_weight = domain->weights[0] * 100 + domain->weights[1] * 10 + domain->weights[2];
		bits = domain->is_big * 1000 + domain->level;
		kind = domain->kind * 1000 + domain->name[0];
		high = domain->limits.high * 10 + bounds.high;
	}
	number = bpf_map_lookup_elem(&table, &last);
	table_last = number ? *number : 0;
	int cpu;

	FOR(cpu, nr_cpus) {
		u64 *of = bpf_map_lookup_percpu_elem(&stats, &zero, cpu);

		per_cpu = per_cpu * 10 + (of ? *of : 9);
		of = bpf_map_lookup_percpu_elem(&recent, &key, cpu);
		recents = recents * 10 + (of ? *of : 9);
		/* The compiler must not know the length of the array. */
		sum += ((volatile u64 *)of_cpu)[cpu];
	}
	while (!bpf_map_pop_elem(&todo, &value))
		todos = todos * 10 + value;
	for (key = 0; key < 4; key++) {
		inner = bpf_map_lookup_elem(&groups, &key);
		value = 5;
		if (inner && !bpf_map_push_elem(inner, &value, 0))
			inners++;
	}
}

OPS_SLEEPABLE(half_init)
{
	u32 zero = 0;
	u64 args[1] = { 64 };

	if (!primary) {
		scx_bpf_error_bstr(not_ready, NULL, 0);
		return -22;
	}
	if (!bpf_map_lookup_elem(&domains, &zero)) {
		scx_bpf_error_bstr(no_entry, NULL, 0);
		return -2;
	}
	if (scx_bpf_create_dsq(64, -1) || (lacks == 3 && scx_bpf_create_dsq(64, -1))) {
		scx_bpf_error_bstr(no_dsq, args, sizeof(args));
		return -17;
	}
	read_maps();
	use_dynptrs();
	return 0;
}

OPS_SLEEPABLE(half_init_task)
{
	struct task_struct___objects *p = ARG(struct task_struct___objects *, 0);
	u32 zero = 0;
	u64 *number = bpf_map_lookup_elem(&table, &zero);

	uid = p->real_cred->euid.val;
	nspid = p->thread_pid->numbers[0].nr;
	inum = p->thread_pid->numbers[0].ns->ns.inum;
	threads = p->signal->nr_threads;
	return number && *number ? 0 : -22;
}

OPS(half_select_cpu)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	bool is_idle = 0;

	if (lacks == 1) {
		s32 cpu = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, 0, 0);

		return cpu >= 0 ? cpu : ARG(s32, 1);
	}
	return scx_bpf_select_cpu_dfl(p, ARG(s32, 1), ARG(u64, 2), &is_idle);
}

OPS(half_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	queued++;
	scx_bpf_dsq_insert(p, lacks == 2 ? 1 : 64, slice_ns, ARG(u64, 1));
	return 0;
}

OPS(half_dispatch)
{
	u64 sum_of = 0;

	drained += bpf_user_ringbuf_drain(&commands, take, &sum_of, 0);
	values += sum_of;
	scx_bpf_dsq_move_to_local(64);
	return 0;
}

OPS(half_tick)
{
	u32 one = 1;
	u64 *number = bpf_map_lookup_elem(&stats, &one);

	ticks++;
	if (number)
		++*number;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops half = {
	.select_cpu = (void *)half_select_cpu,
	.enqueue = (void *)half_enqueue,
	.dispatch = (void *)half_dispatch,
	.tick = (void *)half_tick,
	.init_task = (void *)half_init_task,
	.init = (void *)half_init,
	.name = "half",
};
