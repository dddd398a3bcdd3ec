/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Uses one of everything, and stores the results in variables; schedules from the global queue. */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

struct bpf_timer { u64 opaque[2]; } __attribute__((aligned(8)));
struct timers { struct bpf_timer timer; u64 fired; };
struct bpf_cpumask;
struct rq___gone { int nothing_of_the_kind; } CORE;

extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *mask) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *mask) __ksym;
extern u32 bpf_cpumask_weight(const struct cpumask *mask) __ksym;
extern void scx_bpf_not_there(void) __ksym __weak;
extern int LINUX_KERNEL_VERSION __attribute__((section(".kconfig")));
extern int CONFIG_HZ __attribute__((section(".kconfig")));

struct { __uint(type, MAP_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, u64); }
numbers SEC(".maps");
struct { __uint(type, MAP_HASH); __uint(max_entries, 2); __type(key, u64); __type(value, u64); }
pairs SEC(".maps");
struct { __uint(type, MAP_QUEUE); __uint(max_entries, 4); __type(value, s32); }
queue SEC(".maps");
struct { __uint(type, MAP_TASK_STORAGE); __uint(map_flags, 1); __type(key, int);
	 __type(value, u64); }
seen SEC(".maps");
struct { __uint(type, MAP_ARRAY); __uint(max_entries, 1); __type(key, u32);
	 __type(value, struct timers); }
timer_map SEC(".maps");

SCX_NUMBER(SCX_SLICE_INF);

u64 looped, iterated, pushed, popped, hash_full, exists, weight, ticks, wakeups;
u64 version, hz, slice_inf, absent, field, static_sum, queue_empty;
s32 table[4];

static int count(u64 index, u64 *sum)
{
	*sum += index;
	return index == 9;
}

static int fired(void *map, u32 *key, struct timers *value)
{
	value->fired++;
	bpf_timer_start(&value->timer, 1000000, 0);
	return 0;
}

static __attribute__((noinline)) u64 sum_of(u64 a, u64 b)
{
	return a + 2 * b;
}

OPS_SLEEPABLE(features_init)
{
	struct bpf_iter_num it;
	struct bpf_cpumask *mask = bpf_cpumask_create();
	u64 sum = 0, key = 1, value = 5;
	u32 zero = 0;
	struct timers *timers = bpf_map_lookup_elem(&timer_map, &zero);
	int *i;

	bpf_loop(100, count, &sum, 0);
	looped = sum;
	bpf_iter_num_new(&it, 3, 6);
	while ((i = bpf_iter_num_next(&it)))
		iterated = iterated * 10 + *i;
	bpf_iter_num_destroy(&it);
	for (s32 n = 1; n <= 3; n++)
		pushed += bpf_map_push_elem(&queue, &n, 0) == 0;
	s32 first = 0, last;
	bpf_map_pop_elem(&queue, &first);
	popped = first;
	bpf_map_pop_elem(&queue, &last);
	bpf_map_pop_elem(&queue, &last);
	queue_empty = -bpf_map_pop_elem(&queue, &last);
	for (; key <= 3; key++)
		hash_full = -bpf_map_update_elem(&pairs, &key, &value, 0);
	key = 2;
	exists = bpf_map_lookup_elem(&pairs, &key) != NULL;
	if (mask) {
		bpf_cpumask_set_cpu(1, mask);
		bpf_cpumask_set_cpu(2, mask);
		weight = bpf_cpumask_weight((void *)mask);
		bpf_cpumask_release(mask);
	}
	if (timers) {
		bpf_timer_init(&timers->timer, &timer_map, 1);
		bpf_timer_set_callback(&timers->timer, fired);
		bpf_timer_start(&timers->timer, 1000000, 0);
	}
	version = LINUX_KERNEL_VERSION;
	hz = CONFIG_HZ;
	slice_inf = __SCX_SLICE_INF;
	absent = scx_bpf_not_there == NULL;
	field = __builtin_preserve_field_info(((struct rq___gone *)0)->nothing_of_the_kind, 2);
	if (!absent)
		scx_bpf_not_there();
	for (int n = 0; n < 4; n++)
		table[n] = n - 2;
	static_sum = sum_of(table[3], table[3] + hz);
	return 0;
}

OPS(features_runnable)
{
	struct task_struct *p = ARG(struct task_struct *, 0);
	u64 *count = bpf_task_storage_get(&seen, p, NULL, 1);

	if (count && ++*count > wakeups)
		wakeups = *count;
	return 0;
}

OPS(features_tick)
{
	u32 key = 2;
	u64 *number = bpf_map_lookup_elem(&numbers, &key);

	if (number)
		__sync_fetch_and_add(number, 1);
	ticks++;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops features_ops = {
	.runnable = (void *)features_runnable,
	.tick = (void *)features_tick,
	.init = (void *)features_init,
	.name = "features",
};
