#!/bin/sh
# Compiles policies: those of this directory, or those of the directory that is named. CLANG is any
# clang with the BPF target; `zig cc` is one too: CLANG="zig cc -target bpfel-freestanding" build.sh
# (For a kernel take clang 19 or later: older ones leave out types that it wants to see.)
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
cd "${1:-$here}"
: "${CLANG:=clang --target=bpf}"
: "${STRIP:=llvm-strip}"
for source in *.bpf.c; do
	object="${source%.c}.o"
	# The path of the machine that compiles stands in no object.
	$CLANG -g -O2 -mcpu=v3 -Wall -Wno-unused-function -I "$here" \
		"-ffile-prefix-map=$PWD=." "-ffile-prefix-map=$here=." -c "$source" -o "$object"
	$STRIP -g "$object"
	echo "$object"
done
