# SPDX-License-Identifier: MIT
"""An attacker in the provider's place: nothing traps, hangs or grows, and what was not processed goes out again.

The first connection meets the attacker, those after it a provider that accepts everything."""

import concurrent.futures
import json
import os
import pathlib
import socket
import struct
import subprocess
import time

import pytest

from peers.raw_provider import OK, RawProvider, frame, friendly, literal
from servers import PUSHWAKE

COUNT = 40
HEADERS, DATA, PRIORITY, RST, SETTINGS, PROMISE, PING, GOAWAY, WINDOW, CONTINUATION = 1, 0, 2, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
MEMORY = 100 << 20


def run(files, *behaviours, protocol="h2", seconds=40, count=COUNT):
    """Sends pushes to a raw provider; what became of them. Apple is spoken to by HTTP/2 alone."""
    provider = RawProvider(files, *behaviours, protocol=protocol)
    vendor = "apns" if protocol == "h2" else "fcm"
    process = subprocess.Popen(
        [PUSHWAKE, "load", "--provider", vendor, "--url", provider.url, "--dir", files, "--count", str(count),
         "--concurrency", "20", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + seconds
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            if time.monotonic() > end:
                process.kill()
                process.wait()
                raise AssertionError(f"still running after {seconds} s")
            time.sleep(0.02)
        complaint = process.stderr.read()
        assert process.returncode in (0, 1), f"ended by signal {-process.returncode}: {complaint}"
        assert not provider.errors, provider.errors
        assert peak < MEMORY, f"{peak >> 10} kB"
        said = json.loads(process.stdout.read())
        return {**said, "connections": provider.connections, "complaint": complaint}
    finally:
        provider.stop()


def resident(pid):
    """The most memory that a process ever had, in bytes; 0 once it is gone. Its ru_maxrss would count this
    process too, from before the exec."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM")), 0)


@pytest.fixture
def push(simulator):
    return lambda *behaviours, **options: run(simulator.directory / "files", *behaviours, **options)


@pytest.fixture(scope="module", autouse=True)
def ahead(request, simulator):
    """Results by case name. These cases wait for time to pass, so that they all begin at once, beside the others."""
    wanted = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    with concurrent.futures.ThreadPoolExecutor(32) as threads:
        yield {
            name: threads.submit(run, simulator.directory / "files", *behaviours, **options)
            for name, (behaviours, options) in patient().items() if name in wanted}


def patient():
    """The cases of `ahead`."""
    silent = {behave.__name__: ((behave, friendly), {}) for behave in SILENCE + WITHOUT_SETTINGS}
    good = http1(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    return silent | {name: ((http1(answer), good), {"protocol": "http/1.1"}) for name, answer in HTTP1.items()}


def attack(answer):
    """Sends raw bytes before the first response; if the client is still there, all is well from then on."""
    def behave(peer):
        peer.preface()
        for number, stream in enumerate(peer.requests()):
            if number == 0:
                peer.send(answer(stream))
            peer.accept(stream)
    return behave


def flood(part, megabytes=64):
    """Sends the same bytes again and again after the first request."""
    def behave(peer):
        peer.preface()
        stream = next(peer.requests())
        block = (part(stream) if callable(part) else part)
        block *= max(1, 65_536 // len(block))
        for _ in range((megabytes << 20) // len(block)):
            peer.send(block)
        peer.accept(stream)
        for stream in peer.requests():
            peer.accept(stream)
    return behave


def head(stream, block=OK, flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block)


# MARK: Streams and connections that end


def refuse_every_other(peer):
    peer.preface()
    for stream in peer.requests():
        if stream % 4 == 1:
            peer.send(frame(RST, 0, stream, struct.pack(">I", 7)))
        else:
            peer.accept(stream)


def goaway_below_what_was_answered(peer):
    peer.preface()
    for number, stream in enumerate(peer.requests()):
        if number < 5:
            peer.accept(stream)
        if number == 5:
            peer.send(frame(GOAWAY, 0, 0, struct.pack(">II", 3, 0)))


def goaway_then_close(peer):
    peer.preface()
    for number, stream in enumerate(peer.requests()):
        if number == 7:
            peer.send(frame(GOAWAY, 0, 0, struct.pack(">II", 9, 0) + b'{"reason":"Shutdown"}'))
            return
        peer.accept(stream)


def close_between_request_and_answer(peer):
    peer.preface()
    next(peer.requests())


def goaways_with_rising_and_falling_streams(peer):
    peer.preface()
    next(peer.requests())
    for last in (2**31 - 1, 100, 50, 200, 1, 0):
        peer.send(frame(GOAWAY, 0, 0, struct.pack(">II", last, 0) + b"x" * 16_000))
    for _ in peer.requests():
        pass


def reset_after_the_answer(peer):
    peer.preface()
    for stream in peer.requests():
        peer.accept(stream)
        peer.send(frame(RST, 0, stream, struct.pack(">I", 0)), frame(RST, 0, stream, struct.pack(">I", 8)))


def tcp_reset(peer):
    peer.preface()
    next(peer.requests())
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(peer.socket.detach())


@pytest.mark.parametrize("behave", [
    refuse_every_other, goaway_below_what_was_answered, goaway_then_close, close_between_request_and_answer,
    goaways_with_rising_and_falling_streams, reset_after_the_answer, tcp_reset], ids=lambda f: f.__name__)
def test_pushes_go_out_again_after(push, behave):
    said = push(behave, friendly)
    assert said["accepted"] == COUNT, said


# MARK: Silence


def one_stream_then_many(peer):
    peer.preface((3, 1))
    highest = 0
    waiting = []
    for number, stream in enumerate(peer.requests()):
        waiting.append(stream)
        if number == 2:
            peer.settings((3, 1000))
        if number < 3:
            highest = max(highest, len(waiting))
            peer.accept(waiting.pop())
        else:
            peer.accept(waiting.pop())
    assert highest == 1


def no_window(peer):
    peer.preface((3, 100), (4, 0))
    for _ in peer.frames():
        pass


def window_that_opens_late(peer):
    peer.preface((3, 100), (4, 0))
    next(peer.frames())
    time.sleep(0.5)
    peer.settings((4, 65_535))
    for stream in peer.requests():
        peer.accept(stream)


def deaf(peer):
    peer.preface()
    time.sleep(25)


def mute(peer):
    """Acknowledges PINGs and answers nothing."""
    peer.preface()
    for _ in peer.frames():
        pass


def drip(peer):
    peer.preface()
    stream = next(peer.requests())
    for byte in head(stream, flags=END_HEADERS | END_STREAM)[:8] + b"\x00" * 100:
        peer.send(bytes([byte]))
        time.sleep(0.2)


SILENCE = [one_stream_then_many, no_window, window_that_opens_late, deaf, mute, drip]


@pytest.mark.parametrize("behave", SILENCE, ids=lambda f: f.__name__)
def test_silence_is_found_out(ahead, behave):
    said = ahead[behave.__name__].result()
    assert said["accepted"] == COUNT, said


# MARK: Answers that are too much

LONG_HEADER = literal(b"x-long", b"a" * 60_000)
TOO_LONG = b"".join(literal(b"x-%d" % n, b"b" * 4000) for n in range(250))
BIG_FIELD = b"\x40\x06x-bomb\x7f\x81\x1e" + b"c" * 4000  # enters the table; 4000 = 127 + 3873


def split(stream, block, flags=0):
    """A header block over HEADERS and as many CONTINUATION frames as it takes."""
    parts = [block[at:at + 16_000] for at in range(0, len(block), 16_000)]
    out = frame(HEADERS, flags | (END_HEADERS if len(parts) == 1 else 0), stream, parts[0])
    for index, part in enumerate(parts[1:], 2):
        out += frame(CONTINUATION, END_HEADERS if index == len(parts) else 0, stream, part)
    return out


ANSWERS = {
    "long_body": lambda s: head(s) + frame(DATA, 0, s, b"z" * 16_000) * 3 + frame(DATA, END_STREAM, s),
    "headers_of_a_megabyte": lambda s: split(s, OK + TOO_LONG, END_STREAM),
    "one_long_header": lambda s: split(s, OK + LONG_HEADER, END_STREAM),
    "header_bomb": lambda s: split(s, OK + BIG_FIELD + b"\xbe" * 16_000, END_STREAM),
    "many_informational_answers": lambda s: head(s, literal(b":status", b"103") + literal(b"link", b"x" * 90)) * 2000
    + head(s, OK, END_HEADERS | END_STREAM),
    "trailers": lambda s: head(s) + frame(DATA, 0, s, b"{}") + head(s, literal(b"x-sum", b"1"), END_HEADERS | END_STREAM),
    "two_answers": lambda s: head(s) + head(s, OK, END_HEADERS | END_STREAM),
    "switching_protocols": lambda s: head(s, literal(b":status", b"101"), END_HEADERS | END_STREAM),
    "no_status": lambda s: head(s, literal(b"x", b"y"), END_HEADERS | END_STREAM),
    "status_of_letters": lambda s: head(s, literal(b":status", b"abc"), END_HEADERS | END_STREAM),
    "status_without_end": lambda s: head(s, literal(b":status", b"9" * 300), END_HEADERS | END_STREAM),
    "status_twice": lambda s: head(s, OK + literal(b":status", b"503"), END_HEADERS | END_STREAM),
    "request_fields": lambda s: head(s, OK + literal(b":path", b"/"), END_HEADERS | END_STREAM),
    "wrong_content_length": lambda s: head(s, OK + literal(b"content-length", b"99999999999999999999"))
    + frame(DATA, END_STREAM, s, b"{}"),
    "negative_content_length": lambda s: head(s, OK + literal(b"content-length", b"-1")) + frame(DATA, END_STREAM, s, b"{}"),
    "upper_case_name": lambda s: head(s, OK + literal(b"X-Upper", b"1"), END_HEADERS | END_STREAM),
    "line_breaks": lambda s: head(s, OK + literal(b"x-a", b"1\r\nx-b: 2"), END_HEADERS | END_STREAM),
    "index_beyond_the_table": lambda s: head(s, OK + b"\xff\xff\xff\x7f", END_HEADERS | END_STREAM),
    "number_without_end": lambda s: head(s, OK + b"\xff" * 40, END_HEADERS | END_STREAM),
    "table_of_gigabytes": lambda s: head(s, b"\x3f\xff\xff\xff\xff\x07" + OK, END_HEADERS | END_STREAM),
    "padding_longer_than_the_frame": lambda s: frame(HEADERS, END_HEADERS | 8, s, b"\xff" + OK),
    "empty_frame_of_headers": lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s),
    "data_before_headers": lambda s: frame(DATA, END_STREAM, s, b"{}"),
    "data_after_the_end": lambda s: head(s, OK, END_HEADERS | END_STREAM) + frame(DATA, 0, s, b"late"),
    "data_on_an_idle_stream": lambda s: frame(DATA, 0, 9999, b"x"),
    "headers_on_an_even_stream": lambda s: head(2),
    "headers_on_stream_zero": lambda s: head(0),
    "promise": lambda s: frame(PROMISE, END_HEADERS, s, struct.pack(">I", 2) + b"\x82\x87\x84"),
    "continuation_of_nothing": lambda s: frame(CONTINUATION, END_HEADERS, s, OK),
    "frame_of_16_megabytes": lambda s: frame(DATA, 0, s, b"x" * 100, length=(1 << 24) - 1),
    "window_of_zero": lambda s: frame(WINDOW, 0, s, bytes(4)),
    "window_too_wide": lambda s: frame(WINDOW, 0, 0, struct.pack(">I", 2**31 - 1)) * 2,
    "stream_window_too_wide": lambda s: frame(WINDOW, 0, s, struct.pack(">I", 2**31 - 1)) * 2,
    "wrong_settings": lambda s: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 2**32 - 1)),
    "small_frames": lambda s: frame(SETTINGS, 0, 0, struct.pack(">HI", 5, 1)),
    "half_a_setting": lambda s: frame(SETTINGS, 0, 0, b"\0\3\0"),
    "acknowledged_twice": lambda s: frame(SETTINGS, 1) * 5,
    "unasked_pong": lambda s: frame(PING, 1, 0, bytes(8)) * 5,
    "short_ping": lambda s: frame(PING, 0, 0, b"x"),
    "short_goaway": lambda s: frame(GOAWAY, 0, 0, b"x"),
    "reset_of_an_idle_stream": lambda s: frame(RST, 0, 9999, bytes(4)),
    "priority_on_itself": lambda s: frame(PRIORITY, 0, s, struct.pack(">IB", s, 1)),
    "unknown_frames": lambda s: frame(0xFA, 0xFF, s, b"?" * 1000) * 50 + head(s, OK, END_HEADERS | END_STREAM),
    "unknown_settings": lambda s: frame(SETTINGS, 0, 0, struct.pack(">HI", 0xFFFF, 7) * 30),
    "http1": lambda s: b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "noise": lambda s: bytes(range(256)) * 300,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_strange_answer_harms_nobody(push, name):
    said = push(attack(ANSWERS[name]), attack(ANSWERS[name]), friendly)
    # The answer may count for the push that got it; all others must arrive, and soon.
    assert said["accepted"] >= COUNT - 2, said
    assert said["accepted"] + said["rejected"] + said["failed"] == COUNT
    assert said["seconds"] < 5, said


FLOODS = {
    "pings": frame(PING, 0, 0, bytes(8)),
    "settings": frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)),
    "empty_settings": frame(SETTINGS),
    "headers_without_end": lambda s: head(s, OK + literal(b"x", b"y" * 100)),
    "empty_data": lambda s: head(s) + frame(DATA, 0, s) * 2000,
    "empty_continuations": lambda s: frame(HEADERS, 0, s, OK) + frame(CONTINUATION, 0, s) * 2000,
    "continuations": lambda s: frame(HEADERS, 0, s, OK) + frame(CONTINUATION, 0, s, literal(b"x", b"y" * 1000)) * 100,
    "window_updates": lambda s: frame(WINDOW, 0, 0, struct.pack(">I", 1)),
    "priorities": frame(PRIORITY, 0, 1, struct.pack(">IB", 3, 1)),
    "promises": lambda s: frame(PROMISE, END_HEADERS, s, struct.pack(">I", 2) + b"\x82\x87\x84"),
    "unknown": frame(0xEE, 0, 0, b"u" * 50),
    "unknown_empty": frame(0xEE),
    "resets": frame(RST, 0, 1, struct.pack(">I", 8)),
    "goaways": frame(GOAWAY, 0, 0, struct.pack(">II", 2**31 - 1, 0) + b"g" * 200),
    "body": lambda s: head(s) + frame(DATA, 0, s, b"d" * 16_384) * 4,
    "informational": lambda s: head(s, literal(b":status", b"103")),
    "noise": b"\x00" * 1000,
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_survived(push, name):
    said = push(flood(FLOODS[name]), friendly)
    assert said["accepted"] >= COUNT - 1, said
    assert said["seconds"] < 12, said


# MARK: Before HTTP/2, and without it


def goodbye_at_once(peer):
    peer.socket.unwrap()


def settings_never_come(peer):
    for _ in range(20):
        peer.socket.recv(65_536)


WITHOUT_SETTINGS = [goodbye_at_once, settings_never_come]


@pytest.mark.parametrize("behave", WITHOUT_SETTINGS, ids=lambda f: f.__name__)
def test_a_connection_without_settings_is_left(ahead, behave):
    said = ahead[behave.__name__].result()
    assert said["accepted"] == COUNT, said


def http1(answer):
    def behave(peer):
        while True:
            text = b""
            while b"\r\n\r\n" not in text:
                text += peer.read(1)
            lengths = [line.split(b":")[1] for line in text.lower().split(b"\r\n") if line.startswith(b"content-length")]
            peer.read(int(lengths[0]))
            for part in answer() if callable(answer) else [answer]:
                peer.send(part)
    return behave


def endless(piece, first=b"HTTP/1.1 200 OK\r\n"):
    def answer():
        yield first
        for _ in range((64 << 20) // len(piece)):
            yield piece
    return answer


HTTP1 = {
    "header_lines_without_end": endless(b"x-y: " + b"z" * 8000 + b"\r\n"),
    "one_line_without_end": endless(b"z" * 65_536, b""),
    "body_without_end": endless(b"z" * 65_536, b"HTTP/1.1 200 OK\r\n\r\n"),
    "chunks_without_end": endless(b"1000\r\n" + b"z" * 4096 + b"\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
    "trailers_without_end": endless(b"x: y\r\n" * 1000, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"),
    "informational_without_end": endless(b"HTTP/1.1 103 Early\r\n\r\n" * 1000, b""),
    "empty_lines_without_end": endless(b"\r\n" * 1000, b""),
    "answers_nobody_asked_for": endless(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" * 100, b""),
    "huge_chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    "negative_length": b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
    "huge_length": b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
    "longest_length": b"HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\nx",
    "short_status": b"HTTP/1.1 2\r\n\r\n",
    "no_http": b"220 mail.example.com ESMTP\r\n\r\n",
}


@pytest.mark.parametrize("name", HTTP1)
def test_http_1_is_no_way_in(ahead, name):
    said = ahead[name].result()
    assert said["accepted"] >= COUNT - 1, said


