#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Clients behind a balancer that accepts, and resets what it has no backend for.
# Those that let the server speak first are rescued as things are; those that send
# first where send = "first-write" says that this may be repeated. The backend sees
# one connection, and what was sent once.

# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# How many connections are reset.
RESETS=3

# An HTTP server that keeps what it is asked.
BACKEND='while IFS= read -r line; do
		printf "%s\n" "$line" >>requests
		[ "${#line}" -gt 1 ] || break
	done
	printf "HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\nhello-from-late\n"
	exec cat >/dev/null'

first_write()
{
	printf '%s\n' 'version = 1;' 'policies = { default = { send = "first-write"; }; };' \
		>"$CASE_DIR/libretry.conf"
}

# behind CONFIG COMMAND FLAKY-ARGUMENTS
behind()
{
	local config=$1 command=$2

	shift 2
	start_server --reset
	bare "$command"
	! said bare hello-from-late || fail "the bare run did not fail"
	stop_server
	start_server --count "$CASE_DIR/count" --accept-then-reset "$RESETS" "$@"
	with_library "$command" LIBRETRY_CONFIG="$config"
	said lib hello-from-late || fail "'hello-from-late' is not in the output (exit status $RC)"
	[ "$(cat "$CASE_DIR/count")" -eq $((RESETS + 1)) ] ||
		fail "the server saw $(cat "$CASE_DIR/count") connections, not $((RESETS + 1))"
	[ "$(log_count ' WARN retry op=(send|connect) .* error=ECONNRESET ')" -eq "$RESETS" ] ||
		fail "not $RESETS lines of retries in the log"
	[ "$(log_count ' INFO recovered ')" -ge 1 ] || fail "no recovery in the log"
	[ "$(log_count ' gave-up | abandoned ')" -eq 0 ] || fail "the log tells of another outcome"
}

# listens PROGRAM COMMAND: of "safe".
listens()
{
	need "$1"
	behind none "$2" "${BANNER[@]}"
}

# asks PROGRAM COMMAND: of "first-write".
asks()
{
	need "$1"
	first_write
	behind "$CASE_DIR/libretry.conf" "$2" --exec "$BACKEND"
	[ "$(grep -c '^GET / ' "$CASE_DIR/requests")" -eq 1 ] || fail "not one request"
	# Nothing behind its end.
	[ "$(grep -c '^.\?$' "$CASE_DIR/requests")" -eq 1 ] || fail "more than one request"
}

# Without first-write the client sees the reset, and the backend nothing twice.
is_told()
{
	need "$1"
	start_server --count "$CASE_DIR/count" --exec 'head -n 1 >>requests'
	with_library "$2"
	! said lib hello-from-late || fail "it did not fail"
	[ "$(grep -c '^GET / ' "$CASE_DIR/requests")" -eq "$(cat "$CASE_DIR/count")" ] ||
		fail "a request came twice"
	[ "$(log_count ' retry op=send ')" -eq 0 ] || fail "a request was repeated"
}

dispatch "$@"
ASYNCIO='
import asyncio, os
async def main():
	reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["PORT"]))
	print(await reader.read())
	writer.close()
asyncio.run(main())'

add_case python3-listens listens "$PYTHON" "$PYTHON -c '
import os, socket
print(socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"]))).recv(99))'"
add_case asyncio-listens listens "$PYTHON" "$PYTHON -c '$ASYNCIO'"
add_case node-listens listens node "node -e '
require(\"net\").connect(process.env.PORT, \"127.0.0.1\").pipe(process.stdout)'"
add_case perl-listens listens perl "perl -MIO::Socket::INET -e '
my \$s = IO::Socket::INET->new(PeerHost => \"127.0.0.1\", PeerPort => \$ENV{PORT}) or die \$@;
print scalar <\$s>'"
add_case ruby-listens listens ruby "ruby -rsocket -e '
print TCPSocket.new(\"127.0.0.1\", ENV[\"PORT\"]).read'"
add_case python3-asks asks "$PYTHON" "$PYTHON -c '
import os, urllib.request
print(urllib.request.urlopen(\"http://127.0.0.1:\" + os.environ[\"PORT\"]).read())'"
add_case wget-asks asks wget 'wget -t 1 -q -O - http://127.0.0.1:$PORT/'
add_case curl-asks asks curl 'curl -sS http://127.0.0.1:$PORT/'
add_case node-asks asks node "node '$CLIENTS/src/client.js' http 127.0.0.1 \$PORT"
add_case curl-is-told is_told curl 'curl -sS http://127.0.0.1:$PORT/'
add_case wget-is-told is_told wget 'wget -t 1 -q -O - http://127.0.0.1:$PORT/'
finish
