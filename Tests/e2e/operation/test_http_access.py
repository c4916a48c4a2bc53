# SPDX-License-Identifier: MIT
"""Who may ask the engine over HTTP, and what happens to those who may not."""

import hashlib
import os
import socket
import subprocess

import pytest

from peers.http_client import TOKEN, HTTP2Client, listen
from servers import PUSHWAKE, certificate_with_key, wait_until


def ha1(user, realm, password, algorithm="md5"):
    return f"{user}:{realm}:{hashlib.new(algorithm, f'{user}:{realm}:{password}'.encode()).hexdigest()}\n"


def users_file(tmp_path):
    path = tmp_path / "http-users"
    path.write_text(ha1("alice", "pushwake", "secret") + ha1("root", "pushwake", "toor")
                    + ha1("admin", "pushwake", "nimda", "sha256") + ha1("admin", "pushwake", "nimda"))
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
@pytest.mark.parametrize("how", [
    ("--digest", "-u", "root:toor"), ("--basic", "-u", "root:toor"), ("--digest", "-u", "admin:nimda"),
    ("--anyauth", "-u", "admin:nimda"), ("-H", f"Authorization: Bearer {TOKEN}")])
def test_operators_are_known_in_every_way_of_http(make_engine, tmp_path, tls, how):
    engine, client = listen(make_engine, tmp_path, tls, http_users=users_file(tmp_path), http_operators="root, admin")
    answer = client.curl("/metrics", *how, operator=False)
    assert answer.status == 200 and "pushwake_info" in answer.body


def test_sha256_is_used_where_all_users_have_it(make_engine, tmp_path):
    path = tmp_path / "http-users"
    path.write_text(ha1("root", "pushwake", "toor", "sha256"))
    engine, client = listen(make_engine, tmp_path, http_users=path, http_operators="root")
    asked = client.curl("/metrics", operator=False)
    assert "algorithm=SHA-256" in asked.header("www-authenticate")
    assert client.curl("/metrics", "--digest", "-u", "root:toor", operator=False).status == 200
    assert client.curl("/metrics", "--digest", "-u", "root:wrong", operator=False).status == 401


@pytest.mark.parametrize("how, status", [
    ((), 401), (("--basic", "-u", "root:wrong"), 401), (("--digest", "-u", "root:wrong"), 401),
    (("--basic", "-u", "nobody:toor"), 401), (("-H", "Authorization: Bearer " + TOKEN[:-1]), 401),
    (("-H", "Authorization: Negotiate abc"), 401), (("--basic", "-u", "alice:secret"), 403),
    (("-H", "X-Forwarded-For: 127.0.0.1", "-H", "X-User: root"), 401)])
def test_nobody_else_is_let_in(make_engine, tmp_path, how, status):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="root")
    answer = client.curl("/metrics", *how, operator=False)
    assert answer.status == status and "pushwake_info" not in answer.body
    if status == 401:
        offered = [value.split()[0] for name, value in answer.headers if name == "www-authenticate"]
        assert offered[-2:] == ["Basic", "Bearer"] and offered[0] == "Digest"


def test_wrong_passwords_are_limited_and_never_logged(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path))
    statuses = [client.curl("/metrics", "-u", f"root:guess-{i}", operator=False).status for i in range(15)]
    assert statuses[:10] == [401] * 10 and statuses[10:] == [429] * 5
    assert client.curl("/healthz", operator=False).status == 200
    log = engine.text()
    assert "sent a wrong password or token" in log and "guess" not in log and "toor" not in log
    assert log.count("sent a wrong password") <= 3


def test_the_token_is_good_whatever_others_of_its_address_showed(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path))
    for i in range(12):
        client.curl("/metrics", "-u", f"root:guess-{i}", operator=False)
    assert client.curl("/metrics", "-u", "root:toor", operator=False).status == 429
    assert client.curl("/metrics").status == 200


def test_wrong_tokens_keep_nobody_from_showing_a_password(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="root")
    for _ in range(12):
        assert client.curl("/metrics", "-H", "Authorization: Bearer " + TOKEN[:-1], operator=False).status == 401
    assert client.curl("/metrics", "-u", "root:toor", operator=False).status == 200


def test_a_file_that_cannot_be_read_shuts_nobody_out(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="root")
    (tmp_path / "http-token").write_text("short\n")
    engine.run("reload")
    assert "holds no token that can be used" in engine.text()
    assert client.curl("/metrics").status == 200
    os.remove(tmp_path / "http-users")
    engine.run("reload")
    assert client.curl("/metrics", "-u", "root:toor", operator=False).status == 200
    (tmp_path / "http-users").write_text(ha1("carol", "pushwake", "new") + "broken line\n")
    engine.run("reload")
    assert client.curl("/metrics", "-u", "root:toor", operator=False).status == 401
    assert f"{tmp_path}/http-users:2: write user:realm:HA1" in engine.text() and "broken line" not in engine.text()


def test_too_many_users_are_told_so(make_engine, tmp_path):
    path = tmp_path / "http-users"
    path.write_text("".join(f"user{i}:pushwake:{i:032x}\n" for i in range(25000)))
    engine, client = listen(make_engine, tmp_path, http_users=path)
    said = f"http_users: {path} is longer than 1 MB"
    assert said in engine.text()
    done = subprocess.run([PUSHWAKE, "check", engine.settings], capture_output=True, text=True, timeout=60, check=False)
    assert "is longer than 1 MB" in done.stdout + done.stderr


@pytest.mark.parametrize("fields, status", [
    (["Origin: http://evil.example"], 403), (["Origin: null"], 403), (["Origin: http://HERE"], 200),
    (["Origin: https://HERE", "Sec-Fetch-Site: same-origin"], 200), (["Sec-Fetch-Site: cross-site"], 403)])
def test_pages_of_other_sites_may_not_post(make_engine, tmp_path, fields, status):
    engine, client = listen(make_engine, tmp_path)
    options = [part for field in fields for part in ("-H", field.replace("HERE", f"127.0.0.1:{client.port}"))]
    answer = client.curl("/v1/bindings?aor=nobody", "-X", "DELETE", *options)
    assert answer.status == status, answer.body


def test_without_a_token_or_users_nobody_is_let_in(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_token_file="")
    assert client.curl("/metrics", operator=False).status == 401
    assert client.curl("/metrics", "-H", "Authorization: Bearer ", operator=False).status == 401
    assert client.curl("/healthz", operator=False).status == 200
    assert "nobody may use it but for /healthz" in engine.text()


def test_a_digest_is_good_for_one_request(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="root")
    # curl shows what it sends.
    command = ["curl", "-sv", "--digest", "-u", "root:toor", client.url + "/metrics"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stderr
    overheard = [line[2:] for line in shown.splitlines() if line.startswith("> Authorization: Digest")][-1]
    answer = client.curl("/metrics", "-H", overheard, operator=False)
    assert answer.status == 401 and "stale=true" in answer.header("www-authenticate")
    assert client.curl("/healthz?x=y", "-H", overheard, operator=False).status == 200


def test_new_users_and_tokens_count_without_a_restart(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="carol")
    assert client.curl("/metrics", "-u", "carol:new", operator=False).status == 401
    new = tmp_path / "http-users.new"
    new.write_text(ha1("carol", "pushwake", "new") + "broken line\n")
    os.replace(new, tmp_path / "http-users")
    wait_until("carol is known", lambda: client.curl("/metrics", "-u", "carol:new", operator=False).status == 200,
               30, step=1)
    assert client.curl("/metrics").status == 200


def test_a_certificate_is_taken_without_a_restart(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, tls=True)

    def shown():
        with client.connect() as connection:
            return connection.getpeercert(binary_form=True)

    first = shown()
    new = tmp_path / "new.pem"
    new.write_bytes(certificate_with_key())
    os.replace(new, tmp_path / "http.pem")
    wait_until("the new certificate", lambda: shown() != first, 30, step=0.5)
    (tmp_path / "http.pem").write_text("nothing")
    wait_until("the problem is told", lambda: "http_cert: " in engine.text(), 30, step=0.5)
    assert client.curl("/healthz", operator=False).status == 200
    peer = HTTP2Client(client)
    assert peer.answer(peer.request("/healthz"))[0] == 200
    peer.close()


def test_check_names_what_is_not_safe(make_engine, tmp_path):
    engine = make_engine()
    (tmp_path / "short").write_text("abc\n")
    (tmp_path / "short").chmod(0o644)
    settings = tmp_path / "check.conf"
    settings.write_text(engine.settings.read_text() + f"http_listen = 0.0.0.0:8088\nhttp_token_file = {tmp_path}/short\n"
                        f"http_users = {users_file(tmp_path)}\n")
    done = subprocess.run([PUSHWAKE, "check", settings], capture_output=True, text=True,
                          timeout=60, check=False)
    text = done.stdout + done.stderr
    assert "passwords go over it in the clear" in text and "holds no token that can be used" in text
    assert f"everybody can read {tmp_path}/short" in text



def test_an_admin_of_another_realm_is_no_operator(make_engine, tmp_path):
    path = tmp_path / "http-users"
    path.write_text(ha1("admin", "pushwake", "right") + ha1("admin", "sip.example", "his") + ha1("guest", "sip.example", "x"))
    engine, client = listen(make_engine, tmp_path, http_users=path, http_operators="admin,guest")
    assert client.curl("/metrics", "-u", "admin:right", operator=False).status == 200
    assert client.curl("/metrics", "-u", "admin:his", operator=False).status == 403
    body = ("-d", "username=admin&password=his&aor=somebody&provider=fcm&app=x&token=y")
    assert client.curl("/v1/bindings", *body, operator=False).status == 403
    assert client.curl("/v1/bindings?aor=admin", "-u", "admin:his", operator=False).status == 200
    done = subprocess.run([PUSHWAKE, "check", engine.settings], capture_output=True, text=True, timeout=60, check=False)
    assert "http_users has no guest of realm pushwake" in done.stdout + done.stderr
    assert "no admin" not in done.stdout + done.stderr


def test_names_that_look_alike_are_two_people(make_engine, tmp_path):
    one, two = "jos\u00e9", "jose\u0301"
    path = tmp_path / "http-users"
    path.write_text(ha1(one, "pushwake", "one") + ha1(two, "pushwake", "two"))
    engine, client = listen(make_engine, tmp_path, http_users=path, http_operators=one)
    for how in ("--basic", "--digest"):
        assert client.curl("/metrics", how, "-u", f"{one}:one", operator=False).status == 200
        assert client.curl("/metrics", how, "-u", f"{two}:two", operator=False).status == 403


def flood(client, addresses):
    """Ten wrong passwords from each address of this machine."""
    guess = "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Basic cm9vdDp4\r\n\r\n" * 10
    for address in addresses:
        with socket.create_connection(("127.0.0.1", client.port), 20, source_address=(address, 0)) as connection:
            connection.sendall(guess.encode())
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass


def test_wrong_passwords_of_many_addresses_lock_no_other_out(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="root")
    flood(client, [f"127.1.{n // 250}.{n % 250 + 1}" for n in range(2000)])
    assert client.curl("/metrics", "--interface", "127.1.0.1", "-u", "root:toor", operator=False).status == 429
    statuses = [client.curl("/metrics", "--interface", f"127.2.0.{n}", "-u", "root:toor", operator=False).status
                for n in range(1, 21)]
    assert statuses == [200] * 20


def test_wrong_passwords_of_a_neighbour_lock_nobody_out_who_was_there_before(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path), http_operators="root")
    assert client.curl("/v1/bindings?aor=alice", "-u", "alice:secret", operator=False).status == 200
    flood(client, ["127.0.0.1"])
    assert client.curl("/v1/bindings?aor=alice", "-u", "alice:secret", operator=False).status == 200
    assert client.curl("/metrics", "-u", "admin:nimda", operator=False).status == 429
    report = ("-d", "username=alice&password=secret&selector=S&pushTokenIncomingCall=T&pushappid_incoming_call=A")
    assert client.curl("/v1/acrobits/push-token", *report, operator=False).status != 429


def test_a_trailer_carries_no_credentials(make_engine, tmp_path):
    engine, client = listen(make_engine, tmp_path, http_users=users_file(tmp_path))
    peer = HTTP2Client(client)
    for fields in ([("authorization", f"Bearer {TOKEN}")], [("content-type", "application/json")]):
        stream = peer.request("/v1/send", "POST", [("content-type", "application/x-www-form-urlencoded")], b"aor=bob", ends=False)
        peer.h2.send_headers(stream, fields, end_stream=True)
        peer.flush()
        assert peer.answer(stream)[0] == 401
    peer.close()
    chunked = ("POST /v1/send HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7\r\naor=bob\r\n0\r\n"
               f"Authorization: Bearer {TOKEN}\r\n\r\n")
    assert client.say(chunked).startswith("HTTP/1.1 401")
