#!/usr/bin/env bash
# How long frames of the timeline take with a million turns of 500 tasks, in a headless Chromium. A
# benchmark, not a test: see docs/report.md.
#
#     tests/browser/frames.sh [PROGRAM]        PROGRAM: a built schedlab; else cargo runs it
set -euo pipefail
cd "$(dirname "$0")/../.."

schedlab=(${1:-cargo run --quiet --release -p schedlab --})
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

cat > "$directory/many.json" <<'END'
{
    "tasks": {
        "worker": { "instance": 300, "loop": -1, "run": 250, "sleep": 11000 },
        "service": { "instance": 150, "loop": -1, "run": 90, "sleep": 7000 },
        "batch": { "instance": 50, "loop": -1, "run": 4000, "sleep": 90000 }
    }
}
END
"${schedlab[@]}" run "$directory/many.json" --scheduler "${SCHEDULER:-eevdf}" --cpus 8 \
    --duration "${SECONDS_OF_RUN:-24}" --report "$directory/many.html" > /dev/null
ls -l "$directory/many.html" | awk '{ print $5 " bytes" }'
node tests/browser/frames.mjs "$directory/many.html"
