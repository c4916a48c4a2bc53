# SPDX-License-Identifier: MIT
"""Ways in which a phone does not ring. Of each, `pushwake doctor` names the one thing to do, and ends with 1."""

import contextlib
import datetime
import ipaddress
import json
import socket
import subprocess
import threading
import uuid

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from peers.doctor import Diagnosis, says
from peers.http_client import listen
from peers.raw_provider import RawProvider, friendly
from phones import Push, apns_token, fcm_token, mpush_ios, no_push, rfc8599_fcm
from servers import CONFIG, PUSHWAKE, stopped, wait_until


# What providers refuse

OPEN, CLOCK = "open the app", "NTP"
REFUSALS = [
    # provider, what the rule answers, the remedy, what would be a wrong one
    ("apns", {"reason": "BadDeviceToken"}, "apns_environment", OPEN),
    ("apns", {"reason": "DeviceTokenNotForTopic"}, "apns_topic", OPEN),
    ("apns", {"reason": "BadTopic"}, "apns_topic", OPEN),
    ("apns", {"reason": "TopicDisallowed"}, "team", OPEN),
    ("apns", {"reason": "InvalidProviderToken"}, "apns_key_id", CLOCK),
    ("apns", {"reason": "ExpiredProviderToken"}, CLOCK, "apns_key_id"),
    ("apns", {"reason": "BadEnvironmentKeyIdInToken"}, "apns_environment", "apns_team_id"),
    ("apns", {"reason": "Unregistered"}, OPEN, "apns_environment"),
    ("apns", {"reason": "PayloadTooLarge"}, "payload", OPEN),
    ("fcm", {"reason": "SENDER_ID_MISMATCH"}, "project", OPEN),
    ("fcm", {"reason": "UNREGISTERED"}, OPEN, "project"),
    ("fcm", {"status": 403, "reason": "PERMISSION_DENIED"}, "Firebase Cloud Messaging API", OPEN),
    ("fcm", {"status": 401, "reason": "THIRD_PARTY_AUTH_ERROR"}, "Firebase console", "fcm_key"),
]


def refused(number):
    """A token by which the provider knows which answer is wanted."""
    provider = REFUSALS[number][0]
    beginning = f"{number + 0xab00:04x}" * 2
    if provider == "apns":
        return Push("refused", beginning + apns_token()[8:],
                    contact=";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=@TOKEN@")
    return Push("refused", beginning + fcm_token(),
                contact=";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=@TOKEN@")


@pytest.fixture(scope="module")
def server(make_provider, make_server):
    rules = [{"provider": provider, "token": f"{number + 0xab00:04x}" * 2 + "*", **answer}
             for number, (provider, answer, *_) in enumerate(REFUSALS)]
    provider = make_provider(*rules)
    return make_server(provider, wake_timeout=2, settings={"max_fail": 100})


@pytest.mark.parametrize("number", range(len(REFUSALS)), ids=[f"{p} {a.get('reason')}" for p, a, *_ in REFUSALS])
def test_a_refusal_of_the_provider(server, wire, number):
    _, _, remedy, wrong = REFUSALS[number]
    user = f"refused{number}"
    phone = wire.phone(server, user, "tcp", push=refused(number))
    phone.register()
    phone.sleep()
    wire.call(server, user).wait_final(10)
    says(server, user, remedy, wrong)


# What becomes of the call

CALLS = [(488, "codec"), (486, "busy"), (603, "declin"), (404, "account"), (500, "app")]


@pytest.mark.parametrize("status, remedy", CALLS, ids=[str(status) for status, _ in CALLS])
def test_an_answer_of_the_phone(server, wire, status, remedy):
    user = f"answers{status}"
    phone = wire.phone(server, user, "tcp", push=mpush_ios())
    phone.answers["INVITE"] = (status,)
    phone.register()
    wire.call(server, user).wait_final(10)
    found = says(server, user, remedy, "notifications")
    assert found.state("call") == "fails" and str(status) in found.text


def woken(server, wire, user, **options):
    """A phone that was pushed for a call and has registered."""
    phone = wire.phone(server, user, "tcp", push=mpush_ios())
    phone.register()
    phone.sleep()
    call = wire.call(server, user, "X-Fr-Inv: 4000", "X-Fr: 2000")
    wait_until("it is pushed", lambda: "accepts the call push" in trace(server, user))
    again = wire.again(phone, "tcp", **options)
    again.answers["INVITE"] = ()
    return call, again


def trace(server, user):
    return subprocess.run([PUSHWAKE, "trace", user, "--socket", server.directory / "engine.sock"], capture_output=True,
                          text=True, timeout=30, check=False).stdout


def test_a_phone_that_wakes_and_does_not_answer(server, wire):
    call, phone = woken(server, wire, "mute")
    phone.register()
    phone.wait_request("INVITE")
    call.wait_final(10)
    found = says(server, "mute", "INVITE did not reach", "notifications", "wake_timeout")
    assert found.state("wake") == "ok" and found.state("call") == "fails"


def test_a_phone_that_comes_too_late(server, wire):
    call, phone = woken(server, wire, "slow")
    call.wait_final(10)
    phone.register()
    says(server, "slow", "wake_timeout", "notifications")


def test_a_phone_that_nobody_reaches_at_its_contact(server, wire):
    call, phone = woken(server, wire, "nat", contact="sip:nat@127.0.0.1:9;transport=tcp")
    phone.register()
    call.wait_final(10)
    says(server, "nat", "NAT", "notifications")


def test_a_phone_that_sleeps_on(server, wire):
    phone = wire.phone(server, "deaf", "tcp", push=mpush_ios())
    phone.register()
    phone.sleep()
    wire.call(server, "deaf").wait_final(10)
    says(server, "deaf", "notifications")


# What the server is at fault for

@pytest.fixture(scope="module")
def bare(make_server, simulator):
    """A server without keys but for Apple."""
    return make_server(simulator, wake_timeout=1, settings={"fcm_key": None})


SETUPS = {
    "fcm": (";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=@TOKEN@", "fcm_key"),
    "harmonyos": (";pn-provider=harmonyos;pn-param=1;pn-prid=@TOKEN@", "harmonyos_key"),
    "webpush": (";pn-provider=webpush;pn-prid=https%3A%2F%2Fpush.example.com%2F@TOKEN@", "vapid_key"),
}


@pytest.mark.parametrize("provider", SETUPS)
def test_a_push_service_that_is_not_set_up(bare, wire, provider):
    parameters, remedy = SETUPS[provider]
    wire.phone(bare, provider, "tcp", push=Push(provider, fcm_token(), contact=parameters)).register()
    found = says(bare, provider, remedy, "what the phone sends")
    assert "there was no call" not in found.text


def test_a_token_that_cannot_be_one(bare, wire):
    push = Push("bad", "%zz", contact=";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=@TOKEN@")
    wire.phone(bare, "badtoken", "tcp", push=push).register()
    says(bare, "badtoken", "pn-prid", "fcm_key", "pushwake_save")


def test_a_phone_without_any_token(bare, wire):
    wire.phone(bare, "sender", "tcp", push=mpush_ios()).register()
    wire.phone(bare, "plain", "tcp", push=no_push()).register()
    wire.call(bare, "plain").wait_final(10)
    found = says(bare, "plain", "sends no push token", "pushwake_save")
    assert found.state("call") is None


def test_a_script_that_saves_without_push(make_kamailio, wire):
    server = make_kamailio()
    server.start().wait_engine()
    wire.phone(server, "plain1", "tcp", push=mpush_ios()).register()
    says(server, "plain1", "pushwake_save", "what the phone sends")


def test_a_script_that_looks_up_without_push(make_kamailio, wire):
    server = make_kamailio(config=CONFIG.read_text().replace('pushwake_lookup("location")', 'lookup("location")'))
    server.start().wait_engine()
    phone = wire.phone(server, "asleep", "tcp", push=mpush_ios())
    phone.register()
    phone.sleep()
    wire.call(server, "asleep").wait_final(10)
    found = Diagnosis(server, "asleep")
    assert "pushwake_lookup" in found.advice and found.state("call") == "open", found.text


# What the settings hold back

def silent(server, wire, user):
    """The call of a phone that sleeps has ended."""
    phone = wire.phone(server, user, "tcp", push=mpush_ios())
    phone.register()
    phone.sleep()
    wire.call(server, user).wait_final(10)


HELD_BACK = [({"load_call": "never"}, "load_call"), ({"wake_requests": "MESSAGE"}, "wake_requests")]


@pytest.mark.parametrize("settings, remedy", HELD_BACK, ids=[remedy for _, remedy in HELD_BACK])
def test_calls_that_a_setting_leaves_out(make_server, make_provider, wire, settings, remedy):
    server = make_server(make_provider(), wake_timeout=1, settings=settings)
    silent(server, wire, "left")
    says(server, "left", remedy, "open the app", "pushwake explain", "notifications")


def test_a_provider_that_takes_no_more(make_server, make_provider, wire):
    google = make_provider({"provider": "fcm", "token": "*", "status": 429, "reason": "QUOTA_EXCEEDED"})
    server = make_server(google, wake_timeout=1)
    phone = wire.phone(server, "many", "tcp", push=rfc8599_fcm())
    phone.register()
    phone.sleep()
    wire.call(server, "many").wait_final(10)
    says(server, "many", "quota of the project", "open the app", "firewall")


def test_bindings_that_are_gone(make_server, make_provider, wire):
    server = make_server(make_provider(), wake_timeout=1, settings={"unregister_policy": "remove"})
    wire.phone(server, "byhand", "tcp", push=mpush_ios()).register()
    subprocess.run([PUSHWAKE, "bindings", "remove", "byhand", "--socket", server.directory / "engine.sock"], check=True)
    assert "removed: by hand" in says(server, "byhand", OPEN, "pushwake_save").text
    phone = wire.phone(server, "out", "tcp", push=mpush_ios())
    phone.register()
    phone.unregister()
    assert "removed: unregistered" in says(server, "out", OPEN, "pushwake_save").text


# The way to the provider

def certificate(directory, *, host="127.0.0.1", days=30):
    """A certificate that signs itself and ends after so many days."""
    directory.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Corp Inspection")])
    now = datetime.datetime.now(datetime.timezone.utc)
    name = x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
    made = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=60))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([name]), critical=False).sign(key, hashes.SHA256()))
    (directory / "server.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "server.key").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return directory


@contextlib.contextmanager
def answering(answer):
    """A TCP server that says this to whoever writes; nothing at all for None."""
    listener = socket.create_server(("127.0.0.1", 0))
    held = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                held.append(listener.accept()[0])
                if answer is not None:
                    held[-1].recv(4096)
                    held[-1].sendall(answer)
                    held[-1].shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in held:
            connection.close()


@contextlib.contextmanager
def serving(directory, **options):
    protocol = options.pop("protocol", "h2")
    provider = RawProvider(certificate(directory, **options), friendly, protocol=protocol)
    try:
        yield provider
    finally:
        provider.stop()


@contextlib.contextmanager
def no_name(_):
    yield {"apns_url": "https://nowhere.invalid"}


@contextlib.contextmanager
def nobody_listens(_):
    yield {"apns_url": "https://127.0.0.1:9"}


@contextlib.contextmanager
def silence(_):
    with answering(None) as port:
        yield {"apns_url": f"https://127.0.0.1:{port}"}


@contextlib.contextmanager
def no_tls(_):
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        yield {"apns_url": f"https://127.0.0.1:{port}"}


@contextlib.contextmanager
def unknown_authority(directory):
    with serving(directory / "tls") as provider:
        yield {"apns_url": provider.url}


@contextlib.contextmanager
def other_name(directory):
    with serving(directory / "tls", host="apns.example.com") as provider:
        yield {"apns_url": provider.url, "ca_file": directory / "tls" / "server.pem"}


@contextlib.contextmanager
def expired(directory):
    with serving(directory / "tls", days=-1) as provider:
        yield {"apns_url": provider.url, "ca_file": directory / "tls" / "server.pem"}


@contextlib.contextmanager
def http1(directory):
    with serving(directory / "tls", protocol="http/1.1") as provider:
        yield {"apns_url": provider.url, "ca_file": directory / "tls" / "server.pem"}


@contextlib.contextmanager
def proxy_refuses(_):
    with answering(b"HTTP/1.1 403 Forbidden\r\n\r\n") as port:
        yield {"apns_url": "https://api.push.apple.com", "http_proxy": f"http://127.0.0.1:{port}"}


@contextlib.contextmanager
def proxy_wants_a_name(_):
    with answering(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as port:
        yield {"apns_url": "https://api.push.apple.com", "http_proxy": f"http://127.0.0.1:{port}"}


WAYS = [
    # what is so, the remedy, what would be a wrong one
    (no_name, "resolve", "ca_file"),
    (nobody_listens, "nothing listens", "ca_file"),
    (silence, "firewall", "ca_file"),
    (no_tls, "does not speak TLS", "ca_file"),
    (unknown_authority, "ca_file", "timedatectl"),
    (other_name, "is not for that name", "timedatectl"),
    (expired, "timedatectl", "firewall"),
    (http1, "uninspected", "timedatectl"),
    (proxy_refuses, "http_proxy", "ca_file"),
    (proxy_wants_a_name, "http_proxy_auth", "ca_file"),
]


@pytest.mark.parametrize("case", WAYS, ids=[case[0].__name__ for case in WAYS])
def test_a_way_that_is_barred(make_engine, simulator, tmp_path, case):
    made = simulator.settings()
    keys = {name: made[name] for name in ("apns_key", "apns_key_id", "apns_team_id", "ca_file")}
    way, remedy, wrong = case
    with way(tmp_path) as settings:
        engine, client = listen(make_engine, tmp_path, **{**keys, **settings})
        engine.directory = engine.log.parent
        body = f"aor=bob&provider=apns&app=com.example.phone&token={uuid.uuid4().hex * 2}"
        assert client.curl("/v1/bindings", "-d", body).json == {"stored": 1}
        engine.run("send", "call", "bob", "--timeout", "2")
        found = says(engine, "bob", remedy, wrong)
        assert found.state("provider") == "fails", found.text


def test_a_circuit_says_why_it_is_open(make_engine, make_simulator, tmp_path):
    google = make_simulator({"rules": [{"provider": "fcm", "status": 403, "reason": "PERMISSION_DENIED"}]})
    made = google.settings()
    engine, client = listen(make_engine, tmp_path, provider=google, max_fail=2, fcm_key=made["fcm_key"],
                            fcm_url=made["fcm_url"])
    engine.directory = engine.log.parent
    assert client.curl("/v1/bindings", "-d", f"aor=bob&provider=fcm&app=com.example.phone&token={fcm_token()}").json
    for _ in range(3):
        engine.run("send", "call", "bob", "--timeout", "2")
    found = says(engine, "bob", "Firebase Cloud Messaging API", "firewall")
    assert "circuit is open" in found.text


# The engine

def test_no_engine_at_all(tmp_path):
    class Nobody:
        directory = tmp_path
    found = Diagnosis(Nobody, "bob")
    assert found.code == 1 and "start the PBX" in found.advice


def test_an_engine_that_is_not_installed(make_kamailio):
    server = make_kamailio(settings={"engine_path": "/usr/bin/pushwake-of-nobody"})
    server.start()
    found = says(server, "bob", "set engine_path", "start the PBX")
    assert "/usr/bin/pushwake-of-nobody" in found.text


def test_an_engine_whose_disk_is_full(make_kamailio, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "pushwake-test", disk], check=False).returncode != 0:
        pytest.skip("only root makes a disk of its own")
    try:
        with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        server = make_kamailio(settings={"store_path": disk / "bindings.db"})
        server.start()
        says(server, "bob", "free space", "start the PBX")
        (disk / "ballast").unlink()
        server.wait_engine(20)
        assert "free space" not in Diagnosis(server, "bob").text
        server.stop()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_an_engine_without_a_right_to_its_store(make_kamailio, tmp_path):
    (tmp_path / "file").write_text("")
    server = make_kamailio(settings={"store_path": tmp_path / "file" / "bindings.db"})
    server.start()
    says(server, "bob", "store_path", "start the PBX")


def test_an_engine_that_hangs(make_kamailio):
    server = make_kamailio()
    server.start().wait_engine()
    with stopped(server.engine_pid()):
        found = Diagnosis(server, "bob")
    assert found.code == 1 and "hangs" in found.advice and "start the PBX" not in found.text, found.text


# What is not known is not called fine

def test_a_phone_that_nobody_called(server, wire):
    wire.phone(server, "untried", "tcp", push=mpush_ios()).register()
    found = Diagnosis(server, "untried")
    assert found.code == 0 and found.state("push") == found.state("call") == "open", found.text


def test_a_call_that_goes_on(server, wire):
    phone = wire.phone(server, "rings", "tcp", push=rfc8599_fcm())
    phone.answers["INVITE"] = (180,)
    phone.register()
    call = wire.call(server, "rings")
    call.wait_status(180)
    found = Diagnosis(server, "rings")
    assert "goes on" in found.text and ", : " not in found.text, found.text
    call.cancel()


def test_the_same_remedy_stands_in_the_trace_and_in_json(server, wire):
    phone = wire.phone(server, "same", "tcp", push=mpush_ios())
    phone.answers["INVITE"] = (488,)
    phone.register()
    wire.call(server, "same").wait_final(10)
    advice = says(server, "same", "codec").advice
    assert advice in trace(server, "same")
    rows = json.loads(subprocess.run(
        [PUSHWAKE, "doctor", "same", "--json", "--socket", server.directory / "engine.sock"], capture_output=True,
        text=True, timeout=30, check=False).stdout)
    assert rows[-1]["step"] == "advice" and rows[-1]["text"] == advice
