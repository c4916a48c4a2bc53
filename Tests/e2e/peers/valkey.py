# SPDX-License-Identifier: MIT
"""A real Valkey or Redis, in a directory of its own: started, stopped, killed and stood still by tests; a cluster of
them; some that a Sentinel watches; and a way to one that can be cut."""

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
# Another release than this system's.
PROGRAMS = [os.environ["PUSHWAKE_VALKEY"]] if "PUSHWAKE_VALKEY" in os.environ else PROGRAMS


class Valkey:
    """`with_tls` listens with the certificate and key of this file alone; `password` is what its default user has."""

    def __init__(self, directory, *arguments, with_tls=None, password=None, sentinel=None):
        self.directory, self.port, self.arguments, self.with_tls = directory, free_port(), list(arguments), with_tls
        self.password, self.sentinel = password, sentinel
        self.process = None
        self.program = next(pathlib.Path(p) for p in PROGRAMS if os.access(p, os.X_OK))

    def start(self):
        listen = ["--port", self.port]
        if self.with_tls:
            listen = ["--port", 0, "--tls-port", self.port, "--tls-cert-file", self.with_tls, "--tls-key-file",
                      self.with_tls, "--tls-ca-cert-file", self.with_tls, "--tls-auth-clients", "no", "--tls-replication", "yes"]
        if self.password:
            listen += ["--requirepass", self.password]
        command = ["redis-server"]
        if self.sentinel is not None:
            # It writes to its file.
            own = self.directory / "sentinel.conf"
            own.write_text(self.sentinel)
            command += [own, "--sentinel"]
        else:
            listen += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
            listen += ["--masterauth", self.password] if self.password else []
        command += ["--bind", "127.0.0.1", "--dir", self.directory, *listen, *self.arguments]
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
        secure = ["--tls", "--cacert", str(self.with_tls)] if self.with_tls else []
        done = subprocess.run(["redis-cli", "-h", "127.0.0.1", "-p", str(self.port), *secure, *map(str, words)],
                              capture_output=True, text=True, check=True, timeout=30,
                              env={**os.environ, **({"REDISCLI_AUTH": self.password} if self.password else {})})
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
    """Three masters and a replica of each. After so many milliseconds without a word a node counts as gone. With a
    `name` the nodes are told by that name, not by their address; what else there is goes to each server."""

    NODE_TIMEOUT = 800

    def __init__(self, directory, *arguments, name=None, **options):
        self.servers, self.name = [], name
        if name:
            arguments += ("--cluster-announce-hostname", name, "--cluster-preferred-endpoint-type", "hostname")
        if options.get("with_tls"):
            arguments += ("--tls-cluster", "yes")
        for number in range(6):
            run = directory / f"cluster-{number}"
            run.mkdir()
            self.servers.append(Valkey(run, "--cluster-enabled", "yes", "--cluster-port", free_port(), "--cluster-node-timeout",
                                       self.NODE_TIMEOUT, "--cluster-require-full-coverage", "no", *arguments, **options))

    def start(self):
        # As `redis-cli --cluster create` does, which waits for ever when a greeting is lost.
        for number, server in enumerate(self.servers):
            server.start()
            server.run("cluster", "set-config-epoch", number + 1)
        masters, replicas = self.servers[:3], self.servers[3:]
        for master, slots in zip(masters, ((0, 5460), (5461, 10_922), (10_923, 16_383))):
            master.run("cluster", "addslotsrange", *slots)
        wait_until("all nodes know each other", self._have_met, 30)
        for master, replica in zip(masters, replicas):
            replica.run("cluster", "replicate", master.run("cluster", "myid"))
        wait_until("the cluster stands", lambda: all("cluster_state:ok" in s.run("cluster", "info") for s in self.servers), 20)
        wait_until("replicas follow", lambda: sum("link_status:up" in s.run("info", "replication") for s in self.servers) == 3, 20)
        return self

    def _have_met(self):
        """Whether each node knows all; those that it does not are greeted."""
        all_known = True
        for server in self.servers:
            known = server.run("cluster", "nodes")
            all_known = all_known and known.count("\n") + 1 == len(self.servers) and "handshake" not in known
            for other in self.servers:
                if f":{other.port}@" not in known:
                    server.run("cluster", "meet", "127.0.0.1", other.port, other.arguments[3])
        return all_known

    @property
    def url(self):
        """Two of its nodes will do."""
        hosts = ",".join(f"{self.name or '127.0.0.1'}:{server.port}" for server in self.servers[:2])
        return f"{'rediss' if self.servers[0].with_tls else 'redis'}+cluster://{hosts}"

    def master_of(self, key):
        """The server that has a key."""
        slot = int(self._living()[0].run("cluster", "keyslot", key))
        for first, last, port in self._slots():
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == port)
        raise AssertionError(f"nobody has {key}")

    def replica_of(self, master):
        own = master.run("cluster", "myid")
        follower = master.run("cluster", "replicas", own).split()[1]
        port = int(follower.partition("@")[0].rpartition(":")[2])
        return next(server for server in self.servers if server.port == port)

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


class Watched:
    """A master, a replica of it, and a Sentinel that alone decides, half a second after a master has gone. `rules` are a
    user's of the servers, `sentinel_rules` the same user's of the Sentinel."""

    def __init__(self, directory, rules, sentinel_rules, **options):
        password = options["password"]
        self.servers = []
        for number in range(2):
            run = directory / f"watched-{number}"
            run.mkdir()
            follows = ["--replicaof", "127.0.0.1", self.servers[0].port] if number else []
            self.servers.append(Valkey(run, *follows, "--user", *rules, **options))
        run = directory / "sentinel"
        run.mkdir()
        self.sentinel = Valkey(run, "--user", *sentinel_rules, sentinel=(
            f"sentinel monitor push 127.0.0.1 {self.servers[0].port} 1\nsentinel auth-pass push {password}\n"
            "sentinel down-after-milliseconds push 500\nsentinel failover-timeout push 3000\n"), **options)

    def start(self):
        for server in [*self.servers, self.sentinel]:
            server.start()
        wait_until("the replica follows", lambda: "link_status:up" in self.servers[1].run("info", "replication"), 20)
        wait_until("the Sentinel knows it", lambda: str(self.servers[1].port) in self.sentinel.run("sentinel", "replicas", "push"), 20)
        return self

    @property
    def url(self):
        return f"{'rediss' if self.sentinel.with_tls else 'redis'}+sentinel://127.0.0.1:{self.sentinel.port}/push"

    def stop(self):
        for server in [*self.servers, self.sentinel]:
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
