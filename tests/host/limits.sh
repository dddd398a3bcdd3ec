#!/bin/sh
# Sets a CPU limit for real, measures its effect, predicts the same with schedlab, and shows both.
#
#     tests/host/limits.sh [PROGRAM]           PROGRAM: a built schedlab; default: the one in PATH
#     RUNS=6 LENGTH=20 tests/host/limits.sh    number of runs, and the length of each in seconds
#
# Four workers compute 20 ms each every 200 ms, in a group that may use 50 ms of each 100 ms.
# `schedlab host` makes the group anew for each run: the kernel then draws the phase of its periods,
# which decides how much the limit delays the work. The group is removed in every case, also if the
# script is interrupted.
#
# Where no limit can be set, the script prints "skipped: REASON" and ends with status 0.
set -eu

program=${1:-schedlab}
runs=${RUNS:-3}
length=${LENGTH:-10}
quota_us=50000
period_us=100000
child=
work=

skip() {
    echo "skipped: $1"
    exit 0
}

# Ends the measurement, which removes its groups, and removes what a killed one left behind.
clean() {
    trap '' INT TERM HUP
    if [ -n "$child" ]; then
        kill "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
        find /sys/fs/cgroup -depth -type d -path "*/schedlab-host-$child*" \
            -exec rmdir {} \; 2>/dev/null || true
    fi
    [ -z "$work" ] || rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[ "$(uname -s)" = Linux ] || skip 'this is not Linux'
command -v "$program" >/dev/null 2>&1 || skip "there is no program $program"
work=$(mktemp -d)
cat > "$work/work.json" <<END
{"global": {"duration": $length}, "tasks": {"worker": {"instance": 4, "taskgroup": "/box",
    "loop": -1, "run": 20000, "timer": {"ref": "unique", "period": 200000, "mode": "absolute"}}}}
END
echo "/box cpu.max=$quota_us $period_us" > "$work/work.groups"
"$program" host "$work/work.json" --groups "$work/work.groups" --dry-run > "$work/plan" 2>&1 ||
    skip "no CPU limit can be set here: $(tail -n 1 "$work/plan")"
cpus=$(nproc)

echo "4 workers, 20 ms each every 200 ms, $cpus CPUs; limit: $quota_us us of each $period_us us"
sed -n 's/^all threads in/measured on Linux '"$(uname -r)"', in/p' "$work/plan"
run=0
while [ $run -lt "$runs" ]; do
    run=$((run + 1))
    "$program" host "$work/work.json" --groups "$work/work.groups" --trace none --runs 1 --tries 1 \
        --noise-limit 1 > "$work/measured" 2> "$work/errors" &
    child=$!
    # The counters disappear with the group: the last ones that can be read are of its last period.
    stat=
    : > "$work/stat"
    while kill -0 $child 2>/dev/null; do
        [ -n "$stat" ] || stat=$(find /sys/fs/cgroup -path "*/schedlab-host-$child/box/cpu.stat" \
            2>/dev/null | head -n 1)
        if [ -n "$stat" ] && cat "$stat" > "$work/now" 2>/dev/null && [ -s "$work/now" ]; then
            mv "$work/now" "$work/stat"
        fi
        sleep 0.05
    done
    status=0
    wait $child || status=$?
    child=
    [ $status = 0 ] || skip "the workload cannot be measured: $(tail -n 1 "$work/errors")"
    # A request takes the 20 ms that its worker computes, and the time that the worker waits.
    awk -v run=$run '
        FILENAME ~ /stat$/ { stat[$1] = $2; next }
        $1 ~ /^worker-/ { cpu += $2; wait += $4 }
        /^noise:/ { noise = $4 }
        END {
            if (cpu == 0 || stat["nr_periods"] == 0) exit 1
            printf "%d %.1f %.1f %d %d %s\n", run, 20 + 20 * wait / cpu,
                100 * stat["nr_throttled"] / stat["nr_periods"], stat["nr_throttled"],
                stat["nr_periods"], noise
        }' "$work/stat" "$work/measured" > "$work/run" || skip 'cpu.stat counts no periods here'
    awk '{ printf "run %d: mean response %s ms, throttled in %d of %d periods", $1, $2, $4, $5
           printf " (others had %s %% of the CPUs)\n", $6 }' "$work/run"
    cat "$work/run" >> "$work/real"
done

"$program" limits "$work/work.json" --group /box --cpus "$cpus" --quota ${quota_us}us \
    --period ${period_us}us --repeat 20 --format csv > "$work/predicted.csv"

awk '
    # The first row is without the limit, the second with it.
    FNR == NR && FNR == 1 { n = split($0, names, ","); next }
    FNR == NR { split($0, cells, ","); for (i = 1; i <= n; i++) row[names[i]] = cells[i]; next }
    {
        if (FNR == 1 || $2 < least) least = $2
        if (FNR == 1 || $2 > most) most = $2
        if (FNR == 1 || $3 < rare) rare = $3
        if (FNR == 1 || $3 > often) often = $3
    }
    function line(title, key, scale, unit, from, to,    p, min, max, verdict) {
        p = row[key] / scale; min = row[key "_min"] / scale; max = row[key "_max"] / scale
        verdict = from >= min && to <= max ? "inside" : \
            from <= max && to >= min ? "partly inside" : "OUTSIDE"
        printf "%-18s %6.1f (%.1f to %.1f) %-8s %6.1f to %.1f %-5s %s\n", title, p, min, max, unit,
            from, to, unit, verdict
    }
    END {
        printf "\n%-18s %-32s %s\n", "", "predicted (20 phases)", "measured (" FNR " groups)"
        line("mean response", "mean", 1e6, "ms", least, most)
        line("throttled periods", "throttled", 0.01, "%", rare, often)
    }' "$work/predicted.csv" "$work/real"
