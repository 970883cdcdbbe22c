# SPDX-License-Identifier: MIT
"""Servers on loopback, on ports of their own, gone at the end."""
import ctypes
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from rows import Failed, kill_group

READY = 15.0  # seconds until it answers
PR_SET_PDEATHSIG = 1
PRCTL = ctypes.CDLL(None).prctl


def die_with_us():
    PRCTL(PR_SET_PDEATHSIG, signal.SIGINT)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Used with "with"; port is where it listens. The folder is its own."""

    user = None

    def __init__(self, row):
        self.row = row
        self.folder = tempfile.mkdtemp(prefix="bench.")
        self.child = None
        self.port = 0

    def command(self):
        raise NotImplementedError

    def prepare(self):
        """What there must be before it starts."""

    def fill(self):
        """What there must be before it is used."""

    def __enter__(self):
        try:
            self.prepare()
            self.start()
            self.fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.child:
            self.child.send_signal(signal.SIGINT)
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                pass
            kill_group(self.child)
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cpu(self):
        """Seconds of processor that all its processes have used."""
        total = 0
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(stat, encoding="utf-8", errors="replace") as text:
                    group = int(text.read().rsplit(")", 1)[1].split()[2])
                if group == self.child.pid:
                    for task in glob.glob(os.path.dirname(stat) + "/task/*/schedstat"):
                        with open(task, encoding="ascii") as text:
                            total += int(text.read().split()[0])
            except (OSError, ValueError):
                continue  # it has just ended
        return total / 1e9

    def start(self):
        self.port = free_port()
        command = self.command()
        with open(os.path.join(self.folder, "output"), "wb") as out:
            self.child = subprocess.Popen(
                command, env=self.row.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self.folder, user=self.user, start_new_session=True, preexec_fn=die_with_us)
        until = time.monotonic() + READY
        while time.monotonic() < until:
            if self.child.poll() is not None:
                raise Failed("fails")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Failed("hangs")


class Redis(Server):
    def command(self):
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port),
                "--save", "", "--appendonly", "no", "--dir", self.folder]


class Nginx(Server):
    CONF = """
daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_requests 10000000;
  client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  server {{ listen 127.0.0.1:{1}; root {0}/pages; }}
}}
"""

    def prepare(self):
        os.makedirs(os.path.join(self.folder, "pages"))
        os.chmod(self.folder, 0o755)  # its worker is somebody else
        with open(os.path.join(self.folder, "pages", "index.html"), "w", encoding="ascii") as page:
            page.write("hello\n" * 40)

    def command(self):
        path = os.path.join(self.folder, "conf")
        with open(path, "w", encoding="ascii") as conf:
            conf.write(self.CONF.format(self.folder, self.port))
        return ["nginx", "-e", os.path.join(self.folder, "error.log"), "-p", self.folder,
                "-c", path]


def postgres_folder():
    """Where Debian has initdb, postgres, and pgbench without a wrapper in Perl."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pgbench"))
    return os.path.dirname(found[-1]) if found else None


class Postgres(Server):
    """It does not run as root."""

    def __init__(self, row):
        super().__init__(row)
        self.data = os.path.join(self.folder, "data")
        if os.getuid() == 0:
            names = [entry.pw_name for entry in pwd.getpwall()]
            self.user = "postgres" if "postgres" in names else "nobody"

    def prepare(self):
        if self.user:
            shutil.chown(self.folder, self.user)
        subprocess.run([os.path.join(postgres_folder(), "initdb"), "--no-sync", "-A", "trust",
                        "-U", "bench", "-D", self.data], env=self.row.env, user=self.user,
                       cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       timeout=120, check=True)

    def command(self):
        return [os.path.join(postgres_folder(), "postgres"), "-D", self.data, "-h", "127.0.0.1",
                "-p", str(self.port), "-k", "", "-F", "-c", "shared_buffers=32MB",
                "-c", "autovacuum=off"]

    def fill(self):
        command = [os.path.join(postgres_folder(), "pgbench"), "-i", "-q", "-h", "127.0.0.1",
                   "-p", str(self.port), "-U", "bench", "postgres"]
        for _ in range(50):  # it listens before it takes anybody
            if subprocess.run(command, env=self.row.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise Failed("fails")
