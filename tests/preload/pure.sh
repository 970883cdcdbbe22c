#!/bin/bash
# SPDX-License-Identifier: MIT
# pure.sh: policy/ decides and does nothing else, so its objects need only
# memory and string functions and the rooms below.
set -u
[ -z "${SANITIZED:-}" ] || exit 77
objects=${POLICY_OBJECTS:?}
# shellcheck disable=SC2086
bad=$(nm -u $objects | awk 'NF == 2 { print $2 }' |
	grep -vE '^(mem|str)|^(addr|cidr|fmt|glob|err|dur|prng|hash)_|^(class|builtin|policy|backoff|classify|rule|match|decide|reason|op|window)' |
	grep -vE '^(_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$' | sort -u | tr '\n' ' ')
if [ -n "$bad" ]; then
	echo "not ok policy is pure: $bad"
	exit 1
fi
echo "ok policy is pure"
