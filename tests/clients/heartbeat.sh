#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# An event loop keeps turning while a connect of it waits for its next attempt:
# timers are as punctual and requests to another server as fast as alone, and no
# more of the processor is used.
#
# What others do on the machine must not matter: the programs count the lateness
# of the worst beat without the time they waited for a processor, and the middle
# one of the requests; a round that went badly is run again. A library that keeps
# the loop for 100 ms makes a beat 80 ms late in each round, and so fails.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

BEAT_SLACK_US=25000
BEAT_LIMIT_US=60000 # even if the run alone was as bad
REQUEST_SLACK_US=10000
CPU_SLACK_US=200000 # a loop that spins takes its 1.5 s
ROUNDS=5 # best of

# value TAG NAME: of a line NAME=VALUE of the run.
value()
{
	sed -n "s/^$2=//p" "$CASE_DIR/$1.out"
}

# as_alone NAME SLACK: whether the run with the library is not above the other.
as_alone()
{
	local alone with

	alone=$(value bare "$1") with=$(value lib "$1")
	echo "$1: $alone alone, $with with the library"
	[ "$with" -le $((alone + $2)) ]
}

one_round()
{
	local command="$1 $2 \$PORT"

	start_late --http
	bare "$command"
	said bare 'late: ' || fail "the bare run did not end as it should"
	! said bare 'late: connected' || fail "the bare run did not fail"
	with_library "$command"
	stop_server
	assert_recovered connect
	said lib 'late: connected' || fail "not rescued"
	[ "$RETRIES" -ge 3 ] || fail "only $RETRIES retries: nothing was put to the test"
	[ "$(value lib requests)" -ge 20 ] || fail "only $(value lib requests) requests"
	as_alone cpu_us "$CPU_SLACK_US" && as_alone beat_us "$BEAT_SLACK_US" &&
		[ "$(value lib beat_us)" -le "$BEAT_LIMIT_US" ] && as_alone request_us "$REQUEST_SLACK_US"
}

# heartbeat PROGRAM COMMAND, which gets two ports.
heartbeat()
{
	local command=$2 live round

	need "$1"
	start_server --http
	live=$PORT
	for ((round = 1; round <= ROUNDS; round++)); do
		rm -f "$CASE_DIR/log"
		one_round "$command" "$live" && return
	done
	fail "not as alone in each of $ROUNDS rounds"
}

dispatch "$@"
add_case node heartbeat node "node '$CLIENTS/src/heartbeat.js'"
add_case python3-asyncio heartbeat "$PYTHON" "$PYTHON '$CLIENTS/src/heartbeat.py'"
finish
