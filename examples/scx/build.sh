#!/bin/sh
# Compiles the policies of this directory, or of the given directory. CLANG is any clang with the
# BPF target. `zig cc` works, too: CLANG="zig cc -target bpfel-freestanding" build.sh
# (For a kernel use clang 19 or later: older versions omit types that it requires.)
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
cd "${1:-$here}"
: "${CLANG:=clang --target=bpf}"
: "${STRIP:=llvm-strip}"
for source in *.bpf.c; do
	object="${source%.c}.o"
	# Objects must not contain paths of the compiling machine.
	$CLANG -g -O2 -mcpu=v3 -Wall -Wno-unused-function -I "$here" \
		"-ffile-prefix-map=$PWD=." "-ffile-prefix-map=$here=." -c "$source" -o "$object"
	$STRIP -g "$object"
	echo "$object"
done
