#!/bin/sh
# SPDX-License-Identifier: MIT
# What the command and the loader know and what the manual says are the same:
# options both ways, keys and variables from the sources to the manual.
# Environment: LIBRETRY (the binary), TOP_SRCDIR.
set -u

: "${LIBRETRY:=./libretry}" "${TOP_SRCDIR:=.}"
man=$TOP_SRCDIR/man
failed=0

fail() { echo "not ok $1: $2"; failed=1; }

# The options of one command in libretry.1, without hyphen-escapes.
man_section() {
	awk -v want=".Ss libretry $1" '/^\.S[sh]/ { on = ($0 == want) } on' "$man/libretry.1" |
		sed 's/\\-/-/g'
}

# "-p" and "--policy" of lines that begin with options.
help_options() {
	"$LIBRETRY" "$1" --help | sed -n 's/^ *\(-[^ ,]*\(, --[^ ]*\)\{0,1\}\).*/\1/p' |
		tr ',' '\n' | sed 's/^ *//; s/=.*//' | sort
}

man_options() {
	man_section "$1" | sed -n 's/^\.It Fl //p' | tr ',' '\n' |
		sed 's/^ *\(Fl \)\{0,1\}//; s/ .*//; s/^/-/' | grep '^-.' | sort
}

options() {
	help=$(help_options "$1")
	text=$(man_options "$1")
	[ -n "$help" ] || { fail "options of $1" "its --help shows none"; return; }
	if [ "$help" = "$text" ]; then
		echo "ok options of $1"
	else
		fail "options of $1" "--help has <$(echo "$help" | tr '\n' ' ')>, \
libretry.1 has <$(echo "$text" | tr '\n' ' ')>"
	fi
}

# documented KIND WORDS: libretry.conf.5 marks each of them as a key or a
# variable, or has a section for it
documented() {
	[ -n "$2" ] || { fail "$1" "none found in the sources"; return; }
	count=0
	for word in $2; do
		count=$((count + 1))
		grep -qE "^\.((Ss|It) $word|(.* )?(Ic|Ev) (.* )?$word( .*)?)\$" \
			"$man/libretry.conf.5" ||
			fail "$1" "$word is not in libretry.conf.5"
	done
	echo "$count $1 were looked up"
}

options run
options check
documented variables "$(sed -n 's/^\tX([A-Z_]*, "\([A-Z_]*\)").*/\1/p' \
	"$TOP_SRCDIR/src/config/env.h")"
documented keys "$(sed -n 's/^\t[KG]([A-Z]*, \([a-z_]*\),.*/\1/p' \
	"$TOP_SRCDIR/src/config/keys.h" | sort -u)"
if command -v mandoc >/dev/null; then
	for page in "$man"/*.[157]; do
		if mandoc -Tlint -Wwarning "$page"; then
			echo "ok lint of ${page##*/}"
		else
			fail "lint of ${page##*/}" "see above"
		fi
	done
else
	echo "skip lint: no mandoc"
fi
exit "$failed"
