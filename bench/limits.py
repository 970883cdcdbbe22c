# SPDX-License-Identifier: MIT
"""The file bench/limits: what a call may cost above bare libc, in instructions."""


class Limit:
    def __init__(self, most, target):
        self.most = most
        self.target = target  # text: a number, "1%" of the bare call, or "-"

    def target_for(self, bare):
        """None if there is none."""
        if self.target == "-":
            return None
        if self.target.endswith("%"):
            return bare * float(self.target[:-1]) / 100
        return int(self.target)


def read(path):
    """{call: Limit}, in the order of the file."""
    limits = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            words = line.split("#", 1)[0].split()
            if words:
                name, most, target = words
                limits[name] = Limit(int(most), target)
    return limits
