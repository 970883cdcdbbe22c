#!/bin/bash
# SPDX-License-Identifier: MIT
# The command: stats, hold and release, with programs that really count. In a
# namespace with a /dev/shm and a loopback of its own, so that nothing of this
# machine's users is seen or touched, and ports are free. Environment: LIBRETRY (the
# binary), LIBRETRY_SO (the library), TOOLS, TOP_SRCDIR.
set -u

# shellcheck source=tests/preload/verdicts.sh
. "${0%/*}/verdicts.sh"

TOP_SRCDIR=$(cd "${TOP_SRCDIR:-.}" && pwd) || exit 99
: "${LIBRETRY:=./libretry}" "${LIBRETRY_SO:=./libretry.so}" "${TOOLS:=./tests/tools}"
LIBRETRY=$(cd "$(dirname "$LIBRETRY")" && pwd)/$(basename "$LIBRETRY")
LIBRETRY_SO=$(cd "$(dirname "$LIBRETRY_SO")" && pwd)/$(basename "$LIBRETRY_SO")
TOOLS=$(cd "$TOOLS" && pwd) || exit 99
for file in "$LIBRETRY" "$LIBRETRY_SO" "$TOOLS/connect_once"; do
	[ -r "$file" ] || { echo "not ok setup: $file is missing"; exit 99; }
done
export LIBRETRY LIBRETRY_SO TOOLS TOP_SRCDIR

if [ -z "${STATS_ALONE:-}" ]; then
	flags=-mn
	[ "$(id -u)" -eq 0 ] || flags=-rmn
	unshare $flags true 2>/dev/null || { echo "skip: no namespaces"; exit 77; }
	STATS_ALONE=1 exec unshare $flags bash "$0"
fi
if ! mount -t tmpfs tmpfs /dev/shm || ! ip link set lo up; then
	echo "skip: no /dev/shm or no loopback of our own"
	exit 77
fi

for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	[ "$name" = LIBRETRY_SO ] || unset "$name"
done
unset LD_PRELOAD
preload=$LIBRETRY_SO
if [ -n "${SANITIZER_RUNTIME:-}" ]; then preload=$SANITIZER_RUNTIME:$preload; fi
tmp=$(mktemp -d) || exit 99
children=
cleanup() {
	# shellcheck disable=SC2086
	[ -z "$children" ] || kill $children 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
chmod 755 "$tmp"
cd "$tmp" || exit 99
XDG_CONFIG_HOME=$tmp/xdg
export XDG_CONFIG_HOME
# Not by a wrapper that looks for the right one each time; and none of its modules.
python=
for name in /usr/bin/python3 /usr/local/bin/python3 "$(command -v python3)"; do
	[ ! -x "$name" ] || { python="$name -S"; break; }
done
segment=/dev/shm/libretry-v1*-u$(id -u)

lr() {
	"$LIBRETRY" "$@" >out 2>err </dev/null
	status=$?
}

ends() {
	ends_name=$1 ends_status=$2
	shift 2
	lr "$@"
	is "$ends_name" "$ends_status" "$status"
}

# row NAME WORDS FILE: FILE has a line that begins with these words
row() {
	if tr -s ' ' <"$3" | grep -qF -e "$2"; then
		pass "$1"
	else
		fail "$1" "<$2> is not in <$(<"$3")>"
	fi
}

# client PORT: one connect, under a policy that is quick
client() {
	LD_PRELOAD=$preload LIBRETRY_CONFIG=${conf:-none} LIBRETRY_LOG=file:$tmp/log \
		LIBRETRY_BASE_DELAY=1ms LIBRETRY_MAX_ATTEMPTS=3 LIBRETRY_STATS=${counting-shm} \
		"$TOOLS/connect_once" 127.0.0.1 "$1"
}

# until_true COMMAND...: waits for it, 30 s at most
until_true() {
	tries=600
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

nothing_yet() {
	ends "no statistics is status 1" 1 stats
	has "it is told how to get them" "LIBRETRY_STATS=shm" err
	is "nothing else is printed" "" "$(<out)"
	ends "no statistics in JSON either" 1 stats --json
	ends "Prometheus learns that there are none" 0 stats --prometheus
	has "by a value" 'libretry_segment_present{segment="user:' out
	ends "nothing to forget is well" 0 stats --reset
	ends "nothing to release is not" 1 release 127.0.0.1:1
	# shellcheck disable=SC2086
	is "looking makes no segment" "" "$(ls $segment 2>/dev/null)"
}

words() {
	ends "stats --help" 0 stats --help
	ends "hold --help" 0 hold --help
	ends "release --help" 0 release --help
	ends "ways to show exclude each other" 2 stats --json --prometheus
	ends "a file is for --prometheus" 2 stats -o x
	ends "a watch needs a time" 2 stats --watch=soon
	ends "stats takes no argument" 2 stats db1
	ends "no such user" 1 stats --user "no such user"
	ends "user and group" 1 stats --user root --group root
	ends "hold needs a destination" 2 hold
	ends "hold needs a time" 2 hold db1:5432
	ends "a time needs a unit" 2 hold db1:5432 30
	has "which is said" "has no unit" err
	ends "no time is no time" 2 hold db1:5432 0s
	ends "a destination has a port" 2 hold db1 1s
	has "or a pattern is meant" "'db1:*'" err
	ends "release needs a destination" 2 release
	for where in 9469 :9469 127.0.0.1 127.0.0.1: 127.0.0.1:99999 ::1:80 "[]:80"; do
		"$LIBRETRY" stats --serve "$where" >out 2>err </dev/null
		is "--serve $where" 1 "$?"
	done
}

counts() {
	client 1 >/dev/null
	client 1 >/dev/null
	ends "statistics are there" 0 stats
	row "what failed is counted" "127.0.0.1:1 default 2 0 4 0 2 0 0 ECONNREFUSED, " out
	row "with its reason" "127.0.0.1:1 default 2 0 0 0 0 0 0" out
	row "and its attempts" "127.0.0.1:1 default 0 0 2 0 0 0 0" out
	counting=none
	client 1 >/dev/null
	counting=shm
	lr stats
	row "who does not count does not count" "127.0.0.1:1 default 2 0 4 0 2 " out

	"$TOOLS/flaky" -P 7 --echo >/dev/null &
	children="$children $!"
	until_true "$TOOLS/connect_once" 127.0.0.1 7
	LIBRETRY_INJECT=connect:ECONNREFUSED:first=1 client 7 >/dev/null
	lr stats
	row "what recovered is counted" "127.0.0.1:7 default 1 0 1 1 0 0 0 ECONNREFUSED, " out
	row "and what was struck on purpose" "127.0.0.1:7 default 0 0 1" out
	LD_PRELOAD=$preload LIBRETRY_STATS=shm LIBRETRY_CONFIG=none LIBRETRY_LOG=none \
		LIBRETRY_MODE=observe "$TOOLS/connect_once" 127.0.0.1 2 >/dev/null
	lr stats
	if grep -q 127.0.0.1:2 out; then
		fail "observing counts nothing" "$(<out)"
	else
		pass "observing counts nothing"
	fi
	if [ -n "$python" ]; then
		lr stats --json
		is "JSON is JSON" 4 "$($python -c 'import json; d = json.load(open("out"))
print(sum(r["retries"] for r in d["destinations"] if r["destination"] == "127.0.0.1:1"))')"
	fi
}

prometheus() {
	ends "the text of Prometheus" 0 stats --prometheus
	has "has its values" 'op="connect",dest="127.0.0.1:1",policy="default"} 4' out
	if command -v promtool >/dev/null; then
		promtool check metrics <out >err 2>&1
		is "promtool likes it" "0 " "$? $(<err)"
	else
		echo "skip promtool: it is not installed"
	fi
	if [ -n "$python" ]; then
		$python "$TOP_SRCDIR/tests/preload/exposition.py" <out >err 2>&1
		is "the format is kept" "0 " "$? $(<err)"
		printf 'a{b="c} 1\n' | $python "$TOP_SRCDIR/tests/preload/exposition.py" >err 2>&1
		is "and looked at" 1 "$?"
	fi
	mkdir collector
	echo old >collector/x.prom
	ends "into a file" 0 stats --prometheus -o collector/x.prom
	is "nothing in print then" "" "$(<out)"
	has "the file is replaced" "libretry_retries_total{" collector/x.prom
	is "nothing is left beside it" "x.prom" "$(ls -A collector)"
	is "others may read it" "-rw-r--r--" "$(ls -l collector/x.prom | cut -c1-10)"
	ends "a folder that is not there" 1 stats --prometheus -o nowhere/x.prom
}

# names_exist WHAT FILE: each metric that it names is in "out"
names_exist() {
	missing=
	for name in $(grep -o 'libretry_[a-z_]*[a-z]' "$2" | sort -u); do
		grep -q "^# TYPE ${name%_bucket} " out || grep -q "^$name{" out || missing="$missing $name"
	done
	is "$1: the metrics exist" "" "$missing"
}

# The queries of the dashboard as rules, with its variables filled in.
board_as_rules() {
	$python -c 'import json, sys
board = json.load(sys.stdin)
variables = {"$" + v["name"]: "x" for v in board["templating"]["list"]}
variables.update({"$__rate_interval": "5m", "$__range": "1h"})
rules = []
for panel in board["panels"]:
    for target in panel["targets"]:
        expr = target["expr"]
        for name in sorted(variables, key=len, reverse=True):
            expr = expr.replace(name, variables[name])
        assert "$" not in expr, expr
        rules.append({"record": "a:b%d" % len(rules), "expr": expr})
assert rules
print(json.dumps({"groups": [{"name": "g", "rules": rules}]}))'
}

rules() {
	alerts=$TOP_SRCDIR/deploy/prometheus/libretry-alerts.yml
	board=$TOP_SRCDIR/deploy/grafana/libretry.json
	"$LIBRETRY" stats --prometheus >out
	names_exist alerts "$alerts"
	names_exist "dashboard" "$board"
	if [ -n "$python" ]; then
		board_as_rules <"$board" >board.yml
		is "the dashboard is JSON" 0 "$?"
	fi
	if command -v promtool >/dev/null; then
		promtool check rules "$alerts" >out 2>&1
		is "promtool likes the alerts" 0 "$?"
		[ -z "$python" ] || {
			promtool check rules board.yml >out 2>&1
			is "promtool likes the queries of the dashboard" 0 "$?"
		}
		[ ! -e "$TOP_SRCDIR/tests/preload/alerts.yml" ] || {
			sed "s|@RULES@|$alerts|" "$TOP_SRCDIR/tests/preload/alerts.yml" >alerts.yml
			promtool test rules alerts.yml >out 2>&1
			is "the alerts alert" "0" "$?"
		}
	fi
}

get() { curl -s -m 30 -o body -w '%{http_code} %{content_type}' "http://127.0.0.1:9469$1"; }

serves() {
	"$LIBRETRY" stats --serve 127.0.0.1:9469 >served 2>&1 </dev/null &
	server=$!
	children="$children $server"
	until_true grep -e serving -e "built without" served
	if grep -q "built without" served; then
		echo "skip --serve: no libmicrohttpd"
		return
	fi
	has "where it serves is said" "http://127.0.0.1:9469/metrics" served
	ends "the port is taken now" 1 stats --serve 127.0.0.1:9469
	command -v curl >/dev/null || { echo "skip --serve: no curl"; return; }
	is "/metrics" "200 text/plain; version=0.0.4; charset=utf-8" "$(get /metrics)"
	has "has its values" 'dest="127.0.0.1:1",policy="default"} 4' body
	is "/health" "200 application/json" "$(get /health)"
	has "all is well" '"status": "ok"' body
	"$LIBRETRY" hold 127.0.0.1:1 1h >out
	is "held is not well" "503 application/json" "$(get /health)"
	has "who is held is said" '"destination": "127.0.0.1:1"' body
	"$LIBRETRY" release 127.0.0.1:1 >out
	is "released is" "200 application/json" "$(get /health)"
	is "another path" "404 text/plain; charset=utf-8" "$(get /etc/passwd)"
	is "another method" 405 "$(curl -s -m 30 -o body -w '%{http_code}' -d x \
		http://127.0.0.1:9469/metrics)"
	curl -s -m 30 -o body http://127.0.0.2:9469/metrics
	is "no other address" 7 "$?"
	# shellcheck disable=SC2086
	file=$(ls $segment)
	mv "$file" "$file.away"
	is "no segment is no fault" "200 application/json" "$(get /health)"
	echo rubbish >"$file"
	is "rubbish is" "500 text/plain; charset=utf-8" "$(get /metrics)"
	mv "$file.away" "$file"
	kill -TERM "$server"
	wait "$server"
	is "SIGTERM ends it well" 0 "$?"
}

watches() {
	"$LIBRETRY" stats --watch=0.02 >watched 2>&1 </dev/null &
	watcher=$!
	children="$children $watcher"
	blocks() { [ "$(grep -c "^user:" watched)" -ge 3 ]; }
	until_true blocks
	kill -TERM "$watcher"
	wait "$watcher"
	is "SIGTERM ends a watch well" 0 "$?"
	if blocks; then pass "a watch shows again"; else fail "a watch" "$(<watched)"; fi
	if grep -q "$(printf '\033')" watched; then
		fail "no terminal, no escapes" "$(cat -v watched)"
	else
		pass "no terminal, no escapes"
	fi
	[ -n "$python" ] || return
	# What happens now is to be seen, though not all fits.
	lr hold 127.0.0.1:1 1h
	timeout 60 $python - "$LIBRETRY" <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["libretry", "stats", "--watch", "0.02"])
		seen = b""
		while seen.count(b"\x1b[H") < 3 or b"held for" not in seen:
		    seen += os.read(fd, 4096)
		os.write(fd, b"xq")
		try:
		    while os.read(fd, 4096):
		        pass
		except OSError:
		    pass
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	is "q ends a watch on a terminal, which has the state in view" 0 "$?"
	lr release 127.0.0.1:1
}

# A client that shares what it knows, and waits as long as it must.
sharing() {
	cat >shared.conf <<-END
		version = 1;
		policies: { default = { budget = { scope = "$1"; }; deadline = "60s"; }; };
	END
	conf=$tmp/shared.conf
	counting=$2
	rm -f log
}

parked() { grep -q "parked .*reason=hold" log; }

# held NAME SCOPE COUNTING: a hold is heard, and so is its end
held() {
	sharing "$2" "$3"
	lr stats --reset
	ends "$1: a hold before any failure" 0 hold 127.0.0.1:1 1h
	has "$1: it is said what was held" "127.0.0.1:1 (policy default): held for 1h" out
	has "$1: and that nothing was known" "no failure of 127.0.0.1:1 was known" err
	client 1 >result &
	waiter=$!
	children="$children $waiter"
	if until_true parked; then pass "$1: it is heard"; else fail "$1" "$(<log)"; fi
	is "$1: only the first attempt is made" 1 "$(grep -c "retry op=" log)"
	is "$1: who waits has no answer yet" "" "$(<result)"
	lr stats
	row "$1: shown" "127.0.0.1:1 default 1 1 0 0 0 0 0 ECONNREFUSED, " out
	has "$1: as held" "held for " out
	ends "$1: release" 0 release '127.0.0.*'
	has "$1: it is said what was released" "127.0.0.1:1 (policy default): released" out
	wait "$waiter"
	is "$1: then it goes on" "result=-1 errno=111" "$(<result)"
	is "$1: with all its attempts" 1 "$(grep -c "gave-up .*attempts=3 .*reason=attempts" log)"
	conf=none counting=shm
}

holds() {
	held user user none
	held counted process shm
	ends "released twice" 0 release 127.0.0.1:1
	has "is said" "was not held" out
	ends "a pattern makes nothing" 1 hold 'nowhere*' 1s
	ends "another policy" 0 hold -p patient 127.0.0.1:1 1h
	lr stats
	row "is another place" "127.0.0.1:1 patient 0 " out
	sharing user none
	client 1 >/dev/null
	is "and does not concern us" 1 "$(grep -c "gave-up .*reason=attempts" log)"
	ends "both" 0 release 127.0.0.1:1
	is "are released" 2 "$(wc -l <out)"
	# The program's own time limit stands.
	lr hold 127.0.0.1:1 1h
	sed -i 's/60s/200ms/' shared.conf
	rm -f log
	client 1 >/dev/null
	is "nobody waits past his deadline" 1 "$(grep -c "gave-up .*reason=deadline" log)"
	# Else all that follow wait for it, too.
	ends "and that hold ends" 0 release 127.0.0.1:1
	conf=none counting=shm
}

others() {
	if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null ||
		! setpriv --reuid 65534 --clear-groups "$LIBRETRY" --version >/dev/null 2>&1; then
		echo "skip other users: no root, no setpriv, or they cannot get at the command"
		return
	fi
	chmod 1777 /dev/shm
	other="setpriv --reuid 65534 --regid 65534 --clear-groups"
	$other "$LIBRETRY" stats >out 2>err
	is "another user has none" 1 "$?"
	$other "$LIBRETRY" stats --user root >out 2>err
	is "and may not see ours" "1 yes" "$? $(grep -q "only its owner" err && echo yes)"
	$other "$LIBRETRY" hold --user root 127.0.0.1:1 1s >out 2>err
	is "nor hold for us" 1 "$?"
	ends "root may hold for others" 0 hold --user 65534 127.0.0.1:1 1h
	is "the segment is theirs" 65534 "$(stat -c %u /dev/shm/libretry-v1*-u65534)"
	ends "and see theirs" 0 stats --user 65534
	has "as held" "held for " out
	$other "$LIBRETRY" stats >out 2>err
	is "as they do" 0 "$?"
	ends "and have it forgotten" 0 stats --user 65534 --reset
	ends "which is then so" 1 stats --user 65534
	ends "a group has its own" 1 stats --group 65534
	has "and it is told how" "host_group" err
}

resets() {
	conf=none counting=shm
	client 1 >/dev/null
	ends "forget" 0 stats --reset
	ends "nothing is left" 1 stats
	client 1 >/dev/null
	lr stats
	row "and it begins anew" "127.0.0.1:1 default 1 0 2 0 1 " out
	# shellcheck disable=SC2086
	file=$(ls $segment)
	dd if=/dev/zero of="$file" bs=1 count=8 conv=notrunc 2>/dev/null
	ends "rubbish is not shown" 1 stats
	has "and said to be" "not a segment of this version" err
	has "and how it is mended" "stats --reset" err
	ends "also for Prometheus" 1 stats --prometheus
	ends "which does it" 0 stats --reset
	if [ -e "$file" ]; then fail "it is gone" "$file"; else pass "it is gone"; fi
	client 1 >/dev/null
	lr stats
	row "it begins anew again" "127.0.0.1:1 default 1 0 2 0 1 " out
	: >"$file"
	ends "nor what is empty" 1 stats
	ends "that is taken away, too" 0 stats --reset
	ln -s /etc/passwd "$file"
	ends "nor a link" 1 stats
	ends "which is left to whoever made it" 1 stats --reset
	rm -f "$file"
}

# What is known is offered by the completion of bash.
completes() {
	command -v bash >/dev/null || { echo "skip completion: no bash"; return; }
	offered=$(bash -c 'compopt() { :; }; . "$1/completion/bash/libretry"
		COMP_WORDS=("$2" hold 127.0.0.1) COMP_CWORD=2; _libretry "$2"
		echo "${COMPREPLY[*]}"; COMP_WORDS=("$2" hold 127.0.0.1 : "") COMP_CWORD=4
		_libretry "$2"; echo "${COMPREPLY[*]}"' - "$TOP_SRCDIR" "$LIBRETRY")
	is "destinations are offered, before their colon" "127.0.0.1:1 127.0.0.1:7" "$offered"
}

# Only "--serve" needs it, and says so. A file over it, in the namespace of ours.
without_httpd() {
	httpd=$(ldconfig -p 2>/dev/null | sed -n 's/.*libmicrohttpd.* => //p' | head -n 1)
	: >nothing
	if grep -q "built without" served || [ -z "$httpd" ] ||
		! mount --bind nothing "$(realpath "$httpd")"; then
		echo "skip libmicrohttpd: it is not there, or cannot be hidden"
		return
	fi
	ends "without libmicrohttpd there is no server" 1 stats --serve 127.0.0.1:9469
	has "the package is named" "Debian's libmicrohttpd12" err
	ends "the rest is there" 0 stats
	umount "$(realpath "$httpd")"
}

# The same of one process, in a file that it writes by itself.
files() {
	counting=file:$tmp/%e-%p.prom
	client 1 >/dev/null
	is "a file is written at exit" 1 "$(find . -name 'connect_once-*.prom' | wc -l)"
	is "and nothing else" "" "$(find . -name '.*prom*')"
	cp connect_once-*.prom out
	has "it counts calls" 'op="connect",dest="127.0.0.1:1",policy="default"} 1' out
	has "and why they ended" 'policy="default",reason="attempts"} 1' out
	has "whose they are" "{segment=\"process:connect_once:" out
	[ -z "$python" ] || {
		$python "$TOP_SRCDIR/tests/preload/exposition.py" <out >err 2>&1
		is "it is well-formed" 0 "$?"
	}
	families='s/^# TYPE //p'
	sed -n "$families" out >one
	lr stats --prometheus
	is "its names and types are the command's" "$(sed -n "$families" out)" "$(<one)"
	rm -f connect_once-*.prom
	client 7 >/dev/null
	is "nothing without a failure" "" "$(find . -name 'connect_once-*')"
	cat >files.conf <<-'C'
	version = 1;
	stats = { to = "file:DIR/one.json"; format = "json"; };
	policies = { default = { budget = { scope = "user"; }; }; };
	C
	sed -i "s,DIR,$tmp," files.conf
	conf=$tmp/files.conf counting=
	client 1 >/dev/null
	conf= counting=shm
	has "JSON, and with a shared budget" '"calls":1,"retries":2,' one.json
	has "nothing of others" '"gave_up":1,' one.json
}

words
nothing_yet
counts
completes
prometheus
files
rules
serves
without_httpd
watches
holds
others
resets
exit "$failed"
