# SPDX-License-Identifier: MIT
"""Kamailio as Benchmarks/kamailio.cfg has it, what stands for the provider, and the load generator."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCH = ROOT / ".build/bench"
sys.path.insert(0, str(ROOT / "Tests/e2e"))

from peers.valkey import Valkey  # noqa: E402
from ports import free_port  # noqa: E402
from servers import Kamailio, Simulator, wait_until  # noqa: E402

import bench  # noqa: E402

WAYS = ("PLAIN", "TSILO", "DIRECT", "PUSHWAKE")


class Stand:
    """A process that prints "listening PORT": sink (HTTP/2 over TLS) or gateway (HTTP/1.1)."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        if line[:1] != ["listening"]:
            sys.exit(f"{command[0]}: did not start")
        self.port = int(line[1])

    def stop(self):
        self.process.terminate()
        counters = self.process.stdout.read()
        self.process.wait(10)
        return json.loads(counters)


class CallServer:
    """One of the ways to reach a phone: Kamailio, its engine if it has one, and the provider's stand-in. With `store`,
    the address of a Valkey, it is a node that shares its bindings; `tell` is the port where the load generator hears of
    pushes. With `engine`, which is called with all settings, the engine is not Kamailio's own."""

    def __init__(self, directory, way, keys, shared_memory=512, program=("kamailio",), arguments=(), store=None, tell=None,
                 engine=None, **settings):
        self.way, self.tell, self.phone, self.other = way, tell or free_port(), None, None
        self.provider = None
        files = keys.directory / "files"
        if way == "TSILO":
            self.provider = Stand(BENCH / "gateway", "--tell", self.tell)
        elif way in ("DIRECT", "PUSHWAKE"):
            self.sink = [BENCH / "sink", "--cert", files / "server.pem", "--key", files / "server.key", "--tell", self.tell]
            self.provider = Stand(*self.sink)
        if way == "PUSHWAKE":
            url = f"https://127.0.0.1:{self.provider.port}"
            settings |= {"apns_url": url, "apns_sandbox_url": url, "fcm_key": None, "fcm_url": None}
            # The same few phones are called again and again.
            settings |= {"device_pushes": 0, "caller_pushes": 0, "aor_pushes": 0}
        directory.mkdir()
        script = {"@BENCH@": BENCH, "@PROVIDER@": self.provider.port if self.provider else ""}
        if way == "DIRECT":
            script |= {"@CA@": trusted(files / "ca.pem", directory / "ca"), "@JWT@": bench.Keys(files).provider_token()}
        config = (ROOT / "Benchmarks/kamailio.cfg").read_text()
        for place, value in script.items():
            config = config.replace(place, str(value))
        self.kamailio = Kamailio(directory, keys, settings, config, settings.pop("wake_timeout", 30),
                                 ["-A", way, *(["-A", "TSILO"] if way == "DIRECT" else []), "-m", str(shared_memory), *(["-A", "NODES"] if store else []), *arguments], program)
        if store:
            # As engine_timeout of the tests: what follows from a store that is slow is not looked at here.
            self.kamailio.set_up(store=store, engine_timeout=2500, node_uri=f"sip:127.0.0.1:{self.kamailio.port}")
        if engine:
            self.kamailio.set_up(engine_mode="external")
            engine(self.kamailio.settings)
        try:
            self.kamailio.start()
            if way == "PUSHWAKE":
                self.kamailio.wait_engine()
            if store:
                self.kamailio.wait_log("store: ", "connected")
        except AssertionError as reason:
            self.stop()
            sys.exit(f"{way}: Kamailio did not start: {reason}\n{self.kamailio.tail()}")
        self.engine = self.kamailio.engine_pid()

    def restart_provider(self, pause):
        """What stands for the provider dies, and is there again so many seconds later."""
        self.provider.process.kill()
        self.provider.process.wait()
        time.sleep(pause)
        self.provider = Stand(*self.sink, "--port", self.provider.port)

    @property
    def pids(self):
        return self.kamailio.pids()

    def move_phones(self):
        """From now on every phone registers from another port, as it does when it wakes in another network."""
        self.phone = free_port()

    def calls(self, count, rate, *options):
        """Plays so many calls; returns what the load generator found."""
        if self.phone is None:
            self.move_phones()
        command = [BENCH / "calls", "--server", self.kamailio.port, "--phone", self.phone, "--calls", count, "--rate", rate]
        if self.other:
            command += ["--other", self.other.kamailio.port]
        if self.way != "PLAIN" and "--register" not in options:
            command += ["--tell", self.tell]
        done = subprocess.run([str(word) for word in [*command, *options]], stdout=subprocess.PIPE, text=True,
                              timeout=count / rate + 300, check=False)
        if not done.stdout.startswith("{"):
            sys.exit(f"calls: status {done.returncode} and no result")
        return json.loads(done.stdout)

    def register(self, users, *options):
        found = self.calls(users, 1000, "--register", "--users", users, *options)
        if found["ok"] != users:
            sys.exit(f"{self.way}: {users - found['ok']} of {users} phones could not register: {found}\n{self.kamailio.tail(10)}")

    def cpu_us(self):
        """Microseconds, user and system, of all processes; of the engine and of its supervisor within that; and,
        not within it, of what stands for the provider."""
        parts = {pid: cpu_us(pid) for pid in self.pids}
        supervisor = parent_of(self.engine) if self.engine else None
        return {"cpu_us": sum(parts.values()), "engine_us": parts.get(self.engine, 0.0),
                "supervisor_us": parts.get(supervisor, 0.0),
                "stand_us": cpu_us(self.provider.process.pid) if self.provider else 0.0}

    def shared_memory(self):
        """Bytes that Kamailio has given out of its shared memory."""
        return int(re.search(r"used: (\d+)", self.kamailio.rpc("core.shmmem"))[1])

    def transactions(self):
        """Transactions that tm has, those that wait to be freed included."""
        return int(re.search(r"current: (\d+)", self.kamailio.rpc("tm.stats"))[1])

    def wait_idle(self, seconds=60):
        """Waits until tm has no transaction left."""
        wait_until("no transaction is left", lambda: self.transactions() == 0, seconds, step=0.5)

    def stop(self):
        """Ends all; returns what the provider's stand-in has counted."""
        self.kamailio.stop()
        return self.provider.stop() if self.provider else {}


class CallNodes:
    """Two nodes that share a Valkey: every other call is at each, and half of the phones register at the other one."""

    def __init__(self, directory, keys, **settings):
        directory.mkdir()
        self.valkey = make_valkey(directory / "valkey")
        self.nodes = []
        for name in ("a", "b"):
            tell = self.nodes[0].tell if self.nodes else None
            self.nodes.append(CallServer(directory / name, "PUSHWAKE", keys, store=self.valkey.url, tell=tell, **settings))
        self.nodes[0].other = self.nodes[1]

    def __getattr__(self, name):
        """What plays calls is the first node's."""
        return getattr(self.nodes[0], name)

    def cpu_us(self):
        parts = [node.cpu_us() for node in self.nodes]
        return {name: sum(part[name] for part in parts) for name in parts[0]}

    def stop(self):
        for node in self.nodes:
            node.stop()
        self.valkey.stop()


def make_valkey(directory):
    """A server that writes nothing to a disk: how long that takes is the disk's matter."""
    directory.mkdir()
    return Valkey(directory, "--appendonly", "no").start()


def trusted(certificate, directory):
    """A directory of trusted certificates as OpenSSL looks them up; it holds this one."""
    directory.mkdir()
    shutil.copy(certificate, directory)
    subprocess.run(["openssl", "rehash", str(directory)], check=True)
    return directory


def parent_of(pid):
    return int(re.search(r"^PPid:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def cpu_us(pid):
    """Microseconds that all threads of a process have run."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        total += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    return total / 1e3


def make_keys(directory):
    """What `pushwake simulate` leaves for a server and for those who trust it."""
    directory.mkdir()
    keys = Simulator(directory)
    keys.start()
    keys.stop()
    return keys


def settle(seconds=0.3):
    """Lets what a run has left over be done."""
    time.sleep(seconds)
