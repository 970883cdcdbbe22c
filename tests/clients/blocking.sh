#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs that connect blocking: each fails alone against a server that starts
# late, each succeeds with the library, which logs every failed attempt (as many
# as the kernel counted) and one recovery.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

git_protocol()
{
	need git
	make_repository "$CASE_DIR/repo"
	rescued git 0 refs/heads/main "git ls-remote git://127.0.0.1:\$PORT/repo" \
		--exec "exec git daemon --inetd --export-all --base-path='$CASE_DIR'"
}

java_socket()
{
	compiled javac
	rescued java 0 hello-from-late "java -cp '$BIN' JavaSocket \$PORT" "${BANNER[@]}"
}

rust_tcp()
{
	compiled rustc
	rescued "$BIN/tcp" 0 hello-from-late "'$BIN/tcp' \$PORT" "${BANNER[@]}"
}

dispatch "$@"

# The slow ones first.
add_case java-socket java_socket
add_case rust-std-tcpstream rust_tcp
add_case wget rescued wget 0 hello-from-late \
	"wget -q -O - -t 1 http://127.0.0.1:\$PORT/" --http
add_case ssh rescued ssh any 'remote software version late' \
	"ssh -v -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
	-p \$PORT user@127.0.0.1 true" --banner 'SSH-2.0-late\r\n' --half-close
add_case git-daemon git_protocol
add_case bash-dev-tcp rescued bash 0 hello-from-late \
	"bash -c 'exec 3<>/dev/tcp/127.0.0.1/\$PORT && cat <&3'" "${BANNER[@]}"
add_case socat rescued socat 0 hello-from-late "socat -u TCP:127.0.0.1:\$PORT -" "${BANNER[@]}"
# Read-write, the FIFO never ends: telnet would leave at the end of its input.
add_case telnet rescued telnet any hello-from-late \
	"rm -f in; mkfifo in; telnet 127.0.0.1 \$PORT <>in" "${BANNER[@]}"
add_case nc.traditional rescued nc.traditional 0 hello-from-late \
	"nc.traditional localhost \$PORT" "${BANNER[@]}"
add_case openssl-s_client rescued openssl any 'CONNECTED(' \
	"openssl s_client -connect 127.0.0.1:\$PORT" "${BANNER[@]}"
# 20 02 00 00 is MQTT's "connection accepted".
add_case mosquitto_pub rescued mosquitto_pub 0 'received CONNACK (0)' \
	"mosquitto_pub -d -h 127.0.0.1 -p \$PORT -t topic -m text" --banner '\x20\x02\x00\x00'
add_case busybox-wget rescued busybox 0 hello-from-late \
	"busybox wget -q -O - http://127.0.0.1:\$PORT/" --http
add_case w3m rescued w3m any hello-from-late "w3m -dump http://127.0.0.1:\$PORT/" --http
add_case wrk rescued wrk 0 'Requests/sec' "wrk -t1 -c1 -d1s http://127.0.0.1:\$PORT/" --http
add_case python3-socket rescued "$PYTHON" 0 hello-from-late "$PYTHON -c '
import os, socket
s = socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"])))
print(s.recv(100))'" "${BANNER[@]}"
add_case python3-http.client rescued "$PYTHON" 0 hello-from-late "$PYTHON -c '
import http.client, os
c = http.client.HTTPConnection(\"127.0.0.1\", int(os.environ[\"PORT\"]))
c.request(\"GET\", \"/\")
print(c.getresponse().read())'" --http
add_case perl-io-socket rescued perl 0 hello-from-late "perl -MIO::Socket::INET -e '
my \$s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => \$ENV{PORT}) or die \$@;
print scalar <\$s>'" "${BANNER[@]}"
finish
