#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Names with several addresses, in full: the server late on either family, a
# machine without IPv6, nobody there at all, programs that only ever use the
# first address, and those that walk on. twoaddr.sh and eyeballs.sh have the rest.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck disable=SC2016 # $PORT is for the shell that runs the program
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# late_on FAMILY PROGRAM TEXT COMMAND FLAKY-ARGUMENTS: waited for on that family
# only, by one client. FAMILY: 4, 6, or none: 4 on a machine without IPv6.
late_on()
{
	local family=$1 text=$3 command=$4 at=()

	need "$2"
	shift 4
	two_addresses
	[ "$family" != 6 ] || at=(-6)
	if [ "$family" = none ]; then
		echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 || fail "cannot disable IPv6"
	fi
	late any "$text" "$command" --count "$CASE_DIR/count" "${at[@]}" "$@"
	[ "$(log_count ' WARN retry op=connect ')" -ge 1 ] || fail "no retry in the log"
	[ "$(log_count ' gave-up ')" -eq 0 ] || fail "gave up on the way"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

git_late_on()
{
	need git
	make_repository "$CASE_DIR/repo"
	late_on "$1" git refs/heads/main 'git ls-remote git://both.test:$PORT/repo' \
		--exec "exec git daemon --inetd --export-all --base-path='$CASE_DIR'"
}

# all_dead PROGRAM COMMAND PAUSES: a name with three addresses and nobody at any of
# them is waited for as long as one with a single address: once. PAUSES: ms that the
# program spends between addresses by itself.
all_dead()
{
	local one series=900 quick=(LIBRETRY_MAX_ATTEMPTS=4 LIBRETRY_BASE_DELAY=300ms
		LIBRETRY_MULTIPLIER=1 LIBRETRY_JITTER=none)

	need "$1"
	write_names '127.0.0.1 localhost testhost one.test
127.0.0.1 three.test
127.0.0.2 three.test
127.0.0.3 three.test'
	start_server --late 60s
	with_library "${2//NAME/one.test}" "${quick[@]}"
	[ "$(log_count ' retry ')" -eq 3 ] || fail "one address: not 3 retries"
	one=$RUN_MS
	with_library "${2//NAME/three.test}" "${quick[@]}"
	[ "$(log_count ' retry ')" -eq 3 ] || fail "three addresses: $(log_count ' retry ') retries"
	[ "$(log_count ' gave-up ')" -eq 1 ] || fail "not given up once"
	[ "$RUN_MS" -lt $((one + $3 + series)) ] || fail "$RUN_MS ms, and $one ms with one address"
}

# Addresses of this machine that are none of loopback: whether anybody listens
# behind them is not known, as with those of other machines.
two_far()
{
	ip addr add 192.0.2.1/32 dev lo || fail "cannot add an address"
	ip addr add 192.0.2.2/32 dev lo || fail "cannot add an address"
	write_names '127.0.0.1 localhost testhost
192.0.2.1 far.test
192.0.2.2 far.test'
}

# It comes back to the first address without having tried the second: from then on
# it is waited for there, and never handed the second.
first_only()
{
	need "$1"
	two_far
	start_late -a 192.0.2.1 --count "$CASE_DIR/count" "${BANNER[@]}"
	with_library "$2"
	said lib hello-from-late || fail "not rescued (exit status $RC)"
	[ "$(log_count ' retry .* addr=192.0.2.1:')" -ge 1 ] || fail "no retry in the log"
	[ "$(log_count 'addr=192.0.2.2:')" -eq 0 ] || fail "the other address was thought of"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# It walks, each time: never waited for at the first address.
walker()
{
	need "$PYTHON"
	two_far
	start_server -a 192.0.2.2 --http --count "$CASE_DIR/count"
	undisturbed hello-from-late "$1" LIBRETRY_BASE_DELAY=60s LIBRETRY_MAX_DELAY=60s \
		LIBRETRY_DEADLINE=300s
	[ "$OPENED" -eq 8 ] || fail "$OPENED connects, not 4 to each of the addresses"
	[ "$(cat "$CASE_DIR/count")" -eq 8 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# A name with more addresses than are kept in full, the server at the last of them:
# nobody waits on the way. NAME: far.test, whose addresses may be remote, or near.test.
many_addresses()
{
	local i names='127.0.0.1 localhost testhost' server=192.0.2.20

	need "$PYTHON"
	for i in {1..20}; do
		ip addr add "192.0.2.$i/32" dev lo || fail "cannot add an address"
		names+="
192.0.2.$i far.test
127.0.1.$i near.test"
	done
	write_names "$names"
	[ "$1" = far.test ] || server=127.0.1.20
	start_server -a "$server" --http --count "$CASE_DIR/count"
	undisturbed hello-from-late "${FOUR//NAME/$1}" LIBRETRY_BASE_DELAY=60s \
		LIBRETRY_MAX_DELAY=60s LIBRETRY_DEADLINE=300s
	[ "$OPENED" -eq 80 ] || fail "$OPENED connects, not 4 to each of the addresses"
	[ "$(cat "$CASE_DIR/count")" -eq 8 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# The families one after the other, as Ruby and gethostbyname2() do it.
families_apart()
{
	need "$PYTHON"
	two_addresses
	start_server --http --count "$CASE_DIR/count"
	undisturbed hello-from-late "$APART" LIBRETRY_BASE_DELAY=60s LIBRETRY_MAX_DELAY=60s \
		LIBRETRY_DEADLINE=300s
}

# Two servers of one name that take turns: who asks for one is not handed the other
# because of what was tried before a success.
turns()
{
	need "$PYTHON"
	two_far
	with_library "$TURNS"
	bare "$TURNS"
	same_as_bare
	[ "$(log_count ' retry | moved ')" -eq 0 ] || fail "something was retried"
}

# crowd ADDRESS: six connects of one event loop to a name whose server is late.
crowd()
{
	need "$PYTHON"
	two_far
	start_late -a "$1" --count "$CASE_DIR/count" --http
	with_library "$CROWD" LIBRETRY_LOG_LEVEL=info
	[ "$(grep -c hello-from-late lib.out)" -eq 6 ] || fail "not all six were rescued"
	[ "$(cat "$CASE_DIR/count")" -eq 6 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

WGET='wget -q -O - -t 1 http://both.test:$PORT/'
CURL='curl -sS http://both.test:$PORT/'
# Node gives each address but the last 250 ms, if it is not told otherwise.
NODE="node '$CLIENTS/src/client.js' families both.test \$PORT"
PSQL='psql "host=both.test port=$PORT user=u dbname=d sslmode=disable gssencmode=disable" -c "select 1"'
PSQL_SAYS=(--banner 'E\x00\x00\x00\x24SFATAL\x00C53300\x00Mhello-from-late\x00\x00')
HTTP_CLIENT="$PYTHON -c '
import http.client, os
for i in range(TIMES):
	c = http.client.HTTPConnection(\"NAME\", int(os.environ[\"PORT\"]))
	c.request(\"GET\", \"/\")
	print(c.getresponse().read())
	c.close()'"
ONCE=${HTTP_CLIENT//TIMES/1}
FOUR=${HTTP_CLIENT//TIMES/4}
ASYNCIO="$PYTHON -c '
import asyncio, os
async def one():
	reader, writer = await asyncio.open_connection(\"far.test\", int(os.environ[\"PORT\"]))
	writer.write(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
	text = await reader.read()
	writer.close()
	return text
async def main():
	print(await one(), await one())
	print(await asyncio.gather(one(), one()))
asyncio.run(main())'"
APART="$PYTHON -c '
import os, socket
port = int(os.environ[\"PORT\"])
found = [socket.getaddrinfo(\"both.test\", port, f, socket.SOCK_STREAM)[0]
	for f in (socket.AF_INET6, socket.AF_INET)]
for af, kind, proto, _, sa in found:
	s = socket.socket(af, kind, proto)
	try:
		s.connect(sa)
	except OSError as e:
		print(e)
		continue
	s.send(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
	while True:
		data = s.recv(1000)
		if not data:
			break
		print(data)
	break'"
TURNS="$PYTHON -c '
import socket, threading, time
def up(ip):
	s = socket.socket()
	s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
	s.bind((ip, 19999))
	s.listen()
	return s
a, b = [x[4] for x in socket.getaddrinfo(\"far.test\", 19999, 0, socket.SOCK_STREAM)]
def reach(sa):
	s = socket.socket()
	try:
		s.connect(sa)
		print(sa[0], s.getpeername()[0])
	except OSError as e:
		print(sa[0], e)
server = up(b[0])
reach(a)
reach(b)
server.close()
server = up(a[0])
reach(b)
reach(a)'"
CROWD="$PYTHON -c '
import asyncio, os
async def one():
	reader, writer = await asyncio.open_connection(\"far.test\", int(os.environ[\"PORT\"]))
	writer.write(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
	print(await reader.read())
	writer.close()
async def main():
	await asyncio.gather(*[one() for i in range(6)])
asyncio.run(main())'"
FIRST_ONLY="$PYTHON -c '
import os, socket
for i in range(3):
	af, kind, proto, _, sa = socket.getaddrinfo(\"far.test\", int(os.environ[\"PORT\"]),
		type=socket.SOCK_STREAM)[0]
	s = socket.socket(af, kind, proto)
	try:
		s.connect(sa)
		print(s.recv(100))
		break
	except OSError as e:
		print(e)
	s.close()'"

# each FAMILY NODE-COMMAND
each()
{
	add_case "wget-late-on-$1" late_on "$1" wget hello-from-late "$WGET" --http
	add_case "curl-late-on-$1" late_on "$1" curl hello-from-late "$CURL" --http
	add_case "node-late-on-$1" late_on "$1" node hello-from-late "$2" --http
	add_case "python3-late-on-$1" late_on "$1" "$PYTHON" hello-from-late "${ONCE//NAME/both.test}" --http
	add_case "psql-late-on-$1" late_on "$1" psql hello-from-late "$PSQL" "${PSQL_SAYS[@]}"
	add_case "git-late-on-$1" git_late_on "$1"
}

dispatch "$@"
each 4 "$NODE"
each 6 "$NODE 5000"
each none "$NODE 5000"
add_case wget-all-dead all_dead wget 'wget -q -O - -t 1 http://NAME:$PORT/' 0
# curl looks after its next connect once a second.
add_case curl-all-dead all_dead curl 'curl -sS http://NAME:$PORT/' 2000
add_case python3-all-dead all_dead "$PYTHON" "$ONCE" 0
add_case many-addresses many_addresses far.test
add_case many-local-addresses many_addresses near.test
add_case families-apart families_apart
add_case turns turns
add_case crowd crowd 192.0.2.2
add_case first-only first_only "$PYTHON" "$FIRST_ONLY"
add_case socat-first-only first_only socat 'socat -u TCP:far.test:$PORT,retry=2,interval=0.01 -'
add_case walker walker "${FOUR//NAME/far.test}"
add_case asyncio-walker walker "$ASYNCIO"
finish
