#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs that connect non-blocking, each in two ways. Against a server that
# starts late it fails alone and succeeds with the library, which logs every
# failed attempt (as many as the kernel counted) and one recovery. Against a
# server that is up, nothing differs and nothing is logged.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck disable=SC2016 # $PORT is for the shell that runs the program
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# compiled_client COMPILER STATUS TEXT COMMAND FLAKY-ARGUMENTS
compiled_client()
{
	compiled "$1"
	client "$@"
}

# Three connects side by side: their lines are not one after the other in the
# log. Each of them failed and recovered, and no failed attempt is missing.
curl_parallel()
{
	local args=(curl 0 hello-from-late 'curl -sS --parallel --parallel-immediate \
		http://127.0.0.1:$PORT/1 http://127.0.0.1:$PORT/2 http://127.0.0.1:$PORT/3' --http)

	need curl
	# 20 lines per destination, then the log holds the rest back.
	LENGTHEN+=(LIBRETRY_BASE_DELAY=500ms LIBRETRY_MAX_DELAY=1s)
	late "${args[@]:1}"
	RETRIES=$(log_count ' WARN retry op=connect ')
	[ "$(log_count ' INFO recovered op=connect ')" -eq 3 ] || fail "not 3 lines 'recovered'"
	[ "$RETRIES" -ge 3 ] || fail "only $RETRIES retries"
	[ "$(log_count .)" -eq $((RETRIES + 3)) ] || fail "other lines as well"
	all_failures_logged
	SCRUB='/^DL% /,$d' # the meter
	afterwards "${args[@]}"
}

# git's own CGI program, behind a server that takes the socket as stdin.
git_http()
{
	need git busybox
	make_repository "$CASE_DIR/repo"
	mkdir -p "$CASE_DIR/www/cgi-bin"
	printf '#!/bin/sh\nexport GIT_HTTP_EXPORT_ALL=1 GIT_PROJECT_ROOT=%q\nexec git http-backend\n' \
		"$CASE_DIR" >"$CASE_DIR/www/cgi-bin/git"
	chmod +x "$CASE_DIR/www/cgi-bin/git"
	client git 0 refs/heads/main 'git ls-remote http://127.0.0.1:$PORT/cgi-bin/git/repo' \
		--exec "exec busybox httpd -i -h '$CASE_DIR/www'"
}

rsync_daemon()
{
	need rsync
	printf '[hello-from-late]\npath = %s\n' "$CASE_DIR" >"$CASE_DIR/rsyncd.conf"
	client rsync 0 hello-from-late 'rsync --contimeout=20 rsync://127.0.0.1:$PORT/' \
		--exec "exec rsync --daemon --config='$CASE_DIR/rsyncd.conf'"
}

apache_bench()
{
	SCRUB='/^(Time taken|Requests per|Time per|Transfer rate|Connect:|Processing:|Waiting:|Total:)/d'
	client ab 0 'Complete requests:      1' 'ab -n 1 -c 1 http://127.0.0.1:$PORT/' --http
}

# A broker that knows one metadata answer: broker 7 at hello:9, no topics.
kafka()
{
	SCRUB='s/^%7\|[0-9.]+\|.*//; /^$/d'
	client kcat 0 'broker 7 at hello-from-late:9' \
		'kcat -L -m 4 -b 127.0.0.1:$PORT -X api.version.request=false \
			-X broker.version.fallback=0.8.2 -X log_level=0' \
		--exec 'head -c 30 >/dev/null
			printf "\0\0\0\045\0\0\0\002\0\0\0\001\0\0\0\007\0\017hello-from-late\0\0\0\011\0\0\0\0"
			exec cat >/dev/null'
}

# Large, so scripts/setup does not install it. It connects more than once, gives
# up some of these connects itself, and looks up names of its maker.
chromium_headless()
{
	local command='chromium --headless --no-sandbox --disable-gpu --dump-dom \
		--user-data-dir="$CASE_DIR/profile" http://127.0.0.1:$PORT/'

	command -v chromium >/dev/null || skip "chromium is not installed"
	LENGTHEN+=(LIBRETRY_RETRY_ON=refused)
	late any hello-from-late "$command" --http
	said bare ERR_CONNECTION_REFUSED || fail "the bare run failed otherwise"
	[ "$(log_count ' WARN retry op=connect ')" -ge 1 ] || fail "no retry in the log"
	[ "$(log_count ' INFO recovered op=connect ')" -ge 1 ] || fail "no recovery in the log"
	[ "$(log_count ' gave-up ')" -eq 0 ] || fail "gave up on the way"
	# The server is up now.
	bare "$command"
	with_library "$command"
	no_log
	cmp "$CASE_DIR/bare.out" "$CASE_DIR/lib.out" || fail "other output"
}

# An error of the server, which shows that it was reached: 'E', length, fields.
POSTGRES=(--banner 'E\x00\x00\x00\x24SFATAL\x00C28000\x00Mhello-from-late\x00\x00')
POSTGRES_SERVER='host=127.0.0.1 user=u dbname=d sslmode=disable gssencmode=disable'
# A bind answer to message 1: resultCode 49.
LDAP=(--banner '\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x31\x04\x00\x04\x00')

dispatch "$@"
JAVA="java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '$BIN' NonBlocking"

# The slow ones first.
add_case chromium chromium_headless
add_case java-httpclient compiled_client javac 0 hello-from-late "$JAVA http \$PORT" --http
add_case java-selector compiled_client javac 0 hello-from-late "$JAVA selector \$PORT" \
	"${BANNER[@]}"
add_case java-asynchronous compiled_client javac 0 hello-from-late "$JAVA async \$PORT" \
	"${BANNER[@]}"
add_case curl client curl 0 hello-from-late 'curl -sS http://127.0.0.1:$PORT/' --http
add_case curl-parallel curl_parallel
add_case redis-cli client redis-cli 0 PONG 'redis-cli -p $PORT ping' --banner '+PONG\r\n'
add_case node-http client node 0 hello-from-late \
	"node '$CLIENTS/src/client.js' http 127.0.0.1 \$PORT" --http
add_case node-net client node 0 hello-from-late \
	"node '$CLIENTS/src/client.js' net 127.0.0.1 \$PORT" --http
add_case node-families client node 0 hello-from-late \
	"node '$CLIENTS/src/client.js' families localhost \$PORT" --http
add_case git-http git_http
add_case rust-connect_timeout compiled_client rustc 0 hello-from-late \
	"'$BIN/tcp_timeout' \$PORT" "${BANNER[@]}"
add_case libpq-poll compiled_client cc any hello-from-late \
	"'$BIN/pq_poll' '$POSTGRES_SERVER port='\$PORT" "${POSTGRES[@]}"
add_case psql client psql any hello-from-late \
	"psql '$POSTGRES_SERVER connect_timeout=20 port='\$PORT -c 'select 1'" "${POSTGRES[@]}"
add_case python3-asyncio client "$PYTHON" 0 hello-from-late "$PYTHON -c '
import asyncio, os
async def main():
	reader, writer = await asyncio.open_connection(\"127.0.0.1\", int(os.environ[\"PORT\"]))
	print(await reader.read())
	writer.close()
asyncio.run(main())'" "${BANNER[@]}"
add_case python3-urllib client "$PYTHON" 0 hello-from-late "$PYTHON -c '
import os, urllib.request
url = \"http://127.0.0.1:\" + os.environ[\"PORT\"]
print(urllib.request.urlopen(url, timeout=20).read())'" --http
add_case ruby-tcpsocket client ruby 0 hello-from-late "ruby -rsocket -e '
print TCPSocket.new(\"127.0.0.1\", ENV[\"PORT\"], connect_timeout: 20).read'" "${BANNER[@]}"
add_case ruby-socket.tcp client ruby 0 hello-from-late "ruby -rsocket -e '
print Socket.tcp(\"127.0.0.1\", ENV[\"PORT\"], connect_timeout: 20).read'" "${BANNER[@]}"
add_case ruby-net-http client ruby 0 hello-from-late "ruby -rnet/http -e '
print Net::HTTP.get(URI(\"http://127.0.0.1:#{ENV[\"PORT\"]}/\"))'" --http
add_case perl-io-socket-ip client perl 0 hello-from-late "perl -MIO::Socket::IP -e '
my \$s = IO::Socket::IP->new(PeerHost => \"127.0.0.1\", PeerPort => \$ENV{PORT}, Timeout => 20)
	or die \$@;
print scalar <\$s>'" "${BANNER[@]}"
add_case perl-io-socket-inet client perl 0 hello-from-late "perl -MIO::Socket::INET -e '
my \$s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => \$ENV{PORT}, Timeout => 20)
	or die \$@;
print scalar <\$s>'" "${BANNER[@]}"
add_case ldapsearch client ldapsearch any 'Invalid credentials' \
	"ldapsearch -x -o nettimeout=20 -H ldap://127.0.0.1:\$PORT -b '' -s base" "${LDAP[@]}"
add_case ssh client ssh any 'remote software version late' \
	"ssh -v -F none -o ConnectTimeout=20 -o BatchMode=yes -o StrictHostKeyChecking=no \
	-o UserKnownHostsFile=/dev/null -p \$PORT user@127.0.0.1 true" \
	--banner 'SSH-2.0-late\r\n' --half-close
add_case ab apache_bench
add_case kcat kafka
add_case lftp client lftp 0 hello-from-late "lftp -c 'set net:max-retries 1; set net:timeout 20
	open http://127.0.0.1:'\$PORT'; cat /'" --http
add_case rsync rsync_daemon
finish
