#!/bin/bash
# SPDX-License-Identifier: MIT
# symbols.sh: what the object shows to the dynamic linker.
set -u
so=${LIBRETRY_SO:?}
def=${TOP_SRCDIR:?}/src/preload/symbols.def
fail=0

check() { # NAME WHY-NOT ("" = ok)
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $2"
		fail=1
	fi
}

libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
libc_minor=$(getconf GNU_LIBC_VERSION | sed 's/.*2\.//; s/\..*//')
# "KIND SINCE NAME" per row; SINCE is glibc's minor version, 0 if every one has it.
# Where nobody has written the lines of a JUMP there is none.
jumps='s/^JUMP(/SYMBOL(/; s/^ALIAS_JUMP(/ALIAS(/'
case $(readelf -h "$so" | sed -n 's/.*Machine: *//p') in
*X86-64 | *80386 | AArch64) ;;
*) jumps='/JUMP(/d' ;;
esac
table=$(sed -n -e "$jumps" \
	-e 's/^\(SYMBOL\|ALIAS\)_SINCE(\([0-9]*\), *[^,]*, *\([A-Za-z0-9_]*\),.*/\1 \2 \3/p' \
	-e 's/^\(SYMBOL\|ALIAS\)([^,]*, *\([A-Za-z0-9_]*\),.*/\1 0 \2/p' "$def")
rows=$(awk '{ print $3 }' <<<"$table" | LC_ALL=C sort)
exported=$(nm -D --defined-only "$so" | awk '{ print $3 }' | sed 's/@.*//' |
	grep -v '^_\(init\|fini\)$' | LC_ALL=C sort)
check "exports are the rows of symbols.def" \
	"$(diff <(echo "$rows") <(echo "$exported") | tr '\n' ' ')"

if [ -z "${SANITIZED:-}" ]; then
	check "needs nothing but libc" \
		"$(readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^libc\.so' | tr '\n' ' ')"
	# The newest symbol version decides on which systems it loads at all.
	newest=$(nm -D --undefined-only "$so" | sed -n 's/.*@GLIBC_//p' | sort -Vu | tail -n 1)
	check "loads with glibc 2.34 (needs $newest)" \
		"$([ "$(printf '%s\n' "$newest" 2.34 | sort -V | tail -n 1)" = 2.34 ] || echo "$newest")"
	check "no fortified functions" "$(nm -D --undefined-only "$so" | grep '_chk@' | tr '\n' ' ')"
	check "no stdio, no exit, no malloc" "$(nm -D --undefined-only "$so" |
		grep -wE 'f?printf|fopen|fwrite|puts|exit|_exit|abort|__assert_fail|malloc|calloc|realloc|free' |
		tr '\n' ' ')"
	check "stays loaded" "$(readelf -d "$so" | grep -q NODELETE || echo 'no NODELETE')"
	stack=$(readelf -lW "$so" | awk '$1 == "GNU_STACK" { print $7 }')
	check "no executable stack" "$([ "$stack" = RW ] || echo "$stack")"
	tls=$(readelf -lW "$so" | awk '$1 == "TLS" { print $6 }')
	check "thread-local data is small (${tls:-0x0})" "$([ $((${tls:-0})) -le 64 ] || echo "$tls")"
fi

# Every name that libc exports for a function we wrap is wrapped too, or stands
# here with a reason. (What is GLIBC_PRIVATE is not for programs.)
excused() {
	case $1 in
	# asynchronous: calls getaddrinfo inside libc, on a thread of libc's
	getaddrinfo_a) return 0 ;;
	# at a position in a file: ESPIPE on sockets
	pread | pread64 | __pread64 | __pread_chk | __pread64_chk | pwrite | pwrite64 | __pwrite64 | \
		preadv | preadv64 | pwritev | pwritev64) return 0 ;;
	# these do take a socket, with position -1: no program is known that uses
	# them for the first bytes of a connection, and it meets the bare kernel
	preadv2 | preadv64v2 | pwritev2 | pwritev64v2) return 0 ;;
	# a stream of popen(), and a message on stderr: namesakes only
	pclose | psignal) return 0 ;;
	*) return 1 ;;
	esac
}
# Not siblings by name, and not wrapped, for the same reason as preadv2: aio_*. (tee
# and vmsplice take pipes only.) fclose, fcloseall, pclose, closedir and
# popen, posix_spawn, daemon close and dup inside libc, past every wrapper: no
# record is believed before the socket's identity has been looked at. Streams
# (fread, fwrite, dprintf ...) read and write there too: a program that opens one
# on a socket whose connect is under way meets the bare kernel.
candidates() { # the public names of libc that look like a row's
	nm -D --defined-only "$libc" | awk -v rows="$rows" '
		BEGIN {
			n = split(rows, list, "\n")
			for (i = 1; i <= n; i++) {
				row[list[i]] = 1
				sub(/^__/, "", list[i])
				sub(/_chk$/, "", list[i])
				base[list[i]] = 1
			}
		}
		{
			name = $3
			if (name ~ /@+GLIBC_PRIVATE$/)
				next
			sub(/@.*/, "", name)
			if (name in row)
				next
			bare = name
			sub(/^_+(libc_|GI_)?/, "", bare)
			sub(/_chk$/, "", bare)
			while (!(bare in base) && sub(/(64|v?[23]|_time64|_time32|_nocancel|_a|_r|from|_range)$/, "", bare))
				;
			plain = bare
			sub(/^p/, "", plain)
			if (bare in base || plain in base)
				print name
		}' | sort -u
}
siblings=""
for name in $(candidates); do
	excused "$name" || siblings="$siblings $name"
done
check "siblings in libc are wrapped or excused" "$siblings"

# A missing one would be a stub of ours that fails with ENOSYS.
missing=""
declare -A in_libc=()
while read -r name; do
	in_libc[$name]=1
done < <(nm -D --defined-only "$libc" | awk '{ sub(/@.*/, "", $3); print $3 }')
while read -r _ since name; do
	[ "$since" -le "$libc_minor" ] || continue
	[ -n "${in_libc[$name]:-}" ] || missing="$missing $name"
done <<<"$table"
check "every row exists in libc" "$missing"
exit $fail
