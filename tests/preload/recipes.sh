#!/bin/bash
# SPDX-License-Identifier: MIT
# recipes.sh: every configuration of libretry-recipes(7) is clean, and says what the
# recipe promises. Environment: LIBRETRY (the binary), TOP_SRCDIR.
set -u

: "${LIBRETRY:=./libretry}" "${TOP_SRCDIR:=.}"
page=$TOP_SRCDIR/man/libretry-recipes.7
for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	[ "$name" = LIBRETRY_SO ] || unset "$name"
done
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0

check() # NAME WHY-NOT ("" = ok)
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $2"
		failed=1
	fi
}

# The files, named after their sections: "Kubernetes DNS" is kubernetes-dns.
awk -v dir="$dir" '
	/^\.Ss / {
		name = tolower(substr($0, 5))
		gsub(/[^a-z]+/, "-", name)
		sections[++count] = name
	}
	/^\.Ed/ { file = "" }
	file { gsub(/\\&/, ""); gsub(/\\e/, "\\"); print >file }
	begun && /^version = 1;/ { file = dir "/" name ".conf"; print >file }
	{ begun = /^\.Bd -literal/ }
	END { for (i = 1; i <= count; i++) print sections[i] >(dir "/sections") }' "$page"

while read -r section; do
	file=$dir/$section.conf
	if [ ! -e "$file" ]; then
		check "$section: has a configuration" "none"
		continue
	fi
	faults=$("$LIBRETRY" check --strict -q "$file" 2>&1 | grep -v ': note: \|notes\{0,1\}: the file')
	check "$section: is clean" "$faults"
done <"$dir/sections"

# says SECTION OPERATION DESTINATION ERROR POLICY [TEXT]: explain says so
says()
{
	local section=$1 got text why=

	got=$(LIBRETRY_CONFIG=$dir/$section.conf "$LIBRETRY" explain --op "$2" --error "$4" "$3" 2>&1)
	for text in "^policy: $5," "${6:-}"; do
		grep -q -e "$text" <<<"$got" || why="$why <$text> is not in <$(head -n 5 <<<"$got")>"
	done
	check "$section: $2 $3, $4" "$why"
}

says database-start-order lookup db:5432 EAI_NONAME start 'EAI_NONAME is retried'
says database-start-order connect db.example.net:5432 ECONNREFUSED start 'is retried'
says kubernetes-dns lookup api.shop.svc.cluster.local EAI_AGAIN dns '(dns_attempt_timeout)'
says ssh-to-hosts-that-reboot connect web1.lab.example.net:22 ECONNREFUSED reboot 'attempt_timeout ends'
says git-and-package-managers connect git.example.net:80 ECONNREFUSED mirror 'is retried'
says statsd send statsd.example.net:8125 ECONNREFUSED off 'is not retried'
says servers-with-many-workers connect 10.20.1.2:8001 ECONNREFUSED upstream 'coordinate: true'
says cron-jobs-and-nightly-reports connect a.dwh.example.net:1433 ETIMEDOUT nightly 'is retried'
says health-probes connect 127.0.0.1:9090 ECONNREFUSED off 'is not retried'
says health-probes connect app.example.net:8081 ECONNREFUSED off 'is not retried'

# Log lines are shown with policies of the page or built-in ones.
policies=$(cat "$dir"/*.conf | sed -n 's/^  \([a-z]*\) = {.*/\1/p')
strange=$(sed -n 's/^\(WARN\|INFO\) .*policy=\([a-z]*\).*/\2/p' "$page" |
	grep -vxF -e default -e off -e "$policies" | tr '\n' ' ')
check "policies of the log lines" "$strange"

# Commands that are shown: their options exist. Nothing is run.
while read -r line; do
	[[ $line == *" run "* ]] || continue
	read -r -a words <<<"${line#*libretry run }"
	why=$("$LIBRETRY" run --library "${LIBRETRY_SO:-/dev/null}" --dry-run "${words[@]}" 2>&1 >/dev/null |
		grep -E 'unrecognized|invalid|requires|inject')
	check "command: $line" "$why"
done < <(sed -n 's/^\(\$ \|[0-9* ]*  \)\(libretry .*\)/\2/p' "$page")
exit $failed
