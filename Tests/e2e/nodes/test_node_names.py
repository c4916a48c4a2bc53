# SPDX-License-Identifier: MIT
"""Which node has what: bindings, counters and traces of calls say it."""

import json
import subprocess

import pytest

from phones import rfc8599_fcm
from servers import PUSHWAKE, wait_until
from test_nodes import at, is_long_asleep


def ask(node, *words):
    done = subprocess.run([PUSHWAKE, *words, "--socket", node.settings["engine_socket"]], capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if "--json" in words else done.stdout


def uri(node):
    return node.settings["node_uri"]


def test_listings_and_traces_name_the_node(make_valkey, make_node, wire, simulator):
    valkey = make_valkey()
    a, b = make_node(valkey), make_node(valkey)
    phone = wire.phone(b, "bob", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    is_long_asleep()
    call = wire.call(a, "bob")
    simulator.wait_push(phone.push.token)
    phone = at(wire, b, phone)
    phone.register()
    call.wait_status(200)

    for node in (a, b):
        assert [row["node"] for row in ask(node, "bindings", "--json")] == [uri(b)]
        assert uri(b) in ask(node, "bindings") and f"node: {uri(b)}" in node.rpc("pushwake.list", "bob")
        assert ask(node, "stats", "--json")["node"] == uri(node) and f"node: {uri(node)}" in node.rpc("pushwake.stats")
    wait_until("A knows of the answer", lambda: ask(a, "trace", "bob", "--json")[0]["end"])
    trace = ask(a, "trace", "bob", "--json")[0]
    assert trace["node"] == uri(a)
    assert [line["node"] for line in trace["lines"] if line["what"] == "announced"] == [uri(b)]
    text = ask(a, "trace", "bob")
    assert f"at node {uri(a)}" in text and f"a phone has registered at {uri(b)}" in text
    assert uri(a) in a.rpc("pushwake.trace", "bob")


def test_who_shares_nothing_names_no_node(make_kamailio, wire):
    alone = make_kamailio()
    alone.start().wait_engine()
    phone = wire.phone(alone, "carol", "udp", rfc8599_fcm())
    phone.register()
    assert "node" not in ask(alone, "stats", "--json")
    assert all("node" not in row for row in ask(alone, "bindings", "--json"))


def test_two_nodes_of_one_name_are_told(make_valkey, make_node):
    """Else nobody sees why phones of the other do not ring."""
    valkey, name = make_valkey(), "sip:127.0.0.1:5999"
    nodes = [make_node(valkey, node_uri=name) for _ in range(2)]
    for node in nodes:
        wait_until("it is said", lambda node=node: f"another node is {name} as well" in node.log_text(), 20)
    rows = ask(nodes[0], "nodes", "--json")
    assert [row["problem"] for row in rows if row["is_this"]] == [f"another is {name} as well"]
    assert f"another is {name} as well" in ask(nodes[0], "nodes")
