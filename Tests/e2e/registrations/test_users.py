# SPDX-License-Identifier: MIT
"""Who has no push bindings is known without asking the engine: the library and real engines, and at last a Kamailio."""

import ctypes
import os
import signal

import pytest

from phones import apns_token, rfc8599_fcm
from servers import LIBRARY, Engine, wait_until


class Text(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_char_p), ("len", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [("name", Text), ("value", Text)]


class Register(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("registrar", ctypes.c_int), ("cseq", ctypes.c_uint32), ("aor", Text),
                ("call_id", Text), ("headers", ctypes.POINTER(Header)), ("header_count", ctypes.c_size_t),
                ("others", ctypes.c_char * 56), ("granted_expires", ctypes.c_int64), ("seen", ctypes.c_uint64)]


DESCRIBED = 3


class Registered(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("step", ctypes.c_int), ("outcome", ctypes.c_int), ("others", ctypes.c_char * 88)]


def text(string):
    data = string.encode()
    return Text(data, len(data))


class Client:
    """A SIP worker, as the library sees it."""

    def __init__(self, engine_socket):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.pushwake_settings_set.argtypes = [ctypes.c_void_p, Text, Text]
        self.library.pushwake_may_wake.argtypes = [ctypes.c_void_p, Text]
        settings, self.client = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.pushwake_settings_new(ctypes.byref(settings)) == 0
        for name, value in [("engine_socket", str(engine_socket)), ("engine_timeout", "5000")]:
            assert self.library.pushwake_settings_set(settings, text(name), text(value)) == 0
        assert self.library.pushwake_client_new(ctypes.byref(self.client), settings) == 0

    def register(self, aor):
        push = f"pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid={apns_token()}"
        header = Header(text("Contact"), text(f"<sip:{aor}@192.0.2.1;{push}>"))
        request = Register(ctypes.sizeof(Register), DESCRIBED, 1, text(aor), text(f"{aor}@call"), ctypes.pointer(header), 1)
        request.granted_expires = 600
        result = Registered(size=ctypes.sizeof(Registered))
        status = self.library.pushwake_register_run(ctypes.byref(result), self.client, ctypes.byref(request))
        assert (status, result.outcome) == (0, 1), status

    def may_wake(self, aor):
        return self.library.pushwake_may_wake(self.client, text(aor))


@pytest.fixture
def start(tmp_path, simulator):
    """Starts an engine on this socket and one store."""
    started = []

    def make(name="engine.sock"):
        run = tmp_path / f"run-{len(started)}"
        run.mkdir()
        keys = {key: value for key, value in simulator.settings().items() if key.startswith("apns_key")}
        started.append(Engine(run, simulator, {
            **keys, "apns_team_id": "DEF123GHIJ", "engine_socket": tmp_path / name, "store_path": tmp_path / "bindings.db"}))
        return started[-1]

    yield make
    for engine in started:
        engine.stop()


def test_a_user_is_known_from_the_first_register_on(tmp_path, start):
    client, other = Client(tmp_path / "engine.sock"), Client(tmp_path / "engine.sock")
    assert client.may_wake("alice") == 1, "nobody knows before there is an engine"
    engine = start()
    wait_until("the file is found", lambda: client.may_wake("alice") == 0)
    client.register("alice")
    assert client.may_wake("alice") == other.may_wake("alice") == 1
    assert client.may_wake("bob") == 0
    assert "alice" in engine.run("bindings", "--json").stdout
    engine.stop()
    assert client.may_wake("bob") == 1, "an engine that has ended knows nobody"
    assert not (tmp_path / "engine.sock.users").exists()


def test_the_file_of_a_killed_engine_is_right_until_the_next_one_marks_it(tmp_path, start):
    client, other = Client(tmp_path / "engine.sock"), Client(tmp_path / "engine.sock")
    first = start()
    client.register("alice")
    wait_until("the file is found", lambda: client.may_wake("bob") == other.may_wake("bob") == 0)
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    assert (client.may_wake("alice"), client.may_wake("bob")) == (1, 0)
    start()
    other.register("bob")
    assert client.may_wake("bob") == 1, "believed the file of the engine before"
    wait_until("the new file is found", lambda: client.may_wake("carol") == 0)
    assert client.may_wake("alice") == client.may_wake("bob") == 1


def test_two_engines_on_one_store_leave_nobody_out(tmp_path, start):
    client, other = Client(tmp_path / "engine.sock"), Client(tmp_path / "other.sock")
    first = start()
    wait_until("the file is found", lambda: client.may_wake("bob") == 0)
    second = start("other.sock")
    other.register("bob")
    assert client.may_wake("bob") == other.may_wake("bob") == 1
    assert "bob" in first.run("bindings", "--json").stdout
    second.stop()
    wait_until("the first is alone again", lambda: client.may_wake("carol") == 0)
    assert client.may_wake("bob") == 1


def test_a_file_that_fills_up_is_left_for_a_larger_one_while_phones_register(tmp_path, start):
    client, other = Client(tmp_path / "engine.sock"), Client(tmp_path / "engine.sock")
    start()
    wait_until("the file is found", lambda: client.may_wake("bob") == 0)
    file = tmp_path / "engine.sock.users"
    before, users = file.stat().st_size, 0
    while file.stat().st_size == before:
        assert users < 100_000, "the file never grows"
        for users in range(users, users + 1000):
            client.register(f"user{users}")
            assert other.may_wake(f"user{users}") == 1, users
    assert all(asker.may_wake(f"user{user}") == 1 for asker in (client, other) for user in range(users + 1))
    assert sum(other.may_wake(f"nobody{user}") for user in range(10_000)) < 100


def test_the_engine_hears_of_phones_without_push_only_where_the_user_has_others(make_kamailio, wire, simulator):
    kamailio = make_kamailio().start().wait_engine()
    client = Client(kamailio.directory / "engine.sock")
    wait_until("the file is found", lambda: client.may_wake("both") == 0)
    desk = wire.phone(kamailio, "both")
    desk.register()
    desk.register()
    assert kamailio.counter("registers") == 0
    mobile = wire.phone(kamailio, "both", "udp", rfc8599_fcm())
    mobile.register()
    desk.unregister()
    assert kamailio.counter("registers") == 2
    mobile.sleep()
    wire.call(kamailio, "both")
    simulator.wait_push(mobile.push.token)
    desk.answers["INVITE"] = (180,)
    desk.register()
    desk.wait_request("INVITE")
