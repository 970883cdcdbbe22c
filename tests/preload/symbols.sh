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

rows=$(sed -n -e 's/^SYMBOL([^,]*, *\([A-Za-z0-9_]*\),.*/\1/p' \
	-e 's/^ALIAS([^,]*, *\([A-Za-z0-9_]*\),.*/\1/p' "$def" | LC_ALL=C sort)
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
# here with a reason:
excused() {
	case $1 in
	# glibc's own, not for programs (GLIBC_PRIVATE)
	__libc_*) return 0 ;;
	# asynchronous: calls getaddrinfo inside libc, on a thread of libc's
	getaddrinfo_a) return 0 ;;
	*) return 1 ;;
	esac
}
libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
siblings=""
for name in $(nm -D --defined-only "$libc" | awk '{ print $3 }' | sed 's/@.*//' | sort -u); do
	for row in $rows; do
		case $name in
		"$row") continue 2 ;;
		"__$row" | "__${row}_chk" | "${row}64" | "${row}_time64" | "__${row}_time64" | \
			"__libc_$row" | "${row}_a")
			excused "$name" || siblings="$siblings $name"
			;;
		esac
	done
done
check "siblings in libc are wrapped or excused" "$siblings"
missing=""
for row in $rows; do
	nm -D --defined-only "$libc" | grep -qE " ${row}(@|$)" || missing="$missing $row"
done
check "every row exists in libc" "$missing"
exit $fail
