#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What bindings cost that nodes share: memory of the server, its CPU time and the engine's for each request, what goes to
the server for one, and how long an answer takes at 300 a second; beside it the same with SQLite.

Starts Valkey (or Redis), the simulator and an engine. Needs `make build` and `make setup-test`.

usage: scripts/bench/bench_store.py [--users 100000] [--cluster] [--memory]
    --cluster: three masters in place of one server    --memory: new bindings of nodes alone
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "e2e"))

from bench_engine import Engine  # noqa: E402
from engine_client import AOR, CALL_ID, CSEQ, GRANTED, HEADER_NAME, HEADER_VALUE, REPLY, message  # noqa: E402
from peers.valkey import Cluster, Valkey  # noqa: E402
from servers import PUSHWAKE, Simulator, wait_until  # noqa: E402

REGISTER, WAKE, METHOD = 1, 2, 107
PACE = 300
PACED = 5 * PACE


def register(user, cseq):
    contact = (f"<sip:{user}@192.0.2.{user % 250}:5060;transport=tls;pn-provider=apns;pn-prid={user:016x}{'ab' * 24}:voip;"
               f"pn-param=ABCDE12345.com.example.phone.voip>;+sip.instance=\"<urn:uuid:{user:032x}>\"")
    return message(REGISTER, user, (AOR, f"user{user}@example.com"), (CALL_ID, f"{user}-reg"), (CSEQ, cseq),
                   (GRANTED, 3600), (HEADER_NAME, "Contact"), (HEADER_VALUE, contact))


def invite(user):
    return message(WAKE, user, (AOR, f"user{user}@example.com"), (CALL_ID, f"{user}-{time.monotonic_ns()}"),
                   (METHOD, "INVITE"))


class Servers:
    """What they have used in all."""

    def __init__(self, servers):
        self.servers = servers

    def cpu(self):
        total = 0
        for server in self.servers:
            rows = dict(line.split(":") for line in server.run("info", "cpu").splitlines() if ":" in line)
            total += float(rows["used_cpu_user"]) + float(rows["used_cpu_sys"])
        return total * 1e6

    def memory(self):
        return sum(int(s.run("info", "memory").split("used_memory:")[1].split()[0]) for s in self.servers)


class Monitor:
    """Counts what comes to the servers, but not what their scripts do."""

    def __init__(self, servers, directory):
        self.files = [(directory / f"monitor-{server.port}").open("w+") for server in servers]
        self.processes = [subprocess.Popen(["redis-cli", "-p", str(server.port), "monitor"], stdout=out)
                          for server, out in zip(servers, self.files)]
        time.sleep(0.3)

    def stop(self):
        time.sleep(0.3)
        counted = collections.Counter()
        for process, out in zip(self.processes, self.files):
            process.terminate()
            process.wait()
            out.seek(0)
            for line in out:
                if " lua]" not in line and '"' in line:
                    counted[line.split('"')[1].lower()] += 1
        # What is sent now and then, whatever comes.
        for name in ("ping", "info", "monitor", "cluster"):
            counted.pop(name, None)
        return counted


def paced(engine, messages):
    """Microseconds until each was answered, sorted; one that was refused counts as a second."""
    times, due = [], time.monotonic()
    for data in messages:
        due += 1 / PACE
        time.sleep(max(0, due - time.monotonic()))
        begin = time.monotonic_ns()
        engine.socket.send(data)
        good = engine.socket.recv(1 << 18)[1] == REPLY
        times.append((time.monotonic_ns() - begin) / 1e3 if good else 1e6)
    return sorted(times)


def run(title, engine, servers, users, directory, is_short):
    print(f"\n{title}: {users:,} users with one binding each")
    print(f"  {'':<28}{'engine us':>10}{'server us':>10}{'p50 us':>9}{'p99 us':>9}{'lost':>6}  to the server for each")
    few = [(user * 7919) % users for user in range(PACED)]

    def row(name, messages, is_paced):
        count = len(messages)
        counted, times = collections.Counter(), []
        begin = engine.cpu(), servers.cpu() if servers else 0
        if is_paced:
            monitor = Monitor(servers.servers, directory) if servers else None
            times = paced(engine, messages)
            lost = sum(each >= 1e6 for each in times)
            counted = monitor.stop() if monitor else counted
        else:
            lost = count - engine.exchange(messages)
        cpu = engine.cpu() - begin[0], (servers.cpu() if servers else 0) - begin[1]
        tail = f"{times[count // 2]:9.0f}{times[count * 99 // 100]:9.0f}" if times else f"{'':>18}"
        # MONITOR writes a line for each command and each of a script's: the server's time is not its own then.
        server = "" if is_paced or not servers else f"{cpu[1] / count:.1f}"
        print(f"  {name:<28}{cpu[0] / count:>10.1f}{server:>10}{tail}{lost:>6}  "
              + ", ".join(f"{word} {number / count:.2f}" for word, number in counted.most_common()), flush=True)

    before = servers.memory() if servers else 0
    row("REGISTER, new", [register(user, 1) for user in range(users)], False)
    if servers:
        print(f"  {(servers.memory() - before) / users:.0f} bytes of the server for each", flush=True)
    if is_short:
        return
    row("REGISTER, refresh", [register(user, 2) for user in range(users)], False)
    row("INVITE, nobody has bindings", [invite(users + user) for user in range(users)], False)
    row(f"REGISTER, refresh, {PACE} a second", [register(user, 3) for user in few], True)
    row(f"INVITE, asleep, {PACE} a second", [invite(user) for user in few], True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pushwake-bench-") as name:
        directory = pathlib.Path(name)
        (directory / "simulator").mkdir()
        simulator = Simulator(directory / "simulator")
        simulator.start()
        started = []
        try:
            if options.cluster:
                store = Cluster(directory)
                started.append(store)
                store.start()
                for server in store.servers:
                    server.run("config", "set", "appendonly", "no")
                servers = Servers([s for s in store.servers if s.run("role").startswith("master")])
            else:
                (directory / "valkey").mkdir()
                store = Valkey(directory / "valkey", "--appendonly", "no")
                started.append(store)
                servers = Servers([store.start()])
            for title, settings in [("SQLite", {}), ("a cluster" if options.cluster else "one server",
                                                     {"store": store.url})]:
                if options.memory and not settings:
                    continue
                engine = Engine(PUSHWAKE, directory / title.split()[-1], simulator.url, simulator.directory / "files", None,
                                **settings)
                started.append(engine)
                if settings:
                    wait_until("it is connected", lambda e=engine: e.exchange([register(0, 1)]) == 1 and servers.memory())
                run(title, engine, servers if settings else None, options.users, directory, options.memory)
        finally:
            for each in reversed(started):
                each.stop()
            simulator.stop()


if __name__ == "__main__":
    main()
