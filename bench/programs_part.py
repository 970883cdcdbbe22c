# SPDX-License-Identifier: MIT
"""The part with whole programs: how much of the bare program's throughput is left."""
import contextlib
import os
import re
import resource
import time

import paired
import tables
from rows import BARE, LIBRETRY, Failed, installed
from servers import Nginx, Postgres, Redis, postgres_folder

LIMIT = 30.0
CURLS = 20
GETS = 30000


# Each returns (operations a second, operations).

def redis_benchmark(row, server, _):
    out = row.run(["redis-benchmark", "-p", str(server.port), "-t", "get", "-c", "10",
                   "-n", str(GETS), "--csv"], LIMIT)
    return found(r'^"GET","([0-9.]+)"', out), GETS


def wrk(row, server, _):
    out = row.run(["wrk", "-t1", "-c10", "-d1s", f"http://127.0.0.1:{server.port}/"], LIMIT)
    return found(r"Requests/sec:\s+([0-9.]+)", out), found(r"([0-9]+) requests in", out)


def pgbench(row, server, _):
    out = row.run([os.path.join(postgres_folder(), "pgbench"), "-n", "-S", "-c", "4", "-t", "1500",
                   "-h", "127.0.0.1", "-p", str(server.port), "-U", "bench", "postgres"], LIMIT)
    return found(r"^tps = ([0-9.]+)", out), 4 * 1500


def node(mode, count):
    def measure(row, server, bench):
        script = os.path.join(bench.source, "bench", "http_client.js")
        return float(row.run(["node", script, str(server.port), str(count), mode], LIMIT)), count
    return measure


def curls(row, server, _):
    begin = time.monotonic()
    for _ in range(CURLS):
        row.run(["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{server.port}/"], LIMIT)
    return CURLS / (time.monotonic() - begin), CURLS


def found(pattern, text):
    match = re.search(pattern, text, re.M)
    if not match:
        raise Failed("fails")
    return float(match.group(1))


class Program:
    """What is run against which server, and which of the two is under the preload."""

    def __init__(self, name, measure, server, needs, preloaded="client"):
        self.name = name
        self.measure = measure
        self.server = server
        self.needs = needs
        self.preloaded = preloaded

    def missing(self):
        lacking = [n for n in self.needs if not installed(n)]
        if self.server is Postgres and not postgres_folder():
            lacking.append("pgbench")
        return lacking


PROGRAMS = (
    Program("redis-benchmark", redis_benchmark, Redis, ("redis-server", "redis-benchmark")),
    Program("redis-server", redis_benchmark, Redis, ("redis-server", "redis-benchmark"), "server"),
    Program("wrk", wrk, Nginx, ("nginx", "wrk")),
    Program("nginx", wrk, Nginx, ("nginx", "wrk"), "server"),
    Program("pgbench", pgbench, Postgres, ()),
    Program("node, kept alive", node("keep", 2000), Nginx, ("nginx", "node")),
    Program("node, reconnecting", node("close", 1500), Nginx, ("nginx", "node")),
    Program("curl", curls, Nginx, ("nginx", "curl")),
)


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def with_cpu(used, measure):
    """(operations a second, microseconds of processor an operation)."""
    before = used()
    rate, operations = measure()
    return rate, (used() - before) * 1e6 / operations


def run_program(program, bench):
    """{row's name: Taken} of one program."""
    bare = next(row for row in bench.rows if row.name == BARE)
    with contextlib.ExitStack() as stack:
        if program.preloaded == "client":
            server = stack.enter_context(program.server(bare))
            return paired.interleaved(
                bench.rows, bench.rounds,
                lambda row: with_cpu(children_cpu, lambda: program.measure(row, server, bench)))
        servers = {}

        def measure(row):
            if row.name not in servers:
                servers[row.name] = stack.enter_context(program.server(row))
            server = servers[row.name]
            return with_cpu(server.cpu, lambda: program.measure(bare, server, bench))

        return paired.interleaved(bench.rows, bench.rounds, measure)


def judged(value, worse, rounds):
    """"!" if it is on the wrong side of its target, "?" if that is not sure."""
    text = tables.ratio(value)
    if isinstance(value, str):
        return tables.marked(text, True)
    low, high = value[0] - value[1], value[0] + value[1]
    if worse(low) and worse(high) and rounds >= paired.ENOUGH:
        return tables.marked(text, True)
    return text + " ?" if worse(value[0]) else text


# Title, what stands under bare, the figure's place, target, what is worse than it.
FIGURES = (
    ("Throughput of programs", "a second", 0, "0.99", lambda ratio: ratio < 0.99),
    ("Processor time of programs per operation", "microseconds", 1, "1.01",
     lambda ratio: ratio > 1.01),
)


def fill(table, name, taken, place, target, worse):
    ratios = paired.against(taken, BARE, paired.ratio_of(place))
    cells = {row: tables.ratio(value) for row, value in ratios.items()}
    if LIBRETRY in ratios:
        cells[LIBRETRY] = judged(ratios[LIBRETRY], worse, len(taken[LIBRETRY].values))
    if taken[BARE].values:
        cells[BARE] = f"{paired.middle([v[place] for v in taken[BARE].values])[0]:,.0f}"
    table.add(name, cells, target)


def programs(bench):
    made = [tables.Table(
        f"{title}, ratio to bare (median of {bench.rounds} interleaved rounds, "
        f"{paired.spread(bench.rounds)})", [row.name for row in bench.rows],
        f"bare: {unit}. again: bare once more, the noise. redis-server and nginx: the server is "
        "under the preload, else the client.\n?: beyond the target, but not for sure.")
            for title, unit, *_ in FIGURES]
    data = {}
    by_name = {p.name: p for p in PROGRAMS}
    for name in bench.chosen(list(by_name)):
        lacking = by_name[name].missing()
        if lacking:
            bench.say(f"{name}: not installed: {' '.join(lacking)}")
            continue
        bench.say(name)
        try:
            taken = run_program(by_name[name], bench)
        except Failed as failure:
            bench.say(f"{name}: {failure}: {failure.why}")
            continue
        for table, (_, _, place, target, worse) in zip(made, FIGURES):
            fill(table, name, taken, place, target, worse)
        data[name] = {row: mine.text or mine.values for row, mine in taken.items()}
    for table in made:
        table.note += "\n" + tables.noise(table)
    return made, data
