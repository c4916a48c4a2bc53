# SPDX-License-Identifier: MIT
"""What a push service is verified with: a root, an intermediate or the certificate itself in ca_file, and what is said of all others."""

import contextlib
import datetime
import ipaddress
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from peers.raw_provider import RawProvider, friendly
from ports import free_port
from servers import wait_until

PEM = serialization.Encoding.PEM


def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text),
                      x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Example Corp")])


class Authority:
    """A root, an intermediate below it, and a server's certificate below that."""

    def __init__(self, directory):
        self.directory = directory
        root_key, middle_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        root = self._issue("Corp Root", root_key, "Corp Root", root_key, is_authority=True)
        middle = self._issue("Corp TLS Inspection", middle_key, "Corp Root", root_key, is_authority=True)
        leaf = self._issue("127.0.0.1", key, "Corp TLS Inspection", middle_key, is_authority=False)
        for file, certificates in {"root": [root], "middle": [middle], "leaf": [leaf], "server": [leaf, middle],
                                   "whole": [leaf, middle, root]}.items():
            (directory / f"{file}.pem").write_bytes(b"".join(c.public_bytes(PEM) for c in certificates))
        (directory / "server.key").write_bytes(key.private_bytes(
            PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    @staticmethod
    def _issue(subject, key, issuer, signer, is_authority):
        now = datetime.datetime.now(datetime.timezone.utc)
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = (x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
                   .not_valid_after(now + datetime.timedelta(days=30))
                   .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True))
        return (builder if is_authority else builder.add_extension(address, False)).sign(signer, hashes.SHA256())


@pytest.fixture
def authority(tmp_path):
    directory = tmp_path / "authority"
    directory.mkdir()
    return Authority(directory)


@pytest.fixture
def apns(simulator):
    made = simulator.settings()
    return {name: made[name] for name in ("apns_key", "apns_key_id", "apns_team_id")}


@contextlib.contextmanager
def s_server(authority, chain, *options):
    """openssl s_server, which answers nothing; `chain` is what it sends beside its own certificate."""
    port = free_port()
    with (authority.directory / "s_server.log").open("w") as log:
        server = subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", authority.directory / "leaf.pem", "-key",
             authority.directory / "server.key", "-cert_chain", authority.directory / f"{chain}.pem", "-quiet", *options], stdin=subprocess.PIPE, stdout=log, stderr=log)
    try:
        wait_until("s_server listens", lambda: f"{port:04X}" in "".join(
            line.split()[1] for line in open("/proc/net/tcp", encoding="ascii") if line.split()[3] == "0A"))
        yield port
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("anchor", ["root", "middle", "leaf"])
def test_any_certificate_of_the_chain_may_stand_in_ca_file(authority, apns, make_engine, anchor):
    provider = RawProvider(authority.directory, friendly)
    engine = make_engine(**apns, apns_url=provider.url, ca_file=authority.directory / f"{anchor}.pem")
    assert engine.call("com.example.phone") == ("accepted", "")
    provider.stop()


def test_a_servers_own_certificate_is_good_for_its_name_alone(authority, apns, make_engine):
    provider = RawProvider(authority.directory, friendly)
    engine = make_engine(**apns, apns_url=provider.url.replace("127.0.0.1", "localhost"), ca_file=authority.directory / "leaf.pem")
    outcome, reason = engine.call("com.example.phone", seconds=2)
    assert outcome == "unavailable" and "hostname mismatch" in reason
    provider.stop()


@pytest.mark.parametrize("sent", ["leaf", "server", "whole"])
def test_an_authority_that_is_not_known_is_named(authority, simulator, apns, make_engine, sent):
    """A firewall that looks into TLS signs with an authority of its own."""
    known = simulator.directory / "files" / "ca.pem"
    with s_server(authority, sent, "-alpn", "h2") as port:
        engine = make_engine(**apns, apns_url=f"https://127.0.0.1:{port}", ca_file=known)
        outcome, reason = engine.call("com.example.phone", seconds=2)
    issuer = "Corp TLS Inspection" if sent == "leaf" else "Corp Root"
    assert outcome == "unavailable" and f"127.0.0.1:{port}" in reason
    assert issuer in reason and f"ca_file ({known})" in reason, reason
    assert issuer in engine.text()


def test_without_ca_file_it_is_what_to_set(authority, apns, make_engine):
    with s_server(authority, "leaf", "-alpn", "h2") as port:
        engine = make_engine(**apns, apns_url=f"https://127.0.0.1:{port}", ca_file="")
        _, reason = engine.call("com.example.phone", seconds=2)
    assert "Corp TLS Inspection" in reason and "ca_file" in reason, reason


@pytest.mark.parametrize("options", [[], ["-alpn", "http/1.1"]], ids=["none", "http1"])
def test_a_way_to_apple_without_http2_is_asked_about(authority, apns, make_engine, options):
    with s_server(authority, "server", *options) as port:
        engine = make_engine(**apns, apns_url=f"https://127.0.0.1:{port}", ca_file=authority.directory / "root.pem")
        outcome, reason = engine.call("com.example.phone", seconds=3)
    assert outcome == "unavailable"
    assert "HTTP/2" in reason and "is TLS inspected on the way?" in reason, reason
    wait_until("the log says so", lambda: "is TLS inspected on the way?" in engine.text())
