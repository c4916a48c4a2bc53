# SPDX-License-Identifier: MIT
"""A provider whose certificate is revoked, and which says so itself: OCSP stapling (RFC 6066, 8)."""

import datetime
import ipaddress
import socket
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import ocsp

from ports import free_port
from servers import wait_until

NOW = datetime.datetime.utcnow()
DAY = datetime.timedelta(days=1)


def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def certificate(subject, issuer, key, signer, *extensions):
    builder = (x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key.public_key())
               .serial_number(x509.random_serial_number()).not_valid_before(NOW - DAY).not_valid_after(NOW + 30 * DAY))
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, is_critical)
    return builder.sign(signer, hashes.SHA256())


def staple(leaf, ca, responder, signer, status, age):
    """What the authority said of the certificate, `age` ago, for a day."""
    is_revoked = status == ocsp.OCSPCertStatus.REVOKED
    return (ocsp.OCSPResponseBuilder()
            .add_response(leaf, ca, hashes.SHA1(), status, NOW - age, NOW - age + DAY, NOW - age if is_revoked else None, None)
            .responder_id(ocsp.OCSPResponderEncoding.NAME, responder).sign(signer, hashes.SHA256())
            .public_bytes(serialization.Encoding.DER))


def can_connect(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


GOOD, REVOKED = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED
HOUR = datetime.timedelta(hours=1)


@pytest.mark.parametrize("status, age, is_forged, is_refused", [
    (REVOKED, HOUR, False, True), (GOOD, HOUR, False, False), (REVOKED, 3 * DAY, False, False), (REVOKED, HOUR, True, False),
    (None, HOUR, False, False)], ids=["revoked", "good", "old", "forged", "none"])
def test_a_certificate_that_its_authority_calls_revoked_is_not_trusted(
        make_engine, simulator, tmp_path, status, age, is_forged, is_refused):
    ca_key, key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    ca = certificate("ca", "ca", ca_key, ca_key, (x509.BasicConstraints(ca=True, path_length=None), True))
    leaf = certificate("leaf", "ca", key, ca_key,
                       (x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False))
    (tmp_path / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "leaf.pem").write_bytes(leaf.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    port = free_port()
    command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", tmp_path / "leaf.pem", "-key",
               tmp_path / "leaf.pem", "-alpn", "h2", "-quiet"]
    if status is not None:
        signer = other if is_forged else ca_key
        responder = certificate("ca", "ca", signer, signer, (x509.BasicConstraints(ca=True, path_length=None), True))
        (tmp_path / "staple").write_bytes(staple(leaf, ca, responder, signer, status, age))
        command += ["-status_file", tmp_path / "staple"]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until("the server listens", lambda: can_connect(port))
        url = f"https://127.0.0.1:{port}"
        keys = {key: simulator.settings()[key] for key in ("apns_key", "apns_key_id", "apns_team_id")}
        engine = make_engine(apns_url=url, apns_sandbox_url=url, ca_file=tmp_path / "ca.pem", **keys)
        if is_refused:
            wait_until("the log says why", lambda: "is revoked, says its authority (OCSP)" in engine.text())
            assert engine.call("com.example.phone", seconds=3)[0] == "unavailable"
        else:
            # HTTP/2 begins: its preface has reached the server, which knows no HTTP.
            wait_until("the handshake is over", lambda: b"PRI * HTTP/2.0" in (tmp_path / "server.log").read_bytes())
            assert "revoked" not in engine.text()
    finally:
        server.kill()
        server.wait(5)
