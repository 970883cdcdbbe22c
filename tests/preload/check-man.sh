#!/bin/sh
# SPDX-License-Identifier: MIT
# What the command and the loader know, and what the manual and the completions
# say, are the same: options both ways, keys and variables from the sources to the
# manual. Environment: LIBRETRY (the binary), TOP_SRCDIR.
set -u

: "${LIBRETRY:=./libretry}" "${TOP_SRCDIR:=.}"
man=$TOP_SRCDIR/man
completion=$TOP_SRCDIR/completion
commands="run check stats hold release explain simulate suggest doctor report"
failed=0

fail() { echo "not ok $1: $2"; failed=1; }

# What the manual says of one command, without hyphen-escapes: a page of its own,
# or a section of libretry.1. "release" has that of "hold".
man_section() {
	page=$man/libretry-$1.1
	[ "$1" != release ] || page=$man/libretry-hold.1
	if [ -e "$page" ]; then
		cat "$page"
	else
		awk -v want=".Ss libretry $1" '/^\.S[sh]/ { on = ($0 == want) } on' \
			"$man/libretry.1"
	fi | sed 's/\\-/-/g'
}

# "-p" and "--policy=" of lines that begin with options.
help_options() {
	"$LIBRETRY" "$1" --help |
		sed -n 's/^ *\(-[A-Za-z]\(, --[a-z-]*=\{0,1\}\)\{0,1\}\).*/\1/p
			s/^ *\(--[a-z][a-z-]*=\{0,1\}\).*/\1/p' |
		tr ',' '\n' | tr -d ' ' | sort
}

man_options() {
	man_section "$1" | sed -n 's/^\.It Fl //p' | sed 's/ Ns = Ns /=/g' | tr ',' '\n' |
		sed 's/^ *\(Fl \)\{0,1\}//; s/=.*/=/; s/ .*//; s/^/-/' | grep '^-.' | sort
}

bash_options() {
	bash -c '. "$1" && _libretry_options "$2"' - "$completion/bash/libretry" "$1" |
		tr ' ' '\n' | sort
}

zsh_options() {
	sed -n "/^	$1)/,/;;/p" "$completion/zsh/_libretry" |
		sed -n "s/^[^{]*{\(-[^}]*\)}'\[.*/\1/p; s/^[^{]*'\(--[a-z-]*=\{0,1\}\)\[.*/\1/p" |
		tr ',' '\n' | tr -d + | sort
}

fish_options() {
	condition="'__libretry_is $1'"
	[ "$1" != run ] || condition=__libretry_in_run
	grep -F -- "-n $condition " "$completion/fish/libretry.fish" | sed "s/ -d '.*//" |
		sed -n 's/.* -s \([A-Za-z]\)\( .*\|$\)/-\1/p' >"$tmp"
	grep -F -- "-n $condition " "$completion/fish/libretry.fish" | sed "s/ -d '.*//" |
		sed -n 's/.* -l \([a-z-]*\) -[xr]\( .*\|$\)/--\1=/p; t
			s/.* -l \([a-z-]*\)\( .*\|$\)/--\1/p' | sort - "$tmp"
}

# same COMMAND WHERE OPTIONS: they are those of --help
same() {
	if [ "$help" = "$3" ]; then
		echo "ok options of $1: $2"
	else
		fail "options of $1: $2" "--help has <$(echo "$help" | tr '\n' ' ')>, \
$2 has <$(echo "$3" | tr '\n' ' ')>"
	fi
}

options() {
	help=$(help_options "$1")
	[ -n "$help" ] || { fail "options of $1" "its --help shows none"; return; }
	same "$1" manual "$(man_options "$1")"
	same "$1" bash "$(bash_options "$1")"
	same "$1" zsh "$(zsh_options "$1")"
	same "$1" fish "$(fish_options "$1")"
}

# The commands themselves: those of --help everywhere, and nothing else.
all_commands() {
	help=$("$LIBRETRY" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | sort)
	is=$(echo "$commands" | tr ' ' '\n' | sort)
	[ "$help" = "$is" ] || fail "commands" "--help has <$(echo "$help" | tr '\n' ' ')>"
	for file in bash/libretry fish/libretry.fish; do
		grep -qF "$commands" "$completion/$file" || fail "commands" "not all in $file"
	done
	for command in $commands; do
		grep -q "'$command:" "$completion/zsh/_libretry" ||
			fail "commands" "$command is not in zsh/_libretry"
		[ -e "$man/libretry-$command.1" ] || continue
		grep -q "^\.Xr libretry-$command 1" "$man/libretry.1" ||
			fail "commands" "libretry.1 does not point to libretry-$command(1)"
		grep -q "libretry-$command\.1" "$man/local.mk" ||
			fail "commands" "libretry-$command.1 is not installed"
	done
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

tmp=$(mktemp) || exit 99
trap 'rm -f "$tmp"' EXIT
all_commands
for command in $commands; do
	options "$command"
done
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
