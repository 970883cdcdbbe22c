# SPDX-License-Identifier: MIT
"""Instructions of user space, by callgrind: the same on a busy machine."""
import glob
import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

from rows import Failed

LIMIT = 120.0


def available():
    return shutil.which("valgrind") is not None


def totals(row, command, options=()):
    """Instructions in each part of the run; parts end where options say."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        row.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, *options, *command],
                LIMIT)
        # out.1, out.2 ... in the order of the dumps, out itself for the rest
        files = sorted(glob.glob(out + ".[0-9]*"), key=lambda f: int(f.rsplit(".", 1)[1])) + [out]
        return [total_of(f) for f in files]


def total_of(path):
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = re.match(r"(?:summary|totals): (\d+)", line)
            if found:
                return int(found.group(1))
    raise Failed("fails")


def per_call(row, calls, name, n):
    """Of 2 n calls and n calls in one process the difference: only the call is in it."""
    parts = totals(row, [calls, "count", name, str(n)], ["--dump-before=phase"])
    if len(parts) != 4:
        raise Failed("fails")
    return (parts[2] - parts[1] + n // 2) // n


def start_up(row):
    """Of a program that does nothing: the loader and constructors."""
    return totals(row, ["true"])[0]


def attempt(measure, *arguments):
    """A figure, or the text for the table."""
    try:
        return measure(*arguments)
    except Failed as failure:
        return str(failure)


def measure(rows, calls, names, n, threads):
    """{name: {row: instructions}}; "true" is start_up, the others are calls."""
    jobs = {}
    with ThreadPoolExecutor(threads) as pool:
        for name in names:
            for row in rows:
                work = (start_up, row) if name == "true" else (per_call, row, calls, name, n)
                jobs[name, row.name] = pool.submit(attempt, *work)
    return {name: {row.name: jobs[name, row.name].result() for row in rows} for name in names}


def costs(figures, base):
    """What each row has above the row base; texts stay."""
    bare = figures[base]
    return {row: value if isinstance(value, str) or isinstance(bare, str) else value - bare
            for row, value in figures.items()}
