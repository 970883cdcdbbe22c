#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A connect that succeeds costs no extra system call: after a marker at the end
# of start-up, the traces with and without the library are the same.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# traced TAG STRACE-OPTION ... -- COMMAND: leaves TAG.calls, what came after
# the marker. Addresses differ from run to run, and where the heap ends depends
# on what was mapped before: such calls are left out.
traced()
{
	local tag=$1 options=()

	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	run_program "$tag" LIBRETRY_CONFIG=none PYTHONHASHSEED=0 -- \
		"exec strace -f -o '$CASE_DIR/$tag.trace' ${options[*]} setarch -R $2"
	[ "$RC" -eq 0 ] || fail "$tag: exit status $RC"
	sed -E -e '1,/nonexistent\/marker/d; s/^[0-9]+ +//; s/0x[0-9a-f]+/PTR/g' \
		-e 's/^(getrandom\()"[^"]*"/\1BYTES/' "$CASE_DIR/$tag.trace" |
		grep -vE '^(brk|mmap|munmap|mremap|mprotect|madvise)\(' >"$CASE_DIR/$tag.calls"
	grep -q '^connect(.* = 0$' "$CASE_DIR/$tag.calls" || fail "$tag: no connect in the trace"
}

same_calls()
{
	local program=$1 command=$2

	need strace setarch "$program"
	start_server --echo
	traced bare -- "$command"
	traced lib -E "LD_PRELOAD='$LIBRETRY_SO'" -- "$command"
	grep -q -F "$(basename "$LIBRETRY_SO")" "$CASE_DIR/lib.trace" ||
		fail "the library was not loaded: nothing is compared"
	diff -u "$CASE_DIR/bare.calls" "$CASE_DIR/lib.calls" || fail "other system calls"
}

# The marker, one connect by name, a line each way.
PYTHON_CLIENT="$PYTHON -c '
import os, socket
os.access(\"/nonexistent/marker\", os.F_OK)
s = socket.create_connection((\"localhost\", int(os.environ[\"PORT\"])))
s.sendall(b\"hello\\n\")
print(s.recv(100))
s.close()'"

dispatch "$@"
add_case c-client same_calls "$TOOLS/connect_once" "'$TOOLS/connect_once' 127.0.0.1 \$PORT"
add_case python3 same_calls "$PYTHON" "$PYTHON_CLIENT"
finish
