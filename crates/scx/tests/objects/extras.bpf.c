/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Features of larger policies: an arena, ring buffers, iterators over groups and tasks, a program
 * that user space runs, idle CPUs by core and node, CPU hotplug, limits of groups, dumps. The
 * results are stored in variables; tasks run from the global queue.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

#define __arena __attribute__((address_space(1)))

enum { MAP_RINGBUF = 27, MAP_ARENA = 33, MMAPABLE = 1 << 10, IDLE_CORE = 1, IN_NODE = 2 };

struct bpf_iter_css { u64 opaque[3]; } __attribute__((aligned(8)));
struct bpf_iter_task { u64 opaque[3]; } __attribute__((aligned(8)));
struct cgroup_subsys_state { void *cgroup; } CORE;
struct kernfs_node { u64 id; } CORE;
struct cgroup { struct cgroup_subsys_state self; int level; struct kernfs_node *kn; } CORE;
struct scx_dump_ctx { int kind; u64 at_ns; } CORE;

/* The table has more callbacks here than the header's. */
struct sched_ext_ops___extras {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*cgroup_init)(struct cgroup *cgrp, void *args);
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period, u64 quota, u64 burst);
	void (*dump)(struct scx_dump_ctx *ctx);
	void (*dump_cpu)(struct scx_dump_ctx *ctx, s32 cpu, bool idle);
	void (*dump_task)(struct scx_dump_ctx *ctx, struct task_struct *p);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, u32 pages, int node,
					   u64 flags) __ksym;
extern void bpf_arena_free_pages(void *map, void __arena *at, u32 pages) __ksym;
extern int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start,
			    unsigned int flags) __ksym;
extern struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym;
extern void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym;
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *of,
			     unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *cgrp) __ksym;
extern const struct cpumask *scx_bpf_get_idle_smtmask(void) __ksym;
extern const struct cpumask *scx_bpf_get_idle_cpumask_node(int node) __ksym;
extern void scx_bpf_put_idle_cpumask(const struct cpumask *mask) __ksym;
extern s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *mask, int node, u64 flags) __ksym;
extern u32 bpf_cpumask_weight(const struct cpumask *mask) __ksym;
extern void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 size) __ksym;

HELPER(130, long, bpf_ringbuf_output, void *map, void *data, u64 size, u64 flags);
HELPER(131, void *, bpf_ringbuf_reserve, void *map, u64 size, u64 flags);
HELPER(132, void, bpf_ringbuf_submit, void *record, u64 flags);
HELPER(153, void *, bpf_per_cpu_ptr, const void *at, u32 cpu);
HELPER(133, void, bpf_ringbuf_discard, void *record, u64 flags);

struct rq { struct task_struct *curr; int cpu; } CORE;
extern const struct rq runqueues __ksym;

struct { __uint(type, MAP_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");
struct { __uint(type, MAP_ARENA); __uint(map_flags, MMAPABLE); __uint(max_entries, 8); }
pages SEC(".maps");

const volatile u32 stall;
const volatile u32 ask_nodes;
u64 primary, given, arena_sum, arena_full, arena_again, records, groups, group_levels, tasks;
u64 curr_pid, online, offline, quota, period, idle_cores, idle_in_node, picked, dumps, exits, dump_len;
u64 __arena counter = 5;

struct pair { s32 cpu; s32 weight; };

SEC("syscall")
int add_primary(struct pair *input)
{
	primary |= 1ULL << (input->cpu & 63);
	given += input->weight;
	return 0;
}

SEC("syscall")
int refuse(void *input)
{
	return -22;
}

static void use_arena(void)
{
	u64 __arena *first = bpf_arena_alloc_pages(&pages, NULL, 1, -1, 0);
	u64 __arena *others = bpf_arena_alloc_pages(&pages, NULL, 3, -1, 0);

	if (!first || !others)
		return;
	for (int i = 0; i < 100; i++)
		others[i] = i;
	*first = 7;
	for (int i = 0; i < 100; i++)
		arena_sum += others[i];
	arena_sum += *first + counter;
	counter++;
	/* The variable has a page, too. */
	arena_full = !bpf_arena_alloc_pages(&pages, NULL, 4, -1, 0);
	bpf_arena_free_pages(&pages, first, 1);
	arena_again = bpf_arena_alloc_pages(&pages, NULL, 1, -1, 0) == first;
}

static void walk_groups(void)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	struct cgroup_subsys_state *css;
	struct bpf_iter_css it;

	if (!root)
		return;
	groups = 0;
	group_levels = 0;
	bpf_iter_css_new(&it, &root->self, 2);
	while ((css = bpf_iter_css_next(&it))) {
		struct cgroup *cgrp = (void *)css;

		groups++;
		group_levels = group_levels * 10 + cgrp->level;
	}
	bpf_iter_css_destroy(&it);
	bpf_cgroup_release(root);
}

static void walk_tasks(void)
{
	struct bpf_iter_task it;

	tasks = 0;
	bpf_iter_task_new(&it, NULL, 1);
	while (bpf_iter_task_next(&it))
		tasks++;
	bpf_iter_task_destroy(&it);
}

OPS_SLEEPABLE(extras_init)
{
	use_arena();
	return 0;
}

OPS(extras_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	u64 data = p->pid;
	u64 *record;

	bpf_ringbuf_output(&events, &data, sizeof(data), 0);
	record = bpf_ringbuf_reserve(&events, 16, 0);
	if (record) {
		record[0] = 1;
		record[1] = p->pid;
		bpf_ringbuf_submit(record, 0);
		records++;
	}
	record = bpf_ringbuf_reserve(&events, 8, 0);
	if (record)
		bpf_ringbuf_discard(record, 0);
	if (bpf_ringbuf_reserve(&events, 1 << 20, 0))
		records = 0;
	if (stall && p->pid == 1000)
		return 0;
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
	return 0;
}

OPS(extras_running)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	if (ask_nodes == 2) {
		const struct cpumask *idle = scx_bpf_get_idle_cpumask_node(1);

		idle_in_node = bpf_cpumask_weight(idle);
		scx_bpf_put_idle_cpumask(idle);
		picked = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, 1, IN_NODE);
	} else {
		const struct cpumask *cores = scx_bpf_get_idle_smtmask();

		idle_cores = bpf_cpumask_weight(cores);
		scx_bpf_put_idle_cpumask(cores);
		if (ask_nodes)
			scx_bpf_get_idle_cpumask_node(0);
	}
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, bpf_get_smp_processor_id());

	if (rq)
		curr_pid = rq->curr->pid;
	walk_groups();
	walk_tasks();
	return 0;
}

OPS_SLEEPABLE(extras_cpu_online)
{
	online = online * 10 + ARG(s32, 0) + 1;
	return 0;
}

OPS_SLEEPABLE(extras_cpu_offline)
{
	offline = offline * 10 + ARG(s32, 0) + 1;
	return 0;
}

OPS_SLEEPABLE(extras_cgroup_init)
{
	return 0;
}

OPS_SLEEPABLE(extras_set_bandwidth)
{
	period = ctx[1];
	quota = ctx[2];
	return 0;
}

static char about[] = "extras: %d records\n";
static char of_cpu[] = "  cpu %d, idle %d";
static char of_task[] = "      pid %d\n";

OPS(extras_dump)
{
	u64 data[1] = { records };

	dumps++;
	scx_bpf_dump_bstr(about, data, sizeof(data));
	return 0;
}

OPS(extras_dump_cpu)
{
	u64 data[2] = { ctx[1], ctx[2] };

	scx_bpf_dump_bstr(of_cpu, data, sizeof(data));
	return 0;
}

OPS(extras_dump_task)
{
	struct task_struct *p = ARG(struct task_struct *, 1);
	u64 data[1] = { p->pid };

	scx_bpf_dump_bstr(of_task, data, sizeof(data));
	return 0;
}

OPS(extras_exit)
{
	exits++;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops___extras extras_ops = {
	.enqueue = (void *)extras_enqueue,
	.running = (void *)extras_running,
	.init = (void *)extras_init,
	.exit = (void *)extras_exit,
	.cpu_online = (void *)extras_cpu_online,
	.cpu_offline = (void *)extras_cpu_offline,
	.cgroup_init = (void *)extras_cgroup_init,
	.cgroup_set_bandwidth = (void *)extras_set_bandwidth,
	.dump = (void *)extras_dump,
	.dump_cpu = (void *)extras_dump_cpu,
	.dump_task = (void *)extras_dump_task,
	.timeout_ms = 5000,
	.name = "extras",
};
