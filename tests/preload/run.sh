#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh PROGRAM [ARG...]: a test program under the library, with a log file of
# its own and a quick policy. PROGRAM.env beside the source overrides these.
set -eu
program=$1
shift
so=${LIBRETRY_SO:?set LIBRETRY_SO to libretry.so}
name=$(basename "$program" .pt)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

export TEST_DIR=$dir TEST_LOG=$dir/log
export LIBRETRY_CONFIG=none LIBRETRY_LOG=file:$TEST_LOG LIBRETRY_LOG_LEVEL=debug
export LIBRETRY_BASE_DELAY=40ms LIBRETRY_MAX_DELAY=100ms LIBRETRY_MAX_ATTEMPTS=40
# Tests hammer more than a budget gives; those that are about it say so.
export LIBRETRY_BUDGET=none
env_file=${TOP_SRCDIR:-.}/tests/preload/$name.env
# shellcheck disable=SC1090
if [ -e "$env_file" ]; then . "$env_file"; fi

preload=$so
# A sanitizer's runtime must come before everything else.
if [ -n "${SANITIZER_RUNTIME:-}" ]; then preload=$SANITIZER_RUNTIME:$preload; fi
if [ -n "${PRELOAD_BEFORE:-}" ]; then preload=$PRELOAD_BEFORE:$preload; fi
if [ -n "${PRELOAD_AFTER:-}" ]; then preload=$preload:$PRELOAD_AFTER; fi
rc=0
LD_PRELOAD=$preload ${TEST_WRAPPER:-} "$program" "$@" || rc=$?
if [ $rc -ne 0 ] && [ -e "$TEST_LOG" ]; then
	echo "--- log of the library ---"
	tail -n 40 "$TEST_LOG"
fi
exit $rc
