# SPDX-License-Identifier: MIT
"""The parts that look at a whole process: startup, memory."""
import os
import re
import shutil
import subprocess
import time

import counts
import paired
import tables
from rows import AGAIN, BARE, EMPTY, LIBRETRY, Failed, kill_group

LIMIT = 20.0
STARTS = 20  # in each round
DIRTY_TARGET = {"started": 64, "used": 64, "configured": 192}  # KiB
CONFIGURATION = "conf/examples/database.conf"


def spawn(row, command):
    """Microseconds from the start of a process to its end. Only for commands that end."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(command[0], command, row.env)
    status = os.waitpid(pid, 0)[1]
    took = (time.perf_counter_ns() - begin) / 1000
    if status != 0:
        raise Failed("fails")
    return took


def start_up(bench):
    """Of true: instructions and wall time."""
    command = [shutil.which("true")]
    figures = counts.measure([r for r in bench.rows if r.name != AGAIN], bench.calls, ["true"], 0,
                             os.cpu_count() or 1)["true"]
    rows = []
    for row in bench.rows:
        try:
            row.run(command, LIMIT)  # it ends
            rows.append(row)
        except Failed:
            pass
    taken = paired.interleaved(rows, bench.rounds * STARTS, lambda row: spawn(row, command))
    wall = paired.against(taken, BARE, paired.difference)
    table = tables.Table("Start-up of true, bare and above it", [row.name for row in bench.rows],
                         f"wall time: medians of {bench.rounds * STARTS} interleaved starts, half "
                         "the 95 % interval; again: bare once more, the noise.")
    extra = counts.costs(figures, BARE)
    limit = bench.limits["true"]
    cells = {row: tables.signed(value) for row, value in extra.items()}
    cells[BARE] = tables.number(figures[BARE])
    if LIBRETRY in cells:
        cells[LIBRETRY] = tables.marked(cells[LIBRETRY],
                                        tables.above(extra[LIBRETRY], int(limit.target)))
    table.add("instructions", cells, limit.target)
    cells = {row: f"{value[0]:+.0f} ±{value[1]:.0f}" for row, value in wall.items()}
    cells[BARE] = f"{paired.middle(taken[BARE].values)[0]:.0f}"
    peers = [v for r, v in wall.items() if r not in (BARE, AGAIN, EMPTY, LIBRETRY)]
    if peers and LIBRETRY in wall:
        (mine, half), (least, its_half) = wall[LIBRETRY], min(peers)
        if mine >= least:
            cells[LIBRETRY] += " !" if mine - half > least + its_half else " ?"
    table.add("wall time, us", cells, "least")
    return [table], {"instructions": figures,
                     "wall_us": {row: mine.values for row, mine in taken.items()}}


def rollup(pid):
    """KiB and counts of a process."""
    figures = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        for line in lines:
            found = re.match(r"(Rss|Private_Clean|Private_Dirty): +(\d+) kB", line)
            if found:
                figures[found.group(1)] = int(found.group(2))
    with open(f"/proc/{pid}/status", encoding="utf-8") as text:
        figures["threads"] = int(re.search(r"^Threads:\s+(\d+)", text.read(), re.M).group(1))
    figures["descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
    return figures


def expect(child, word):
    line = child.stdout.readline()
    if line.strip() != word:
        raise Failed("fails")


def look_at(row, bench, env):
    """{"started": figures, "used": figures} of one process."""
    with subprocess.Popen([bench.calls, "stay"], env=dict(row.env, **env), text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, start_new_session=True) as child:
        guard = bench.guard(child, LIMIT)
        try:
            expect(child, "started")
            figures = {"started": rollup(child.pid)}
            child.stdin.write("\n")
            child.stdin.flush()
            expect(child, "used")
            figures["used"] = rollup(child.pid)
        except (BrokenPipeError, Failed):
            raise Failed("hangs" if guard.struck else "fails") from None
        finally:
            guard.cancel()
            kill_group(child)
    return figures


def memory(bench):
    """What a process has more of."""
    os.sync()  # the pages of a file that was just linked would count as dirty
    stages = [("started", {}, "after start"), ("used", {}, "after use")]
    configured = {"LIBRETRY_CONFIG": os.path.join(bench.source, CONFIGURATION),
                  "LIBRETRY_LOG": "none"}
    taken = paired.interleaved(bench.rows, min(bench.rounds, 9),
                               lambda row: look_at(row, bench, {}))
    mine = [row for row in bench.rows if row.name in (BARE, LIBRETRY)]
    with_file = paired.interleaved(mine, min(bench.rounds, 9),
                                   lambda row: look_at(row, bench, configured))
    table = tables.Table(
        "Memory of a process, KiB: bare, and above it (smaps_rollup, medians)",
        [row.name for row in bench.rows],
        "after use: one look-up, one connect and an exchange. with a file: after use, "
        f"{CONFIGURATION} read.")
    stages.append(("configured", with_file, "with a file"))
    for stage, source, label in stages:
        source = source or taken
        key = "used" if stage == "configured" else stage
        for what, short in (("Private_Dirty", "private dirty"), ("Private_Clean", "private clean"),
                            ("threads", "threads"), ("descriptors", "descriptors")):
            add_line(table, f"{short}, {label}", source, lambda f, k=key, w=what: f[k][w],
                     DIRTY_TARGET[stage] if what == "Private_Dirty" else
                     0 if what in ("threads", "descriptors") else None)
    data = {"none": {r: t.text or t.values for r, t in taken.items()},
            "file": {r: t.text or t.values for r, t in with_file.items()}}
    return [table], data


def add_line(table, label, taken, pick, target):
    bare = paired.middle([pick(f) for f in taken[BARE].values])[0]
    cells = {}
    for row, one in taken.items():
        if one.text:
            cells[row] = one.text
            continue
        value = paired.middle([pick(f) for f in one.values])[0]
        cells[row] = f"{value:g}" if row == BARE else f"{value - bare:+g}"
        if row == LIBRETRY and target is not None:
            cells[row] = tables.marked(cells[row], value - bare > target)
    table.add(label, cells, "-" if target is None else str(target))
