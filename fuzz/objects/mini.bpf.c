/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The smallest policy that has a bit of everything, for fuzz/corpus/scx_*: clang -g -Oz -fno-addrsig
 * --target=bpf -mcpu=v3 -c, llvm-strip -g, llvm-objcopy --remove-section of .rel.BTF, .rel.BTF.ext
 * and .text.
 */
typedef unsigned int u32; typedef unsigned long long u64; typedef int s32;
#define SEC(n) __attribute__((section(n), used))
struct scx { u64 slice; } __attribute__((preserve_access_index));
struct task_struct { struct scx scx; } __attribute__((preserve_access_index));
struct sched_ext_ops { void (*enqueue)(struct task_struct *p, u64 f); s32 (*init)(void); u64 flags; char name[8]; };
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 f) __attribute__((section(".ksyms")));
struct { int (*type)[1]; int (*max_entries)[4]; u32 *key; u64 *value; } m SEC(".maps");
const volatile u64 slice_ns = 5000000;
u64 n;
SEC("struct_ops/e") void e(u64 *c) {
  struct task_struct *p = (void *)c[0]; u32 k = p->scx.slice & 7;
  u64 *v = ((void *(*)(void *, const void *))1)(&m, &k);
  if (v) n += *v; else ((long (*)(void *, const void *, const void *, u64))2)(&m, &k, &n, 0);
  for (u32 i = 0; i < n; i++) k += i;
  scx_bpf_dsq_insert(p, (1ull<<63)|1, slice_ns + k, 0);
}
SEC("struct_ops.s/i") s32 i(u64 *c) { return 0; }
SEC(".struct_ops.link") struct sched_ext_ops ops = { .enqueue = (void *)e, .init = (void *)i, .name = "mini" };
char LICENSE[] SEC("license") = "GPL";
