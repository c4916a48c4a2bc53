#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an open page does to calls: INVITE to push with the page open and without it.

The same calls go through one server in pairs, with and without readers in turns; who begins changes from pair to pair. A reader
does what a browser does: it listens at /events and fetches the page whenever an event says that something is new. The figure
is the median of the pairs' ratios.
"""
import argparse
import http.client
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from call_servers import CallServer, free_port, make_keys, settle

TOKEN = "page-reader-0123456789abcdef"
GOAL = 1.10


class Reader:
    """One open page."""

    def __init__(self, port):
        self.port, self.pages, self.bytes, self.took = port, 0, 0, []
        self._fields = {"Authorization": f"Bearer {TOKEN}"}
        self._stream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._stream.request("GET", "/events", headers=self._fields)
        self._answer = self._stream.getresponse()
        assert self._answer.status == 200, self._answer.read()
        self._ends = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        page = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self._ends and (line := self._answer.readline()):
            if not line.startswith(b"event: "):
                continue
            begun = time.monotonic()
            page.request("GET", "/", headers=self._fields)
            self.bytes += len(page.getresponse().read())
            self.took.append(time.monotonic() - begun)
            self.pages += 1
        page.close()
        self._stream.close()

    def stop(self):
        # Its next event, within 15 s, ends it.
        self._ends = True
        self._thread.join()


def play(server, port, calls, rate, readers):
    """One run: what the load generator found, the engine's CPU per call, and the pages that were fetched."""
    open_pages = [Reader(port) for _ in range(readers)]
    before = server.cpu_us()
    found = server.calls(calls, rate)
    settle()
    after = server.cpu_us()
    for page in open_pages:
        page.stop()
    return found | {"engine_us": (after["engine_us"] - before["engine_us"]) / calls, "pages": sum(p.pages for p in open_pages),
                    "bytes": sum(p.bytes for p in open_pages), "took": [t for p in open_pages for t in p.took]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=10, help="length of a run")
    parser.add_argument("--rate", type=int, default=300, help="calls a second")
    parser.add_argument("--users", type=int, default=3000)
    parser.add_argument("--pages", type=int, default=1, help="open pages")
    arguments = parser.parse_args()

    runs = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="pushwake-page-") as directory:
        directory = Path(directory)
        token, port = directory / "token", free_port()
        token.write_text(TOKEN)
        server = CallServer(directory / "server", "PUSHWAKE", make_keys(directory / "keys"), http_listen=port,
                            http_token_file=token, http_rate=1000)
        try:
            server.register(arguments.users)
            play(server, port, arguments.rate * 2, arguments.rate, 0)
            for turn in range(arguments.pairs):
                for is_open in (True, False) if turn % 2 else (False, True):
                    server.move_phones()
                    runs[is_open].append(play(server, port, arguments.rate * arguments.seconds, arguments.rate,
                                              arguments.pages if is_open else 0))
        finally:
            server.stop()

    def median(is_open, name):
        return statistics.median(run[name] for run in runs[is_open])

    print(f"\nan open page, {arguments.rate} calls a second, {arguments.pairs} pairs of {arguments.seconds} s, {arguments.pages} open")
    print(f"  {'':16}{'INVITE to push ms':>20}{'engine us/call':>18}{'pages/s':>10}{'lost':>7}")
    print(f"  {'':16}{'p50':>10}{'p99':>10}")
    for is_open, name in ((False, "closed"), (True, "open")):
        pages = sum(run["pages"] for run in runs[is_open]) / (arguments.pairs * arguments.seconds)
        lost = sum(arguments.rate * arguments.seconds - run["ok"] for run in runs[is_open])
        print(f"  {name:16}{median(is_open, 'push_p50_ms'):10.2f}{median(is_open, 'push_p99_ms'):10.2f}"
              f"{median(is_open, 'engine_us'):18.0f}{pages:10.1f}{lost:7}")
    took = sorted(t for run in runs[True] for t in run["took"])
    size = sum(run["bytes"] for run in runs[True]) / max(1, len(took))
    print(f"  a page: {size / 1000:.0f} kB, {1000 * took[len(took) // 2]:.1f} ms (p50), {1000 * took[len(took) * 99 // 100]:.1f} ms (p99)")
    ratios = [there["push_p99_ms"] / without["push_p99_ms"] for there, without in zip(runs[True], runs[False])]
    ratio = statistics.median(ratios)
    print(f"  INVITE to push p99, open to closed: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})  goal {GOAL}  "
          f"{'met' if ratio <= GOAL else 'MISSED'}", flush=True)
    if any(run["ok"] != arguments.rate * arguments.seconds for rows in runs.values() for run in rows):
        sys.exit("bench: calls were lost")


if __name__ == "__main__":
    main()
