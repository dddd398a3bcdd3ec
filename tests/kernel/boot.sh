#!/usr/bin/env bash
# Boots a kernel in QEMU with a job and prints what the guest prints; nothing else is needed: no
# disk, no network, no rights.
#
#     tests/kernel/boot.sh KERNEL JOB [FILE...]
#
# KERNEL: the directory that fetch.sh printed. JOB: a script for busybox's shell. FILEs lie in the
# guest's /w; programs have their libraries with them. SMP (2), TIMEOUT (300 s), APPEND.
#
# The guest's clock counts instructions, 2 ns each: the same files give the same output.
# Exit status: 0 the job ended (whatever it printed); 1 it did not in time; 77 it cannot be tried.
set -euo pipefail

kernel=$1 job=$2
shift 2
no() {
    echo "no guest: $1" >&2
    exit 77
}
for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio gzip:gzip; do
    command -v "${tool%%:*}" >/dev/null || no "${tool%%:*} is missing (apt-get install ${tool##*:})"
done
busybox=$(command -v busybox)
if ldd "$busybox" >/dev/null 2>&1; then
    no "$busybox needs libraries (apt-get install busybox-static)"
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
tree=$root/tree
mkdir -p "$tree"/{bin,dev,proc,sys,tmp,w,boot}
cp "$busybox" "$tree/bin/busybox"
# Objects that ask for the kernel's configuration look for it there.
[ ! -f "$kernel/config" ] || cp "$kernel/config" "$tree/boot/config-$(cat "$kernel/release")"
for file in "$@"; do
    cp "$file" "$tree/w/"
    [ -x "$file" ] || continue
    # `ldd` says "name => /path (address)" and "/loader (address)".
    ldd "$file" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' |
        while read -r library; do
            mkdir -p "$tree$(dirname "$library")"
            cp -L "$library" "$tree$library"
        done
done
cp "$job" "$tree/job"
cat > "$tree/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mount -t cgroup2 none /sys/fs/cgroup
/bin/busybox mount -t bpf none /sys/fs/bpf
/bin/busybox mount -t tracefs none /sys/kernel/tracing
/bin/busybox --install -s /bin
export PATH=/bin:/w HOME=/
cd /w
sh /job
echo "guest: the job is over ($?)"
echo o > /proc/sysrq-trigger
sleep 100
INIT
chmod +x "$tree/init"
# Sorted, and without times: equal contents are equal bytes.
find "$tree" -exec touch -h -d @0 {} +
(cd "$tree" && find . | LC_ALL=C sort |
    cpio --quiet -o -H newc -R 0:0 --reproducible | gzip -n -1) > "$root/initramfs"

out=$root/out
status=0
# Instruction counting is what makes runs repeat; its virtual CPUs run in turn on one thread.
timeout "${TIMEOUT:-300}" nice -n 5 qemu-system-x86_64 \
    -accel tcg,thread=single -icount shift=1,align=off,sleep=off \
    -cpu qemu64 -rtc base=2026-01-01T00:00:00,clock=vm \
    -M q35 -smp "${SMP:-2}" -m 512 -nographic -no-reboot -nic none \
    -kernel "$kernel/vmlinuz" -initrd "$root/initramfs" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=off \
no_timer_check noautogroup cryptomgr.notests damon_stat.enabled=N ${APPEND:-}" \
    < /dev/null > "$out" 2>&1 || status=$?
tr -d '\r' < "$out"
grep -q '^guest: the job is over' <(tr -d '\r' < "$out") && exit 0
echo "the guest did not end its job in ${TIMEOUT:-300} s (QEMU ended with $status)" >&2
exit 1
