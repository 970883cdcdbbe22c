#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: run.sh [NAME ...]
# Runs the client tests (all, or NAME.sh of this folder) and sums them up.
# LIBRETRY_SO and TOOLS say what is tested and with what: see lib.sh.

set -u
here=$(dirname "$(realpath "$0")")
results=$(mktemp) || exit 2
trap 'rm -f "$results"' EXIT
bad=0

if [ $# -eq 0 ]; then
	set -- blocking lookup wire same strace badconf twoaddr
fi
for name; do
	echo "# $name"
	bash "$here/$name.sh" >"$results.one" 2>&1 || bad=1
	cat "$results.one"
	# A script that says nothing has not tested anything.
	grep -qE '^(ok|not ok|skip) ' "$results.one" ||
		echo "not ok $name: no result" | tee -a "$results.one"
	cat "$results.one" >>"$results"
	rm -f "$results.one"
done
passed=$(grep -c '^ok ' "$results")
failed=$(grep -c '^not ok ' "$results")
skipped=$(grep -c '^skip ' "$results")
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$bad" -eq 0 ]
