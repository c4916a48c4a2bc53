# SPDX-License-Identifier: MIT
"""Clients of http_listen that are slow, greedy or hostile cost only themselves."""

import concurrent.futures
import functools
import json
import os
import re
import resource
import socket
import subprocess
import time

import h2.events
import h2.exceptions
import h2.settings
import pytest

from peers.http_client import TOKEN, Client, HTTP2Client, listen, read_all
from ports import free_port
from servers import wait_until

HEALTH = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
@pytest.mark.parametrize("version", ["--http1.1", "--http1.0", "--http2"])
def test_health_is_told_to_everybody(make_engine, tmp_path, tls, version):
    engine, client = listen(make_engine, tmp_path, tls=tls)
    if version == "--http2" and not tls:
        version = "--http2-prior-knowledge"
    answer = client.curl("/healthz", version, operator=False)
    assert answer.status == 200
    assert answer.version == ("HTTP/2" if "http2" in version else "HTTP/1.1")
    assert answer.json["store"] == "ok" and answer.json["status"] in ("ok", "degraded")
    assert answer.header("content-security-policy") and answer.header("x-content-type-options") == "nosniff"
    assert "key" not in answer.body and str(tmp_path) not in answer.body
    head = client.curl("/healthz", version, "--head", operator=False)
    assert head.status == 200 and head.body == "" and int(head.header("content-length")) > 10


@pytest.mark.parametrize("request_line", ["OPTIONS /healthz HTTP/1.0\r\n\r\n", "OPTIONS /healthz HTTP/1.1\r\nhost: a\r\n\r\n"])
def test_health_is_told_to_haproxy_as_it_asks_by_default(make_engine, tmp_path, request_line):
    """`option httpchk /healthz`, and the same with `http-check send ver HTTP/1.1 hdr host a`."""
    engine, client = listen(make_engine, tmp_path)
    assert client.say(request_line, end=True).startswith("HTTP/1.1 200 ")
    assert client.say(request_line.replace("healthz", "metrics"), end=True).startswith("HTTP/1.1 405 ")


def test_a_provider_that_cannot_be_reached_shows(make_engine, tmp_path, simulator):
    engine, client = listen(make_engine, tmp_path, **simulator.settings() | {"fcm_url": "https://127.0.0.1:9"})
    health = wait_until("the providers were tried", lambda: (
        h := client.curl("/healthz", operator=False).json)["providers"].get("fcm") == "unreachable" and h)
    assert health["status"] == "degraded" and health["providers"]["apns"] == "ready"


def test_is_off_by_default_and_on_loopback_unless_set(make_engine, tmp_path):
    assert "HTTP" not in make_engine().text()
    engine, client = listen(make_engine, tmp_path)
    assert f"HTTP listens on 127.0.0.1:{client.port}" in engine.text()


def test_serves_nothing_in_the_clear_when_its_certificate_cannot_be_used(make_engine, tmp_path):
    (tmp_path / "broken.pem").write_text("nothing")
    engine = make_engine(http_listen=0, http_cert=tmp_path / "broken.pem")
    assert "http_cert: " in engine.text() and "HTTP listens" not in engine.text()
    assert engine.run("stats").returncode == 0


@pytest.mark.parametrize("text, status", [
    ("GET /healthz HTTP/1.1\r\n\r\n", 400),
    ("GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + "y" * 20000 + "\r\n\r\n", 431),
    ("GET /healthz HTTP/1.1\r\nHost: a\r\n" + "X: y\r\n" * 200 + "\r\n", 431),
    ("POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n", 413),
    ("POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    ("\x16\x03\x01\x02\x00\x01\x00", 400),
    ("GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 404),
    ("DELETE /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 405),
])
def test_tells_what_is_wrong_with_a_request(make_engine, tmp_path, text, status):
    engine, client = listen(make_engine, tmp_path)
    if text.startswith("\x16"):
        text += "\r\n\r\n"
    answer = client.say(text, end=True)
    assert answer.startswith(f"HTTP/1.1 {status} "), answer
    assert json.loads(answer.split("\r\n\r\n")[1])["error"]


def test_answers_pipelined_requests_in_order_and_whoever_has_said_all(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_rate=10000)
    requests = "".join(f"GET /{'healthz' if i % 2 else i} HTTP/1.1\r\nHost: a\r\n\r\n" for i in range(300))
    answers = client.say(requests, end=True)
    statuses = [part[:3] for part in answers.split("HTTP/1.1 ")[1:]]
    assert statuses == ["404", "200"] * 150


@pytest.fixture
def few_descriptors(monkeypatch):
    """Programs that start now may have 80: HTTP gets a quarter of them."""
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (80, 80))
    monkeypatch.setattr(subprocess, "Popen", functools.partial(subprocess.Popen, preexec_fn=limit))


@pytest.mark.usefixtures("few_descriptors")
def test_half_a_request_makes_room_for_a_whole_one(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    slow = [client.connect() for _ in range(40)]
    for connection in slow:
        try:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        except ConnectionError:
            pass
    assert client.curl("/healthz", operator=False).status == 200
    for connection in slow:
        connection.close()


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_a_trickle_of_bytes_ends_after_a_while(make_engine, tmp_path, tls):
    engine, client = listen(make_engine, tmp_path, tls=tls)
    connection = client.connect()
    began = time.monotonic()
    connection.sendall(b"GET /healthz HTTP/1.1\r\n")

    def is_over():
        try:
            connection.sendall(b"X")
            return False
        except OSError:
            return True

    wait_until("the engine closes", is_over, 25, step=0.5)
    assert 10 < time.monotonic() - began < 20
    assert client.curl("/healthz", operator=False).status == 200


def test_a_connection_without_a_handshake_ends(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    silent = socket.create_connection(("127.0.0.1", client.port), 20)
    silent.settimeout(20)
    assert read_all(silent) == ""
    assert client.curl("/healthz", operator=False).status == 200


def test_who_does_not_read_costs_only_itself(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_rate=100000)
    deaf = client.connect()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.setblocking(False)
    sent = 0
    try:
        for _ in range(20000):
            sent += deaf.send(HEALTH.encode())
    except BlockingIOError:
        pass
    # The engine stopped reading: what it took and did not answer is bounded.
    assert 10_000 < sent < 8_000_000
    began = time.monotonic()
    assert client.curl("/healthz", operator=False).status == 200
    assert engine.run("stats").returncode == 0
    assert time.monotonic() - began < 5
    wait_until("the engine gives up", lambda: _is_reset(deaf), 45, step=0.5)
    deaf.close()


def _deaf(client, request=b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", receive_buffer=4096):
    """A client that sends requests until nobody takes more, and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect(("127.0.0.1", client.port))
    connection.settimeout(1)
    try:
        while True:
            connection.sendall(request * 1000)
    except TimeoutError:
        return connection


def _cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        ticks = file.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def test_who_does_not_read_uses_no_cpu(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_rate=100000)
    with _deaf(client):
        before = _cpu_seconds(engine.process)
        time.sleep(2)
        assert _cpu_seconds(engine.process) - before < 0.3


@pytest.mark.usefixtures("few_descriptors")
def test_who_does_not_read_makes_room_for_others(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_rate=100000)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        deaf = list(pool.map(_deaf, [client] * 20))
    assert client.curl("/healthz", operator=False).status == 200
    for connection in deaf:
        connection.close()


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_who_sends_too_much_hears_why(make_engine, tmp_path, tls):
    engine, client = listen(make_engine, tmp_path, tls=tls)
    body = b"x" * 3_000_000
    head = (f"POST /v1/send HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()
    for _ in range(10):
        with client.connect() as connection:
            connection.sendall(head + body)
            assert read_all(connection).startswith("HTTP/1.1 413 ")


def test_who_waits_hears_it_when_the_engine_ends(make_engine, tmp_path, simulator):
    engine, client = listen(make_engine, tmp_path, **simulator.settings() | {"apns_url": "https://127.0.0.1:9"})
    body = "provider=apns&app=com.example.phone&token=" + "ab" * 32 + "&event=chat&timeout=100"
    with client.connect() as connection:
        connection.sendall(f"POST /v1/send HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_until("the push waits", lambda: engine.stats()["queued"] == 1)
        engine.process.terminate()
        answer = read_all(connection)
    assert answer.startswith("HTTP/1.1 200 ") and "unavailable" in answer


def test_who_waits_for_a_phone_hears_it_when_the_engine_ends(make_engine, tmp_path, simulator):
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("apns_")}
    engine, client = listen(make_engine, tmp_path, **keys)
    token = "ab" * 32
    made = client.curl("/v1/bindings", "-d", f"aor=waits&provider=apns&app=com.example.phone&token={token}&service=voip")
    assert made.json == {"stored": 1}
    before = len(simulator.pushes(token))
    with client.connect() as connection:
        connection.sendall(f"POST /v1/wake HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
                           "Content-Length: 20\r\n\r\naor=waits&timeout=60".encode())
        simulator.wait_push(token, after=before)
        engine.process.terminate()
        answer = read_all(connection)
    assert answer.startswith("HTTP/1.1 503 ") and '"status":"failed"' in answer and "the engine ends" in answer


def test_ipv4_clients_of_a_listener_for_both_families_have_budgets_of_their_own(make_engine, tmp_path):
    port = free_port()
    engine, _ = listen(make_engine, tmp_path, http_listen=f"[::]:{port}", http_rate=5)
    flood = Client(port).say(HEALTH * 30, end=True)
    assert flood.count("HTTP/1.1 429") == 20
    with socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0)) as other:
        other.sendall(HEALTH.encode())
        other.shutdown(socket.SHUT_WR)
        assert read_all(other).startswith("HTTP/1.1 200 ")


def _is_reset(connection):
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0 or _info(connection) == 7


def _info(connection):
    """State of the TCP connection; 7 is closed."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def test_more_requests_than_one_address_may_send_are_told_so(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_rate=5)
    answers = client.say(HEALTH * 30, end=True)
    assert answers.count("HTTP/1.1 200") == 10 and answers.count("HTTP/1.1 429") == 20
    assert "retry-after: 2" in answers
    wait_until("the budget fills", lambda: client.curl("/healthz", operator=False).status == 200, step=0.3)


def test_many_streams_and_bodies_of_one_http2_client(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    peer = HTTP2Client(client)
    streams = [peer.request("/healthz") for _ in range(10)]
    assert [peer.answer(stream)[0] for stream in streams] == [200] * 10
    long = peer.request("/healthz", fields=[("x", "y" * 12000), ("z", "y" * 12000)])
    assert peer.answer(long)[0] == 431
    big = peer.request("/healthz", "POST", [("content-length", "99999")], b"x", ends=False)
    assert peer.answer(big)[0] == 413
    endless = peer.request("/healthz", "POST", (), b"x" * 16000, ends=False)
    for _ in range(2):
        peer.h2.send_data(endless, b"x" * 16000)
        peer.flush()
    assert peer.answer(endless)[0] == 413
    assert peer.answer(peer.request("/healthz"))[0] == 200
    peer.close()


def test_streams_that_are_begun_and_reset_end_the_connection(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True, http_rate=100000)
    peer = HTTP2Client(client)
    try:
        for _ in range(5000):
            stream = peer.request("/healthz")
            peer.h2.reset_stream(stream)
            peer.flush()
            if stream % 199 == 0 and peer.read(lambda events: True, 1) and peer.closed:
                break
    except (OSError, h2.exceptions.ProtocolError):
        pass
    ended = peer.closed or peer.read(
        lambda events: any(isinstance(e, h2.events.ConnectionTerminated) for e in events), 10)
    assert ended or peer.closed
    assert client.curl("/healthz", operator=False).status == 200


def test_floods_of_settings_and_pings_do_not_fill_the_memory(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    for frame in [b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"]:
        with client.connect() as connection:
            connection.settimeout(5)
            try:
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
                for _ in range(200):
                    connection.sendall(frame * 1000)
            except OSError:
                pass
        assert client.curl("/healthz", operator=False).status == 200
    status = dict(line.split(":", 1) for line in open(f"/proc/{engine.process.pid}/status") if ":" in line)
    assert int(status["VmRSS"].split()[0]) < 80_000


def test_an_http2_client_that_takes_no_data_is_closed(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)
    peer = HTTP2Client(client)
    peer.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
    peer.flush()
    stream = peer.request("/healthz")
    assert peer.read(lambda events: any(isinstance(e, h2.events.ResponseReceived) for e in events))
    began = time.monotonic()
    peer.read(lambda events: any(isinstance(e, h2.events.StreamEnded) and e.stream_id == stream for e in events), 45)
    assert peer.closed and time.monotonic() - began < 40
    assert client.curl("/healthz", operator=False).status == 200


def test_a_request_behind_one_that_waits_is_answered_after_it(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path)
    body = "aor=nobody&wait=1"
    head = f"Host: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    answers = client.say(f"POST /v1/send HTTP/1.1\r\n{head}{body}{HEALTH}", end=True)
    assert [part[:3] for part in answers.split("HTTP/1.1 ")[1:]] == ["404", "200"]


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_an_answer_is_whole_for_a_client_that_wants_small_records(make_engine, tmp_path, version):
    engine, client = listen(make_engine, tmp_path, tls=True)
    request = f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{client.port}", version, "-maxfraglen", "512", "-quiet", "-ign_eof"],
        input=request.encode(), capture_output=True, check=False, timeout=30)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    assert length > 1000 and len(body) == length
