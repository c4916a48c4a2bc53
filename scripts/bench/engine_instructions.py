#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of the engine's loop for each REGISTER and each send, with callgrind. The first push that a provider
takes for a token is stored: the second send makes none of these.

usage: engine_instructions.py [COUNT]     needs `make bench` once before, for its server; PUSHWAKE_SYMBOLS=1 make build names
                                          the functions in the counts, which stay in .build/bench/instructions

What a busy machine does to times it does not do to these: two builds can be compared a day apart. The kernel's are not counted.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench
import bench_engine
from call_servers import make_keys, wait_until

OUT = bench.BENCH / "instructions"
PACE = 50


class CountedEngine(bench_engine.Engine):
    """An engine that callgrind runs, counting only inside of `count`."""

    def count(self, name, action, each):
        """Instructions of the thread that does most, for each of so many requests."""
        self.control("--instr=on")
        if action() != each:
            sys.exit(f"{name}: some were refused or lost")
        # Refreshes and new users are written a second later.
        time.sleep(1.5)
        self.control("--instr=off")
        before = set(OUT.iterdir())
        self.control("--dump")
        totals = wait_until("callgrind has written its counts", lambda: self.totals(before), 60)
        path = max(totals, key=totals.get)
        path.rename(OUT / name)
        print(f"  {name:16}{totals[path] / each:12,.0f}", flush=True)

    @staticmethod
    def totals(before):
        found = {path: re.search(r"^totals: (\d+)", path.read_text(errors="replace"), re.M)
                 for path in set(OUT.iterdir()) - before}
        return {path: int(match[1]) for path, match in found.items()} if found and all(found.values()) else None

    def control(self, word):
        subprocess.run(["callgrind_control", word, str(self.process.pid)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)


def main(count):
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="pushwake-instructions-") as directory:
        directory = Path(directory)
        keys = bench.Keys(make_keys(directory / "keys").directory / "files")
        wrapper = directory / "pushwake"
        wrapper.write_text("#!/bin/sh\nexec valgrind -q --tool=callgrind --instr-atstart=no --separate-threads=yes "
                           f"--callgrind-out-file={OUT}/counts.%p {bench.PUSHWAKE} \"$@\"\n")
        wrapper.chmod(0o755)
        with bench.sink(keys) as server:
            engine = CountedEngine(wrapper, directory / "engine", f"https://127.0.0.1:{server.port}", keys.directory, None)
            new, paced = range(count, 2 * count), range(2 * count, 3 * count)
            try:
                engine.register(range(count))
                engine.push(range(200))
                time.sleep(bench_engine.EARLY)
                print(f"the engine's instructions per request, {count:,} of each; paced: {PACE} a second")
                engine.count("new", lambda: engine.register(new), count)
                engine.register(new, 2)
                engine.count("refresh", lambda: engine.register(new, 3), count)
                engine.count("send", lambda: engine.push(new), count)
                engine.count("send again", lambda: engine.push(new), count)
                engine.count("new, paced", lambda: engine.register(paced, 1, PACE), count)
                engine.count("send, paced", lambda: engine.push(paced, PACE), count)
            finally:
                engine.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
