#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-doc.sh: each test that doc/guest.md names, as "file.c: test, test", is there.
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
done < <(grep '^|' "$top/doc/guest.md" |
	grep -oE '[a-z0-9_/-]+\.c: [a-z0-9_-]+(, [a-z0-9_-]+)*' | sed 's/: */:/')
[ "$count" -gt 40 ] || { echo "not ok: only $count names were found"; fail=1; }
[ "$fail" -ne 0 ] || echo "ok $count tests of doc/guest.md are there"
exit $fail
