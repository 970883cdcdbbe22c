#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Completion: what bash offers at which place; zsh and fish as far as they are
# here. That all options are known is for check-man.sh. Environment: LIBRETRY (the
# binary), TOP_SRCDIR.
set -u

: "${LIBRETRY:=./libretry}" "${TOP_SRCDIR:=.}"
LIBRETRY=$(realpath "$LIBRETRY")
completion=$(realpath "$TOP_SRCDIR")/completion
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp XDG_CONFIG_HOME=$tmp/xdg XDG_DATA_HOME=$tmp/xdg XDG_CACHE_HOME=$tmp/xdg
unset LIBRETRY_CONFIG
mkdir "$tmp/bin" "$tmp/work"
ln -s "$LIBRETRY" "$tmp/bin/libretry"
PATH=$tmp/bin:$PATH
cd "$tmp/work" || exit 99
printf 'version = 1;\npolicies: { mine: { max_attempts = 3; }; other: { max_attempts = 4; }; };\n' >my.conf
: >'a file.log'
failed=0

# is NAME EXPECTED ACTUAL
is()
{
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: expected <$2>, got <$3>"
		failed=1
	fi
}

# offers EXPECTED WORD...: what is offered for the last word, sorted
offers()
{
	local expected=$1

	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_libretry "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	is "bash: $*" "$expected" "$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -s -d ' ')"
}

# includes WORD WORD...: the first is among what is offered for the last
includes()
{
	local wanted=$1 word

	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_libretry "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	for word in "${COMPREPLY[@]}"; do
		[ "$word" != "$wanted" ] || { echo "ok bash: $*"; return; }
	done
	echo "not ok bash: $*: <$wanted> is not in <${COMPREPLY[*]}>"
	failed=1
}

# shellcheck source=completion/bash/libretry
. "$completion/bash/libretry"
is "bash: registered" "complete -F _libretry libretry" "$(complete -p libretry)"
offers "check doctor explain help hold release report run simulate stats suggest" libretry ''
offers "release report run" libretry r
offers "--help" libretry --h
offers "doctor" libretry help d
offers "--policy=" libretry run --pol
offers "--json" libretry report --j
offers "" libretry report --nothing
built_in="automotive container default interactive off patient"
offers "$built_in" libretry run -p ''
offers "$built_in" libretry run --policy ''
offers "$built_in" libretry run --policy =
offers "patient" libretry run --policy = pat
offers "patient" libretry run -v -p pat
includes mine libretry run -c my.conf -p m
includes mine libretry run --config = my.conf --policy = m
offers "" libretry run -c none -p m
offers "patient" libretry run -c none -p pa
offers "" libretry run -c broken.conf -p m
offers "a=b:1/2,patient" libretry simulate -p a=b:1/2,p
offers "none" libretry simulate -p no
includes mine libretry simulate --config = my.conf --policy = ''
offers "a file.log my.conf none" libretry run -c ''
offers "a file.log" libretry suggest a
offers "a file.log" libretry report -o x.html a
offers "my.conf" libretry report -o m
offers "connect lookup send" libretry explain --op = ''
offers "connect lookup send" libretry explain ''
offers "fd: file:" libretry run -l f
includes sort libretry run sor
includes sort libretry run -p patient -v sor
includes sort libretry run --policy = patient -- sor
includes my.conf libretry run sort m
offers "" libretry run sort --pol
includes sort libretry doctor sor
offers "--watch" libretry stats --w
offers "a file.log" libretry stats -o a
includes root libretry stats --user = roo
includes root libretry hold -g r
offers "patient" libretry release -p pa

if command -v zsh >/dev/null; then
	zsh -f -n "$completion/zsh/_libretry"
	is "zsh: syntax" 0 $?
else
	echo "skip zsh: not installed"
fi
if command -v fish >/dev/null; then
	fish -n "$completion/fish/libretry.fish"
	is "fish: syntax" 0 $?
	# fish_offers EXPECTED LINE
	fish_offers()
	{
		is "fish: $2" "$1" "$(fish --no-config -c "source $completion/fish/libretry.fish
			complete -C '$2'" | cut -f 1 | LC_ALL=C sort | paste -s -d ' ')"
	}
	fish_offers "check doctor explain help hold release report run simulate stats suggest" "libretry "
	fish_offers "--policy" "libretry run --pol"
	fish_offers "$built_in" "libretry run -p "
	fish_offers "mine" "libretry run -c my.conf -p mi"
	fish_offers "" "libretry run -c none -p mine"
	fish_offers "tcp udp" "libretry explain --proto "
	fish_offers "" "libretry run sort --pol"
else
	echo "skip fish: not installed"
fi
exit "$failed"
