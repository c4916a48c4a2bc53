# SPDX-License-Identifier: MIT
"""Two Kamailios that share their location table, in the ways that docs/nodes.md prints: with bindings in Valkey, or without."""

import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time

import pytest

from phones import rfc8599_fcm
from servers import NODES, PUSHWAKE, ROOT, wait_until
from test_nodes import at, is_long_asleep, is_promised

PAGE = (ROOT / "docs" / "nodes.md").read_text()
TABLES = pathlib.Path("/usr/share/kamailio/db_sqlite")
STREAMS = pytest.mark.parametrize("transport", ["udp", "tcp"])


def printed(way):
    """What the page adds to a configuration: before request_route, and at its beginning."""
    blocks = re.findall(r"```\n(server_id=1\n.*?)\n    \.\.\.\n```", PAGE, re.S)
    found = next(block for block in blocks if way in block)
    return found.split("\nrequest_route {\n")


def database(directory):
    """SQLite takes the place of the page's PostgreSQL: both nodes are of this machine."""
    path = directory / "location.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        for name in ("standard", "usrloc"):
            made.executescript((TABLES / f"{name}-create.sql").read_text())
    return path


@pytest.fixture(params=["dmq", "database", "dmq alone"])
def nodes(request, make_valkey, make_kamailio, tmp_path):
    path, by_dmq = database(tmp_path), request.param.startswith("dmq")
    shares = None if request.param.endswith("alone") else make_valkey()
    before, first = printed("dmq_usrloc" if by_dmq else "db_mode")
    made = []
    for number in (1, 2):
        node = make_kamailio(wake_timeout=8)
        node.host = f"127.0.0.{number}"
        made.append(node)
    for node, other in (made, made[::-1]):
        number = made.index(node) + 1
        lines = before.replace("server_id=1", f"server_id={number}")
        lines = lines.replace('"sip:10.0.0.1:5060"', f'"sip:{node.host}:{node.port}"')
        lines = lines.replace('"sip:10.0.0.2:5060"', f'"sip:{other.host}:{other.port}"')
        lines = lines.replace("db_postgres", "db_sqlite").replace("postgres://kamailio:PASSWORD@10.0.0.9/kamailio", f"sqlite:///{path}")
        text = NODES.read_text().replace("127.0.0.1:@PORT@", f"{node.host}:@PORT@")
        text = text.replace("request_route {\n", f"{lines}\nrequest_route {{\n{first.replace('10.0.0.', '127.0.0.')}\n", 1)
        node.template = text
        node.set_up(**{"store": shares.url, "node_uri": f"sip:{node.host}:{node.port}",
                       "engine_timeout": 1000} if shares else {})
    for node in made:
        node.start().wait_engine()
        if shares:
            node.wait_log("store: ", "connected")
    # connections of the second in which Kamailio began are taken for those of the run before, and SQLite's times may be one short
    begun = int(time.time())
    wait_until("two seconds later", lambda: int(time.time()) > begun + 1)
    if by_dmq:
        for node in made:
            wait_until("DMQ knows both", lambda node=node: (node.rpc("dmq.list_nodes") or "").count("active") == 2, 20)
    return made


def has_contact(node, user):
    """And, of a phone that can be pushed, its binding."""
    is_there = f"sip:{user}@" in (node.rpc("ul.lookup", "location", user) or "")
    return is_there and (user.startswith("plain") or user in (node.rpc("pushwake.list", user) or ""))


@pytest.fixture
def called(nodes, wire, simulator):
    """A phone of B that was killed and is called at A, and pushed: the call, and the phone."""
    def make(user, transport="tcp"):
        a, b = nodes
        phone = wire.phone(b, user, transport, rfc8599_fcm())
        assert is_promised(phone.register())
        wait_until("its contact is known at A", lambda: has_contact(a, user))
        phone.sleep()
        is_long_asleep()
        call = wire.call(a, user)
        simulator.wait_push(phone.push.token)
        return call, phone

    return make


def wakes(wire, node, phone, call, seconds=5):
    """The phone registers at a node, is rung and answers: the phone, its REGISTER's answer and the INVITE."""
    phone = at(wire, node, phone)
    registered = phone.register()
    invite = phone.wait_request("INVITE", seconds)
    call.wait_status(200)
    return phone, registered, invite


@STREAMS
def test_a_phone_that_was_killed_wakes_and_rings(nodes, wire, simulator, called, transport):
    a, b = nodes
    call, phone = called("bob", transport)
    phone, registered, invite = wakes(wire, b, phone, call)
    print(f"REGISTER at B to INVITE from A: {(invite.at - registered.at) * 1000:.1f} ms")
    assert invite.at - registered.at < 2
    call.hang_up()
    phone.wait_request("BYE")
    assert len(phone.requests("INVITE")) == 1
    assert len(simulator.calls(phone.push.token)) == 1
    wait_until("nothing is held", lambda: a.held() == 0 and b.held() == 0)


@STREAMS
def test_a_phone_that_is_awake_at_the_other_node_rings(nodes, wire, transport):
    a, b = nodes
    phone = wire.phone(b, "plain-carol", transport)
    phone.register()
    wait_until("its contact is known at A", lambda: has_contact(a, "plain-carol"))
    call = wire.call(a, "plain-carol")
    phone.wait_request("INVITE")
    call.wait_status(200)
    call.hang_up()
    phone.wait_request("BYE")


def test_a_phone_rings_at_its_own_node_over_its_connection(nodes, wire):
    _, b = nodes
    phone = wire.phone(b, "dave", "tcp", rfc8599_fcm())
    phone.register()
    call = wire.call(b, "dave")
    phone.wait_request("INVITE")
    call.wait_status(200)


def test_a_phone_whose_connection_is_gone_is_asleep_at_its_own_node(nodes, wire, simulator):
    _, b = nodes
    phone = wire.phone(b, "erin", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    b.wait_disconnected(phone.endpoint.port)
    call = wire.call(b, "erin")
    simulator.wait_push(phone.push.token)
    wakes(wire, b, phone, call)


def test_a_phone_that_moves_rings_where_it_is_now(nodes, wire, called):
    call, phone = called("frank")
    phone, *_ = wakes(wire, nodes[0], phone, call)
    assert len(phone.requests("INVITE")) == 1


def test_what_a_node_has_no_connection_to_is_not_sent_over_another_one(nodes, wire):
    """The number of a connection at B may be that of another phone's at A."""
    a, b = nodes
    others = [wire.phone(a, f"plain-other{number}", "tcp") for number in range(5)]
    for other in others:
        other.register()
    phone = wire.phone(b, "plain-grace", "tcp")
    phone.register()
    wait_until("its contact is known at A", lambda: has_contact(a, "plain-grace"))
    call = wire.call(a, "plain-grace")
    phone.wait_request("INVITE")
    call.wait_status(200)
    assert not any(other.received("INVITE") for other in others)


@pytest.mark.parametrize("nodes", ["dmq alone"], indirect=True)
def test_a_node_that_was_away_learns_what_it_missed(nodes, wire, simulator):
    a, b = nodes
    a.stop()
    phones = [wire.phone(b, f"heidi{number}", "udp", rfc8599_fcm()) for number in range(40)]
    for phone in phones:
        phone.register()
        phone.sleep()
    a.start().wait_engine()
    wait_until("its bindings are here", lambda: all(has_contact(a, phone.user) for phone in (phones[0], phones[-1])), 20)
    is_long_asleep()
    call = wire.call(a, "heidi7")
    simulator.wait_push(phones[7].push.token)
    wakes(wire, b, phones[7], call)


@pytest.mark.parametrize("nodes", ["dmq alone"], indirect=True)
def test_a_call_that_waits_while_the_engine_is_restarted_hears_of_the_other_node(nodes, wire, called):
    a, b = nodes
    call, phone = called("ivan")
    os.kill(a.engine_pid(), signal.SIGKILL)
    wakes(wire, b, phone, call, 8)


@pytest.mark.parametrize("nodes", ["dmq", "dmq alone"], indirect=True)
def test_a_phone_that_unregisters_at_the_other_node_is_still_pushed(nodes, wire, simulator):
    """DMQ takes its contact away here, which nobody has done by hand."""
    a, b = nodes
    phone = wire.phone(b, "judy", "udp", rfc8599_fcm())
    phone.register()
    wait_until("its contact is known at A", lambda: has_contact(a, "judy"))
    phone.register(0)
    phone.sleep()
    wait_until("its contact is gone at A", lambda: "sip:judy@" not in (a.rpc("ul.lookup", "location", "judy") or ""))
    is_long_asleep()
    wire.call(a, "judy")
    simulator.wait_push(phone.push.token)
    assert "by hand" not in a.rpc("pushwake.list", "judy")


@pytest.mark.parametrize("nodes", ["dmq", "dmq alone"], indirect=True)
def test_a_contact_that_is_removed_by_hand_is_pushed_no_more(nodes, wire):
    b = nodes[1]
    phone = wire.phone(b, "mallory", "udp", rfc8599_fcm())
    phone.register()
    assert b.rpc("ul.rm", "location", "mallory") is not None
    wait_until("its binding is gone", lambda: "by hand" in b.rpc("pushwake.list", "mallory"))


def with_database(make_kamailio, path):
    """A Kamailio alone whose location table is this database and nothing else."""
    lines = "\n".join(f'modparam("usrloc", {setting})' for setting in (
        f'"db_url", "sqlite:///{path}"', '"db_mode", 3', '"handle_lost_tcp", 0'))
    server = make_kamailio(wake_timeout=6)
    server.template = server.template.replace("request_route {\n", f'loadmodule "db_sqlite.so"\n{lines}\nrequest_route {{\n', 1)
    server.set_up()
    return server.start().wait_engine()


def test_after_a_restart_the_connection_of_a_sleeper_is_nobody_elses(make_kamailio, wire, simulator, tmp_path):
    """usrloc keeps the number of the connection, and the count of connections begins anew."""
    server = with_database(make_kamailio, database(tmp_path))
    phone = wire.phone(server, "anna", "tcp", rfc8599_fcm())
    phone.parameters = ";reg-id=1"
    phone.register(600, None, "Supported: outbound, path")
    second = phone.again()
    second.parameters = ";reg-id=2"
    second.register(600, None, "Supported: outbound, path")
    phone.sleep()
    second.sleep()
    server.stop()
    server.start().wait_engine()
    others = [wire.phone(server, user, "tcp") for user in ("bob", "bea")]
    for other in others:
        other.register()
    call = wire.call(server, "anna")
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(200)
    assert [other.requests("INVITE") for other in others] == [[], []]


def test_who_registers_in_the_second_of_the_start_is_rung_over_its_connection(make_kamailio, wire, simulator, tmp_path):
    """Its contact may be of before by its time, and not by where it came from."""
    path = database(tmp_path)
    server = with_database(make_kamailio, path)
    phone = wire.phone(server, "anna", "tcp", rfc8599_fcm())
    phone.register()
    with contextlib.closing(sqlite3.connect(path)) as table:
        table.execute("UPDATE location SET last_modified = last_modified - 0.001")  # days
        table.commit()
    call = wire.call(server, "anna")
    phone.wait_request("INVITE")
    call.wait_status(200)
    assert simulator.calls(phone.push.token) == []


def test_who_has_no_server_id_is_told_so(make_kamailio):
    node = make_kamailio()
    before = printed("dmq_usrloc")[0].replace("server_id=1\n", "").replace("10.0.0.1:5060", f"127.0.0.1:{node.port}")
    node.template = NODES.read_text().replace("request_route {\n", f"{before}\nrequest_route {{\n", 1)
    node.set_up()
    node.start().wait_engine()
    node.wait_log("server_id is not set", "write server_id=1")
    done = subprocess.run([PUSHWAKE, "check", node.config], capture_output=True, text=True, check=False)
    assert "without server_id they count as this one's" in done.stdout + done.stderr
