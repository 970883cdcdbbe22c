#!/bin/bash
# SPDX-License-Identifier: MIT
# doctor: its verdicts against the truth. Real programs run under "libretry run" and
# print their own /proc/self/maps; whether libretry.so is in there decides.
# Environment: LIBRETRY (the binary), LIBRETRY_SO (the library), TOP_SRCDIR, CC.
set -u

# shellcheck source=tests/preload/verdicts.sh
. "${0%/*}/verdicts.sh"

TOP_SRCDIR=$(cd "${TOP_SRCDIR:-.}" && pwd) || exit 99
CC=${CC:-gcc}
: "${LIBRETRY:=./libretry}" "${LIBRETRY_SO:=./libretry.so}"
for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	[ "$name" = LIBRETRY_SO ] || unset "$name"
done
unset LD_PRELOAD LD_LIBRARY_PATH
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
# Other users look in here too, and not into the build tree.
mkdir "$tmp/lib" && chmod 755 "$tmp" && cp "$LIBRETRY" "$tmp/libretry" || exit 99
so=$tmp/lib/libretry.so
if [ -n "${SANITIZER_RUNTIME:-}" ]; then
	# A library with a sanitizer needs its runtime in the program. Whether a
	# library is mapped can be seen with any other.
	echo 'extern int libretry_stub; int libretry_stub;' >"$tmp/stub.c"
	$CC -shared -fPIC -Wl,--build-id -o "$so" "$tmp/stub.c" || exit 99
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
	export ASAN_OPTIONS
else
	cp "$LIBRETRY_SO" "$so" || exit 99
fi
lr=$tmp/libretry
XDG_CONFIG_HOME=$tmp/xdg
export XDG_CONFIG_HOME
PATH=$PATH:/usr/sbin:/sbin
cd "$tmp" || exit 99

skip() { echo "skip $1: $2"; }
# Words that go in front of a program: another user, for one.
as=

# judge NAME VERDICT REASON ARG...: the doctor's verdict (word and status) and one of
# its reasons ("" for none that is asked for); its output stays in the file out
judge() {
	name=$1 verdict=$2 reason=$3
	shift 3
	$as "$lr" doctor --library "$so" "$@" >out 2>err </dev/null
	status=$?
	case $verdict in
	covered) want=0 ;;
	partly) want=1 ;;
	not-covered) want=3 ;;
	*) want=4 ;;
	esac
	read -r word <out || word=unknown
	word=${word%%:*}
	is "$name: verdict" "$verdict" "$word"
	is "$name: status" "$want" "$status"
	[ -z "$reason" ] || has "$name: reason" "  $reason: " out
	[ -z "$reason" ] || judged="$judged $reason"
}
judged=

# agree NAME VERDICT REASON PROGRAM [ARG...]: PROGRAM prints its maps
agree() {
	judge "$1" "$2" "$3" "$4"
	# What is true does not depend on how the doctor was built.
	[ -z "${SANITIZED:-}" ] || return 0
	name=$1 verdict=$2
	shift 3
	$as "$lr" run --library "$so" "$@" >maps 2>err </dev/null
	if ! grep -q ' r-xp ' maps; then
		fail "$name: truth" "no maps were printed: $(head -c 300 err)"
	elif grep -q '/libretry\.so' maps; then
		[ "$verdict" != not-covered ]
		is "$name: it is mapped" 0 $?
	else
		is "$name: it is not mapped" not-covered "$verdict"
	fi
}

# ------------------------------------------------------------ programs --

cat >probe.c <<'C'
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");

	if (argc > 1 && strcmp(argv[1], "hold") == 0) {
		if (write(1, "ready\n", 6) != 6)
			return 1;
		return read(0, line, 1) < 0;
	}
	while (maps && fgets(line, sizeof(line), maps))
		fputs(line, stdout);
	if (argc > 100)
		return connect(0, 0, 0) + getaddrinfo(0, 0, 0, 0) + poll(0, 0, 0) +
		       (int)send(0, 0, 0, 0);
	return 0;
}
C
$CC -o probe probe.c || { echo "not ok setup: $CC"; exit 99; }

kinds() {
	agree "a dynamic program" covered "" ./probe
	lacks "a dynamic program lacks nothing" "What is missing" out
	if $CC -no-pie -fno-pie -o nopie probe.c 2>/dev/null; then
		agree "a program at a fixed place" covered "" ./nopie
		lacks "which is told" "position independent" out
	fi
	if $CC -static -o static probe.c 2>/dev/null; then
		agree "a static program" not-covered static ./static
	else
		skip "a static program" "no static C library"
	fi
	if $CC -static-pie -o staticpie probe.c 2>/dev/null; then
		agree "a static position independent one" not-covered static ./staticpie
	fi
	if command -v musl-gcc >/dev/null; then
		# With a preload that needs glibc it does not even start.
		musl-gcc -o musl probe.c
		judge "a program for musl" not-covered other-libc ./musl
		"$lr" run --library "$so" ./musl >maps 2>err
		has "a program for musl: run starts it" "libc.so" maps
		lacks "a program for musl: it is not mapped" "/libretry.so" maps
		has "a program for musl: run says so" "(it uses musl)" err
	else
		# Not run: its loader is not there. What libretry.so needs, it lacks.
		skip "a program for musl" "no musl-gcc"
		$CC -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl probe.c &&
			judge "a program with musl's loader" not-covered other-libc ./musl
	fi
	# Which C library is right follows from the library's own.
	echo 'int unused;' >unused.c
	$CC -shared -nostdlib -Wl,-soname,libc.musl-x86_64.so.1 -o libc.musl.so unused.c &&
		$CC -shared -nostdlib -Wl,--no-as-needed -o formusl.so unused.c libc.musl.so || exit 99
	"$lr" doctor --library ./formusl.so ./musl >out 2>&1
	lacks "a library for musl is right for a program for musl" "another C library" out
	"$lr" doctor --library ./formusl.so ./probe >out 2>&1
	has "and wrong for one for glibc" "another C library than libretry.so, and would fail to start with it (it uses glibc)" out
	"$lr" run --library ./formusl.so --dry-run ./probe >out 2>err
	lacks "which run does not preload" "LD_PRELOAD" out
	if ! $CC -m32 -o small probe.c 2>/dev/null; then
		skip "a program of 32 bits" "$CC -m32 does not work"
	elif ./small >/dev/null 2>&1; then
		agree "a program of 32 bits" not-covered architecture ./small
	else
		judge "a program of 32 bits" not-covered architecture ./small
	fi
	cp probe foreign
	printf '\267\000' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
	[ "$(uname -m)" = aarch64 ] ||
		judge "a program for aarch64" not-covered architecture ./foreign
	head -c 100 probe >halved
	chmod +x halved
	judge "a file that is cut off" not-covered damaged ./halved
}

golang() {
	real=
	for name in terraform docker kubectl hugo rclone; do
		real=$(command -v $name) && break
	done
	if command -v go >/dev/null; then
		cat >maps.go <<-'GO'
		package main
		import ("fmt"; "os")
		func main() { b, _ := os.ReadFile("/proc/self/maps"); fmt.Print(string(b)) }
		GO
		CGO_ENABLED=0 go build -o gostatic maps.go &&
			agree "a Go program" not-covered static ./gostatic
	elif [ -n "$real" ]; then
		judge "a Go program ($real)" not-covered static "$real"
		has "which is told" "(a Go program)" out
	else
		skip "a real Go program" "none is here"
	fi
	command -v objcopy >/dev/null || { skip "crafted Go programs" "no objcopy"; return; }
	echo marks >section
	for from in probe static; do
		[ -x $from ] || continue
		objcopy --add-section .go.buildinfo=section \
			--set-section-flags .go.buildinfo=alloc,readonly,data \
			$from go-$from 2>/dev/null
	done
	agree "a dynamic Go program" partly go ./go-probe
	[ ! -x go-static ] || agree "a static Go program" not-covered static ./go-static
}

privileges() {
	cp probe own
	chmod u+s own
	agree "set-user-ID, for its owner" covered set-user-id-own ./own
	if [ "$(id -u)" -ne 0 ]; then
		skip "privileges" "not root"
		return
	fi
	cp probe suid
	chown 65534 suid
	chmod 4755 suid
	agree "set-user-ID of another user" not-covered set-user-id ./suid
	cp probe sgid
	chgrp 65534 sgid
	chmod 2755 sgid
	agree "set-group-ID of another group" not-covered set-group-id ./sgid
	chmod 2745 sgid
	agree "set-group-ID without the right to execute" covered "" ./sgid
	cp probe capable
	setcap cap_net_raw+ep capable 2>/dev/null || rm capable
	[ ! -x capable ] ||
		agree "file capabilities, for root" covered file-capabilities-root ./capable
	command -v setpriv >/dev/null || { skip "other users" "no setpriv"; return; }
	chmod 755 own
	chmod u+s own
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	if ! $as "$lr" --version >/dev/null 2>&1; then
		as=
		skip "other users" "they cannot look into $tmp"
		return
	fi
	agree "another user, no privileges" covered "" ./probe
	agree "another user, set-user-ID root" not-covered set-user-id ./own
	[ ! -x capable ] || agree "another user, file capabilities" not-covered \
		file-capabilities ./capable
	as="$as --no-new-privs"
	agree "no_new_privs makes set-user-ID void" covered privileges-void ./own
	# Those are taken away, and the loader is told of them all the same.
	[ ! -x capable ] || agree "but not file capabilities" not-covered \
		file-capabilities ./capable
	as=
}

# script NAME FIRST-LINE: a script that prints its maps
script() {
	printf '%s\n' "$2" >"$1"
	# shellcheck disable=SC2016
	echo 'while read -r line; do echo "$line"; done </proc/$$/maps' >>"$1"
	chmod +x "$1"
}

scripts() {
	script script1 '#!/bin/sh'
	agree "a shell script" covered launcher ./script1
	has "a script is named" "which runs the script ./script1" out
	script script2 '#! /usr/bin/env sh'
	agree "a script by way of env" covered launcher ./script2
	script script3 '#!/usr/bin/env -S -u B A=1 sh -e'
	agree "env with options" covered launcher ./script3
	script script4 '#!/usr/bin/env -S -i sh'
	agree "env that clears the environment" not-covered environment-cleared ./script4
	script script5 '#!/usr/bin/env -S -u LD_PRELOAD sh'
	agree "env that takes LD_PRELOAD away" not-covered environment-cleared ./script5
	script plain ''
	judge "a script without a first line" covered launcher ./plain
	[ ! -x static ] || {
		printf '#!%s/static\n' "$tmp" >script6
		chmod +x script6
		agree "a script for a static program" not-covered static ./script6
	}
	ln -s probe link
	agree "a symbolic link" covered "" ./link
}

# real NAME VERDICT REASON PROGRAM [ARG...]
real() {
	case $4 in
	/*) [ -x "$4" ] || { skip "$1" "not here"; return; } ;;
	*) command -v "$4" >/dev/null || { skip "$1" "not here"; return; } ;;
	esac
	agree "$@"
}

programs() {
	real "cat" covered no-calls cat /proc/self/maps
	real "Python" covered runtime /usr/bin/python3 -c 'print(open("/proc/self/maps").read())'
	real "Perl" covered runtime perl -e 'open(F, "/proc/self/maps"); print <F>'
	real "Ruby" covered runtime ruby -e 'puts File.read("/proc/self/maps")'
	real "Node.js" covered runtime node -e \
		'console.log(require("fs").readFileSync("/proc/self/maps").toString())'
	real "busybox" covered "" busybox cat /proc/self/maps
	real "PHP" partly deepbind php -r 'echo file_get_contents("/proc/self/maps");'
	echo 'version = 1; process = { deepbind = "clear"; };' >clear.conf
	LIBRETRY_CONFIG=$tmp/clear.conf real "PHP, reached" covered deepbind-cleared php \
		-r 'echo file_get_contents("/proc/self/maps");'
	cat >Maps.java <<-'JAVA'
	import java.nio.file.*;
	class Maps {
		public static void main(String[] a) throws Exception {
			System.out.print(Files.readString(Path.of("/proc/self/maps")));
		}
	}
	JAVA
	if command -v javac >/dev/null; then
		real "Java" covered runtime java Maps.java
		has "what the JVM loads later is looked at" "libnet.so" out
	fi
	command -v nginx >/dev/null || { skip "nginx" "not here"; return; }
	judge "nginx" covered "" nginx
	mkdir -p ngx
	cat >nginx.conf <<-CONF
	pid $tmp/ngx/pid;
	error_log stderr notice;
	events { }
	CONF
	mkfifo ngx/log
	exec 5<>ngx/log
	"$lr" run --library "$so" nginx -c "$tmp/nginx.conf" -p "$tmp/ngx" \
		-g 'daemon off; master_process off;' 2>ngx/log &
	server=$!
	sed '/getrlimit/q' <&5 >/dev/null
	grep -q '/libretry\.so' "/proc/$server/maps"
	is "nginx: it is mapped" 0 $?
	judge "nginx that runs" covered "" "$server"
	kill "$server"
	wait "$server" 2>/dev/null
	exec 5>&-
}

# ----------------------------------------------------------- processes --

# hold COMMAND...: starts it, and waits until it is there. $held is its number.
hold() {
	rm -f in said
	mkfifo in said
	"$@" <in >said 2>err &
	held=$!
	exec 3>in 4<said
	read -r word <&4
	[ "$word" = ready ] || fail "hold $*" "$(<err)"
}
release() {
	exec 3>&- 4<&-
	wait "$held"
}

processes() {
	hold "$lr" run --library "$so" ./probe hold
	judge "a process under run" covered "" "$held"
	lacks "it has our build" "other-build" out
	release
	hold ./probe hold
	if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
		judge "another user's process" unknown "" "$held"
		as=
	fi
	judge "a process without" not-covered not-loaded "$held"
	has "the cause is told" "started without LD_PRELOAD" out
	release
	judge "a process that has ended" unknown "" "$held"
	has "which is told" "no such process" err
	[ ! -x static ] || {
		hold "$lr" run --library "$so" ./static hold
		judge "a static process" not-covered static "$held"
		has "the preload was there" "names it, and the loader did not take it" out
		release
	}
	[ ! -x suid ] || {
		hold "$lr" run --library "$so" ./suid hold
		judge "a process in secure mode" not-covered secure-mode "$held"
		release
	}
	hold env LIBRETRY_DISABLE=1 "$lr" run --library "$so" ./probe hold
	judge "a process that is switched off" not-covered disabled "$held"
	release
	mkdir -p older
	cp "$so" older/libretry.so
	hold "$lr" run --library older/libretry.so ./probe hold
	judge "a copy is the same build" covered "" "$held"
	lacks "and not another" "other-build" out
	rm older/libretry.so
	judge "a library that is gone" covered stale "$held"
	release
	if objcopy --remove-section .note.gnu.build-id "$so" older/libretry.so 2>/dev/null; then
		hold "$lr" run --library older/libretry.so ./probe hold
		judge "another build" covered other-build "$held"
		release
	fi
	cat >confined.c <<-'C'
	#include <linux/filter.h>
	#include <linux/seccomp.h>
	#include <sys/prctl.h>
	#include <unistd.h>
	int seccomp_load(void *filter);
	int main(int argc, char **argv)
	{
		struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		struct sock_fprog prog = { 1, &all };

		if (argc > 2 && seccomp_load(argv))
			return 1;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
			return 2;
		return write(1, "ready\n", 6) != 6 || read(0, &all, 1) < 0;
	}
	C
	echo 'int seccomp_load(void *filter) { return filter != 0; }' >filters.c
	$CC -shared -fPIC -o libfilters.so filters.c
	$CC -o confined confined.c -L. -lfilters -Wl,-rpath,"$tmp"
	judge "a program that may confine itself" covered confines ./confined
	hold "$lr" run --library "$so" ./confined hold
	judge "a process that has confined itself" partly confined "$held"
	release
	cp probe gone
	hold "$lr" run --library "$so" ./gone hold
	rm gone
	judge "a program that is gone" covered "" "$held"
	release
	thread=$(awk '/^Kthread:\t1/ { print FILENAME; exit }' /proc/[0-9]*/status 2>/dev/null)
	[ -z "$thread" ] || {
		thread=${thread#/proc/}
		judge "a kernel thread" unknown "" "${thread%/status}"
	}
}

# ------------------------------------------------------------- imports --

# What the loader itself finds, and what nm sees.
imports() {
	rows=$(sed -n -e 's/^\(SYMBOL\|ALIAS\)_SINCE([^,]*, */\1(/' \
		-e 's/^\(SYMBOL\|ALIAS\)([^,]*, *\([A-Za-z0-9_]*\),.*/\2/p' \
		"$TOP_SRCDIR/src/preload/symbols.def" | LC_ALL=C sort)
	nm -D --undefined-only probe | sed 's/.* //; s/@.*//' | LC_ALL=C sort >undefined
	echo "$rows" | LC_ALL=C comm -12 - undefined >expected
	"$lr" doctor --library "$so" --json ./probe >json
	sed -n 's/.*{"symbol": "\([^"]*\)".*probe"}.*/\1/p' json | LC_ALL=C sort >actual
	is "imports of the program are nm's" "$(<expected)" "$(<actual)"
	[ "$(wc -l <actual)" -ge 4 ]
	is "and some" 0 $?
	for program in curl nginx node ssh; do
		file=$(command -v $program) || continue
		head -c 4 "$file" | grep -q ELF || continue
		ldd "$file" | sed -n 's/.*=> \(\/.*\) (.*/\1/p' | grep -v ld-linux |
			xargs realpath | sort -u >expected
		"$lr" doctor --library "$so" --json "$program" |
			sed -n 's/.*{"path": "\([^"]*\)", "later": false}.*/\1/p' |
			tail -n +2 | xargs realpath | grep -v ld-linux | sort -u >actual
		is "$program: libraries are the loader's" "$(<expected)" "$(<actual)"
	done
	mkdir -p deep/lib deep/other
	echo 'int connect(int, void *, int); int far(void) { return connect(0, 0, 0); }' >far.c
	echo 'int far(void); int near(void) { return far(); }' >near.c
	echo 'int near(void); int main(void) { return near(); }' >main.c
	$CC -shared -fPIC -o deep/other/libfar.so far.c
	# shellcheck disable=SC2016
	$CC -shared -fPIC -o deep/lib/libnear.so near.c -Ldeep/other -lfar \
		-Wl,-rpath,'$ORIGIN/../other',--enable-new-dtags
	# shellcheck disable=SC2016
	$CC -o deep/main main.c -Ldeep/lib -lnear -Wl,-rpath,'$ORIGIN/lib' -Wl,-rpath-link,deep/other
	judge "libraries of libraries" covered "" deep/main
	has "connect is found there" "libfar.so" out
	lacks "so there is something to cover" "no-calls" out
	rm deep/other/libfar.so
	judge "a library that is missing" covered missing-library deep/main
	has "is named" "(libfar.so)" out
	mkdir far
	$CC -shared -fPIC -o far/libfar.so far.c
	LD_LIBRARY_PATH=$tmp/far "$lr" doctor --library "$so" deep/main >out
	lacks "LD_LIBRARY_PATH is searched" "missing-library" out
	echo 'int io_uring_submit(void) { return 0; } int ares_init(void) { return 0; }' >stub.c
	$CC -shared -fPIC -o libstub.so stub.c
	echo 'int io_uring_submit(void); int main(void) { return io_uring_submit(); }' >ring.c
	$CC -o ring ring.c -L. -lstub -Wl,-rpath,"$tmp"
	judge "io_uring" partly io-uring ./ring
	echo 'int ares_init(void); int main(void) { return ares_init(); }' >ares.c
	$CC -o ares ares.c -L. -lstub -Wl,-rpath,"$tmp"
	judge "c-ares" partly own-resolver ./ares
	echo 'int connect(void) { return 0; } int main(void) { return 0; }' >mine.c
	$CC -rdynamic -o mine mine.c
	judge "a name that is the program's own" covered own-names ./mine
	cp probe sudo
	judge "a program that drops the preload" partly drops-preload ./sudo
	cp probe systemd-run
	judge "a program that others start" partly starts-elsewhere ./systemd-run
}

# ---------------------------------------------------------------- host --

config() {
	judge "the host" covered ""
	has "a library is named" "$so" out
	LIBRETRY_DISABLE=1 judge "switched off" not-covered disabled
	printf 'version = 1;\npolicies: { a = { base_delay = "x"; }; };\n' >bad.conf
	judge "a bad configuration" partly config-errors --config bad.conf
	LIBRETRY_STRICT=1 judge "a bad one that matters" not-covered strict --config bad.conf
	judge "a configuration that is not there" partly config-unreadable -c nosuch.conf
	printf 'version = 1;\npolicies: { a = { max_atempts = 3; }; };\n' >unknown.conf
	judge "unknown keys" covered config-warnings -c unknown.conf
	printf 'version = 1;\nprograms = ( { exe = ["probe"]; enabled = false; },\n
	{ exe = ["link"]; mode = "observe"; } );\n' >programs.conf
	judge "switched off for a program" not-covered program-disabled -c programs.conf ./probe
	has "by which line" "programs.conf:2" out
	judge "not for another" covered "" -c programs.conf cat
	LIBRETRY_MODE=observe judge "observe mode" partly observe
	printf 'version = 1;\nlog = { to = "file:/nonexistent/log"; };\n' >log.conf
	judge "a log that cannot be" partly log -c log.conf
	printf 'version = 1;\nlog = { to = "file:%s/new.log"; };\n' "$tmp" >log.conf
	judge "a log that can be" covered "" -c log.conf
	[ ! -e new.log ]
	is "which is not made by asking" 0 $?
	judge "the grace period" covered "" --grace 1s
	printf 'version = 1;\nprocess = { stop_on = [ "SIGINT" ]; };\n' >stop.conf
	judge "a stop that takes too long" partly grace --grace 1s -c stop.conf
	has "whose policy is named" "policy default" out
	judge "a long grace period" covered "" --grace 24h -c stop.conf
	judge "no grace period" covered "" -c stop.conf
}

host() {
	LD_PRELOAD=$so judge "LD_PRELOAD names us" covered already-preloaded
	echo 'int connect(int a, void *b, int c) { return a + c + !b; }' >other.c
	$CC -shared -fPIC -o other.so other.c
	[ -n "${SANITIZER_RUNTIME:-}" ] || {
		LD_PRELOAD=$tmp/other.so judge "another preload" covered other-preload
		has "what it wraps is counted" "wraps 1 of" out
	}
	good=$so
	so=$tmp/nosuch/libretry.so
	judge "a missing library" not-covered library-missing
	mkdir "a b" broken
	cp "$good" "a b/libretry.so"
	so="$tmp/a b/libretry.so"
	judge "a path that cannot be preloaded" not-covered library-path
	echo text >broken/libretry.so
	so=$tmp/broken/libretry.so
	judge "a library that is none" not-covered library-unusable
	has "in the loader's own words" "cannot be preloaded" out
	head -c 4096 "$good" >broken/libretry.so
	judge "a damaged library" not-covered library-unusable
	# Good by its header, and needs what no libc has.
	$CC -shared -fPIC -o broken/libretry.so far.c -Wl,--no-as-needed -L"$tmp" -l:other.so
	rm other.so
	judge "a library that needs what is not there" not-covered library-unusable
	so=$good
	if command -v setpriv >/dev/null && setpriv --no-new-privs true 2>/dev/null; then
		as="setpriv --no-new-privs"
		judge "no_new_privs" covered no-new-privs
		as=
	fi
}

# Shared memory, each time in a /dev/shm of its own.
shared() {
	judge "nothing is shared" covered ""
	has "which is said" "shared memory  none" out
	if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
		skip "shared memory" "no mount namespaces"
		return
	fi
	segment=/dev/shm/libretry-v1*-u0
	cat >own-shm <<-END
		#!/bin/sh
		# own-shm HOW COMMAND [ARG...]
		[ -n "\$OWN" ] || OWN=1 exec unshare -m "\$0" "\$@"
		mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 99
		make() { "$lr" hold 127.0.0.1:1 1h >/dev/null 2>&1; made=\$(echo $segment); }
		case \$1 in
		fresh) ;;
		missing)
			mkdir "$tmp/dev" && mount -t tmpfs tmpfs "$tmp/dev" && : >"$tmp/dev/null" &&
				mount --bind /dev/null "$tmp/dev/null" &&
				mount --rbind "$tmp/dev" /dev ;;
		readonly) mount -o remount,ro /dev/shm ;;
		room) head -c 900k /dev/zero >/dev/shm/other ;;
		inodes) mount -o remount,nr_inodes=2 /dev/shm; : >/dev/shm/other ;;
		disk) mkdir -p "$tmp/disk"; mount --bind "$tmp/disk" /dev/shm ;;
		good) make ;;
		link) make; mv \$made /dev/shm/x; ln -s x \$made ;;
		mode) make; chmod 644 \$made ;;
		owner) make; chown 65534 \$made ;;
		name) make; ln \$made /dev/shm/x ;;
		rubbish) make; echo rubbish >\$made ;;
		folder) make; rm \$made; mkdir \$made ;;
		full) make; printf '\\1' | dd of=\$made bs=1 seek=32 conv=notrunc 2>/dev/null ;;
		version) make; cp -p \$made "\$(echo \$made | sed s/v1/v0/)" ;;
		esac
		shift
		[ -z "\$EXEC" ] || exec "\$@"
		"\$@"
		status=\$?
		ls /dev/shm >"$tmp/left" 2>/dev/null
		exit \$status
	END
	chmod 755 own-shm
	export LIBRETRY_STATS=shm
	# how VERDICT REASON DETAIL
	while read -r how verdict reason detail; do
		as="./own-shm $how"
		judge "shared memory: $how" "$verdict" "${reason#-}"
		[ -z "$detail" ] || has "shared memory: $how: why" "$detail" out
	done <<-'END'
		fresh covered - (made at the first failure)
		missing partly shared-folder No such file
		readonly partly shared-folder Read-only file system
		room partly shared-room KiB are left, and 181 are needed
		inodes partly shared-room no inode is left
		good covered - (1 of 256 places taken)
		link partly shared-segment symbolic link
		mode partly shared-segment its mode is not 0600
		owner partly shared-segment another user
		name partly shared-segment another name
		rubbish partly shared-segment not one of this version
		folder partly shared-segment not a regular file
		full partly shared-full neither limited nor counted
		version covered shared-version (libretry-v0
	END
	as="./own-shm fresh"
	judge "a /dev/shm of our own" covered shared-private
	is "looking makes nothing" "" "$(<left)"
	case $(mkdir -p disk; stat -f -c %T disk) in
	tmpfs | ramfs) skip "a folder on a disk" "$tmp is none" ;;
	*) as="./own-shm disk" && judge "a folder on a disk" covered shared-disk ;;
	esac
	unset LIBRETRY_STATS
	as="./own-shm readonly"
	judge "who shares nothing does not mind" covered ""
	as=
	printf 'version = 1;\npolicies: { default = { budget = { scope = "host"; }; }; };\n' >group.conf
	judge "no group" covered shared-no-group -c group.conf
	echo 'process = { host_group = "12345"; };' >>group.conf
	as="./own-shm fresh"
	judge "a group" covered "" -c group.conf
	has "has its own" "libretry-v1le-g12345 (made" out
	if command -v setpriv >/dev/null; then
		chmod 644 group.conf
		as="setpriv --reuid 65534 --regid 65534 --clear-groups"
		judge "not one of the group" partly shared-group -c "$tmp/group.conf"
	fi
	as=
	# A process that sees another /dev/shm than we do.
	export LIBRETRY_STATS=shm EXEC=1
	hold ./own-shm room "$lr" run --library "$so" ./probe hold
	unset LIBRETRY_STATS EXEC
	judge "a process with another /dev/shm" partly shared-room "$held"
	has "is told of" "  shared-private: " out
	release
}

usage() {
	"$lr" doctor --nope >out 2>err
	is "an unknown option" 2 $?
	"$lr" doctor a b >out 2>err
	is "two programs" 2 $?
	"$lr" doctor --grace soon >out 2>err
	is "a time that is none" 2 $?
	has "says what is allowed" "30s" err
	"$lr" doctor nosuchprogram >out 2>err
	is "a program that is not there" 4 $?
	is "nothing on standard output" "" "$(<out)"
	"$lr" doctor "$tmp" >out 2>err
	is "a folder" 4 $?
	if "$lr" doctor --library "$so" >/dev/full 2>err; then
		fail "a full disk is noticed" "status 0"
	else
		pass "a full disk is noticed"
	fi
	python=$(command -v /usr/bin/python3 || command -v python3) ||
		{ skip json "no python3"; return; }
	for what in "" ./probe ./musl php $$; do
		# shellcheck disable=SC2086
		"$lr" doctor --library "$so" --json $what >json 2>err
		"$python" -c 'import json, sys
d = json.load(open("json"))
assert list(d)[0] == "verdict"
effects = [r["effect"] for r in d["reasons"]]
worst = "not-covered" if "not-covered" in effects else "partly" if "partly" in effects else "covered"
assert d["verdict"] == worst, d
print("good")' >word 2>&1
		[ -s json ] || continue
		is "json of <$what>" good "$(tail -n 1 word)"
	done
}

# The reasons of the manual, and those that there are.
manual() {
	page=$TOP_SRCDIR/man/libretry-doctor.1
	words=$(sed -n 's/^\tX([A-Z_]*, "\([a-z-]*\)", .*/\1/p' "$TOP_SRCDIR/src/cli/findings.h")
	[ "$(echo "$words" | wc -l)" -gt 30 ]
	is "reasons are found in the source" 0 $?
	for word in $words; do
		grep -qE "^\.It (.* , )?Cm (.* )?$word( ,.*)?\$" "$page" ||
			fail "manual" "$word is not in it"
	done
	is "no reason is made up by the manual" "$(echo "$words" | sort)" \
		"$(sed -n '/^\.Ss Reasons/,/^\.Sh/s/^\.It //p' "$page" | tr -d ',' |
			sed 's/Cm //g' | tr -s ' ' '\n' | sort)"
}

kinds
golang
privileges
scripts
programs
processes
imports
config
host
shared
usage
manual
exit "$failed"
