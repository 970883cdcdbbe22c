#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One host, one memory: crowds of programs that share a budget, a breaker or what they know
# of a server that is down. See src/shared.py for what is measured and demanded.
#
# SHARED=long in the environment: the long form, with the figures printed.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

CASE_LIMIT=400

# shared CASE: in a /dev/shm of its own.
shared()
{
	need "$PYTHON" curl
	mount -t tmpfs tmpfs /dev/shm || fail "no /dev/shm of our own"
	CASE_DIR="$CASE_DIR" "$PYTHON" -B "$CLIENTS/src/shared.py" "$1" "${SHARED:-short}" \
		>"$CASE_DIR/figures.out" 2>&1
	RC=$?
	[ "$RC" -eq 0 ] || fail "$(tail -n 1 "$CASE_DIR/figures.out")"
}

# Programs and a library for 32 bit: LIBRETRY_SO32, LIBRARIES32 (folder of what it needs), RUN32
# (what runs such programs, if the kernel does not).
two_words()
{
	[ -n "${LIBRETRY_SO32:-}" ] || skip "no 32-bit library: LIBRETRY_SO32 is not set"
	# The kernel's headers are those of 64 bit, where there is no gcc-multilib.
	gcc -m32 -std=gnu11 -D_GNU_SOURCE -O2 -idirafter "/usr/include/$(gcc -print-multiarch)" \
		"$CLIENTS/../tools/caller.c" -o "$CASE_DIR/caller32" -lpthread -lm ||
		skip "no compiler for 32 bit"
	shared two-words
}

dispatch "$@"
: "${LIBRETRY:=$(dirname "$(dirname "$LIBRETRY_SO")")/libretry}"
LIBRETRY=$(realpath "$LIBRETRY")
export LIBRETRY
add_case killed-budget shared killed-budget
add_case killed-breaker shared killed-breaker
add_case killed-coordinated shared killed-coordinated
add_case two-words two_words
add_case curl-retry shared curl
add_case half-open-probes shared probes
# These have the machine for themselves.
wait
add_case recovery shared recovery
wait
add_case herd shared herds
wait
[ "${SHARED:-}" != long ] || sed 's/^/# /' "$WORK"/*/figures.out
finish
