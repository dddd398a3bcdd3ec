/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Has the name of a policy that has a preset, and the items that the preset sets and calls; it is
 * the laboratory's own and has nothing else in common with that policy.
 */
#include "scx_lab.h"

char LICENSE[] SEC("license") = "GPL";

struct primary { s32 cpu; };

const volatile bool smt_enabled = 1;
const volatile bool numa_enabled = 1;
const volatile u32 nr_cpu_ids;
u64 primary, cleared;

SEC("syscall")
int enable_primary_cpu(struct primary *input)
{
	if (input->cpu < 0) {
		primary = 0;
		cleared++;
	} else {
		primary |= 1ULL << (input->cpu & 63);
	}
	return 0;
}

OPS_SLEEPABLE(preset_init)
{
	return nr_cpu_ids && cleared == 1 && primary == (1ULL << nr_cpu_ids) - 1 ? 0 : -22;
}

OPS(preset_enqueue)
{
	scx_bpf_dsq_insert(ARG(struct task_struct *, 0), SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops preset_ops = {
	.enqueue = (void *)preset_enqueue,
	.init = (void *)preset_init,
	.name = "bpfland_0_lab",
};
