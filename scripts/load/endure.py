#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Half an hour of calls while everything around them fails in turn: nothing is lost, nothing doubled, nothing grows.

Rounds without a disturbance alternate with rounds that have one:

kill    the engine is killed three times (kill -9) and started again, as systemd would
flap    the provider dies three times and comes back, and stands still once for three seconds
disk    the engine's disk is full for a third of the round (needs root: a file system of its own)
clock   the engine's wall clock goes an hour and three days forward and back
log     nobody reads the engine's log

In a quiet round every call has to end as it should, so that whatever a disturbance left behind is seen: a binding that is gone, a
request that is held, an engine that does not push. In the others no call may be left without an end, no phone may ring
on, and no more calls may fail than began while engine or provider was away. A push whose answer died with the engine or the
provider may come twice, since nobody can know whether it came; no other may. Afterwards nothing is held, shared memory
is what it was, and the engine's memory of the second half of the time is that of the first.

Exit status 1 when anything of that is not so.
"""
import argparse
import contextlib
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import load_calls
from load_calls import LOAD, after, check, memory_by_owner, packets_dropped, warm_up

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from call_servers import BENCH, CallServer, make_keys  # noqa: E402
from servers import PUSHWAKE, wait_until  # noqa: E402

WAKE_TIMEOUT = 5
# An engine that has been killed listens again after so many seconds at most, and so does a provider.
RESTART = 1.0
DISK = "24m"
HOUR, DAY = 3600, 86_400


class Engine:
    """`pushwake engine` beside Kamailio, with a wall clock, a disk and a reader of its log of its own."""

    def __init__(self, directory, has_disk):
        self.directory, self.settings, self.process = directory, directory / "pushwake.conf", None
        directory.mkdir()
        self.store = directory / "store"
        self.store.mkdir()
        if has_disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.store], check=True)
        (directory / "clock").write_bytes(bytes(mmap.PAGESIZE))
        self.pipe, theirs = os.pipe()
        self.reader = subprocess.Popen(["cat"], stdin=self.pipe, stdout=(directory / "log").open("wb"))
        self.log = theirs

    def begin(self, settings):
        """Kamailio's settings are the engine's too; where it stores what, is its own."""
        own = {name: value for name, value in settings.items() if name not in ("engine_mode", "engine_path") and value is not None}
        own |= {"store_path": self.store / "bindings.db", "log_level": "debug"}
        self.socket = own["engine_socket"]
        self.settings.write_text("".join(f"{name} = {value}\n" for name, value in own.items()))
        self.start()

    def start(self):
        clock = {"LD_PRELOAD": str(BENCH / "clock_offset.so"), "CLOCK_OFFSET": str(self.directory / "clock")}
        self.process = subprocess.Popen([PUSHWAKE, "engine", "--settings", self.settings], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, env=os.environ | clock)

    def kill(self):
        self.process.kill()
        self.process.wait()
        time.sleep(RESTART / 2)
        self.start()

    def memory(self):
        """Kilobytes that it has in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

    @contextlib.contextmanager
    def clock(self, seconds):
        for offset in (seconds, 0):
            (self.directory / "clock").open("r+b").write(struct.pack("<q", offset))
            if offset:
                yield

    @contextlib.contextmanager
    def full_disk(self):
        ballast = self.store / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
        ballast.unlink()

    @contextlib.contextmanager
    def unread_log(self):
        self.reader.send_signal(signal.SIGSTOP)
        yield
        self.reader.send_signal(signal.SIGCONT)

    def stop(self):
        for process in (self.process, self.reader):
            if process and process.poll() is None:
                process.terminate()
                process.wait(20)


def kill(server, engine, seconds):
    for _ in range(3):
        time.sleep(seconds / 5)
        engine.kill()


def flap(server, engine, seconds):
    for _ in range(3):
        time.sleep(seconds / 6)
        server.restart_provider(RESTART / 2)
    time.sleep(seconds / 6)
    server.provider.process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    server.provider.process.send_signal(signal.SIGCONT)


def disk(server, engine, seconds):
    time.sleep(seconds / 3)
    with engine.full_disk():
        time.sleep(seconds / 3)


def clock(server, engine, seconds):
    for offset in (HOUR, 3 * DAY, -HOUR, -3 * DAY):
        time.sleep(seconds / 10)
        with engine.clock(offset):
            time.sleep(seconds / 10)


def log(server, engine, seconds):
    with engine.unread_log():
        time.sleep(seconds * 0.8)


# Seconds in which calls may fail, and pushes may come twice, in all of a round.
AWAY = {kill: 3 * (RESTART + 2), flap: 3 * (RESTART + 2) + 3, disk: 0, clock: 0, log: 0}
UNKNOWN = {kill: 3 * 0.5, flap: 3 * 0.5 + 3, disk: 0, clock: 0, log: 0}


class LongRun:
    def __init__(self, server, engine, arguments):
        self.server, self.engine, self.arguments = server, engine, arguments
        self.memory = []
        self.total = {"calls": 0, "pushes": 0, "failed": 0, "doubled": 0}

    def play(self, disturb=None):
        """One round; tells what of it was not as it should be."""
        rate, seconds = self.arguments.rate, self.arguments.round
        begun, dropped = time.monotonic(), packets_dropped()
        other = threading.Thread(target=disturb, args=(self.server, self.engine, seconds)) if disturb else None
        if other:
            other.start()
        found = self.server.calls(rate * seconds, rate, "--users", self.arguments.users, "--linger-ms", 2000, *LOAD)
        if other:
            other.join()
        failed, doubled = found["wrong"], found["doubled_pushes"] + found["doubled_invites"]
        self.total["calls"] += rate * seconds
        self.total["pushes"] += found["pushes"]
        self.total["failed"] += failed
        self.total["doubled"] += doubled
        name = disturb.__name__ if disturb else "quiet"
        print(f"{name:6} {time.monotonic() - begun:4.0f} s, final codes {found['finals']}, sent again {found['resends']}, INVITE to push "
              f"p99 {found['push_p99_ms']:.1f} ms; dropped by this machine {packets_dropped() - dropped}; engine {self.engine.memory()} kB",
              flush=True)
        check("every call has ended", found["unfinished"] == 0, found["unfinished"])
        check("no phone rings on", found["left_ringing"] == 0, found["left_ringing"])
        most, twice = (AWAY[disturb] * rate, UNKNOWN[disturb] * rate) if disturb else (0, 0)
        check("no call failed that began while all was there", failed <= most, f"{failed}, at most {most:.0f}")
        check("nobody was pushed or called twice whose push was answered", doubled <= twice, f"{doubled}, at most {twice:.0f}")

    def run(self):
        disturbances = [kill, flap, clock, log] + ([disk] if self.arguments.has_disk else [])
        end, number = time.monotonic() + self.arguments.minutes * 60, 0
        while time.monotonic() < end:
            self.play(disturbances[number % len(disturbances)])
            wait_until("the engine is there", lambda: self.server.kamailio.rpc("pushwake.stats") is not None, 20)
            self.play()
            self.memory.append(self.engine.memory())
            number += 1

    def conclude(self, before, owners):
        after(self.server, before, owners)
        half = len(self.memory) // 2
        early, late = max(self.memory[:half], default=0), max(self.memory[half:], default=0)
        check("the engine's memory is flat", late <= early * 1.05 + 2048, f"{early:,} kB in the first half, {late:,} kB in the second")
        print("\n" + ", ".join(f"{value:,} {name}" for name, value in self.total.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=50, help="calls a second")
    parser.add_argument("--round", type=int, default=40, help="seconds of a round")
    # No user has the same kind of call each time.
    parser.add_argument("--users", type=int, default=1009)
    arguments = parser.parse_args()
    arguments.has_disk = os.geteuid() == 0
    if arguments.has_disk and "ENDURE" not in os.environ:
        # What is mounted goes with the last process of this run.
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], os.environ | {"ENDURE": "1"})
    if not arguments.has_disk:
        print("no full disk: that needs root")
    with tempfile.TemporaryDirectory(prefix="pushwake-endure-") as directory:
        directory = Path(directory)
        keys = make_keys(directory / "keys")
        engine = Engine(directory / "engine", arguments.has_disk)
        server = CallServer(directory / "server", "PUSHWAKE", keys, wake_timeout=WAKE_TIMEOUT, engine=engine.begin)
        long = LongRun(server, engine, arguments)
        try:
            warm_up(server, arguments.users)
            states = server.shared_memory(), memory_by_owner(server)
            long.run()
            long.conclude(*states)
        finally:
            server.stop()
            engine.stop()
            if arguments.has_disk:
                subprocess.run(["umount", engine.store], check=False)
    if load_calls.failures:
        sys.exit(f"{len(load_calls.failures)} checks failed")
    print("all as it should be")


if __name__ == "__main__":
    main()
