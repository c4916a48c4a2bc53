# SPDX-License-Identifier: MIT
"""What stands where the engine did and says yes to everything, but not at once: for what hosts do with a slow one."""

import contextlib
import pathlib
import select
import socket
import struct
import threading
import time

HEADER = struct.Struct("<BBI")
FIELD = struct.Struct("<BI")
WAKE, RESUME, UPSTREAM_REGISTER, REPLY = 2, 12, 30, 64
CONTACT_END, ACTIONS, HANDLE = 18, 30, 71


def fields(message):
    """Tag and bytes of each field, in order."""
    at = HEADER.size
    while at < len(message):
        tag, length = FIELD.unpack_from(message, at)
        at += FIELD.size + length
        yield tag, message[at - length:at]


class FaintEngine:
    """Listens on the engine's socket. The first `silences` questions about requests that are held get no answer. Others have
    theirs after `pause` seconds. `action`: what it says of each contact of a request that wakes."""

    def __init__(self, path, silences=0, action=None, pause=0):
        self.path = pathlib.Path(path)
        self.path.unlink(missing_ok=True)
        self.silences, self.action, self.pause = silences, action, pause
        self.asked_at = []
        """When hosts told it of requests that are held."""
        self.asked = []
        """Handles of the requests that hosts told it of, in order."""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.path.chmod(0o666)
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
            self.asked.append(next((int.from_bytes(value, "little") for tag, value in fields(message) if tag == HANDLE), None))
            self.asked_at.append(time.monotonic())
            self.silences -= 1
            if self.silences >= 0:
                return
            time.sleep(self.pause)
        answer = HEADER.pack(version, REPLY, number)
        if kind == WAKE and self.action is not None:
            actions = bytes(self.action for tag, _ in fields(message) if tag == CONTACT_END)
            answer += FIELD.pack(ACTIONS, len(actions)) + actions
        peer.send(answer)

    def stop(self):
        self.end.close()
        self.thread.join()
