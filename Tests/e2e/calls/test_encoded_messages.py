# SPDX-License-Identifier: MIT
"""A MESSAGE whose body is compressed is what it would be without."""

import gzip
import json
import uuid
import zlib

import pytest

from phones import rfc8599_fcm

TEXT = "Gr\u00fc\u00dfe, this is the plain text of the message."
NOTICE = "From: <sip:alice@example.org>\r\n\r\nContent-Type: message/imdn+xml\r\n\r\n<imdn/>"
PACKED = f"From: <sip:alice@example.org>\r\n\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{TEXT}"


@pytest.fixture
def reader(kamailio, wire):
    phone = wire.phone(kamailio, f"encoded-{uuid.uuid4().hex[:8]}", "udp", rfc8599_fcm())
    phone.register()
    return phone.sleep()


@pytest.fixture
def write(kamailio, wire, reader):
    def send(body, content, *extra):
        wire.caller(kamailio, display='"Alice" ').request(
            reader.user, "MESSAGE", *extra, text=body.decode(errors="surrogateescape"), content=content)

    return send


def raw(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("pack, header", [
    (zlib.compress, "Content-Encoding: deflate"), (raw, "Content-Encoding: deflate"), (gzip.compress, "Content-Encoding: gzip"),
    (gzip.compress, "e: gzip"), (zlib.compress, "e: deflate"), (lambda data: data, "Content-Encoding: identity")])
@pytest.mark.parametrize("content, body", [("text/plain;charset=utf-8", TEXT), ("message/cpim", PACKED)], ids=["plain", "cpim"])
def test_its_text_is_shown(write, simulator, reader, pack, header, content, body):
    write(pack(body.encode()), content, header)
    assert TEXT in json.dumps(simulator.wait_push(reader.push.token)["body"], ensure_ascii=False)


@pytest.mark.parametrize("header, body", [
    ("Content-Encoding: br", b"\x8b\x03\x80abc"), ("Content-Encoding: deflate", b"x\x9cno stream"), ("e: gzip", TEXT.encode())])
def test_what_cannot_be_read_is_a_text_all_the_same(write, simulator, reader, header, body):
    write(body, "text/plain", header)
    shown = json.dumps(simulator.wait_push(reader.push.token)["body"], ensure_ascii=False)
    assert "Alice" in shown and "stream" not in shown and "\ufffd" not in shown and TEXT not in shown


def test_a_notice_wakes_nobody(write, simulator, reader):
    for pack, header in ((zlib.compress, "Content-Encoding: deflate"), (gzip.compress, "e: gzip")):
        write(pack(NOTICE.encode()), "message/cpim", header)
    write(zlib.compress(TEXT.encode()), "text/plain", "e: deflate")
    simulator.wait_push(reader.push.token)
    assert len(simulator.pushes(reader.push.token)) == 1


def test_a_small_body_that_becomes_large_costs_little(write, simulator, reader):
    body = zlib.compress(("x" * 10_000_000).encode(), 9)
    for _ in range(20):
        write(body, "text/plain", "Content-Encoding: deflate")
    assert "xxxx" in json.dumps(simulator.wait_push(reader.push.token)["body"])
