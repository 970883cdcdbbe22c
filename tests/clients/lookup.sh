#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Names: a resolver that answers SERVFAIL (or nothing) at first and then an
# address is waited for; a name that does not exist fails as fast as ever,
# unless dns-missing is asked for.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"


# How many lookups of late.test (A questions, each once) the resolver saw.
rounds()
{
	awk '$1 == "late.test" && $2 == "A" && $3 > n { n = $3 } END { print n + 0 }' \
		"$CASE_DIR/dns.log"
}

# after_failures PROGRAM FAILURES DNSD-OPTION VARIABLE TEXT COMMAND SERVER-ARGUMENTS
# The resolver fails FAILURES lookups in the way of DNSD-OPTION. VARIABLE: one
# more for the library's environment, or "-".
after_failures()
{
	local program=$1 failures=$2 trouble=$3 variable=$4 text=$5 command=$6 alone

	shift 6
	need "$program"
	[ $# -eq 0 ] || start_server "$@"

	start_dns "--$trouble" "late.test:$failures" --answer late.test=127.0.0.1
	bare "$command"
	alone=$(rounds)
	stop_dns
	! said bare "$text" || fail "the bare run did not fail"
	[ "$alone" -eq 1 ] || fail "the bare run looked $alone times, the test counts on 1"

	start_dns "--$trouble" "late.test:$failures" --answer late.test=127.0.0.1
	[ "$variable" != - ] || variable=LIBRETRY_DEADLINE=20s
	with_library "$command" "$variable"
	assert_recovered lookup
	said lib "$text" || fail "'$text' is not in the output (exit status $RC)"
	[ "$RETRIES" -eq "$failures" ] || fail "$RETRIES retries after $failures failures"
	[ "$(rounds)" -eq $((failures + 1)) ] || fail "the resolver saw $(rounds) lookups"
}

# missing PROGRAM COMMAND: the same words, status and questions as alone.
missing()
{
	local program=$1 command=$2 alone

	need "$program"
	PORT=1
	start_dns --nxdomain late.test
	bare "$command"
	alone=$(rounds)
	[ "$alone" -ge 1 ] || fail "the bare run asked nothing"
	stop_dns
	start_dns --nxdomain late.test
	with_library "$command"
	no_log
	[ "$(rounds)" -eq "$alone" ] || fail "$(rounds) lookups instead of $alone"
	same_as_bare
}

# The last attempt's failure is the program's, as it is.
gives_up()
{
	need wget
	start_dns --servfail late.test
	bare "$WGET"
	with_library "$WGET" LIBRETRY_MAX_ATTEMPTS=3 LIBRETRY_BASE_DELAY=20ms
	[ "$(log_count ' WARN retry op=lookup ')" -eq 2 ] || fail "not 2 retries"
	[ "$(log_count ' ERROR gave-up op=lookup .*attempts=3 .*reason=attempts')" -eq 1 ] ||
		fail "no line 'gave-up' with its reason"
	same_as_bare
}

WGET="wget -nv -O - -t 1 http://late.test:\$PORT/"
SSH="ssh -v -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
-p \$PORT user@late.test true"
PYTHON_CLIENT="$PYTHON -c '
import os, socket
s = socket.create_connection((\"late.test\", int(os.environ[\"PORT\"])))
print(s.recv(100))'"
# gethostbyname_r, then gethostbyname.
PERL_CLIENT="perl -e 'print join(\".\", unpack(\"C4\", gethostbyname(\"late.test\") // die \"no\"))'"
NC_CLIENT="nc.traditional late.test \$PORT"

dispatch "$@"

add_case servfail-wget after_failures wget 2 servfail - hello-from-late "$WGET" --http
add_case servfail-ssh after_failures ssh 2 servfail - 'remote software version late' "$SSH" \
	--banner 'SSH-2.0-late\r\n' --half-close
add_case servfail-python3 after_failures "$PYTHON" 2 servfail - hello-from-late \
	"$PYTHON_CLIENT" "${BANNER[@]}"
add_case servfail-ping after_failures ping 2 servfail - ' 1 received' 'ping -c 1 -W 5 late.test'
add_case servfail-gethostbyname_r after_failures perl 2 servfail - 127.0.0.1 "$PERL_CLIENT"
add_case servfail-gethostbyname after_failures nc.traditional 2 servfail - hello-from-late \
	"$NC_CLIENT" "${BANNER[@]}"
add_case silence-python3 after_failures "$PYTHON" 1 drop - hello-from-late \
	"$PYTHON_CLIENT" "${BANNER[@]}"
add_case gives-up gives_up
add_case nxdomain-wget missing wget "$WGET"
add_case nxdomain-ssh missing ssh "ssh -F none -p \$PORT user@late.test true"
add_case nxdomain-python3 missing "$PYTHON" "$PYTHON_CLIENT"
add_case nxdomain-ping missing ping 'ping -c 1 late.test'
add_case nxdomain-gethostbyname_r missing perl "$PERL_CLIENT"
add_case dns-missing-wget after_failures wget 2 nxdomain LIBRETRY_RETRY_ON=dns-missing \
	hello-from-late "$WGET" --http
add_case dns-missing-gethostbyname_r after_failures perl 2 nxdomain \
	LIBRETRY_RETRY_ON=dns-missing 127.0.0.1 "$PERL_CLIENT"
finish
