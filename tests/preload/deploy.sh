#!/bin/sh
# SPDX-License-Identifier: MIT
# What deploy/ says about libretry is so: the variables of the image are those that
# there are, and the configurations of the manifests are clean. Environment: LIBRETRY
# (the binary), TOP_SRCDIR.
set -u

: "${LIBRETRY:=./libretry}" "${TOP_SRCDIR:=.}"
deploy=$TOP_SRCDIR/deploy
[ -x "$LIBRETRY" ] || { echo "not ok setup: $LIBRETRY is missing"; exit 99; }
for name in $(env | sed -n 's/^\(LIBRETRY_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

is() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		echo "not ok $1: expected <$2>, got <$3>"
		failed=1
	fi
}

known=$(sed -n 's/.*X([A-Z_]*, "\(LIBRETRY_[A-Z_]*\)").*/\1/p' "$TOP_SRCDIR/src/config/env.h" | sort)
image=$(grep -o 'LIBRETRY_[A-Z_]*= *' "$deploy/docker/Dockerfile" | tr -d '= ' | sort)
is "the image has every variable, empty" "$known" "$image"

# A ConfigMap's files, as the volume of the Deployment lays them out.
mkdir "$tmp/conf.d"
awk -v dir="$tmp" '
	/^  [a-z-]*\.conf: \|/ {
		name = $1; sub(/:$/, "", name)
		file = name == "libretry.conf" ? dir "/" name : dir "/conf.d/" name
		next
	}
	/^    / && file { print substr($0, 5) >file }' "$deploy/kubernetes/base/configmap.yaml"
cp "$deploy/kubernetes/overlays/production/search.conf" "$tmp/conf.d/"
is "files of the ConfigMap" "libretry.conf orders-db.conf payments.conf search.conf" \
	"$(cd "$tmp" && find . -name '*.conf' | sed 's,.*/,,' | sort | tr '\n' ' ' | sed 's/ $//')"
LC_ALL=C "$LIBRETRY" check --strict "$tmp/libretry.conf" >"$tmp/out" 2>&1
is "the configuration of the manifests is clean" "0" "$?"
for key in $(ls "$tmp/conf.d") libretry.conf; do
	grep -qr "key: $key," "$deploy/kubernetes" || is "$key is mounted" yes no
done

exit "$failed"
