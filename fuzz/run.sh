#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: run.sh SECONDS NAME ...
# libFuzzer (fuzz/engine below this folder) on each target for so long, from its
# corpus; new inputs go to new/NAME, those that make a fault to found/NAME-*.

set -u
seconds=$1
shift
corpus=$(dirname "$(realpath "$0")")/corpus
status=0
for name; do
	mkdir -p "new/$name" found
	dictionary=()
	[ ! -e "$corpus/../$name.dict" ] || dictionary=(-dict="$corpus/../$name.dict")
	echo "== $name"
	FUZZ=$name fuzz/engine -max_total_time="$seconds" -max_len=2048 -timeout=10 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="found/$name-" "${dictionary[@]}" \
		"new/$name" "$corpus/$name" >"new/$name.log" 2>&1 || {
		status=1
		grep -E 'ERROR|runtime error|not so|SUMMARY|Test unit' "new/$name.log"
	}
	grep -E '^(stat::number_of_executed_units|#.*DONE)' "new/$name.log"
done
exit "$status"
