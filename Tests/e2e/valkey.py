# SPDX-License-Identifier: MIT
"""A real Valkey or Redis, in a directory of its own: started, stopped, killed and stood still by tests; a cluster of them;
and a way to one that can be cut."""

import os
import pathlib
import signal
import socket
import subprocess
import threading

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


class Cluster:
    """Three masters and a replica of each. After so many milliseconds without a word a node counts as gone."""

    NODE_TIMEOUT = 800

    def __init__(self, directory):
        self.servers = []
        for number in range(6):
            run = directory / f"cluster-{number}"
            run.mkdir()
            self.servers.append(Valkey(run, "--cluster-enabled", "yes", "--cluster-port", free_port(),
                                       "--cluster-node-timeout", self.NODE_TIMEOUT, "--cluster-require-full-coverage", "no"))

    def start(self):
        for server in self.servers:
            server.start()
        places = [f"127.0.0.1:{server.port}@{server.arguments[3]}" for server in self.servers]
        self.servers[0].run("--cluster", "create", *places, "--cluster-replicas", 1, "--cluster-yes")
        wait_until("the cluster stands", lambda: all("cluster_state:ok" in s.run("cluster", "info") for s in self.servers), 20)
        wait_until("replicas follow", lambda: sum("link_status:up" in s.run("info", "replication") for s in self.servers) == 3, 20)
        return self

    @property
    def url(self):
        """Two of its nodes will do."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers[:2])

    def master_of(self, key):
        """The server that has a key."""
        slot = int(self._living()[0].run("cluster", "keyslot", key))
        for first, last, port in self._slots():
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == port)
        raise AssertionError(f"nobody has {key}")

    def _living(self):
        return [server for server in self.servers if server.process.poll() is None]

    def _slots(self):
        for line in self._living()[0].run("cluster", "nodes").splitlines():
            words = line.split()
            if "master" not in words[2]:
                continue
            for piece in words[8:]:
                first, _, last = piece.partition("-")
                yield int(first), int(last or first), int(words[1].partition("@")[0].rpartition(":")[2])

    def stop(self):
        for server in self.servers:
            server.stop()


class Relay:
    """The way to a server. Cut, it is like a cable: nothing goes through, and nobody is told."""

    def __init__(self, port):
        self._server = port
        self._open = threading.Event()
        self._open.set()
        self._sockets = [socket.create_server(("127.0.0.1", free_port()))]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self._sockets[0].getsockname()[1]}"

    def cut(self):
        self._open.clear()

    def mend(self):
        self._open.set()

    def _accept(self):
        while True:
            try:
                near = self._sockets[0].accept()[0]
                far = socket.create_connection(("127.0.0.1", self._server))
            except OSError:
                return
            self._sockets += [near, far]
            for source, target in [(near, far), (far, near)]:
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source, target):
        try:
            while data := source.recv(65_536):
                self._open.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def stop(self):
        self._open.set()
        for each in self._sockets:
            each.close()
