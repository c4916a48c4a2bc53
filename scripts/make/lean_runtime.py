#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies Swift's static runtime without the mark by which the linker has to keep each public function of it.

usage: lean_runtime.py ARCHIVE COPY     ARCHIVE is the toolchain's libswiftCore.a

The mark (SHF_GNU_RETAIN) is for programs that others are linked with. Without it the linker leaves out what nothing refers to:
a twelfth of the library. The tables in which the runtime looks for types and conformances keep their mark, so what these
refer to stays.
"""

import pathlib
import struct
import sys

ELF_HEADER = struct.Struct("<4s5B7x2HI3QI6H")
SECTION = struct.Struct("<2I4Q2I2Q")
RETAIN = 0x200000


def forget_marks(data, start):
    """Clears the mark of the sections that hold a function each, in the object that begins at `start`."""
    head = ELF_HEADER.unpack_from(data, start)
    table, (size, count, names) = head[11], head[-3:]
    if head[1:3] != (2, 1) or size != SECTION.size:
        sys.exit("lean_runtime: an object is not 64-bit little-endian ELF")
    # Where there are more sections than fit into the header, the first section says it.
    first = SECTION.unpack_from(data, start + table)
    count, names = count or first[5], first[6] if names == 0xFFFF else names
    texts = start + SECTION.unpack_from(data, start + table + names * size)[4]
    for index in range(count):
        at = start + table + index * size
        section = SECTION.unpack_from(data, at)
        if section[2] & RETAIN and data.startswith(b".text.", texts + section[0]):
            struct.pack_into("<Q", data, at + 8, section[2] & ~RETAIN)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    data = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
    if not data.startswith(b"!<arch>\n"):
        sys.exit(f"lean_runtime: {sys.argv[1]} is not an archive")
    at = 8
    while at < len(data):
        body, size = at + 60, int(data[at + 48:at + 58])
        if data.startswith(b"\x7fELF", body):
            forget_marks(data, body)
        at = body + size + size % 2
    copy = pathlib.Path(sys.argv[2])
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(data)


if __name__ == "__main__":
    main()
