#!/bin/bash
# SPDX-License-Identifier: MIT
# The command: simulate. Environment: LIBRETRY (the binary), TOP_SRCDIR.
set -u

# shellcheck source=tests/preload/verdicts.sh
. "${0%/*}/verdicts.sh"

TOP_SRCDIR=$(cd "${TOP_SRCDIR:-.}" && pwd) || exit 99
: "${LIBRETRY:=./libretry}"
LIBRETRY=$(cd "$(dirname "$LIBRETRY")" && pwd)/$(basename "$LIBRETRY")
[ -x "$LIBRETRY" ] || { echo "not ok setup: $LIBRETRY is missing"; exit 99; }
for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
unset LD_PRELOAD
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
XDG_CONFIG_HOME=$tmp/xdg
export XDG_CONFIG_HOME
cd "$tmp" || exit 99
timeline=$TOP_SRCDIR/conf/examples/outages.txt

# sim ARG...: runs the command; $status, files out and err
sim() {
	"$LIBRETRY" simulate "$@" >out 2>err </dev/null
	status=$?
}

# refused NAME TEXT ARG...: exit status 2 and TEXT on stderr, nothing on stdout
refused() {
	refused_name=$1 refused_text=$2
	shift 2
	sim "$@"
	is "$refused_name: status" 2 "$status"
	has "$refused_name: message" "$refused_text" err
	is "$refused_name: no output" "" "$(<out)"
}

# value POLICY MEMBER: from the JSON in out
value() {
	while IFS= read -r line; do
		[[ $line != *"{\"policy\": \"$1\","*" \"$2\": "* ]] || {
			line=${line##* \""$2"\": }
			echo "${line%%[,\}]*}"
		}
	done <out
}

# between NAME LOW HIGH VALUE
between() {
	if awk -v v="${4:-none}" -v low="$2" -v high="$3" \
		'BEGIN { exit !(v != "none" && v != "null" && v + 0 >= low && v + 0 <= high) }'; then
		pass "$1"
	else
		fail "$1" "<$4> is not from $2 to $3"
	fi
}

usual() {
	sim --seeds 4
	is "as it is: status" 0 "$status"
	has "as it is: table" "SUCCESS %" out
	has "as it is: no retry is there" "none " out
	has "as it is: the answer" "% of requests succeed" out
	has "as it is: what it costs" "points more than with none, for" out
	is "as it is: nothing on stderr" "" "$(<err)"
	is "no blanks at ends of lines" "" "$(grep -n ' $' out)"
	cp out first
	sim --seeds 4
	if cmp -s first out; then pass "the same again"; else fail "the same again" "differs"; fi
	sim --seeds 4 --seed 1
	if cmp -s first out; then fail "another seed" "no difference"; else pass "another seed"; fi
	sim --seeds 1
	has "one run says so" "One run only" out
	sim --help
	is "--help: status" 0 "$status"
}

json() {
	sim --timeline "$timeline" --policy seed,default --seeds 10 --json
	is "json: status" 0 "$status"
	is "json: an array" "[" "$(head -n 1 out)"
	is "json: its end" "]" "$(tail -n 1 out)"
	for member in success attempts mean_ms p50_ms p95_ms p99_ms failures peak_per_s wasted; do
		[ "$(value default "$member")" ] || fail "json: $member" "missing"
	done
	between "true timeline: none" 0.886 0.891 "$(value none success)"
	between "true timeline: fixed" 0.9937 0.9947 "$(value fixed-100ms success)"
	between "true timeline: backoff" 0.9883 0.9913 "$(value backoff-40ms success)"
	between "true timeline: default" 0.9998 1 "$(value default success)"
	between "true timeline: p95 of fixed" 260 260 "$(value fixed-100ms p95_ms)"
	between "true timeline: p95 of backoff" 188 198 "$(value backoff-40ms p95_ms)"
	between "true timeline: attempts of default" 1.18 1.19 "$(value default attempts)"
	between "true timeline: wasted by none" 1000 1050 "$(value none wasted)"
	command -v python3 >/dev/null || { echo "skip json: no python3"; return; }
	is "json: as a program sees it" "4 policy,success,attempts,mean_ms,p50_ms,p95_ms,p99_ms,\
failures,peak_per_s,wasted" "$(python3 -c 'import json, sys
rows = json.load(sys.stdin)
print(len(rows), ",".join(rows[0]))' <out)"
}

# The published script, as it was: its loop with the cursor.
script='
import random, sys
random.seed(int(sys.argv[1]))
t, outages = 0.0, []
for _ in range(300):
    t += random.expovariate(1 / 2000.0)
    outages.append((t, t + random.uniform(50, 500)))
def run(attempts, delay):
    cursor, made, took = 0, 0, []
    for k in range(10000):
        at = 5.0 * k
        for a in range(1, attempts + 1):
            made += 1
            while cursor < 300 and outages[cursor][1] <= at:
                cursor += 1
            down = cursor < 300 and outages[cursor][0] <= at
            failed = down or random.random() < 0.01
            at += 20.0
            if not failed:
                took.append(at - 5.0 * k)
                break
            if a < attempts:
                at += delay(a)
    took.sort()
    print("%.4f %.4f %.3f %.3f" % (len(took) / 10000, made / 10000, sum(took) / len(took),
                                   took[int(0.95 * len(took))]))
run(1, None)
run(4, lambda a: 100.0)
run(4, lambda a: 40 * 2 ** (a - 1) * random.uniform(0.5, 1.5))
'

published() {
	sim --legacy-cursor
	is "published run: status" 0 "$status"
	has "published run: none" "none          88.86      1.000     20.00    20" out
	has "published run: fixed" "fixed-100ms   99.69      1.023     21.70    20" out
	has "published run: backoff" "backoff-40ms  99.88      1.020     21.26    20" out
	has "published run: the mistake" "a cursor that only moves forward" out
	has "published run: the truth" "The order turns round: fixed-100ms succeeds more often" out
	command -v python3 >/dev/null || { echo "skip published run: no python3"; return; }
	for seed in 42 7 123456789012; do
		sim --legacy-cursor --json --seed "$seed"
		for policy in none fixed-100ms backoff-40ms; do
			printf '%.4f %.4f %.3f %.3f\n' "$(value $policy success)" \
				"$(value $policy attempts)" "$(value $policy mean_ms)" \
				"$(value $policy p95_ms)"
		done >ours
		is "published run: as the script with seed $seed" \
			"$(python3 -c "$script" "$seed")" "$(<ours)"
	done
}

policies() {
	cat >own.conf <<-'END'
		version = 1;
		policies = { db = { base_delay = "20ms"; max_attempts = 9; deadline = "none"; }; };
	END
	sim -c own.conf -p none,db -p 'mine=base:20ms,attempts:9,deadline:none' --seeds 2 --json
	is "policy of the configuration and the same described" "$(value db success)" \
		"$(value mine success)"
	between "it retries" 1.1 2 "$(value db attempts)"
	LIBRETRY_CONFIG=own.conf "$LIBRETRY" simulate -p db --seeds 1 --json >out 2>err
	between "LIBRETRY_CONFIG" 1.1 2 "$(value db attempts)"
	sim -p default --seeds 1 --error EACCES
	has "an error that is not retried" "default does not retry EACCES" out
	refused "unknown policy" 'did you mean "default"?' -p defualt
	refused "policy: unknown key" 'did you mean "base"?' -p x=bas:1s
	refused "policy: no unit" 'write "40ms"' -p x=base:40
	printf 'version = 1;\npolicies = { x = { base_delay = 5; }; };\n' >bad.conf
	refused "configuration with an error" "bad.conf:2" -c bad.conf
	sim -c missing.conf
	is "no configuration: status" 1 "$status"
}

options() {
	refused "unknown option" "Try" --nonsense
	refused "an argument" "only options are expected" file
	refused "requests" "1 to 10000000" --requests 0
	refused "every" "has no unit" --every 5
	refused "fail" "0% to 100%" --fail 101%
	refused "error" "a name of errno" --error EFOO
	refused "world" "outage, overload, contention, herd, budget" --world mars
	refused "poisson" "poisson:GAP,MIN-MAX" --timeline poisson:2s
	refused "span" "FROM-TO" --world overload --down 5s
	refused "option of another world" "--world outage" --world herd --timeline "$timeline"
	refused "legacy with others" "does not go with" --legacy-cursor --requests 5
	sim --timeline missing
	is "no timeline: status" 1 "$status"
	has "no timeline: message" "missing: cannot be opened" err
	printf '1s 2s\n5s\n' >bad
	sim --timeline bad
	has "bad timeline: its line" "bad: line 2: two times are expected" err
	sim --timeline "$timeline" --requests 100 --seeds 1
	has "timeline beyond the requests" "begin after the last request" out
	sim --timeline poisson:24h,1s-2s --requests 10 --seeds 2
	has "no outage" "is never down" out
	sim --seeds 1 --svg /nowhere/x.svg
	is "picture that cannot be written: status" 1 "$status"
	has "picture that cannot be written: message" "/nowhere/x.svg" err
}

pictures() {
	sim --seeds 2 -p 'none,default,a<b=base:20ms' --svg curves.svg
	is "picture: status" 0 "$status"
	has "picture: its title" "Success against attempts" curves.svg
	has "picture: load" "Attempts per second" curves.svg
	has "picture: names are escaped" "a&lt;b" curves.svg
	sim --world herd --clients 100 --svg herd.svg
	has "picture of the herd" "decorrelated" herd.svg
	sim --world overload --seeds 1 --svg overload.svg
	has "picture of the overload" "the server is down" overload.svg
	command -v xmllint >/dev/null || { echo "skip xml: no xmllint"; return; }
	for file in curves.svg herd.svg overload.svg; do
		if xmllint --noout "$file" 2>err; then
			pass "$file is XML"
		else
			fail "$file is XML" "$(<err)"
		fi
	done
}

worlds() {
	sim --world herd --clients 1000 --json
	between "herd: full" 41 47 "$(value full peak_window)"
	between "herd: none" 1000 1000 "$(value no-jitter peak_window)"
	sim --world contention --clients 50 --json
	between "contention: full" 330 337 "$(value full calls)"
	between "contention: decorrelated" 366 384 "$(value decorrelated calls)"
	sim --world contention --clients 50 --seeds 5 -p 'none,limited=attempts:2' --json
	between "contention: who may try once" 0.01 0.6 "$(value none success)"
	sim --world budget --json
	has "budget: total failure" '"policy": "retries 3", "fail": 1, "success": 0, "attempts": 4,' \
		out
	sim --world budget --fail 0.1
	is "budget: one share" 1 "$(grep -c '^10 %' out)"
	sim --world overload --seeds 2 --json -p none,fixed-100ms
	between "overload: none" 0.86 0.89 "$(value none success)"
	between "overload: what retries cost" 1.2 1.6 "$(value fixed-100ms attempts)"
	sim --world overload --seeds 2 --json -p fixed-100ms --shared
	between "overload: one budget for all" 1 1.1 "$(value fixed-100ms attempts)"
	sim --world overload --seeds 1 --json -p independent,coordinated --hosts 10
	is "recovery: status" 0 "$status"
	between "recovery: backoff alone never" 20000 26000 "$(value independent wasted)"
	is "recovery: backoff alone has none" null "$(value independent recovery_s)"
	between "recovery: knocks of ten hosts" 80 250 "$(value coordinated wasted)"
	between "recovery: their peak" 10 80 "$(value coordinated knock_peak_per_s)"
	between "recovery: it is quick" 0 0.6 "$(value coordinated recovery_s)"
	between "recovery: and lasts" 0 1 "$(value coordinated bad_s)"
	between "recovery: calls" 0.995 1 "$(value coordinated success)"
	cat >pace.conf <<-'END'
		version = 1;
		policies = { paced = { coordinate = true; max_attempts = 100; }; };
	END
	sim --world overload --seeds 1 --json -c pace.conf -p paced --hosts 1
	between "recovery: a policy of the configuration" 8 32 "$(value paced wasted)"
	sim --world overload --seeds 1 -p all-at-once,short=inherit:coordinated,deadline:10s --shared
	has "recovery: one for all" "coordination: one for all clients" out
	has "recovery: a word is inherited" "short        9" out
	refused "hosts: more than clients" "more than there are clients" --world overload \
		--clients 5 --hosts 6
	refused "hosts and shared" "one of them" --world overload --shared --hosts 6
	is "overload: a run without an outage" 1 "$(sim --world overload --seeds 1 -p none \
		--down 0s-0s --json; value none success)"
}

usual
json
published
policies
options
pictures
worlds
exit "$failed"
