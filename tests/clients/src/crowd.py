# SPDX-License-Identifier: MIT
"""
What shared.py is made of: a server that comes and goes, crowds of callers and what they
wrote down, what is on the wire, what the command says.

From the environment: LIBRETRY_SO, LIBRETRY (the command), TOOLS, CASE_DIR; KEEP: keep a
log. In a network namespace and a /dev/shm of their own.
"""

import ctypes
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

DIR = os.environ["CASE_DIR"]
TOOLS = os.environ["TOOLS"]
CALLER = os.path.join(TOOLS, "caller")
RECORD = struct.Struct("qqiIii")
MS = 1000000
S = 1000 * MS
SLACK = 1000 * MS  # what a loaded machine may add to a call


def fail(why):
    print(f"WRONG: {why}", flush=True)
    sys.exit(1)


def check(is_so, why):
    if not is_so:
        fail(why)


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def conf(name, **policy):
    """A configuration file with one policy; dictionaries are groups."""

    def text(value):
        if isinstance(value, dict):
            return "{ " + " ".join(f"{k} = {text(v)};" for k, v in value.items()) + " }"
        if isinstance(value, bool):
            return str(value).lower()
        return f'"{value}"' if isinstance(value, str) else str(value)

    path = os.path.join(DIR, name + ".conf")
    with open(path, "w") as f:
        f.write(f"version = 1;\npolicies = {{ default = {text(policy)}; }};\n")
    return path


def environment(config=None, library=None):
    env = {"PATH": os.environ["PATH"], "HOME": DIR, "LANG": "C.UTF-8"}
    if config:
        env.update(LD_PRELOAD=library or os.environ["LIBRETRY_SO"], LIBRETRY_CONFIG=config,
                   LIBRETRY_LOG=f"file:{DIR}/log" if os.environ.get("KEEP") else "none")
    if library and "LIBRARIES32" in os.environ:
        env["LD_LIBRARY_PATH"] = os.environ["LIBRARIES32"]
    return env


def start(config, *command, library=None, **more):
    return subprocess.Popen([str(c) for c in command], env=environment(config, library),
                            **{"stdin": subprocess.DEVNULL, **more})


def wait_for(processes, seconds, what):
    end = time.monotonic() + seconds
    for p in processes:
        try:
            p.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            fail(f"{what}: process {p.pid} still runs")
        check(p.returncode == 0, f"{what}: a caller ended with {p.returncode}")


class Records:
    """What callers wrote down."""

    def __init__(self, path):
        begun, self.ended, self.longest = set(), [], 0
        with open(path, "rb") as f:
            for began, ended, pid, call, error, starved in RECORD.iter_unpack(f.read()):
                if ended:
                    self.ended.append((began, ended, pid, call, error))
                    # What the machine was too busy for is nobody's waiting.
                    self.longest = max(self.longest, ended - began - 1000 * starved)
                    begun.discard((began, pid, call))
                else:
                    begun.add((began, pid, call))
        self.without_end = begun
        self.begun = len(self.ended) + len(begun)
        self.failed = sum(1 for r in self.ended if r[4])


class Wire:
    """Counts the SYN segments to a port, with the time of each."""

    def __init__(self, port):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        program = [
            (0x28, 0, 0, 0xfffff004),  # the kind of packet: as it comes in, not out
            (0x15, 0, 7, 0),
            (0xb1, 0, 0, 0),           # X: length of the IP header
            (0x48, 0, 0, 2),           # the port it goes to
            (0x15, 0, 4, port),
            (0x50, 0, 0, 13),          # flags: SYN without ACK
            (0x54, 0, 0, 0x12),
            (0x15, 0, 1, 0x02),
            (0x06, 0, 0, 64),
            (0x06, 0, 0, 0),
        ]
        code = b"".join(struct.pack("HBBI", *i) for i in program)
        self.code = ctypes.create_string_buffer(code)
        prog = struct.pack("HL", len(program), ctypes.addressof(self.code))
        self.s.setsockopt(socket.SOL_SOCKET, 26, prog)  # SO_ATTACH_FILTER
        self.s.setsockopt(socket.SOL_SOCKET, 33, 1 << 27)  # SO_RCVBUFFORCE
        self.s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        self.s.setblocking(False)
        self.offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - now()
        while self.receive():  # what came in before the filter was there
            pass
        self.seen, self.times, self.again = set(), [], 0

    def receive(self):
        try:
            return self.s.recvmsg(64, 128)
        except BlockingIOError:
            return None

    def read(self):
        """The times (ns, CLOCK_MONOTONIC) of all attempts so far. One that the kernel
        sends again is the same attempt."""
        while got := self.receive():
            data, anc = got[0], got[1]
            head = 4 * (data[0] & 15)
            key = data[head:head + 2] + data[head + 4:head + 8]
            if key in self.seen:
                self.again += 1
                continue
            self.seen.add(key)
            sec, nsec = struct.unpack("qq", anc[0][2][:16])
            self.times.append(sec * S + nsec - self.offset)
        lost = struct.unpack("II", self.s.getsockopt(263, 6, 8))[1]  # PACKET_STATISTICS
        check(lost == 0, f"{lost} segments were not seen")
        return self.times

    def between(self, begin, end):
        return sum(1 for t in self.read() if begin <= t < end)


class Server:
    """A port that listens or refuses; in a process of its own once it serves."""

    def __init__(self, backlog=4096):
        # Keeps the port; a bound socket refuses.
        self.reserve = self.socket(0)
        self.port = self.reserve.getsockname()[1]
        self.backlog = backlog
        self.s = None
        self.pid = 0

    def socket(self, port):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("127.0.0.1", port))
        return s

    def listen(self):
        self.s = self.socket(self.port)
        self.s.listen(self.backlog)
        self.s.setblocking(False)

    def refuse(self):
        self.s.close()
        self.s = None

    def serve(self, capacity=0, answer=b""):
        """Listens from now on, until switch() says otherwise. <capacity>: connections per
        second, one after the other; 0: as many as come."""
        ready, tell = os.pipe()
        orders, self.orders = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.listen()
                os.write(tell, b"x")
                self.loop(orders, capacity, answer)
            except BaseException as e:  # a server that dies must not go on as the test
                print(f"server: {e!r}", flush=True)
            os._exit(1)
        os.read(ready, 1)
        os.close(ready)
        os.close(tell)

    def switch(self, times):
        """The times (ns) at which it stops to listen, listens again, and so on."""
        os.write(self.orders, struct.pack(f"{len(times)}q", *times))

    def loop(self, orders, capacity, answer):
        free, switches = 0, []
        while True:
            left = (switches[0] - now()) / S if switches else 60
            if left <= 0:
                (self.refuse if self.s else self.listen)()
                switches.pop(0)
                continue
            ready = select.select([orders] + ([self.s] if self.s else []), [], [], left)[0]
            if orders in ready:
                data = os.read(orders, 4096)
                if not data:
                    os._exit(0)
                switches += struct.unpack(f"{len(data) // 8}q", data)
            elif ready:
                # A machine that is late does not make it slower, up to a tenth of a second.
                free = self.one(max(free, now() - 100 * MS), capacity, answer)

    def one(self, free, capacity, answer):
        try:
            c = self.s.accept()[0]
        except BlockingIOError:
            return free
        if capacity:
            free += S // capacity
            if free - now() > 2 * MS:
                time.sleep((free - now()) / S)
        try:
            if answer:
                c.send(answer)
        except OSError:
            pass
        c.close()
        return free

    def stop(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def stats(port):
    """What the command says of 127.0.0.1:<port>."""
    out = subprocess.run([os.environ["LIBRETRY"], "stats", "--json"], env=environment(),
                         stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    check(out.returncode in (0, 1), f"stats: status {out.returncode}")
    for d in json.loads(out.stdout or "{}").get("destinations", []):
        if d["destination"] == f"127.0.0.1:{port}":
            return d
    return {}


def segment():
    files = os.listdir("/dev/shm")
    check(len(files) <= 1, f"files in /dev/shm: {files}")
    return os.stat(f"/dev/shm/{files[0]}").st_ino if files else 0


def peak(times, window):
    first, most = 0, 0
    for i, t in enumerate(times):
        while t - times[first] >= window:
            first += 1
        most = max(most, i - first + 1)
    return most
