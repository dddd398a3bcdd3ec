#!/usr/bin/env bash
# Compares the simulated sched_ext class with that of a stock kernel: boots the kernel in QEMU, loads
# policies into it with schedlab-live, and compares callbacks and CPU times with the simulation.
#
#     tests/kernel/run.sh [RELEASE]      RELEASE: a kernel of Debian, such as 7.3.4+deb13; default:
#                                        7.3.4+deb13, 7.0.4+deb13, then the one of the suite
#
# SCHEDLAB_PROGRAM: a built schedlab; default: cargo runs it. SCHEDLAB_TESTS: options by which cargo
# selects the tests (default: -p schedlab-scx), so that a larger build can be used again.
#
# Needs Debian's apt, qemu-system-x86, busybox-static, cpio, and for schedlab-live a C compiler and
# the headers of libelf and zlib. If one of them is missing, nothing is tested, and the script says
# SKIPPED. Every boot ends after 300 s (TIMEOUT).
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
    echo '************************************************************************' >&2
    echo "** SKIPPED: no kernel was booted: $1" >&2
    echo '************************************************************************' >&2
    exit 0
}

here=tests/kernel
schedlab=(${SCHEDLAB_PROGRAM:-cargo run --quiet -p schedlab --})
tests=(${SCHEDLAB_TESTS:--p schedlab-scx})
out=$PWD/target/kernel
mkdir -p "$out"

for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio; do
    command -v "${tool%%:*}" >/dev/null ||
        skip "${tool%%:*} is missing (apt-get install ${tool##*:})"
done

kernel=
for release in ${1:-7.3.4+deb13 7.0.4+deb13 ''}; do
    if kernel=$("$here/fetch.sh" "$release" 2> "$out/fetch.log"); then
        break
    fi
    kernel=
done
[ -n "$kernel" ] || kernel=$("$here/fetch.sh" 2> "$out/fetch.log") ||
    skip "$(tail -n 1 "$out/fetch.log")"
echo "kernel $(cat "$kernel/release")"

# A directory of its own: libbpf is built there, once.
export CARGO_TARGET_DIR=$PWD/target/live
if ! cargo build --quiet --release --manifest-path live/Cargo.toml > "$out/build.log" 2>&1; then
    # Errors in our own code are failures; otherwise a requirement of libbpf is missing.
    if grep -q '^error.*schedlab-live' "$out/build.log" && ! grep -q 'libbpf-sys' "$out/build.log"; then
        cat "$out/build.log" >&2
        exit 1
    fi
    skip "schedlab-live cannot be built (apt-get install gcc libelf-dev zlib1g-dev pkg-config): \
$(grep -m 1 -E '^error' "$out/build.log" || tail -n 1 "$out/build.log")"
fi
cargo fmt --manifest-path live/Cargo.toml --check
cargo clippy --quiet --release --manifest-path live/Cargo.toml -- -D warnings
cargo test --quiet --release --manifest-path live/Cargo.toml
programs=("$CARGO_TARGET_DIR/release/schedlab-live" "$CARGO_TARGET_DIR/release/guest-load")
unset CARGO_TARGET_DIR

objects=(examples/scx/*.bpf.o crates/scx/tests/objects/{order,faults}.bpf.o)
status=0
"$here/boot.sh" "$kernel" "$here/twins.job" "${programs[@]}" "$here/order.awk" "${objects[@]}" \
    > "$out/console" 2> "$out/boot.log" || status=$?
case $status in
0) ;;
77) skip "$(tail -n 1 "$out/boot.log")" ;;
*)
    tail -n 40 "$out/console" "$out/boot.log" >&2
    exit 1
    ;;
esac

check() {
    grep -q "$1" "$out/console" || {
        echo "the console of the guest lacks \"$1\" ($2); its console is $out/console" >&2
        exit 1
    }
}
check '^policy bfs' 'all policies were loaded'
check 'ext 1 before' 'the tasks ran in the class'
check 'faults: ops.init() failed (-12)' 'the reason for the end is reported'
check '^fault: status 1' 'an end is an error'
if grep -q '^state: enabled\|the kernel refuses\|Kernel panic' "$out/console"; then
    grep -A 20 'the kernel refuses\|Kernel panic' "$out/console" >&2 || true
    echo "a policy was refused, or stayed loaded; its console is $out/console" >&2
    exit 1
fi

# Decisions, logged in the kernel and replayed through the schedulers that the policies are twins of.
# On one CPU at least 99 % are the same. (On two CPUs the policies see less than those schedulers;
# the share is only printed.)
for cpus in 1 2; do
    SMP=$cpus "$here/boot.sh" "$kernel" "$here/decisions.job" "${programs[@]}" \
        examples/scx/{goodness,o_1,bfs}.bpf.o > "$out/decisions-$cpus" 2>> "$out/boot.log" || {
        tail -n 40 "$out/decisions-$cpus" "$out/boot.log" >&2
        exit 1
    }
    for policy in goodness o_1 bfs; do
        log=$out/$policy-$cpus.log
        awk -v POLICY=$policy '/^decisions: / { is_it = $2 == POLICY; next } is_it' \
            "$out/decisions-$cpus" > "$log"
        status=0
        "${schedlab[@]}" live --replay "$log" --show 1 > "$log.replayed" || status=$?
        echo "decisions of $policy, $cpus CPUs:"
        grep '^  .* of [0-9]* ([0-9.]* %)$' "$log.replayed" || cat "$log.replayed"
        few=$(sed -n 's/^  .* of [0-9]* (\([0-9]*\)\.[0-9]* %)$/\1/p' "$log.replayed" |
            sort -n | head -n 1)
        if [ $status = 2 ] || { [ $cpus = 1 ] && [ "${few:-0}" -lt 99 ]; }; then
            cat "$log.replayed" >&2
            exit 1
        fi
    done
done

rm -rf "$out/records"
mkdir -p "$out/records"
awk -v DIR="$out/records" -v OF="Linux $(cat "$kernel/release")" -f "$here/records.awk" \
    "$out/console"
SCHEDLAB_KERNEL_RECORDS=$out/records \
    cargo test --quiet "${tests[@]}" --test kernel -- --nocapture

# Free tasks on two CPUs; all other tasks are replayed from a trace. PHASE (71 ms): time at which the
# load begins; another value makes another boot.
echo 'fifo rounds queues goodness' > "$out/names"
echo 'vtime:fifo=1,log_events=1 rounds:log_events=1 queues:log_events=1 goodness:log_events=1' \
    > "$out/policies"
objects=(examples/scx/{vtime,goodness}.bpf.o crates/scx/tests/objects/{rounds,queues}.bpf.o)
APPEND="lab.phase=${PHASE:-71}" "$here/boot.sh" "$kernel" "$here/free.job" "${programs[@]}" \
    "$here/free.awk" "$out/policies" "${objects[@]}" > "$out/free.console" 2> "$out/boot.log" || {
    tail -n 40 "$out/free.console" "$out/boot.log" >&2
    exit 1
}
rm -rf "$out/free"
mkdir -p "$out/free"
number=0
for name in $(cat "$out/names"); do
    number=$((number + 1))
    awk -v WANTED=$number '/^trace: end/ { inside = 0 } inside { print }
        /^trace: / && !/^trace: end/ { inside = ++count == WANTED }' "$out/free.console" |
        base64 -d > "$out/free/new.$name.gz"
done
SCHEDLAB_KERNEL_FREE=$out/free \
    cargo test --quiet "${tests[@]}" --test two_cpus -- --nocapture free_tasks
