# SPDX-License-Identifier: MIT
"""APNs as an ASGI application, for servers that nobody here wrote: it counts, and has bad moments.

Each push of a token is counted in a file of that name; what it is answered with hangs on the token and on how often it came."""

import asyncio
import os
import pathlib
import zlib

COUNTS = pathlib.Path(os.environ["COUNTS"])
FAULTS = os.environ.get("FAULTS", "")


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    token = scope["path"].rpartition("/")[2]
    status, reason = answer(token, body)
    if status == 200:
        await asyncio.sleep((zlib.crc32(token.encode()) >> 8) % 20 / 1000)  # they overtake each other
        with open(COUNTS / token, "ab") as seen:
            seen.write(b".")
    apns_id = next((value for name, value in scope["headers"] if name == b"apns-id"), b"")
    headers = [(b"apns-id", apns_id)] + ([(b"retry-after", b"0")] if status in (429, 503) else [])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"reason":"%s"}' % reason if reason else b""})


_seen = {}


def answer(token, body):
    """The status, and Apple's word for it."""
    if not body.startswith(b"{"):
        return 400, b"PayloadEmpty"
    _seen[token] = _seen.get(token, 0) + 1
    if not FAULTS or _seen[token] > 1:
        return 200, b""
    return {0: (503, b"ServiceUnavailable"), 1: (500, b"InternalServerError"),
            2: (429, b"TooManyRequests")}.get(zlib.crc32(token.encode()) % 10, (200, b""))
