#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Other people's test suites as the judge: each test of Python, Tornado and Twisted that has
# to do with sockets, waits, signals or processes has the result under the library that it has
# alone. See src/suites.py for how they are run and compared.
#
# SUITES in the environment: "short" (default: few modules, built-in policy), "all", or the
# names of modules, to run these in every way.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

CASE_LIMIT=3600

PYTHON_MODULES='test_asyncio test_subprocess test_socket test_multiprocessing_fork test_signal
	test_ssl test_threading test_eintr test_os test_posix test_httplib test_urllib2_localnet
	test_urllib test_ftplib test_smtplib test_imaplib test_poplib test_socketserver test_asyncore
	test_asynchat test_xmlrpc test_telnetlib test_nntplib test_selectors test_poll test_epoll
	test_select test_fork1 test_wait4 test_httpservers test_logging'
# More modules than these have tests; these open sockets.
OTHER_MODULES='tornado.test.simple_httpclient_test tornado.test.tcpclient_test
	tornado.test.iostream_test tornado.test.netutil_test tornado.test.websocket_test
	tornado.test.ioloop_test tornado.test.httpserver_test
	twisted.internet.test.test_tcp twisted.internet.test.test_unix
	twisted.internet.test.test_endpoints twisted.internet.test.test_process
	twisted.internet.test.test_udp twisted.test.test_tcp twisted.test.test_unix'
SHORT_MODULES='test_selectors test_poll test_epoll test_select test_socket test_asyncore'

# What is not compared, and why: a pattern of MODULE and the test's name, then words.
# Anything else that differs is a failure.
listed()
{
	cat <<-'END'
	END
}

absent()
{
	[ "${CI:-}" != true ] || [ "${SUITES:-short}" != short ] || fail "$1"
	skip "$1"
}

# suite MODULE WAY ...: "bare" is always run.
suite()
{
	local module=$1 package

	shift
	need "$PYTHON"
	case $module in
	test_*) package=test.$module ;;
	*) package=$module ;;
	esac
	"$PYTHON" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$package'))" \
		2>/dev/null || absent "$module is not installed"
	mount -t tmpfs tmpfs /dev/shm || fail "no /dev/shm of our own"
	# These sockets know no namespaces: they lead to the host of a virtual machine.
	[ ! -e /dev/vsock ] || mount --bind /dev/null /dev/vsock || fail "cannot hide /dev/vsock"
	listed >"$CASE_DIR/listed"
	"$PYTHON" -B "$CLIENTS/src/suites.py" compare "$CASE_DIR" "$module" "$@" >"$CASE_DIR/report.out" 2>&1
	RC=$?
	cp "$CASE_DIR/report.out" "${SUITES_REPORTS:-$CASE_DIR}/$module.out" 2>/dev/null
	[ "$RC" -eq 0 ] || fail "$(tail -n 1 "$CASE_DIR/report.out")"
}

dispatch "$@"
ways=(builtin once shared)
case ${SUITES:-short} in
short)
	modules=$SHORT_MODULES
	ways=(builtin)
	;;
all) modules="$PYTHON_MODULES $OTHER_MODULES" ;;
*) modules=$SUITES ;;
esac
for module in $modules; do
	add_case "$module" suite "$module" "${ways[@]}"
done
finish
