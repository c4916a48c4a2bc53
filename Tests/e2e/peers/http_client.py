# SPDX-License-Identifier: MIT
"""Clients of the engine's HTTP listener: ordinary ones with curl, and those that no library would be."""

import hashlib
import json
import socket
import ssl
import subprocess

import h2.config
import h2.connection
import h2.events

from ports import free_port
from servers import certificate_with_key

TOKEN = "0123456789abcdef0123456789abcdef"


def listen(make_engine, directory, tls=False, **settings):
    """An engine with http_listen on a free port, and what speaks to it."""
    port = free_port()
    token = directory / "http-token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    settings = {"http_listen": port, "http_token_file": token, **settings}
    if tls:
        certificate = directory / "http.pem"
        certificate.write_bytes(certificate_with_key())
        settings["http_cert"] = certificate
    engine = make_engine(**settings)
    return engine, Client(port, settings.get("http_cert"))


def served(directory):
    """Settings of a listener on a free port, of which root is the operator and other is not, and what speaks to it."""
    client = Client(free_port())
    files = {"http_token_file": TOKEN, "http_users": "".join(
        f"{name}:pushwake:{hashlib.md5(f'{name}:pushwake:toor'.encode()).hexdigest()}\n" for name in ("root", "other"))}
    for name, text in files.items():
        (directory / name).write_text(text)
    return {"http_listen": client.port, **{name: directory / name for name in files}, "http_operators": "root"}, client


class Answer:
    def __init__(self, text):
        head, _, self.body = text.partition("\r\n\r\n")
        while head.split()[1] in ("100", "401") and self.body.startswith("HTTP/"):
            head, _, self.body = self.body.partition("\r\n\r\n")
        lines = head.split("\r\n")
        self.version, status = lines[0].split()[:2]
        self.status = int(status)
        self.headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    def __init__(self, port, certificate=None):
        self.port = port
        self.certificate = certificate

    def signed_in(self, path="", name="root"):
        """An address for a browser."""
        return f"http://{name}:toor@127.0.0.1:{self.port}{path}"

    @property
    def url(self):
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self.port}"

    def curl(self, path, *options, operator=True):
        command = ["curl", "-s", "-i", "--max-time", "20", *options]
        if self.certificate:
            command += ["--insecure"]  # the certificate of a test is for no name
        if operator:
            command += ["-H", f"Authorization: Bearer {TOKEN}"]
        done = subprocess.run([*command, self.url + path], capture_output=True, timeout=30, check=False)
        assert done.stdout, f"no answer to {path}: curl {done.returncode} {done.stderr}"
        return Answer(done.stdout.decode())

    def connect(self, protocol=None):
        """A bare socket, over TLS where the listener has it."""
        plain = socket.create_connection(("127.0.0.1", self.port), 20)
        if not self.certificate:
            return plain
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if protocol:
            context.set_alpn_protocols([protocol])
        return context.wrap_socket(plain)

    def say(self, text, end=False):
        """Sends bytes and reads until the other end closes, or until it says nothing for a second."""
        with self.connect() as connection:
            connection.sendall(text if isinstance(text, bytes) else text.encode())
            if end:
                connection.shutdown(socket.SHUT_WR)
            connection.settimeout(1 if not end else 10)
            return read_all(connection)


def read_all(connection):
    received = b""
    try:
        while True:
            piece = connection.recv(65536)
            if not piece:
                break
            received += piece
    except (TimeoutError, ConnectionResetError):
        pass
    return received.decode()


class HTTP2Client:
    """One HTTP/2 connection, frame by frame, with a library that is not ours."""

    def __init__(self, client):
        self.socket = client.connect("h2")
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()
        self.authority = f"127.0.0.1:{client.port}"
        self.events = []
        self.closed = False

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.socket.sendall(data)

    def request(self, path, method="GET", fields=(), body=None, ends=True):
        stream = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "https"), (":authority", self.authority), (":path", path), *fields]
        self.h2.send_headers(stream, head, end_stream=ends and body is None)
        if body is not None:
            self.h2.send_data(stream, body, end_stream=ends)
        self.flush()
        return stream

    def read(self, until, seconds=10):
        """Reads until `until(events)` gives something, or the connection ends."""
        self.socket.settimeout(seconds)
        while not self.closed and not until(self.events):
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                self.closed = True
                break
            self.events += self.h2.receive_data(data)
            try:
                self.flush()
            except OSError:
                self.closed = True
        return until(self.events)

    def answer(self, stream):
        """Status and body of the answer on a stream."""
        def found(events):
            return any(isinstance(e, (h2.events.StreamEnded, h2.events.StreamReset)) and e.stream_id == stream
                       for e in events)

        assert self.read(found), "no answer"
        mine = [e for e in self.events if getattr(e, "stream_id", 0) == stream]
        head = next(e for e in mine if isinstance(e, h2.events.ResponseReceived))
        body = b"".join(e.data for e in mine if isinstance(e, h2.events.DataReceived))
        return int(dict(head.headers)[":status"]), body.decode()

    def close(self):
        self.socket.close()
