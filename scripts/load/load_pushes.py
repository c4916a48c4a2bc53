#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A million pushes through a random mix of all faults that the simulator knows: none lost, none doubled. With --foreign,
the provider is Python's h2 (foreign_server.py), whose faults and whose count are its own.

Round after round another mix is drawn: which faults, how often, which provider, how many pushes at a time, how many
connections. The server counts, and each push has a token of its own: what the sender calls accepted has arrived (else it is lost), what it
calls failed has not, and nothing has arrived twice. Where a fault takes a push and keeps the answer back, its sender cannot know
and sends it again: of such copies there are as many as such faults at most. A push that fault upon fault keeps from leaving in
its 15 s is given up, and its sender told so; that may happen to one in a thousand.

A round that fails names its number: --seed and --first play it again. Exit status 1 when any failed, or none was played.
"""
import argparse
import collections
import json
import random
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/bench"), str(ROOT / "Tests/e2e")]
from call_servers import free_port  # noqa: E402
from servers import PUSHWAKE  # noqa: E402

RUN_TIMEOUT = 300
MOST_GIVEN_UP = 0.001
FAULTS_OF_OURS = ["lost", "doubled", "misjudged", "broken"]
CODES = ["CANCEL", "INTERNAL_ERROR", "ENHANCE_YOUR_CALM", "REFUSED_STREAM"]


class Mix:
    """The faults of one round, drawn from its number alone."""

    def __init__(self, seed, number, count):
        self.dice = dice = random.Random(f"{seed}/{number}")
        self.count = count
        self.provider = dice.choice(["apns", "apns", "fcm"])
        self.concurrency = dice.choice([1, 10, 100, 300, 1000, 3000])
        if self.concurrency == 1:
            self.count = min(count, 3000)
        self.connections = dice.choice([1, 1, 2, 4, 16])
        kinds = [self._goaway, self._close, self._answer_lost, self._refuse, self._reset, self._settings, self._pause,
                 self._silent, self._late, self._unavailable, self._slow_down, self._credential, self._handshake]
        chosen = dice.sample(kinds, dice.randint(3, len(kinds)))
        # A push without an answer keeps its stream for ten seconds: with a single one all others would be late.
        self.streams = [10, 100, 1000] if self._silent in chosen else [1, 10, 100, 1000]
        rules = [rule for kind in chosen for rule in kind()]
        self.script = {"rules": [{"provider": self.provider, **rule} if "tls" not in rule else rule for rule in rules]}
        if self.provider == "fcm" and dice.random() < 0.5:
            self.script["rules"].append({"provider": "oauth", "count": 1, "status": 500, "reason": "internal_failure"})
        if dice.random() < 0.5:
            self.script["streams"] = {"max_concurrent": dice.choice(self.streams)}
        if self.script.get("streams", {}).get("max_concurrent", 100) <= 10:
            self.concurrency = min(self.concurrency, 100)

    def _every(self, least, most):
        """For each n-th request, or for one in n by chance."""
        number = self.dice.randint(least, most)
        return {"every": number} if self.dice.random() < 0.5 else {"probability": round(1 / number, 6)}

    def _goaway(self):
        rule = self._every(300, 5000) | {"goaway": {"last_stream": self.dice.choice(["processed", "none", "all"])}}
        if self.dice.random() < 0.5:
            rule["goaway"]["reason"] = "Shutdown"
        if self.dice.random() < 0.3:
            rule["close"] = self.dice.choice(["fin", "rst"])
        return [rule]

    def _close(self):
        return [self._every(500, 5000) | {"close": way} for way in ("fin", "rst")]

    def _answer_lost(self):
        return [self._every(1000, 5000) | {"close": self.dice.choice(["fin", "rst"]), "accept": True}]

    def _refuse(self):
        return [self._every(3, 300) | {"refuse": True}]

    def _reset(self):
        return [self._every(100, 2000) | {"reset": self.dice.choice(CODES)}]

    def _settings(self):
        return [self._every(300, 3000) | {"settings": {"max_concurrent_streams": self.dice.choice(self.streams)}},
                self._every(300, 3000) | {"settings": {"initial_window_size": self.dice.choice([1000, 65535, 1 << 20])}},
                self._every(700, 3000) | {"settings": {"header_table_size": self.dice.choice([0, 256, 4096])}}]

    def _pause(self):
        return [self._every(1000, 5000) | {"pause_reading_ms": self.dice.randint(1, 300)}]

    def _silent(self):
        return [self._every(3000, 9000) | {"no_answer": True}]

    def _late(self):
        return [self._every(50, 1000) | {"delay_ms": self.dice.randint(1, 500)}]

    def _unavailable(self):
        if self.provider == "apns":
            return [self._every(50, 500) | {"reason": self.dice.choice(["ServiceUnavailable", "InternalServerError", "Shutdown"])}]
        return [self._every(50, 500) | {"status": self.dice.choice([500, 503]), "headers": {"retry-after": "1"}}]

    def _slow_down(self):
        if self.provider == "apns":
            return [self._every(1000, 5000) | {"reason": "ServiceUnavailable", "headers": {"retry-after": "1"}}]
        return [{"after": self.count // 3, "count": 2, "status": 429, "headers": {"retry-after": "1"}}]

    def _credential(self):
        after = {"after": self.count // 2, "count": 1}
        return [after | ({"reason": "ExpiredProviderToken"} if self.provider == "apns" else {"status": 401})]

    def _handshake(self):
        return [{"tls": self.dice.choice(["fail", "refuse"]), "after": self.dice.randint(1, 4), "count": self.dice.randint(1, 3)}]

    def __str__(self):
        return f"{self.provider}, {self.concurrency} at a time, {self.connections} connections, {json.dumps(self.script)}"


class ForeignMix:
    """The same for a server on Python's h2: how likely each of its faults is for a request."""

    def __init__(self, seed, number, count):
        self.seed = f"{seed}/{number}"
        dice = random.Random(self.seed)
        self.provider = "apns"
        # Python takes some hundred a second: more at a time would only wait.
        self.concurrency = dice.choice([1, 10, 100, 100, 300, 300])
        self.connections = dice.choice([1, 1, 2, 4, 16])
        rarest = {"goaway": 3000, "refuse": 200, "reset": 1500, "reset_accepted": 5000, "cut_fin": 5000, "cut_rst": 5000,
                  "silent": 9000, "late": 500, "429": 500, "500": 500, "503": 500, "settings": 2000, "pause": 5000, "drop": 20}
        chosen = dice.sample(sorted(rarest), dice.randint(4, len(rarest)))
        self.faults = {name: round(1 / dice.randint(rarest[name] // 5, rarest[name]), 6) for name in chosen}
        # A push without an answer keeps its stream for ten seconds: with few of them all others would be late.
        self.faults["streams"] = [100, 1000] if "silent" in chosen else [1, 10, 100, 1000]
        self.faults["max_concurrent"] = dice.choice(self.faults["streams"])
        if self.faults["max_concurrent"] <= 10 or "settings" in chosen:
            self.concurrency = min(self.concurrency, 100)
        self.count = min(count, 1000 if min(self.concurrency, self.faults["max_concurrent"] * self.connections) <= 4 else count)

    def __str__(self):
        return f"{self.concurrency} at a time, {self.connections} connections, {json.dumps(self.faults)}"


def send(mix, url, files):
    """What `pushwake load` says of the pushes of a round."""
    done = subprocess.run(
        [PUSHWAKE, "load", "--provider", mix.provider, "--url", url, "--dir", files, "--count", str(mix.count),
         "--concurrency", str(mix.concurrency), "--connections", str(mix.connections), "--json"],
        capture_output=True, text=True, timeout=RUN_TIMEOUT, check=False)
    if not done.stdout.startswith("{"):
        sys.exit(f"load_pushes: pushwake load: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Foreign:
    """A server on Python's h2 for each round, with the certificate that the simulator made."""

    mix = ForeignMix

    def __init__(self, directory):
        Provider(directory).stop()
        self.files = directory / "files"

    def play(self, mix):
        """What the sender said, and what the server counted."""
        server = subprocess.Popen(
            ["/usr/bin/python3", Path(__file__).with_name("foreign_server.py"), "--certificate", self.files / "server.pem", "--key",
             self.files / "server.key", "--faults", json.dumps(mix.faults), "--seed", mix.seed],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            said = send(mix, f"https://127.0.0.1:{server.stdout.readline().split()[1]}", self.files)
            seen = json.loads(server.communicate("", timeout=30)[0])
        finally:
            server.kill()
            server.wait()
        return said, collections.Counter(seen)

    def stop(self):
        """Nothing runs between rounds."""


class Provider:
    """The simulator, with an address for orders that no fault disturbs."""

    mix = Mix

    def __init__(self, directory):
        self.files = directory / "files"
        self.url, self.control = (f"https://127.0.0.1:{free_port()}" for _ in range(2))
        self.process = subprocess.Popen(
            [PUSHWAKE, "simulate", "--listen", self.url.removeprefix("https://"), "--control",
             self.control.removeprefix("https://"), "--dir", self.files, "--log", "/dev/null"], stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            sys.exit("load_pushes: the simulator did not start")
        self.context = ssl.create_default_context(cafile=self.files / "ca.pem")

    def order(self, name, body=None):
        request = urllib.request.Request(f"{self.control}/_simulator/{name}", data=body)
        with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
            return answer.read()

    def play(self, mix):
        """What the sender said, and what the server counted."""
        self.order("reset", b"")
        self.order("script", json.dumps(mix.script).encode())
        return send(mix, self.url, self.files), json.loads(self.order("counters"))

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--foreign", action="store_true", help="through a server on Python's h2")
    parser.add_argument("--pushes", type=int, help="in all; 1,000,000, or 200,000 when foreign")
    parser.add_argument("--round", type=int, default=20_000, help="pushes of a round")
    parser.add_argument("--seconds", type=int, default=900, help="no round begins after that")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--first", type=int, default=1, help="number of the first round")
    parser.add_argument("--verbose", action="store_true", help="tell of each round")
    arguments = parser.parse_args()
    pushes = arguments.pushes or (200_000 if arguments.foreign else 1_000_000)

    total, failed, number = collections.Counter(), [], arguments.first
    kinds = collections.Counter()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pushwake-faults-") as directory:
        provider = (Foreign if arguments.foreign else Provider)(Path(directory))
        try:
            while total["pushes"] < pushes and time.monotonic() - begun < arguments.seconds:
                mix = provider.mix(arguments.seed, number, arguments.round)
                said, seen = provider.play(mix)
                # Not by its body: the time to live of a push to Google that is repeated is shorter.
                arrived = seen["accepted"] - seen["copies"]
                row = {"pushes": mix.count, "lost": max(0, said["accepted"] - arrived), "misjudged": max(0, arrived - said["accepted"]),
                       "doubled": max(0, seen["copies"] - seen["accepted_unanswered"]) + seen["duplicates"],
                       "given up": mix.count - said["accepted"], "requests": seen["requests"], "goaways": seen["goaways_sent"],
                       "closes": seen["closes"], "resets": seen["rst_sent"], "settings": seen["settings_sent"],
                       "again": seen["copies"], "handshakes": seen["handshake_failures"],
                       "broken": seen.get("client_errors", 0) + seen.get("server_errors", 0)}
                total.update(row)
                for reasons in (part["reasons"] for part in seen["providers"].values()):
                    kinds.update({reason: times for reason, times in reasons.items() if reason != "ok"})
                is_bad = any(row[name] for name in FAULTS_OF_OURS) or row["given up"] > mix.count * MOST_GIVEN_UP
                if is_bad:
                    failed.append(number)
                if is_bad or arguments.verbose:
                    print(f"  {'FAILED' if is_bad else 'ok    '} round {number}, {said['seconds']:.1f} s: {row}\n"
                          f"         {mix}", flush=True)
                number += 1
        finally:
            provider.stop()

    server = "of faults by Python's h2" if arguments.foreign else "of all faults"
    print(f"\na random mix {server}: {total['pushes']:,} pushes in {number - arguments.first} rounds, seed {arguments.seed}, "
          f"{time.monotonic() - begun:.0f} s")
    print(f"  {total['requests']:,} requests, {total['goaways']:,} GOAWAYs, {total['closes']:,} closed connections, "
          f"{total['resets']:,} resets, {total['settings']:,} SETTINGS, {sum(kinds.values()):,} refusals "
          f"({', '.join(f'{times:,} {reason}' for reason, times in kinds.most_common(8))})")
    print(f"  lost {total['lost']}, doubled {total['doubled']}, accepted and called failed {total['misjudged']}; given up in time "
          f"{total['given up']:,}; {total['again']:,} went out again because an answer was lost", flush=True)
    if failed or not total["pushes"]:
        sys.exit(f"load_pushes: failed in {len(failed)} rounds: --seed {arguments.seed} --first {failed[0] if failed else 1}")


if __name__ == "__main__":
    main()
