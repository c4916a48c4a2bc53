# SPDX-License-Identifier: MIT
"""Kamailio as the phones see it: UDP, TCP, TLS, and a password."""

import datetime
import ipaddress
import pathlib
import subprocess

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from servers import PUSHWAKE, Kamailio

CONFIG = pathlib.Path(__file__).parent / "kamailio.cfg"
PASSWORD = "phones-of-the-test"
HOST = "127.0.0.1"


class Certificate:
    """An authority and a certificate for 127.0.0.1 that it signed; phones trust the authority."""

    def __init__(self, directory):
        self.authority = directory / "ca.pem"
        self.chain = directory / "proxy.pem"
        self.key = directory / "proxy.key"
        signer, signed = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        above = self._certificate("PushWake test authority", signer.public_key(), "PushWake test authority", signer,
                                  (x509.BasicConstraints(ca=True, path_length=0), True))
        below = self._certificate(HOST, signed.public_key(), "PushWake test authority", signer,
                                  (x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), False))
        self.authority.write_bytes(above)
        self.chain.write_bytes(below)
        self.key.write_bytes(signed.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    @staticmethod
    def _certificate(subject, key, issuer, signer, extension):
        def name(text):
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

        now = datetime.datetime.utcnow()
        made = (
            x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key)
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1)).add_extension(*extension).sign(signer, hashes.SHA256()))
        return made.public_bytes(serialization.Encoding.PEM)


class Proxy(Kamailio):
    """Kamailio with this folder's configuration; what it may leave out is in `parts`."""

    def __init__(self, directory, simulator, settings=None, wake_timeout=8, parts=("WITH_AUTH", "WITH_NAT")):
        self.certificate = Certificate(directory)
        text = CONFIG.read_text()
        defines = "\n".join(f"#!define {part}" for part in parts)
        for name, value in [("DEFINES", defines), ("PASSWORD", PASSWORD), ("CERTIFICATE", self.certificate.chain),
                            ("PRIVATE_KEY", self.certificate.key)]:
            text = text.replace(f"@{name}@", str(value))
        super().__init__(directory, simulator, settings, text, wake_timeout)

    def address(self, transport):
        """Where phones of this transport send to: host, port and transport of a URI."""
        return f"{HOST}:{self.tls_port if transport == 'tls' else self.port};transport={transport}"

    def transcript(self, user):
        """What the engine says about the user's latest requests."""
        told = subprocess.run([PUSHWAKE, "trace", "--socket", self.settings["engine_socket"], user],
                              capture_output=True, text=True, timeout=10, check=False)
        return told.stdout + told.stderr

    def uri(self, user, transport):
        return f"sip:{user}@{self.address(transport)}"
