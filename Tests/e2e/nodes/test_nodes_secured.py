# SPDX-License-Identifier: MIT
"""Servers over TLS, with a user that may do what docs/nodes.md prints and nothing else: one, a cluster, and one that
Sentinels name."""

import re

import pytest

from peers.valkey import Cluster, Watched
from phones import rfc8599_fcm
from servers import ROOT, certificate_with_key, wait_until
from test_nodes import at, is_long_asleep, is_promised

PAGE = (ROOT / "docs" / "nodes.md").read_text()
PASSWORD = "geheim"


def user_of_page(which):
    """The arguments of `user` as the page has them, a line of the server's own file, with another password."""
    lines = re.findall(r"^user (pushwake on >PASSWORD .*)$", PAGE, re.M)
    return lines[which].replace("PASSWORD", PASSWORD).split()


SERVER, SENTINEL = 0, 1


@pytest.fixture
def make_secured(make_node, tmp_path, simulator):
    """Makes a node that trusts this certificate and has the user's password."""

    def make(servers, pem, **options):
        bundle, password = tmp_path / "both.pem", tmp_path / "password"
        bundle.write_bytes(pem.read_bytes() + open(simulator.settings()["ca_file"], "rb").read())
        password.write_text(PASSWORD + "\n")
        return make_node(servers, store=servers.url.replace("//", "//pushwake@", 1), store_password_file=password,
                         ca_file=bundle, **options)

    return make


@pytest.fixture
def make_pem(tmp_path):
    def make(name=None):
        pem = tmp_path / "valkey.pem"
        pem.write_bytes(certificate_with_key(name))
        return pem

    return make


@pytest.fixture
def started():
    """Starts servers, and ends them."""
    all_of_them = []

    def start(servers):
        all_of_them.append(servers)
        return servers.start()

    yield start
    for servers in all_of_them:
        servers.stop()


def calls_to_phones_at_the_other_node(a, b, users, wire, simulator):
    """All that a store is asked goes one way or another: claims, holders, announcements. The phones, awake."""
    phones = [wire.phone(b, user, "tcp", rfc8599_fcm()) for user in users]
    for phone in phones:
        assert is_promised(phone.register())
        phone.sleep()
    is_long_asleep()
    calls = [wire.call(a, user) for user in users]
    awake = [at(wire, b, phone) for phone in phones]
    for phone, call in zip(awake, calls):
        simulator.wait_push(phone.push.token)
        assert is_promised(phone.register())
        phone.wait_request("INVITE")
        call.wait_status(200)
    return awake


def nothing_is_refused(*nodes):
    for node in nodes:
        log = node.log_text()
        refused = [line for line in log.splitlines() if "NOPERM" in line or "The user executing the script" in line]
        assert PASSWORD not in log and refused == []


def test_a_server(make_valkey, make_secured, make_pem, wire, simulator):
    pem = make_pem()
    valkey = make_valkey("--user", *user_of_page(SERVER), "--user", "default", "off", with_tls=pem)
    a, b = make_secured(valkey, pem), make_secured(valkey, pem)
    calls_to_phones_at_the_other_node(a, b, ["alice"], wire, simulator)
    assert "alice" in a.rpc("pushwake.list")
    a.rpc("pushwake.remove", "alice")
    assert "alice" not in a.rpc("pushwake.list")
    nothing_is_refused(a, b)


@pytest.mark.parametrize("name", [None, "localhost"], ids=["by address", "by name"])
def test_a_cluster(started, make_secured, make_pem, tmp_path, wire, simulator, name):
    """Its certificates are for what the nodes tell of each other: addresses, or a name."""
    pem = make_pem(name)
    cluster = started(Cluster(tmp_path, "--user", *user_of_page(SERVER), name=name, with_tls=pem, password="of the operator"))
    a, b = make_secured(cluster, pem), make_secured(cluster, pem)
    users = [f"user{number}" for number in range(6)]
    assert len({cluster.master_of(f"pw:{{:{user}}}").port for user in users}) == 3
    calls_to_phones_at_the_other_node(a, b, users[:3], wire, simulator)
    # The replica has the slots from now on, and the old master says MOVED.
    master = cluster.master_of("pw:{:user0}")
    replica = cluster.replica_of(master)
    replica.run("cluster", "failover")
    wait_until("it has taken over", lambda: "role:master" in replica.run("info", "replication"), 20)
    calls_to_phones_at_the_other_node(a, b, users[3:] + ["user0"], wire, simulator)
    assert int(re.search(r"cmdstat_evalsha:calls=(\d+)", replica.run("info", "commandstats"))[1]) > 0
    assert all(user in a.rpc("pushwake.list") for user in users)
    nothing_is_refused(a, b)


def test_a_certificate_for_another_name(started, make_secured, make_pem, tmp_path, wire):
    """The cluster tells addresses, and its certificates are for a name: nobody is spoken to who may be anybody."""
    pem = make_pem("localhost")
    cluster = started(Cluster(tmp_path, "--user", *user_of_page(SERVER), with_tls=pem, password="of the operator"))
    node = make_secured(cluster, pem, is_connected=False)
    node.wait_log("certificate")
    assert not is_promised(wire.phone(node, "user0", "tcp", rfc8599_fcm()).register())


def test_sentinels(started, make_secured, make_pem, tmp_path, wire, simulator):
    pem = make_pem()
    watched = started(Watched(tmp_path, user_of_page(SERVER), user_of_page(SENTINEL), with_tls=pem, password="operator"))
    a, b = make_secured(watched, pem), make_secured(watched, pem)
    [awake] = calls_to_phones_at_the_other_node(a, b, ["alice"], wire, simulator)
    master = watched.servers[0]
    master.run("wait", 1, 5000)
    master.kill()
    wait_until("both nodes have found the replica", lambda: all("alice" in (node.rpc("pushwake.list") or "") for node in (a, b)), 20)
    awake.sleep()
    calls_to_phones_at_the_other_node(a, b, ["bob"], wire, simulator)
    wire.call(a, "alice")
    simulator.wait_push(awake.push.token)
    nothing_is_refused(a, b)
