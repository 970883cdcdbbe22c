#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: run.sh [NAME ...]
# Runs the client tests (all, or NAME.sh of this folder) and sums them up.
# LIBRETRY_SO and TOOLS say what is tested and with what: see lib.sh.

here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/clients/lib.sh
. "$here/lib.sh"

# These measure time: nothing runs beside them.
ALONE=(heartbeat shared soak)

dir=$(mktemp -d "${TMPDIR:-/tmp}/clients.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
open_run "$dir"

run_one()
{
	bash "$here/$1.sh" >"$dir/$1" 2>&1 9>&- || : >"$dir/bad"
	# A script that says nothing has not tested anything.
	grep -qE '^(ok|not ok|skip) ' "$dir/$1" || echo "not ok $1: no result" >>"$dir/$1"
}

alone()
{
	case " ${ALONE[*]} " in
	*" $1 "*) true ;;
	*) false ;;
	esac
}

# The long ones first.
[ $# -ne 0 ] || set -- nonblocking addresses resets badconf blocking same fallback lookup wire proxies \
	eyeballs twoaddr guest suites \
	strace "${ALONE[@]}"
declare -A pids
for name; do
	alone "$name" && continue
	run_one "$name" &
	pids[$name]=$!
done

passed=0 failed=0 skipped=0
for name; do
	if alone "$name"; then
		wait
		run_one "$name"
	else
		wait "${pids[$name]}"
	fi
	echo "# $name"
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
		'ok '*) passed=$((passed + 1)) ;;
		'not ok '*) failed=$((failed + 1)) ;;
		'skip '*) skipped=$((skipped + 1)) ;;
		esac
	done <"$dir/$name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ ! -e "$dir/bad" ]
