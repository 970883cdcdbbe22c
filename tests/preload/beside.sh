#!/bin/bash
# SPDX-License-Identifier: MIT
# beside.sh: what others preload into a program, allocators and wrappers, before us
# and behind us; launchers that set LD_PRELOAD themselves; AddressSanitizer's
# runtime, which must be the first. In each the same program gets the same.
set -u
[ -z "${SANITIZED:-}" ] || exit 77
here=$(cd "$(dirname "$0")" && pwd)
so=${LIBRETRY_SO:?}
program=$(cd "${TOOLS:?}/../preload" && pwd)/beside.pt
[ -x "$program" ] || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail=0

result() { # NAME STATUS OUTPUT
	if [ "$2" -eq 0 ]; then
		echo "ok $1"
	else
		echo "not ok $1:"
		sed 's/^/#   /' "$3"
		fail=1
	fi
}

# try NAME [VARIABLE=VALUE ...]: beside.pt, beside the others; results come last
names=()
try() {
	local out=$dir/${#names[@]}
	names+=("$1")
	shift
	(
		env "$@" timeout 100 "$here/run.sh" "$program" >"$out" 2>&1
		echo $? >"$out.rc"
	) &
}

# skip NAME WHY: CI has all of them
skip() {
	if [ "${CI:-}" = true ]; then
		echo "not ok $1: $2"
		fail=1
	else
		echo "skip $1: $2"
	fi
}

# find_library NAME: its path, from where the loader looks, and beside
find_library() {
	/sbin/ldconfig -p | sed -n "s|.*/|&|; s|.* => \(.*/$1\)$|\1|p" | head -n 1 | grep . ||
		find /usr/lib /usr/libexec -name "$1" 2>/dev/null | head -n 1
}

for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libeatmydata.so libfaketime.so.1 \
	libstdbuf.so; do
	library=$(find_library "$name")
	if [ -z "$library" ]; then
		skip "$name" "not installed"
		continue
	fi
	for order in before behind; do
		before='' behind=''
		[ "$order" = before ] && before=$library || behind=$library
		try "$name $order us" PRELOAD_BEFORE="$before" PRELOAD_AFTER="$behind" FAKETIME=+0
	done
done

# Launchers put their own library before ours, which must still be there.
for launcher in stdbuf fakeroot eatmydata faketime; do
	if ! command -v "$launcher" >/dev/null; then
		skip "$launcher" "not installed"
		continue
	fi
	case $launcher in
	stdbuf) words='stdbuf -oL' ;;
	faketime) words='faketime -f +1h' ;;
	*) words=$launcher ;;
	esac
	try "started by $launcher" TEST_WRAPPER="$words"
done
wait
for i in "${!names[@]}"; do
	result "${names[i]}" "$(cat "$dir/$i.rc")" "$dir/$i"
done

# A program built with AddressSanitizer has its runtime as a library, which refuses
# to come after another; linked statically it is the program's own.
cat >"$dir/client.c" <<'C'
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char *p = malloc(100);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!p || bind(server, (struct sockaddr *)&sa, len) != 0 ||
	    getsockname(server, (struct sockaddr *)&sa, &len) != 0)
		return 2;
	free(p);
	if (connect(fd, (struct sockaddr *)&sa, len) == 0 || errno != ECONNREFUSED)
		return 3;
	puts("refused");
	return 0;
}
C
asan() { # NAME PROGRAM PRELOAD
	rm -f "$dir/log"
	LD_PRELOAD=$3 LIBRETRY_CONFIG=none LIBRETRY_BASE_DELAY=5ms LIBRETRY_LOG=file:$dir/log \
		timeout 60 "$dir/$2" >"$dir/out" 2>&1 && [ "$(cat "$dir/out")" = refused ] &&
		grep -q ' gave-up .*attempts=5' "$dir/log"
	result "$1" $? "$dir/out"
}
if ! ${CC:-gcc} -fsanitize=address -o "$dir/asan" "$dir/client.c" 2>/dev/null; then
	skip "a program with AddressSanitizer" "${CC:-gcc} cannot build it"
else
	runtime=$(ldd "$dir/asan" | awk '/libasan/ { print $3 }')
	if [ -n "$runtime" ]; then
		asan "AddressSanitizer's runtime first" asan "$runtime:$so"
		ASAN_OPTIONS=verify_asan_link_order=0 asan "and behind us, when told not to look" \
			asan "$so"
	fi
	if ${CC:-gcc} -fsanitize=address -static-libasan -o "$dir/static" "$dir/client.c" \
		2>/dev/null; then
		asan "AddressSanitizer inside the program" static "$so"
	fi
fi
exit $fail
