# SPDX-License-Identifier: MIT
"""Tables for people: as text, and as Markdown for a document."""
import math

SHORT = {"bare again": "again", "empty preload": "empty"}

# What a document quotes: beginning of a table's title, its lines, what precedes them.
SUMMARY = (
    ("Instructions", ("write", "send", "recv", "poll", "epoll_wait-64", "connect+close",
                      "nonblocking", "getaddrinfo", "redis-benchmark, a GET",
                      "pgbench, a SELECT", "curl, a process"), ""),
    ("Start-up", ("instructions",), "start-up: "),
    ("Memory", ("private dirty, after start", "private dirty, after use", "threads, after use",
                "descriptors, after use"), "KiB, "),
    ("Throughput", ("redis-benchmark", "wrk", "pgbench", "node, kept alive", "curl"),
     "throughput: "),
)


class Table:
    """Lines of cells under the names of the rows that were measured, and a target."""

    def __init__(self, title, columns, note=""):
        self.title = title
        self.columns = list(columns)
        self.note = note
        self.lines = []

    def add(self, label, cells, target="-"):
        """cells: {column: text}."""
        self.lines.append([label] + [cells.get(c, "") for c in self.columns] + [target])

    def head(self):
        return [""] + [SHORT.get(c, c) for c in self.columns] + ["target"]

    def text(self):
        grid = [self.head()] + self.lines
        widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
        out = ["", self.title]
        for line in grid:
            cells = [line[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
            out.append("  ".join(cells).rstrip())
        if self.note:
            out.append(self.note)
        return "\n".join(out)

    def markdown(self):
        out = ["", self.title, "", "| " + " | ".join(self.head()) + " |",
               "|---|" + "--:|" * (len(self.columns) + 1)]
        for line in self.lines:
            # What is above its target carries a mark.
            cells = [f"**{c[:-1].strip()}**" if c.endswith("!") else c for c in line]
            out.append("| " + " | ".join(cells) + " |")
        if self.note:
            out += ["", self.note]
        return "\n".join(out)


def summary(made):
    """One table of what matters most in all; None if nothing of it was measured."""
    columns = []
    lines = []
    note = ""
    for begin, labels, before in SUMMARY:
        for table in made:
            if not table.title.startswith(begin):
                continue
            columns += [c for c in table.columns if c not in columns and c != "bare again"]
            note = noise(table) or note if begin == "Throughput" else note
            for label, *cells, target in table.lines:
                if label in labels:
                    before_it = before if "KiB" not in before or "dirty" in label else ""
                    lines.append((before_it + label, dict(zip(table.columns, cells)), target))
    if not lines:
        return None
    result = Table("bare, and what each preload adds to it; throughput as a ratio to bare",
                   columns, note)
    for label, cells, target in lines:
        result.add(label, cells, target)
    return result


def noise(table):
    """How far the second bare run strays from the first."""
    if "bare again" not in table.columns:
        return ""
    at = 1 + table.columns.index("bare again")
    ratios = [float(line[at].split()[0]) for line in table.lines if line[at][:1].isdigit()]
    worst = max((abs(r - 1) for r in ratios), default=0)
    return f"Noise: the medians of again stray by up to {worst * 100:.0f} %."


def marked(text, above):
    return text + " !" if above else text


def above(value, target):
    """A text stands for a failure."""
    return isinstance(value, str) or value > target


def number(value):
    """An instruction count or the like, or the text in its place."""
    return value if isinstance(value, str) else f"{value:,}"


def signed(value):
    return value if isinstance(value, str) else f"{value:+,}"


def ratio(value):
    """(median, half width) or text."""
    if isinstance(value, str):
        return value
    if math.isnan(value[1]):  # one round
        return f"{value[0]:.2f}"
    return f"{value[0]:.2f} ±{value[1]:.2f}"
