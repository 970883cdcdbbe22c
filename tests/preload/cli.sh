#!/bin/bash
# SPDX-License-Identifier: MIT
# The command: run and check. Environment: LIBRETRY (the binary), LIBRETRY_SO
# (the library), TOP_SRCDIR, CC.
set -u

# shellcheck source=tests/preload/verdicts.sh
. "${0%/*}/verdicts.sh"

TOP_SRCDIR=$(cd "${TOP_SRCDIR:-.}" && pwd) || exit 99
CC=${CC:-gcc}
: "${LIBRETRY:=./libretry}" "${LIBRETRY_SO:=./libretry.so}"
LIBRETRY=$(cd "$(dirname "$LIBRETRY")" && pwd)/$(basename "$LIBRETRY")
LIBRETRY_SO=$(cd "$(dirname "$LIBRETRY_SO")" && pwd)/$(basename "$LIBRETRY_SO")
for file in "$LIBRETRY" "$LIBRETRY_SO"; do
	[ -r "$file" ] || { echo "not ok setup: $file is missing"; exit 99; }
done
so=$LIBRETRY_SO

# What the person who runs the tests has configured must not count.
for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
unset LD_PRELOAD
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
XDG_CONFIG_HOME=$tmp/xdg
export XDG_CONFIG_HOME
cd "$tmp" || exit 99

if [ -n "${SANITIZER_RUNTIME:-}" ]; then
	# A library with a sanitizer cannot be preloaded into programs without
	# one. How the command calls them can be seen with any other library.
	echo 'extern int libretry_stub; int libretry_stub;' >stub.c
	mkdir stub
	so=$tmp/stub/libretry.so
	$CC -shared -fPIC -o "$so" stub.c || { echo "not ok setup: $CC"; exit 99; }
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
	export ASAN_OPTIONS
fi

# lr ARG...: runs the command; $status, files out and err
lr() {
	"$LIBRETRY" "$@" >out 2>err </dev/null
	status=$?
}

run() { lr run --library "$so" "$@"; }

# ends NAME STATUS ARG...
ends() {
	wanted_name=$1 wanted=$2
	shift 2
	lr "$@"
	is "$wanted_name" "$wanted" "$status"
}

# ---------------------------------------------------------------- words --

words() {
	ends "no command is a usage error" 2
	is "usage goes to stderr" "" "$(<out)"
	ends "--help ends with 0" 0 --help
	has "--help names the commands" "check" out
	ends "--version ends with 0" 0 --version
	has "--version prints a version" "libretry " out
	ends "help of a command" 0 help run
	has "help run shows run's options" "--dry-run" out
	ends "run --help" 0 run --help
	ends "check --help" 0 check --help
	ends "an unknown command is a usage error" 2 chekc
	has "the nearest command is offered" 'did you mean "check"' err
	ends "an unknown option is a usage error" 2 --nope
	ends "help of an unknown command" 2 help nope
	if "$LIBRETRY" --version >/dev/full 2>err; then
		fail "a full disk is noticed" "status 0"
	else
		pass "a full disk is noticed"
	fi
}

# -------------------------------------------------------------- dry run --

# dry_preload NAME OLD EXPECTED: what LD_PRELOAD becomes. OLD comes in through
# sh, so that only the command's own loader complains of what it names.
dry_preload() {
	LD_PRELOAD=$2 "$LIBRETRY" run --library "$so" --dry-run prog >out 2>err
	is "$1" "LD_PRELOAD=$3 prog" "$(<out)"
}

dry_run() {
	run --dry-run prog a b
	is "dry run prints the command" "LD_PRELOAD=$so prog a b" "$(<out)"
	is "dry run ends with 0" 0 "$status"
	is "dry run says nothing else" "" "$(<err)"
	run -p patiant --dry-run prog
	has "a policy that does not exist is said" 'did you mean "patient"' err
	run --dry-run --inject connect:ECONNREFUSED:first=2 prog
	is "faults go to their variable" \
		"LD_PRELOAD=$so LIBRETRY_INJECT='connect:ECONNREFUSED:first=2' prog" "$(<out)"
	run --dry-run --inject conect:ECONNREFUSED prog
	has "a fault that makes no sense is said" 'did you mean "connect"' err
	is "and nothing is run without it" 125 "$status"
	run --dry-run --inject connect:ECONNREFUSED:ETIMEDOUT prog
	has "nor with two errors in one fault" "a second error" err
	is "that is a usage error, too" 125 "$status"
	run --dry-run --inject 1 prog
	is "the file's faults may be asked for" 0 "$status"
	run -l file:/nonexistent/log --dry-run prog
	has "a log that cannot be written is said" "nothing will be logged" err
	run -l "file:$PWD/new-log" --dry-run prog
	lacks "a log that can be made is fine" "nothing will be logged" err
	run --dry-run -- prog -p -c --dry-run
	is "options end at the program" "LD_PRELOAD=$so prog -p -c --dry-run" "$(<out)"
	# shellcheck disable=SC2016
	run --dry-run prog "it's" '' 'a b' 'x=1' '$HOME' '*'
	is "words are quoted" "LD_PRELOAD=$so prog 'it'\\''s' '' 'a b' 'x=1' '\$HOME' '*'" \
		"$(<out)"
	run --dry-run 'FOO=1'
	is "a program with = is no assignment" "LD_PRELOAD=$so 'FOO=1'" "$(<out)"

	# shellcheck disable=SC2016
	run --dry-run printf '%s|' "it's" '' 'a b' '$HOME' '`x`' 'back\slash' 'tab	'
	sed "s|^LD_PRELOAD=[^ ]* ||" out >word.sh
	is "a shell reads it back" "it's||a b|\$HOME|\`x\`|back\\slash|tab	|" "$(sh word.sh)"

	printf 'version = 1;\n' >good.conf
	run --dry-run -p patient -c good.conf -l file:retry.log prog
	is "settings are printed" "LD_PRELOAD=$so LIBRETRY_CONFIG=$tmp/good.conf \
LIBRETRY_POLICY=patient LIBRETRY_LOG=file:$tmp/retry.log prog" "$(<out)"
	is "and no warning" "" "$(<err)"
	run --dry-run -c none -v prog
	is "none stays none" \
		"LD_PRELOAD=$so LIBRETRY_CONFIG=none LIBRETRY_LOG_LEVEL=debug prog" "$(<out)"
	has "-v tells the library" "$so" err
	run --dry-run -c missing.conf prog
	has "a missing configuration is a warning" "warning: $tmp/missing.conf" err
	is "and no more" 0 "$status"
}

preload() {
	dry_preload "nothing was there" "" "$so"
	dry_preload "another one stays behind" "/x/a.so" "$so:/x/a.so"
	dry_preload "order is kept" "/x/b.so:/x/a.so" "$so:/x/b.so:/x/a.so"
	dry_preload "blanks separate too" "/x/b.so /x/a.so" "$so:/x/b.so:/x/a.so"
	dry_preload "empty parts vanish" " :/x/b.so::  /x/a.so:" "$so:/x/b.so:/x/a.so"
	dry_preload "twice is once" "$so" "$so"
	dry_preload "an older copy is replaced" "/x/a.so:/y/libretry.so:/x/b.so" \
		"$so:/x/a.so:/x/b.so"
	dry_preload "names that only look alike stay" "/x/liblibretry.so:/x/libretry.so.old" \
		"$so:/x/liblibretry.so:/x/libretry.so.old"
	dry_preload "duplicates of others are theirs" "a.so:a.so" "$so:a.so:a.so"
	dry_preload "sanitizers stay in front" "libasan.so.99:/x/a.so" "libasan.so.99:$so:/x/a.so"
	dry_preload "sanitizers behind others stay there" "/x/a.so:libasan.so.99" \
		"$so:/x/a.so:libasan.so.99"

	mkdir "a b" "a:b"
	cp "$so" "a b/libretry.so"
	cp "$so" "a:b/libretry.so"
	ends "a space in the path is refused" 125 run --library "a b/libretry.so" true
	has "and the reason told" "space" err
	ends "a colon in the path is refused" 125 run --library "a:b/libretry.so" true
	has "and that reason too" "colon" err
	ends "a missing library is an error" 125 run --library ./nolib.so true
	has "which names it" "nolib.so" err
	cp "$so" libretry.so
	lr run --library libretry.so --dry-run prog
	is "a relative library becomes absolute" "LD_PRELOAD=$tmp/libretry.so prog" "$(<out)"

	mkdir -p tree/bin tree/lib
	cp "$LIBRETRY" tree/bin/libretry
	cp "$so" tree/lib/libretry.so
	tree/bin/libretry run --dry-run prog >out 2>err
	is "an installed one is found" "LD_PRELOAD=$tmp/tree/lib/libretry.so prog" "$(<out)"
	cp "$so" tree/bin/libretry.so
	tree/bin/libretry run --dry-run prog >out 2>err
	is "one beside the command first" "LD_PRELOAD=$tmp/tree/bin/libretry.so prog" "$(<out)"
}

# ------------------------------------------------------------- run it --

running() {
	# shellcheck disable=SC2016
	run -p patient sh -c 'echo "$LD_PRELOAD $LIBRETRY_POLICY"; exit 7'
	is "the program's status comes back" 7 "$status"
	is "its environment is set" "$so patient" "$(<out)"
	is "nothing is said" "" "$(<err)"
	run sh -c 'grep -c libretry.so /proc/self/maps >/dev/null'
	is "the library is loaded" 0 "$status"
	# shellcheck disable=SC2016
	LD_PRELOAD=$so "$LIBRETRY" run --library "$so" sh -c 'echo "$LD_PRELOAD"' >out
	is "nested runs preload once" "$so" "$(<out)"
	ends "no program" 125 run
	ends "an unknown option" 125 run --nope true
	ends "an option without its value" 125 run -p
	run ./nosuchprogram
	is "not found" 127 "$status"
	has "not found is said" "nosuchprogram" err
	run nosuchprogram-in-path
	is "not in PATH" 127 "$status"
	echo hello >text
	run ./text
	is "not executable" 126 "$status"
	run "$tmp"
	is "a folder" 126 "$status"
	printf '#!/nosuchinterpreter\n' >badscript
	chmod +x badscript
	run ./badscript
	is "an interpreter that is missing" 127 "$status"
}

# ------------------------------------------------------------- warnings --

# warned NAME TEXT PROGRAM
warned() {
	run --dry-run "$3"
	has "$1" "libretry: warning: " err
	has "$1: the reason" "$2" err
	is "$1: one line" 1 "$(grep -c . err)"
	is "$1: not refused" 0 "$status"
}

silent() {
	run --dry-run "$2"
	is "$1" "" "$(<err)"
}

warnings() {
	echo 'int main(void) { return 5; }' >p.c
	$CC -o dynamic p.c || { fail "compile" "$CC does not work"; return; }
	silent "a dynamic program" ./dynamic
	silent "a program of PATH" sh
	silent "a program that does not exist" ./nosuchprogram
	if $CC -static -o static p.c 2>/dev/null; then
		warned "a static program" "static: statically linked" ./static
		run ./static
		is "a static program runs" 5 "$status"
		printf '#! %s/static -x\n' "$tmp" >script
		chmod +x script
		warned "a script for a static program" "$tmp/static: statically linked" ./script
		printf '#!%s/script\n' "$tmp" >script2
		chmod +x script2
		warned "a script for a script" "$tmp/static: statically linked" ./script2
		PATH=$tmp:$PATH "$LIBRETRY" run --library "$so" --dry-run static >out 2>err
		has "PATH is searched" "$tmp/static: statically linked" err
	else
		echo "skip static programs: no static C library"
	fi
	if $CC -static-pie -o staticpie p.c 2>/dev/null; then
		warned "a static position independent program" "statically linked" ./staticpie
	fi
	printf '#!/bin/sh\nexit 6\n' >plainscript
	chmod +x plainscript
	silent "a script for a dynamic program" ./plainscript
	run ./plainscript
	is "a script runs" 6 "$status"
	printf '#!%s/loop\n' "$tmp" >loop
	chmod +x loop
	silent "a script for itself" ./loop

	# To their owner they give no privilege, so the loader preloads for that one.
	cp dynamic setuid
	chmod u+s setuid
	silent "set-user-ID, for its owner" ./setuid
	cp dynamic setgid
	chmod g+s setgid
	silent "set-group-ID, for its group" ./setgid
	cp dynamic capable
	if [ "$(id -u)" -eq 0 ]; then
		chown 65534 setuid
		chmod u+s setuid
		warned "set-user-ID" "set-user-ID: the loader ignores preloads there" ./setuid
		chgrp 65534 setgid
		chmod g+s setgid
		warned "set-group-ID" "set-group-ID: the loader ignores preloads there" ./setgid
		if command -v setcap >/dev/null && setcap cap_net_raw+ep capable 2>/dev/null; then
			silent "file capabilities, for root" ./capable
		fi
	fi

	# The class byte of an ELF header: 32 bits where 64 are native, and back.
	class=$(od -An -tu1 -j4 -N1 dynamic | tr -d ' ')
	cp dynamic foreign
	case $class in 1) other='\002' ;; *) other='\001' ;; esac
	printf %b "$other" | dd of=foreign bs=1 seek=4 conv=notrunc 2>/dev/null
	warned "another class" "another architecture" ./foreign
	# The machine: 0xfffe is nobody's.
	cp dynamic machine
	printf '\376\377' | dd of=machine bs=1 seek=18 conv=notrunc 2>/dev/null
	warned "another machine" "another architecture" ./machine

	cat >go.c <<-'GO'
	__asm__(".section .note.go.buildid,\"a\",%note\n.balign 4\n.long 4,4,4\n"
	        ".ascii \"Go\\0\\0abcd\"\n.text");
	int main(void) { return 0; }
	GO
	if $CC -o go go.c 2>/dev/null; then
		warned "a Go program" "Go program" ./go
	fi

	printf '\177ELF' >stump
	chmod +x stump
	silent "a stump of a header" ./stump
	head -c 100 dynamic >halved
	chmod +x halved
	run --dry-run ./halved
	is "a file that is cut off" 0 "$status"
	: >empty
	chmod +x empty
	silent "an empty file" ./empty
}

# ------------------------------------------------------------- require --

# refused NAME REASON ARG...: run --require ends with 125 and starts nothing
refused() {
	name=$1 reason=$2
	shift 2
	run --require "$@"
	is "$name" 125 "$status"
	has "$name: the reason" "$reason" err
	has "$name: it is said" "is not started" err
	is "$name: nothing ran" "" "$(<out)"
}

require() {
	mkdir broken
	head -c 4096 "$so" >broken/libretry.so
	# shellcheck disable=SC2016
	run --require sh -c 'echo started; exit 3'
	is "--require starts what is covered" 3 "$status"
	is "--require says nothing then" "" "$(<err)"
	run --require ./nosuchprogram
	is "--require leaves what is not there to exec" 127 "$status"
	[ ! -x static ] || refused "--require and a static program" "statically linked" ./static
	refused "--require and a damaged library" "cannot use libretry.so" \
		--library "$tmp/broken/libretry.so" echo started
	printf '#!/usr/bin/env -S -i sh\necho started\n' >cleared
	chmod +x cleared
	refused "--require and a cleared environment" "clears the environment" ./cleared
	LIBRETRY_DISABLE=1 "$LIBRETRY" run --require --library "$so" echo started >out 2>err
	is "--require and LIBRETRY_DISABLE" 125 $?
	has "--require and LIBRETRY_DISABLE: the reason" "LIBRETRY_DISABLE is set" err
	printf 'version = 1;\nprograms = ( { exe = ["cat"]; enabled = false; } );\n' >notcat.conf
	refused "--require and a program that is switched off" "notcat.conf:2" -c notcat.conf cat notcat.conf
	run --require -c notcat.conf echo started
	is "--require and another program" "started" "$(<out)"
	run --require --dry-run ./go
	is "--require lets what is partly covered go" 0 "$status"
}

# --------------------------------------------------------------- check --

check() {
	cat >clean.conf <<-'CONF'
	version = 1;
	policies: { db = { max_attempts = 4; base_delay = "10ms"; max_delay = "20ms";
	                   jitter = "full"; }; };
	destinations = (
	  { name = "orders"; host = "db*.example"; port = "5432,6000-6010"; policy = "db"; },
	  { name = "sock"; unix = "/run/x/*.sock"; policy = "off"; }
	);
	CONF
	ends "a clean file" 0 check clean.conf
	has "its rules have their lines" "clean.conf:5" out
	has "their names" "orders" out
	has "and conditions" "host=db*.example port=5432,6000-6010" out
	has "the last resort is shown" "everything else" out
	lacks "no fault is shown" "error" out
	# 10ms, 20ms, and 20ms under the cap.
	has "the longest wait is summed up" "50ms" out
	ends "quiet" 0 check -q clean.conf
	is "quiet says nothing" "" "$(cat out err)"

	printf 'version = 1;\nlog: { per = "100"; };\npolicies: { a = { base_delay = "x"; }; };\n' \
		>bad.conf
	ends "errors" 2 check bad.conf
	has "the first has its line" "bad.conf:2: " out
	has "the second too" "bad.conf:3: " out
	has "and what would happen is told" "2 errors: the built-in policy would be used" out
	lacks "no table for a bad file" "WORST-WAIT" out
	ends "errors, quiet" 2 check --quiet bad.conf
	is "quiet prints just the faults" 2 "$(grep -c '^bad.conf:' out)"

	printf 'version = 1;\npolicies: { a = { max_atempts = 3; }; };\n' >unknown.conf
	ends "an unknown key" 2 check unknown.conf
	has "an unknown key has its line" "unknown.conf:2: " out
	has "the nearest key is offered" 'max_attempts' out

	printf 'version = 1;\npolicies: { a = { deadline = "none"; max_attempts = 20; }; };\n' \
		>warn.conf
	ends "a warning" 1 check warn.conf
	has "a warning is marked" "warn.conf:2: warning: " out
	ends "a warning with --strict" 2 check --strict warn.conf

	printf 'version = 1;\npolicies: { a = { \n' >syntax.conf
	ends "a syntax error" 2 check syntax.conf
	ends "a missing file" 3 check nosuch.conf
	has "a missing file is named" "nosuch.conf" out
	ends "a folder" 3 check "$tmp"
	mkfifo fifo
	ends "a FIFO does not hang" 3 check fifo
	if [ "$(id -u)" -ne 0 ]; then
		cp clean.conf secret.conf
		chmod 0 secret.conf
		ends "an unreadable file" 3 check secret.conf
	fi
	ends "an unknown option of check" 2 check --nope
	is "usage of check goes to stderr" "" "$(<out)"
	ends "two files" 2 check clean.conf bad.conf
	if "$LIBRETRY" check clean.conf >/dev/full 2>err; then
		fail "check notices a full disk" "status 0"
	else
		pass "check notices a full disk"
	fi
}

choice() {
	LIBRETRY_CONFIG=$tmp/clean.conf "$LIBRETRY" check >out 2>err
	has "LIBRETRY_CONFIG is the file" "$tmp/clean.conf (named by LIBRETRY_CONFIG)" out
	LIBRETRY_CONFIG=$tmp/nosuch.conf "$LIBRETRY" check >out 2>err
	is "LIBRETRY_CONFIG that is missing" 3 $?
	LIBRETRY_CONFIG=none "$LIBRETRY" check >out 2>err
	is "none is clean" 0 $?
	has "none is told" "LIBRETRY_CONFIG=none" out
	mkdir -p xdg/libretry/conf.d
	cp clean.conf xdg/libretry/libretry.conf
	printf 'version = 1;\ndestinations = (\n  { name = "dropped"; host = "drop.example"; policy = "off"; }\n);\n' \
		>xdg/libretry/conf.d/drop.conf
	ends "the user's own file" 0 check
	has "the user's own file is told" "xdg/libretry/libretry.conf (the user's own file)" out
	has "drop-ins are told" "with $tmp/xdg/libretry/conf.d/drop.conf" out
	has "a rule of a drop-in has its line" "conf.d/drop.conf:3" out
	printf 'version = 1;\ndestinations = (\n  { host = "x"; policy = "nosuch"; }\n);\n' \
		>xdg/libretry/conf.d/wrong.conf
	ends "a fault in a drop-in" 2 check
	has "a fault in a drop-in has its line" "conf.d/wrong.conf:3: " out
	rm -r xdg

	LIBRETRY_BASE_DELAY=1ms "$LIBRETRY" check clean.conf >out 2>err
	is "an override is clean" 0 $?
	has "an override is shown with its source" "base_delay=1ms (LIBRETRY_BASE_DELAY)" out
	LIBRETRY_BASE_DELAY=soon "$LIBRETRY" check clean.conf >out 2>err
	is "a wrong override is not clean" 1 "$(($? > 0))"
	has "a wrong override is named" "LIBRETRY_BASE_DELAY" out
	lacks "and not shown as in force" "base_delay=soon" out
}

faults() {
	cat >faults.conf <<-'C'
	version = 1;
	inject = { enabled = true; faults = (
	  { call = "connect"; port = "5432"; error = "ETIMEDOUT"; first = 2; },
	  { call = "send"; unix = "*"; short_write = 1; probability = 0.25; }
	); };
	C
	ends "faults are no fault" 0 check faults.conf
	has "faults are shown with their line" "faults.conf:3  connect  ETIMEDOUT" out
	has "faults: when and where" "probability=0.25  unix=*" out
	has "faults are not in force by themselves" "not injected" out
	LIBRETRY_INJECT=1 "$LIBRETRY" check faults.conf >out
	has "faults in force" "injected faults:" out
	lacks "faults in force are in force" "not injected" out
	LIBRETRY_INJECT=send:reset:every=3 "$LIBRETRY" check faults.conf >out
	has "faults of the variable" "LIBRETRY_INJECT:1  send  reset   every=3" out
	lacks "instead of the file's" "ETIMEDOUT" out
	LIBRETRY_INJECT=send:ENOENT "$LIBRETRY" check faults.conf >out
	is "a wrong fault is a warning" 1 $?
	has "and says why" "ENOENT: send does not return it" out
	lr check clean.conf
	lacks "without faults there is no table of them" "injected" out
}

json() {
	command -v python3 >/dev/null || { echo "skip json: no python3"; return; }
	cat >read.py <<-'PY'
	import json, sys
	d = json.load(open("out"))
	print(eval(sys.argv[1]))
	PY
	lr check --json clean.conf
	is "json: rules" "['orders', 'sock', None]" \
		"$(python3 read.py '[r["name"] for r in d["rules"]]')"
	is "json: line" "5" "$(python3 read.py 'd["rules"][0]["line"]')"
	is "json: durations as in the file" "10ms" "$(python3 read.py 'd["rules"][0]["base_delay"]')"
	is "json: usable" "True" "$(python3 read.py 'd["usable"]')"
	LIBRETRY_INJECT=1 "$LIBRETRY" check --json faults.conf >out
	is "json: injected" "(True, ['ETIMEDOUT', 'short_write=1'])" \
		"$(python3 read.py 'd["inject"], [x["effect"] for x in d["faults"]]')"
	lr check --json bad.conf
	is "json: errors" "2" "$(python3 read.py 'd["errors"]')"
	is "json: faults" "[2, 3]" "$(python3 read.py '[x["line"] for x in d["diagnostics"]]')"
	is "json: status" "2" "$(python3 read.py 'd["exit_status"]')"
	is "json: the same status" 2 "$status"
	lr check --json nosuch.conf
	is "json: unreadable" "False" "$(python3 read.py 'd["usable"]')"
	lr check --json --quiet clean.conf
	is "json: quiet" "False" "$(python3 read.py '"rules" in d')"
	printf 'version = 1;\nlog: { to = "a\033\\"b"; };\n' >escape.conf
	lr check --json escape.conf
	is "json: hostile bytes" "dict" "$(python3 read.py 'type(d).__name__')"
	lr check escape.conf
	lacks "hostile bytes do not reach the terminal" "$(printf '\033')" out
}

shipped() {
	for conf in "$TOP_SRCDIR"/conf/libretry.conf "$TOP_SRCDIR"/conf/examples/*.conf; do
		[ -e "$conf" ] || { fail "shipped files" "$conf is missing"; continue; }
		ends "shipped: ${conf#"$TOP_SRCDIR"/}" 0 check "$conf"
	done
}

words
dry_run
preload
running
warnings
require
check
choice
faults
json
shipped
exit "$failed"
