#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the CPU per push of `pushwake load` with a bare nghttp2 client and other clients.

All clients send the same APNs pushes to the same server on this machine, in turns. A row is the
median over the runs. The server has one core, the client another one. CPU is the client's user
and system time; `whole` adds start-up and handshake, as the kernel counted them.
"""
import argparse
import base64
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_engine

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / ".build/bench"
PEER_PYTHON = ROOT / ".cache/bench-venv/bin/python"
PUSHWAKE = ROOT / ".build/stage/bin/pushwake"
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]


def pinned(core):
    return lambda: os.sched_setaffinity(0, {core})


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server process on its own core; `port` is where it listens."""

    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(
            [str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pinned(SERVER_CORE))
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"bench: {command[0]} ended with status {self.process.returncode}")
                time.sleep(0.05)
        sys.exit(f"bench: {command[0]} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


def sink(keys, *options):
    port = free_port()
    return Server([BENCH / "sink", "--cert", keys.certificate, "--key", keys.private_key, "--port", port, *options], port)


def simulator(keys):
    port = free_port()
    return Server([PUSHWAKE, "simulate", "--listen", f"127.0.0.1:{port}", "--dir", keys.directory,
                   "--log", "/dev/null"], port)


class Keys:
    """What `pushwake simulate` makes in its directory, and a provider token signed with it."""

    def __init__(self, directory):
        self.directory = directory
        self.ca = directory / "ca.pem"
        self.certificate = directory / "server.pem"
        self.private_key = directory / "server.key"

    def provider_token(self):
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        def encode(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")

        path = next(self.directory.glob("*.p8"))
        key_id = path.stem.split("_")[-1]
        head = encode(json.dumps({"alg": "ES256", "kid": key_id}).encode())
        claims = encode(json.dumps({"iss": "DEF123GHIJ", "iat": int(time.time())}).encode())
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        r, s = utils.decode_dss_signature(key.sign(head + b"." + claims, ec.ECDSA(hashes.SHA256())))
        return b".".join([head, claims, encode(r.to_bytes(32, "big") + s.to_bytes(32, "big"))]).decode()


def run(command, environment=None):
    """Runs one client; returns what it printed and the CPU microseconds the kernel counted."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True,
                               preexec_fn=pinned(CLIENT_CORE), env={**os.environ, **(environment or {})})
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, process.returncode, (usage.ru_utime + usage.ru_stime) * 1e6


class Client:
    """One row of a table: a name, and a function that makes the command for a server."""

    def __init__(self, name, command, count_scale=1.0, is_json=True):
        self.name, self.command, self.count_scale, self.is_json = name, command, count_scale, is_json

    def measure(self, port, count, concurrency, environment):
        count = max(int(count * self.count_scale), min(count, 200))
        output, status, cpu = run(self.command(port, count, concurrency), environment)
        row = {"count": count, "whole": cpu / count}
        if self.is_json:
            try:
                row.update(json.loads(output.strip().splitlines()[-1]))
            except (IndexError, ValueError):
                sys.exit(f"bench: {self.name} ended with status {status} and no result")
            row["lost"] = count - row.get("ok", row.get("accepted", 0))
        else:
            done = re.search(r"finished in ([\d.]+)(m?s)", output)
            ok = re.search(r"(\d+) succeeded", output)
            row.update(cpu_us_per_push=cpu / count, lost=count - int(ok[1]) if ok else count)
            if done:
                row["seconds"] = float(done[1]) / (1000 if done[2] == "ms" else 1)
        return row


def bare(keys, *options):
    return Client("bare nghttp2 (C)", lambda port, count, streams: [
        BENCH / "bare", "--port", port, "--ca", keys.ca, "--count", count, "--concurrency", streams, *options])


def load(keys):
    return Client("pushwake load", lambda port, count, streams: [
        PUSHWAKE, "load", "--provider", "apns", "--url", f"https://127.0.0.1:{port}", "--dir", keys.directory,
        "--count", count, "--concurrency", streams, "--json"])


def peers(keys):
    """Other clients; those that are not installed are left out."""
    found = []
    if shutil.which("h2load"):
        body = keys.directory / "body.json"
        body.write_text("x" * 300)
        found.append(Client("h2load (fixed path)", lambda port, count, streams: [
            "h2load", "-n", count, "-c", 1, "-m", streams, "-d", body, "-H", "apns-topic: com.example.phone.voip",
            f"https://127.0.0.1:{port}/3/device/" + "ab" * 32], is_json=False))
    for name, options in (("libcurl multi, multiplexed", ["--multiplex"]),
                          ("libcurl multi, as http_async_client", [])):
        found.append(Client(name, lambda port, count, streams, options=options: [
            BENCH / "curl_multi", "--port", port, "--ca", keys.ca, "--count", count, "--concurrency", streams,
            *options], count_scale=0.1))
    for module in ("aioapns", "httpx"):
        if PEER_PYTHON.exists():
            found.append(Client(f"{module} (Python)", lambda port, count, streams, module=module: [
                PEER_PYTHON, ROOT / "scripts/bench/bench_peer.py", module, port, keys.directory, count, streams],
                count_scale=0.02))
    return found


def table(title, server, clients, count, concurrency, runs, environment, note=""):
    """Runs the clients in turns and prints their medians; returns {name: medians}."""
    samples = {client.name: [] for client in clients}
    for _ in range(runs):
        for client in clients:
            samples[client.name].append(client.measure(server.port, count, concurrency, environment))
    print(f"\n{title}: {concurrency} at a time, {count:,} pushes, {runs} runs{note}")
    print(f"  {'client':38}{'cpu us/push':>12}{'ratio':>7}{'whole':>8}{'push/s':>10}{'p50 ms':>8}{'p99 ms':>8}{'lost':>6}")
    result, floor = {}, None
    for client in clients:
        rows = samples[client.name]
        median = {key: statistics.median(row[key] for row in rows) for key in rows[0]
                  if all(isinstance(row.get(key), (int, float)) for row in rows)}
        floor = floor or median["cpu_us_per_push"]
        median["ratio"] = median["cpu_us_per_push"] / floor
        median["lost"] = sum(row["lost"] for row in rows)
        rate = median["count"] / median["seconds"] if median.get("seconds") else None

        def cell(value, width, form):
            return f"{value:{width}{form}}" if value is not None else " " * (width - 1) + "-"
        print(f"  {client.name:38}{cell(median['cpu_us_per_push'], 12, '.2f')}{cell(median['ratio'], 7, '.2f')}"
              f"{cell(median['whole'], 8, '.2f')}{cell(rate, 10, ',.0f')}{cell(median.get('p50_ms'), 8, '.2f')}"
              f"{cell(median.get('p99_ms'), 8, '.2f')}{median['lost']:6}", flush=True)
        result[client.name] = median
    return result


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return f"{model}, {len(CORES)} cores, load {os.getloadavg()[0]:.2f}"


def save(results, path):
    if path:
        path.write_text(json.dumps(results, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--count", type=int, default=100_000, help="pushes per run")
    parser.add_argument("--quick", action="store_true", help="only the ratio at 100 streams")
    parser.add_argument("--bindings", type=int, default=1_000_000, help="bindings in the engine's store")
    parser.add_argument("--soak", type=int, default=1_000_000, help="pushes beside a dead service")
    parser.add_argument("--proof", action="store_true", help="only the backlog, provider faults and the engine with many bindings")
    parser.add_argument("--engine", action="store_true", help="only the engine with many bindings")
    parser.add_argument("--instances", action="store_true", help="phones in the engine's store send a +sip.instance")
    parser.add_argument("--json", type=Path, help="also write the medians to this file")
    arguments = parser.parse_args()

    print(f"machine: {machine()}")
    results = {}
    with tempfile.TemporaryDirectory(prefix="pushwake-bench-") as directory:
        keys = Keys(Path(directory))
        simulator(keys).__exit__()  # makes the keys
        environment = {"BENCH_JWT": keys.provider_token()}
        pair = [bare(keys), load(keys)]
        options = dict(runs=arguments.runs, environment=environment)

        if not arguments.quick:
            if not arguments.engine:
                results["backlog"] = bench_engine.backlog(PUSHWAKE, keys, 100_000)
            with simulator(keys) as server:
                if not arguments.engine:
                    results["provider faults"] = [
                        bench_engine.provider_faults(server, keys, load(keys), arguments.count, streams) for streams in (100, 1000)]
                    results["soak"] = bench_engine.soak(
                        PUSHWAKE, Path(directory), server, keys, arguments.soak, pinned(CLIENT_CORE))
                # What asks the engine may not take its core.
                os.sched_setaffinity(0, {SERVER_CORE})
                results["bindings"] = bench_engine.bindings(
                    PUSHWAKE, Path(directory), server, keys, (1000, arguments.bindings), 20_000, pinned(CLIENT_CORE),
                    arguments.instances)
                os.sched_setaffinity(0, CORES)
        if arguments.proof or arguments.engine:
            return save(results, arguments.json)
        with sink(keys) as server:
            results["100"] = table("sink", server, pair, arguments.count, 100, **options)
            if not arguments.quick:
                results["1000"] = table("sink", server, pair, arguments.count, 1000, **options)
                results["first"] = table("sink, the first pushes of a process", server, pair, 1000, 100, **options)
                results["single"] = table("sink", server, pair, arguments.count // 10, 1, **options)
        if not arguments.quick:
            with sink(keys, "--delay", 50) as server:
                results["burst"] = table("sink that answers after 50 ms", server, pair, 1000, 1000, **options)
            with simulator(keys) as server:
                results["simulator"] = table("simulator", server, pair, arguments.count // 5, 100, **options)
            with sink(keys) as server:
                results["peers"] = table("sink, peers", server, [bare(keys), load(keys), *peers(keys)],
                                         arguments.count, 100, **options,
                                         note=" (slow peers send fewer)")
    save(results, arguments.json)
    print(f"\npushwake load costs {results['100']['pushwake load']['ratio']:.2f} times the CPU of the bare client "
          "at 100 streams")


if __name__ == "__main__":
    main()
