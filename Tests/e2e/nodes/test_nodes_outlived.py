# SPDX-License-Identifier: MIT
"""A call is held at one node, its phone comes to another, and in between an engine, a connection or the server's memory
is gone: the phone rings all the same."""

import os
import queue
import shutil
import signal
import socket
import threading
import time

import pytest

from peers.valkey import Cluster
from phones import rfc8599_fcm
from ports import free_port
from servers import wait_until
from test_nodes import at, is_long_asleep, is_promised


@pytest.fixture
def valkey(make_valkey):
    return make_valkey()


class Distance:
    """A server that is so many seconds away, each way. Broken, all connections end; held back, those for commands stand
    after those that listen."""

    def __init__(self, port, delay=0.0):
        self._server, self._delay, self._open = port, delay, []
        self._is_broken = self.holds_back = False
        self._listens = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", free_port()))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self._socket.getsockname()[1]}"

    def break_all(self):
        self._is_broken = True
        self._listens.clear()
        for each in self._open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._open = []

    def mend(self):
        self._is_broken = False

    def _accept(self):
        while True:
            near = self._socket.accept()[0]
            if self._is_broken:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._server))
            self._open += [near, far]
            for source, target in [(near, far), (far, near)]:
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                way = queue.Queue()
                threading.Thread(target=self._read, args=(source, way), daemon=True).start()
                threading.Thread(target=self._write, args=(way, target), daemon=True).start()

    def _read(self, source, way):
        try:
            while data := source.recv(65_536):
                way.put((time.monotonic() + self._delay, data))
        except OSError:
            pass
        way.put((0, b""))

    def _write(self, way, target):
        try:
            while True:
                due, data = way.get()
                if self.holds_back and b"SCRIPT" in data:
                    self._listens.wait(10)
                    due = time.monotonic() + 0.3
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    return target.shutdown(socket.SHUT_RDWR)
                target.sendall(data)
                if b"SUBSCRIBE" in data:
                    self._listens.set()
        except OSError:
            pass


def sleeper(node, user, wire):
    phone = wire.phone(node, user, "udp", rfc8599_fcm())
    assert is_promised(phone.register())
    phone.sleep()
    is_long_asleep()
    return phone


def held(a, b, user, wire, simulator):
    """A call that waits at A for a phone that was last at B."""
    phone = sleeper(b, user, wire)
    call = wire.call(a, user)
    simulator.wait_push(phone.push.token)
    assert a.held() == 1
    return phone, call


def comes_to(wire, node, phone, call):
    awake = at(wire, node, phone)
    awake.register()
    awake.wait_request("INVITE", 7)
    call.wait_status(200)
    return awake


def kill_engine(node):
    os.kill(node.engine_pid(), signal.SIGKILL)


# The engine dies.


@pytest.mark.parametrize("where", ["there", "here"])
def test_an_engine_that_dies_far_from_the_server(valkey, make_node, wire, simulator, where):
    """The new one hears of the call before its connection stands."""
    server = Distance(valkey.port, 0.005)
    a, b = make_node(server), make_node(server)
    phone, call = held(a, b, "anna", wire, simulator)
    kill_engine(a)
    a.wait_log("held requests go on")
    comes_to(wire, a if where == "here" else b, phone, call)


def test_an_engine_that_dies_beside_a_cluster(tmp_path, make_node, wire, simulator):
    cluster = Cluster(tmp_path)
    try:
        cluster.start()
        a, b = make_node(cluster), make_node(cluster)
        phone, call = held(a, b, "bert", wire, simulator)
        kill_engine(a)
        a.wait_log("held requests go on")
        comes_to(wire, b, phone, call)
    finally:
        cluster.stop()


@pytest.mark.parametrize("where", ["there", "here"])
def test_an_engine_that_dies_while_the_server_is_away(valkey, make_node, wire, simulator, where):
    a, b = make_node(valkey), make_node(valkey)
    phone, call = held(a, b, "cleo", wire, simulator)
    valkey.kill()
    kill_engine(a)
    a.wait_log("held requests go on")
    if where == "there":
        valkey.start()
    comes_to(wire, a if where == "here" else b, phone, call)


def test_a_call_that_is_over_before_the_server_is_back(valkey, make_node, wire, simulator):
    """Nobody is pushed once more, and nothing is held."""
    a, b = make_node(valkey), make_node(valkey)
    phone, call = held(a, b, "dirk", wire, simulator)
    valkey.kill()
    kill_engine(a)
    a.wait_log("held requests go on")
    call.cancel()
    call.wait_status(487)
    valkey.start()
    for node in (a, b):
        wait_until("it is back", lambda node=node: "dirk" in (node.rpc("pushwake.list", "dirk") or ""))
    awake = at(wire, b, phone)
    assert is_promised(awake.register())
    wait_until("nothing is held", lambda: a.held() == 0)
    assert not awake.requests("INVITE") and len(simulator.calls(phone.push.token)) == 1


def test_a_phone_that_comes_while_no_engine_is_there(valkey, make_node, wire, simulator):
    a, b = make_node(valkey), make_node(valkey)
    phone, call = held(a, b, "emil", wire, simulator)
    # Longer than what the stored time may be off.
    is_long_asleep()
    kill_engine(a)
    comes_to(wire, b, phone, call)


def test_a_phone_that_rings_elsewhere_is_not_rung_once_more(valkey, make_node, wire, simulator):
    """The new engine finds that the phone has registered since the call came, and that a leg is out to it."""
    a, b = make_node(valkey), make_node(valkey)
    phone, call = held(a, b, "fine", wire, simulator)
    awake = at(wire, b, phone)
    awake.answers["INVITE"] = (180,)
    awake.register()
    awake.wait_request("INVITE")
    call.wait_status(180)
    kill_engine(a)
    a.wait_log("held requests go on")
    wait_until("it is known again", lambda: a.held() == 1 or "goes on with the request" in (a.rpc("pushwake.trace", "fine") or ""))
    assert len(awake.requests("INVITE")) == 1


# The server forgets.


def forget_and_cut_off(valkey):
    """As a replica that took over without the last write."""
    valkey.run("del", "pw:{:gina}h")
    valkey.run("client", "kill", "type", "normal")
    valkey.run("client", "kill", "type", "pubsub")


def start_empty(valkey):
    valkey.kill()
    shutil.rmtree(valkey.directory / "appendonlydir")
    valkey.start()


@pytest.mark.parametrize("forget", [forget_and_cut_off, start_empty])
def test_a_server_that_is_back_without_its_last_writes(valkey, make_node, wire, simulator, forget):
    a, b = make_node(valkey), make_node(valkey)
    phone, call = held(a, b, "gina", wire, simulator)
    forget(valkey)
    for node in (a, b):
        wait_until("it is connected again", lambda node=node: node.log_text().count("connected;") >= 2)
    wait_until("the server knows who holds the call", lambda: valkey.run("hkeys", "pw:{:gina}h") != "")
    comes_to(wire, b, phone, call)


def test_a_server_that_is_emptied(valkey, make_node, wire, simulator):
    a, b = make_node(valkey), make_node(valkey)
    phone, call = held(a, b, "hans", wire, simulator)
    valkey.run("flushall")
    comes_to(wire, b, phone, call)


@pytest.mark.parametrize("setting", ["maxmemory", "min-replicas-to-write"])
def test_a_server_that_takes_no_writes_when_the_call_comes(valkey, make_node, wire, simulator, setting):
    a, b = make_node(valkey), make_node(valkey)
    phone = sleeper(b, "ida", wire)
    valkey.run("config", "set", setting, 1)
    call = wire.call(a, "ida")
    simulator.wait_push(phone.push.token)
    valkey.run("config", "set", setting, 0)
    comes_to(wire, b, phone, call)


# A connection ends.


def test_a_node_that_listens_again_before_it_can_ask(valkey, make_node, wire, simulator):
    way = Distance(valkey.port)
    a, b = make_node(way), make_node(valkey)
    phone, call = held(a, b, "jost", wire, simulator)
    way.break_all()
    way.holds_back = True
    awake = at(wire, b, phone)
    assert is_promised(awake.register())
    way.mend()
    awake.wait_request("INVITE", 6)
    call.wait_status(200)
