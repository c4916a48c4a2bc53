# SPDX-License-Identifier: MIT
"""Two Kamailios that share push bindings in a cluster of Valkey or Redis: three masters, and a replica of each."""

import json
import subprocess

import pytest

from peers.valkey import Cluster
from phones import rfc8599_fcm
from servers import PUSHWAKE, wait_until
from test_nodes import at, is_long_asleep, is_promised


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture
def nodes(make_node, cluster):
    return make_node(cluster), make_node(cluster)


def pushwake(node, *words, **options):
    return subprocess.run([PUSHWAKE, *words, "--socket", node.settings["engine_socket"]], capture_output=True, text=True,
                          check=False, **options)


def test_phones_of_all_masters_are_woken_through_the_other_node(nodes, cluster, wire, simulator):
    a, b = nodes
    phones = [wire.phone(b, f"user{number}", "tcp", rfc8599_fcm()) for number in range(12)]
    for phone in phones:
        assert is_promised(phone.register())
        phone.sleep()
    assert len({cluster.master_of(f"pw:{{:{phone.user}}}").port for phone in phones}) == 3
    is_long_asleep()
    calls = [wire.call(a, phone.user) for phone in phones]
    for phone, call in zip(phones, calls):
        simulator.wait_push(phone.push.token)
        awake = at(wire, b, phone)
        registered = awake.register()
        invite = awake.wait_request("INVITE")
        call.wait_status(200)
        assert invite.at - registered.at < 0.5
    assert all(len(simulator.calls(phone.push.token)) == 1 for phone in phones)


def test_bindings_of_all_masters_are_listed_and_moved(nodes, wire):
    a, b = nodes
    phones = [wire.phone(a, f"user{number}", "tcp", rfc8599_fcm()) for number in range(12)]
    for phone in phones:
        phone.register()
    rows = json.loads(pushwake(b, "nodes", "--json").stdout)
    assert {row["node"] for row in rows} == {a.settings["node_uri"], b.settings["node_uri"]}
    whole = pushwake(b, "bindings", "export", "--secrets").stdout
    assert sorted(json.loads(line)["aor"] for line in whole.splitlines()) == sorted(phone.user for phone in phones)
    done = pushwake(a, "bindings", "import", "-", "--json", input=whole)
    assert json.loads(done.stdout) == {"stored": 0, "same_here": 12, "newer_here": 0, "over": 0, "problems": 0}


def test_a_master_dies_while_calls_are_held(nodes, cluster, wire, simulator):
    """Users of the other masters notice nothing; those of the one that is gone are as with a server that is away, until
    its replica has taken over. A phone whose call is held rings then."""
    a, b = nodes
    phones = [wire.phone(b, f"user{number}", "tcp", rfc8599_fcm()) for number in range(12)]
    for phone in phones:
        phone.register()
        phone.sleep()
    is_long_asleep()
    victim = cluster.master_of("pw:{:user0}")
    lost = [phone for phone in phones if cluster.master_of(f"pw:{{:{phone.user}}}") is victim]
    kept = [phone for phone in phones if phone not in lost]
    assert lost and kept
    # What the replica has not heard of by then is lost with the master.
    victim.run("wait", 1, 5000)
    call = wire.call(a, lost[0].user)
    simulator.wait_push(lost[0].push.token)
    others = wire.call(a, kept[0].user)
    simulator.wait_push(kept[0].push.token)
    victim.kill()
    awake = at(wire, b, kept[0])
    assert is_promised(awake.register())
    awake.wait_request("INVITE")
    others.wait_status(200)
    back = at(wire, b, lost[0])
    if not is_promised(back.register()):
        assert b.counter("registers_waiting") >= 1
    back.wait_request("INVITE", 7)
    call.wait_status(200)
    wait_until("all is stored", lambda: b.counter("registers_waiting") == 0, 20)
    assert lost[0].user in b.rpc("pushwake.list", lost[0].user)
    fresh = wire.phone(a, lost[-1].user, "tcp", rfc8599_fcm())
    wait_until("it is promised again", lambda: is_promised(fresh.register()), 10)
    for node in nodes:
        assert "MOVED" not in node.log_text()


def test_check_knows_the_address(tmp_path):
    settings = tmp_path / "pushwake.conf"
    for address, remedy in [("redis+cluster://127.0.0.1:7001,127.0.0.1:7002", ""), ("redis+cluster://h/2", "databases"),
                            ("redis+cluster://user:secret@h", "store_password_file")]:
        settings.write_text(f"store = {address}\nengine_socket = {tmp_path}/engine.sock\n")
        done = subprocess.run([PUSHWAKE, "check", settings], capture_output=True, text=True, check=False)
        named = [line for line in (done.stdout + done.stderr).splitlines() if "store" in line.split(":")[0] or address in line]
        if remedy:
            assert done.returncode != 0 and remedy in done.stdout + done.stderr
        else:
            assert not named, named


def test_a_slot_that_stands_half_moved(make_node, cluster, wire, simulator):
    """Its users can be read and not written: their phones are pushed, and ring when the slot has come to rest."""
    # As short as usual: there is little time to try again.
    a, b = make_node(cluster), make_node(cluster)
    phone = wire.phone(b, "ursula", "tcp", rfc8599_fcm())
    wait_until("it is stored", lambda: is_promised(phone.register()))
    phone.sleep()
    is_long_asleep()
    old = cluster.master_of("pw:{:ursula}")
    new = next(s for s in cluster.servers if s is not old and "role:master" in s.run("info", "replication"))
    slot = old.run("cluster", "keyslot", "pw:{:ursula}")
    new.run("cluster", "setslot", slot, "importing", old.run("cluster", "myid"))
    old.run("cluster", "setslot", slot, "migrating", new.run("cluster", "myid"))
    old.run("migrate", "127.0.0.1", new.port, "", 0, 2000, "keys", *old.run("cluster", "getkeysinslot", slot, 100).split())
    call = wire.call(a, "ursula")
    simulator.wait_push(phone.push.token)
    awake = at(wire, b, phone)
    assert not is_promised(awake.register())
    for server in (new, old):
        server.run("cluster", "setslot", slot, "node", new.run("cluster", "myid"))
    awake.wait_request("INVITE")
    call.wait_status(200)
