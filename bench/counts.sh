#!/bin/bash
# SPDX-License-Identifier: MIT
# counts.sh CALLS SO [NAME...]: what the library costs a call, in instructions
# of user space, while no connect is under way and the program has one thread.
# The difference of N and 2 N calls, so that nothing but the call is in it.
set -eu
calls=${1:?} so=${2:?}
shift 2
n=${N:-1000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

command -v valgrind >/dev/null || {
	echo "bench: there is no valgrind" >&2
	exit 1
}
export LIBRETRY_CONFIG=none

target() {
	case $1 in
	write) echo 14 ;;
	read | send | recv) echo 16 ;;
	poll | epoll_wait) echo 10 ;;
	connect+close) echo 110 ;;
	nonblocking) echo 180 ;;
	*) echo - ;;
	esac
}

# total PRELOAD NAME N
total() {
	LD_PRELOAD=$1 valgrind --tool=callgrind --callgrind-out-file="$dir/out" "$calls" "$2" "$3" \
		>"$dir/log" 2>&1 || {
		cat "$dir/log" >&2
		exit 1
	}
	awk '/^(summary|totals):/ { print $2; exit }' "$dir/out"
}

per_call() {
	local once twice

	once=$(total "$1" "$2" "$n")
	twice=$(total "$1" "$2" $((2 * n)))
	echo $(((twice - once + n / 2) / n))
}

[ $# -gt 0 ] || mapfile -t names < <("$calls")
[ $# -eq 0 ] || names=("$@")
printf '%-14s %6s %6s %6s %7s\n' call bare with costs target
for name in "${names[@]}"; do
	bare=$(per_call '' "$name")
	with=$(per_call "$so" "$name")
	costs=$((with - bare)) limit=$(target "$name") mark=
	if [ "$limit" != - ] && [ "$costs" -gt "$limit" ]; then
		mark=' above'
	fi
	printf '%-14s %6d %6d %6d %7s%s\n' "$name" "$bare" "$with" "$costs" "$limit" "$mark"
done
