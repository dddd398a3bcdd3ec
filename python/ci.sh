#!/usr/bin/env bash
# Builds the Python package, installs it into its own environment in target/, and tests it. If
# there is no Python 3.10, or the tests' requirements cannot be installed, it prints a message.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    echo "   SKIPPED: the Python package was not tested: $1"
    exit 0
}

python=
for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    if command -v "$name" >/dev/null 2>&1 &&
        "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
            >/dev/null 2>&1; then
        python=$name
        break
    fi
done
[ -n "$python" ] || skip 'there is no Python 3.10 or newer (with venv)'

environment=target/python-venv
[ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
pip=("$environment/bin/python" -m pip --quiet --disable-pip-version-check)
# The tests' requirements, without the package itself, which is built from this clone below.
needs=$("$environment/bin/python" - <<'PYTHON'
import re
text = open("python/pyproject.toml", encoding="utf-8").read()
table = re.search(r"^test = \[(.*?)^\]", text, re.S | re.M).group(1)
print(" ".join(["maturin>=1.9,<2", "numpy", *re.findall(r'"([^"]+)"', table)]))
PYTHON
)
# shellcheck disable=SC2086 # words are wanted
"${pip[@]}" install $needs || skip 'the requirements of its tests could not be installed (no network?)'

# With the profile of `cargo test`, which builds much faster than the one for users.
export CARGO_TARGET_DIR=$PWD/target/python
export PATH=$PWD/$environment/bin:$PATH
cargo fmt --manifest-path python/Cargo.toml --check
cargo clippy --manifest-path python/Cargo.toml --quiet -- -D warnings
MATURIN_PEP517_ARGS='--profile dev' \
    "${pip[@]}" install --no-build-isolation --no-deps --force-reinstall ./python
"$environment/bin/python" -m pytest --quiet python/tests
(cd python && "../$environment/bin/python" -m mypy src/schedlab)
"$environment/bin/python" -m mypy.stubtest schedlab._native --ignore-disjoint-bases
"$environment/bin/schedlab" run examples/desktop.json --scheduler cfs >/dev/null
