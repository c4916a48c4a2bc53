# SPDX-License-Identifier: MIT
"""A real Valkey or Redis, in a directory of its own: started, stopped, killed and stood still by tests."""

import os
import pathlib
import signal
import socket
import subprocess

from ports import free_port
from servers import wait_until

# Debian's server is another name of a program in the package of the tools, which starts no service.
PROGRAMS = ["/usr/bin/valkey-server", "/usr/bin/redis-server", "/usr/bin/valkey-check-rdb", "/usr/bin/redis-check-rdb"]


class Valkey:
    """`with_tls` listens with the certificate and key of this file alone."""

    def __init__(self, directory, *arguments, with_tls=None):
        self.directory, self.port, self.arguments, self.with_tls = directory, free_port(), list(arguments), with_tls
        self.process = None
        self.program = next(pathlib.Path(p) for p in PROGRAMS if os.access(p, os.X_OK))

    def start(self):
        listen = ["--port", self.port]
        if self.with_tls:
            listen = ["--port", 0, "--tls-port", self.port, "--tls-cert-file", self.with_tls, "--tls-key-file",
                      self.with_tls, "--tls-ca-cert-file", self.with_tls, "--tls-auth-clients", "no"]
        command = ["redis-server", "--bind", "127.0.0.1", "--dir", self.directory, "--save", "", "--appendonly", "yes",
                   "--appendfsync", "always", *listen, *self.arguments]
        self.process = subprocess.Popen([str(word) for word in command], executable=self.program,
                                        stdin=subprocess.DEVNULL, stdout=(self.directory / "valkey.log").open("ab"),
                                        stderr=subprocess.STDOUT)
        wait_until("Valkey listens", self._listens)
        return self

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def url(self):
        return f"{'rediss' if self.with_tls else 'redis'}://127.0.0.1:{self.port}"

    def run(self, *words):
        done = subprocess.run(["redis-cli", "-h", "127.0.0.1", "-p", str(self.port), *map(str, words)],
                              capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def stand_still(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait(5)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.go_on()
            self.kill()
