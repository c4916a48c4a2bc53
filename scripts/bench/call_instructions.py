#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of one woken call, process by process and, in the engine, step by step, with callgrind.

usage: call_instructions.py [--valkey] [COUNT]     needs PUSHWAKE_SYMBOLS=1 make build, which names the functions, and
                                                   `make bench` once before, for its servers

Calls are paced so that each event is a turn of its own in the engine, as in real traffic: REGISTER, INVITE, 180, 200, ACK,
BYE. With --valkey the node shares its bindings in a Valkey, else it has them in SQLite. A step's instructions are those of its
function and of all that it calls; indented steps are parts of the one above.
What a busy machine does to times it does not do to these. The kernel's are not counted. The counts stay in
.build/bench/call-instructions.
"""
import argparse
import collections
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from call_servers import BENCH, CallServer, make_keys, make_valkey, parent_of, wait_until

OUT = BENCH / "call-instructions"
USERS, RATE = 100, 8

# In the engine: what is told, and the function as swift-demangle --simplified has it.
STEPS = [
    ("all turns of the loop", "Loop.turn(waitingUpTo:)"),
    ("  messages of the PBX", "EngineServer.receive(on:)"),
    ("    INVITE", "RequestRunner.wake(_:waits:)"),
    ("      message read", "WakeMessage.init(decoding:)"),
    ("      bindings", "RequestRunner.bindings(for:in:)"),
    ("      devices", "CallDevices.init(_:bindings:contacts:awakeFor:age:isAwake:)"),
    ("      ticket for another engine", "WakeMessage.ticket(text:devices:isPending:)"),
    ("    REGISTER", "Registrations.register(_:)"),
    ("      headers and host's contacts read", "Registrations.read(_:)"),
    ("      bindings stored", "FilteredStore.keep(_:now:)"),
    ("        rules", "RegistrationPlan.init(storing:over:tombstones:perUser:now:)"),
    ("        journal", "RefreshJournal.append(_:)"),
    ("      held requests told", "Registrations.tellRequests(of:_:)"),
    ("      Feature-Caps", "RegistrationPolicy.featureCaps(of:stored:purrs:brief:)"),
    ("    a leg has an answer", "RequestRunner.progressed(_:)"),
    ("    the request has ended", "RequestRunner.requestEnded(_:)"),
    ("  the provider's answer", "HTTPConnection.ready(_:)"),
    ("    the push has ended", "PushJob.ended(_:)"),
    ("      its result", "PushOutcomes.record(_:_:_:)"),
    ("  frames and record of the push", "HTTPConnection.turnEnds()"),
    ("  rows on their way to the file", "BufferedStore.flush()"),
    ("  answers of Valkey", "ValkeyLink.receive(from:)"),
    ("within these: commands to Valkey", "ValkeyLink.send(_:_:)"),
    ("within these: users read", "UserImage.decode(_:of:)"),
    ("within these: users written", "UserImage.encode(_:of:version:)"),
    ("  once a second", "EngineCore.tick(now:)"),
    ("within these: verbs carried out", "RequestRunner.perform(_:_:)"),
    ("within these: traces", "TraceRing.note(_:_:now:)"),
    ("within these: push made", "Delivery.submit(_:to:)"),
    ("within these: references counted up", "swift_retain"),
    ("within these: and down", "swift_release"),
    ("within these: memory", "malloc"),
]


class Profile:
    """Inclusive instructions by function, of one dump."""

    def __init__(self, path):
        names, own, calls, entered = {}, collections.Counter(), collections.Counter(), collections.Counter()
        current = callee = None
        is_call = False
        for line in path.read_text(errors="replace").splitlines():
            if match := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line):
                kind, number, name = match.groups()
                if name:
                    names[number] = re.sub(r"'\d+$", "", name)
                if kind == "fn":
                    current = names[number]
                else:
                    callee = names[number]
            elif line.startswith("calls="):
                is_call = True
                entered[callee] += int(line[6:].split()[0]) if callee != current else 0
            elif match := re.match(r"[+\-*\d]\S* (\d+)$", line):
                if not is_call:
                    own[current] += int(match[1])
                elif current != callee:
                    calls[current] += int(match[1])
                is_call = False
        shown = dict(zip(sorted(own), subprocess.run(["swift-demangle", "--simplified"], input="\n".join(sorted(own)),
                                                     capture_output=True, text=True, check=True).stdout.splitlines()))
        self.total = sum(own.values())
        self.inclusive = collections.Counter()
        self.times = collections.Counter()
        for name, count in own.items():
            plain = shown[name].removeprefix("specialized ").removeprefix("static ")
            # A function and its specialised copies: the outermost has all.
            self.inclusive[plain] = max(self.inclusive[plain], count + calls[name])
            self.times[plain] = max(self.times[plain], entered[name])


def control(pids, word):
    for pid in pids:
        subprocess.run(["callgrind_control", word, str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def dump(pids):
    """The newest complete dump of each process."""
    before = set(OUT.iterdir())
    control(pids, "--dump")

    def written():
        new = {pid: path for pid in pids for path in set(OUT.glob(f"counts.{pid}.*")) - before
               if re.search(r"^totals: \d+", path.read_text(errors="replace"), re.M)}
        return new if len(new) == len(pids) else None
    return wait_until("every process has written its counts", written, 120)


def main(count, is_shared):
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    program = ("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--trace-children=yes",
               f"--callgrind-out-file={OUT}/counts.%p", "kamailio")
    with tempfile.TemporaryDirectory(prefix="pushwake-call-instructions-") as directory:
        directory = Path(directory)
        valkey = make_valkey(directory / "valkey") if is_shared else None
        server = CallServer(directory / "kamailio", "PUSHWAKE", make_keys(directory / "keys"), program=program,
                            arguments=["-x", "fm", "-X", "fm"], store=valkey.url if valkey else None, engine_timeout=10000)
        try:
            server.register(USERS)
            # A phone that registered at another node a second ago is rung there at once.
            time.sleep(2.1 if is_shared else 0)
            server.calls(USERS, RATE, "--users", USERS)
            engine = server.kamailio.engine_pid()
            supervisor = parent_of(engine)
            server.move_phones()
            control(server.pids, "--instr=on")
            found = server.calls(count, RATE, "--users", USERS)
            # The last rows go to the file a second later.
            time.sleep(1.5)
            control(server.pids, "--instr=off")
            dumps = dump(server.pids)
        finally:
            server.stop()
            if valkey:
                valkey.stop()
    profiles = {pid: Profile(path) for pid, path in dumps.items()}
    if found["ok"] != count:
        sys.exit(f"calls: {count - found['ok']} of {count} lost")
    total = sum(profile.total for profile in profiles.values())
    parts = {"engine": profiles[engine].total, "supervisor": profiles[supervisor].total}
    print(f"instructions per woken call, {count} calls, {RATE} a second, {found['resends']} messages sent again")
    for name, value in [("all processes", total), *parts.items(), ("other processes of Kamailio", total - sum(parts.values()))]:
        print(f"  {name:44}{value / count:12,.0f}")
    print(f"{'the engine, step by step':46}{'':12}{'times':>8}{'each':>12}")
    for name, function in STEPS:
        whole, times = profiles[engine].inclusive[function], profiles[engine].times[function]
        if whole == 0 and "Valkey" in name:
            continue
        print(f"  {name:44}{whole / count:12,.0f}{times / count:8.2f}{whole / max(times, 1):12,.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=200, help="calls")
    parser.add_argument("--valkey", action="store_true", help="share the bindings in a Valkey")
    arguments = parser.parse_args()
    main(arguments.count, arguments.valkey)
