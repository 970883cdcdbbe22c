#!/bin/bash
# SPDX-License-Identifier: MIT
# The command: explain, and that the library does what it says. Environment:
# LIBRETRY (the binary), LIBRETRY_SO (the library), TOOLS, TOP_SRCDIR.
set -u

# shellcheck source=tests/preload/verdicts.sh
. "${0%/*}/verdicts.sh"

: "${LIBRETRY:=./libretry}" "${LIBRETRY_SO:=./libretry.so}" "${TOOLS:=./tests/tools}"
LIBRETRY=$(cd "$(dirname "$LIBRETRY")" && pwd)/$(basename "$LIBRETRY")
LIBRETRY_SO=$(cd "$(dirname "$LIBRETRY_SO")" && pwd)/$(basename "$LIBRETRY_SO")
TOOLS=$(cd "$TOOLS" && pwd)
for file in "$LIBRETRY" "$LIBRETRY_SO" "$TOOLS/connect_once"; do
	[ -r "$file" ] || { echo "not ok setup: $file is missing"; exit 99; }
done
for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	[ "$name" = LIBRETRY_SO ] || unset "$name"
done
unset LD_PRELOAD RES_OPTIONS LOCALDOMAIN
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
XDG_CONFIG_HOME=$tmp/xdg
export XDG_CONFIG_HOME
cd "$tmp" || exit 99
# Not by a wrapper that looks for the right one each time; and none of its modules.
python=
for name in /usr/bin/python3 /usr/local/bin/python3 "$(command -v python3)"; do
	[ ! -x "$name" ] || { python="$name -S"; break; }
done

# ex ARG...: runs the command; $status, files out and err
ex() {
	"$LIBRETRY" explain "$@" >out 2>err </dev/null
	status=$?
}

ends() {
	wanted_name=$1 wanted=$2
	shift 2
	ex "$@"
	is "$wanted_name" "$wanted" "$status"
}

cat >rules.conf <<'END'
version = 1;
policies:
{
  database = { base_delay = "1s"; max_delay = "30s"; max_attempts = 6; jitter = "none";
               deadline = "2m"; never_on = [ "unreachable" ]; };
};
destinations = (
  { name = "dns"; addr = [ "127.0.0.0/8", "::1" ]; port = "53"; policy = "off"; },
  { name = "private"; addr = "10.0.0.0/8"; policy = "interactive"; },
  { name = "db"; host = [ "db?.example.net", "db1" ]; port = "5432"; policy = "database";
    override = { carry = true; breaker = { enabled = true; }; };
    fallback = [ "standby.example.net:5432" ]; fallback_after = 3; },
  { name = "mysql"; unix = "/run/mysqld/*.sock"; policy = "patient"; }
);
programs = (
  { exe = "*/autossh"; enabled = false; },
  { exe = "*/backup"; mode = "observe"; policy = "container"; }
);
END

# ---------------------------------------------------------------- words --

words() {
	ends "--help" 0 --help
	has "--help names the options" "--grace" out
	ends "no destination" 2
	ends "two destinations" 2 a:1 b:1
	ends "an unknown option" 2 --nope a:1
	ends "an unknown call" 2 --op dial a:1
	ends "a URL" 2 http://a/
	has "says what is wanted" "host:port" err
	ends "an unknown error" 2 --error ECONREFUSED a:1
	has "the nearest is offered" 'did you mean "ECONNREFUSED"' err
	ends "a time without a unit" 2 --grace 30 a:1
	ends "layers that are no numbers" 2 --outer 3,x a:1
	ends "an address that is none" 2 --addr db1 a:1
	ends "an address of an address" 2 --addr 10.0.0.1 10.0.0.2:1
	ends "a file that is not there" 3 --config ./nope.conf a:1
	has "is named" "nope.conf" err
	is "and nothing is explained" "" "$(<out)"
}

# ----------------------------------------------------------- which file --

files() {
	ex db1:5432
	has "without a file" "built-in policies (no configuration file was found)" out
	mkdir -p xdg/libretry/conf.d
	cp rules.conf xdg/libretry/libretry.conf
	echo 'version = 1; destinations = ( { host = "z"; } );' >xdg/libretry/conf.d/z.conf
	ex db1:5432
	has "the user's file" "xdg/libretry/libretry.conf (the user's own file)" out
	has "its drop-in" "with $tmp/xdg/libretry/conf.d/z.conf" out
	LIBRETRY_CONFIG=$tmp/rules.conf ex db1:5432
	has "one named by the environment" "rules.conf (named by LIBRETRY_CONFIG)" out
	LIBRETRY_CONFIG=none ex db1:5432
	has "none" "(LIBRETRY_CONFIG=none)" out
	ex --config none db1:5432
	has "none as asked" "built-in policies (as asked)" out
	echo 'version = 1; policies: { default = { base_delay = "1"; }; };' >bad.conf
	ends "a file with a fault is explained as it works" 0 --config bad.conf db1:5432
	has "its fault is told" "base_delay" out
	has "and what holds" "the built-in policies hold" out
	LIBRETRY_STRICT=1 ex --config bad.conf db1:5432
	has "strict" "LIBRETRY_STRICT is set" out
	LIBRETRY_DISABLE=1 ex db1:5432
	has "disabled" "not retried: LIBRETRY_DISABLE" out
	rm -r xdg
}

# ---------------------------------------------------------------- rules --

rules() {
	ex --config rules.conf db1:5432
	has "the rule and its line" 'rule: rules.conf:10 "db": host=db?.example.net,db1 port=5432' out
	has "the policy, and the override" \
		"policy: database, the rule's; rules.conf:4, with the override at rules.conf:11" out
	has "why the first one did not match" "port: 5432 is not 53" out
	has "what depends on the address" "depends on the address of db1" out
	has "fallback" "fallback: after 3 failed attempts to standby.example.net:5432" out
	has "breaker" "breaker: opens after 5 failures in a row" out
	has "what else is set" "carry" out
	has "calls at 0 1 3 7 15" "5        8s           15s" out
	has "the longest wait" "6        16s          31s" out
	ex --config rules.conf --addr 10.1.2.3 db1:5432
	has "by address" 'rule: rules.conf:9 "private"' out
	lacks "which is known now" "depends on" out
	ex --config rules.conf lookup db1
	has "a look-up without its port" 'rule: rules.conf:10 "db"' out
	ex --config rules.conf --op lookup db2:5432
	has "no rule" "rule: none matches" out
	has "the rest" "policy: default, since no rule matches; built in" out
	ex --config rules.conf /run/mysqld/mysqld.sock
	has "a Unix socket" 'rule: rules.conf:13 "mysql"' out
	ex --config rules.conf 127.0.0.1:53
	has "off" "not retried: max_attempts is 1" out
	ex --config rules.conf fe80::1
	has "special" "link-local" out
	LIBRETRY_POLICY=patient LIBRETRY_BASE_DELAY=7s ex --config rules.conf db1:5432
	has "the environment's policy" "policy: patient, for every destination (LIBRETRY_POLICY)" out
	has "an override" "base_delay=7s (LIBRETRY_BASE_DELAY)" out
	ex --config rules.conf --exe /nowhere/autossh db1:5432
	has "switched off for a program" "not retried: the library is switched off" out
	has "by its line" "by the entry at rules.conf:16" out
	ex --config rules.conf --exe /nowhere/backup 192.0.2.1:1
	has "a program's policy" "policy: container, the program's" out
	has "a program's mode" 'mode is "observe"' out
	ex --config rules.conf --exe sh 192.0.2.1:1
	has "a program is found" "program: /" out
}

# ----------------------------------------------------- errors and times --

# The kernel's time for a SYN that nobody answers, by the documented rule for the
# usual figures; else it is left to the unit test.
syn() {
	case $(cat /proc/sys/net/ipv4/tcp_syn_retries 2>&1),$(
		cat /proc/sys/net/ipv4/tcp_syn_linear_timeouts 2>&1) in
	6,4) echo 131s ;;
	6,*) echo 127s ;;
	*) echo "" ;;
	esac
}

timing() {
	ex --config rules.conf --error ECONNREFUSED db1:5432
	has "an error that is retried" "ECONNREFUSED is retried (class refused)" out
	ex --config rules.conf --error EHOSTUNREACH db1:5432
	has "one that never_on takes out" "EHOSTUNREACH is not retried (never_on" out
	ex --config rules.conf --error EACCES db1:5432
	has "one of the fixed list" "fixed list" out
	ex --config rules.conf --error EAI_NONAME lookup db1
	has "one whose class is not named" "class dns-missing" out
	ex --config none --error ENOBUFS 192.0.2.1:1
	has "a local one waits longer" "2        500ms to 1.5s" out
	ex --config none --proto udp --op send --error ECONNREFUSED 192.0.2.1:1
	has "a datagram goes again at once" "retried once, at once" out
	ex --config none 192.0.2.1:1
	has "the worst case is the first attempt" "the first attempt; the deadline does not cut it" out
	syn=$(syn)
	[ -z "$syn" ] || has "one attempt takes the kernel's time" "one attempt  $syn" out
	LIBRETRY_ATTEMPT_TIMEOUT=2s ex --config none 192.0.2.1:1
	has "attempt_timeout bounds it" "one attempt  2s     attempt_timeout" out
	has "and all of it" "in all       12.3s" out
	RES_OPTIONS='timeout:3 attempts:1' LOCALDOMAIN='' ex --config none lookup db1.
	has "the resolver's time" "timeout 3s, 1 rounds" out
	ex --config none --outer 3,3 --replicas 5 192.0.2.1:1
	has "layers multiply" "at most: 45 (5 attempts here x 3 x 3" out
	has "that is many" "warning: 10 or more" out
	ex --config none --replicas 5 192.0.2.1:1
	has "replicas multiply the requests, too" "make 25 calls for 5 requests: still 5-fold" out
	lacks "that is not many" "warning" out
}

# What those who call a destination have together.
guards() {
	cat >guards.conf <<-'END'
		version = 1;
		policies: {
		  shared = { coordinate = true; layering = "yield";
		             budget = { scope = "user"; ratio = 0.1; min_retries_per_second = 3;
		                        ttl = "4s"; };
		             breaker = { enabled = true; consecutive_failures = 3; open_for = "2s"; }; };
		  tokens = { budget = { kind = "tokens"; scope = "host"; }; layering = "ignore"; };
		};
		destinations = (
		  { host = "s"; policy = "shared"; },
		  { host = "f"; policy = "shared"; fallback = "x:1"; },
		  { host = "t"; policy = "tokens"; },
		  { host = "n"; policy = "tokens"; override = { budget = { kind = "none"; }; }; } );
	END
	ex --config none --outer 3 --replicas 4 192.0.2.1:1
	has "the budget" "budget: ratio 0.2 and 50 a second, over 10s" out
	has "its bound" "in 10s at most 0.2 retries for each call, and 500 besides, by the threads" out
	has "what it makes of many requests" "of many requests: 3.6 each, and 500 calls besides" out
	has "a process has its own" "4 replicas have a budget each: 2000 calls besides" out
	has "layering" "layering: detect: if 3 calls in a row" out
	lacks "no breaker" "breaker:" out
	lacks "no coordination" "coordinate:" out
	lacks "a hold is not heard" "hold:" out
	LIBRETRY_STATS=shm ex --config none 192.0.2.1:1
	has "it is by who counts" 'hold: "libretry hold" is heard: retries wait' out
	ex --config guards.conf --replicas 4 s:1
	has "a shared budget" "and 12 besides, by all programs of a user" out
	lacks "which is one for all replicas" "have a budget each" out
	has "the breaker" "breaker: opens after 3 failures in a row, for 2s" out
	has "what it does" "while it is open calls fail at once with the last error" out
	has "a call alone opens it" "its attempt 4 is refused" out
	has "coordination" "coordinate: true, among all programs of a user" out
	has "what that does" "the others, first ones too, wait for its result" out
	has "and to the time" "the deadline, as attempts wait for others', and one attempt" out
	has "layering that yields" "its further calls are not retried" out
	ex --config guards.conf lookup s
	has "a look-up is not refused" "while it is open nothing is retried" out
	has "nor kept waiting at first" "other retries wait for its result" out
	ex --config guards.conf f:1
	has "a breaker with a fallback" "calls go to the fallback at once" out
	lacks "is not opened by attempts there" "one call alone" out
	LIBRETRY_MODE=observe ex --config guards.conf s:1
	has "who only watches asks nobody" "(not asked)" out
	ex --config guards.conf t:1
	has "tokens" "100 retries (50 after time-outs) by all programs of a user (process.host" out
	lacks "layering is ignored" "layering:" out
	ex --config guards.conf n:1
	has "none" "budget: none" out
	lacks "which bounds nothing" "besides" out
	[ -n "$python" ] || return
	ex --json --config guards.conf s:1
	is "the same in JSON" "user 12 4000000000 1.1 True True yield True" \
		"$($python -c 'import json; d = json.load(open("out")); print(*(d[k] for k in (
"scope", "budget_floor", "budget_ttl_ns", "calls_per_request_of_many",
"breaker_opens_within_call", "coordinate", "layering", "hold_heard")))')"
	"$LIBRETRY" check --json guards.conf >out
	is "check has them" "shared user True yield opens after 3 failures in a row, for 2s to 5m" \
		"$($python -c 'import json; print(*(r[k] for r in json.load(open("out"))["limits"]
if r["policy"] == "shared" for k in ("policy", "scope", "coordinate", "layering", "breaker")))')"
	"$LIBRETRY" check guards.conf >out
	has "an override is a row" "guards.conf:13  tokens       host     none " out
}

grace() {
	LIBRETRY_ATTEMPT_TIMEOUT=2s ends "a stop in time" 0 --config none --grace 3s 192.0.2.1:1
	has "is told" "stop by SIGTERM: at most 2.1s; the 3s given suffice" out
	LIBRETRY_ATTEMPT_TIMEOUT=2s ends "a stop too late" 1 --config none --grace 2s 192.0.2.1:1
	echo 'version = 1; process: { stop_on = [ "SIGINT" ]; };' >nostop.conf
	LIBRETRY_ATTEMPT_TIMEOUT=2s ends "without the signal all of it counts" 1 \
		--config nostop.conf --grace 12s 192.0.2.1:1
	has "and is told" "SIGTERM is not in stop_on" out
	LIBRETRY_ATTEMPT_TIMEOUT=2s ends "the whole fits" 0 --config nostop.conf --grace 13s \
		192.0.2.1:1
	ends "a Unix socket without a limit" 1 --config none --grace 1h /run/x
	RES_OPTIONS='timeout:5 attempts:2' LIBRETRY_ATTEMPT_TIMEOUT=1s \
		ends "the look-up counts" 1 --config none --grace 5s db1:1
}

# ------------------------------------------- what the library really does --

cat >compare.py <<'END'
import json
said = json.load(open("said.json"))
log = [json.loads(line) for line in open("log")]
retries = [e for e in log if e["event"] in ("retry", "would-retry")]
ended = [e for e in log if e["event"] in ("gave-up", "passed")]
faults = []
rule = said["rule_file"] and "%s:%d" % (said["rule_file"], said["rule_line"])
for e in retries + [e for e in ended if e["event"] == "gave-up"]:
    if e["policy"] != said["policy"]:
        faults.append("policy %s" % e["policy"])
    if e.get("rule") != rule:
        faults.append("rule %s, not %s" % (e.get("rule"), rule))
for e in retries:
    if not said["retried"]:
        continue
    step = said["calls"][int(e["attempt"].split("/")[0])]
    if not step["wait_min_ns"] <= e["wait_ns"] <= step["wait_max_ns"]:
        faults.append("wait %d of attempt %s" % (e["wait_ns"], e["attempt"]))
attempts = len([e for e in retries if e["event"] == "retry"]) + 1
reason = ended[-1]["reason"] if ended else "none"
# A retry that was waited for, and then refused.
if reason == "breaker":
    attempts = ended[-1]["attempts"]
if attempts > said["attempts"] or (reason == "attempts" and attempts != said["attempts"]):
    faults.append("%d attempts, not %d" % (attempts, said["attempts"]))
print("; ".join(faults) or "agree, %d, %s" % (attempts, reason))
END

# agrees NAME PATTERN ERROR CONFIG: a client under the library, its connects
# failing with ERROR, and what was said about it
agrees() {
	rm -f log
	touch log
	LIBRETRY_INJECT=connect:$3 LIBRETRY_LOG=file:$tmp/log LIBRETRY_LOG_FORMAT=json \
		LIBRETRY_LOG_LEVEL=debug LIBRETRY_CONFIG=$4 \
		LD_PRELOAD=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}$LIBRETRY_SO \
		"$TOOLS/connect_once" 127.0.0.1 1 >client 2>&1
	LIBRETRY_CONFIG=$4 "$LIBRETRY" explain --json --exe "$TOOLS/connect_once" --error "$3" \
		127.0.0.1:1 >said.json || fail "$1" "explain ended with $?"
	got=$($python compare.py)
	# shellcheck disable=SC2254
	case $got in
	"agree, "$2) pass "$1" ;;
	*) fail "$1" "expected <agree, $2>, got <$got>" ;;
	esac
}

# conf NAME POLICY [MORE]: a rule for 127.0.0.1 behind another one
conf() {
	cat >"$1" <<END
version = 1;
policies: { p = { base_delay = "4ms"; max_delay = "30ms"; $2 }; };
destinations = ( { host = "other"; policy = "off"; },
                 { addr = "127.0.0.0/8"; policy = "p"; } );
${3:-}
END
}

library() {
	[ -n "$python" ] || { echo "skip library: no python3"; return; }
	for jitter in proportional full equal additive decorrelated none; do
		conf "$tmp/c" "jitter = \"$jitter\"; max_attempts = 7;"
		agrees "jitter $jitter" "7, attempts" ECONNREFUSED "$tmp/c"
	done
	conf "$tmp/c" 'cap = "soft"; multiplier = 3.5; max_attempts = 6;'
	agrees "cap soft" "6, attempts" ETIMEDOUT "$tmp/c"
	conf "$tmp/c" 'first_retry = "immediate"; max_attempts = 4;'
	agrees "first retry at once" "4, attempts" ECONNREFUSED "$tmp/c"
	conf "$tmp/c" 'base_delay_local = "20ms"; max_attempts = 3;'
	agrees "local resource" "3, attempts" ENOBUFS "$tmp/c"
	echo 'version = 1; policies: { default = { schedule = [ "1ms", "9ms", "2ms" ]; max_attempts = 6; }; };' \
		>"$tmp/c"
	agrees "schedule, no rule" "6, attempts" ECONNREFUSED "$tmp/c"
	conf "$tmp/c" 'max_attempts = 1;'
	agrees "off" "1, off" ECONNREFUSED "$tmp/c"
	conf "$tmp/c" 'never_on = [ "reset" ];'
	agrees "never_on" "1, not-retryable" ECONNRESET "$tmp/c"
	conf "$tmp/c" ''
	agrees "the fixed list" "1, not-retryable" EACCES "$tmp/c"
	agrees "only for Unix sockets" "1, not-retryable" EAGAIN "$tmp/c"
	conf "$tmp/c" 'jitter = "none"; deadline = "20ms"; max_attempts = 50;'
	# As many as the machine has time for, and not more than was said.
	agrees "deadline" "*, deadline" ECONNREFUSED "$tmp/c"
	echo 'version = 1; programs = ( { exe = "*/connect_once"; policy = "automotive"; } );
	      policies: { automotive = { base_delay = "1ms"; max_attempts = 3; }; };' >"$tmp/c"
	agrees "the program's policy" "3, attempts" ECONNREFUSED "$tmp/c"
	conf "$tmp/c" '' 'programs = ( { exe = "connect_once"; enabled = false; } );'
	agrees "off for the program" "1, none" ECONNREFUSED "$tmp/c"
	conf "$tmp/c" '' 'programs = ( { exe = "connect_once"; mode = "observe"; } );'
	agrees "observe" "1, none" ECONNREFUSED "$tmp/c"
	# Said: "one call alone opens it: its attempt 3 is refused", "2 besides".
	conf "$tmp/c" 'breaker = { enabled = true; consecutive_failures = 2; };'
	agrees "the breaker" "2, breaker" ECONNREFUSED "$tmp/c"
	is "as it was said" "True" "$(sed -n 's/.*"breaker_opens_within_call": true.*/True/p' said.json)"
	conf "$tmp/c" 'budget = { ratio = 0.0; min_retries_per_second = 1; ttl = "2s"; };'
	agrees "the budget" "3, budget" ECONNREFUSED "$tmp/c"
	has "its floor, as it was said" '"budget_floor": 2,' said.json
	conf "$tmp/c" ''
	LIBRETRY_POLICY=p LIBRETRY_MAX_ATTEMPTS=2 LIBRETRY_JITTER=full
	export LIBRETRY_POLICY LIBRETRY_MAX_ATTEMPTS LIBRETRY_JITTER
	agrees "the environment" "2, attempts" ECONNREFUSED "$tmp/c"
	unset LIBRETRY_POLICY LIBRETRY_MAX_ATTEMPTS LIBRETRY_JITTER
}

words
files
rules
timing
guards
grace
library
exit "$failed"
