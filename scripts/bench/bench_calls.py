#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a woken call costs a Kamailio: with PushWake, with tsilo and http_async_client, and a call that needs no waking.

The same calls go through three servers in turns: REGISTER, INVITE, 180, 200, ACK, BYE. CPU is user and system time of
all processes of a server, the engine's too, without the load generator and the provider's stand-in ("stand-in": its own CPU,
for what the tsilo way leaves to a gateway that this one only imitates). tsilo comes twice: with that gateway, and posting
straight to what stands for Apple, over the same TLS and HTTP/2 as PushWake. http_async_client 5.6.3 breaks down under that at
some rate, which depends on the machine: rounds in which it loses calls are left out of its row, and counted. A row is the median over the rounds; what a way
adds to the plain call is the median of the differences within a round.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import bench_instructions
from call_servers import WAYS, CallServer, make_keys, settle

NAMES = {"PLAIN": "plain, the phone is awake", "TSILO": "tsilo + http_async_client", "DIRECT": "the same, to Apple itself",
         "PUSHWAKE": "PushWake"}
# What PushWake is compared with, and under which name the figures have it.
PEERS = {"TSILO": "ratio", "DIRECT": "direct_ratio"}
WARM_UP = 100
GOALS = {"ratio": 0.5, "engine_ms": 0.25, "push_p99_ms": 3.0, "join_p99_ms": 5.0, "instructions": 1.03}


def measure(server, calls, rate, *options):
    """One run: microseconds per call, and what the load generator found."""
    before = server.cpu_us()
    found = server.calls(calls, rate, *options)
    settle()
    after = server.cpu_us()
    return found | {part: (after[part] - before[part]) / calls for part in after} | {"lost": calls - found["ok"]}


def run(server, calls, rate, *options):
    if way_ended(server):
        return None
    found = measure(server, calls, rate, *options)
    return None if server.way == "DIRECT" and (found["lost"] or way_ended(server)) else found


def way_ended(server):
    return server.kamailio.process.poll() is not None


def options_of(way):
    return ["--awake"] if way == "PLAIN" else []


def play_rounds(servers, rate, rounds, seconds, same_port):
    """Every server's runs; who begins changes from round to round. Of the peer that breaks down a run is None when it did."""
    runs = {way: [] for way in servers}
    for turn in range(rounds):
        order = list(servers)
        order = order[turn % len(order):] + order[:turn % len(order)]
        for way in order:
            if not same_port:
                servers[way].move_phones()
            runs[way].append(run(servers[way], rate * seconds, rate, *options_of(way)))
    return runs


def summary(runs):
    """The medians of a rate; differences and the ratio are taken within each round."""
    result = {}
    for way, rows in runs.items():
        broken, rows = sum(row is None for row in rows), [row for row in rows if row]
        if not rows:
            result[way] = {"broken": broken, "lost": 0}
            continue
        median = {key: statistics.median(row[key] for row in rows) for key in rows[0]
                  if key.endswith(("_us", "_ms")) and all(key in row for row in rows)}
        median["lost"] = sum(row["lost"] for row in rows)
        median["resends"] = sum(row["resends"] for row in rows)
        median["broken"] = broken
        added = [row["cpu_us"] - plain["cpu_us"] for row, plain in zip(runs[way], runs["PLAIN"]) if row]
        median["added_us"] = statistics.median(added)
        median["cpu_us_least"], median["cpu_us_most"] = min(r["cpu_us"] for r in rows), max(r["cpu_us"] for r in rows)
        result[way] = median
    for peer, name in PEERS.items():
        ratios = [(ours["cpu_us"] - plain["cpu_us"]) / (theirs["cpu_us"] - plain["cpu_us"])
                  for ours, theirs, plain in zip(runs["PUSHWAKE"], runs[peer], runs["PLAIN"]) if theirs]
        if not ratios:
            continue
        result[name] = statistics.median(ratios)
        result[f"{name}_least"], result[f"{name}_most"] = min(ratios), max(ratios)
    return result


def show(rate, calls, rounds, result):
    print(f"\nwoken calls, {rate} a second: {calls:,} calls, {rounds} rounds")
    print(f"  {'':28}{'cpu us/call':>12}{'(range)':>14}{'added':>8}{'engine':>8}{'stand-in':>10}{'INVITE to push ms':>20}"
          f"{'REGISTER to INVITE':>20}{'resent':>8}{'lost':>6}")
    print(f"  {'':80}{'p50':>11}{'p99':>9}{'p50':>11}{'p99':>9}")
    for way in WAYS:
        row = result[way]

        def cell(name, width, digits=0):
            return f"{row[name]:{width}.{digits}f}" if row.get(name) else " " * (width - 1) + "-"
        if row["broken"]:
            print(f"  {NAMES[way]:28}{row['broken']:12} of {rounds} rounds: it lost calls, or its Kamailio died")
        if "cpu_us" not in row:
            continue
        spread = f"{row['cpu_us_least']:.0f}-{row['cpu_us_most']:.0f}"
        print(f"  {NAMES[way]:28}{cell('cpu_us', 12)}{spread:>14}{cell('added_us', 8)}{cell('engine_us', 8)}"
              f"{cell('stand_us', 10)}{cell('push_p50_ms', 11, 2)}{cell('push_p99_ms', 9, 2)}{cell('join_p50_ms', 11, 2)}"
              f"{cell('join_p99_ms', 9, 2)}{row['resends']:8}{row['lost']:6}", flush=True)
    ours = result["PUSHWAKE"]
    print(f"  PushWake: engine {ours['engine_us']:.0f}, its supervisor {ours['supervisor_us']:.0f}, other processes of Kamailio "
          f"{ours['cpu_us'] - ours['engine_us'] - ours['supervisor_us']:.0f} us")
    for peer, name in PEERS.items():
        if name not in result:
            continue
        print(f"  PushWake adds {result[name]:.2f} times what {NAMES['TSILO']} adds{', to Apple itself' if peer == 'DIRECT' else ''} "
              f"({result[f'{name}_least']:.2f} to {result[f'{name}_most']:.2f})", flush=True)


def show_stand_ins(counted):
    """What reached Apple, and how: the sink speaks nothing but HTTP/2 over TLS."""
    print("\nHTTP/2 requests to what stands for Apple, in all runs")
    for way in ("DIRECT", "PUSHWAKE"):
        found = counted[way]
        print(f"  {NAMES[way]:28}{found['requests']:8,} requests on {found['connections']} connections, {found['resets']:,} streams reset, "
              f"{found['tls_failures']} failed handshakes", flush=True)


def show_goals(results):
    first = results[min(key for key in results if isinstance(key, int))]
    ours = first["PUSHWAKE"]
    figures = [("added, against tsilo + http_async_client", first["ratio"], GOALS["ratio"], ""),
               *([("added, against the same to Apple itself", first["direct_ratio"], GOALS["ratio"], "")]
                 if "direct_ratio" in first else []),
               ("engine per woken call", ours["engine_us"] / 1000, GOALS["engine_ms"], " ms"),
               ("INVITE to push, p99", ours["push_p99_ms"], GOALS["push_p99_ms"], " ms"),
               ("REGISTER to INVITE, p99", ours["join_p99_ms"], GOALS["join_p99_ms"], " ms")]
    if "no_push" in results:
        figures.append((f"call without a push binding, {results['no_push']['unit']}", results["no_push"]["call"]["ratio"],
                        GOALS["instructions"], ""))
    print("\nagainst the goals, at the lowest rate")
    for name, value, goal, unit in figures:
        print(f"  {name:52}{value:8.3f}{unit:3}  goal {goal}{unit:3}  {'met' if value <= goal else 'MISSED'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="length of a run")
    parser.add_argument("--rates", default="300,500", help="calls a second")
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--memory", choices=["qm", "fm", "tlsf"], help="Kamailio's memory manager; else its default")
    parser.add_argument("--same-port", action="store_true", help="phones wake at the port that they had before")
    parser.add_argument("--no-instructions", action="store_true", help="leave out calls without a push binding")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()

    results = {"load_before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(prefix="pushwake-calls-") as directory:
        directory = Path(directory)
        keys = make_keys(directory / "keys")
        servers = {}
        try:
            for way in WAYS:
                memory = ["-x", arguments.memory, "-X", arguments.memory] if arguments.memory else []
                servers[way] = CallServer(directory / way, way, keys, arguments=memory)
                servers[way].register(arguments.users)
                # Connections to the provider are made once, as in a server that runs.
                servers[way].calls(WARM_UP, WARM_UP // 4, *options_of(way))
            for rate in map(int, arguments.rates.split(",")):
                runs = play_rounds(servers, rate, arguments.rounds, arguments.seconds, arguments.same_port)
                results[rate] = summary(runs)
                show(rate, rate * arguments.seconds, arguments.rounds, results[rate])
        finally:
            counted = {way: server.stop() for way, server in servers.items()}
        results["stand_ins"] = counted
        show_stand_ins(counted)
        if not arguments.no_instructions:
            results["no_push"] = bench_instructions.without_binding(directory, keys)
    show_goals(results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    lost = sum(row["lost"] for key, rate in results.items() if isinstance(key, int) for way, row in rate.items() if way in WAYS)
    if lost:
        sys.exit(f"bench: {lost} calls did not end as they should")


if __name__ == "__main__":
    main()
