#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds files of a glue that use each other in a circle. What nm says of their objects counts, so a pointer in a table does too.

Where there is no circle the files have an order from below, in which each is read with those before it alone.

Usage: check_circles.py OBJECT...
"""

import pathlib
import subprocess
import sys


def symbols(path):
    """What an object defines for others, and what it takes from others."""
    defined, taken = set(), set()
    for line in subprocess.run(["nm", "-P", path], check=True, capture_output=True, text=True).stdout.splitlines():
        name, kind = line.split()[:2]
        if name.startswith("__"):  # Asterisk's name for the module, which its macros take everywhere
            continue
        if kind == "U":
            taken.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, taken


def uses_of(paths):
    """The names that each file takes from each other: {user: {used: names}}."""
    known = {pathlib.Path(path).stem: symbols(path) for path in paths}
    return {
        user: {used: taken & known[used][0] for used in known if used != user and taken & known[used][0]}
        for user, (_, taken) in known.items()
    }


def reached(uses, start):
    """What a file uses, by way of others too."""
    found, left = set(), list(uses[start])
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(uses[name])
    return found


def main():
    paths = sys.argv[1:]
    if not paths:
        sys.exit(__doc__)
    uses = uses_of(paths)
    reach = {user: reached(uses, user) for user in uses}
    circle = sorted(user for user in uses if user in reach[user])
    for user in circle:
        for used in sorted(used for used in uses[user] if user in reach[used]):
            print(f"{user} -> {used}: {', '.join(sorted(uses[user][used]))}")
    if circle:
        sys.exit(f"{len(circle)} files use each other in a circle")


if __name__ == "__main__":
    main()
