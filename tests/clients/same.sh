#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# No failure, no difference: everyday commands write the same bytes and end
# with the same status with and without the library, which says nothing.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# A small world to work on, the same for both runs.
make_files()
{
	mkdir -p "$CASE_DIR/tree/sub"
	printf 'one\ntwo\nthree\n' >"$CASE_DIR/tree/a.txt"
	printf 'one\n2\nthree\n' >"$CASE_DIR/tree/b.txt"
	seq 1000 >"$CASE_DIR/tree/sub/numbers"
	touch -d @1000000000 "$CASE_DIR"/tree/* "$CASE_DIR/tree"
}

# same PROGRAM COMMAND
same()
{
	local program=$1 command=$2

	need "$program"
	make_files
	[ "$program" != git ] || make_repository "$CASE_DIR/tree"
	bare "$command"
	[ -s "$CASE_DIR/bare.out" ] || [ -s "$CASE_DIR/bare.err" ] || [ "$program" = true ] ||
		fail "the bare run says nothing: nothing is compared"
	# To stderr, as by default: what the library says would be a difference.
	run_program lib LD_PRELOAD="$LIBRETRY_SO" -- "$command"
	same_as_bare
}

# The comparison itself can tell: a preload that says something is seen.
is_loaded()
{
	run_program lib LD_PRELOAD="$LIBRETRY_SO" -- 'grep -c libretry.so /proc/self/maps'
	[ "$RC" -eq 0 ] || fail "the library is not in the process: $(cat "$CASE_DIR/lib.err")"
}

dispatch "$@"
add_case is-loaded is_loaded
while IFS='|' read -r name program command; do
	add_case "$name" same "$program" "$command"
done <<-END
	true|true|true
	false|false|false; echo \$?
	ls|ls|ls -l --time-style=full-iso tree
	ls-error|ls|ls tree/nothing
	cat|cat|cat tree/a.txt tree/nothing
	grep|grep|grep -rn o tree/a.txt tree/b.txt
	sed|sed|sed s/o/0/g tree/a.txt
	awk|awk|awk '{ n += \$1 } END { print n }' tree/sub/numbers
	sort|sort|sort -r tree/sub/numbers
	find|find|find tree -type f | sort
	tar-gzip|tar|tar -C tree -cf - a.txt sub | gzip -n | sha256sum
	diff|diff|diff -u --label a --label b tree/a.txt tree/b.txt
	dd|dd|dd if=tree/sub/numbers bs=100 count=3 status=none
	git-status|git|git -C tree status --porcelain
	git-log|git|git -C tree log --stat --format=%H%n%s
	curl-version|curl|curl --version
	wget-version|wget|wget --version
	ssh-version|ssh|ssh -V
	openssl-digest|openssl|openssl dgst -sha256 tree/a.txt
	make|make|printf 'all:\\n\\t@echo made\\n' | make -f -
	date|date|date -u -d @1000000000
	id|id|id
	env-empty|env|env -i NAME=value env
	bash|bash|bash -c 'for i in 1 2 3; do echo \$((i * i)); done; (exit 3)'; echo \$?
	perl|perl|perl -e 'print join(",", map { \$_ * 2 } 1 .. 5), "\\n"'
	python3|$PYTHON|$PYTHON -c 'import json, socket, subprocess as s; print(json.dumps([1]), s.run(["echo", "x"], capture_output=True))'
	xargs-parallel|xargs|seq 20 | xargs -P 4 -n 1 expr 1 + | sort -n
	busybox|busybox|busybox ls tree
	socket-pair|perl|perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0); syswrite A, "x\\n"; print scalar <B>'
	descriptors|ls|ls /proc/self/fd; $PYTHON -c 'import os; print(os.listdir("/proc/self/fd"))'
	errno-at-main|$TOOLS/errno_main|$TOOLS/errno_main
END
finish
