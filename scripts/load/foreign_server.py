#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""APNs on Python's h2, with faults drawn by chance: HTTP/2 that nobody here wrote, and a count of its own.

Prints "listening PORT", and when its input ends, one JSON object: what it accepted, and whether any push came twice that
must not. An accepted push may come again when its sender cannot know that it was: its answer was kept back, or was on a
connection that was cut before the sender confirmed it (a PING behind it), or the sender itself gave up waiting.
"""
import argparse
import asyncio
import collections
import json
import logging
import random
import socket
import ssl
import struct
import sys

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import GoAwayFrame

Code = h2.settings.SettingCodes
REASONS = {429: "TooManyRequests", 500: "InternalServerError", 503: "ServiceUnavailable"}
LAST = 2**31 - 1
ANSWERS_PER_PING = 50
FAREWELL = 2.0  # seconds for a client to close a connection that has got GOAWAY and all answers


class Ledger:
    """What was accepted, and what may come again."""

    def __init__(self):
        self.accepted = collections.Counter()
        self.unknown = collections.Counter()
        self.seen = collections.Counter()
        self.reasons = collections.Counter()

    def report(self):
        total = sum(self.accepted.values())
        return self.seen | {
            "accepted": total, "copies": total - len(self.accepted), "accepted_unanswered": sum(self.unknown.values()),
            "duplicates": sum(max(0, times - 1 - self.unknown[token]) for token, times in self.accepted.items()),
            "providers": {"apns": {"reasons": self.reasons}}}


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, faults, dice, ledger):
        self.faults, self.dice, self.ledger = faults, dice, ledger
        self.paths = {}        # stream: where its request goes
        self.pending = {}      # stream: (timer, token) of what was accepted and is answered later
        self.unconfirmed = []  # tokens whose answers the client has perhaps not read
        self.pings = collections.deque()
        self.last = LAST       # streams above it are not processed
        self.highest = 0
        self.answers = 0
        self.is_over = False

    def connection_made(self, transport):
        self.transport = transport
        self.loop = asyncio.get_running_loop()
        if self._happens("drop"):
            self.ledger.seen["handshake_failures"] += 1
            return self._cut("rst")
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        self.h2.local_settings = h2.settings.Settings(
            client=False, initial_values={Code.MAX_CONCURRENT_STREAMS: self.faults.get("max_concurrent", 100)})
        self.h2.initiate_connection()
        self._flush()

    def data_received(self, data):
        if self.is_over:
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            print(f"the client broke HTTP/2: {error!r}", file=sys.stderr, flush=True)
            self.ledger.seen["client_errors"] += 1
            self._flush()
            return self._cut("fin")
        # What the client took back before anybody looked was never processed.
        gone = {event.stream_id for event in events if isinstance(event, h2.events.StreamReset)}
        for event in events:
            if isinstance(event, h2.events.DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.RequestReceived):
                self.paths[event.stream_id] = dict(event.headers)[b":path"].decode()
            elif isinstance(event, h2.events.StreamEnded) and event.stream_id not in gone:
                self._take(event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self._forget(event.stream_id, "taken_back")
            elif isinstance(event, h2.events.PingAckReceived) and self.pings:
                del self.unconfirmed[:self.pings.popleft()]
            if self.is_over:
                return
        self._flush()

    def connection_lost(self, _):
        self._end("left_by_client")

    # What becomes of a request

    def _take(self, stream):
        """The request is whole."""
        token = self.paths.pop(stream).rpartition("/")[2]
        self.ledger.seen["requests"] += 1
        if stream > self.last:
            return  # the client knows by GOAWAY
        self.highest = max(self.highest, stream)
        if self._happens("refuse"):
            return self._reset(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        if self._happens("reset"):
            return self._reset(stream, self.dice.choice([h2.errors.ErrorCodes.CANCEL, h2.errors.ErrorCodes.INTERNAL_ERROR]))
        for way in ("fin", "rst"):
            if self._happens(f"cut_{way}"):
                self.ledger.seen["closes"] += 1
                return self._cut(way)
        if self._happens("silent"):
            return
        status = next((status for status in REASONS if self._happens(str(status))), 200)
        if status == 200:
            self.ledger.accepted[token] += 1
        else:
            self.ledger.reasons[REASONS[status]] += 1
        delay = self.dice.uniform(0.001, 0.5) if self._happens("late") else self.dice.uniform(0, 0.005)
        if status == 200 and self._happens("reset_accepted"):
            self.ledger.unknown[token] += 1
            return self._reset(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        timer = self.loop.call_later(delay, self._answer, stream, status)
        self.pending[stream] = (timer, token if status == 200 else None)
        self._disturb()

    def _answer(self, stream, status):
        _, token = self.pending.pop(stream)
        headers = [(":status", str(status)), ("apns-id", "5B6B3F0A-5C1C-4C3E-9C3B-0A4A0B0C0D0E")]
        if status in (429, 503):
            headers.append(("retry-after", self.dice.choice("01")))
        body = b"" if status == 200 else json.dumps({"reason": REASONS[status]}).encode()
        self.h2.send_headers(stream, headers, end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        if token:
            self.unconfirmed.append(token)
        self.answers += 1
        if self.answers % ANSWERS_PER_PING == 0:
            self.pings.append(len(self.unconfirmed) - sum(self.pings))
            self.h2.ping(struct.pack("!Q", self.answers))
        self._flush()
        if self.last != LAST and not self.pending:
            self.loop.call_later(FAREWELL, self._cut, "fin")

    def _disturb(self):
        """What befalls the connection as a whole."""
        if self._happens("goaway") and self.last == LAST:
            if self.dice.random() < 0.3:  # first a warning, as RFC 9113 (6.8) has it
                self._goaway(LAST)
                self.loop.call_later(0.05, self._goaway, None)
            else:
                self._goaway(None)
        if self._happens("settings"):
            self.ledger.seen["settings_sent"] += 1
            self.h2.update_settings(self.dice.choice([
                {Code.MAX_CONCURRENT_STREAMS: self.dice.choice(self.faults["streams"])},
                {Code.INITIAL_WINDOW_SIZE: self.dice.choice([1000, 65_535, 1 << 20])},
                {Code.HEADER_TABLE_SIZE: self.dice.choice([0, 256, 4096])}]))
        if self._happens("pause"):
            self.transport.pause_reading()
            self.loop.call_later(self.dice.uniform(0.001, 0.3), self._resume)

    def _goaway(self, last):
        if self.is_over:
            return
        self.ledger.seen["goaways_sent"] += 1
        self.last = self.highest if last is None else last
        self._flush()
        self.transport.write(GoAwayFrame(0, last_stream_id=self.last, error_code=0).serialize())

    def _reset(self, stream, code):
        self.ledger.seen["rst_sent"] += 1
        self.h2.reset_stream(stream, code)

    def _resume(self):
        if not self.is_over:
            self.transport.resume_reading()

    # Its end

    def _cut(self, way):
        if self.is_over:
            return
        self._end("cut")
        if way == "fin":
            return self.transport.close()
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _end(self, cause):
        if self.is_over:
            return
        self.is_over = True
        for stream in list(self.pending):
            self._forget(stream, cause)
        if cause == "cut":
            self.ledger.unknown.update(self.unconfirmed)

    def _forget(self, stream, cause):
        """An answer that will not be given."""
        timer, token = self.pending.pop(stream, (None, None))
        if timer:
            timer.cancel()
        if token:
            self.ledger.unknown[token] += 1
            self.ledger.seen[cause] += 1

    def _flush(self):
        data = self.h2.data_to_send()
        if data and not self.is_over:
            self.transport.write(data)

    def _happens(self, fault):
        return self.dice.random() < self.faults.get(fault, 0)


def fail(ledger, loop, context):
    """An error of this server must not pass for one of its client."""
    if isinstance(context.get("exception"), (OSError, ssl.SSLError)):
        return  # a connection that was cut
    ledger.seen["server_errors"] += 1
    loop.default_exception_handler(context)


async def serve(arguments):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    context.set_alpn_protocols(["h2"])
    ledger, dice = Ledger(), random.Random(arguments.seed)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: fail(ledger, loop, context))
    server = await loop.create_server(lambda: Connection(json.loads(arguments.faults), dice, ledger), "127.0.0.1", 0, ssl=context)
    print(f"listening {server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(json.dumps(ledger.report()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--faults", default="{}", help="JSON: how likely each is for a request, max_concurrent and streams")
    parser.add_argument("--seed", default="1")
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of each write behind a cut
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
