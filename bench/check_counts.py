#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
check_counts.py CALLS LIBRARY LIMITS: fails if a call costs more instructions above
bare libc than the file LIMITS allows. Neither other work on the machine nor its
speed changes the counts; another compiler does, a little.
"""
import os
import platform
import sys

import counts
import limits
from rows import BARE, LIBRETRY, Row

N = 200


def skip(why):
    if os.environ.get("CI") == "true":
        print("check-counts:", why, file=sys.stderr)
        return 1
    print("skip check-counts:", why)
    return 0


def main(calls, library, path):
    if not counts.available():
        return skip("valgrind is not installed")
    if platform.machine() != "x86_64":
        print("skip check-counts: the limits are those of x86_64")
        return 0
    table = limits.read(path)
    rows = [Row(BARE), Row(LIBRETRY, os.path.abspath(library))]
    figures = counts.measure(rows, calls, list(table), N, os.cpu_count() or 1)
    bad = 0
    print(f"{'call':<14} {'bare':>7} {'costs':>6} {'limit':>6} {'target':>7}")
    for name, limit in table.items():
        bare = figures[name][BARE]
        extra = counts.costs(figures[name], BARE)[LIBRETRY]
        mark = ""
        if isinstance(extra, str) or isinstance(bare, str) or extra > limit.most:
            mark = "  ABOVE THE LIMIT"
            bad += 1
        print(f"{name:<14} {bare:>7} {extra:>6} {limit.most:>6} {limit.target:>7}{mark}")
    if bad:
        print(f"check-counts: {bad} above the limits of {path}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
