# SPDX-License-Identifier: MIT
"""The Asterisk side of AGI, for tests that need many channels or exact times."""

import re
import select
import signal
import socket
import subprocess
import time


class Channel:
    """Introduces a channel to a script, answers its commands, and keeps the variables that it sets."""

    def __init__(self, call_id, request="pushwake.agi", arguments=()):
        self.call_id = call_id
        self.variables, self.verbose = {}, []
        self.ended = False
        self.status_at = None
        self._buffer = b""
        lines = [f"agi_request: {request}", "agi_channel: PJSIP/kamailio-1", "agi_callerid: 42",
                 "agi_calleridname: Ann", f"agi_uniqueid: {call_id}"]  # fmt: skip
        lines += [f"agi_arg_{place}: {value}" for place, value in enumerate(arguments, 1)]
        self._introduction = "\n".join(lines) + "\n\n"

    def take(self):
        """Reads what is there, and answers it."""
        data = self._read()
        if not data:
            self.ended = True
            return
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self._answer(line.decode())

    def _answer(self, line):
        if line.startswith("GET FULL VARIABLE"):
            return self._write(f"200 result=1 ({self.call_id})\n")
        match = re.fullmatch(r'SET VARIABLE (\w+) "(.*)"', line)
        if match:
            self.variables[match[1]] = match[2]
            if match[1] == "PUSHWAKE_STATUS":
                self.status_at = time.monotonic()
        else:
            assert line.startswith("VERBOSE "), line
            self.verbose.append(line)
        self._write("200 result=1\n")

    @property
    def status(self):
        return self.variables.get("PUSHWAKE_STATUS")

    def finish(self, seconds=5):
        run([self], lambda: self.ended, seconds)
        assert self.ended, f"the script still runs; {self.variables}"
        return self


class NetworkChannel(Channel):
    """FastAGI."""

    def __init__(self, port, call_id, path, *arguments):
        super().__init__(call_id, f"agi://127.0.0.1:{port}/{path}", arguments)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._write(self._introduction)

    def fileno(self):
        return self.socket.fileno()

    def _read(self):
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def _write(self, text):
        self.socket.sendall(text.encode())

    def hang_up(self):
        self._write("HANGUP\n")

    def close(self):
        self.socket.close()


class ProcessChannel(Channel):
    """AGI: a process, as Asterisk starts it."""

    def __init__(self, command, environment, call_id, *arguments):
        super().__init__(call_id)
        # SIGHUP ignored, as below nohup: the script has to take it back.
        self.process = subprocess.Popen([*map(str, command), *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, bufsize=0,
                                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
        self._write(self._introduction)

    def fileno(self):
        return self.process.stdout.fileno()

    def _read(self):
        return self.process.stdout.read(65536)

    def _write(self, text):
        self.process.stdin.write(text.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def run(channels, until, seconds=5):
    """Serves channels until the condition holds or the time is over."""
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        live = [channel for channel in channels if not channel.ended]
        for channel in select.select(live, [], [], 0.02)[0]:
            channel.take()
