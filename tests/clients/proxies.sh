#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Proxies: a client that knows nothing of all this gets its answer, because the
# proxy it talks to waits for its upstream.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

FRONT=8080 # free: the network is the case's own

front_listens()
{
	grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$FRONT") [0-9A-F:]* 0A " /proc/net/tcp
}

# start_proxy TAG COMMAND [NAME=VALUE ...]: returns when it listens.
start_proxy()
{
	local tag=$1 command=$2 tries

	shift 2
	env -i PATH="$PATH" CASE_DIR="$CASE_DIR" "$@" timeout -k 2 "$RUN_LIMIT" sh -c "exec $command" \
		</dev/null >"$CASE_DIR/$tag.out" 2>"$CASE_DIR/$tag.err" &
	PROXY_PID=$!
	for ((tries = 200; tries > 0; tries--)); do
		front_listens && return
		kill -0 "$PROXY_PID" 2>/dev/null || break
		sleep 0.05
	done
	fail "the proxy does not listen"
}

stop_proxy()
{
	kill "$PROXY_PID"
	wait "$PROXY_PID"
}

# In a chroot there is no log but stderr: the lines come from there.
start_proxy_with_library()
{
	start_proxy lib "$1" LD_PRELOAD="$LIBRETRY_SO" LIBRETRY_CONFIG=none \
		LIBRETRY_LOG=stderr "${LENGTHEN[@]}"
}

take_log()
{
	grep ' libretry\[' "$CASE_DIR/lib.err" >"$CASE_DIR/log"
}

ask()
{
	ANSWER=$(curl -sS -w ' %{http_code}' "http://127.0.0.1:$FRONT/" 2>&1)
	echo "answer: $ANSWER"
}

# Its first line in the proxy's stderr lets the server start 1.5 s later.
watch_for_retry()
{
	timeout "$RUN_LIMIT" tail -n +1 -F "$CASE_DIR/lib.err" 2>/dev/null |
		grep -m 1 ' WARN retry ' >"$CASE_DIR/go"
}

# proxy PROGRAM FAILURE CONFIG-FUNCTION COMMAND
# FAILURE: what the client gets if the upstream is not there.
proxy()
{
	local program=$1 failure=$2 configure=$3 command=$4 before

	need "$program" curl
	start_server --http --late 1500ms --late-from "$CASE_DIR/go"
	"$configure"
	start_proxy bare "$command"
	ask
	[ "${ANSWER##* }" = "$failure" ] || fail "the bare proxy did not answer $failure"
	stop_proxy

	: >"$CASE_DIR/lib.err"
	watch_for_retry &
	tcp_counters
	before=${TCP[1]}
	start_proxy_with_library "$command"
	ask
	take_log
	assert_recovered connect
	[ "${ANSWER##* }" = 200 ] || fail "the client got ${ANSWER##* }"
	tcp_counters
	FAILED_ON_WIRE=$((TCP[1] - before))
	all_failures_logged

	# The upstream is there now: the same proxy has nothing more to say.
	ask
	[ "${ANSWER##* }" = 200 ] || fail "the second client got ${ANSWER##* }"
	take_log
	[ "$(log_count .)" -eq $((RETRIES + 1)) ] || fail "other lines as well"
	stop_proxy
}

nginx_config()
{
	cat >"$CASE_DIR/nginx.conf" <<-END
		user root;
		daemon off;
		worker_processes 1;
		pid $CASE_DIR/nginx.pid;
		error_log stderr;
		events { }
		http {
			access_log off;
			client_body_temp_path $CASE_DIR/body;
			proxy_temp_path $CASE_DIR/proxy;
			fastcgi_temp_path $CASE_DIR/fastcgi;
			uwsgi_temp_path $CASE_DIR/uwsgi;
			scgi_temp_path $CASE_DIR/scgi;
			server {
				listen 127.0.0.1:$FRONT;
				location / { proxy_pass http://127.0.0.1:$PORT; }
			}
		}
	END
}

# What Debian's package installs, but for the account and the syslog.
haproxy_config()
{
	mkdir "$CASE_DIR/empty"
	cat >"$CASE_DIR/haproxy.cfg" <<-END
		global
			chroot $CASE_DIR/empty
			stats socket $CASE_DIR/admin.sock mode 660 level admin
			stats timeout 30s
		defaults
			mode http
			option httplog
			option dontlognull
			retries 0
			timeout connect 5000
			timeout client 50000
			timeout server 50000
		frontend front
			bind 127.0.0.1:$FRONT
			default_backend back
		backend back
			server late 127.0.0.1:$PORT
	END
}

dispatch "$@"
add_case nginx-one-process proxy nginx 502 nginx_config \
	"nginx -e stderr -c \"\$CASE_DIR/nginx.conf\" -g 'master_process off;'"
add_case nginx-master-worker proxy nginx 502 nginx_config \
	"nginx -e stderr -c \"\$CASE_DIR/nginx.conf\""
add_case haproxy proxy haproxy 503 haproxy_config "haproxy -db -f \"\$CASE_DIR/haproxy.cfg\""
add_case haproxy-master-worker proxy haproxy 503 haproxy_config \
	"haproxy -W -f \"\$CASE_DIR/haproxy.cfg\""
finish
