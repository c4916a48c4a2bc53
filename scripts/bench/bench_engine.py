# SPDX-License-Identifier: MIT
"""The whole engine in the benchmark: cost per push with few and with many bindings, provider faults, and a backlog."""
import collections
import itertools
import json
import os
import random
import socket
import ssl
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tests/e2e"))
from engine_client import (  # noqa: E402
    AOR, CALL, CALL_ID, CSEQ, EVENT, FROM_DISPLAY, FROM_URI, GRANTED, HEADER_NAME, HEADER_VALUE, REGISTER, REPLY, SEND, WAITS, message)

WINDOW = 100
BLOCK = 20_000
# The same phones are called again and again.
NO_LIMITS = {"device_pushes": 0, "caller_pushes": 0, "aor_pushes": 0}


class Engine:
    """`pushwake engine` with a SQLite store in `directory`, and a client of its socket."""

    def __init__(self, pushwake, directory, url, files, pin, **settings):
        directory.mkdir()
        made = json.loads((files / "simulator.json").read_text())
        settings |= {name: made[name] for name in ("ca_file", "apns_key", "apns_key_id", "apns_team_id", "fcm_key")} | {
            "apns_url": url, "apns_sandbox_url": url, "engine_socket": directory / "socket",
            "store_path": directory / "bindings.db", "log_level": "error"}
        (directory / "settings.conf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        self.process = subprocess.Popen([pushwake, "engine", "--settings", directory / "settings.conf"], preexec_fn=pin)
        self.have_instances = False
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for _ in range(200):
            try:
                self.socket.connect(str(directory / "socket"))
                break
            except OSError:
                time.sleep(0.05)
        self.socket.settimeout(30)

    def stop(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)

    def exchange(self, messages, rate=None):
        """Sends all, WINDOW at a time or `rate` a second, and returns how many were answered and not refused."""
        good = 0
        messages = iter(messages)
        # Made before they are sent: an engine that waits for its client sleeps between any two messages.
        while block := list(itertools.islice(messages, BLOCK)):
            good += self.exchange_block(block, rate)
        return good

    def exchange_block(self, messages, rate):
        waiting = good = 0
        due = time.monotonic()
        for data in messages:
            if rate:
                due += 1 / rate
                time.sleep(max(0, due - time.monotonic()))
            self.socket.send(data)
            waiting += 1
            if waiting == WINDOW:
                good += self.socket.recv(1 << 18)[1] == REPLY
                waiting -= 1
        return good + sum(self.socket.recv(1 << 18)[1] == REPLY for _ in range(waiting))

    def register(self, users, cseq=1, rate=None, provider="apns"):
        push = {"apns": "pn-provider=apns;pn-prid={};pn-param=ABCDE12345.com.example.phone.voip",
                "fcm": "pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={}"}[provider]

        def one(user):
            token = f"{user:016x}" + "ab" * 24
            contact = f"<sip:{user}@192.0.2.{user % 250}:5060;transport=tls;{push.format(token)}>"
            if self.have_instances:
                contact += f';+sip.instance="<urn:uuid:{user:08x}-5b1e-4c3a-9d2f-0123456789ab>"'
            return message(REGISTER, user, (AOR, f"user{user}@example.com"), (CALL_ID, f"{user}-reg"), (CSEQ, cseq),
                           (GRANTED, 3600), (HEADER_NAME, "Contact"), (HEADER_VALUE, contact))
        return self.exchange((one(user) for user in users), rate)

    def push(self, users, rate=None, waits=1):
        return self.exchange((
            message(SEND, index, (EVENT, CALL), (AOR, f"user{user}@example.com"), (CALL_ID, f"{index}@bench"),
                    (FROM_URI, "sip:alice@example.com"), (FROM_DISPLAY, "Alice Example"), (WAITS, waits))
            for index, user in enumerate(users)), rate)

    def latencies(self, users, beside=()):
        """Milliseconds until each push was accepted, one at a time; before each goes one to a user of `beside`."""
        found = []
        for index, user in enumerate(users):
            if beside:
                self.push([beside[index % len(beside)]], waits=0)
            begin = time.monotonic()
            self.push([user])
            found.append((time.monotonic() - begin) * 1e3)
        return found

    def cpu(self):
        """Microseconds of all its threads."""
        tasks = f"/proc/{self.process.pid}/task"
        return sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks)) / 1e3

    def memory(self):
        """Megabytes that it has in memory."""
        lines = open(f"/proc/{self.process.pid}/status").read().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


PACE = 300
# Users who register and are then called, all of them once: a second call would find a phone that was pushed already.
ROUND = 1000
# For so many seconds a new engine keeps who registers, for hosts that still have to tell it what they hold.
EARLY = 10


def bindings(pushwake, directory, server, keys, counts, pushes, pin, have_instances=False):
    """Prints what the engine's requests cost for each number of bindings in its store, as fast as they go and paced."""
    columns = {"new": "new binding", "refresh": "refresh", "push": "send", "paced_refresh": "refresh, paced", "paced_push": "send, paced"}
    phones = "phones with an instance, " if have_instances else ""
    print(f"\nwhole engine, SQLite: cpu us per request, {phones}median of {pushes // ROUND} rounds, in which {ROUND:,} random users register "
          f"and are called, {WINDOW} at a time; paced: {PACE} a second")
    print(f"  {'bindings':>12}" + "".join(f"{title:>16}" for title in columns.values()) + f"{'memory MB':>12}{'lost':>6}")
    result = {}
    for count in counts:
        engine = Engine(pushwake, directory / f"engine-{count}", f"https://127.0.0.1:{server.port}", keys.directory, pin,
                        **NO_LIMITS)
        engine.have_instances = have_instances
        choice = random.Random(7)
        spent, row = collections.defaultdict(list), {"lost": 0}

        def measured(name, action, users, *options):
            begin = engine.cpu()
            row["lost"] += len(users) - action(users, *options)
            spent[name].append((engine.cpu() - begin) / len(users))

        try:
            measured("new", engine.register, range(count))
            time.sleep(EARLY)
            for number in range(pushes // ROUND):
                users = choice.sample(range(count), ROUND)
                measured("refresh", engine.register, users, number + 2)
                measured("push", engine.push, users)
            few = choice.sample(range(count), 3 * PACE)
            measured("paced_refresh", engine.register, few, number + 3, PACE)
            measured("paced_push", engine.push, few, PACE)
            row |= {f"cpu_us_{name}": statistics.median(values) for name, values in spent.items()}
            row["memory_mb"] = engine.memory()
        finally:
            engine.stop()
        print(f"  {count:12,}" + "".join(f"{row[f'cpu_us_{name}']:16.1f}" for name in columns)
              + f"{row['memory_mb']:12.1f}{row['lost']:6}", flush=True)
        result[str(count)] = row
    return result


def soak(pushwake, directory, server, keys, count, pin):
    """Prints what a service that is dead all the time does to the pushes of another, and to memory."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        dead = f"https://127.0.0.1:{nobody.getsockname()[1]}"
        engine = Engine(pushwake, directory / "soak", f"https://127.0.0.1:{server.port}", keys.directory, pin, fcm_url=dead,
                        **NO_LIMITS)
        living, lost = range(1000), range(1000, 2000)
        memory, seconds, good = [], {False: 0.0, True: 0.0}, 0
        waited = {False: [], True: []}
        try:
            engine.register(living)
            engine.register(lost, provider="fcm")
            engine.push(living)
            for part in range(10):
                for is_mixed in (False, True):
                    # The same pushes to the living service, alone and with as many to the dead one between them.
                    for _ in range(count // 20_000):
                        begin = time.monotonic()
                        good += engine.push(living)
                        seconds[is_mixed] += time.monotonic() - begin
                        if is_mixed:
                            engine.push(lost, waits=0)
                    waited[is_mixed] += engine.latencies(living[:200], lost if is_mixed else ())
                memory.append(engine.memory())
        finally:
            engine.stop()
    row = {"pushes": good, "memory_mb": memory, "alone_s": seconds[False], "mixed_s": seconds[True]}
    for is_mixed, name in ((False, "alone"), (True, "mixed")):
        ordered = sorted(waited[is_mixed])
        row[f"{name}_p50_ms"], row[f"{name}_p99_ms"] = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    print(f"\na dead service: {good:,} pushes to the other, half of them among as many to the dead one")
    print(f"  time {seconds[False]:.1f} s alone, {seconds[True]:.1f} s among them; memory MB, ten times: "
          + " ".join(f"{at:.1f}" for at in memory))
    print(f"  one at a time, until it is accepted: p50 {row['alone_p50_ms']:.2f} ms, p99 {row['alone_p99_ms']:.2f} alone; "
          f"p50 {row['mixed_p50_ms']:.2f}, p99 {row['mixed_p99_ms']:.2f} behind one to the dead service each", flush=True)
    return row


def script(count):
    """Provider faults: what the rules do is in docs/simulator.md."""
    return {"rules": [
        {"provider": "apns", "every": 1000, "goaway": {"reason": "Shutdown"}},
        {"provider": "apns", "every": 5000, "close": "fin"},
        {"provider": "apns", "every": 4900, "close": "rst"},
        {"provider": "apns", "probability": 0.01, "reason": "ServiceUnavailable"},
        {"provider": "apns", "after": count // 2, "count": 1, "reason": "ExpiredProviderToken"}]}


def provider_faults(server, keys, client, count, concurrency):
    """Prints what became of so many pushes, as their sender and as the simulator counted them."""
    context = ssl.create_default_context(cafile=keys.ca)

    def control(name, body=None):
        request = urllib.request.Request(f"https://127.0.0.1:{server.port}/_simulator/{name}", data=body)
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.read()

    control("reset", b"")
    control("script", json.dumps(script(count)).encode())
    said = client.measure(server.port, count, concurrency, {})
    seen = json.loads(control("counters"))
    control("reset", b"")
    row = {"count": count, "lost": count - seen["distinct"], "doubled": seen["duplicates"] + seen["repeats"],
           "not_accepted": count - said["accepted"], "seconds": said["seconds"], "requests": seen["requests"],
           "goaways": seen["goaways_sent"], "closed": seen["closes"],
           "refused": seen["providers"]["apns"]["reasons"]}
    refused = ", ".join(f"{number:,} {reason}" for reason, number in row["refused"].items())
    print(f"\nprovider faults: {count:,} pushes, {concurrency} at a time, through {row['goaways']} GOAWAYs, {row['closed']} closed "
          f"connections (FIN and RST), {refused}")
    print(f"  lost {row['lost']}, doubled {row['doubled']}, not accepted {row['not_accepted']}; {row['requests']:,} requests in "
          f"{row['seconds']:.1f} s", flush=True)
    return row


def backlog(pushwake, keys, count):
    """Prints what so many pushes weigh that wait for a provider out of reach, and what is left when they have gone."""
    done = subprocess.run([str(pushwake), "load", "--backlog", "--dir", str(keys.directory), "--count", str(count), "--json"],
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: pushwake load --backlog: {done.stderr.strip()}")
    row = json.loads(done.stdout)
    before, during, after = (row[f"{name}_bytes"] / 1e6 for name in ("before", "during", "after"))
    print(f"\na backlog: {count:,} queued pushes take {row['bytes_per_push']:,} bytes each")
    print(f"  memory MB: {before:.1f} before, {during:.1f} while they wait, {after:.1f} when they have gone", flush=True)
    return row
