#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A guest in real programs: signals end them in the middle of a backoff of a
# minute, with the status that the program has alone in a connect that hangs;
# children, limits, and privileges that are not for the environment to use.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# More than a signal ever takes here, much less than the wait.
GONE_MS=10000

# What is sent there comes back to this machine, which does not have the address,
# and drops it.
HANGS=192.0.2.2
silent_network()
{
	ip route add "$HANGS/32" dev lo || fail "cannot add a route"
}

syn_was_sent()
{
	tcp_counters
	[ "${TCP[0]}" -gt "$SENT" ]
}

is_waiting()
{
	[ "$(log_count ' WARN retry op=connect ')" -ge 1 ]
}

# signalled TAG SIGNAL READY [NAME=VALUE ...] -- COMMAND: once READY is true. Sets RC
# and GONE, the time that it took to go.
signalled()
{
	local tag=$1 signal=$2 ready=$3 begin pid
	local vars=(PATH="$PATH" HOME="$CASE_DIR" LANG=C.UTF-8 TERM=dumb)

	shift 3
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	# A shell lets its background processes ignore some signals.
	env -i --default-signal=INT,QUIT "${vars[@]}" sh -c "exec $2" \
		</dev/null >"$CASE_DIR/$tag.out" 2>"$CASE_DIR/$tag.err" &
	pid=$!
	until "$ready"; do
		kill -0 "$pid" 2>/dev/null || fail "$tag: ended before the signal"
		sleep 0.02
	done
	begin=${EPOCHREALTIME//[!0-9]/}
	kill "-$signal" "$pid"
	wait "$pid"
	RC=$?
	GONE=$(((${EPOCHREALTIME//[!0-9]/} - begin) / 1000))
}

# in_backoff SIGNAL COMMAND: with the library, at a port that refuses.
in_backoff()
{
	signalled lib "$1" is_waiting LD_PRELOAD="$LIBRETRY_SO" LIBRETRY_CONFIG=none \
		LIBRETRY_LOG="file:$CASE_DIR/log" LIBRETRY_BASE_DELAY=1m LIBRETRY_MAX_DELAY=1m \
		LIBRETRY_DEADLINE=1h -- "${2//HOST/127.0.0.1}"
	[ "$GONE" -le "$GONE_MS" ] || fail "gone after $GONE ms"
}

# interrupted PROGRAM SIGNAL COMMAND
interrupted()
{
	local program=$1 signal=$2 command=${3//PORT/9}

	need "$program"
	silent_network
	tcp_counters
	SENT=${TCP[0]}
	signalled bare "$signal" syn_was_sent -- "${command//HOST/$HANGS}"
	BARE_RC=$RC
	in_backoff "$signal" "$command"
	[ "$RC" -eq "$BARE_RC" ] || fail "exit status $RC instead of $BARE_RC"
	echo "$program ended with $RC after $GONE ms"
}

# Python's connect() learns of Ctrl-C by EINTR only. What it gets is the last error,
# and which of the two exceptions ends the program is Python's to say.
python_interrupt()
{
	in_backoff INT "$PYTHON -c 'import socket; socket.create_connection((\"HOST\", 9))'"
	case $RC in
	1) said lib 'ConnectionRefusedError: [Errno 111]' || fail "which exception?" ;;
	130) said lib KeyboardInterrupt || fail "which exception?" ;;
	*) fail "exit status $RC" ;;
	esac
}

# Its own handler runs before anything else, and decides.
python_handler()
{
	in_backoff TERM "$PYTHON -c '
import signal, socket, sys
def stop(*_):
    print(\"stopped\", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, stop)
try:
    socket.create_connection((\"HOST\", 9))
except ConnectionRefusedError:
    pass
'"
	[ "$RC" -eq 7 ] || fail "exit status $RC"
	said lib stopped || fail "the handler did not run"
}

# Children by vfork that close all descriptors, while a loop of the parent's retries.
subprocesses()
{
	start_late "${BANNER[@]}"
	with_library "$PYTHON -c '
import asyncio, os, subprocess
async def main():
    async def connect():
        r, w = await asyncio.open_connection(\"127.0.0.1\", int(os.environ[\"PORT\"]))
        print((await r.readline()).decode())
    task = asyncio.create_task(connect())
    children = 0
    while not task.done():
        for close in (True, False):
            subprocess.run([\"true\"], close_fds=close, check=True)
            children += 1
        await asyncio.sleep(0.02)
    await task
    print(\"children\", children > 5)
asyncio.run(main())'"
	said lib hello-from-late || fail "not connected"
	said lib 'children True' || fail "too few children"
	assert_recovered connect
}

# over_ssh TEXT COMMAND: a protocol on the streams of ssh, while that retries. The command
# finds what to give ssh in ssh.conf, and files to fetch in tree and repo.
over_ssh()
{
	need ssh ssh-keygen sshd git rsync
	[ "$(id -u)" -eq 0 ] || skip "not root"
	mount -t tmpfs tmpfs /run || fail "no /run of our own"
	mkdir -m 755 /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$CASE_DIR/key" || fail "no key"
	cp "$CASE_DIR/key.pub" "$CASE_DIR/authorized"
	printf '%s\n' "HostKey $CASE_DIR/key" "AuthorizedKeysFile $CASE_DIR/authorized" \
		'StrictModes no' 'UsePAM no' 'PermitRootLogin yes' 'PrintMotd no' \
		'PrintLastLog no' 'Subsystem sftp internal-sftp' >"$CASE_DIR/sshd.conf"
	printf '%s\n' 'BatchMode yes' "IdentityFile $CASE_DIR/key" 'StrictHostKeyChecking no' \
		'UserKnownHostsFile /dev/null' 'LogLevel ERROR' >"$CASE_DIR/ssh.conf"
	mkdir "$CASE_DIR/tree"
	seq 1000 >"$CASE_DIR/tree/numbers"
	make_repository "$CASE_DIR/repo"
	client ssh 0 "$1" "cd '$CASE_DIR'; rm -rf copy; $2" \
		--exec "exec '$(command -v sshd)' -i -f '$CASE_DIR/sshd.conf' -E '$CASE_DIR/sshd.err'"
}

# As many descriptors as the program itself needs.
few_descriptors()
{
	# What whoever runs the tests has left open would be too many.
	local run="bash -c 'for d in /proc/self/fd/*; do
		[ \${d##*/} -le 2 ] || eval \"exec \${d##*/}>&-\"
	done; exec prlimit -n4:4 cat a b nothing'"

	need prlimit
	echo text >"$CASE_DIR/a"
	cp "$CASE_DIR/a" "$CASE_DIR/b"
	# cat has three of its own and one for the file; so has the loader before.
	bare "$run"
	with_library "$run"
	said bare text || fail "cat does not run alone"
	same_as_bare
	no_log
}

# All that the kernel allows: nothing of ours has that size.
many_descriptors()
{
	local most

	need prlimit
	most=$(ulimit -Hn)
	prlimit "-n$(</proc/sys/fs/nr_open):$(</proc/sys/fs/nr_open)" true 2>/dev/null &&
		most=$(</proc/sys/fs/nr_open)
	run_program bare -- "prlimit -n$most:$most $PYTHON -c '
import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)'"
	[ "$RC" -eq 0 ] || skip "more descriptors are not allowed here"
	with_library "prlimit -n$most:$most $PYTHON -c '
import resource, socket
try:
    socket.create_connection((\"127.0.0.1\", 9))
except ConnectionRefusedError:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)'" LIBRETRY_MAX_ATTEMPTS=2
	[ "$RC" -eq 0 ] || fail "exit status $RC"
	[ "$(log_count ' gave-up ')" -eq 1 ] || fail "not retried"
	[ "$(<"$CASE_DIR/lib.out")" -lt $(($(<"$CASE_DIR/bare.out") + 8192)) ] ||
		fail "$(<"$CASE_DIR/lib.out") KiB instead of $(<"$CASE_DIR/bare.out")"
}

# apt COMMAND-OPTIONS: its method for HTTP gives up its privileges by prctl(), and has
# libseccomp for a filter that is off by default.
apt_method()
{
	APT=/usr/lib/apt/apt-helper
	need "$APT" apt-get
	[ "$(id -u)" -eq 0 ] || skip "not root"
	# The method writes as a user of its own.
	chmod 777 "$CASE_DIR"
	APT="rm -f got; '$APT' -o Acquire::Retries=0 $1 download-file http://127.0.0.1:\$PORT/f \
		'$CASE_DIR/got' && cat got"
}

apt_default()
{
	apt_method ""
	rescued cat 0 hello-from-late "$APT" --http
}

# With the filter nothing is retried, and it is not killed: it fails as it does alone.
apt_filter()
{
	apt_method "-o APT::Sandbox::Seccomp=true"
	start_server --late 1000s
	bare "$APT"
	with_library "$APT" LIBRETRY_LOG_LEVEL=debug
	same_as_bare
	said lib 'Connection refused' || fail "not what it says of a refusal"
	no_log
	stop_server
	start_server --http
	SCRUB='s/ in [0-9]+s .*//'
	undisturbed hello-from-late "$APT"
}

# privileged NAME: runs a client as nobody; NAME.err has what it said.
as_nobody()
{
	run_program "$1" LD_PRELOAD="$PRELOAD_NAME" LIBRETRY_CONFIG="$CASE_DIR/mine.conf" \
		XDG_CONFIG_HOME="$CASE_DIR/xdg" LIBRETRY_LOG="file:$CASE_DIR/log" \
		LIBRETRY_MAX_ATTEMPTS=2 -- \
		"exec setpriv --reuid=65534 --regid=65534 --clear-groups '$CASE_DIR/$1' 127.0.0.1 9"
}

# Set-user-ID: the loader takes a library by its bare name, from a system folder
# and with that bit only. Neither variables nor a file of the user's count then.
privileges()
{
	local there

	need setpriv
	[ "$(id -u)" -eq 0 ] || skip "not root"
	there=$(echo /lib/*-linux-gnu/libmemusage.so)
	[ -e "$there" ] || skip "no library to stand in for"
	PRELOAD_NAME=$(basename "$there")
	cp "$LIBRETRY_SO" "$CASE_DIR/$PRELOAD_NAME"
	chmod 4755 "$CASE_DIR/$PRELOAD_NAME"
	mount --bind "$CASE_DIR/$PRELOAD_NAME" "$there" || fail "cannot mount $there"
	chmod 777 "$CASE_DIR"
	mkdir -p "$CASE_DIR/xdg/libretry"
	echo 'version = 1; policies = { default = { max_attempts = 3; }; };' >"$CASE_DIR/mine.conf"
	cp "$CASE_DIR/mine.conf" "$CASE_DIR/xdg/libretry/libretry.conf"
	cp "$TOOLS/connect_once" "$CASE_DIR/secure"
	cp "$TOOLS/connect_once" "$CASE_DIR/plain"
	chmod 4755 "$CASE_DIR/secure"

	as_nobody plain
	[ "$(log_count ' retry op=connect .*attempt=1/2 ')" -eq 1 ] ||
		fail "variables do not count in a plain program: nothing is tested"
	rm -f "$CASE_DIR/log"
	as_nobody secure
	[ "$RC" -eq 1 ] || fail "exit status $RC"
	[ ! -e "$CASE_DIR/log" ] || fail "a log where the user wanted it"
	[ "$(grep -c ' retry op=connect .*attempt=[1-4]/5 ' "$CASE_DIR/secure.err")" -eq 4 ] ||
		fail "not the built-in policy"
}

dispatch "$@"

for signal in INT TERM; do
	add_case "wget-$signal" interrupted wget $signal "wget -q -O - -t 1 http://HOST:PORT/"
	add_case "curl-$signal" interrupted curl $signal "curl -s http://HOST:PORT/"
	add_case "ssh-$signal" interrupted ssh $signal "ssh -F none -o BatchMode=yes \
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p PORT user@HOST true"
	add_case "psql-$signal" interrupted psql $signal \
		"psql 'host=HOST port=PORT user=u dbname=d'"
	add_case "node-$signal" interrupted node $signal \
		"node -e 'require(\"net\").connect(PORT, \"HOST\")'"
done
add_case python3-TERM interrupted "$PYTHON" TERM \
	"$PYTHON -c 'import socket; socket.create_connection((\"HOST\", PORT))'"
add_case python3-INT python_interrupt
add_case python3-handler python_handler
add_case python3-subprocess subprocesses
# shellcheck disable=SC2016 # $PORT and $PWD are for the shell that runs the program
{
	add_case rsync-ssh over_ssh '+++++ numbers' \
		'rsync -e "ssh -F ssh.conf -p $PORT" -ai "127.0.0.1:$PWD/tree/" copy/ && cat copy/numbers'
	add_case scp over_ssh 1000 'scp -q -F ssh.conf -P "$PORT" "127.0.0.1:$PWD/tree/numbers" copy &&
		cat copy'
	add_case git-ssh over_ssh refs/heads/main 'export GIT_SSH_COMMAND="ssh -F ssh.conf"
		git clone "ssh://127.0.0.1:$PORT$PWD/repo" copy &&
		git -C copy log --format=%H && git -C copy show-ref'
}
add_case apt apt_default
add_case apt-seccomp apt_filter
add_case few-descriptors few_descriptors
add_case many-descriptors many_descriptors
add_case privileges privileges
finish
