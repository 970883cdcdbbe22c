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

dispatch "$@"
: "${LIBRETRY:=$(dirname "$(dirname "$LIBRETRY_SO")")/libretry}"
LIBRETRY=$(realpath "$LIBRETRY")
export LIBRETRY
add_case killed-budget shared killed-budget
add_case killed-breaker shared killed-breaker
add_case killed-coordinated shared killed-coordinated
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
