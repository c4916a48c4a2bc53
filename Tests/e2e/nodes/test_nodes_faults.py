# SPDX-License-Identifier: MIT
"""Nodes whose server fails in ways of its own: calls go on, nothing is promised that is not stored, and what registered
meanwhile is stored later."""

import time

import pytest

from peers.valkey import Relay
from phones import rfc8599_fcm
from servers import wait_until
from test_nodes import at, is_long_asleep, is_promised


FILL = "for i = 1, 200 do redis.call('SET', ARGV[1] .. i, string.rep('x', 500)) end"


@pytest.fixture
def valkey(make_valkey):
    return make_valkey()


def is_stored(node, user):
    return user in (node.rpc("pushwake.list", user) or "")


def all_is_stored(*nodes):
    for node in nodes:
        wait_until("all is stored", lambda node=node: node.counter("registers_waiting") == 0, 20)


def a_node_without_its_server(node, wire, user):
    """A call to a phone that is awake rings it; its REGISTER is kept."""
    phone = wire.phone(node, user, "tcp", rfc8599_fcm())
    assert not is_promised(phone.register())
    wire.call(node, user).wait_status(200, 5)
    wait_until("it is kept", lambda: node.counter("registers_waiting") >= 1)
    return phone


def test_a_network_that_is_cut_without_a_word(valkey, make_node, wire, simulator):
    """One node loses its way to the server; the other one does not."""
    relay = Relay(valkey.port)
    a, b = make_node(relay), make_node(valkey)
    asleep = wire.phone(b, "mike", "tcp", rfc8599_fcm())
    asleep.register()
    asleep.sleep()
    is_long_asleep()
    held = wire.call(a, "mike")
    simulator.wait_push(asleep.push.token)
    relay.cut()
    sent = time.monotonic()
    phone = a_node_without_its_server(a, wire, "nina")
    assert time.monotonic() - sent < 4
    # What is announced meanwhile is not heard at A.
    awake = at(wire, b, asleep)
    assert is_promised(awake.register())
    relay.mend()
    awake.wait_request("INVITE", 8)
    held.wait_status(200)
    all_is_stored(a)
    assert is_stored(b, "nina")
    phone.sleep()
    is_long_asleep()
    wire.call(b, "nina")
    simulator.wait_push(phone.push.token)
    relay.stop()


def test_calls_wait_for_a_server_that_stands_still(valkey, make_node, wire, simulator):
    """Who can be reached rings meanwhile, and who sleeps is pushed as soon as the server answers."""
    node = make_node(valkey, engine_timeout=100)
    asleep = wire.phone(node, "kate", "tcp", rfc8599_fcm())
    assert is_promised(asleep.register())
    asleep.sleep()
    awake = wire.phone(node, "liam", "tcp", rfc8599_fcm())
    assert is_promised(awake.register())
    is_long_asleep()
    valkey.stand_still()
    held, rung = wire.call(node, "kate"), wire.call(node, "liam")
    rung.wait_status(200)
    wait_until("the call is held", lambda: node.held() >= 1)
    assert not simulator.calls(asleep.push.token)
    valkey.go_on()
    simulator.wait_push(asleep.push.token)
    asleep = at(wire, node, asleep)
    asleep.register()
    asleep.wait_request("INVITE")
    held.wait_status(200)
    for call in (held, rung):
        call.hang_up()
    assert len(simulator.calls(asleep.push.token)) == 1 and not simulator.calls(awake.push.token)
    assert len(asleep.requests("INVITE")) == 1 and len(awake.requests("INVITE")) == 1
    wait_until("nothing is held", lambda: node.held() == 0)


def test_a_call_to_nobody_ends_while_the_server_stands_still(valkey, make_node, wire):
    node = make_node(valkey, engine_timeout=100)
    valkey.stand_still()
    begun = time.monotonic()
    wire.call(node, "nobody").wait_status(480, 10)
    assert 4 < time.monotonic() - begun < 8
    begun = time.monotonic()
    wire.call(node, "nobody").wait_final(5)
    assert time.monotonic() - begun < 1, "it is waited for no more"
    valkey.go_on()


def test_a_server_that_cannot_save(valkey, make_node, wire, simulator):
    """MISCONF: what is stored still wakes phones."""
    node = make_node(valkey)
    asleep = wire.phone(node, "oscar", "tcp", rfc8599_fcm())
    asleep.register()
    asleep.sleep()
    in_the_way = valkey.directory / "dump.rdb"
    in_the_way.mkdir()
    valkey.run("config", "set", "save", "3600 1000000")
    valkey.run("bgsave")
    wait_until("it could not save", lambda: "rdb_last_bgsave_status:err" in valkey.run("info", "persistence"))
    a_node_without_its_server(node, wire, "peggy")
    node.wait_log("MISCONF")
    wire.call(node, "oscar")
    simulator.wait_push(asleep.push.token)
    in_the_way.rmdir()
    valkey.run("bgsave")
    all_is_stored(node)
    assert is_stored(node, "peggy")


def test_a_server_without_room(valkey, make_node, wire, simulator):
    """OOM: as with MISCONF."""
    node = make_node(valkey)
    asleep = wire.phone(node, "quentin", "tcp", rfc8599_fcm())
    asleep.register()
    asleep.sleep()
    valkey.run("config", "set", "maxmemory", 1)
    a_node_without_its_server(node, wire, "rita")
    node.wait_log("OOM")
    wire.call(node, "quentin")
    simulator.wait_push(asleep.push.token)
    valkey.run("config", "set", "maxmemory", 0)
    all_is_stored(node)
    assert is_stored(node, "rita")


def test_a_server_that_throws_bindings_out(valkey, make_node, wire, simulator):
    """allkeys-lru: such a phone is not woken until its next REGISTER binds it again."""
    node = make_node(valkey)
    phone = wire.phone(node, "sybil", "tcp", rfc8599_fcm())
    assert is_promised(phone.register())
    phone.sleep()
    valkey.run("config", "set", "maxmemory-policy", "allkeys-lru")
    used = int(valkey.run("info", "memory").split("used_memory:")[1].split()[0])
    valkey.run("config", "set", "maxmemory", used + 400_000)

    def is_gone():
        valkey.run("eval", FILL, 0, f"junk{time.monotonic()}:")
        # Without touching it, as a question of the node would.
        return valkey.run("exists", "pw:{:sybil}") == "0"

    wait_until("it is gone", is_gone, 30)
    call = wire.call(node, "sybil")
    assert call.wait_final().status >= 400
    assert not simulator.calls(phone.push.token)
    valkey.run("config", "set", "maxmemory", 0)
    again = at(wire, node, phone)
    assert is_promised(again.register())
    again.sleep()
    wire.call(node, "sybil")
    simulator.wait_push(phone.push.token)


def test_a_server_that_becomes_a_replica(make_valkey, make_node, wire, simulator):
    valkey = make_valkey()
    node = make_node(valkey)
    asleep = wire.phone(node, "trent", "tcp", rfc8599_fcm())
    asleep.register()
    asleep.sleep()
    other = make_valkey("--replicaof", "127.0.0.1", valkey.port)
    wait_until("it is copied", lambda: "link_status:up" in other.run("info", "replication"), 20)
    other.run("replicaof", "no", "one")
    valkey.run("replicaof", "127.0.0.1", other.port)
    wait_until("it follows", lambda: "link_status:up" in valkey.run("info", "replication"), 20)
    a_node_without_its_server(node, wire, "ursula")
    node.wait_log("READONLY")
    # The connection is made anew now and then, since its name may lead to the new master by now.
    wait_until("it can be read", lambda: is_stored(node, "trent"), 10)
    wire.call(node, "trent")
    simulator.wait_push(asleep.push.token)
    valkey.run("replicaof", "no", "one")
    all_is_stored(node)
    assert is_stored(node, "ursula")


@pytest.mark.alone
def test_a_server_that_stands_still_for_as_long_as_requests_wait(valkey, make_node, wire, simulator):
    """The forks of a call come to both nodes while the server stands still: whoever holds one, the phone is pushed."""
    times = {"engine_timeout": 100}
    a, b = make_node(valkey, **times), make_node(valkey, **times)
    for number, pause in enumerate([0.02, 0.05, 0.06, 0.065, 0.07, 0.075, 0.08]):
        phone = wire.phone(a, f"victor{number}", "tcp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        is_long_asleep()
        valkey.stand_still()
        first = wire.call(a, phone.user, call_id=f"stall-{number}")
        time.sleep(pause)
        wire.call(b, phone.user, call_id=f"stall-{number}", tag=first.tag)
        time.sleep(max(0.082 - pause, 0))
        valkey.go_on()
        wait_until("both have gone on", lambda: is_stored(a, phone.user) and is_stored(b, phone.user))
        simulator.wait_push(phone.push.token)
