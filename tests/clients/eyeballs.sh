#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Happy eyeballs: programs that try several addresses of a name side by side.
# The name has ::1 and 127.0.0.1, the server 127.0.0.1 only. If it is up, the
# refusal of ::1 goes straight to the program; if it is late, it is waited for.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck disable=SC2016 # $PORT is for the shell that runs the program
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

PATIENCE_MS=30000 # before the program starts the next address by itself

# No waiting for the program's own patience with ::1 to end.
up()
{
	two_up "$@"
	[ "$RUN_MS" -lt "$PATIENCE_MS" ] || fail "the refusal of ::1 came late: $RUN_MS ms"
}

# both NAME PROGRAM LATE-COMMAND UP-COMMAND
both()
{
	add_case "$1-late" two_late "$2" "$3"
	add_case "$1-up" up "$2" "$4"
}

# asyncio_client SECONDS
asyncio_client()
{
	printf '%s' "$PYTHON -c '
import asyncio, os
async def main():
	reader, writer = await asyncio.open_connection(\"both.test\", int(os.environ[\"PORT\"]),
		happy_eyeballs_delay=$1)
	writer.write(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
	print(await reader.read())
	writer.close()
asyncio.run(main())'"
}

CURL='curl -sS http://both.test:$PORT/'
CURL_PATIENT="curl -sS --happy-eyeballs-timeout-ms $PATIENCE_MS http://both.test:\$PORT/"
NODE="node '$CLIENTS/src/client.js' families both.test \$PORT"

dispatch "$@"
both curl curl "$CURL" "$CURL_PATIENT"
both node node "$NODE" "$NODE $PATIENCE_MS"
both python3-asyncio "$PYTHON" "$(asyncio_client 0.25)" "$(asyncio_client $((PATIENCE_MS / 1000)))"
finish
