#!/bin/bash
# SPDX-License-Identifier: MIT
# order.sh: other libraries use the wrapped functions before our constructor
# and after our destructor, in both preload orders; exit handlers too.
set -u
so=${LIBRETRY_SO:?}
early=${EARLY_SO:?}
sanitizer=${SANITIZER_RUNTIME:+$SANITIZER_RUNTIME:}
fail=0
export LIBRETRY_CONFIG=none LIBRETRY_MAX_ATTEMPTS=3 LIBRETRY_BASE_DELAY=10ms LIBRETRY_LOG=none
want='early refused=-1 loop=1 ok=0 handler=1 transfers=5
late refused=-1 loop=1 ok=0 handler=1 transfers=5'
for order in "$so:$early" "$early:$so"; do
	got=$(timeout 20 env LD_PRELOAD="$sanitizer$order" /bin/true 2>&1)
	if [ "$got" = "$want" ]; then
		echo "ok ${order##*/} last"
	else
		echo "not ok ${order##*/} last: $got"
		fail=1
	fi
done
exit $fail
