#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# client.sh: programs of another architecture under its libretry.so, and beside
# programs of this one. In namespaces of its own: loopback, /dev/shm.
# From check.sh: FOREIGN_CC, FOREIGN_SO, FOREIGN_RUN (an emulator, or nothing),
# FOREIGN_LIBS, FOREIGN_LD (its ld.so), TIME64; LIBRETRY_SO, LIBRETRY and TOOLS are
# this architecture's.

set -u
if [ -z "${ALONE:-}" ]; then
	flags=-mn
	[ "$EUID" -eq 0 ] || flags=-Urmn
	unshare "$flags" true 2>/dev/null || { echo "skip: no namespaces"; exit 77; }
	ALONE=1 exec unshare "$flags" bash "$0" "$@"
fi
ip link set lo up && mount -t tmpfs tmpfs /dev/shm || exit 99
here=$(dirname "$(realpath "$0")")
read -r -a cc <<<"$FOREIGN_CC"
read -r -a emulator <<<"${FOREIGN_RUN:-}"
dir=$(mktemp -d) || exit 99
server=
cleanup()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT
passed=0 failed=0

check() # NAME WHY-NOT ("" = ok)
{
	if [ -z "$2" ]; then
		echo "ok $1"
		passed=$((passed + 1))
	else
		echo "not ok $1: $2"
		failed=$((failed + 1))
	fi
}

# run NAME=VALUE ... -- PROGRAM ARGUMENTS: of the other architecture, preloaded.
run()
{
	local vars=(LD_PRELOAD="$FOREIGN_SO" LD_LIBRARY_PATH="$FOREIGN_LIBS"
		LIBRETRY_CONFIG=none LIBRETRY_LOG="file:$dir/log" LIBRETRY_BASE_DELAY=50ms
		LIBRETRY_MAX_DELAY=200ms LIBRETRY_MAX_ATTEMPTS=100)

	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	rm -f "$dir/log"
	timeout 40 env "${vars[@]}" "${emulator[@]}" "$@"
}

start_late()
{
	rm -f "$dir/log"
	exec {out}< <(exec "$TOOLS/flaky" --life 60s --late 200ms --late-from "$dir/log" \
		--banner 'hello\r\n' --half-close)
	server=$!
	read -r -t 10 -u "$out" _ PORT
}

stop_server()
{
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
	exec {out}<&-
}

rescued() # PROGRAM BITS WAY [NAME=VALUE ...]
{
	local program=$1 bits=$2 way=$3 got why=

	shift 3
	start_late
	got=$(run "$@" -- "$dir/$program" "$way" 127.0.0.1 "$PORT" 2>&1 | tr -d '\r')
	[ "$got" = "$bits-bit time: hello" ] || why="it said: $got"
	[ -n "$why" ] || grep -q ' WARN retry op=connect ' "$dir/log" || why="no retry in the log"
	[ -n "$why" ] || grep -q ' INFO recovered op=connect ' "$dir/log" || why="no recovery in the log"
	check "$program, $way" "$why"
	stop_server
}

bits=$((FOREIGN_BITS))
"${cc[@]}" -O2 -o "$dir/late" "$here/late.c" || { echo "not ok compile"; exit 1; }
ways=(blocking poll ppoll select pselect epoll)
# qemu-user and musl know no epoll_pwait2().
[ ${#emulator[@]} -gt 0 ] || [ -n "${MUSL:-}" ] || ways+=(pwait2)
for way in "${ways[@]}"; do
	rescued late "$bits" "$way"
done
if [ -n "${TIME64:-}" ]; then
	"${cc[@]}" -O2 -D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64 -o "$dir/late64" "$here/late.c" ||
		exit 1
	check "64-bit times: other functions of libc" "$(nm -D "$dir/late64" |
		grep -q '__ppoll64' || echo "no __ppoll64 in $(nm -D "$dir/late64" | wc -l) names")"
	for way in "${ways[@]}"; do
		rescued late64 64 "$way"
	done
	missing=
	for name in $(nm -D --undefined-only "$dir/late64" | sed 's/.* \([a-zA-Z_0-9]*\)@.*/\1/' |
		grep -E '64$'); do
		nm -D --defined-only "$FOREIGN_SO" | grep -q " $name\$" || missing="$missing $name"
	done
	check "64-bit times: all wrapped" "$missing"
fi

# It reads its configuration, with its own libconfig.
cat >"$dir/conf" <<'C'
version = 1;
policies = {
  default = { base_delay = "20ms"; max_delay = "50ms"; max_attempts = 100; };
  mine = { inherit = "default"; };
  shared = { inherit = "default"; max_attempts = 3; budget = { scope = "user"; }; };
};
destinations = ( { addr = "127.0.0.1"; policy = "mine"; },
                 { addr = "127.0.0.2"; policy = "shared"; } );
stats = { enabled = true; };
C
start_late
got=$(run LIBRETRY_CONFIG="$dir/conf" -- "$dir/late" poll 127.0.0.1 "$PORT" 2>&1)
why=$(grep -q ' retry .*policy=mine' "$dir/log" || echo "$got; $(head -n 2 "$dir/log")")
check "a configuration" "$why"
stop_server

# Both in one segment. Nothing listens on port 1.
counts()
{
	"$LIBRETRY" stats --json | python3 -c '
import json, sys
rows = [d for d in json.load(sys.stdin)["destinations"] if d["destination"] == "127.0.0.2:1"]
print(*["%d+%d" % (d["calls"], d["retries"]) for d in rows])'
}
for program in "$dir/late blocking" "$dir/late poll"; do
	read -r -a words <<<"$program"
	run LIBRETRY_CONFIG="$dir/conf" LIBRETRY_MAX_ATTEMPTS=3 -- "${words[@]}" 127.0.0.2 1 >/dev/null 2>&1
done
first=$(counts)
env LD_PRELOAD="$LIBRETRY_SO" LIBRETRY_CONFIG="$dir/conf" LIBRETRY_LOG=none \
	"$TOOLS/connect_once" 127.0.0.2 1 >/dev/null 2>&1
both=$(counts)
files=$(find /dev/shm -type f | wc -l)
check "one segment adds up" \
	"$([ "$first $both $files" = "2+4 3+6 1" ] || echo "$first, then $both, in $files files")"

# musl's loader knows no $LIB: each program is given the library of its C library. What
# happens with the other's, and that "run" does not do it.
refused() # NAME LIBRARY PROGRAM ARGUMENTS: what it says, or why not
{
	local name=$1 so=$2 other=$3 got

	shift 2
	got=$(LD_PRELOAD=$so LIBRETRY_CONFIG=none "$@" 2>&1)
	check "$name is refused" "$([ $? -eq 127 ] && grep -q "$so\|libc\.so" <<<"$got" || echo "$got")"
	got=$("$LIBRETRY" run --library "$so" "$@" 2>&1)
	check "$name: run starts it without" "$(grep -q "uses another C library" <<<"$got" &&
		grep -q 'refused\|errno=111' <<<"$got" || echo "$got")"
	got=$("$LIBRETRY" doctor --library "$so" --json "$other" 2>&1)
	check "$name: doctor says so" \
		"$(grep -q '"other-libc"' <<<"$got" || echo "$got")"
}
with_musl()
{
	local got
	local -x LIBRETRY_CONFIG=none LIBRETRY_MAX_ATTEMPTS=2 LIBRETRY_BASE_DELAY=5ms

	refused "glibc's library in a program for musl" "$LIBRETRY_SO" "$dir/late" blocking 127.0.0.1 1
	refused "musl's library in a program for glibc" "$FOREIGN_SO" "$TOOLS/connect_once" 127.0.0.1 1
	got=$("$LIBRETRY" doctor --library "$FOREIGN_SO" "$dir/late" 2>&1)
	check "doctor: musl's library in a program for musl" \
		"$(! grep -q 'another C library' <<<"$got" || echo "$got")"
	got=$("$LIBRETRY" run --library "$FOREIGN_SO" -- "$dir/late" blocking 127.0.0.1 1 2>&1)
	check "run: musl's library in a program for musl" \
		"$(grep -q ' gave-up op=connect dest=127.0.0.1:1 ' <<<"$got" || echo "$got")"
	[ -x "$(dirname "$FOREIGN_SO")/libretry" ] || return
	got=$("$(dirname "$FOREIGN_SO")/libretry" run -- "$dir/late" blocking 127.0.0.1 1 2>&1)
	check "musl's own command" \
		"$(grep -q ' gave-up op=connect dest=127.0.0.1:1 ' <<<"$got" || echo "$got")"
}

# One command line for both architectures: each ld.so has its own meaning of $LIB.
lib_of() # LD.SO [EMULATOR]
{
	"${@:2}" "$1" --list-diagnostics | sed -n 's/^dl_dst_lib="\(.*\)"/\1/p'
}
one_command_line()
{
	local own_lib its_lib got why addr

	own_lib=$(lib_of "$(readelf -lW "$TOOLS/connect_once" | sed -n 's/.*interpreter: \(.*\)]/\1/p')")
	its_lib=$(lib_of "$FOREIGN_LD" "${emulator[@]}")
	if [ -z "$own_lib" ] || [ "$own_lib" = "$its_lib" ]; then
		check "one command line for both" "\$LIB is '$own_lib' here and '$its_lib' there"
	else
		mkdir -p "$dir/usr/$own_lib" "$dir/usr/$its_lib"
		cp "$LIBRETRY_SO" "$dir/usr/$own_lib/libretry.so"
		cp "$FOREIGN_SO" "$dir/usr/$its_lib/libretry.so"
		# shellcheck disable=SC2016
		got=$(env LD_PRELOAD="$dir/usr/\$LIB/libretry.so" LIBRETRY_CONFIG=none LIBRETRY_LOG=stderr \
			LIBRETRY_MAX_ATTEMPTS=2 LIBRETRY_BASE_DELAY=5ms sh -c '"$@"; '"$TOOLS/connect_once 127.0.0.4 1" \
			sh "${emulator[@]}" "$dir/late" blocking 127.0.0.3 1 2>&1)
		why=
		for addr in 127.0.0.3 127.0.0.4; do
			grep -q " gave-up op=connect dest=$addr:1 " <<<"$got" || why="$why nothing of $addr;"
		done
		! grep -q 'cannot be preloaded' <<<"$got" || why="$why not preloaded"
		check "one command line for both ($own_lib, $its_lib)" "${why:+$why $got}"
	fi
}
if [ -n "${MUSL:-}" ]; then
	with_musl
else
	one_command_line
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
