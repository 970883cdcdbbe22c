#!/bin/bash
# SPDX-License-Identifier: MIT
# bound.sh: the real functions are those that dlsym(RTLD_NEXT) gives, whatever else is
# preloaded or odd; and in the usual case dlsym() is not asked for them.
set -u
so=${LIBRETRY_SO:?}
dir=$(dirname "${EARLY_SO:?}")
sanitizer=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}
fail=0
at=$(nm "$so" 2>/dev/null | sed -n 's/ [A-Za-z] real$//p')
[ -n "$at" ] || { echo "skip: libretry.so is stripped"; exit 77; }
rows=$(grep -cE '^(SYMBOL(_SINCE)?|JUMP)\(' "${TOP_SRCDIR:?}/src/preload/symbols.def")
export BOUND_AT=$at LIBRETRY_CONFIG=none LIBRETRY_LOG=none LIBRETRY_MAX_ATTEMPTS=1

# try NAME walked|asked|either PRELOAD [VARIABLE=VALUE ...]
try() {
	local name=$1 how=$2 preload=$3 got asked=walked
	shift 3
	got=$(env "$@" LD_DEBUG=bindings LD_DEBUG_OUTPUT="$tmp/log" LD_PRELOAD="$sanitizer$preload" \
		timeout 60 /bin/true 2>&1 | grep ' of \|ERROR')
	if cat "$tmp"/log.* | grep -q "binding file [^ ]*/libretry\.so .* symbol \`closefrom'"; then
		asked=asked
	fi
	rm -f "$tmp"/log.*
	if [ "$got" = "$rows of $rows" ] && { [ "$how" = either ] || [ "$how" = "$asked" ]; }; then
		echo "ok $name"
	else
		echo "not ok $name: $got, $asked"
		fail=1
	fi
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

bound=$dir/bound.so
usual=walked
libcs=BOUND_LIBC=yes
[ -z "${SANITIZED:-}" ] || { usual=either; libcs=A=b; }
try "alone" $usual "$so:$bound" "$libcs"
try "another behind" $usual "$so:$bound:$dir/early.so"
try "another in front" $usual "$dir/early.so:$so:$bound"
# A sanitizer's runtime has functions of its own for most, and is slow.
[ -z "${SANITIZED:-}" ] || exit $fail
try "loaded by dlopen" asked "$bound" BOUND_OPEN="$so"
try "an auditor" asked "$so:$bound" LD_AUDIT="$dir/odd.so"
try "all kinds of definitions" walked "$so:$bound:$dir/kinds.so"
for n in $(seq 0 12); do
	try "an odd table, $n" asked "$so:$bound:$dir/odd.so" ODD="$n"
done
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libeatmydata.so libfaketime.so.1 \
	libstdbuf.so libfakeroot-sysv.so; do
	library=$({ /sbin/ldconfig -p; find /usr/lib /usr/libexec -name "$name" 2>/dev/null; } |
		sed -n "s|.*=> ||; \|/$name\$|p" | head -n 1)
	[ -n "$library" ] || { echo "skip $name: not installed"; continue; }
	try "$name in front" $usual "$library:$so:$bound" FAKETIME=+0
	try "$name behind" $usual "$so:$bound:$library" FAKETIME=+0
done
# These refuse to be anywhere but in front, or to share a process.
for name in libtsan.so libasan.so; do
	library=$(readlink -f "$(${CC:-gcc} -print-file-name=$name)")
	if [ -z "$sanitizer" ] && [ -e "$library" ]; then
		try "$name in front" $usual "$library:$so:$bound"
	fi
done
exit $fail
