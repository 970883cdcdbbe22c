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
# and counters belong to the case, and cases run side by side.
#
# From the environment: LIBRETRY_SO (the library), TOOLS (folder of flaky, dnsd
# ...), CI=true (what is missing is a failure, not a skip), JOBS, KEEP=1 (leave
# the working folder).
#
# shellcheck disable=SC2034 # results are left in variables for the sourcing file

set -u
: "${LIBRETRY_SO:?set it to the path of libretry.so}"
: "${TOOLS:?set it to the folder of the test tools}"
LIBRETRY_SO=$(realpath "$LIBRETRY_SO")
TOOLS=$(realpath "$TOOLS")
CLIENTS=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
SCRIPT=$(realpath "$0")
export LIBRETRY_SO TOOLS CLIENTS
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

CASE_LIMIT=${CASE_LIMIT:-60} # seconds for a whole case
RUN_LIMIT=20                 # seconds for one run of a program
SKIP_STATUS=77           # a skipped case

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
	exec {server_out}< <(exec "$TOOLS/flaky" "$@" 2>>"$CASE_DIR/flaky.err")
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

# run_program TAG [NAME=VALUE ...] -- COMMAND: a shell command line, with an
# empty environment but for these. Leaves TAG.out, TAG.err; sets RC, RUN_MS.
run_program()
{
	local tag=$1 begin
	local vars=(PATH="$PATH" HOME="$CASE_DIR" LANG=C.UTF-8 TERM=dumb PORT="${PORT:-}"
		CASE_DIR="$CASE_DIR" TOOLS="$TOOLS")

	shift
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	begin=$(date +%s%N)
	timeout -k 2 "$RUN_LIMIT" env -i "${vars[@]}" sh -c "$2" \
		</dev/null >"$CASE_DIR/$tag.out" 2>"$CASE_DIR/$tag.err"
	RC=$?
	RUN_MS=$((($(date +%s%N) - begin) / 1000000))
	[ "$RC" -ne 124 ] || fail "$tag: still running after $RUN_LIMIT s"
}

bare()
{
	run_program bare -- "$1"
}

# with_library COMMAND [NAME=VALUE ...]: also sets FAILED_ON_WIRE.
with_library()
{
	local command=$1 before

	shift
	rm -f "$CASE_DIR/log"
	before=$(tcp_counter AttemptFails)
	run_program lib LD_PRELOAD="$LIBRETRY_SO" LIBRETRY_CONFIG=none \
		LIBRETRY_LOG="file:$CASE_DIR/log" "${LENGTHEN[@]}" "$@" -- "$command"
	FAILED_ON_WIRE=$(($(tcp_counter AttemptFails) - before))
}

# A counter of the Tcp: lines of /proc/net/snmp of this namespace.
tcp_counter()
{
	awk -v name="$1" '$1 == "Tcp:" {
		if (!column) { for (i = 2; i <= NF; i++) if ($i == name) column = i }
		else print $column
	}' /proc/net/snmp
}

# log_count EXTENDED-REGEX
log_count()
{
	[ -e "$CASE_DIR/log" ] || { echo 0; return; }
	grep -cE -- "$1" "$CASE_DIR/log"
}

show_log()
{
	[ ! -e "$CASE_DIR/log" ] || sed 's/^/log: /' "$CASE_DIR/log" >&2
}

# said TAG TEXT: whether the run printed it, on either stream.
said()
{
	grep -qF -- "$2" "$CASE_DIR/$1.out" "$CASE_DIR/$1.err"
}

no_log()
{
	[ ! -s "$CASE_DIR/log" ] || { show_log; fail "the log is not empty"; }
}

# assert_recovered OP: one retry line per failed attempt, numbered from 1, then
# one line "recovered" with the right count, and no other outcome.
assert_recovered()
{
	local op=$1 retries recovered numbers

	show_log
	retries=$(log_count " WARN retry op=$op ")
	recovered=$(log_count " INFO recovered op=$op ")
	[ "$retries" -ge 1 ] || fail "no line 'retry op=$op' in the log"
	[ "$recovered" -eq 1 ] || fail "$recovered lines 'recovered op=$op' in the log, not 1"
	[ "$(log_count ' gave-up | suppressed | abandoned ')" -eq 0 ] ||
		fail "the log tells of another outcome as well"
	[ "$(log_count ' retry ')" -eq "$retries" ] || fail "retries of something else than $op"
	numbers=$(sed -nE 's/.* WARN retry .* attempt=([0-9]+)\/.*/\1/p' "$CASE_DIR/log")
	[ "$numbers" = "$(seq "$retries")" ] || fail "attempts are not numbered 1 to $retries"
	[ "$(log_count " recovered op=$op .*attempts=$((retries + 1)) ")" -eq 1 ] ||
		fail "'recovered' does not count $((retries + 1)) attempts"
	RETRIES=$retries
}

# ---- around the cases -----------------------------------------------------

# write_names HOSTS-LINES: the names of the case's own world.
write_names()
{
	printf '%s\n' "$1" >"$CASE_DIR/hosts"
	mount --bind "$CASE_DIR/hosts" /etc/hosts || fail "cannot mount /etc/hosts"
}

enter_namespace()
{
	ip link set lo up || fail "cannot bring up lo"
	hostname testhost
	[ -e /etc/resolv.conf ] || : >"$(realpath -m /etc/resolv.conf)"
	printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$CASE_DIR/resolv.conf"
	printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$CASE_DIR/nsswitch.conf"
	if ! mount --bind "$CASE_DIR/resolv.conf" /etc/resolv.conf ||
		! mount --bind "$CASE_DIR/nsswitch.conf" /etc/nsswitch.conf; then
		fail "cannot mount the test's names"
	fi
	write_names '127.0.0.1 localhost testhost'
}

# The second life of the script: one case.
dispatch()
{
	WORK=${CASE_WORK:-}
	if [ "${1:-}" != --case ]; then
		WORK=$(mktemp -d "${TMPDIR:-/tmp}/clients.XXXXXX") || exit 2
		trap '[ -n "${KEEP:-}" ] && echo "# left: $WORK" || rm -rf "$WORK"' EXIT
		chmod 755 "$WORK"
		export CASE_WORK=$WORK
		return
	fi
	CASE_DIR=$2
	shift 2
	cd "$CASE_DIR" || exit 2
	enter_namespace
	"$@"
	exit 0
}

private_world()
{
	if [ "$(id -u)" -eq 0 ]; then
		unshare -mnu -- "$@"
	else
		unshare -Urmnu -- "$@"
	fi
}

CASES=()

# Starts it at once, or when one of the JOBS places is free.
add_case()
{
	local name=$1 dir

	shift
	dir=$WORK/$(printf '%03d' ${#CASES[@]})
	mkdir -p "$dir"
	CASES+=("$name")
	while [ "$(jobs -pr | wc -l)" -ge "${JOBS:-4}" ]; do
		wait -n
	done
	(
		private_world timeout -k 5 "$CASE_LIMIT" bash "$SCRIPT" --case "$dir" "$@" \
			>"$dir/case.out" 2>&1
		echo $? >"$dir/rc"
	) &
}

# Prints one line per case, in order; the exit status says whether all is well.
finish()
{
	local i dir rc why bad=0

	wait
	for i in "${!CASES[@]}"; do
		dir=$WORK/$(printf '%03d' "$i")
		rc=$(cat "$dir/rc" 2>/dev/null || echo none)
		why=$(cat "$dir/why" 2>/dev/null)
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
			(cd "$dir" && tail -v -n 15 ./*.out ./*.err 2>/dev/null) |
				cut -c1-300 | sed '/^$/d; s/^/#   /'
			bad=1
			;;
		esac
	done
	exit "$bad"
}
