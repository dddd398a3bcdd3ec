/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Walks through its queue and takes the task with the largest weight that may run; tasks of weight
 * 1000 and more preempt. In init it tries trees and lists.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

struct bpf_rb_root { u64 opaque[2]; } __attribute__((aligned(8)));
struct bpf_rb_node { u64 opaque[4]; } __attribute__((aligned(8)));
struct bpf_list_head { u64 opaque[2]; } __attribute__((aligned(8)));

struct node { struct bpf_rb_node rb; u64 key; u64 number; };

extern void *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			       bool (*less)(struct bpf_rb_node *, const struct bpf_rb_node *),
			       void *meta, u64 offset) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root,
					     struct bpf_rb_node *node) __ksym;

#define SHARED 3

const volatile u64 slice_ns = 6000000;
u64 walked, moved, preempts, order, drops;
struct bpf_rb_root root;

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return ((struct node *)a)->key < ((const struct node *)b)->key;
}

static void add(u64 key, u64 number)
{
	struct node *node = bpf_obj_new_impl(__builtin_btf_type_id(*(struct node *)0, 0), NULL);

	if (!node)
		return;
	node->key = key;
	node->number = number;
	bpf_rbtree_add_impl(&root, &node->rb, less, NULL, 0);
}

OPS_SLEEPABLE(walk_init)
{
	struct bpf_rb_node *first;

	add(30, 1);
	add(10, 2);
	add(20, 3);
	add(10, 4);
	for (int i = 0; i < 9 && (first = bpf_rbtree_first(&root)); i++) {
		struct node *node = (struct node *)bpf_rbtree_remove(&root, first);

		if (!node)
			break;
		order = order * 10 + node->number;
		bpf_obj_drop_impl(node, NULL);
		drops++;
	}
	return scx_bpf_create_dsq(SHARED, -1);
}

OPS(walk_select_cpu)
{
	bool idle = 0;

	return scx_bpf_select_cpu_dfl(ARG(struct task_struct *, 0), ARG(s32, 1), ARG(u64, 2), &idle);
}

OPS(walk_enqueue)
{
	struct task_struct *p = ARG(struct task_struct *, 0);

	if (p->scx.weight >= 1000) {
		preempts++;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p), slice_ns, SCX_ENQ_PREEMPT);
		return 0;
	}
	scx_bpf_dsq_insert(p, SHARED, slice_ns, 0);
	return 0;
}

OPS(walk_dispatch)
{
	u64 cpu = (u64)ARG(s32, 0);
	struct bpf_iter_scx_dsq it;
	struct task_struct *p, *best = NULL;
	u32 most = 0;

	if (bpf_iter_scx_dsq_new(&it, SHARED, 0) == 0)
		while ((p = bpf_iter_scx_dsq_next(&it))) {
			walked++;
			if (p->scx.weight > most && p->cpus_ptr->bits[0] >> cpu & 1) {
				most = p->scx.weight;
				best = p;
			}
		}
	if (best) {
		scx_bpf_dsq_move_set_slice(&it, 2 * slice_ns);
		moved += scx_bpf_dsq_move(&it, best, SCX_DSQ_LOCAL, 0);
	}
	bpf_iter_scx_dsq_destroy(&it);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops walk_ops = {
	.select_cpu = (void *)walk_select_cpu,
	.enqueue = (void *)walk_enqueue,
	.dispatch = (void *)walk_dispatch,
	.init = (void *)walk_init,
	.name = "walk",
};
