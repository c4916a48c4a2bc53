# SPDX-License-Identifier: MIT
"""Apple's client certificates, from the files to the push; the files are made by libraries that are not ours."""

import datetime
import shutil
import ssl
import subprocess
import uuid

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from peers.raw_provider import RawProvider, friendly
from phones import mpush_ios, rfc8599_apns
from servers import PUSHWAKE, wait_until

PRODUCTION = x509.ObjectIdentifier("1.2.840.113635.100.6.3.2")
TOPICS = x509.ObjectIdentifier("1.2.840.113635.100.6.3.6")
USER_ID = x509.ObjectIdentifier("0.9.2342.19200300.100.1.1")


def der(tag, content):
    assert len(content) < 128
    return bytes([tag, len(content)]) + content


def topic_list(app):
    def text(value):
        return der(0x0C, value.encode())

    return der(0x30, text(app) + der(0x30, text("app")) + text(f"{app}.voip") + der(0x30, text("voip")))


class Certificates:
    """A directory for apns_cert, filled with what the simulator's authority signs."""

    def __init__(self, directory, simulator):
        self.directory = directory
        files = simulator.directory / "files"
        self.issuer = x509.load_pem_x509_certificate((files / "apns-ca.pem").read_bytes())
        self.issuer_key = serialization.load_pem_private_key((files / "apns-ca.key").read_bytes(), None)
        directory.mkdir()

    def make(self, app, days=365):
        """An RSA key, as Apple's users have it, and its certificate."""
        key = rsa.generate_private_key(65537, 2048)
        now = datetime.datetime.now(datetime.timezone.utc)
        subject = x509.Name([
            x509.NameAttribute(USER_ID, app),
            x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Apple Push Services: {app}")])
        certificate = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self.issuer.subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=400))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.UnrecognizedExtension(PRODUCTION, b"\x05\x00"), False)
            .add_extension(x509.UnrecognizedExtension(TOPICS, topic_list(app)), False)
            .sign(self.issuer_key, hashes.SHA256()))
        return key, certificate

    def pem(self, name, app, days=365):
        key, certificate = self.make(app, days)
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
        path = self.directory / name
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + text)
        path.chmod(0o600)
        return path

    def keychain(self, name, app, password):
        """As the keychain of macOS exports it."""
        key, certificate = self.make(app)
        encryption = (
            serialization.PrivateFormat.PKCS12.encryption_builder()
            .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC).hmac_hash(hashes.SHA1())
            .build(password.encode()))
        path = self.directory / name
        path.write_bytes(pkcs12.serialize_key_and_certificates(app.encode(), key, certificate, None, encryption))
        path.chmod(0o600)
        path.with_suffix(".pwd").write_text(password + "\n")
        return path


    def boxed(self, name, app, *options):
        """As `openssl pkcs12 -export` writes it with these options."""
        plain = self.pem("plain.pem", app)
        path = self.directory / name
        subprocess.run(["openssl", "pkcs12", "-export", "-in", plain, "-out", path, "-passout", "pass:secret", *options],
                       check=True)
        plain.unlink()
        path.chmod(0o600)
        path.with_suffix(".pwd").write_text("secret\n")
        return path


def test_send_goes_out_with_the_certificate_of_its_app(tmp_path, simulator, make_engine):
    made = Certificates(tmp_path / "apns", simulator)
    made.pem("com.example.one.pem", "com.example.one")
    made.keychain("pushkit.com.example.two.p12", "com.example.two", "käse 1")
    engine = make_engine(apns_cert=made.directory)
    for app in ("com.example.one", "com.example.two"):
        token = uuid.uuid4().hex
        assert engine.call(app, token) == ("accepted", "")
        sent = simulator.wait_push(token)
        assert sent["certificate"] == app
        assert sent["headers"]["apns-topic"] == f"{app}.voip" and "authorization" not in sent["headers"]
    assert engine.call("com.example.three") == ("misconfigured", "NoCertificateForTopic")

    # A third app comes while the engine runs, and the first one goes.
    made.pem("com.example.three.pem", "com.example.three")
    wait_until("the new file is read", lambda: engine.call("com.example.three")[0] == "accepted")
    (made.directory / "com.example.one.pem").unlink()
    wait_until("the file is gone", lambda: engine.call("com.example.one")[1] == "NoCertificateForTopic")
    assert engine.call("com.example.two")[0] == "accepted"


def test_check_and_log_name_what_is_wrong(tmp_path, simulator, make_engine):
    made = Certificates(tmp_path / "apns", simulator)
    good = made.pem("com.example.good.pem", "com.example.good")
    old = made.pem("com.example.old.pem", "com.example.old", days=-2)
    soon = made.pem("com.example.soon.pem", "com.example.soon", days=10)
    locked = made.keychain("com.example.locked.p12", "com.example.locked", "secret-word")
    locked.with_suffix(".pwd").write_text("another-word\n")
    engine = make_engine(apns_cert=made.directory)
    checked = subprocess.run([PUSHWAKE, "check", engine.settings], capture_output=True, text=True, check=False)
    for text in (engine.text(), checked.stdout + checked.stderr):
        assert f"{old} expired on " in text
        assert f"{soon} expires on " in text
        assert f"{locked} does not open with the password in {locked.with_suffix('.pwd')}" in text
        assert str(good) not in text
        assert "secret-word" not in text and "another-word" not in text
    assert engine.call("com.example.good")[0] == "accepted"
    assert engine.call("com.example.soon")[0] == "accepted"
    assert engine.call("com.example.old") == ("misconfigured", "NoCertificateForTopic")

    locked.with_suffix(".pwd").write_text("secret-word\n")
    wait_until("the right password is read", lambda: engine.call("com.example.locked")[0] == "accepted")


OLD = ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-RC2-40"]


@pytest.mark.parametrize("options", [
    OLD, ["-nomac"], ["-nomac", "-legacy"], ["-legacy", "-certpbe", "PBE-SHA1-RC2-128", "-keypbe", "PBE-SHA1-RC4-128"],
], ids=["rc2-40", "no-mac", "no-mac-rc2-40", "rc2-128"])
def test_files_of_old_tools_are_opened(tmp_path, simulator, make_engine, options):
    made = Certificates(tmp_path / "apns", simulator)
    path = made.boxed("com.example.old.p12", "com.example.old", *options)
    engine = make_engine(apns_cert=made.directory)
    assert engine.call("com.example.old") == ("accepted", "")
    path.with_suffix(".pwd").write_text("another\n")
    checked = subprocess.run([PUSHWAKE, "check", engine.settings], capture_output=True, text=True, check=False).stdout
    assert f"{path} does not open with the password in {path.with_suffix('.pwd')}" in checked


def test_without_the_old_ciphers_a_command_is_named_that_writes_the_file_anew(tmp_path, simulator, make_engine, monkeypatch):
    made = Certificates(tmp_path / "apns", simulator)
    path = made.boxed("com.example.old.p12", "com.example.old", *OLD)
    monkeypatch.setenv("OPENSSL_MODULES", "/nonexistent")
    engine = make_engine(apns_cert=made.directory)
    assert f"{path} is encrypted with an old cipher" in engine.text() and "openssl pkcs12 -legacy -in" in engine.text()


def test_a_certificate_is_enough_for_kamailio(tmp_path, make_kamailio, actors, simulator):
    shutil.copytree(simulator.directory / "files" / "apns", tmp_path / "apns")
    kamailio = make_kamailio(settings={
        "apns_key": None, "apns_key_id": None, "apns_team_id": None, "apns_cert": tmp_path / "apns"})
    kamailio.start().wait_engine()
    push = rfc8599_apns()
    phone = actors.phone(kamailio, "certified", push)
    assert phone.register().headers("Feature-Caps") == ['*;+sip.pns="apns"']
    caller = actors.call(kamailio, "certified", "call")
    phone.wait_and_wake()
    caller.finish()
    sent = simulator.wait_push(push.token)
    assert sent["status"] == 200 and sent["certificate"] == "com.example.phone"


@pytest.fixture
def strict(simulator):
    """A server that asks for a certificate of another authority than the one that made ours."""
    files = simulator.directory / "files"
    provider = RawProvider(files, friendly)
    provider.context.verify_mode = ssl.CERT_REQUIRED
    provider.context.load_verify_locations(files / "ca.pem")
    yield provider
    provider.stop()
    assert provider.errors == []


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2], ids=["tls1.3", "tls1.2"])
def test_a_certificate_that_the_server_refuses_is_named_once(tmp_path, simulator, strict, make_engine, version):
    """With TLS 1.3 the client is through with the handshake before it hears of it."""
    strict.context.maximum_version = version
    made = Certificates(tmp_path / "apns", simulator)
    path = made.pem("com.example.one.pem", "com.example.one")
    engine = make_engine(apns_cert=made.directory, apns_url=strict.url, apns_sandbox_url=strict.url)
    told = f"127.0.0.1:{strict.port} refuses the client certificate: unknown_ca"
    # The first connection is made ahead of need.
    wait_until("the refusal is noticed", lambda: told in engine.text())
    for _ in range(3):
        outcome, reason = engine.call("com.example.one", seconds=3)
        assert outcome in ("misconfigured", "unavailable")
        assert reason == told
    lines = [line for line in engine.text().splitlines() if "calls go through without push" in line]
    assert len(lines) == 1 and f"apns production com.example.one: {told}; " in lines[0]
    assert str(path) in lines[0] and "get a new one from Apple, put it there" in lines[0]

    strict.context.load_verify_locations(simulator.directory / "files" / "apns-ca.pem")
    wait_until("the server has come to its senses",
               lambda: engine.call("com.example.one", seconds=10)[0] == "accepted", 60)
    wait_until("the log says so", lambda: "apns production com.example.one: works again" in engine.text())


def test_without_any_certificate_the_log_says_that_one_is_wanted(simulator, strict, make_engine):
    keys = {name: value for name, value in simulator.settings().items() if name.startswith("apns_key")}
    engine = make_engine(**keys, apns_team_id="DEF123GHIJ", apns_url=strict.url, apns_sandbox_url=strict.url)
    told = f"127.0.0.1:{strict.port} refuses the client certificate: certificate_required"
    outcome, reason = engine.call("com.example.one", seconds=3)
    assert outcome in ("misconfigured", "unavailable") and reason == told
    assert f"{told}; it asks for one, and none is set" in engine.text()


def test_no_call_waits_for_a_phone_whose_certificate_is_refused(tmp_path, simulator, strict, make_kamailio, actors):
    shutil.copytree(simulator.directory / "files" / "apns", tmp_path / "apns")
    kamailio = make_kamailio(settings={
        "apns_key": None, "apns_key_id": None, "apns_team_id": None, "apns_cert": tmp_path / "apns",
        "apns_url": strict.url, "apns_sandbox_url": strict.url})
    kamailio.start().wait_engine()
    # The connection is made ahead of need.
    kamailio.wait_log("com.example.phone: 127.0.0.1", seconds=15)
    phone = actors.phone(kamailio, "unpushed", mpush_ios())
    phone.wake("answer").wait_status(200)
    caller = actors.call(kamailio, "unpushed", "call").finish()
    assert 110 not in caller.statuses and 200 in caller.statuses
