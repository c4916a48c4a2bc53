# SPDX-License-Identifier: MIT
"""Voice of a phone: silence in ulaw, sent from a socket of its own to where the other side's SDP says."""

import contextlib
import re
import socket
import threading

from ports import free_port


@contextlib.contextmanager
def voice(*messages):
    """Speaks to whoever sent these messages, until the block ends."""
    stop = threading.Event()
    speakers = [threading.Thread(target=_speak, args=(_media_port(message), stop)) for message in messages]
    for speaker in speakers:
        speaker.start()
    try:
        yield
    finally:
        stop.set()
        for speaker in speakers:
            speaker.join()


def _media_port(message):
    return int(re.search(r"m=audio (\d+)", message.body)[1])


def _speak(port, stop):
    number = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as media:
        media.bind(("127.0.0.1", free_port()))
        while not stop.wait(0.02):
            head = bytes([0x80, 0]) + (number % 65536).to_bytes(2, "big") + (number * 160).to_bytes(4, "big") + b"push"
            media.sendto(head + b"\xff" * 160, ("127.0.0.1", port))
            number += 1
