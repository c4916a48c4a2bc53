# SPDX-License-Identifier: MIT
"""A server's user that lacks a right of docs/nodes.md: the log names it and the page, once, and health tells where nothing
can be stored."""

import re
import urllib.error
import urllib.request

import pytest

from phones import rfc8599_fcm
from ports import free_port
from servers import wait_until
from test_nodes import at, is_long_asleep, is_promised
from test_nodes_secured import PASSWORD, SERVER, user_of_page

# Only a cluster, Sentinels or a database other than 0 take these.
ELSEWHERE = {"+spublish", "+ssubscribe", "+cluster|slots", "+asking", "+select", "+role"}
RIGHTS = [word for word in user_of_page(SERVER) if word[0] in "+~&" and word not in ELSEWHERE | {"+ping"}]
# Without these users are stored and read all the same.
LESSER = {"+del", "+eval", "+scan", "+publish", "+subscribe", "&pw:*"}


@pytest.fixture
def make_poor(make_node, make_valkey, tmp_path):
    """Makes a server whose user lacks a right, and a node of it."""
    servers = []

    def make(*words):
        if not servers:
            rules = [rule for rule in user_of_page(SERVER) if rule not in words]
            servers.append(make_valkey("--user", *rules))
        password = tmp_path / "password"
        password.write_text(PASSWORD + "\n")
        port = free_port()
        node = make_node(servers[0], is_connected=False, store=servers[0].url.replace("//", "//pushwake@", 1),
                         store_password_file=password, http_listen=port)
        node.valkey, node.http_port = servers[0], port
        return node

    return make


def health(node):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{node.http_port}/healthz").status
    except urllib.error.HTTPError as error:
        return error.code


def warnings(node):
    return [line.partition("store: ")[2] for line in node.log_text().splitlines() if "store: " in line and "WARNING" in line]


@pytest.mark.parametrize("right", RIGHTS)
def test_a_right_that_is_missing(make_poor, wire, right):
    node = make_poor(right)
    # Its scripts are loaded before anything else.
    name = "script|load" if right == "+script|load" else right
    line = node.wait_log("store: ", "docs/nodes.md", name)
    assert ("WARNING" in line) and "AUTH" not in line
    phone = wire.phone(node, "anna", "tcp", rfc8599_fcm())
    promised = is_promised(phone.register())
    assert promised or right not in LESSER
    wait_until("health is right", lambda: health(node) == (200 if right in LESSER else 503))
    wire.call(node, "anna").wait_status(200)
    said = warnings(node)
    assert len(said) == len(set(said)) <= 2, said


def test_it_is_said_once_and_when_it_is_there(make_poor, wire):
    node = make_poor("+evalsha", "+publish")
    node.wait_log("lacks +evalsha, +publish:")

    def words():
        found = re.search(r"cmdstat_set:calls=(\d+)", node.valkey.run("info", "commandstats"))
        return int(found[1]) if found else 0

    # Each is a change that the server has taken.
    before = words()
    wait_until("the node has said again that it is there", lambda: words() >= before + 4, 20)
    assert not is_promised(wire.phone(node, "bert", "tcp", rfc8599_fcm()).register())
    assert health(node) == 503
    assert len(warnings(node)) == 1, warnings(node)
    node.valkey.run("acl", "setuser", "pushwake", "+evalsha", "+publish")
    node.wait_log("has all rights now", seconds=10)
    assert health(node) == 200


def test_a_call_whose_announcement_is_denied_says_so(make_poor, wire, simulator):
    a, b = make_poor("+publish"), make_poor("+publish")
    b.wait_log("lacks +publish: ", "docs/nodes.md")
    phone = wire.phone(b, "cleo", "tcp", rfc8599_fcm())
    assert is_promised(phone.register())
    phone.sleep()
    is_long_asleep()
    wire.call(a, "cleo")
    simulator.wait_push(phone.push.token)
    assert is_promised(at(wire, b, phone).register())
    assert len(warnings(b)) == 1
