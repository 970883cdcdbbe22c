# SPDX-License-Identifier: MIT
"""The part with whole programs that a busy machine does not disturb: instructions of
user space per operation of the client."""
import os

import counts
import tables
from rows import AGAIN, BARE, Failed, installed
from servers import Nginx, Postgres, Redis, postgres_folder

LIMIT = 15.0


def redis(server, n):
    return ["redis-benchmark", "-p", str(server.port), "-t", "get", "-c", "10", "-n", str(n),
            "--csv"]


def pgbench(server, n):
    return [os.path.join(postgres_folder(), "pgbench"), "-n", "-S", "-c", "1", "-t", str(n),
            "-h", "127.0.0.1", "-p", str(server.port), "-U", "bench", "postgres"]


def curl(server, _):
    return ["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{server.port}/"]


# Name, command, server, what it needs, few operations and many; none: the whole process.
OPERATIONS = (
    ("redis-benchmark, a GET", redis, Redis, ("redis-server", "redis-benchmark"), (2000, 6000)),
    ("pgbench, a SELECT", pgbench, Postgres, (), (200, 600)),
    ("curl, a process", curl, Nginx, ("nginx", "curl"), None),
)


def per_operation(row, server, command, sizes):
    row.run(command(server, 1), LIMIT)  # what hangs is found sooner so
    if sizes is None:
        return counts.totals(row, command(server, 1))[0]
    few, many = (counts.totals(row, command(server, n))[0] for n in sizes)
    return round((many - few) / (sizes[1] - sizes[0]))


def operations(bench):
    rows = [row for row in bench.rows if row.name != AGAIN]
    table = tables.Table("Instructions of user space per operation of a program: bare, and above "
                         "it (callgrind)", [row.name for row in rows])
    data = {}
    for name, command, server_of, needs, sizes in OPERATIONS:
        if not all(map(installed, needs)) or not postgres_folder() and server_of is Postgres:
            bench.say(f"{name}: not installed")
            continue
        bench.say(name)
        try:
            with server_of(rows[0]) as server:
                figures = {row.name: counts.attempt(per_operation, row, server, command, sizes)
                           for row in rows}
        except Failed as failure:
            bench.say(f"{name}: {failure}: {failure.why}")
            continue
        bare = figures[BARE]
        cells = {row: value if isinstance(value, str) else f"{value:+,} ({value / bare:+.1%})"
                 for row, value in counts.costs(figures, BARE).items()}
        cells[BARE] = tables.number(bare)
        table.add(name, {row: text.replace("%", " %") for row, text in cells.items()})
        data[name] = figures
    return [table], data
