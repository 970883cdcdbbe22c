#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
soak.py SECONDS: clients of many kinds, all under the library with one segment,
against servers that come and go; some clients are killed, some are stopped for a
while. Nothing may hang, leak or be counted wrongly.

From the environment: LIBRETRY_SO, LIBRETRY, BIN (folder of epoll_loop), CASE_DIR.
Prints figures; ends with 1 and a line "fault: ..." for each fault. SEED repeats the
order of events, as far as the machine does. With SOAK_LEAK=1 a client leaves an object
in /dev/shm behind, which must be a fault.
"""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

SECONDS = float(sys.argv[1])
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
DIR = os.environ["CASE_DIR"]
WORKERS = 4
CLIENT_LIMIT = 60.0  # a client's deadline is far below
CONF = os.path.join(DIR, "soak.conf")
faults = []
stop = threading.Event()
lock = threading.Lock()


def fault(text):
    with lock:
        faults.append(text)
    print("fault:", text, flush=True)


class Server(threading.Thread):
    """One port: up for a while, then down (refused); some answers are cut."""

    def __init__(self, rng):
        super().__init__(daemon=True)
        self.rng = rng
        probe = socket.socket()
        probe.bind(("127.0.0.1", 0))
        self.port = probe.getsockname()[1]
        probe.close()
        self.served = 0

    def serve(self, conn):
        kind = self.rng.random()
        try:
            if kind < 0.1:
                conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            else:
                if kind < 0.2:
                    stop.wait(0.05)
                conn.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")
                self.served += 1
                # Else the request, unread, makes a reset of the close.
                conn.settimeout(0.2)
                conn.recv(4096)
        except OSError:
            pass
        conn.close()

    def run(self):
        while not stop.is_set():
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", self.port))
            except OSError:
                stop.wait(0.05)
                continue
            listener.listen(64)
            listener.settimeout(0.1)
            until = time.monotonic() + self.rng.uniform(0.3, 1.2)
            while time.monotonic() < until and not stop.is_set():
                try:
                    self.serve(listener.accept()[0])
                except socket.timeout:
                    pass
            listener.close()
            stop.wait(self.rng.uniform(0.1, 0.8))


PY = """
import asyncio, sys
async def main():
    r, w = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    w.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    await r.read()
asyncio.run(main())
"""
JS = """
const s = require("net").connect(+process.argv[1], "127.0.0.1");
s.on("connect", () => s.write("GET / HTTP/1.0\\r\\n\\r\\n"));
s.on("error", () => process.exit(1)); s.on("data", () => {}); s.on("close", () => process.exit(0));
"""
LEAK = """
import mmap
with open("/dev/shm/left-behind", "w+b") as f:
    f.truncate(4096)
    mmap.mmap(f.fileno(), 4096)[0] = 1
"""


def commands(port):
    url = f"http://127.0.0.1:{port}/"
    all_of_them = [
        ["curl", "-s", "--max-time", "40", url],
        ["wget", "-q", "-O", "-", "--tries=1", "--timeout=40", url],
        ["python3", "-c", PY, str(port)],
        ["node", "-e", JS, str(port)],
        ["psql", "-h", "127.0.0.1", "-p", str(port), "-c", "select 1", "postgres"],
    ]
    return [c for c in all_of_them if shutil.which(c[0])]


class Worker(threading.Thread):
    """Runs clients, one after the other, and disturbs some of them."""

    def __init__(self, number, rng, servers):
        super().__init__(daemon=True)
        self.number, self.rng, self.servers = number, rng, servers
        self.runs = self.killed = self.stopped = self.good = 0
        self.said = {}

    def disturb(self, child):
        kind = self.rng.random()
        if kind > 0.25:
            return
        time.sleep(self.rng.uniform(0, 0.4))
        if child.poll() is not None:
            return
        if kind < 0.1:
            child.kill()
            self.killed += 1
            return
        child.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.05, 0.5))
        child.send_signal(signal.SIGCONT)
        self.stopped += 1

    def run_one(self):
        port = self.rng.choice(self.servers).port
        command = self.rng.choice(commands(port))
        log = os.path.join(DIR, f"log.{self.number}")
        if os.path.exists(log):
            os.unlink(log)
        child = subprocess.Popen(command, env=environment(log), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.disturb(child)
        try:
            status = child.wait(CLIENT_LIMIT)
        except subprocess.TimeoutExpired:
            fault(f"{command[0]} on port {port} hangs")
            child.kill()
            status = child.wait()
        self.runs += 1
        self.good += status == 0
        count_log(log, self.said)

    def run(self):
        while not stop.is_set():
            self.run_one()


def environment(log):
    env = {k: os.environ[k] for k in ("PATH", "LANG") if k in os.environ}
    env.update(LD_PRELOAD=os.environ["LIBRETRY_SO"], LIBRETRY_CONFIG=CONF, HOME=DIR,
               LIBRETRY_LOG=f"file:{log}")
    return env


EVENT = re.compile(r" (retry|recovered|gave-up|abandoned|suppressed) ")


def count_log(path, said):
    try:
        with open(path, errors="replace") as f:
            for line in f:
                m = EVENT.search(line)
                if m and " op=lookup " not in line:
                    said[m[1]] = said.get(m[1], 0) + 1
    except FileNotFoundError:
        pass


def rss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        text = f.read()
    return sum(int(n) for n in re.findall(r"^Private_\w+:\s+(\d+)", text, re.M))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def shm():
    found = {}
    for e in os.scandir("/dev/shm"):
        found[e.name] = e.stat().st_size
    return found


def stats():
    out = subprocess.run([os.environ["LIBRETRY"], "stats", "--json"], capture_output=True,
                         text=True, check=True).stdout
    total = {}
    for d in json.loads(out)["destinations"]:
        for key, value in d.items():
            if isinstance(value, int) and not isinstance(value, bool):
                total[key] = total.get(key, 0) + value
    return total


def main():
    print("seed", SEED, flush=True)
    rng = random.Random(SEED)
    with open(CONF, "w") as f:
        f.write("""version = 1;
policies = { default = { base_delay = "20ms"; max_delay = "200ms"; max_attempts = 12;
    deadline = "10s"; budget = { kind = "none"; scope = "user"; }; }; };
stats = { enabled = true; };
""")
    servers = [Server(random.Random(rng.random())) for _ in range(4)]
    for s in servers:
        s.start()
    ports = [str(s.port) for s in servers]
    long_log = os.path.join(DIR, "log.long")
    long_lived = subprocess.Popen([os.environ["BIN"] + "/epoll_loop", *ports],
                                  env=environment(long_log) | {"LIBRETRY_LOG": "none"},
                                  stdout=subprocess.PIPE, text=True)
    workers = [Worker(i, random.Random(rng.random()), servers) for i in range(WORKERS)]
    for w in workers:
        w.start()
    begin = time.monotonic()
    time.sleep(max(SECONDS * 0.3, 3))
    early = rss(long_lived.pid), descriptors(long_lived.pid)
    early_shm = shm()
    if os.environ.get("SOAK_LEAK"):
        subprocess.run(["python3", "-c", LEAK], env=environment(os.path.join(DIR, "log.leak")),
                       check=True)
    while time.monotonic() - begin < SECONDS and not faults:
        time.sleep(0.5)
        if long_lived.poll() is not None:
            fault(f"epoll_loop ended with {long_lived.returncode}")
            break
    late = rss(long_lived.pid), descriptors(long_lived.pid)
    late_shm = shm()
    stop.set()
    for w in workers:
        w.join(CLIENT_LIMIT + 10)
    long_lived.terminate()
    try:
        text = long_lived.communicate(timeout=20)[0].strip()
    except subprocess.TimeoutExpired:
        fault("epoll_loop does not end")
        long_lived.kill()
        text = "ok=0 failed=0 left=0"
    own = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", text)}

    said = {}
    for w in workers:
        for key, value in w.said.items():
            said[key] = said.get(key, 0) + value
    runs, killed, stopped = (sum(getattr(w, n) for w in workers)
                             for n in ("runs", "killed", "stopped"))
    total = stats()
    print(f"clients: {runs} runs, {sum(w.good for w in workers)} good, {killed} killed, "
          f"{stopped} stopped; epoll_loop: {text}")
    print("logs:", said)
    print("stats:", total)
    print(f"epoll_loop: {early[0]} -> {late[0]} KiB private, {early[1]} -> {late[1]} descriptors;"
          f" /dev/shm: {early_shm} -> {late_shm}")

    if runs < 3 or own["ok"] < 10:
        fault("nothing was tested")
    if late[0] > early[0] + 256:
        fault(f"private memory of epoll_loop grew from {early[0]} to {late[0]} KiB")
    if late[1] > early[1] + 2:
        fault(f"descriptors of epoll_loop grew from {early[1]} to {late[1]}")
    if len(late_shm) != 1 or (early_shm and late_shm != early_shm):
        fault(f"/dev/shm holds {late_shm}")
    compare(said, total, own, killed)
    return 1 if faults else 0


def compare(said, total, own, killed):
    """What all clients' logs and epoll_loop say, against the counters. A client that was
    killed may have told and not counted, or counted and not told."""
    ended = total["recovered"] + total["abandoned"] + total["gave_up"]
    logged = sum(said.get(k, 0) for k in ("recovered", "gave-up", "abandoned"))
    if said.get("suppressed"):
        fault("a log was cut short; the counters cannot be compared")
    if ended < logged - killed:
        fault(f"{ended} calls have ended by the counters, {logged} by the logs")
    # epoll_loop keeps no log: at most each of its connects may have ended.
    most = logged + killed + own["ok"] + own["failed"] + own["left"] + 8
    if ended > most:
        fault(f"{ended} calls have ended by the counters, {most} at most were made")
    if total["gave_up"] > said.get("gave-up", 0) + killed + own["failed"] + 8:
        fault(f"{total['gave_up']} calls given up, more than anybody has seen")
    if total["retries"] < said.get("retry", 0) - killed:
        fault(f"{total['retries']} retries by the counters, {said.get('retry')} by the logs")
    if total["calls"] < ended:
        fault(f"{total['calls']} calls, {ended} ended")


sys.exit(main())
