#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Real programs side by side for SOAK_SECONDS (20), against servers that flap, some
# of them killed or stopped: src/soak.py. "make soak" takes 30 minutes, and has the
# figures in $SOAK_FIGURES.

CASE_LIMIT=$((${SOAK_SECONDS:-20} + 150))
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

prepare()
{
	need python3 curl wget node
	mount -t tmpfs tmpfs /dev/shm || fail "cannot mount /dev/shm"
	cc -O2 -o epoll_loop "$CLIENTS/src/epoll_loop.c" || fail "cannot compile epoll_loop"
	BIN=$CASE_DIR
	export BIN CASE_DIR
}

soak()
{
	prepare
	"$PYTHON" "$CLIENTS/src/soak.py" "${SOAK_SECONDS:-20}" \
		>figures.out 2>soak.err || fail "$(grep fault: figures.out || tail -n 1 soak.err)"
	[ -z "${SOAK_FIGURES:-}" ] || cp figures.out "$SOAK_FIGURES"
}

# That what a client leaves in /dev/shm is seen at all.
leak()
{
	prepare
	! SOAK_LEAK=1 "$PYTHON" "$CLIENTS/src/soak.py" 4 >figures.out 2>soak.err ||
		fail "the leak was not seen"
	grep -q "fault: /dev/shm holds .*'left-behind': 4096" figures.out ||
		fail "another fault: $(grep fault: figures.out || tail -n 1 soak.err)"
}

dispatch "$@"
: "${LIBRETRY:=$(dirname "$LIBRETRY_SO")/../libretry}"
export LIBRETRY
add_case "clients for a while" soak
add_case "a client that leaks" leak
finish
