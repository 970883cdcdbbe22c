#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: check.sh i386|aarch64|musl
# Builds for another architecture or C library in build-ARCH below this folder and runs
# what can be run of the tests: natively, or under qemu-user where the kernel cannot. A
# compiler or library that is missing (scripts/setup --foreign installs them) is a skip; with
# CI=true a failure.
# From make: LIBRETRY_SO, LIBRETRY and TOOLS of this architecture and glibc, TOP_SRCDIR.

set -u
here=$(dirname "$(realpath "$0")")
top=${TOP_SRCDIR:?}
cache=${FOREIGN_CACHE:-/var/cache/libretry-tests}
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

case ${1:-} in
i386)
	FOREIGN_CC="gcc -m32 -idirafter /usr/include/x86_64-linux-gnu"
	host=i686-linux-gnu triplet=i386-linux-gnu debian=i386 emulator=qemu-i386-static
	FOREIGN_LD=/lib/ld-linux.so.2 FOREIGN_BITS=32 TIME64=1
	;;
aarch64)
	FOREIGN_CC=aarch64-linux-gnu-gcc
	host=aarch64-linux-gnu triplet=aarch64-linux-gnu debian=arm64
	emulator="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
	FOREIGN_LD=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 FOREIGN_BITS=64 TIME64=
	;;
musl)
	kernel=$cache/musl/root/kernel # no headers of the kernel's are musl-gcc's own
	FOREIGN_CC="musl-gcc -idirafter $kernel"
	host=$(uname -m)-linux-musl debian=musl emulator=
	FOREIGN_LD=/lib/ld-musl-$(uname -m).so.1 FOREIGN_BITS=64 TIME64=
	;;
*)
	sed -n 's/^# \{0,1\}//; 4,10p' "$0" >&2
	exit 2
	;;
esac

cannot()
{
	if [ "${CI:-}" = true ]; then
		echo "not ok $1"
		exit 1
	fi
	echo "skip: $1 (scripts/setup --foreign installs it)"
	exit 0
}

printf '#include <sys/socket.h>\nint main(void) { return 0; }\n' >"$scratch/t.c"
# shellcheck disable=SC2086
$FOREIGN_CC -o "$scratch/t" "$scratch/t.c" 2>/dev/null || cannot "no compiler for $1"
FOREIGN_RUN=
if ! "$scratch/t" 2>/dev/null; then
	FOREIGN_RUN=$emulator
	command -v "${emulator%% *}" >/dev/null || cannot "no ${emulator%% *}"
	# shellcheck disable=SC2086
	$FOREIGN_RUN "$scratch/t" || cannot "${emulator%% *} does not work"
fi
root=$cache/$debian/root
[ -e "$root/complete" ] || cannot "no libraries for $1"
options=(--host="$host" --enable-werror --without-microhttpd)
if [ "$1" = musl ]; then
	FOREIGN_LIBS=$root/lib
	sysroot=
	options+=(--enable-linked-libconfig)
else
	FOREIGN_LIBS=$root/usr/lib/$triplet
	sysroot=$root
	options+=(--with-libconfig-soname=libconfig.so.9)
fi

mkdir -p "build-$1" && cd "build-$1" || exit 99
if [ ! -e Makefile ]; then
	PKG_CONFIG_LIBDIR=$FOREIGN_LIBS/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sysroot \
		"$top/configure" -q "${options[@]}" CC="$FOREIGN_CC" CFLAGS="-O1" >configure.out 2>&1 ||
		{ tail configure.out; echo "not ok configure"; exit 1; }
fi
# What numbers and layouts depend on; and what waits, with a kernel or an emulator
# that knows all calls.
units=(addr duration fmt prng backoff window budget breaker match pace names peers shm_file tally
	stats fdtab fdtab_threads event log env load overrides connect pending send guard)
programs=(collide evlife evnow fds injectenv reload stack timeout)
# qemu-user knows neither futex_waitv() nor sock_diag, epoll_pwait2() nor all of TCP_INFO.
[ -n "$FOREIGN_RUN" ] || programs+=(connect evloop evset lookup signals resets sends)
if [ "$1" = musl ]; then
	# What depends on the C library. Not: load, which counts with mallinfo2(), evlife,
	# fds, lookup and signals, which call what only glibc has.
	units=(errname classify dropins locate load_errors load_inject render sink log env wait walk
		resolve connect pending place replay shm shm_file fdtab_threads target elf)
	programs=(collide evnow injectenv reload stack timeout connect evloop evset resets sends)
fi
tests=("${units[@]/#/tests/unit/test_}" "${programs[@]/%/.pt}")
for i in "${!tests[@]}"; do
	[[ ${tests[i]} == tests/unit/* ]] || tests[i]=tests/preload/${tests[i]}
done
# The tests' servers, and only those tests: not all of them can be built everywhere.
tools=(flaky dnsd caller connect_once errno_main)
own=(libretry.so)
[ "$1" != musl ] || own+=(libretry)
make -j"$(nproc)" "${own[@]}" "${tools[@]/#/tests/tools/}" "${tests[@]}" >make.out 2>&1 ||
	{ grep -E 'error|Error' make.out; echo "not ok build"; exit 1; }
FOREIGN_SO=$PWD/libretry.so
MUSL=
[ "$1" != musl ] || MUSL=1
export FOREIGN_CC FOREIGN_RUN FOREIGN_LD FOREIGN_BITS FOREIGN_LIBS FOREIGN_SO TIME64 MUSL

status=0
needed=$(readelf -d "$FOREIGN_SO" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^\(libc\|ld-linux.*\)\.so')
if [ -z "$needed" ]; then
	echo "ok needs nothing but libc"
else
	echo "not ok needs $needed"
	status=1
fi
LD_LIBRARY_PATH=$FOREIGN_LIBS TEST_WRAPPER=$FOREIGN_RUN make check-TESTS check_PROGRAMS= TESTS="${tests[*]}" \
	LOG_COMPILER="$FOREIGN_RUN" 2>&1 | grep -E '^(FAIL|ERROR|# (TOTAL|PASS|FAIL))' || true
[ "${PIPESTATUS[0]}" -eq 0 ] || { status=1; echo "see build-$1/tests/*/*.log"; }
bash "$here/client.sh" || status=1
exit "$status"
