#!/bin/bash
# SPDX-License-Identifier: MIT
# The command: suggest. Environment: LIBRETRY (the binary), LIBRETRY_SO (the
# library), TOOLS.
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
unset LD_PRELOAD
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
XDG_CONFIG_HOME=$tmp/xdg
export XDG_CONFIG_HOME
cd "$tmp" || exit 99

# sg ARG...: runs the command; $status, files out and err, and flat: the comments in
# one line
sg() {
	"$LIBRETRY" suggest "$@" >out 2>err </dev/null
	status=$?
	tr -d '#' <out | tr -s ' \n' ' ' >flat
}

ends() {
	wanted_name=$1 wanted=$2
	shift 2
	sg "$@"
	is "$wanted_name" "$wanted" "$status"
}

# outage DEST HH:MM:SS MM:SS: one that begins and ends then, of one process
outage() {
	echo "2026-11-29T$2.000Z libretry[7] WARN retry op=connect dest=$1 attempt=1/5" \
		"error=${4:-ECONNREFUSED} wait=112ms elapsed=0.4ms left=29.9s policy=default"
	echo "2026-11-29T${2%%:*}:$3.000Z libretry[7] INFO recovered op=connect dest=$1" \
		"attempts=3 waited=412ms policy=default"
}

# What is printed is a configuration that libretry takes, and that leads there.
usable() {
	"$LIBRETRY" check --strict --quiet out >checked 2>&1 || true
	is "$1: the configuration has no fault" "" "$(<checked)"
	"$LIBRETRY" explain --config out "$2" >explained 2>&1
	has "$1: its rule is found" "policy: $3, the rule's" explained
}

words() {
	ends "--help" 0 --help
	has "--help names the options" "--within" out
	ends "no file" 2
	ends "two files" 2 a b
	ends "an unknown option" 2 --nope a
	ends "no percentage" 2 --target 0 a
	ends "more than all" 2 --target 101 a
	ends "a time without a unit" 2 --within 30 a
	ends "no time" 2 --gap 0s a
	ends "a file that is not there" 3 ./nope
	has "is named" "nope" err
	echo "nothing of ours" >other
	ends "a file of others" 3 other
	has "says what it is not" "no timeline" err
	echo "2026-11-29T10:00:00.000Z libretry[7] INFO stopping signal=SIGTERM" >quiet
	ends "a log without failures" 1 quiet
	is "prints no policy" "" "$(<out)"
	has "and says so" "no outage to learn from" err
}

log() {
	{
		outage db1:5432 10:00:00 00:02
		outage db1:5432 11:00:00 00:10
		outage 192.0.2.7:80 11:30:00 30:01
		outage db1:5432 12:00:00 00:04
		echo "a line of somebody else"
		outage '[fd00::1]:443' 12:30:00 30:01
		outage /run/x.sock 13:00:00 00:05 ENOENT
		echo "2026-11-29T13:30:00.000Z libretry[7] WARN suppressed dest=db1:5432 lines=9"
	} >retry.log
	ends "a log" 0 retry.log
	has "outages are found" "db1:5432: 3 outages of 2s to 10s (median 4s)" flat
	has "few are called few" "How sure: little. 3 outages are few" flat
	has "one is called an anecdote" "One outage is an anecdote" flat
	has "what may come" "chance of 1 in 4" flat
	has "lines that were held back" "9 lines were held back" flat
	usable "a name" db1:5432 for-db1-5432
	usable "an address" 192.0.2.7:80 for-192-0-2-7-80
	usable "a v6 address" '[fd00::1]:443' for-fd00-1-443
	usable "a Unix socket" /run/x.sock for-run-x-sock
	has "the error that it had is kept" "unix-missing" explained
	sg --dest 192.0.2.7:80 retry.log
	lacks "one destination" "db1" out
	ends "a destination that is not there" 1 --dest x:1 retry.log
	sg --within 5s --dest db1:5432 retry.log
	has "a longer one is left out" "1 outage was longer than 5s (--within)" out
	ends "if all are longer" 1 --within 900ms retry.log
	has "it is said" "nothing is suggested" flat
	sg retry.log
	"$LIBRETRY" suggest - <retry.log >piped 2>err
	is "standard input, and twice the same" "$(sed '1,/^#$/d' out)" "$(sed '1,/^#$/d' piped)"
}

open_ends() {
	outage db1:1 10:00:00 00:05 | head -n 1 >open.log
	ends "one failure alone has no length" 1 --latency 1ms open.log
	echo "2026-11-29T10:00:03.000Z libretry[8] WARN would-retry op=connect dest=db1:1" \
		"attempt=1/5 error=ECONNREFUSED wait=112ms elapsed=0.4ms policy=default" >>open.log
	ends "an outage without an end" 0 open.log
	has "is called so" "No end was seen" flat
	outage db1:1 11:00:00 00:05 >>open.log
	sg open.log
	has "one of two" "The end of 1 of them was not seen" flat
}

# A policy for outages that it was made for lets the wanted share through, as the
# simulator sees it in another way.
timeline() {
	cat >seed.timeline <<'END'
2040.121 2101.376
2683.369 2833.814
5350.554 5705.069
9805.130 9894.252
10901.223 10964.632
11394.656 11672.066
13547.429 13842.653
END
	ends "a timeline" 0 seed.timeline
	has "its outages" "7 outages of 61ms to 354ms" flat
	has "a range" "Others like these would give" flat
	has "the policy" "suggested = {" out
	"$LIBRETRY" check --strict --quiet out >checked 2>&1
	is "is without fault" "" "$(<checked)"
	lacks "no rule, for want of a name" "destinations" out
	printf '0s 10m\n20m 21m\n' >long.timeline
	sg --within 10s long.timeline
	is "longer ones" 1 "$status"
}

json() {
	command -v python3 >/dev/null || { echo "skip json: no python3"; return; }
	"$LIBRETRY" suggest --json retry.log >said.json
	is "json" "db1:5432 3 0 2000400us True | 5 1 True" "$(python3 -c '
import json
d = json.load(open("said.json"))
s = d["suggestions"][0]
o = d["outages"]
print(s["dest"], s["outages"], s["open"], s["shortest"],
      s["success"] >= 0.98 and s["success"] > s["success_default"], "|",
      len(set(x["dest"] for x in o)) + 1, len([x for x in o if x["dest"] == "/run/x.sock"]),
      all(not x["open"] for x in o))')"
	sg --target 50 --json retry.log
	is "a lower target takes fewer attempts" "True" "$(python3 -c '
import json
a = json.load(open("said.json"))["suggestions"][0]
b = json.load(open("out"))["suggestions"][0]
print(b["attempts"] < a["attempts"] and b["success"] < a["success"])')"
}

# Of a real client's log, in each format.
real() {
	for format in text logfmt json; do
		rm -f real.log
		for again in 1 2; do
			LIBRETRY_CONFIG=none LIBRETRY_INJECT=connect:ECONNREFUSED \
				LIBRETRY_BASE_DELAY=10ms LIBRETRY_MAX_ATTEMPTS=4 \
				LIBRETRY_JITTER=none LIBRETRY_LOG=file:$tmp/real.log \
				LIBRETRY_LOG_FORMAT=$format \
				LD_PRELOAD=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}$LIBRETRY_SO \
				"$TOOLS/connect_once" 127.0.0.1 1 >client 2>&1
			[ -s real.log ] || fail "real $format" "nothing was logged ($again)"
		done
		ends "real, $format" 0 real.log
		has "real, $format: the destination" "127.0.0.1:1: 1 outage of" out
		has "real, $format: injected" "8 failures were injected" out
	done
}

# port_of FILE: what the server that writes there is bound to
port_of() {
	for again in $(seq 600); do
		port=$(sed -n 's/^port //p' "$1" 2>/dev/null)
		[ -z "$port" ] || break
		sleep 0.05
	done
}

# What a real client wrote about an outage of its server, and about nothing else; both
# commands read it. The log is off: the file has all by itself.
written() {
	export LIBRETRY_CONFIG=none LIBRETRY_LOG=none LIBRETRY_BASE_DELAY=20ms
	export LIBRETRY_MAX_DELAY=20ms LIBRETRY_MAX_ATTEMPTS=1000 LIBRETRY_JITTER=none
	export LIBRETRY_TIMELINE=file:$tmp/wrote-%e-%p
	preload=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}$LIBRETRY_SO
	"$TOOLS/flaky" --port-file up --connections 1 --echo >/dev/null &
	port_of up
	LD_PRELOAD=$preload "$TOOLS/connect_once" 127.0.0.1 "$port" >client 2>&1
	is "written: nothing on success" "0 " "$? $(ls wrote-* 2>/dev/null)"
	"$TOOLS/flaky" --port-file late --late-from go --connections 1 --echo >/dev/null &
	port_of late
	LD_PRELOAD=$preload "$TOOLS/connect_once" 127.0.0.1 "$port" >client 2>&1 &
	client=$!
	for again in $(seq 600); do
		[ "$(cat wrote-* 2>/dev/null | wc -l)" -lt 3 ] || break
		sleep 0.05
	done
	echo go >go
	wait "$client"
	is "written: the client got through" 0 "$?"
	wait
	unset LIBRETRY_CONFIG LIBRETRY_LOG LIBRETRY_BASE_DELAY LIBRETRY_MAX_DELAY
	unset LIBRETRY_MAX_ATTEMPTS LIBRETRY_JITTER LIBRETRY_TIMELINE
	file=wrote-connect_once-$client
	is "written: by its name and number" "$file" "$(echo wrote-*)"
	has "written: failures" "WARN retry op=connect dest=127.0.0.1:$port" "$file"
	is "written: one success at the end" 1 "$(grep -c 'INFO recovered' "$file")"
	ends "written: suggest reads it" 0 "$file"
	has "written: the outage" "127.0.0.1:$port: 1 outage of" out
	lacks "written: its end was seen" "No end was seen" out
	{ outage db2:1 10:00:00 00:02; outage db2:1 11:00:00 00:05; } >>"$file"
	modelled "written: simulate reads it" 0
	has "written: the same outage" "Outages of $file: 1, the longest" out
	has "written: which of them is said" "only 127.0.0.1:$port is looked at" err
	modelled "written: of another destination" 0 --every 4s --dest db2:1
	has "written: those of that" "2, the longest 5s" out
	lacks "written: since its own first failure" "begin after the last" out
	modelled "written: of one that is not there" 1 --dest x:1
	has "written: which is said, too" "no failure of x:1" err
}

# modelled NAME STATUS OPTION...: "simulate" of $file
modelled() {
	modelled_name=$1 wanted=$2
	shift 2
	LIBRETRY_CONFIG=none "$LIBRETRY" simulate --timeline "$file" --requests 1000 --seeds 1 \
		--policy none "$@" >out 2>err
	is "$modelled_name" "$wanted" "$?"
}

words
log
open_ends
timeline
json
real
written
exit "$failed"
