#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What the library costs, beside nothing, an empty preload and other preloads.

All rows are measured in one run. Nothing fails because of a figure: limits are
check_counts.py's. Parts (--parts): counts, operations, startup, wall, programs, memory, syscalls.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import calls_parts
import counts
import limits
import operations_part
import process_parts
import programs_part
import tables
from rows import BARE, Failed, all_rows, clear_leftovers, kill_group

PARTS = {
    "counts": (calls_parts.count_calls, counts.available, "valgrind"),
    "operations": (operations_part.operations, counts.available, "valgrind"),
    "startup": (process_parts.start_up, counts.available, "valgrind"),
    "wall": (calls_parts.time_calls, None, None),
    "programs": (programs_part.programs, None, None),
    "memory": (process_parts.memory, None, None),
    "syscalls": (calls_parts.system_calls, lambda: shutil.which("strace"), "strace"),
}


class Guard(threading.Timer):
    """Ends a child that hangs while its output is read."""

    def __init__(self, child, seconds):
        super().__init__(seconds, self.strike)
        self.child = child
        self.struck = False
        self.daemon = True
        self.start()

    def strike(self):
        self.struck = True
        kill_group(self.child)


class Bench:
    """What the parts are given."""

    def __init__(self, options, work):
        self.calls = os.path.abspath(options.calls)
        self.source = os.path.abspath(options.source)
        self.rounds = options.rounds
        self.names = options.names
        self.limits = limits.read(os.path.join(self.source, "bench", "limits"))
        self.call_names = subprocess.run([self.calls], stdout=subprocess.PIPE, text=True,
                                         check=True).stdout.split()
        every, self.missing = all_rows(os.path.abspath(options.library),
                                       os.path.abspath(options.empty), work)
        wanted = options.rows or [row.name for row in every]
        self.rows = [row for row in every if row.name in wanted or row.name == BARE]

    def chosen(self, names):
        """Those of names that the user has asked for; all, if none."""
        return [n for n in names if n in self.names] or names

    @staticmethod
    def say(text):
        print("bench:", text, file=sys.stderr, flush=True)

    @staticmethod
    def guard(child, seconds):
        return Guard(child, seconds)


def machine():
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"system": platform.release(), "machine": platform.machine(), "cpu": model,
            "cpus": os.cpu_count(), "libc": " ".join(platform.libc_ver()),
            "load": os.getloadavg()}


def arguments():
    parser = argparse.ArgumentParser(description="Measures what the library costs.")
    parser.add_argument("--calls", required=True, help="the program bench/calls")
    parser.add_argument("--library", required=True, help="libretry.so")
    parser.add_argument("--empty", required=True, help="a preload with nothing in it")
    parser.add_argument("--source", required=True, help="folder of the sources")
    parser.add_argument("--json", required=True, help="where the figures go")
    parser.add_argument("--parts", type=str.split, default=[])
    parser.add_argument("--names", type=words, default=[], help="calls and programs, by commas")
    parser.add_argument("--rows", type=words, default=[], help="preloads, by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", required=True, help="where the tables go, as Markdown")
    return parser.parse_args()


def words(text):
    return [w.strip() for w in text.split(",") if w.strip()]


def run_part(name, bench):
    """(tables, figures); none if it cannot run."""
    work, possible, package = PARTS[name]
    if possible and not possible():
        bench.say(f"{name}: {package} is not installed")
        return [], {}
    bench.say(name)
    try:
        return work(bench)
    except Failed as failure:
        bench.say(f"{name}: {failure}: {failure.why}")
        return [], {}


def write_markdown(path, shown):
    """The sum of all first; it is printed as well."""
    summed = tables.summary(shown)
    with open(path, "w", encoding="utf-8") as out:
        for table in ([summed] if summed else []) + shown:
            out.write(table.markdown() + "\n")
    if summed:
        print(summed.markdown())


def run_all(options, bench):
    result = {"machine": machine(), "rounds": options.rounds, "not installed": bench.missing}
    shown = []
    for name in options.parts or PARTS:
        made, result[name] = run_part(name, bench)
        for table in made:
            print(table.text(), flush=True)
        shown += made
    write_markdown(options.markdown, shown)
    if bench.missing:
        print("\nnot installed (scripts/setup --bench installs them):", " ".join(bench.missing))
    return result


def main():
    options = arguments()
    # So that servers and folders are cleared away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    unknown = [p for p in options.parts if p not in PARTS]
    if unknown:
        sys.exit(f"bench: no part {' '.join(unknown)}; there are: {' '.join(PARTS)}")
    for path in (options.calls, options.library, options.empty):
        if not os.path.exists(path):
            sys.exit(f"bench: there is no {path}")
    begin = time.time()
    try:
        with tempfile.TemporaryDirectory(prefix="bench.") as work:
            os.chmod(work, 0o755)
            result = run_all(options, Bench(options, work))
    finally:
        clear_leftovers(begin)
    with open(options.json, "w", encoding="ascii") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print("\n!: above its target. Figures:", options.json, "Tables:", options.markdown)


if __name__ == "__main__":
    main()
