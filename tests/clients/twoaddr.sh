#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A name with two addresses, ::1 first, and a server on 127.0.0.1 only: if it is
# up, the refusal of ::1 goes straight to the program, which walks on; if it is
# late, it is waited for.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

PYTHON=$(command -v /usr/bin/python3 || command -v python3)

two_addresses()
{
	write_names '127.0.0.1 localhost testhost
::1 both.test
127.0.0.1 both.test'
	# Else the refusal of ::1, on which all of this stands, does not happen.
	[ "$(getent ahosts both.test | awk 'NR == 1 { print $1 }')" = ::1 ] ||
		fail "::1 is not the first address of both.test"
}

# up PROGRAM COMMAND: no retry, no wait, as many connects as alone.
up()
{
	local program=$1 command=$2 alone before

	need "$program"
	two_addresses
	start_server --http
	before=$(tcp_counter ActiveOpens)
	bare "$command"
	alone=$(($(tcp_counter ActiveOpens) - before))
	said bare hello-from-late || fail "the bare run did not reach 127.0.0.1"
	[ "$alone" -eq 2 ] || fail "the bare run connected $alone times, not to ::1 and 127.0.0.1"
	before=$(tcp_counter ActiveOpens)
	# A wait would be longer than the run may take.
	with_library "$command" LIBRETRY_BASE_DELAY=60s LIBRETRY_MAX_DELAY=60s LIBRETRY_DEADLINE=300s
	show_log
	said lib hello-from-late || fail "not reached (exit status $RC)"
	[ "$(($(tcp_counter ActiveOpens) - before))" -eq "$alone" ] || fail "other connects than alone"
	[ "$(log_count ' retry ')" -eq 0 ] || fail "it was retried although 127.0.0.1 could answer"
}

late()
{
	local program=$1 command=$2

	need "$program"
	two_addresses
	start_server --http --late 1500ms --late-from "$CASE_DIR/log" --count "$CASE_DIR/count"
	bare "$command"
	! said bare hello-from-late || fail "the bare run did not fail"
	with_library "$command"
	show_log
	said lib hello-from-late || fail "not rescued (exit status $RC)"
	[ "$(log_count ' WARN retry op=connect ')" -ge 1 ] || fail "no retry in the log"
	[ "$(log_count ' gave-up ')" -eq 0 ] || fail "gave up on the way"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# family OWN OTHER: a program at its last address, of family OWN, while the server
# comes back on the other family, which the program has tried already.
family()
{
	need "$PYTHON"
	two_addresses
	PORT=0
	export PORT
	with_library "$PYTHON $CLIENTS/src/family.py $1 $2"
	show_log
	said lib 'answer: hello' || fail "not rescued (exit status $RC)"
	said lib "options kept" || fail "the options of the socket are gone"
	[ "$(log_count ' moved ')" -eq 1 ] || fail "the move is not in the log"
	[ "$(log_count ' recovered ')" -eq 1 ] || fail "the recovery is not in the log"
}

WGET="wget -q -O - -t 1 http://both.test:\$PORT/"
HTTP_CLIENT="$PYTHON -c '
import http.client, os
c = http.client.HTTPConnection(\"both.test\", int(os.environ[\"PORT\"]))
c.request(\"GET\", \"/\")
print(c.getresponse().read())'"

dispatch "$@"
add_case wget-up up wget "$WGET"
add_case python3-up up "$PYTHON" "$HTTP_CLIENT"
add_case wget-late late wget "$WGET"
add_case python3-late late "$PYTHON" "$HTTP_CLIENT"
add_case v4-to-v6 family 127.0.0.1 ::1
add_case v6-to-v4 family ::1 127.0.0.1
finish
