# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For the tests of the command, which source it: what they say of each thing they look
# at. $failed is their exit status. Builtins only: a process takes longer than most of
# what it would look at.

# shellcheck disable=SC2034 # whoever sources it reads it
failed=0

pass() { echo "ok $1"; }
fail() { echo "not ok $1: $2"; failed=1; }

# is NAME EXPECTED ACTUAL
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "expected <$2>, got <$3>"; fi; }

# in_file FILE TEXT: TEXT is part of it, its last line feed aside
in_file() {
	text=$(<"$1")
	[[ $text == *"$2"* ]]
}

# has, lacks NAME TEXT FILE
has() { if in_file "$3" "$2"; then pass "$1"; else fail "$1" "<$2> is not in $3: <${text:0:4000}>"; fi; }
lacks() {
	if [ ! -r "$3" ] || in_file "$3" "$2"; then
		fail "$1" "<$2> is in $3: <${text:0:4000}>"
	else
		pass "$1"
	fi
}
