# SPDX-License-Identifier: MIT
"""A provider made of raw frames over TLS: it can say what no HTTP/2 library would let it say."""

import socket
import ssl
import threading

from hpack import Decoder
from hyperframe.frame import DataFrame, Frame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OK = b"\x88"  # :status 200, from HPACK's static table


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """One frame; `length` may lie."""
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A header field without compression and without a place in the table."""
    def text(data):
        return (bytes([len(data)]) if len(data) < 127 else b"\x7f" + _varint(len(data) - 127)) + data
    return b"\x00" + text(name) + text(value)


def _varint(number):
    out = b""
    while number >= 128:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


class Peer:
    """The server's end of one connection."""

    def __init__(self, connection, number):
        self.socket, self.number = connection, number
        self.buffer = b""
        self.decoder = Decoder()
        self.is_acknowledged = False  # our SETTINGS

    def send(self, *parts):
        self.socket.sendall(b"".join(parts))

    def settings(self, *pairs):
        payload = b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs)
        self.send(frame(4, payload=payload))

    def read(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(65_536)
            if not data:
                raise ConnectionError("the client has closed")
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def preface(self, *settings):
        assert self.read(len(PREFACE)) == PREFACE
        self.settings(*(settings or [(3, 100)]))

    def frames(self):
        while True:
            head = self.read(9)
            made, length = Frame.parse_frame_header(memoryview(head))
            made.parse_body(memoryview(self.read(length)))
            if isinstance(made, SettingsFrame):
                if "ACK" in made.flags:
                    self.is_acknowledged = True
                else:
                    self.send(frame(4, flags=1))
            if isinstance(made, PingFrame) and "ACK" not in made.flags:
                self.send(frame(6, flags=1, payload=made.opaque_data))
            yield made

    def requests(self):
        """Stream ids of the requests that have come whole."""
        for made in self.frames():
            if isinstance(made, (HeadersFrame, DataFrame)) and "END_STREAM" in made.flags:
                yield made.stream_id

    def accept(self, stream):
        self.send(frame(1, flags=5, stream=stream, payload=OK))


def friendly(peer):
    """Answers everything with 200."""
    peer.preface()
    for stream in peer.requests():
        peer.accept(stream)


class RawProvider:
    """Gives each connection to the next of `behaviours`, the last one again and again."""

    def __init__(self, files, *behaviours, protocol="h2"):
        self.behaviours = behaviours
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(files / "server.pem", files / "server.key")
        self.context.set_alpn_protocols([protocol])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        self.errors = []
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            behaviour = self.behaviours[min(self.connections, len(self.behaviours) - 1)]
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection, self.connections, behaviour), daemon=True).start()

    def _serve(self, connection, number, behaviour):
        connection.settimeout(30)
        try:
            with self.context.wrap_socket(connection, server_side=True) as secured:
                behaviour(Peer(secured, number))
        except (OSError, ConnectionError):
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def stop(self):
        # A thread that is left waiting in accept() starts the call anew after a signal, and then takes what comes
        # to the listener that has got the descriptor meanwhile.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.listener.close()


__all__ = ["OK", "PREFACE", "Peer", "RawProvider", "RstStreamFrame", "frame", "friendly", "literal"]
