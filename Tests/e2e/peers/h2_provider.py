# SPDX-License-Identifier: MIT
"""A provider made with the library h2, which shares nothing with ours: it keeps what came, field for field."""

import dataclasses
import datetime
import ipaddress
import json
import socket
import ssl
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded
from hpack import NeverIndexedHeaderTuple


@dataclasses.dataclass
class Request:
    """One request as it came."""

    fields: list
    """Pairs in the order of the wire."""
    never_indexed: set
    """Names of the fields that no hop may put into its table."""
    table: list
    """What the dynamic table of HPACK held after this request."""
    body: bytes = b""

    def values(self, name):
        return [value for key, value in self.fields if key == name]

    def __getitem__(self, name):
        values = self.values(name)
        assert len(values) == 1, f"{name}: {values}"
        return values[0]

    @property
    def names(self):
        return [name for name, _ in self.fields]

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def form(self):
        return urllib.parse.parse_qs(self.body.decode(), strict_parsing=True)


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


class Vendors:
    """The files that Apple and Google would give, and the certificate of the host that plays them."""

    team, key_id = "WIRETEAM01", "WIREKEY001"
    email, project = "sender@wire-project.iam.gserviceaccount.com", "wire-project"

    def __init__(self, directory):
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.apple_key = ec.generate_private_key(ec.SECP256R1())
        self.google_key = rsa.generate_private_key(65537, 2048)
        (directory / f"AuthKey_{self.key_id}.p8").write_bytes(pem(self.apple_key))
        (directory / "simulator.json").write_text(json.dumps({"apns_team_id": self.team}))
        self._certify()

    def _certify(self):
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.utcnow()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "wire")])
        certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
            .sign(key, hashes.SHA256()))
        (self.directory / "server.key").write_bytes(pem(key))
        (self.directory / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def service_account(self, token_uri):
        """Writes the account's key file."""
        path = self.directory / "fcmkey.json"
        path.write_text(json.dumps({
            "type": "service_account", "project_id": self.project, "client_email": self.email,
            "private_key_id": "wire-key", "private_key": pem(self.google_key).decode(), "token_uri": token_uri}))
        return path


class Frames:
    """Says where frames end in a stream of bytes that comes in any pieces."""

    def __init__(self):
        self._left = 24  # of the preface, then of one frame's payload
        self._head = b""

    def pieces(self, data):
        """The same bytes, cut where a frame ends at the latest."""
        at = 0
        while at < len(data):
            if self._left:
                count = min(self._left, len(data) - at)
                self._left -= count
            else:
                count = min(9 - len(self._head), len(data) - at)
                self._head += data[at:at + count]
                if len(self._head) == 9:
                    self._left, self._head = int.from_bytes(self._head[:3], "big"), b""
            yield data[at:at + count]
            at += count


class Provider:
    """Answers every request with 200 and the body that `answer(request)` gives."""

    def __init__(self, vendors, answer=lambda request: b""):
        self.answer = answer
        self.requests = []
        self.endings = []
        self.errors = []
        self.connections = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(vendors.directory / "ca.pem", vendors.directory / "server.key")
        self._context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"https://{self.authority}"

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(60)
        try:
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self._talk(secured)
        except OSError:
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def _talk(self, secured):
        # header_encoding=None: bytes as they are, and names are not folded.
        http = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        http.initiate_connection()
        secured.sendall(http.data_to_send())
        frames, open_requests = Frames(), {}
        while data := secured.recv(65_536):
            # One frame at a time, so that the table is seen as each request left it.
            for piece in frames.pieces(data):
                for event in http.receive_data(piece):
                    self._event(http, event, open_requests)
            secured.sendall(http.data_to_send())

    def _event(self, http, event, open_requests):
        if isinstance(event, RequestReceived):
            open_requests[event.stream_id] = Request(
                [(name.decode(), value.decode()) for name, value in event.headers],
                {bytes(field[0]).decode() for field in event.headers if isinstance(field, NeverIndexedHeaderTuple)},
                [bytes(name).decode() for name, _ in http.decoder.header_table.dynamic_entries])
        elif isinstance(event, DataReceived):
            open_requests[event.stream_id].body += event.data
            http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            request = open_requests.pop(event.stream_id)
            self.requests.append(request)
            body = self.answer(request)
            http.send_headers(event.stream_id, [(":status", "200")], end_stream=not body)
            if body:
                http.send_data(event.stream_id, body, end_stream=True)
        elif isinstance(event, ConnectionTerminated):
            self.endings.append(event.error_code)

    def to(self, text):
        """The requests whose path ends with this."""
        return [request for request in self.requests if request[":path"].endswith(text)]

    def stop(self):
        # As in RawProvider: a thread left in accept() would take what comes to another listener.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()


__all__ = ["Provider", "Request", "Vendors"]
