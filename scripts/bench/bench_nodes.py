#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What sharing bindings costs a woken call: SQLite on one node, Valkey on one node, Valkey on two.

The same calls go through all of them in turns: INVITE, push, REGISTER, 180, 200, ACK, BYE. With two nodes every other call is
at each, and half of the phones register at the node that does not hold their call. A row is the median over the rounds; what
is compared is the median of the differences, or ratios, within a round.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench_calls import measure
from call_servers import CallNodes, CallServer, make_keys, make_valkey

NAMES = {"sqlite": "SQLite", "valkey": "Valkey", "nodes": "Valkey, two nodes"}
GOALS = {"engine": 1.5, "later_ms": 2.0}
# A phone that registered at another node a second ago is rung there at once.
IS_ASLEEP = 2.1


def compared(runs, name):
    """Against SQLite within a round: the engine's CPU as a ratio, and how much later pushes and INVITEs come."""
    pairs = list(zip(runs[name], runs["sqlite"]))
    result = {"engine": statistics.median(ours["engine_us"] / theirs["engine_us"] for ours, theirs in pairs)}
    for delay in ("push_p50_ms", "push_p99_ms", "join_p50_ms", "join_p99_ms"):
        result[delay] = statistics.median(ours[delay] - theirs[delay] for ours, theirs in pairs)
    return result


def show(name, rows, against):
    def cell(key, width=11):
        return f"{statistics.median(row[key] for row in rows):{width}.{0 if key.endswith('_us') else 2}f}"

    print(f"  {NAMES[name]:20}{cell('cpu_us')}{cell('engine_us')}{cell('push_p50_ms')}{cell('push_p99_ms')}{cell('join_p50_ms')}"
          f"{cell('join_p99_ms')}{sum(row['resends'] for row in rows):8}{sum(row['lost'] for row in rows):6}")
    if against:
        print(f"  {'  against SQLite':31}{against['engine']:10.2f}x" + "".join(
            f"{against[key]:+11.2f}" for key in ("push_p50_ms", "push_p99_ms", "join_p50_ms", "join_p99_ms")), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="length of a run")
    parser.add_argument("--rate", type=int, default=300, help="calls a second")
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    results = {"load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(prefix="pushwake-nodes-") as directory:
        directory = Path(directory)
        keys = make_keys(directory / "keys")
        valkey = make_valkey(directory / "valkey")
        servers = {}
        runs = {name: [] for name in NAMES}
        try:
            servers["sqlite"] = CallServer(directory / "sqlite", "PUSHWAKE", keys)
            servers["valkey"] = CallServer(directory / "one", "PUSHWAKE", keys, store=valkey.url)
            servers["nodes"] = CallNodes(directory / "nodes", keys)
            for server in servers.values():
                server.register(arguments.users)
            time.sleep(IS_ASLEEP)
            for turn in range(arguments.rounds):
                order = list(servers)
                for name in order[turn % len(order):] + order[:turn % len(order)]:
                    runs[name].append(measure(servers[name], arguments.rate * arguments.seconds, arguments.rate))
        finally:
            for server in servers.values():
                server.stop()
            valkey.stop()
    print(f"\nwoken calls, {arguments.rate} a second, {arguments.rounds} rounds of {arguments.seconds} s")
    print(f"  {'':20}{'cpu us':>11}{'engine us':>11}{'INVITE to push ms':>22}{'REGISTER to INVITE ms':>22}{'resent':>8}{'lost':>6}")
    print(f"  {'':42}{'p50':>11}{'p99':>11}{'p50':>11}{'p99':>11}")
    for name, rows in runs.items():
        results[name] = {"rows": rows} | ({} if name == "sqlite" else compared(runs, name))
        show(name, rows, None if name == "sqlite" else results[name])
    ours = results["valkey"]
    figures = [("engine, against SQLite", ours["engine"], GOALS["engine"], ""),
               ("INVITE to push, p99, later by", ours["push_p99_ms"], GOALS["later_ms"], " ms"),
               ("REGISTER to INVITE, p99, later by", ours["join_p99_ms"], GOALS["later_ms"], " ms")]
    print("\nagainst the goals")
    for name, value, goal, unit in figures:
        print(f"  {name:36}{value:8.2f}{unit:3}  goal {goal}{unit:3}  {'met' if value <= goal else 'MISSED'}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    lost = sum(row["lost"] for rows in runs.values() for row in rows)
    if lost:
        sys.exit(f"bench: {lost} calls did not end as they should")


if __name__ == "__main__":
    main()
