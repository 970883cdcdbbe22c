#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is standard input well-formed in Prometheus' text format, version 0.0.4? What
promtool would say of it, for machines without it: names, labels, escapes, values,
help and type before samples, no series twice, whole histograms."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(r"(%s)(?:\{((?:%s,?)*)\})? (-?[0-9.]+|\+Inf|NaN)" % (NAME, LABEL))
faults = []
types, helps, series, buckets = {}, {}, set(), {}


def family_of(name):
    for end in ("_bucket", "_sum", "_count"):
        if name.endswith(end) and types.get(name[: -len(end)]) == "histogram":
            return name[: -len(end)]
    return name


def sample(number, line):
    match = SAMPLE.fullmatch(line)
    if not match:
        faults.append("%d: no sample: %s" % (number, line))
        return
    name, value = match.group(1), float(match.group(5))
    labels = re.findall(LABEL, match.group(2) or "")
    family = family_of(name)
    key = (name, tuple(sorted(labels)))
    if family not in types or family not in helps:
        faults.append("%d: %s without help or type" % (number, family))
    if types.get(family) == "counter" and not name.endswith("_total"):
        faults.append("%d: a counter is called %s" % (number, name))
    if types.get(family) != "gauge" and value < 0:
        faults.append("%d: %s is negative" % (number, name))
    if key in series:
        faults.append("%d: twice: %s" % (number, line))
    series.add(key)
    if name == family + "_bucket":
        rest = tuple(l for l in labels if l[0] != "le")
        bound = float(dict(labels).get("le", "nan").replace("+Inf", "inf"))
        buckets.setdefault((family, rest), []).append((bound, value))
    elif name == family + "_count" and types.get(family) == "histogram":
        rows = buckets.get((family, tuple(labels)), [])
        if rows != sorted(rows) or not rows or rows[-1] != (float("inf"), value):
            faults.append("%d: the buckets of %s make no histogram" % (number, name))


data = sys.stdin.buffer.read()
if data and not data.endswith(b"\n"):
    faults.append("the last line has no end")
for number, line in enumerate(data.decode("utf-8").split("\n")[:-1], 1):
    words = line.split(" ", 3)
    if words[:2] == ["#", "HELP"] and len(words) == 4:
        helps[words[2]] = words[3]
    elif words[:2] == ["#", "TYPE"] and len(words) == 4:
        if words[2] in types or words[3] not in ("counter", "gauge", "histogram"):
            faults.append("%d: type of %s" % (number, words[2]))
        types[words[2]] = words[3]
    else:
        sample(number, line)
if not series:
    faults.append("no sample at all")
print("\n".join(faults), end="")
sys.exit(1 if faults else 0)
