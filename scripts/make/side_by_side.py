#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes several targets of the Makefile at once; shows what each printed in one piece, and at the end which failed.

usage: side_by_side.py TARGET... [-- TARGET...]    what stands behind -- is made afterwards, one by one
"""

import concurrent.futures
import os
import subprocess
import sys
import time


def run(target):
    """Whether it went well, what it printed, and how long it took."""
    started = time.monotonic()
    # The outer make's job slots are not ours to take.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        [os.environ.get("MAKE", "make"), "--no-print-directory", "-o", "build-tests", target], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0, done.stdout, time.monotonic() - started


def main(arguments):
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    together, later = arguments[:cut], arguments[cut + 1:]
    results = []

    def show(target, result):
        is_good, printed, seconds = result
        print(f"==== {target}: {'ok' if is_good else 'FAILED'}, {seconds:.0f} s", flush=True)
        sys.stdout.buffer.write(printed)
        sys.stdout.flush()
        results.append((target, is_good))

    with concurrent.futures.ThreadPoolExecutor(max(1, len(together))) as pool:
        running = {pool.submit(run, target): target for target in together}
        for done in concurrent.futures.as_completed(running):
            show(running[done], done.result())
    for target in later:
        show(target, run(target))

    failed = [target for target, is_good in results if not is_good]
    print(f"==== failed: {' '.join(failed)}" if failed else f"==== all of {len(results)} went well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
