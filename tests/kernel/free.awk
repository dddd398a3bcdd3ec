# From a trace of ftrace's (sched_switch, sched_wakeup, sched_wakeup_new, hrtimer_expire_entry,
# reschedule_entry, irq_work_entry, and what the policy prints of its dispatch) to what the
# laboratory replays, an event a line: time in us, CPU, and
#     s PREV STATE NEXT    a switch; STATE R: PREV was runnable
#     w PID CPU            a wakeup;  n PID CPU: the first of a new task
#     d                    dispatch is called
#     t                    the tick;  T: the CPU was asked to reschedule before, and had not yet
#     i                    an interrupt: another timer's, or from another CPU
#     c PID COMM           (no time) the name of a task
/^#/ { next }
function name(pid, comm) {
    if (pid in known) return
    known[pid] = 1
    print "c", pid, comm
}
{
    for (at = 1; at <= NF && $at !~ /^\[[0-9]+\]$/; at++) {}
    cpu = substr($at, 2, length($at) - 2) + 0
    flags = $(at + 1)
    for (; at <= NF && $at !~ /^[0-9]+\.[0-9]+:$/; at++) {}
    time = $at
    sub(/:$/, "", time)
    split(time, parts, ".")
    # Some awks take a number that begins with 0 for an octal one.
    us = parts[1] * 1000000 + ("1" parts[2]) - 1000000
    event = $(at + 1)
    if (event == "hrtimer_expire_entry:") {
        tick = substr(flags, 2, 1) == "." ? "t" : "T"
        printf "%.0f %d %s\n", us, cpu, $0 ~ /function=tick_/ ? tick : "i"
        next
    }
    if (event ~ /^(reschedule|irq_work)_entry:/) {
        printf "%.0f %d i\n", us, cpu
        next
    }
    if (event == "bpf_trace_printk:" && $(at + 2) == "dispatch") printf "%.0f %d d\n", us, cpu
    if (event !~ /^sched_/) next
    for (key in value) delete value[key]
    for (at += 2; at <= NF; at++) {
        equal = index($at, "=")
        if (equal) value[substr($at, 1, equal - 1)] = substr($at, equal + 1)
    }
    if (event == "sched_switch:") {
        name(value["prev_pid"], value["prev_comm"])
        name(value["next_pid"], value["next_comm"])
        printf "%.0f %d s %d %s %d\n", us, cpu, value["prev_pid"], value["prev_state"], \
            value["next_pid"]
    } else {
        kind = event == "sched_wakeup_new:" ? "n" : "w"
        printf "%.0f %d %s %d %d\n", us, cpu, kind, value["pid"], value["target_cpu"]
    }
}
