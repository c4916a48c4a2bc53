# SPDX-License-Identifier: MIT
"""Reads HEP3 as the document of sipcapture.org has it, and serves it over UDP, TCP and TLS."""

import dataclasses
import ipaddress
import json
import socket
import ssl
import struct
import threading

NUMBERS = {1: "!B", 2: "!B", 7: "!H", 8: "!H", 9: "!I", 10: "!I", 11: "!B", 12: "!I"}


@dataclasses.dataclass
class Packet:
    """What one packet says; JSON is a chunk of PushWake's own."""

    family: int
    transport: int
    source: tuple
    destination: tuple
    time: float
    type: int
    agent: int
    payload: bytes
    correlation_id: str
    json: dict
    raw: bytes

    @property
    def line(self):
        return self.payload.decode()


def decode(raw):
    """A packet, or AssertionError for what the document forbids."""
    assert raw[:4] == b"HEP3", raw[:16]
    assert struct.unpack("!H", raw[4:6])[0] == len(raw), "the length is that of the whole packet"
    values, own, place = {}, {}, 6
    while place < len(raw):
        vendor, kind, length = struct.unpack("!HHH", raw[place:place + 6])
        assert length >= 6 and place + length <= len(raw), f"chunk {kind} does not fit"
        content = raw[place + 6:place + length]
        place += length
        target = values if vendor == 0 else own
        assert kind not in target, f"chunk {kind} comes twice"
        target[kind] = struct.unpack(NUMBERS[kind], content)[0] if vendor == 0 and kind in NUMBERS else content
    addresses = {2: (3, 4), 10: (5, 6)}[values[1]]
    source, destination = (str(ipaddress.ip_address(values[chunk])) for chunk in addresses)
    assert values[10] < 1_000_000
    return Packet(
        values[1], values[2], (source, values[7]), (destination, values[8]), values[9] + values[10] / 1e6, values[11],
        values[12], values[15], values.get(17, b"").decode(), json.loads(own[0x4A53]) if own else {}, raw)


class Server:
    """Takes packets on a port of loopback."""

    def __init__(self, port, transport="udp", certificate=None):
        self.port, self.transport, self.certificate = port, transport, certificate
        self.packets, self.errors = [], []
        kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        if transport != "udp":
            self.socket.listen(5)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"{self.transport}:127.0.0.1:{self.port}"

    def of(self, call_id):
        return [packet for packet in list(self.packets) if packet.correlation_id == call_id]

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self.thread.join(10)

    def _run(self):
        while True:
            try:
                if self.transport == "udp":
                    data = self.socket.recv(65_536)
                    if not data:
                        return
                    self._take(data)
                else:
                    self._serve(self.socket.accept()[0])
            except OSError:
                return

    def _serve(self, connection):
        if self.transport == "tls":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            connection = context.wrap_socket(connection, server_side=True)
        data = b""
        while piece := connection.recv(65_536):
            data += piece
            while len(data) >= 6 and len(data) >= (length := struct.unpack("!H", data[4:6])[0]):
                self._take(data[:length])
                data = data[length:]

    def _take(self, data):
        try:
            self.packets.append(decode(data))
        except (AssertionError, KeyError, ValueError, struct.error) as error:
            self.errors.append((error, data))
