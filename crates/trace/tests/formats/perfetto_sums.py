"""Prints the CPU time of each task of a Perfetto trace, by Perfetto's own schema."""

import collections
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
assert trace.packet[0].system_info.utsname.sysname == "Linux"
assert not trace.FindInitializationErrors()

switches = []
for packet in trace.packet:
    for event in packet.ftrace_events.event:
        if event.HasField("sched_switch"):
            switches.append((event.timestamp, packet.ftrace_events.cpu, event.sched_switch))
switches.sort(key=lambda switch: switch[0])

running = {}
sums = collections.Counter()
for timestamp, cpu, switch in switches:
    pid, since = running.get(cpu, (switch.prev_pid, timestamp))
    assert pid == switch.prev_pid, (timestamp, cpu)
    sums[pid] += timestamp - since
    running[cpu] = (switch.next_pid, timestamp)
for pid, ns in sums.items():
    if pid:
        print(pid, ns)
