# SPDX-License-Identifier: MIT
"""What stands where the engine did and says yes to everything, but not at once: for what hosts do with a slow one."""

import contextlib
import pathlib
import select
import socket
import struct
import threading

HEADER = struct.Struct("<BBI")
FIELD = struct.Struct("<BI")
RESUME, UPSTREAM_REGISTER, REPLY, HANDLE = 12, 30, 64, 71


class FaintEngine:
    """Listens on the engine's socket. The first `silences` questions about requests that are held get no answer."""

    def __init__(self, path, silences):
        pathlib.Path(path).unlink(missing_ok=True)
        self.silences = silences
        self.asked = []
        """Handles of the requests that hosts told it of, in order."""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        pathlib.Path(path).chmod(0o666)
        self.listener.listen(16)
        self.ending, self.end = socket.socketpair()
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        peers = [self.listener, self.ending]
        while True:
            for ready in select.select(peers, [], [])[0]:
                if ready is self.ending:
                    for peer in peers:
                        peer.close()
                    return
                if ready is self.listener:
                    peers.append(ready.accept()[0])
                    continue
                try:
                    message = ready.recv(1 << 20)
                except OSError:
                    message = b""
                if message:
                    with contextlib.suppress(OSError):
                        self._answer(ready, message)
                else:
                    peers.remove(ready)
                    ready.close()

    def _answer(self, peer, message):
        version, kind, number = HEADER.unpack_from(message)
        if kind in (RESUME, UPSTREAM_REGISTER):
            self.asked.append(self._handle(message))
            self.silences -= 1
            if self.silences >= 0:
                return
        peer.send(HEADER.pack(version, REPLY, number))

    def _handle(self, message):
        at = HEADER.size
        while at < len(message):
            tag, length = FIELD.unpack_from(message, at)
            at += FIELD.size
            if tag == HANDLE:
                return int.from_bytes(message[at:at + length], "little")
            at += length
        return None

    def stop(self):
        self.end.close()
        self.thread.join()
