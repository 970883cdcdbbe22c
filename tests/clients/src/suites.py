# SPDX-License-Identifier: MIT
"""Runs a module of tests alone and under the library, and compares test by test.

    suites.py compare FOLDER MODULE WAY ...     for suites.sh
    suites.py unittest RESULTS MODULE [TEST ...]

Modules called test_X are Python's own, run by its regrtest; the others by unittest. A test
with another result than alone is run again, by itself, in both ways: it counts as a difference
if it never has the same result; as "unsteady", which is printed but not a failure, if it has.
The exit status of the whole run is compared like a test's result.
"""

import fnmatch
import os
import re
import signal
import subprocess
import sys
import unittest
import xml.etree.ElementTree as tree
from concurrent import futures

AGAIN = 3
SILENT = 150  # seconds; each test says its name
HUNG = "hung"

SHARED = """policies = { default = {
    budget = { scope = "user"; }; breaker = { enabled = true; }; coordinate = true; }; };
stats = { to = "shm"; };
"""
RUN = "(run)"


def environment(folder, way):
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env.setdefault("LANG", "C.UTF-8")
    env["HOME"] = folder
    # The default terminal of tests that ask for one.
    env["TERM"] = "dumb"
    if way == "bare":
        return env
    env["LD_PRELOAD"] = os.environ["LIBRETRY_SO"]
    env["LIBRETRY_LOG"] = "file:" + os.path.join(folder, way + ".log")
    env["LIBRETRY_CONFIG"] = "none"
    if way == "once":
        env["LIBRETRY_MAX_ATTEMPTS"] = "1"
    elif way == "shared":
        env["LIBRETRY_CONFIG"] = os.path.join(folder, "shared.conf")
    return env


def from_junit(path):
    """{test: result} of what regrtest wrote; nothing if it did not come to that."""
    results = {}
    try:
        cases = tree.parse(path).iter("testcase")
    except (OSError, tree.ParseError):
        return results
    for case in cases:
        kinds = {child.tag for child in case}
        result = next((kind for kind in ("error", "failure", "skipped") if kind in kinds), "ok")
        if case.get("result") == "unexpected-success":
            result = "unexpected success"
        results[case.get("name")] = result
    return results


def from_lines(path):
    try:
        with open(path, encoding="utf-8") as lines:
            return dict(line.rstrip("\n").rsplit("\t", 1) for line in lines)
    except OSError:
        return {}


def run(folder, module, way, tests=()):
    """({test: result}) of the module, or of these tests of it alone."""
    path = os.path.join(folder, way + ".results")
    if os.path.exists(path):
        os.unlink(path)
    own = module.startswith("test_")
    if own:
        command = [sys.executable, "-m", "test", "-v", "--junit-xml", path, "--fail-env-changed"]
        for test in tests:
            command += ["-m", test]
        if module == "test_socketserver":
            command += ["-u", "network"]  # what it means is loopback
        command.append(module)
    else:
        command = [sys.executable, os.path.abspath(__file__), "unittest", path, module, *tests]
    # Ports of its own: the ways of a module are run side by side.
    command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
    work = os.path.join(folder, way + ".work")
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(folder, way + ("-again" if tests else "") + ".txt"), "wb") as output:
        child = subprocess.Popen(command, env=environment(folder, way), cwd=work,
                                 stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        status, size = None, -1
        while status is None:
            try:
                status = child.wait(SILENT)
            except subprocess.TimeoutExpired:
                if os.fstat(output.fileno()).st_size == size:
                    status = HUNG
                size = os.fstat(output.fileno()).st_size
        # Nothing of it, and nobody it has left behind, disturbs the next run.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
    results = from_junit(path) if own else from_lines(path)
    results[RUN] = str(status)
    return results


def whole(folder, module, way):
    """One hang loses the results of all, and may be the test's own fault: Python's
    test_sendall_interrupted, for one, waits for good if its alarm comes before it sends."""
    for _ in range(AGAIN):
        results = run(folder, module, way)
        if results[RUN] != HUNG:
            break
        print(f"{module} {way}: hung, run again", flush=True)
    return results


def listed(folder, module):
    with open(os.path.join(folder, "listed"), encoding="utf-8") as lines:
        entries = [line.split(None, 2) for line in lines if line.strip()]
    return [(pattern, reason) for name, pattern, reason in entries
            if fnmatch.fnmatchcase(module, name)]


def differing(one, other):
    return [test for test in sorted(one.keys() | other.keys())
            if one.get(test) != other.get(test) and test != RUN]


def is_steady(folder, module, way, test):
    """Whether the difference is there each time."""
    pattern = test
    if module.startswith("test_"):
        # Of setUpClass and the like the name cannot be asked for: the whole module then.
        pattern = test if re.fullmatch(r"[\w.]+", test) else "*"
    for _ in range(AGAIN):
        alone = run(folder, module, "bare", [pattern])
        under = run(folder, module, way, [pattern])
        if alone.get(test) == under.get(test) and alone[RUN] == under[RUN]:
            return False
    return True


def said(folder, way):
    """What the library's log tells of, so that one sees that there was something to judge."""
    try:
        with open(os.path.join(folder, way + ".log"), encoding="utf-8", errors="replace") as log:
            text = log.read()
    except OSError:
        text = ""
    return ", ".join(f"{text.count(f' {word} op=')} {word}"
                     for word in ("retry", "recovered", "gave-up", "abandoned"))


def steady_status(folder, module, way):
    for _ in range(AGAIN - 1):
        if run(folder, module, way)[RUN] == run(folder, module, "bare")[RUN]:
            return False
    return True


def compare(folder, module, ways):
    with open(os.path.join(folder, "shared.conf"), "w", encoding="utf-8") as config:
        config.write(SHARED)
    exceptions = listed(folder, module)
    with futures.ThreadPoolExecutor(len(ways) + 1) as pool:
        started = {way: pool.submit(whole, folder, module, way) for way in ["bare", *ways]}
    alone = started["bare"].result()
    count = len(alone) - 1
    passed = sum(result == "ok" for result in alone.values())
    print(f"{module} bare: {count} tests, {passed} ok, exit status {alone[RUN]}")
    bad = 0
    for way in ways:
        under = started[way].result()
        log = said(folder, way)
        if HUNG in (alone[RUN], under[RUN]) and alone[RUN] != under[RUN]:
            print(f"DIFFERS {way}: exit status {alone[RUN]} alone, {under[RUN]} with the library")
            bad += 1
            continue
        differ = differing(alone, under)
        real = 0
        for test in differ:
            words = f"{way}: {test}: {alone.get(test)} alone, {under.get(test)} with the library"
            reason = next((why for name, why in exceptions if fnmatch.fnmatchcase(test, name)), "")
            if reason:
                print(f"listed {words}: {reason}", flush=True)
            elif is_steady(folder, module, way, test):
                print(f"DIFFERS {words}", flush=True)
                real += 1
            else:
                print(f"unsteady {words}", flush=True)
        if not differ and alone[RUN] != under[RUN] and steady_status(folder, module, way):
            print(f"DIFFERS {way}: exit status {alone[RUN]} alone, {under[RUN]} with the library")
            real += 1
        print(f"{module} {way}: {len(under) - 1} tests, {len(differ)} other than alone, "
              f"{real} each time, exit status {under[RUN]}; log: {log}", flush=True)
        bad += real
    if passed == 0:
        print(f"{module}: no test passes alone: nothing is compared")
    elif bad:
        print(f"{module}: {bad} differences, see DIFFERS above")
    return passed == 0 or bad != 0


class Recorder(unittest.TextTestResult):
    """Writes a line for each test as soon as it is known, so that a crash loses none."""
    results = None

    def stopTest(self, test):
        for kind, tests in (("error", self.errors), ("failure", self.failures)):
            if any(getattr(one, "test_case", one) is test for one, _ in tests):
                result = kind
                break
        else:
            skipped = any(one is test for one, _ in self.skipped)
            result = "skipped" if skipped else "ok"
        self.results.write(f"{test.id()}\t{result}\n")
        self.results.flush()
        super().stopTest(test)


def unittests(path, module, tests):
    with open(path, "w", encoding="utf-8") as Recorder.results:
        suite = unittest.defaultTestLoader.loadTestsFromNames(tests or [module])
        unittest.TextTestRunner(verbosity=2, resultclass=Recorder).run(suite)


if __name__ == "__main__":
    if sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2], sys.argv[3], sys.argv[4:]))
    unittests(sys.argv[2], sys.argv[3], sys.argv[4:])
