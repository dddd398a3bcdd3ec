# Takes a guest's output apart into the files that the laboratory is compared with, in DIR:
# POLICY.txt (the callbacks), shares.txt and cpus2.txt (policy, and CPU time of each task in ms).
#
#     awk -v DIR=target/kernel/records -v OF="Linux 7.3.4" -f records.awk CONSOLE
function begin(name) {
    name = DIR "/" name
    if (!(name in begun)) {
        begun[name] = 1
        print "# " OF " in QEMU, instructions counted; made by tests/kernel/run.sh." > name
    }
    return name
}
function finish() { if (line != "") print line > into; line = "" }
/^policy / { finish(); into = begin("shares.txt"); line = $2; next }
/^two CPUs / { finish(); into = begin("cpus2.txt"); line = $3; next }
/^load: .* before / {
    for (at = 1; at <= NF; at++) {
        if ($at == "before") before = $(at + 1)
        if ($at == "after") after = $(at + 1)
    }
    line = line sprintf(" %.3f", (after - before) / 1e6)
}
/^record: end/ { record = ""; next }
/^record: / { record = begin($2 ".txt"); next }
record != "" { print > record }
END { finish() }
