# SPDX-License-Identifier: MIT
"""Two Kamailios that share push bindings in Valkey, and nothing else: a phone registers at one and is called at the other."""

import json
import re
import subprocess
import time

import pytest

from phones import rfc8599_fcm
from servers import PUSHWAKE, wait_until

STREAMS = pytest.mark.parametrize("transport", ["udp", "tcp"])
CAPS = "+sip.pns"


@pytest.fixture
def valkey(make_valkey):
    return make_valkey()


@pytest.fixture
def nodes(make_node, valkey):
    return make_node(valkey), make_node(valkey)


def at(wire, node, phone, transport=None):
    """The same phone, which registers at another node."""
    return wire.phone(node, phone.user, transport or phone.transport, phone.push, instance=phone.instance)


def is_long_asleep():
    """A phone that registered elsewhere a moment ago is rung there before it is pushed."""
    time.sleep(2.1)


def is_promised(answer):
    return any(CAPS in value for value in answer.headers("Feature-Caps"))


@STREAMS
def test_a_phone_that_registers_elsewhere_rings(nodes, wire, simulator, transport):
    a, b = nodes
    phone = wire.phone(b, "bob", transport, rfc8599_fcm())
    assert is_promised(phone.register())
    phone.sleep()
    is_long_asleep()
    call = wire.call(a, "bob")
    simulator.wait_push(phone.push.token)
    assert a.held() == 1
    phone = at(wire, b, phone)
    registered = phone.register()
    invite = phone.wait_request("INVITE")
    print(f"REGISTER at B to INVITE from A: {(invite.at - registered.at) * 1000:.1f} ms")
    call.wait_status(200)
    assert invite.at - registered.at < 0.5
    # Both are in the way of what follows.
    call.hang_up()
    phone.wait_request("BYE")
    assert len(simulator.calls(phone.push.token)) == 1
    wait_until("nothing is held", lambda: a.held() == 0 and b.held() == 0)


def test_a_phone_that_moves_to_the_node_of_the_call_rings_there(nodes, wire, simulator):
    a, b = nodes
    phone = wire.phone(b, "carol", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(a, "carol")
    simulator.wait_push(phone.push.token)
    phone = at(wire, a, phone)
    phone.register()
    phone.wait_request("INVITE")
    call.wait_status(200)


def test_a_phone_that_has_registered_elsewhere_a_moment_ago_rings_at_once(nodes, wire):
    a, b = nodes
    phone = wire.phone(b, "dave", "tcp", rfc8599_fcm())
    phone.register()
    call = wire.call(a, "dave")
    invite = phone.wait_request("INVITE", 2)
    call.wait_status(200)
    assert invite.at - call.sent_at < 1


def test_forks_of_a_call_at_two_nodes_push_once(nodes, wire, simulator):
    a, b = nodes
    phone = wire.phone(a, "erin", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    is_long_asleep()
    first = wire.call(a, "erin", call_id="fork-1")
    second = wire.call(b, "erin", call_id="fork-1", tag=first.tag)
    simulator.wait_push(phone.push.token)
    wait_until("both are held", lambda: a.held() == 1 and b.held() == 1)
    phone = at(wire, b, phone)
    phone.register()
    phone.wait_request("INVITE", count=2)
    assert len(simulator.calls(phone.push.token)) == 1
    wait_until("one has left it to the other",
               lambda: 1 in (a.counter("pushes_left_to_nodes"), b.counter("pushes_left_to_nodes")))
    del second


@pytest.mark.parametrize("fault", ["stands still", "is killed"])
def test_while_the_server_is_away(valkey, nodes, wire, simulator, fault):
    """Phones that are awake ring, calls to nobody end after five seconds, nothing is promised; what registered is stored
    later."""
    a, b = nodes
    awake = wire.phone(a, "frank", "udp", rfc8599_fcm())
    awake.register()
    valkey.stand_still() if fault == "stands still" else valkey.kill()
    wire.call(a, "frank").wait_status(200, 5)
    awake.wait_request("INVITE")
    assert wire.call(a, "gustav").wait_final(8).status == 480
    phone = wire.phone(a, "grace", "tcp", rfc8599_fcm())
    assert not is_promised(phone.register())
    wait_until("it is kept", lambda: a.counter("registers_waiting") >= 1)
    wire.call(a, "grace").wait_status(200, 5)
    phone.sleep()
    valkey.go_on() if fault == "stands still" else valkey.start()
    wait_until("it is stored", lambda: a.counter("registers_waiting") == 0, 20)
    wait_until("the other node is connected too", lambda: "grace" in (b.rpc("pushwake.list", "grace") or ""), 20)
    is_long_asleep()
    call = wire.call(b, "grace")
    simulator.wait_push(phone.push.token)
    phone = at(wire, b, phone)
    assert is_promised(phone.register())
    call.wait_status(200)


def test_a_server_that_takes_no_writes(valkey, nodes, wire, simulator):
    """As with MISCONF, or a replica: what is stored still wakes phones."""
    a, _ = nodes
    phone = wire.phone(a, "heidi", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    valkey.run("config", "set", "min-replicas-to-write", 1)
    other = wire.phone(a, "ivan", "tcp", rfc8599_fcm())
    assert not is_promised(other.register())
    call = wire.call(a, "heidi")
    simulator.wait_push(phone.push.token)
    again = at(wire, a, phone)
    assert not is_promised(again.register())
    again.wait_request("INVITE")
    call.wait_status(200)
    valkey.run("config", "set", "min-replicas-to-write", 0)
    wait_until("all is stored", lambda: a.counter("registers_waiting") == 0, 20)
    assert "ivan" in a.rpc("pushwake.list", "ivan")


def test_a_wrong_password_is_named_and_calls_go_on(make_valkey, make_node, tmp_path, wire):
    valkey = make_valkey("--requirepass", "right")
    password = tmp_path / "password"
    password.write_text("falsch\n")
    node = make_node(valkey, store_password_file=password, is_connected=False)
    node.wait_log("WRONGPASS", "store_password_file")
    phone = wire.phone(node, "kate", "tcp", rfc8599_fcm())
    assert not is_promised(phone.register())
    wire.call(node, "kate").wait_status(200)
    password.write_text("right\n")
    wait_until("it is stored", lambda: node.counter("registers_waiting") == 0, 20)
    assert is_promised(phone.register())
    assert "falsch" not in node.log_text()


def test_a_password_that_is_missing_is_asked_for(make_valkey, make_engine):
    engine = make_engine(store=make_valkey("--requirepass", "right").url)
    wait_until("it is told", lambda: "NOAUTH" in engine.text())
    assert "set store_password_file to a file with it" in engine.text()


def test_calls_of_a_node_that_was_killed_ring_through_the_other(nodes, wire, simulator):
    a, b = nodes
    phones = [wire.phone(b, f"victim{number}", "tcp", rfc8599_fcm()) for number in range(50)]
    for phone in phones:
        phone.register()
        phone.sleep()
    is_long_asleep()
    for phone in phones:
        wire.call(a, phone.user)
    wait_until("all are held", lambda: a.held() == 50, 10)
    a.kill()
    retries = [wire.call(b, phone.user) for phone in phones]
    wait_until("all are held", lambda: b.held() == 50, 10)
    awake = [at(wire, b, phone) for phone in phones]
    for phone in awake:
        phone.send_register()
    for phone, retry in zip(awake, retries):
        phone.wait_request("INVITE")
        retry.wait_status(200)


def test_bindings_move_from_sqlite_while_phones_register(make_kamailio, make_node, valkey, wire, simulator, tmp_path):
    old = make_kamailio()
    old.start().wait_engine()
    push = rfc8599_fcm()
    moved = wire.phone(old, "moved", "tcp", push)
    moved.register()
    moved.sleep()
    stays = wire.phone(old, "stays", "tcp", rfc8599_fcm())
    stays.register()
    stays.sleep()
    node = make_node(valkey)
    time.sleep(1.1)  # Times are whole seconds.
    newer = rfc8599_fcm()
    now = wire.phone(node, "stays", "tcp", newer, instance=stays.instance)
    now.register()

    def pushwake(server, *words, **options):
        return subprocess.run([PUSHWAKE, *words, "--socket", server.settings["engine_socket"]], capture_output=True, text=True,
                              check=False, **options)

    plain = pushwake(old, "bindings", "export")
    assert push.token not in plain.stdout and len(plain.stdout.splitlines()) == 2
    refused = pushwake(node, "bindings", "import", "-", input=plain.stdout)
    assert refused.returncode == 1 and "--secrets" in refused.stderr
    whole = pushwake(old, "bindings", "export", "--secrets").stdout
    assert push.token in whole
    for again in range(2):
        done = pushwake(node, "bindings", "import", "-", "--json", input=whole)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"stored": 1 - again, "same_here": again, "newer_here": 1, "over": 0, "problems": 0}
    exported = pushwake(node, "bindings", "export", "--secrets").stdout
    assert newer.token in exported and stays.push.token not in exported
    call = wire.call(node, "moved")
    simulator.wait_push(push.token)
    phone = at(wire, node, moved)
    phone.register()
    call.wait_status(200)


def test_nodes_are_listed_with_their_release(nodes, valkey):
    a, b = nodes
    done = subprocess.run([PUSHWAKE, "nodes", "--json", "--socket", a.settings["engine_socket"]], capture_output=True,
                          text=True, check=True)
    rows = json.loads(done.stdout)
    assert {row["node"] for row in rows} == {a.settings["node_uri"], b.settings["node_uri"]}
    assert [row["node"] for row in rows if row["is_this"]] == [a.settings["node_uri"]]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(\+\S+)?", row["version"]) and row["running_for"] >= 0 for row in rows)


def test_a_token_that_registers_at_another_node_takes_nothing_away(nodes, wire):
    a, b = nodes
    before = wire.phone(a, "before", "tcp", rfc8599_fcm())
    before.register()
    after = wire.phone(b, "after", "tcp", before.push, instance=before.instance)
    after.register()
    b.wait_log("aor=after has registered with the push token of aor=before; both are pushed")
    for node in nodes:
        shown = node.rpc("pushwake.list", "before")
        assert re.search(r"shared_with\W+after", shown) and "moved to" not in shown
