#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints debian/changelog as CHANGELOG.md has it, with a release that this build is on top.

usage: debian_changelog.py VERSION EPOCH [SUFFIX]     SUFFIX: what tells the packages of one Debian from others, such as ~deb12
"""

import datetime
import pathlib
import re
import sys
import textwrap

CHANGELOG = pathlib.Path(__file__).resolve().parents[2] / "CHANGELOG.md"
HEADING = re.compile(r"## (?:([0-9][0-9.]*) \((\d{4}-\d\d-\d\d)\)|Unreleased)$")
WHO = "The PushWake authors <maintainers@pushwake.invalid>"


def sections(text):
    """Version (None: not released yet), date and lines of each heading."""
    found = []
    for line in text.splitlines():
        if heading := HEADING.match(line):
            found.append((heading[1], heading[2], []))
        elif found and line.startswith("* "):
            found[-1][2].append(line[2:])
        elif found and line.startswith("  ") and found[-1][2]:
            found[-1][2][-1] += " " + line.strip()
    return found


def entry(version, when, lines):
    # Links are of no use here, and Debian wants lines below 80 columns.
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line).replace("`", "") for line in lines]
    body = "\n".join(textwrap.fill(line, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False,
                                   break_on_hyphens=False) for line in plain)
    return f"pushwake ({version}) unstable; urgency=medium\n\n{body}\n\n -- {WHO}  {when:%a, %d %b %Y %H:%M:%S} +0000\n"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1])
    version, epoch, suffix = sys.argv[1], int(sys.argv[2]), "".join(sys.argv[3:])
    built = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    entries = []
    for number, date, lines in sections(CHANGELOG.read_text()):
        if number is None:
            entries.append((version, built, lines))
        elif number == version:
            entries.append((number, built, lines))
        else:
            entries.append((number, datetime.datetime.fromisoformat(date), lines))
    if entries[0][0] != version:
        entries.insert(0, (version, built, [f"Built after {entries[0][0]}."]))
    entries[0] = (version + suffix, *entries[0][1:])
    print("\n".join(entry(*row) for row in entries), end="")


if __name__ == "__main__":
    main()
