# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# stories.sh - what several of the client tests do in a case, from the start of
# the server to what must be in the log. Part of lib.sh.
#
# shellcheck disable=SC2034 # results are left in variables for the sourcing file

# late STATUS TEXT COMMAND FLAKY-ARGUMENTS: fails alone against a server that
# starts late, succeeds with the library.
# STATUS: the exit status of a success; "any" if it tells nothing.
late()
{
	local status=$1 text=$2 command=$3

	shift 3
	start_late "$@"
	bare "$command"
	! said bare "$text" || fail "the bare run did not fail"
	[ "$status" = any ] || [ "$RC" -ne "$status" ] || fail "the bare run ended with $RC"
	with_library "$command"
	said lib "$text" || fail "'$text' is not in the output (exit status $RC)"
	[ "$status" = any ] || [ "$RC" -eq "$status" ] || fail "exit status $RC"
}

# rescued PROGRAM STATUS TEXT COMMAND FLAKY-ARGUMENTS: late, and the log has every
# failed attempt (as many as the kernel counted) and one recovery.
rescued()
{
	need "$1"
	shift
	late "$@"
	assert_recovered connect
	all_failures_logged
}

all_failures_logged()
{
	[ "$FAILED_ON_WIRE" -eq "$RETRIES" ] ||
		fail "$FAILED_ON_WIRE failed attempts on the wire, $RETRIES in the log"
}

# undisturbed TEXT COMMAND [NAME=VALUE ...]: where all goes well, nothing differs
# and nothing is logged. SCRUB: what of the output differs from run to run anyway
# (a sed script).
SCRUB=
undisturbed()
{
	local text=$1 command=$2

	shift 2
	bare "$command"
	said bare "$text" || fail "the bare run did not reach the server"
	with_library "$command" "$@"
	no_log
	[ "$OPENED" -eq "$BARE_OPENED" ] || fail "$OPENED connects instead of $BARE_OPENED"
	[ -z "$SCRUB" ] || sed -E -i -e "$SCRUB" "$CASE_DIR"/{bare,lib}.{out,err}
	same_as_bare
}

# client PROGRAM STATUS TEXT COMMAND FLAKY-ARGUMENTS: rescued, and then the same against a
# server that is up.
client()
{
	rescued "$@"
	afterwards "$@"
}

# The same against a server that is up; and the late one's clients wrote the same bytes.
afterwards()
{
	local text=$3 command=$4 port=$PORT stream

	shift 4
	cp "$CASE_DIR/lib.out" "$CASE_DIR/late.out"
	cp "$CASE_DIR/lib.err" "$CASE_DIR/late.err"
	stop_server
	start_server "$@"
	undisturbed "$text" "$command"
	for stream in out err; do
		sed -E -i -e "s/\\b$port\\b/$PORT/g" ${SCRUB:+-e "$SCRUB"} "$CASE_DIR/late.$stream"
		cmp "$CASE_DIR/late.$stream" "$CASE_DIR/bare.$stream" || fail "retried: other $stream"
	done
}

# both.test has two addresses, ::1 first; servers are on 127.0.0.1 only.
two_addresses()
{
	write_names '127.0.0.1 localhost testhost
::1 both.test
127.0.0.1 both.test'
	# Else the refusal of ::1, on which all of this stands, does not happen.
	[ "$(getent ahosts both.test | awk 'NR == 1 { print $1 }')" = ::1 ] ||
		fail "::1 is not the first address of both.test"
}

# two_up PROGRAM COMMAND [NAME=VALUE ...]: the refusal of ::1 goes straight to
# the program, which walks on.
two_up()
{
	need "$1"
	shift
	two_addresses
	start_server --http
	undisturbed hello-from-late "$@"
	[ "$OPENED" -eq 2 ] || fail "$OPENED connects, not one to each of ::1 and 127.0.0.1"
}

# two_late PROGRAM COMMAND: the server is waited for, by one client.
two_late()
{
	need "$1"
	two_addresses
	late any hello-from-late "$2" --http --count "$CASE_DIR/count"
	[ "$(log_count ' WARN retry op=connect ')" -ge 1 ] || fail "no retry in the log"
	[ "$(log_count ' gave-up ')" -eq 0 ] || fail "gave up on the way"
	[ "$(cat "$CASE_DIR/count")" -eq 1 ] || fail "the server saw $(cat "$CASE_DIR/count") clients"
}

# make_repository FOLDER: of git, with one commit, always the same.
make_repository()
{
	git init -q -b main "$1"
	GIT_COMMITTER_DATE='@1000000000 +0000' GIT_AUTHOR_DATE='@1000000000 +0000' \
		git -C "$1" -c user.name=t -c user.email=t@localhost \
		commit -q --allow-empty -m one || fail "cannot make a repository"
}

# ---- compiled programs ----------------------------------------------------

compile()
{
	local src=$CLIENTS/src flags

	case $1 in
	javac)
		javac -d "$BIN" "$src"/*.java
		;;
	rustc)
		rustc -o "$BIN/tcp" "$src/tcp.rs" && rustc -o "$BIN/tcp_timeout" "$src/tcp_timeout.rs"
		;;
	cc)
		read -r -a flags <<<"$(pkg-config --cflags --libs libpq)"
		cc -o "$BIN/pq_poll" "$src/pq_poll.c" "${flags[@]}"
		;;
	esac
}

# compiled COMPILER: leaves its programs in BIN. The first case of the run that
# needs them makes them, others wait for it.
compiled()
{
	need "$1"
	(
		flock 9
		[ -e "$BIN/$1.rc" ] || {
			compile "$1" >"$BIN/$1.err" 2>&1
			echo $? >"$BIN/$1.rc"
		}
	) 9>"$BIN/$1.lock"
	[ "$(cat "$BIN/$1.rc")" = 0 ] || fail "$1: $(cat "$BIN/$1.err")"
}
