#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many accounts registered upstream through the gateway, all phones asleep: is any registration lost, is there a wave?

A Kamailio registrar stands behind the gateway of docs/gateway.md. Phones register once, over UDP, with X-PIID, and are
gone. The engine and the gateway are killed once on the way, and the registrar is away for two intervals near the end.

usage: scripts/load/gateway-scale.py [--accounts 10000] [--expires 60] [--intervals 10]
Prints a line for each interval, CPU and memory. Exit status 1: a registration was lost, or REGISTERs came in a wave.
"""

import argparse
import hashlib
import os
import pathlib
import re
import select
import signal
import socket
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "e2e"))

from peers.upstream import configuration, ha1, name_server, registrar_config  # noqa: E402
from servers import Kamailio, Simulator, wait_until  # noqa: E402

QUIET = re.compile(r"^\s*xlog\(.*\n", re.M)


def quiet_registrar(expires):
    """The tests' registrar without its log, which looks for ended contacts each second."""
    text = registrar_config(expires, modparams='modparam("usrloc", "timer_interval", 1)')
    return QUIET.sub("", text).replace("debug=2", "debug=0")


class Meter:
    """What the registrar has and takes, second by second."""

    def __init__(self, registrar):
        self.registrar, self.rates, self.last = registrar, [], None

    def fetch(self):
        text = self.registrar.rpc("stats.fetch", "registrar.accepted_regs", "usrloc.location_contacts") or ""
        found = {name: int(value) for name, value in re.findall(r"\.?([\w-]+): (\d+)", text)}
        return found.get("accepted_regs", 0), found.get("location_contacts", 0)

    def watch(self, seconds):
        """Contacts at least and REGISTERs a second, for so long."""
        rates, least = [], None
        before, _ = self.fetch()
        at = time.monotonic()
        for _ in range(int(seconds)):
            at += 1
            time.sleep(max(0, at - time.monotonic()))
            count, contacts = self.fetch()
            rates.append(max(0, count - before))
            before = count
            least = contacts if least is None else min(least, contacts)
        return rates, least


def register_all(gateway, accounts, rate=400):
    """All phones at one socket, each known by its Contact; returns those that got no 200."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
    client.bind(("127.0.0.1", 0))
    client.connect(("127.0.0.1", gateway.port))
    port, waiting, start = client.getsockname()[1], {}, time.monotonic()

    def send(number):
        user = f"u{number}"
        token = hashlib.sha256(user.encode()).hexdigest()
        client.send("\r\n".join([
            "REGISTER sip:pbx.example.com SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};rport;branch=z9hG4bK{number}x{len(sent)}",
            f"From: <sip:{user}@pbx.example.com>;tag={number}", f"To: <sip:{user}@pbx.example.com>",
            f"Call-ID: {user}@scale", f"CSeq: {len(sent) + 1} REGISTER",
            f"Contact: <sip:{user}@127.0.0.1:{port};pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={token}>",
            "Expires: 86400", f"X-PIID: {ha1(user)}", "Max-Forwards: 70", "Content-Length: 0", "", ""]).encode())
        waiting[user] = (number, time.monotonic())
        sent.append(number)

    sent, next_one = [], 0
    while next_one < accounts or waiting:
        while next_one < accounts and next_one < (time.monotonic() - start) * rate and len(waiting) < 500:
            send(next_one)
            next_one += 1
        if select.select([client], [], [], 0.005)[0]:
            text = client.recv(65536).decode(errors="replace")
            found = re.search(r"^Call-ID: (u\d+)@scale", text, re.M)
            if found and text.startswith("SIP/2.0 200"):
                waiting.pop(found.group(1), None)
        for user, (number, at) in list(waiting.items())[:50]:
            if time.monotonic() - at > 4:
                send(number)
        if time.monotonic() - start > accounts / rate + 120:
            break
    client.close()
    return sorted(waiting)


def cpu_and_memory(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    memory = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(memory.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--accounts", type=int, default=10_000)
    parser.add_argument("--expires", type=int, default=60)
    parser.add_argument("--intervals", type=int, default=10)
    options = parser.parse_args()
    at = pathlib.Path(tempfile.mkdtemp(prefix="pushwake-scale-"))
    for name in ("simulator", "registrar", "gateway"):
        (at / name).mkdir()
    (at / "secret.key").write_text("5f" * 32 + "\n")
    simulator = Simulator(at / "simulator")
    simulator.start()
    registrar = Kamailio(at / "registrar", simulator, config=quiet_registrar(options.expires)).start()
    gateway = Kamailio(at / "gateway", simulator, config=configuration(), settings={
        "secret_key_file": str(at / "secret.key"),
        "upper_expire": options.expires, "prefer_md5_auth": 1}, arguments=["-m", "256"])
    gateway.as_printed().start().wait_engine()
    name_server(gateway, registrar)
    meter = Meter(registrar)
    mean = options.accounts / (options.expires * 0.7)
    failed = []
    try:
        began = time.monotonic()
        missing = register_all(gateway, options.accounts)
        print(f"{options.accounts} accounts registered in {time.monotonic() - began:.0f} s, {len(missing)} without a 200")
        cpu, memory = cpu_and_memory(gateway.engine_pid())
        print(f"engine: {memory} kB resident; a mean of {mean:.0f} REGISTERs a second is expected")
        events = {options.intervals // 3: "engine", options.intervals // 2: "gateway", options.intervals - 3: "registrar"}
        for interval in range(options.intervals):
            event = events.get(interval, "")
            if event == "engine":
                old = gateway.engine_pid()
                os.kill(old, signal.SIGKILL)
                wait_until("another engine", lambda: gateway.engine_pid() not in (None, old))
            elif event == "gateway":
                gateway.kill()
                gateway.start().wait_engine()
                name_server(gateway, registrar)
            elif event == "registrar":
                registrar.kill()
                time.sleep(2 * options.expires)
                registrar.start()
            before = cpu_and_memory(gateway.engine_pid())[0]
            rates, least = meter.watch(options.expires)
            cpu, memory = cpu_and_memory(gateway.engine_pid())
            per = (cpu - before) / max(1, sum(rates)) * 1e6
            print(f"interval {interval + 1:2} {event or '-':10} contacts at least {least:6}  REGISTERs {sum(rates):6}  "
                  f"busiest second {max(rates):5}  max/mean {max(rates) / mean:4.1f}  engine {per:4.0f} us each, {memory} kB", flush=True)
            is_back = interval > options.intervals - 3
            if event != "registrar" and not is_back and least < options.accounts - len(missing):
                failed.append(f"interval {interval + 1}: {options.accounts - least} registrations were gone")
            if max(rates) > 3 * mean:
                failed.append(f"interval {interval + 1}: a wave")
        _, contacts = meter.fetch()
        print(f"at the end {contacts} contacts")
        if contacts < options.accounts - len(missing):
            failed.append("not all came back")
    finally:
        gateway.stop()
        registrar.stop()
        simulator.stop()
    print("\n".join(failed) or "nothing was lost, no wave")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
