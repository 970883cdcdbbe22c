#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Hostile configurations: programs that need no retry are untouched; one that
# connects gets one ERROR line and the built-in policy. Never a hang, a crash,
# or a word on the program's streams.

# shellcheck disable=SC2317 # the functions are called through dispatch
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

CLIENT="\$TOOLS/connect_once 127.0.0.1 \$PORT"
VERSION='version = 1;'
SURE="$VERSION policies = { default = { max_attempts = 2; }; };"

# Each makes $CONF.
make_folder() { mkdir "$CONF"; }
make_fifo() { mkfifo "$CONF"; }
make_device() { ln -s /dev/zero "$CONF"; }
make_absent() { :; }
make_loop() { ln -s "$CONF" "$CONF"; }
make_large() { { echo "$SURE"; head -c 50000000 /dev/zero | tr '\0' '#'; } >"$CONF"; }
make_truncated() { printf '%s' "${SURE%\};\ \};}" >"$CONF"; }
make_binary() { head -c 4000 /dev/urandom >"$CONF"; }
make_zeros() { { echo "$SURE"; head -c 100 /dev/zero; } >"$CONF"; }
make_include_folder() { printf '@include "."\n%s\n' "$SURE" >"$CONF"; }
make_include_itself() { printf '@include "%s"\n%s\n' "$CONF" "$SURE" >"$CONF"; }
make_include_absent() { printf '@include "/nonexistent/x"\n%s\n' "$SURE" >"$CONF"; }
make_type() { echo "$VERSION" 'policies = { default = { base_delay = 100; }; };' >"$CONF"; }
make_type_list() { echo "$VERSION" 'policies = ( "default" );' >"$CONF"; }
make_wrapped()
{
	echo "$VERSION" 'policies = { default = { max_attempts = 4294967298; }; };' >"$CONF"
}
make_negative() { echo "$VERSION" 'policies = { default = { max_attempts = -1; }; };' >"$CONF"; }
make_duplicate() { printf '%s\n%s\n' "$SURE" "${SURE#"$VERSION"}" >"$CONF"; }
make_utf8()
{
	printf '%s policies = { default = { jitter = "\377\376full"; }; };\n' "$VERSION" >"$CONF"
}
make_unreadable() { echo "$SURE" >"$CONF"; chmod 0 "$CONF"; }
make_deep() { { head -c 20000 /dev/zero | sed 's/\x0/a={/g'; } >"$CONF"; }

# run_with TAG COMMAND [NAME=VALUE ...]: the library and the hostile file.
run_with()
{
	local tag=$1 command=$2

	shift 2
	rm -f "$CASE_DIR/log"
	run_program "$tag" LD_PRELOAD="$SO" LIBRETRY_CONFIG="$CONF" \
		LIBRETRY_LOG="file:$CASE_DIR/log" LIBRETRY_BASE_DELAY=5ms "$@" -- "$AS$command"
}

# Programs that do not connect.
untouched()
{
	# shellcheck disable=SC2016 # for the shell that runs them
	local each='for c in true "ls /" "curl --version"; do $c; echo "status $?"; done'
	local command="sh -c '$each'"

	bare "$AS$command"
	run_with lib "$command"
	same_as_bare
	said lib 'status 0' || fail "nothing ran"
	no_log
}

hostile()
{
	CONF=$CASE_DIR/hostile.conf AS='' SO=$LIBRETRY_SO
	"make_$1" || fail "cannot make the file"
	if [ "$1" = unreadable ] && [ "$(id -u)" -eq 0 ]; then
		need setpriv
		# Nobody needs a way to the library, the tools and the log.
		chmod 777 "$CASE_DIR"
		cp "$LIBRETRY_SO" "$TOOLS/connect_once" "$CASE_DIR" || fail "cannot copy"
		chmod 755 "$CASE_DIR/connect_once" "$CASE_DIR/$(basename "$SO")"
		SO=$CASE_DIR/$(basename "$SO") CLIENT="'$CASE_DIR/connect_once' 127.0.0.1 \$PORT"
		AS='exec setpriv --reuid=65534 --regid=65534 --clear-groups '
	fi
	untouched

	start_server --late 60s
	bare "$AS$CLIENT"
	run_with lib "$CLIENT"
	same_as_bare
	[ "$(log_count ' ERROR config ')" -eq 1 ] ||
		fail "$(log_count ' ERROR config ') lines 'ERROR config', not 1"
	[ "$(log_count ' WARN retry op=connect .*attempt=[1-4]/5 ')" -eq 4 ] ||
		fail "not the built-in policy"
	[ "$(log_count ' ERROR gave-up op=connect .*attempts=5 ')" -eq 1 ] || fail "did not give up"
}

# The other way round: a good file is obeyed, so the cases above mean something.
good()
{
	CONF=$CASE_DIR/good.conf AS='' SO=$LIBRETRY_SO
	echo "$SURE" >"$CONF"
	start_server --late 60s
	run_with lib "$CLIENT"
	[ "$(log_count ' ERROR config ')" -eq 0 ] || fail "a fault in a good file"
	[ "$(log_count ' WARN retry op=connect .*attempt=1/2 ')" -eq 1 ] || fail "the file is not obeyed"
}

dispatch "$@"
add_case good-file good
for kind in folder fifo device absent loop large truncated binary zeros include_folder \
	include_itself include_absent type type_list wrapped negative duplicate utf8 unreadable deep; do
	add_case "${kind//_/-}" hostile "$kind"
done
finish
