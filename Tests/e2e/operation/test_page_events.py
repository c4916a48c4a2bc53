# SPDX-License-Identifier: MIT
"""/events tells open pages that something is new, and keeps nothing for those that do not read."""

import socket
import subprocess
import time

import h2.events
import h2.settings
import pytest

from peers.http_client import TOKEN, Client, HTTP2Client, listen
from phones import mpush_android
from ports import free_port
from servers import CALLS, wait_until

ASK = f"GET /events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
OPERATOR = (("authorization", f"Bearer {TOKEN}"),)


class Listener:
    """curl, which reads events until it is stopped."""

    def __init__(self, client, path, *options):
        self.process = subprocess.Popen([
            "curl", "-s", "-i", "-N", "--insecure", "--max-time", "60", *options, "-H", f"Authorization: Bearer {TOKEN}",
            client.url + path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        self.text = ""

    def wait(self, text, seconds=10):
        end = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < end, f"no {text!r} in {self.text!r}"
            piece = self.process.stdout.read(4096)
            assert piece, f"curl has ended without {text!r}: {self.text!r}"
            self.text += piece.decode()
        self.text = self.text.partition(text)[2]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def listeners():
    started = []

    def make(*arguments):
        started.append(Listener(*arguments))
        return started[-1]

    yield make
    for listener in started:
        listener.stop()


def pages(client):
    return next(int(line.split()[1]) for line in client.curl("/metrics").body.splitlines()
                if line.startswith("pushwake_http_pages "))


@pytest.mark.parametrize("version", ["--http1.1", "--http1.0", "--http2"])
@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_a_reader_hears_at_once_and_then_now_and_then(make_engine, listeners, tmp_path, version, tls):
    engine, client = listen(make_engine, tmp_path, tls=tls)
    if version == "--http2" and not tls:
        version = "--http2-prior-knowledge"
    listener = listeners(client, "/events", version)
    listener.wait("200")
    listener.wait("content-type: text/event-stream\r\n")
    listener.wait("content-security-policy: default-src 'none'")
    listener.wait("\r\n\r\nretry: 3000\n\n")
    listener.wait("event: change\ndata: ")
    assert "event" not in listener.text
    listener.wait("event: alive\ndata: ", 20)
    assert pages(client) == 1
    listener.stop()
    wait_until("the reader to be forgotten", lambda: pages(client) == 0)


def test_a_call_is_news_for_the_overview_and_for_its_user(make_kamailio, actors, listeners, tmp_path):
    port = free_port()
    token = tmp_path / "token"
    token.write_text(TOKEN)
    server = make_kamailio(config=CALLS.read_text(), settings={"http_listen": port, "http_token_file": token})
    server.start().wait_engine()
    client = Client(port)
    paths = ["/events", "/events?q=dora", "/events?q=other"]
    overview, user, other = all_of_them = [listeners(client, path) for path in paths]
    for listener in all_of_them:
        listener.wait("event: change\n")
    phone = actors.phone(server, "dora", mpush_android())
    phone.register()
    caller = actors.call(server, "dora", "call")
    for listener in (overview, user):
        listener.wait("event: change\n")
    phone.wait_and_wake()
    caller.finish()
    for listener in (overview, user):
        listener.wait("event: change\n")
    # The first that the third hears is that nothing has changed.
    other.wait("event: ", 20)
    assert other.text.startswith("alive") or other.process.stdout.read(8).startswith(b"alive")


def test_only_operators_read_and_no_longer_than_they_are_operators(make_engine, listeners, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    assert client.curl("/events", operator=False).status == 401
    assert client.curl("/events", "-X", "POST").status == 405
    listener = listeners(client, "/events")
    listener.wait("event: change\n")
    (tmp_path / "http-token").write_text("another token, which nobody has\n".replace(" ", "-"))
    # curl ends with the stream; its next try is refused.
    wait_until("the end of the stream", lambda: listener.process.poll() is not None, 15)
    assert listener.process.returncode == 0
    assert client.curl("/events").status == 401


def test_the_head_alone_has_an_end(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    for version in ("--http1.1", "--http2"):
        answer = client.curl("/events", "--head", version)
        assert answer.status == 200 and answer.header("content-type") == "text/event-stream" and answer.body == ""
    assert pages(client) == 0


def test_pages_take_a_part_of_the_connections_and_no_more(make_engine, listeners, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_rate=1000)
    readers = [listeners(client, "/events") for _ in range(16)]
    for reader in readers:
        reader.wait("retry: 3000\n\n")
    refused = client.curl("/events")
    assert refused.status == 503 and refused.header("retry-after") and "16 pages" in refused.json["error"]
    readers[3].stop()
    wait_until("room for another", lambda: client.curl("/events", "--head").status == 200)


def test_what_a_reader_sends_is_not_kept(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    before = resident(engine)
    with client.connect() as connection:
        connection.sendall(ASK.encode() * 2)
        connection.settimeout(20)
        received = b""
        for _ in range(400):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 2000)
        while received.count(b"event: ") < 2:
            received += connection.recv(65536)
        assert received.count(b"HTTP/1.1") == 1
    assert resident(engine) - before < 8192


def resident(engine):
    """Resident kB."""
    with open(f"/proc/{engine.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_a_reader_that_does_not_read_is_closed(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    slow = HTTP2Client(client)
    # Room for the head of the stream and not for an event.
    slow.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 20})
    slow.flush()
    stream = slow.request("/events", fields=OPERATOR)
    assert slow.read(lambda events: any(isinstance(e, h2.events.DataReceived) for e in events))
    begun = time.monotonic()
    assert pages(client) == 1
    slow.read(lambda events: any(isinstance(e, h2.events.ConnectionTerminated) for e in events), 60)
    assert slow.closed and 20 < time.monotonic() - begun < 45
    got = b"".join(e.data for e in slow.events if isinstance(e, h2.events.DataReceived) and e.stream_id == stream)
    assert len(got) == 20 and got.startswith(b"retry: 3000\n\n")
    wait_until("the reader to be forgotten", lambda: pages(client) == 0)


def test_streams_of_one_connection_go_on_beside_requests(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    browser = HTTP2Client(client)
    stream = browser.request("/events?q=somebody", fields=OPERATOR)
    assert browser.answer(browser.request("/", fields=OPERATOR))[0] == 200
    assert browser.read(lambda events: b"event: change" in b"".join(
        e.data for e in events if isinstance(e, h2.events.DataReceived) and e.stream_id == stream))
    browser.h2.reset_stream(stream)
    browser.flush()
    wait_until("the reader to be forgotten", lambda: pages(client) == 0)
    assert browser.answer(browser.request("/healthz"))[0] == 200


def test_an_engine_that_ends_ends_the_streams(make_engine, listeners, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    listener = listeners(client, "/events")
    listener.wait("event: change\n")
    engine.stop()
    wait_until("the end of the stream", lambda: listener.process.poll() is not None)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", client.port), 2).close()


@pytest.mark.parametrize("field", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.example"])
def test_pages_of_other_sites_take_no_place(make_engine, listeners, tmp_path, field):
    engine, client = listen(make_engine, tmp_path)
    for _ in range(20):
        assert client.curl("/events", "-H", field).status == 403
    assert pages(client) == 0
    own = [listeners(client, "/events", "-H", "Sec-Fetch-Site: same-origin") for _ in range(16)]
    for listener in own:
        listener.wait("event: change")
    assert pages(client) == 16
