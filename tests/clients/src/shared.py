# SPDX-License-Identifier: MIT
"""
What processes remember together, seen from outside.

Usage: shared.py CASE [short|long]; for the environment see crowd.py.

Prints what was measured. Status 1, and what is wrong, if it is not as it should be.
"""

import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import time

from crowd import (CALLER, DIR, MS, S, SLACK, Records, Server, Wire, check, conf, environment,
                   now, peak, segment, start, stats, wait_for)

LONG = sys.argv[2:] == ["long"]
CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


# ---- killed at random -----------------------------------------------------

class Crowd:
    """50 programs that are killed at random and started again."""

    def __init__(self, config, port):
        self.config, self.port = config, port
        self.ending = False
        self.records = os.path.join(DIR, "records")
        self.running = {}
        self.kills, self.due = 0, {}
        self.others = {"begun": 0, "failed": 0, "killed": 0}
        for i in range(50):
            self.begin(i)

    def begin(self, i):
        if self.ending:
            return
        if i >= 46:
            command = ["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{self.port}/"]
            if i >= 48:
                command = [sys.executable, "-S", "-c", "import socket as s, sys\n"
                           f"sys.exit(7 * s.socket().connect_ex(('127.0.0.1', {self.port})))"]
            self.others["begun"] += 1
        else:
            command = [CALLER, "--gap", 150, "--records", self.records, "--how",
                       "block" if i % 2 else "poll"]
            if i % 5 == 0:
                command += ["-t", 3]
            command.append(self.port)
        self.running[i] = start(self.config, *command, stderr=subprocess.DEVNULL)

    def reap(self):
        for i, p in list(self.running.items()):
            if p.poll() is None:
                continue
            del self.running[i]
            if i >= 46:
                killed = p.returncode == -signal.SIGKILL
                # curl: "refused", "timed out"; "empty reply" is a success here.
                self.others["failed"] += not killed and p.returncode not in (0, 52, 56)
                self.others["killed"] += killed
            elif p.returncode != -signal.SIGKILL:
                # It may have been told to stop before it could hear.
                check(p.returncode == 0 or (self.ending and p.returncode == -signal.SIGUSR1),
                      f"a caller ended with {p.returncode}")
            self.due[i] = now() + 100 * MS
        for i in [i for i, at in self.due.items() if at <= now()]:
            del self.due[i]
            self.begin(i)

    def kill_one(self):
        running = [p for p in self.running.values() if p.poll() is None]
        if running:
            random.choice(running).kill()
            self.kills += 1

    def finish(self, seconds):
        self.ending = True
        for i, p in self.running.items():
            if i < 46:
                p.send_signal(signal.SIGUSR1)
        end = now() + int(seconds * S)
        while self.running:
            check(now() < end, f"{len(self.running)} survivors hang")
            time.sleep(0.02)
            self.reap()


def killed(name, **policy):
    seconds = 60 if LONG else 6
    deadline, attempt = 700 * MS, 300 * MS
    config = conf("killed", max_attempts=8, base_delay="20ms", max_delay="200ms",
                  deadline="700ms", attempt_timeout="300ms", layering="ignore", **policy)
    server, inode = Server(), 0
    wire = Wire(server.port)
    # Down for 0.3 to 1.5 s, up for as long; but the first time for much longer than anybody
    # may wait.
    switches, at = [], now()
    for i in range(2 * (seconds + 60)):
        at += (3500 if i == 1 else random.randrange(300, 1500)) * MS
        switches.append(at)
    server.serve()
    server.switch(switches)
    crowd, end = Crowd(config, server.port), now() + seconds * S
    while now() < end or (crowd.kills < 50 and now() < end + 30 * S):
        time.sleep(0.04)
        crowd.reap()
        for _ in range(3):
            crowd.kill_one()
        wire.read()
        inode = inode or segment()
    crowd.finish((deadline + attempt + 2 * SLACK) / S + 5)
    judge_killed(name, crowd, Records(crowd.records), wire, stats(server.port),
                 deadline + attempt + SLACK)
    check(inode and segment() == inode, "it is not the segment that it was")
    server.stop()


def judge_killed(name, crowd, r, wire, s, limit):
    o = crowd.others
    begun, failed = r.begun + o["begun"], r.failed + o["failed"]
    unended = len(r.without_end) + o["killed"]
    shown = s["gave_up"] + s["passed"] + s["abandoned"]
    syns = len(wire.read())
    # Calls that a process had not added yet: those after its last failure.
    last = {}
    for began, _, pid, _, error in r.ended:
        if error:
            last[pid] = max(last.get(pid, 0), began)
    late = sum(1 for began, _, pid, _, _ in r.ended if began >= last.get(pid, 0)) + \
        unended + o["begun"]
    print(f"{name}: {crowd.kills} killed; {begun} calls, {failed} failed, {unended} cut off; "
          f"longest {r.longest / MS:.0f} ms of {(limit - SLACK) / MS:.0f}\n"
          f"  libretry stats: {s['calls']} calls, {s['retries']} retries, {s['recovered']} "
          f"recovered, {shown} failed, {s['gave_up_budget']} by the budget, "
          f"{s['gave_up_breaker']} by the breaker, {s['parked']} parked, {s['probes']} probes; "
          f"on the wire {syns}", flush=True)
    check(begun > 300 and s["retries"] + s["probes"] > 5 and crowd.kills >= 50 and unended > 0,
          "too little happened")
    check(r.longest <= limit, f"a call took {r.longest / MS:.0f} ms")
    check(failed <= shown <= failed + unended, f"failed: {failed} seen, {shown} counted")
    check(begun - late <= s["calls"] <= begun, f"calls: {begun} made, {s['calls']} counted")
    # Each attempt is a first one, or counted; of a first one that the breaker refused
    # nothing is on the wire, which is a subset of what it refused; nor of one that waited
    # for others until its deadline.
    most, unmade = begun + s["retries"], s["gave_up_breaker"]
    if name == "coordinated":
        unmade += s["gave_up_deadline"]
    check(most - unended - unmade <= syns <= most,
          f"on the wire {syns}, counted {most}")


@case
def killed_budget():
    killed("budget", budget={"scope": "user", "min_retries_per_second": 40})


@case
def killed_breaker():
    killed("breaker", budget={"scope": "user", "kind": "none"},
           breaker={"enabled": True, "open_for": "200ms", "max_open_for": "500ms",
                    "consecutive_failures": 20, "half_open_probes": 2})


@case
def killed_coordinated():
    killed("coordinated", budget={"scope": "user", "kind": "none"}, coordinate=True)


# ---- programs of other words ----------------------------------------------

@case
def two_words():
    """32- and 64-bit programs, of which nobody is killed: so all numbers are exact."""
    config = conf("two-words", max_attempts=4, base_delay="20ms", max_delay="100ms",
                  layering="ignore", budget={"scope": "user", "min_retries_per_second": 40})
    server = Server()
    wire = Wire(server.port)
    server.serve()
    server.switch([now() + i * 700 * MS for i in range(1, 121)])
    path = {}
    crowd = []
    for name, library, program in (("64", None, CALLER),
                                   ("32", os.environ.get("LIBRETRY_SO32"),
                                    os.path.join(DIR, "caller32"))):
        path[name] = os.path.join(DIR, f"words-{name}")
        for how in ("block", "poll"):
            run = os.environ.get("RUN32", "").split() if library else []
            crowd.append(start(config, *run, program, "-n", 10, "--how", how, "--gap", 100,
                               "--calls", 25, "--records", path[name], server.port,
                               library=library))
    wait_for(crowd, 90, "two words")
    server.stop()
    s, records = stats(server.port), [Records(p) for p in path.values()]
    begun, failed = (sum(getattr(r, k) for r in records) for k in ("begun", "failed"))
    print(f"64 and 32 bit: {records[0].begun} + {records[1].begun} calls, {records[0].failed} + "
          f"{records[1].failed} failed; libretry stats: {s['calls']} calls, {s['gave_up']} "
          f"failed, {s['retries']} retries, {s['recovered']} recovered; on the wire "
          f"{len(wire.read())}", flush=True)
    check(all(r.failed > 20 for r in records), "too little happened")
    check(segment(), "there is no segment")
    check(s["gave_up"] + s["passed"] == failed, "failed calls do not add up")
    check(len(wire.times) == begun + s["retries"], "retries do not add up")


# ---- retries that multiply ------------------------------------------------

@case
def curl():
    def one(name, programs, allowed, **policy):
        server, begin = Server(), now()
        wire = Wire(server.port)
        config = conf(name, max_attempts=5, base_delay="10ms", max_delay="50ms", **policy)
        wait_for([start(config, "sh", "-c", "curl -s -m 30 --retry 5 --retry-delay 1 "
                        f"--retry-connrefused http://127.0.0.1:{server.port}/; [ $? = 7 ]")
                  for _ in range(programs)], 60, "curl")
        firsts, spent = 6 * programs, (now() - begin) / S
        syns = len(wire.read())
        most = firsts + allowed(firsts, spent)
        print(f"curl --retry 5, {programs} at a time, {name}: {firsts} first attempts, "
              f"{syns} on the wire, at most {most}", flush=True)
        return syns, most

    syns, most = one("no-budget", 4, lambda first, _: 4 * first, layering="ignore",
                     budget={"kind": "none"})
    check(syns == most, "there is something else that limits it")
    # So many in 10 s, and as they are forgotten, more.
    syns, most = one("ratio-of-all", 4,
                     lambda first, t: int((first / 5 + 10) * (1 + t / 10)), layering="ignore",
                     budget={"scope": "user", "ratio": 0.2, "min_retries_per_second": 1})
    check(24 < syns <= most, "the budget did not hold")
    # 500 tokens, 5 for a retry: as many as 100 in all, and 1,000 would be wanted.
    syns, most = one("tokens-of-all", 12, lambda first, _: 100, layering="ignore",
                     budget={"scope": "user", "kind": "tokens"})
    check(syns == most, "the budget did not hold")
    syns, most = one("ratio-each", 4,
                     lambda first, t: int((first / 5 + 4 * 10) * (1 + t / 10)),
                     layering="ignore",
                     budget={"ratio": 0.2, "min_retries_per_second": 1})
    check(24 < syns <= most, "the budget did not hold")


# ---- the end of the open time ---------------------------------------------

OPEN_FOR = 1500 * MS
ATTEMPT = 700 * MS


class HalfOpen:
    """20 processes of 5 threads that call when the open time is over. <dropped>: segments
    are dropped, so that no probe has failed before all have gone; else they are refused."""

    def __init__(self, probes, dropped):
        self.name = f"{probes} probes, {'dropped' if dropped else 'refused'}"
        self.probes, self.dropped = probes, dropped
        self.records = os.path.join(DIR, f"half-open-{probes}-{dropped}")
        config = conf(f"half-open-{probes}", max_attempts=3, base_delay="10ms",
                      max_delay="20ms", deadline="5s", attempt_timeout="700ms", jitter="none",
                      layering="ignore", budget={"scope": "user", "kind": "none"},
                      breaker={"enabled": True, "open_for": "1500ms",
                               "max_open_for": "1500ms", "consecutive_failures": 3,
                               "half_open_probes": probes})
        server = Server(backlog=0)
        if dropped:
            server.listen()
            self.fill(server)
        self.server, self.wire = server, Wire(server.port)
        out, self.gate = os.pipe()
        self.callers = start(config, CALLER, "-n", 20, "-t", 5, "--gate", "--records",
                             self.records, server.port, stdin=out)
        os.close(out)
        self.calls, self.rounds = 0, []

    def fill(self, server):
        """The queue of a server that does not accept, and then some."""
        self.holders = []
        for _ in range(3):
            c = socket.socket()
            c.setblocking(False)
            c.connect_ex(("127.0.0.1", server.port))
            self.holders.append(c)
            time.sleep(0.05)

    def begin(self, calls):
        self.before = len(self.wire.read())
        self.calls += calls
        os.write(self.gate, b"x" * calls)

    def end(self):
        end = time.monotonic() + 60
        while not os.path.exists(self.records) or len(Records(self.records).ended) < self.calls:
            check(time.monotonic() < end, f"{self.name}: calls do not end")
            time.sleep(0.05)
        self.arrived = len(self.wire.read()) - self.before

    def judge(self):
        began = sorted(r[0] for r in Records(self.records).ended)[-100:]
        # On a loaded machine the breaker may be half-open again before all have called.
        if began[-1] - began[0] < OPEN_FOR:
            self.rounds.append(self.arrived)

    def over(self):
        """When the open time is."""
        return self.wire.times[-1] + (ATTEMPT if self.dropped else 0) + OPEN_FOR + 200 * MS


@case
def probes():
    kinds = [HalfOpen(n, dropped) for n in (1, 3) for dropped in (False, True)]
    for kind in kinds:
        kind.begin(1)
    for _ in range(20 if LONG else 5):
        for kind in kinds:
            kind.end()
        time.sleep(max(0, max(kind.over() for kind in kinds) - now()) / S)
        for kind in kinds:
            kind.begin(100)
        for kind in kinds:
            kind.end()
            kind.judge()
    for kind in kinds:
        os.close(kind.gate)
    wait_for([kind.callers for kind in kinds], 20, "at the gate")
    for kind in kinds:
        print(f"20 processes x 5 threads, {kind.name}: {kind.rounds} arrived", flush=True)
        # The first that is refused opens it again, so that there may be fewer.
        least = kind.probes if kind.dropped else 1
        check(kind.rounds, "the machine is too slow")
        check(all(least <= n <= kind.probes for n in kind.rounds), "not so many")


# ---- a herd ---------------------------------------------------------------

def simulated_peaks(config):
    """Most retries in 100 ms, of 1,000 clients that lose the server at one moment, in the
    median and at most of 40 runs."""
    peaks = []
    for seed in range(40):
        out = subprocess.run([os.environ["LIBRETRY"], "simulate", "--world=herd", "--json",
                              "--clients=1000", "--window=100ms", f"--config={config}",
                              "--policy=default", "--seeds=1", f"--seed={seed}"],
                             env=environment(), stdout=subprocess.PIPE, check=True)
        peaks.append(json.loads(out.stdout)[0]["peak_window"])
    return sorted(peaks)[20], max(peaks)


def retries_of(wire, records):
    """The times of all attempts but each call's first: the next after it began."""
    times, retries, at = sorted(wire.read()), [], 0
    for began in sorted(r[0] for r in records.ended):
        while at < len(times) and times[at] < began:
            retries.append(times[at])
            at += 1
        at += 1
    return retries + times[at:]


def herd(name, **policy):
    """1,000 connects under way, from 10 processes; the server comes late."""
    config = conf(f"herd-{name}", max_attempts=6, base_delay="500ms", max_delay="2s",
                  deadline="30s", layering="ignore", budget={"kind": "none"}, **policy)
    server = Server()
    wire = Wire(server.port)
    path = os.path.join(DIR, f"herd-{name}-{now()}")
    crowd = start(config, CALLER, "-n", 10, "--how", "open", "--at-once", 100, "--records",
                  path, server.port)
    end = time.monotonic() + 30
    while len(wire.read()) < 1000:
        check(time.monotonic() < end, "they do not begin")
        time.sleep(0.02)
    # Late: when the second retries are made.
    time.sleep(0.8)
    server.serve()
    wait_for([crowd], 60, "herd")
    server.stop()
    records = Records(path)
    # By chance all waits of some are short.
    check(len(records.ended) == 1000 and records.failed < 50, "they did not get through")
    began = [r[0] for r in records.ended]
    most = peak(retries_of(wire, records), 100 * MS)
    print(f"herd, {name}: {len(wire.times)} attempts, begun within "
          f"{(max(began) - min(began)) / MS:.0f} ms; at most {most} retries in 100 ms", end="")
    return config, most


@case
def herds():
    limit = 0
    for name, policy in (("full", {"jitter": "full"}), ("proportional", {})):
        for _ in range(3):  # what others do on the machine brings retries together
            config, most = herd(name, **policy)
            median, limit = simulated_peaks(config)
            print(f"; simulated {median}, at most {limit}", flush=True)
            if most <= limit:
                break
        check(most <= limit, "a peak above the simulated ones")
    # What has no jitter must show, or nothing was measured.
    config, most = herd("none", jitter="none")
    print(f"; simulated {simulated_peaks(config)[0]}", flush=True)
    check(most > limit, "nothing was measured")


# ---- recovery -------------------------------------------------------------

class Side:
    """One of the configurations that are compared: its callers and its server."""

    def __init__(self, name, processes, **policy):
        self.name, self.processes = name, processes
        self.capacity = processes * 5 // 4
        config = conf(name, base_delay="100ms", max_delay="1s", jitter="full", max_attempts=10,
                      deadline="5s", attempt_timeout="500ms", layering="ignore", **policy)
        self.server = Server(backlog=self.capacity // 5)
        self.wire = Wire(self.server.port)
        self.path = os.path.join(DIR, f"side-{name}-{self.server.port}")
        # Each begins one call per second, four fifths of what the server can do.
        self.command = [CALLER, "-n", processes, "--how", "mixed", "--gap", 1000, "--ask", 500,
                        "--records", self.path, self.server.port]
        self.config = config

    def begin(self, seconds):
        self.server.serve(self.capacity, b"here\n")
        self.callers = start(self.config, *self.command[:-1], "--for", int(seconds * 1000),
                             self.command[-1])

    def has_begun(self):
        """A quarter of a second's calls of each."""
        return os.path.exists(self.path) and \
            len({r[2] for r in Records(self.path).ended}) > self.processes * 3 // 4

    def stop(self, end):
        self.callers.kill()  # and its processes die with it
        self.callers.wait()
        self.server.stop()
        hang = [c for c in Records(self.path).without_end if c[0] < end]
        check(not hang, f"{self.name}: {len(hang)} calls without an end")

    def judge(self, down, up, flaps_from, flaps_to, end):
        r = Records(self.path)
        calls = [(c[0], c[4] == 0) for c in r.ended if down - 2 * S <= c[0] < end]
        self.calls = len(calls)

        def share(begin, end):
            those = [ok for began, ok in calls if begin <= began < end]
            return 100 * sum(those) / len(those) if those else math.nan

        self.success = share(0, end)
        self.outage, self.flaps = share(down, up), share(flaps_from, flaps_to)
        self.knocks = self.wire.between(down, up)
        self.attempts = self.wire.between(down - 2 * S, end)
        self.peak = peak(sorted(t for t in self.wire.times if t >= up), 100 * MS)
        self.recovery = math.inf
        for t in range(up, flaps_from - S, 100 * MS):
            if share(t, t + S) >= 95:
                self.recovery = (t - up) / S
                break


def run_sides(sides, seconds):
    """At one time. Warm up, outage, recovery, flapping, steady again."""
    for side in sides:
        side.begin(seconds + 100)
    while not all(side.has_begun() for side in sides):
        time.sleep(0.2)
    begin = now()
    down = begin + (5 if LONG else 2) * S
    up = down + (5 if LONG else 3) * S
    flaps_from = up + (15 if LONG else 4) * S
    flaps = [flaps_from + i * (S if LONG else S // 2) for i in range(6)]
    end = begin + seconds * S
    for side in sides:
        side.server.switch([down, up] + flaps)
    # Until the calls that began in time are over.
    while now() < end + 6 * S + SLACK:
        time.sleep(0.5)
        for side in sides:
            side.wire.read()
    for side in sides:
        side.stop(end)
        side.judge(down, up, flaps_from, flaps[-1], end)


def one_recovery():
    """The sides in order: independent, the budget alone, coordinated, both."""
    processes, seconds = (200, 40) if LONG else (60, 14)
    shared = {"scope": "user", "kind": "none"}
    sides = [Side("alone", processes, budget={"kind": "none"}),
             Side("budget", processes, budget={"scope": "user"}),
             Side("coordinated", processes, budget=shared, coordinate=True),
             Side("both", processes, budget={"scope": "user"}, coordinate=True)]
    for some in [[side] for side in sides] if LONG else [sides]:
        run_sides(some, seconds)
    print(f"{processes} processes, {processes} calls/s on a server for {sides[0].capacity}/s, "
          f"a queue of {sides[0].server.backlog}; outage of {5 if LONG else 3} s, then 3 "
          f"times {1 if LONG else 0.5} s down\n"
          f"{'':14} {'CALLS':>6} {'ATTEMPTS':>8} {'KNOCKS':>7} {'RECOVERY':>8} {'PEAK':>5} "
          f"{'SUCCESS':>8} {'OUTAGE':>7} {'FLAPS':>7}")
    for side in sides:
        print(f"{side.name:14} {side.calls:6} {side.attempts:8} {side.knocks:7} "
              f"{side.recovery:7.1f}s {side.peak:5} {side.success:7.1f}% {side.outage:6.1f}% "
              f"{side.flaps:6.1f}%", flush=True)
    return sides


@case
def recovery():
    for _ in range(1 if LONG else 3):  # a machine that is busy makes the server slow
        alone, budget, together, both = one_recovery()
        if together.recovery < 3 and both.recovery < 3:
            break
    # Each probe fails at once here, so there is one for each gap between them.
    for side in (together, both):
        check(0 < side.knocks < 40, f"{side.name}: {side.knocks} knocks during the outage")
        check(side.recovery < 3, f"{side.name}: the server does not recover")
    check(budget.knocks < alone.knocks, "the budget did not hold")
    check(alone.knocks > 5 * together.knocks, "nothing was measured")


if __name__ == "__main__":
    CASES[sys.argv[1]]()
