# SPDX-License-Identifier: MIT
"""Ports on loopback that no other test process takes, on a machine where many run at once.

A port that was free a moment ago may be somebody else's by the time a server binds it, and the port of a phone that
sleeps may become that of another test's phone. So each process has a block of ports of its own, below those that the
kernel gives to sockets that ask for none, and takes them in turn: one comes again after all others."""

import itertools
import socket

FIRST, SIZE, COUNT = 10_000, 1000, 22
MEDIA = 600
"""So many at the end of a block are for the RTP of an Asterisk, which chooses by itself; a call takes four."""


class PortBlock:
    """Whose a block is says a name that the kernel holds: it is free again when the process ends, however it ends."""

    def __init__(self):
        self._holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        for number in range(COUNT):
            try:
                self._holder.bind(f"\0pushwake-test-ports-{number}")
            except OSError:
                continue
            break
        else:
            raise AssertionError(f"{COUNT} processes are testing: no ports are left")
        self.first = FIRST + number * SIZE
        self._next = itertools.cycle(range(self.first, self.first + SIZE - MEDIA))

    def take(self):
        """The next port that is free for UDP and TCP."""
        return next(port for port in itertools.islice(self._next, SIZE - MEDIA) if _is_free(port))

    @property
    def media(self):
        """The first and the last of the ports for RTP."""
        return self.first + SIZE - MEDIA, self.first + SIZE - 1


def _is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        try:
            tcp.bind(("127.0.0.1", port))
            udp.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


_block = None


def block():
    """The block of this process."""
    global _block
    if _block is None:
        _block = PortBlock()
    return _block


def free_port():
    """A port that is free for UDP and TCP on loopback."""
    return block().take()
