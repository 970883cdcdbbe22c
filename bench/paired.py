# SPDX-License-Identifier: MIT
"""Figures of time, from runs that take turns: a busy minute meets every row."""
import math
import random
import statistics

from rows import Failed


ENOUGH = 6  # rounds: with fewer the interval is less than one of 95 %


def spread(rounds):
    """What middle's second figure is."""
    return "half its 95 % interval" if rounds >= ENOUGH else "half the range"


def middle(values):
    """(median, half the width of its 95 % interval), by the order of the values."""
    ordered = sorted(values)
    n = len(ordered)
    if n == 1:
        return ordered[0], math.nan
    reach = 0.98 * math.sqrt(n)
    low = max(0, int(n / 2 - reach))
    high = min(n - 1, math.ceil(n / 2 + reach) - 1)
    return statistics.median(ordered), (ordered[high] - ordered[low]) / 2


class Taken:
    """What one row gave, round by round; or the text that stands for it."""

    def __init__(self):
        self.values = []
        self.text = None


def interleaved(rows, rounds, measure):
    """{row's name: Taken}. In each round every row once, in another order each time;
    a row that has failed is left alone."""
    order = random.Random(1)
    taken = {row.name: Taken() for row in rows}
    for _ in range(rounds):
        for row in order.sample(rows, len(rows)):
            mine = taken[row.name]
            if mine.text:
                continue
            try:
                mine.values.append(measure(row))
            except Failed as failure:
                mine.text = str(failure)
    return taken


def against(taken, base, combine):
    """{row's name: (median, half width) of combine(row's, base's) of each round, or text}."""
    bare = taken[base]
    result = {}
    for name, mine in taken.items():
        text = bare.text or mine.text
        result[name] = text or middle([combine(v, b) for v, b in zip(mine.values, bare.values)])
    return result


def ratio(value, base):
    return value / base


def difference(value, base):
    return value - base


def ratio_of(i):
    """Of figures that are tuples, the one at i."""
    return lambda value, base: value[i] / base[i]
