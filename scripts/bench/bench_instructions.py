# SPDX-License-Identifier: MIT
"""What users without a push binding pay: pushwake_save() and pushwake_lookup() against save() and lookup().

Instructions are counted over all processes of a server: by `perf stat`, the kernel's too, where the processor's counters
can be had; else by callgrind, which sees none of the kernel's. CPU time, with the kernel's, stands beside them.

Both servers run with Kamailio's memory manager fm. What qm, the default, spends on one allocation depends on what was freed
before: a few instructions or thousands, which would hide what is measured here.
"""
import re
import shutil
import signal
import statistics
import subprocess

from call_servers import CallServer, settle, wait_until

WAYS = ("PLAIN", "PUSHWAKE")
USERS = 300
MANAGER = ["-x", "fm", "-X", "fm"]
WORK = {"call": ["--registered"], "REGISTER": ["--register"]}


def perf_event():
    """What `perf stat` can count here, or None."""
    for event in ("instructions", "instructions:u") if shutil.which("perf") else ():
        done = subprocess.run(["perf", "stat", "-x", ",", "-e", event, "true"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and re.search(r"^\d+,", done.stderr, re.M):
            return event
    return None


class Perf:
    """Counts with the processor's counters."""

    program = ("kamailio",)
    rate = 300

    def __init__(self, event, directory):
        self.unit = f"{event} (perf)"
        self.event, self.report = event, directory / "perf"

    def count(self, server, play):
        process = subprocess.Popen(["perf", "stat", "-x", ",", "-o", self.report, "-e", self.event, "-p",
                                    ",".join(map(str, server.pids))])
        try:
            settle()
            play()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        return int(re.search(r"^(\d+),", self.report.read_text(), re.M)[1])


class Callgrind:
    """Counts by emulation, which is some fifty times slower."""

    unit = "instructions in user mode (callgrind)"
    rate = 30

    def __init__(self, directory):
        self.directory = directory / "callgrind"
        self.directory.mkdir()
        self.program = ("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--trace-children=yes",
                        f"--callgrind-out-file={self.directory}/%p", "kamailio")

    def count(self, server, play):
        pids = server.pids
        self.tell(pids, "--instr=on")
        play()
        self.tell(pids, "--instr=off")
        before = set(self.directory.glob("*.*"))
        self.tell(pids, "--dump")
        return sum(wait_until("every process has written its counts", lambda: self.totals(before, len(pids)), 60))

    def totals(self, before, processes):
        """The counts in the dumps that are new and complete, once there is one of every process."""
        new = [re.search(r"^totals: (\d+)", made.read_text(errors="replace"), re.M)
               for made in set(self.directory.glob("*.*")) - before]
        return [int(found[1]) for found in new] if len(new) == processes and all(new) else None

    @staticmethod
    def tell(pids, command):
        running = [subprocess.Popen(["callgrind_control", command, str(pid)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for pid in pids]
        for process in running:
            if process.wait(60) != 0:
                raise RuntimeError(f"callgrind_control {command} failed")


def play(server, work, rate, count=USERS):
    found = server.calls(count, rate, "--users", USERS, "--no-push", *WORK[work])
    if found["ok"] != count:
        raise RuntimeError(f"{server.way}: {count - found['ok']} of {count} lost: {found}")


def start(directory, keys, counter):
    servers = {}
    for way in WAYS:
        servers[way] = CallServer(directory / f"{way}-{counter.rate}", way, keys, program=counter.program,
                                  arguments=MANAGER, engine_timeout=10000)
        play(servers[way], "REGISTER", counter.rate * 2)
        play(servers[way], "call", counter.rate)
    return servers


def instructions(directory, keys, counter):
    servers = start(directory, keys, counter)
    try:
        return {work: {way: counter.count(server, lambda: play(server, work, counter.rate)) / USERS
                       for way, server in servers.items()} for work in WORK}
    finally:
        for server in servers.values():
            server.stop()


def cpu_time(directory, keys, counter, rounds=5, seconds=2):
    servers = start(directory, keys, counter)
    samples = {work: {way: [] for way in WAYS} for work in WORK}
    try:
        for turn in range(rounds):
            for work in WORK:
                for way in WAYS if turn % 2 else reversed(WAYS):
                    before = servers[way].cpu_us()["cpu_us"]
                    play(servers[way], work, counter.rate, counter.rate * seconds)
                    settle(0.1)
                    spent = servers[way].cpu_us()["cpu_us"] - before
                    samples[work][way].append(spent / (counter.rate * seconds))
        return {work: {way: statistics.median(rows) for way, rows in ways.items()} for work, ways in samples.items()}
    finally:
        for server in servers.values():
            server.stop()


def without_binding(directory, keys):
    """Prints and returns what a call and a REGISTER of a user without a push binding cost, with and without PushWake."""
    event = perf_event()
    natural = Perf(event or "", directory)
    result = {"cpu us": cpu_time(directory, keys, natural)}
    counter = natural if event else Callgrind(directory) if shutil.which("valgrind") else None
    if counter:
        result[counter.unit] = instructions(directory, keys, counter)
    unit = counter.unit if counter else "cpu us"
    print("\nusers without a push binding, memory manager fm")
    print(f"  {'':52}{'plain':>12}{'PushWake':>12}{'ratio':>8}")
    for what, rows in result.items():
        for work, row in rows.items():
            row["ratio"] = row["PUSHWAKE"] / row["PLAIN"]
            print(f"  {work + ', ' + what:52}{row['PLAIN']:12,.0f}{row['PUSHWAKE']:12,.0f}{row['ratio']:8.3f}", flush=True)
    return {"unit": unit, "call": result[unit]["call"], "all": result}
