# From what a policy printed of its callbacks to what the laboratory is compared with: the callbacks
# of the load's tasks on CPU 1 from the wakeup of the first of them on, one a line: time in us,
# callback, task (1000 is the first), other arguments. Kernel threads' callbacks are left out.
#
#     awk -v FIRST=116 -v COUNT=4 -f order.awk LOG
#
# FIRST: the process id of the first task; those of the others follow.
function task(pid) { return pid == 0 ? 0 : pid - FIRST + 1000 }
function ours(pid) { return pid >= FIRST && pid < FIRST + COUNT }
!/bpf_trace_printk:/ { next }
{
    for (at = 1; $at !~ /bpf_trace_printk:/; at++) {}
    time = $(at - 1)
    sub(/:$/, "", time)
    split(time, parts, ".")
    # Some awks take a number that begins with 0 for an octal one.
    us = parts[1] * 1000000 + ("1" parts[2]) - 1000000
    name = $(at + 1)
    if (name == "runnable" && $(at + 2) == FIRST && $(at + 3) == "9") { begun = us + 1; lines = "" }
    if (!begun) next
    if (name == "set_weight" || name == "disable") { ended = 1 }
    if (ended) next
    if (name == "dispatch") {
        if ($(at + 2) == 1 && ours($(at + 3))) {
            lines = lines sprintf("%d dispatch %d\n", us + 1 - begun, task($(at + 3)))
        }
    } else if (ours($(at + 2))) {
        line = sprintf("%d %s %d", us + 1 - begun, name, task($(at + 2)))
        if ($(at + 3) != "") line = line " " $(at + 3)
        lines = lines line "\n"
    }
}
END { printf "%s", lines }
