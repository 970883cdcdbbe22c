# SPDX-License-Identifier: MIT
"""The rows of each table: the program alone, and under each preload."""
import glob
import os
import shutil
import signal
import subprocess

LIBRARY_DIRS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

# Configured to let loopback through, and to do nothing else.
PROXYCHAINS_CONF = """strict_chain
proxy_dns
localnet 127.0.0.0/255.0.0.0
localnet ::1/128
[ProxyList]
socks4 127.0.0.1 9
"""
TORSOCKS_CONF = """TorAddress 127.0.0.1
TorPort 9
AllowInbound 1
AllowOutboundLocalhost 1
"""

# Name, the files that are preloaded, what it needs in its environment.
PEERS = (
    ("proxychains4", ("libproxychains.so.4",),
     {"PROXYCHAINS_CONF_FILE": PROXYCHAINS_CONF, "PROXYCHAINS_QUIET_MODE": "1"}),
    ("torsocks", ("torsocks/libtorsocks.so",),
     {"TORSOCKS_CONF_FILE": TORSOCKS_CONF, "TORSOCKS_LOG_LEVEL": "1"}),
    ("socket_wrapper", ("libsocket_wrapper.so",), {}),
    ("libkeepalive", ("libkeepalive.so",), {}),
    ("libfiu", ("fiu/fiu_run_preload.so", "fiu/fiu_posix_preload.so"), {}),
    ("faketime", ("faketime/libfaketime.so.1",), {"FAKETIME": "+0"}),
)

BARE = "bare"
AGAIN = "bare again"
EMPTY = "empty preload"
LIBRETRY = "libretry"


class Failed(Exception):
    """A row has no figure; its text is what the table says instead. why: for the user."""

    def __init__(self, text, why=""):
        super().__init__(text)
        self.why = why


class Row:
    def __init__(self, name, preload="", env=None):
        self.name = name
        self.preload = preload
        # Few and always the same: the loader's instructions depend on it.
        self.env = {"PATH": PATH,
                    "HOME": "/", "LC_ALL": "C", "LIBRETRY_CONFIG": "none"}
        self.env.update(env or {})
        if preload:
            self.env["LD_PRELOAD"] = preload

    def run(self, command, limit, **more):
        """What it prints. Raises Failed: "hangs" after limit seconds, or "fails"."""
        env = dict(self.env, **more)
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as child:
            try:
                out, err = child.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                raise Failed("hangs") from None
            finally:
                kill_group(child)
        # Else what is measured is the program alone.
        if child.returncode != 0 or "cannot be preloaded" in err:
            raise Failed("fails", err.strip()[-300:])
        return out


def kill_group(child):
    """All that a child started with start_new_session has left behind."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def clear_leftovers(since):
    """What faketime leaves in shared memory when a program under it is killed."""
    for path in glob.glob("/dev/shm/*faketime_s??_*"):
        try:
            of_ours = os.stat(path).st_uid == os.getuid() and os.stat(path).st_mtime >= since
            if of_ours and not os.path.exists("/proc/" + path.rsplit("_", 1)[1]):
                os.unlink(path)
        except OSError:
            pass


def installed(program):
    return shutil.which(program, path=PATH) is not None


def find_library(name):
    # fiu's are found by the name alone in some versions of the package.
    for folder in LIBRARY_DIRS:
        for candidate in (name, os.path.basename(name)):
            found = sorted(glob.glob(os.path.join(folder, candidate)))
            if found:
                return found[0]
    return None


def peer_row(name, files, env, work):
    """None if it is not installed."""
    paths = [find_library(f) for f in files]
    if None in paths:
        return None
    given = {}
    for key, value in env.items():
        if key.endswith("_CONF_FILE"):
            path = os.path.join(work, name + ".conf")
            with open(path, "w", encoding="ascii") as out:
                out.write(value)
            os.chmod(path, 0o644)
            value = path
        given[key] = value
    return Row(name, ":".join(paths), given)


def all_rows(library, empty, work):
    """(rows, names of the peers that are not installed)."""
    rows = [Row(BARE), Row(AGAIN), Row(EMPTY, empty), Row(LIBRETRY, library)]
    missing = []
    for name, files, env in PEERS:
        row = peer_row(name, files, env, work)
        if row:
            rows.append(row)
        else:
            missing.append(name)
    return rows, missing
