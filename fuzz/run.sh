#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: run.sh SECONDS NAME ...
# libFuzzer (fuzz/engine below this folder) on each target for so long, from its
# corpus; new inputs go to new/NAME, those that make a fault to found/NAME-*.

set -u
seconds=$1
shift
here=$(dirname "$(realpath "$0")")
corpus=$here/corpus
config=$here/../src/config
status=0

# What fewer pages are touched for, that is most of the time.
export ASAN_OPTIONS=quarantine_size_mb=4:max_malloc_fill_size=0:allocator_release_to_os_interval_ms=-1${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# options NAME: sets "options". libconfig leaks in each text with a fault, and libFuzzer
# would look for leaks after each; arenas and descriptors are counted by the target.
options()
{
	options=()
	case $1 in
	conf | env) options+=(-detect_leaks=0) ;;
	esac
	case $1 in
	conf | timeline)
		{
			sed -n 's/^\t*[KG](\w*, \(\w*\),.*/"\1"/p' "$config/keys.h"
			grep -oEh '"[A-Za-z0-9.-]{2,}"' "$config"/keys.[ch] "$config"/load_*.c
		} | sort -u >"new/$1.dict"
		options+=(-dict="new/$1.dict")
		;;
	esac
}

for name; do
	mkdir -p "new/$name" found
	options "$name"
	echo "== $name"
	FUZZ=$name fuzz/engine -max_total_time="$seconds" -max_len=2048 -timeout=10 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="found/$name-" "${options[@]}" \
		"new/$name" "$corpus/$name" >"new/$name.log" 2>&1 || {
		status=1
		grep -E 'ERROR|runtime error|not so|SUMMARY|Test unit' "new/$name.log"
	}
	grep -E '^(stat::number_of_executed_units|#.*DONE)' "new/$name.log"
done
exit "$status"
