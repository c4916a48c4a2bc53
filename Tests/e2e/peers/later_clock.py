# SPDX-License-Identifier: MIT
"""An engine for which days pass when a test says so."""

import pathlib
import struct
import subprocess

from servers import PUSHWAKE

SOURCE = pathlib.Path(__file__).with_suffix(".c")


class LaterClock:
    """`engine` is a program in place of `pushwake`."""

    def __init__(self, directory):
        library, self._file, self.engine = (directory / name for name in ("later_clock.so", "seconds", "pushwake"))
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl"], check=True)
        self._seconds = 0
        self.pass_days(0)
        self.engine.write_text(f"#!/bin/sh\nexec env LATER_CLOCK={self._file} LD_PRELOAD={library} {PUSHWAKE} \"$@\"\n")
        self.engine.chmod(0o755)

    def pass_days(self, count):
        self._seconds += count * 86_400
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("q", self._seconds))
