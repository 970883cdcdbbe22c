# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# lib.sh - what the client tests share. Each of them is
#
#     . "$(dirname "$0")/lib.sh"
#     some_case() { ...; [ ... ] || fail "why"; }
#     dispatch "$@"
#     add_case NAME some_case ARGUMENTS
#     finish
#
# The lines after "dispatch" run once, those before it in each case again.
# Every case runs in a process of its own, in network, mount and host-name
# namespaces of its own (loopback, hosts, resolv.conf, nsswitch.conf). So ports
# and counters belong to the case, and cases run side by side: JOBS at a time,
# over all the scripts that one run.sh has started.
#
# What runs in each case starts few processes: they are most of what it costs.
#
# From the environment: LIBRETRY_SO (the library), TOOLS (folder of flaky, dnsd
# ...), CI=true (what is missing is a failure, not a skip), JOBS, KEEP=1 (leave
# the working folder). From run.sh: RUN_DIR, see open_run.
#
# shellcheck disable=SC2034 # results are left in variables for the sourcing file

set -u
: "${LIBRETRY_SO:?set it to the path of libretry.so}"
: "${TOOLS:?set it to the folder of the test tools}"
SCRIPT=$0
if [ "${1:-}" != --case ]; then
	LIBRETRY_SO=$(realpath "$LIBRETRY_SO")
	TOOLS=$(realpath "$TOOLS")
	CLIENTS=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
	PYTHON=$(command -v /usr/bin/python3 || command -v python3 || echo python3)
	SCRIPT=$(realpath "$0")
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
	export LIBRETRY_SO TOOLS CLIENTS PYTHON
fi

CASE_LIMIT=${CASE_LIMIT:-120} # seconds for a whole case
RUN_LIMIT=45                  # seconds for one run of a program
SKIP_STATUS=77                # a skipped case

# What a server says, and then no more.
BANNER=(--banner 'hello-from-late\r\n' --half-close)

# What lengthens the retrying; a case may add to it or replace it.
LENGTHEN=(
	LIBRETRY_MAX_ATTEMPTS=15
	LIBRETRY_BASE_DELAY=100ms
	LIBRETRY_MAX_DELAY=500ms
	LIBRETRY_DEADLINE=20s
)

# ---- inside a case --------------------------------------------------------

fail()
{
	printf '%s\n' "$*" >"$CASE_DIR/why"
	exit 1
}

skip()
{
	printf '%s\n' "$*" >"$CASE_DIR/why"
	exit "$SKIP_STATUS"
}

# A missing program is a skip for a person and a failure for CI.
need()
{
	local program

	for program; do
		command -v "$program" >/dev/null && continue
		[ "${CI:-}" = true ] && fail "$program is not installed"
		skip "$program is not installed"
	done
}

# start_server ARGUMENTS: a flaky of the case's own; sets PORT.
start_server()
{
	exec {server_out}< <(exec "$TOOLS/flaky" --life "${CASE_LIMIT}s" "$@" 2>>"$CASE_DIR/flaky.err")
	SERVER_PID=$!
	read -r -t 10 -u "$server_out" _ PORT ||
		fail "flaky did not start: $(cat "$CASE_DIR/flaky.err")"
	export PORT
}

# Returns when it is gone, so that the next may take its port.
stop_server()
{
	kill "$SERVER_PID" 2>/dev/null
	wait "$SERVER_PID" 2>/dev/null
	exec {server_out}<&-
}

# start_dns ARGUMENTS: a dnsd at the address that resolv.conf names.
start_dns()
{
	exec {dns_out}< <(exec "$TOOLS/dnsd" -P 53 --log "$CASE_DIR/dns.log" "$@" \
		2>>"$CASE_DIR/dnsd.err")
	DNS_PID=$!
	read -r -t 10 -u "$dns_out" _ _ ||
		fail "dnsd did not start: $(cat "$CASE_DIR/dnsd.err")"
}

stop_dns()
{
	kill "$DNS_PID" 2>/dev/null
	wait "$DNS_PID" 2>/dev/null
	exec {dns_out}<&-
}

# start_late ARGUMENTS: it listens 1.5 s after the first line of the log, that is
# after the first failed attempt: a slow start of the program cannot turn the
# test into another. In the bare run, which writes no log, it never does.
start_late()
{
	start_server --late 1500ms --late-from "$CASE_DIR/log" "$@"
}

# run_program TAG [NAME=VALUE ...] -- COMMAND: a shell command line, with an
# empty environment but for these. Leaves TAG.out, TAG.err; sets RC, RUN_MS, and
# what the kernel counted meanwhile: OPENED, FAILED_ON_WIRE, REFUSED.
run_program()
{
	local tag=$1 begin before
	local vars=(PATH="$PATH" HOME="$CASE_DIR" LANG=C.UTF-8 TERM=dumb PORT="${PORT:-}"
		CASE_DIR="$CASE_DIR" TOOLS="$TOOLS")

	shift
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	tcp_counters
	before=("${TCP[@]}")
	begin=${EPOCHREALTIME//[!0-9]/}
	timeout -k 2 "$RUN_LIMIT" env -i "${vars[@]}" sh -c "$2" \
		</dev/null >"$CASE_DIR/$tag.out" 2>"$CASE_DIR/$tag.err"
	RC=$?
	RUN_MS=$(((${EPOCHREALTIME//[!0-9]/} - begin) / 1000))
	tcp_counters
	OPENED=$((TCP[0] - before[0]))
	FAILED_ON_WIRE=$((TCP[1] - before[1]))
	REFUSED=$((TCP[2] - before[2]))
	[ "$RC" -ne 124 ] || fail "$tag: still running after $RUN_LIMIT s"
}

# bare COMMAND: without the library; what same_as_bare compares with.
bare()
{
	run_program bare -- "$1"
	BARE_RC=$RC BARE_OPENED=$OPENED
}

# with_library COMMAND [NAME=VALUE ...]
with_library()
{
	local command=$1

	shift
	rm -f "$CASE_DIR/log"
	run_program lib LD_PRELOAD="$LIBRETRY_SO" LIBRETRY_CONFIG=none \
		LIBRETRY_LOG="file:$CASE_DIR/log" "${LENGTHEN[@]}" "$@" -- "$command"
}

# Sets TCP to this namespace's ActiveOpens, AttemptFails and OutRsts.
tcp_counters()
{
	local lines names values i

	# In one go: the file changes under a reader that comes back.
	mapfile -t lines </proc/net/snmp
	for i in "${!lines[@]}"; do
		[ "${lines[i]%% *}" != Tcp: ] || break
	done
	read -r -a names <<<"${lines[i]}"
	read -r -a values <<<"${lines[i + 1]}"
	for i in "${!names[@]}"; do
		case ${names[i]} in
		ActiveOpens) TCP[0]=${values[i]} ;;
		AttemptFails) TCP[1]=${values[i]} ;;
		OutRsts) TCP[2]=${values[i]} ;;
		esac
	done
}

# log_count EXTENDED-REGEX: how many lines of the log it is in.
log_count()
{
	local lines=() line count=0

	[ ! -e "$CASE_DIR/log" ] || mapfile -t lines <"$CASE_DIR/log"
	for line in "${lines[@]}"; do
		[[ ! $line =~ $1 ]] || count=$((count + 1))
	done
	echo "$count"
}

# said TAG TEXT: whether the run printed it, on either stream.
said()
{
	grep -qF -- "$2" "$CASE_DIR/$1.out" "$CASE_DIR/$1.err"
}

no_log()
{
	[ ! -s "$CASE_DIR/log" ] || fail "the log is not empty"
}

# The same bytes on both streams and the same exit status.
same_as_bare()
{
	[ "$RC" -eq "$BARE_RC" ] || fail "exit status $RC instead of $BARE_RC"
	cmp "$CASE_DIR/bare.out" "$CASE_DIR/lib.out" || fail "other output"
	cmp "$CASE_DIR/bare.err" "$CASE_DIR/lib.err" || fail "other words"
}

# assert_recovered OP: one retry line per failed attempt, numbered from 1, then
# one line "recovered" with the right count, and no other outcome.
assert_recovered()
{
	local op=$1 lines=() line

	RETRIES=0
	[ ! -e "$CASE_DIR/log" ] || mapfile -t lines <"$CASE_DIR/log"
	for line in "${lines[@]}"; do
		[[ $line =~ ' retry ' ]] || continue
		RETRIES=$((RETRIES + 1))
		[[ $line =~ " WARN retry op=$op ".*" attempt=$RETRIES/" ]] ||
			fail "retry $RETRIES in the log is of something else than $op, or another number"
	done
	[ "$RETRIES" -ge 1 ] || fail "no line 'retry op=$op' in the log"
	[ "$(log_count " INFO recovered op=$op ")" -eq 1 ] || fail "not 1 line 'recovered op=$op'"
	[ "$(log_count ' gave-up | suppressed | abandoned ')" -eq 0 ] ||
		fail "the log tells of another outcome as well"
	[ "$(log_count " recovered op=$op .*attempts=$((RETRIES + 1)) ")" -eq 1 ] ||
		fail "'recovered' does not count $((RETRIES + 1)) attempts"
}

# shellcheck source=tests/clients/stories.sh
. "$CLIENTS/stories.sh"

# ---- around the cases -----------------------------------------------------

# write_names HOSTS-LINES: the names of the case's own world.
write_names()
{
	printf '%s\n' "$1" >"$CASE_DIR/hosts"
}

enter_namespace()
{
	local name

	ip link set lo up || fail "cannot bring up lo"
	hostname testhost
	[ -e /etc/resolv.conf ] || : >"$(realpath -m /etc/resolv.conf)"
	write_names '127.0.0.1 localhost testhost'
	printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$CASE_DIR/resolv.conf"
	printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$CASE_DIR/nsswitch.conf"
	for name in hosts resolv.conf nsswitch.conf; do
		mount --bind "$CASE_DIR/$name" "/etc/$name" || fail "cannot mount /etc/$name"
	done
}

# Sets up RUN_DIR, what the scripts of one run share: BIN for compile, and a
# FIFO with JOBS bytes in it; who has taken one may run a case.
open_run()
{
	RUN_DIR=$1
	export RUN_DIR
	mkdir "$RUN_DIR/bin" && mkfifo "$RUN_DIR/places" || exit 2
	# Kept open for reading, else the bytes are lost.
	exec 9<>"$RUN_DIR/places"
	printf "%${JOBS:-8}s" '' >&9
}

# The second life of the script: one case.
dispatch()
{
	if [ "${1:-}" != --case ]; then
		WORK=$(mktemp -d "${TMPDIR:-/tmp}/clients.XXXXXX") || exit 2
		trap '[ -n "${KEEP:-}" ] && echo "# left: $WORK" || rm -rf "$WORK"' EXIT
		chmod 755 "$WORK"
		if [ -n "${RUN_DIR:-}" ]; then
			exec 9<>"$RUN_DIR/places"
		else
			open_run "$WORK"
		fi
		BIN=$RUN_DIR/bin
		return
	fi
	BIN=$RUN_DIR/bin
	CASE_DIR=$2
	shift 2
	cd "$CASE_DIR" || exit 2
	enter_namespace
	"$@"
	exit 0
}

private_world()
{
	if [ "$EUID" -eq 0 ]; then
		unshare -mnu -- "$@"
	else
		unshare -Urmnu -- "$@"
	fi
}

CASES=()

# Starts it when one of the places is free.
add_case()
{
	local name=$1 dir

	shift
	printf -v dir '%s/%03d' "$WORK" ${#CASES[@]}
	mkdir -p "$dir"
	CASES+=("$name")
	read -r -N 1 -u 9
	(
		private_world timeout -k 5 "$CASE_LIMIT" bash "$SCRIPT" --case "$dir" "$@" \
			>"$dir/case.out" 2>&1 9>&-
		echo $? >"$dir/rc"
		printf ' ' >&9
	) &
}

# Prints one line per case, in order; the exit status says whether all is well.
finish()
{
	local i dir rc why bad=0

	wait
	for i in "${!CASES[@]}"; do
		printf -v dir '%s/%03d' "$WORK" "$i"
		rc=none why=
		[ ! -e "$dir/rc" ] || rc=$(<"$dir/rc")
		[ ! -e "$dir/why" ] || why=$(<"$dir/why")
		case $rc in
		0)
			echo "ok ${CASES[i]}"
			;;
		"$SKIP_STATUS")
			echo "skip ${CASES[i]}: $why"
			;;
		*)
			[ "$rc" != 124 ] || why="not done after $CASE_LIMIT s"
			echo "not ok ${CASES[i]}: ${why:-exit status $rc}"
			(cd "$dir" && tail -v -n 15 ./*.out ./*.err ./log 2>/dev/null) |
				cut -c1-300 | sed '/^$/d; s/^/#   /'
			bad=1
			;;
		esac
	done
	exit "$bad"
}
