# SPDX-License-Identifier: MIT
"""The parts that make single calls: counts, wall, syscalls."""
import os
import tempfile

import counts
import paired
import tables
from rows import AGAIN, BARE, LIBRETRY

COUNT_N = 200
STRACE_N = 50
LIMIT = 20.0
# Calls in one run of a loop: some 60 ms, so that a part of it is shorter than what the
# scheduler gives to others.
TIME_N = {"write": 50000, "writev": 50000, "read": 50000, "poll": 50000, "poll-64": 20000,
          "select": 50000, "epoll_wait": 50000, "epoll_wait-64": 20000, "epoll_ctl": 50000,
          "connect+close": 2000, "nonblocking": 2000, "getaddrinfo": 4000}
# "plus one system call", where a connect is under way.
ADDED = {"nonblocking": 1}


def count_calls(bench):
    """Instructions per call above the bare program."""
    names = bench.chosen(bench.call_names)
    rows = [row for row in bench.rows if row.name != AGAIN]  # it would be the same
    figures = counts.measure(rows, bench.calls, names, COUNT_N, os.cpu_count() or 1)
    table = tables.Table(
        "Instructions of user space per call: bare, and above it (callgrind)",
        [row.name for row in rows],
        "nonblocking: socket, connect, poll, SO_ERROR, close. ping-pong: send and recv over a "
        "connection.\nThe 64 are 64 descriptors, all ready.")
    for name in names:
        bare = figures[name][BARE]
        extra = counts.costs(figures[name], BARE)
        cells = {row: tables.signed(value) for row, value in extra.items()}
        cells[BARE] = tables.number(bare)
        limit = bench.limits.get(name)
        target = limit.target_for(bare) if limit and not isinstance(bare, str) else None
        if target is not None and LIBRETRY in cells:
            cells[LIBRETRY] = tables.marked(cells[LIBRETRY], tables.above(extra[LIBRETRY], target))
        table.add(name, cells, limit.target if limit else "-")
    return [table], figures


def time_calls(bench):
    """Wall time of loops, in nanoseconds a call and as ratios."""
    table = tables.Table(
        f"Wall time of loops, ratio to bare (median of {bench.rounds} interleaved rounds, "
        f"{paired.spread(bench.rounds)})",
        [row.name for row in bench.rows],
        "bare: nanoseconds per call, the best of 50 parts of a loop. again: bare once more, the "
        "noise.")
    data = {}
    for name in bench.chosen(bench.call_names):
        command = [bench.calls, "time", name, str(TIME_N.get(name, 10000))]
        taken = paired.interleaved(bench.rows, bench.rounds,
                                   lambda row, c=command: float(row.run(c, LIMIT)))
        ratios = paired.against(taken, BARE, paired.ratio)
        cells = {row: tables.ratio(value) for row, value in ratios.items()}
        if taken[BARE].values:
            cells[BARE] = f"{paired.middle(taken[BARE].values)[0]:,.0f} ns"
        table.add(name, cells)
        data[name] = {row: mine.text or mine.values for row, mine in taken.items()}
    table.note += "\n" + tables.noise(table)
    return [table], data


def strace(row, command):
    """{system call: how often}."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        # -E: strace itself is not under the preload.
        clean = type(row)(row.name, "", {"LIBRETRY_CONFIG": row.env["LIBRETRY_CONFIG"]})
        given = ["-E", "LD_PRELOAD=" + row.preload] if row.preload else []
        clean.run(["strace", "-f", "-c", "-U", "calls,name", "-o", out, *given, *command], LIMIT)
        with open(out, encoding="ascii") as lines:
            pairs = [line.split() for line in lines]
    return {p[1]: int(p[0]) for p in pairs if len(p) == 2 and p[0].isdigit() and p[1] != "total"}


def added_per_call(row, bench, name):
    """{system call: how often a call makes it}, fractions for what is not made each time."""
    once, twice = (strace(row, [bench.calls, "make", name, str(n)])
                   for n in (STRACE_N, 2 * STRACE_N))
    return {call: (count - once.get(call, 0)) / STRACE_N for call, count in twice.items()}


def system_calls(bench):
    """What the library adds to calls that succeed."""
    rows = {row.name: row for row in bench.rows if row.name in (BARE, LIBRETRY)}
    table = tables.Table("System calls per call, and what libretry adds (strace)",
                         [BARE, LIBRETRY, "which"])
    data = {}
    for name in bench.chosen(bench.call_names):
        figures = {row: added_per_call(rows[row], bench, name) for row in rows}
        bare, mine = figures[BARE], figures.get(LIBRETRY, {})
        more = {call: mine.get(call, 0) - bare.get(call, 0) for call in {**bare, **mine}}
        more = {call: count for call, count in more.items() if abs(count) > 0.001}
        total = sum(mine.values()) - sum(bare.values())
        allowed = ADDED.get(name, 0)
        table.add(name, {BARE: f"{sum(bare.values()):g}",
                         LIBRETRY: tables.marked(f"{total:+g}", total > allowed),
                         "which": ", ".join(f"{c} {n:+g}" for c, n in sorted(more.items()))},
                  str(allowed))
        data[name] = figures
    return [table], data
