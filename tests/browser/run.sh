#!/usr/bin/env bash
# Makes reports and tests them in a headless Chromium (Debian: apt-get install chromium nodejs).
# Without Chromium or node nothing is tested, and the script says SKIPPED.
#
#     tests/browser/run.sh [PROGRAM]        PROGRAM: a built schedlab; default: cargo runs it
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' 2>/dev/null \
    || missing+=('node (18 or later)')
node --input-type=module -e '
    import { findChromium } from "./tests/browser/chromium.mjs";
    process.exit(findChromium() ? 0 : 1)' 2>/dev/null || missing+=('chromium')
if [ ${#missing[@]} -gt 0 ]; then
    echo '************************************************************************' >&2
    echo "** SKIPPED: the report was NOT tested in a browser; missing: ${missing[*]}" >&2
    echo '************************************************************************' >&2
    exit 0
fi

schedlab=(${1:-cargo run --quiet -p schedlab --})
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

cat > "$directory/hostile.json" <<'END'
{
    "global": { "duration": 1 },
    "tasks": {
        "</script><img src=x onerror=owned=1>": { "loop": -1, "run": 900, "sleep": 500 },
        "\"><b id=x>'&amp;<!--": { "loop": -1, "run": 300, "sleep": 200, "priority": -3 },
        "javascript:alert(1)\u2028": { "loop": -1, "run": 5000, "sleep": 100 }
    }
}
END
"${schedlab[@]}" run examples/desktop.json --scheduler o_1,cfs,eevdf --cpus 2 \
    --report "$directory/desktop.html" > /dev/null
"${schedlab[@]}" run "$directory/hostile.json" --scheduler cfs --cpus 1 \
    --report "$directory/hostile.html" > /dev/null
# About two million run intervals.
"${schedlab[@]}" run examples/server.json --scheduler main --cpus 4 --duration 300 \
    --report "$directory/many.html" > /dev/null
"${schedlab[@]}" bench hackbench --groups 1..3:1 --loops 20 --scheduler o_1,cfs --cpus 2 \
    --repeat 2 --report "$directory/sweep.html" > /dev/null
"${schedlab[@]}" bench hackbench --groups 2 --loops 20 --scheduler o_1,cfs,eevdf --cpus 2 \
    --report "$directory/bench.html" > /dev/null
"${schedlab[@]}" papers REL-1 DIS-5 --reduced --report "$directory/papers.html" \
    > /dev/null 2>&1 || test $? = 1
"${schedlab[@]}" replay examples/traces/desk.xz --scheduler eevdf,cfs --change 'nice hog +10' \
    --seeds 3 --report "$directory/replay.html" > /dev/null 2>&1
"${schedlab[@]}" trace stats examples/traces/desk.xz --report "$directory/recorded.html" \
    > /dev/null 2>&1
if ! node tests/browser/run.mjs "$directory"; then
    trap - EXIT
    echo "the reports and pictures of the failed tests are in $directory" >&2
    exit 1
fi
