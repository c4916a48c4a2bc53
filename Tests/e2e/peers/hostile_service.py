# SPDX-License-Identifier: MIT
"""Web Push services that somebody has set up to do harm: they send and answer nothing, or take connections and say nothing.

They run in a process of their own, so that what they do takes no time from a test that measures."""

import multiprocessing
import socket
import struct

from peers.raw_provider import OK, RawProvider, frame

DATA, HEADERS, PRIORITY, RST, SETTINGS, PROMISE, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_HEADERS = 4

FRAMES = {
    "goaway": frame(GOAWAY, 0, 0, struct.pack(">II", 2**31 - 1, 0)),
    "window_update": frame(WINDOW, 0, 0, struct.pack(">I", 1)),
    "stream_window_update": lambda stream: frame(WINDOW, 0, stream, struct.pack(">I", 1)),
    "ping": frame(PING, 0, 0, bytes(8)),
    "pong": frame(PING, 1, 0, bytes(8)),
    "settings": frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)),
    "empty_settings": frame(SETTINGS),
    "settings_ack": frame(SETTINGS, 1),
    "priority": frame(PRIORITY, 0, 1, struct.pack(">IB", 3, 1)),
    "rst_stream": frame(RST, 0, 1, struct.pack(">I", 8)),
    "promise": lambda stream: frame(PROMISE, END_HEADERS, stream, struct.pack(">I", 2) + b"\x82\x87\x84"),
    "empty_data": lambda stream: frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, 0, stream) * 5000,
    "padded_data": lambda stream: frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, 8, stream, b"\xff" + bytes(255)) * 200,
    "continuation": lambda stream: frame(HEADERS, 0, stream, OK) + frame(CONTINUATION, 0, stream) * 5000,
    "informational": lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x08\x03103"),
    "unknown": frame(0xEE),
    "altsvc": frame(10, 0, 0, struct.pack(">H", 0)),
    "origin": frame(12),
}
"""Frames that cost nothing to send, of every type; those of a stream are made for it."""


def sends(kind):
    """Sends the same frame for as long as somebody reads it."""
    def behave(peer):
        peer.preface()
        stream = next(peer.requests())
        part = FRAMES[kind]
        part = part(stream) if callable(part) else part
        block = part * max(1, 65_536 // len(part))
        while True:
            peer.send(block)
    return behave


def _serve(files, kinds, deaf, pipe):
    providers = [RawProvider(files, sends(kind)) for kind in kinds]
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(deaf)]
    pipe.send(([provider.url for provider in providers],
               [f"https://127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]))
    pipe.recv()


class HostileServices:
    """A service for each of `kinds` (keys of FRAMES), and so many that take connections and never say a word."""

    def __init__(self, files, kinds=(), deaf=0):
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=(files, kinds, deaf, theirs), daemon=True)
        self._process.start()
        self.talking, self.deaf = self._pipe.recv()

    def stop(self):
        self._process.kill()
        self._process.join()
