#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# "fallback" and "redirect": the destination is dead, a standby answers, and the
# program, which knows nothing of it, ends well. The log says where it went.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck disable=SC2016 # $PORT is for the shell that runs the program
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

QUICK=(LIBRETRY_BASE_DELAY=20ms LIBRETRY_MAX_DELAY=50ms)

# standby FLAKY-ARGUMENTS: a server that is up, at STANDBY, and a port that
# refuses, at PORT.
standby()
{
	start_server "$@"
	STANDBY=$PORT
	# Bound, and never listening.
	start_server --late 60s
}

# rule KEYS: of destination primary.test, or whatever HOST says.
rule()
{
	write_names '127.0.0.1 localhost testhost primary.test
127.0.0.1 standby.test
::1 standby6.test'
	printf 'version = 1;\ndestinations = ( { name = "db"; port = %s; %s } );\n' "$PORT" "$1" \
		>"$CASE_DIR/rule.conf"
}

# to_standby PROGRAM TEXT COMMAND KEYS FLAKY-ARGUMENTS: alone it fails, with the
# library it reaches the standby.
to_standby()
{
	local text=$2 command=$3 keys=$4

	need "$1"
	shift 4
	standby --count "$CASE_DIR/count" "$@"
	rule "${keys//STANDBY/$STANDBY}"
	bare "$command"
	! said bare "$text" || fail "the bare run did not fail"
	with_library "$command" LIBRETRY_CONFIG="$CASE_DIR/rule.conf" "${QUICK[@]}"
	said lib "$text" || fail "'$text' is not in the output (exit status $RC)"
}

# fell_back PROGRAM TEXT COMMAND KEYS FLAKY-ARGUMENTS: after one attempt each.
fell_back()
{
	to_standby "$@"
	[ "$(log_count " WARN fallback op=connect dest=.*:$PORT addr=.*:$PORT to=.*:$STANDBY ")" -ge 1 ] ||
		fail "the move is not in the log"
	[ "$(log_count " INFO recovered op=connect dest=.*:$PORT addr=.*:$STANDBY ")" -ge 1 ] ||
		fail "the recovery does not name the standby"
	[ "$(log_count ' gave-up ')" -eq 0 ] || fail "gave up on the way"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the standby saw $(cat "$CASE_DIR/count") clients"
}

# redirected PROGRAM TEXT COMMAND KEYS FLAKY-ARGUMENTS: no failure is waited for.
redirected()
{
	to_standby "$@"
	[ "$(log_count " WARN redirect op=connect dest=.*:$PORT addr=.*:$PORT to=.*:$STANDBY ")" -eq 1 ] ||
		fail "the redirection is not in the log"
	[ "$(log_count ' retry | fallback ')" -eq 0 ] || fail "something was retried"
}

# The destination's own server comes up at last: it is in the round, too.
destination_again()
{
	need "$PYTHON"
	start_server --late 60s
	DEAD=$PORT
	start_late --http
	rule "fallback = \"127.0.0.1:$DEAD\";"
	with_library "$HTTP_CLIENT" LIBRETRY_CONFIG="$CASE_DIR/rule.conf"
	said lib hello-from-late || fail "not rescued (exit status $RC)"
	[ "$(log_count " recovered op=connect .* addr=127.0.0.1:$PORT ")" -eq 1 ] ||
		fail "the recovery does not name the destination"
	[ "$(log_count " fallback .* to=127.0.0.1:$PORT ")" -ge 1 ] ||
		fail "the way back is not in the log"
}

# mistaken_for_nobody: an address with two names, one of which a rule is for. Nobody
# can tell whose connect it is, so it goes where the program asked.
mistaken_for_nobody()
{
	need "$PYTHON"
	start_server --banner 'standby' --half-close
	STANDBY=$PORT
	start_server --banner 'server' --half-close
	write_names '127.0.0.1 localhost testhost a.test b.test'
	printf 'version = 1;\ndestinations = ( { host = "b.test"; redirect = "127.0.0.1:%s"; } );\n' \
		"$STANDBY" >"$CASE_DIR/rule.conf"
	with_library "$PYTHON -c '
import os, socket
def look(host):
	return socket.getaddrinfo(host, int(os.environ[\"PORT\"]), 0, socket.SOCK_STREAM)[0]
def reach(found):
	s = socket.socket(found[0], found[1])
	s.connect(found[4])
	print(s.recv(50))
only = look(\"b.test\")
reach(only)
a, b = look(\"a.test\"), look(\"b.test\")
reach(a)
reach(b)
reach(look(\"127.0.0.1\"))'" LIBRETRY_CONFIG="$CASE_DIR/rule.conf"
	[ "$(tr -d '\n' <lib.out)" = "b'standby'b'server'b'server'b'server'" ] || fail "went astray"
	[ "$(log_count ' WARN redirect .* reason=ambiguous ')" -eq 1 ] || fail "not said once"
}

# silent_standby MODE LIMIT-MS KEY: nobody answers for the standby's name. The program's own
# look-ups wait for that once, and not at all in observe mode.
silent_standby()
{
	need "$PYTHON"
	start_dns --drop standby.test
	start_server --late 60s
	write_names '127.0.0.1 localhost testhost primary.test other.test'
	printf 'version = 1;\ndestinations = ( { host = "primary.test"; %s = "standby.test:9"; } );\n' \
		"$3" >"$CASE_DIR/rule.conf"
	with_library "$PYTHON -c '
import os, socket, time
began = time.time()
for i in range(3):
	found = socket.getaddrinfo(\"primary.test\", int(os.environ[\"PORT\"]), 0, socket.SOCK_STREAM)[0]
	s = socket.socket(found[0], found[1])
	try:
		s.connect(found[4])
	except OSError as e:
		pass
	socket.getaddrinfo(\"other.test\", 80)
print(\"all:\", \"late\" if time.time() - began > $2 / 1000 else \"in time\")'" \
		LIBRETRY_CONFIG="$CASE_DIR/rule.conf" LIBRETRY_MODE="$1" LIBRETRY_DEADLINE=1s "${QUICK[@]}"
	said lib 'all: in time' || fail "look-ups of ours kept the program waiting ($RUN_MS ms)"
	[ "$1" = retry ] || ! grep -q standby "$CASE_DIR/dns.log" || fail "asked in observe mode"
}

# observed KEYS LINE: it is told, and the program fails as it would alone.
observed()
{
	need wget
	standby --http
	rule "${1//STANDBY/$STANDBY}"
	bare "$WGET"
	with_library "$WGET" LIBRETRY_CONFIG="$CASE_DIR/rule.conf" LIBRETRY_MODE=observe
	same_as_bare
	[ "$(log_count " WARN $2 op=connect .* to=127.0.0.1:$STANDBY ")" -eq 1 ] ||
		fail "no line '$2'"
	[ "$OPENED" -eq "$BARE_OPENED" ] || fail "$OPENED connects instead of $BARE_OPENED"
}

WGET='wget -q -O - -t 1 http://127.0.0.1:$PORT/'
CURL='curl -sS http://primary.test:$PORT/'
NODE="node -e 'require(\"http\").get(\"http://primary.test:\" + process.env.PORT, r => r.pipe(process.stdout))'"
HTTP_CLIENT="$PYTHON -c '
import http.client, os
c = http.client.HTTPConnection(\"primary.test\", int(os.environ[\"PORT\"]))
c.request(\"GET\", \"/\")
print(c.getresponse().read())'"
# What a server says that has no room: psql then knows the words of the standby.
PSQL='psql "host=primary.test port=$PORT user=u dbname=d sslmode=disable gssencmode=disable" -c "select 1"'
NO_ROOM='E\x00\x00\x00\x28SFATAL\x00C53300\x00Mthe-standby-is-here\x00\x00'
AT='fallback = "127.0.0.1:STANDBY";'

dispatch "$@"
add_case psql fell_back psql the-standby-is-here "$PSQL" "$AT" --banner "$NO_ROOM"
add_case psql-by-name redirected psql the-standby-is-here "$PSQL" \
	'host = "primary.test"; redirect = "standby.test:STANDBY";' --banner "$NO_ROOM"
add_case psql-fallback-by-name fell_back psql the-standby-is-here "$PSQL" \
	'host = "primary.test"; fallback = "standby.test:STANDBY";' --banner "$NO_ROOM"
add_case node-fallback-by-name fell_back node hello-from-late "$NODE" \
	'host = "primary.test"; fallback = "standby.test:STANDBY";' --http
add_case mistaken-for-nobody mistaken_for_nobody
add_case silent-fallback silent_standby retry 6000 fallback
add_case silent-redirect silent_standby retry 6000 redirect
add_case silent-redirect-observed silent_standby observe 1500 redirect
add_case wget fell_back wget hello-from-late "$WGET" "$AT" --http
add_case wget-by-name fell_back wget hello-from-late "$WGET" \
	'fallback = [ "nobody.test:1", "standby.test:STANDBY" ];' --http
add_case wget-other-family fell_back wget hello-from-late "$WGET" \
	'fallback = "standby6.test:STANDBY";' -6 --http
add_case python3 fell_back "$PYTHON" hello-from-late "$HTTP_CLIENT" "$AT" --http
add_case node fell_back node hello-from-late "$NODE" "$AT" --http
add_case curl fell_back curl hello-from-late "$CURL" "$AT" --http
add_case wget-redirect redirected wget hello-from-late "$WGET" 'redirect = "127.0.0.1:STANDBY";' --http
add_case node-redirect redirected node hello-from-late "$NODE" 'redirect = "127.0.0.1:STANDBY";' --http
add_case destination-again destination_again
add_case observe-fallback observed "$AT" would-fallback
add_case observe-redirect observed 'redirect = "127.0.0.1:STANDBY";' would-redirect
finish
