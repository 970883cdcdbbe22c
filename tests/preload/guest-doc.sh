#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-doc.sh: each test that doc/guest.md and doc/principles.md name, as "file.c: test, test", is there.
set -u
top=${TOP_SRCDIR:?}
fail=0
count=0
while IFS=: read -r file names; do
	found=
	for f in "$top/tests/preload/$file" "$top/tests/$file"; do
		[ ! -e "$f" ] || found=$f
	done
	if [ -z "$found" ]; then
		echo "not ok $file is not there"
		fail=1
		continue
	fi
	for name in ${names//,/ }; do
		count=$((count + 1))
		grep -q "^START_TEST($name)" "$found" && continue
		echo "not ok $file has no $name"
		fail=1
	done
done < <(grep -h '^|' "$top/doc/guest.md" "$top/doc/principles.md" |
	grep -oE '[a-z0-9_/-]+\.c: [a-z0-9_-]+(, [a-z0-9_-]+)*' | sed 's/: */:/')
# Scripts are named by their files.
while read -r file; do
	[ -e "$top/tests/$file" ] && continue
	echo "not ok $file is not there"
	fail=1
done < <(grep -h '^|' "$top/doc/guest.md" "$top/doc/principles.md" |
	grep -oE '(preload|clients|foreign)/[a-z-]+\.sh' | sort -u)
[ "$count" -gt 80 ] || { echo "not ok: only $count names were found"; fail=1; }
[ "$fail" -ne 0 ] || echo "ok $count tests of the two documents are there"
exit $fail
