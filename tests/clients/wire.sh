#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What went over the wire is what the log says: the kernel's own counters of a
# network namespace in which nothing else runs, against the lines of the log.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

CLIENT="\$TOOLS/connect_once 127.0.0.1 \$PORT"

opens_are()
{
	[ "$OPENED" -eq "$1" ] || fail "$OPENED connects on the wire, not $1"
}

refusals_are()
{
	[ "$REFUSED" -eq "$1" ] || fail "$REFUSED refusals on the wire, not $1"
}

gave_up_after()
{
	[ "$(log_count ' WARN retry op=connect ')" -eq $(($1 - 1)) ] || fail "not $(($1 - 1)) retry lines"
	[ "$(log_count " ERROR gave-up op=connect .*attempts=$1 .*reason=$2")" -eq 1 ] ||
		fail "no line 'gave-up' after $1 attempts because of $2"
	[ "$(log_count .)" -eq "$1" ] || fail "other lines as well"
}

# Nothing ever listens: attempts = max_attempts, and the truth at the end.
gives_up()
{
	local attempts=$1

	start_server --late 60s
	bare "$CLIENT"
	said bare 'result=-1 errno=111' || fail "the bare run was not refused"
	with_library "$CLIENT" LIBRETRY_MAX_ATTEMPTS="$attempts" LIBRETRY_BASE_DELAY=20ms
	opens_are "$attempts"
	refusals_are "$attempts"
	same_as_bare
	if [ "$attempts" -eq 1 ]; then
		no_log
	else
		gave_up_after "$attempts" attempts
	fi
}

rescued()
{
	start_late --count "$CASE_DIR/count" --echo
	bare "$CLIENT"
	said bare 'result=-1 errno=111' || fail "the bare run was not refused"
	with_library "$CLIENT"
	assert_recovered connect
	opens_are $((RETRIES + 1))
	refusals_are "$RETRIES"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
	# 33 is EDOM, which stood in errno before connect().
	said lib 'result=0 errno=33' || fail "errno did not survive: $(cat "$CASE_DIR/lib.out")"
}

# It works at once: one connect, not a word.
not_needed()
{
	start_server --count "$CASE_DIR/count" --echo
	bare "$CLIENT"
	with_library "$CLIENT"
	opens_are 1
	no_log
	same_as_bare
	[ "$(cat "$CASE_DIR/count")" -eq 2 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# A reset after the connect is not the connect's failure. Nothing has gone over it,
# so it is made again: by the rules of "send", and as often as the log says.
reset_afterwards()
{
	local resent

	start_server --reset --count "$CASE_DIR/count"
	with_library "bash -c 'exec 3<>/dev/tcp/127.0.0.1/\$PORT && read -r line <&3'"
	resent=$(log_count ' WARN retry op=send .*error=ECONNRESET')
	[ "$resent" -ge 1 ] || fail "no retry at all"
	[ "$(log_count ' ERROR gave-up op=send .*reason=attempts')" -eq 1 ] || fail "no line 'gave-up'"
	opens_are $((resent + 1))
	[ "$(log_count ' op=connect ')" -eq 0 ] || fail "a connect was retried"
	[ "$(cat "$CASE_DIR/count")" -eq $((resent + 1)) ] ||
		fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# It reads because its own wait has told of the reset.
reset_is_the_pollers()
{
	need socat
	start_server --reset --count "$CASE_DIR/count"
	with_library "socat -u TCP:127.0.0.1:\$PORT -"
	opens_are 1
	no_log
}

reset_is_left_alone()
{
	need socat
	start_server --reset --count "$CASE_DIR/count"
	printf '%s\n' 'version = 1;' 'policies = { default = { send = "off"; }; };' \
		>"$CASE_DIR/libretry.conf"
	with_library "socat -u TCP:127.0.0.1:\$PORT -" LIBRETRY_CONFIG="$CASE_DIR/libretry.conf"
	opens_are 1
	no_log
}

# The deadline ends it before the attempts do, and no wait passes it.
deadline()
{
	local retries

	start_server --late 60s
	with_library "$CLIENT" LIBRETRY_DEADLINE=400ms
	retries=$(log_count ' WARN retry op=connect ')
	[ "$retries" -ge 1 ] || fail "no retry at all"
	gave_up_after $((retries + 1)) deadline
	opens_are $((retries + 1))
	said lib 'result=-1 errno=111' || fail "not the last error: $(cat "$CASE_DIR/lib.out")"
}

# No packet leaves, so only the log and the errno can be compared.
unreachable()
{
	ip route add unreachable 192.0.2.0/24 || fail "cannot add a route"
	bare "\$TOOLS/connect_once 192.0.2.1 9"
	said bare 'result=-1 errno=113' || fail "the bare run was not EHOSTUNREACH"
	with_library "\$TOOLS/connect_once 192.0.2.1 9" LIBRETRY_MAX_ATTEMPTS=3 \
		LIBRETRY_BASE_DELAY=20ms
	gave_up_after 3 attempts
	[ "$(log_count 'error=EHOSTUNREACH')" -eq 3 ] || fail "not EHOSTUNREACH in the log"
	same_as_bare
}

# No route at first; the address appears after the first failed attempt.
network_returns()
{
	local command="\$TOOLS/connect_once 192.0.2.1 \$PORT"

	need ip
	start_server -a 0.0.0.0 --echo
	ip route add unreachable 192.0.2.0/24 || fail "cannot add a route"
	bare "$command"
	said bare 'result=-1 errno=113' || fail "the bare run was not EHOSTUNREACH"
	(
		timeout 15 tail -n +1 -F "$CASE_DIR/log" 2>/dev/null | head -n 1 >/dev/null
		ip addr add 192.0.2.1/32 dev lo
	) &
	with_library "$command"
	assert_recovered connect
	[ "$(log_count ' retry .*error=EHOSTUNREACH')" -eq "$RETRIES" ] ||
		fail "not EHOSTUNREACH in the log"
	said lib 'result=0 errno=33' || fail "not connected: $(cat "$CASE_DIR/lib.out")"
}

unix_socket()
{
	need socat
	start_late -u "$CASE_DIR/sock" --banner 'hello-from-late\n' --half-close \
		--count "$CASE_DIR/count"
	bare "socat -u UNIX-CONNECT:'$CASE_DIR/sock' -"
	! said bare hello-from-late || fail "the bare run did not fail"
	with_library "socat -u UNIX-CONNECT:'$CASE_DIR/sock' -"
	assert_recovered connect
	said lib hello-from-late || fail "no banner (exit status $RC)"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# unix-missing is off: a path that does not exist fails at once.
unix_missing()
{
	local command="socat -u UNIX-CONNECT:'$CASE_DIR/nothing' - 2>&1 | sed 's/.*socat\[[0-9]*\]//'"

	need socat
	bare "$command"
	with_library "$command"
	no_log
	same_as_bare
}

dispatch "$@"
add_case rescued rescued
add_case unix-socket unix_socket
add_case network-returns network_returns
add_case gives-up-after-4 gives_up 4
add_case one-attempt gives_up 1
add_case deadline deadline
add_case not-needed not_needed
add_case reset-afterwards reset_afterwards
add_case reset-of-a-poller reset_is_the_pollers
add_case reset-left-alone reset_is_left_alone
add_case unreachable unreachable
add_case unix-missing unix_missing
finish
