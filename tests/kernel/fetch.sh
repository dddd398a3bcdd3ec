#!/usr/bin/env bash
# Fetches a Debian kernel (amd64, flavour cloud) through a private apt root: nothing is installed,
# nothing of the system is changed. Prints the directory that holds vmlinuz, config and release.
#
#     tests/kernel/fetch.sh [RELEASE]      RELEASE: 7.3.4+deb13; else what the suite's meta package
#                                          names. SUITE (trixie-backports), KERNEL_CACHE
#
# Exit status: 0 there it is; 77 it cannot be had, the reason is on standard error.
set -euo pipefail

release=${1:-}
suite=${SUITE:-trixie-backports}
cache=${KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/schedlab/kernels}

no() {
    echo "no kernel: $1" >&2
    exit 77
}

[ "$(uname -m)" = x86_64 ] || no "this machine is $(uname -m); the kernels are for x86_64"
if [ -n "$release" ] && [ -f "$cache/$release/vmlinuz" ]; then
    echo "$cache/$release"
    exit 0
fi
for tool in apt-get dpkg-deb apt-cache; do
    command -v "$tool" >/dev/null || no "$tool is missing: kernels come as Debian packages"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keyring" ] || no "$keyring is missing (Debian: apt-get install debian-archive-keyring)"
# The mirror that this system uses, as it uses it.
uri=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' \
    /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list \
    2>/dev/null | grep '/debian/\?$' | head -n 1) || true
[ -n "$uri" ] || no 'no mirror of Debian stands in the sources of apt'

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/etc/{apt.conf.d,preferences.d,sources.list.d} "$root"/{lists,cache}/partial "$root/x"
touch "$root/status"
cp /etc/apt/apt.conf.d/* "$root/etc/apt.conf.d/" 2>/dev/null || true
cat > "$root/apt.conf" <<CONF
Dir::Etc "$root/etc";
Dir::State::lists "$root/lists";
Dir::State::status "$root/status";
Dir::Cache "$root/cache";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF
cat > "$root/etc/sources.list.d/s.sources" <<SOURCES
Types: deb
URIs: $uri
Suites: $suite
Components: main
Signed-By: $keyring
SOURCES
export APT_CONFIG="$root/apt.conf"
timeout 120 apt-get -qq update >&2 || no "apt-get update for $suite failed (no network?)"
if [ -z "$release" ]; then
    release=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/.*Depends: linux-\(image\|binary\)-\(.*\)-cloud-amd64.*/\2/p' | head -n 1)
    [ -n "$release" ] || no "$suite has no linux-image-cloud-amd64"
    if [ -f "$cache/$release/vmlinuz" ]; then
        echo "$cache/$release"
        exit 0
    fi
fi
cd "$root/x"
timeout 300 apt-get -qq download "linux-binary-$release-cloud-amd64" >&2 ||
    timeout 300 apt-get -qq download "linux-image-$release-cloud-amd64" >&2 ||
    no "$suite has no kernel $release"
timeout 300 apt-get -qq download "linux-base-$release-cloud-amd64" >&2 || true
mkdir t
for package in *.deb; do
    dpkg-deb -x "$package" t
done
image=$(find t -name 'vmlinuz*' -type f | head -n 1)
[ -n "$image" ] || no "the package of $release holds no vmlinuz"
config=$(find t -name 'config*' -type f -path "*$release*" | head -n 1)
mkdir -p "$cache/$release.part"
cp "$image" "$cache/$release.part/vmlinuz"
[ -z "$config" ] || cp "$config" "$cache/$release.part/config"
basename "$image" | grep -q -- - && name=$(basename "$image" | sed 's/^vmlinuz-//') ||
    name=$(basename "$(dirname "$image")")
echo "$name" > "$cache/$release.part/release"
rm -rf "${cache:?}/$release"
mv "$cache/$release.part" "$cache/$release"
echo "$cache/$release"
