#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A name with two addresses, ::1 first, and a server on 127.0.0.1 only: if it is
# up, the refusal of ::1 goes straight to the program, which walks on; if it is
# late, it is waited for.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# family OWN OTHER: a program at its last address, of family OWN, while the server
# comes back on the other family, which the program has tried already.
family()
{
	need "$PYTHON"
	two_addresses
	PORT=0
	export PORT
	with_library "$PYTHON $CLIENTS/src/family.py $1 $2"
	said lib 'answer: hello' || fail "not rescued (exit status $RC)"
	said lib "options kept" || fail "the options of the socket are gone"
	[ "$(log_count ' moved ')" -eq 1 ] || fail "the move is not in the log"
	[ "$(log_count ' recovered ')" -eq 1 ] || fail "the recovery is not in the log"
}

WGET="wget -q -O - -t 1 http://both.test:\$PORT/"
HTTP_CLIENT="$PYTHON -c '
import http.client, os
c = http.client.HTTPConnection(\"both.test\", int(os.environ[\"PORT\"]))
c.request(\"GET\", \"/\")
print(c.getresponse().read())'"

dispatch "$@"
# A wait would be longer than the run may take.
STUBBORN=(LIBRETRY_BASE_DELAY=60s LIBRETRY_MAX_DELAY=60s LIBRETRY_DEADLINE=300s)
add_case wget-late two_late wget "$WGET"
add_case python3-late two_late "$PYTHON" "$HTTP_CLIENT"
add_case wget-up two_up wget "$WGET" "${STUBBORN[@]}"
add_case python3-up two_up "$PYTHON" "$HTTP_CLIENT" "${STUBBORN[@]}"
add_case v4-to-v6 family 127.0.0.1 ::1
add_case v6-to-v4 family ::1 127.0.0.1
finish
