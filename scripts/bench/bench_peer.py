#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends pushes with a Python library, for scripts/bench/bench.py: bench_peer.py aioapns|httpx PORT DIR COUNT CONCURRENCY."""
import asyncio
import json
import os
import resource
import ssl
import sys
import time
from pathlib import Path


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def make_httpx(port, directory):
    import httpx
    context = ssl.create_default_context(cafile=str(directory / "ca.pem"))
    client = httpx.AsyncClient(http2=True, verify=context, limits=httpx.Limits(max_connections=1), timeout=60)
    headers = {"authorization": "bearer " + os.environ["BENCH_JWT"], "apns-topic": "com.example.phone.voip",
               "apns-push-type": "voip", "apns-priority": "10", "apns-expiration": "0"}
    body = b'{"aps":{"alert":"' + b"x" * 281 + b'"}}'

    async def send(i):
        answer = await client.post(f"https://127.0.0.1:{port}/3/device/{i:064x}", headers=headers, content=body)
        return answer.status_code == 200
    return send


async def make_aioapns(port, directory):
    import aioapns
    from aioapns.connection import APNsKeyConnectionPool, APNsProductionClientProtocol
    APNsProductionClientProtocol.APNS_SERVER = "127.0.0.1"
    APNsProductionClientProtocol.APNS_PORT = port
    context = ssl.create_default_context(cafile=str(directory / "ca.pem"))
    context.set_alpn_protocols(["h2"])
    APNsKeyConnectionPool.__init__.__globals__["ssl"].create_default_context = lambda *_, **__: context
    key = next(directory.glob("*.p8"))
    client = aioapns.APNs(key=key.read_text(), key_id=key.stem.split("_")[-1], team_id="DEF123GHIJ",
                          topic="com.example.phone.voip", max_connections=1)

    async def send(i):
        request = aioapns.NotificationRequest(device_token=f"{i:064x}", message={"aps": {"alert": "x" * 281}},
                                              push_type=aioapns.PushType.VOIP)
        return (await client.send_notification(request)).is_successful
    return send


async def main():
    module, port, directory, count, concurrency = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), *map(int, sys.argv[4:])
    send = await {"httpx": make_httpx, "aioapns": make_aioapns}[module](port, directory)
    await send(10**9)
    numbers, taken, ok = iter(range(count)), [], 0

    async def worker():
        nonlocal ok
        for i in numbers:
            start = time.monotonic()
            accepted = await send(i)
            ok += accepted
            taken.append(time.monotonic() - start)
    used, wall = cpu(), time.monotonic()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    used, wall = cpu() - used, time.monotonic() - wall
    taken.sort()
    print(json.dumps({"count": count, "ok": ok, "seconds": wall, "cpu_us_per_push": used * 1e6 / count,
                      "p50_ms": taken[count // 2] * 1e3, "p99_ms": taken[count * 99 // 100] * 1e3}))


asyncio.run(main())
