# SPDX-License-Identifier: MIT
"""The Route by which a node reaches a phone of another one."""

import pytest

from phones import rfc8599_fcm
from servers import NODES
from test_nodes import at, is_long_asleep

WITH_DOMAIN = NODES.read_text().replace("@SETTINGS@", 'modparam("usrloc", "use_domain", 1)\n@SETTINGS@')


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_users_with_a_domain(make_valkey, make_kamailio, wire, simulator, transport):
    """Their names have an '@', which no parameter may have."""
    valkey = make_valkey()
    nodes = []
    for _ in range(2):
        node = make_kamailio(config=WITH_DOMAIN, wake_timeout=8)
        node.set_up(store=valkey.url, node_uri=f"sip:127.0.0.1:{node.port}")
        node.start().wait_engine()
        node.wait_log("store: ", "connected")
        nodes.append(node)
    a, b = nodes
    phone = wire.phone(b, "bob", transport, rfc8599_fcm())
    phone.register()
    phone.sleep()
    is_long_asleep()
    call = wire.call(a, "bob")
    simulator.wait_push(phone.push.token)
    assert "bob@127.0.0.1" in a.rpc("pushwake.list", "bob@127.0.0.1")
    phone = at(wire, b, phone)
    phone.register()
    invite = phone.wait_request("INVITE")
    assert "aor=" not in invite.text, "the Route has been used up"
    call.wait_status(200)
    call.hang_up()
    phone.wait_request("BYE")


def test_a_phone_with_an_outbound_proxy_names_it_in_a_route_and_is_no_node(make_valkey, make_kamailio, wire, simulator):
    config = NODES.read_text()
    assert '$si != "127.0.0.1"' in config
    node = make_kamailio(config=config.replace('$si != "127.0.0.1"', '$si != "127.0.0.3"'), wake_timeout=8)
    node.set_up(store=make_valkey().url, node_uri=f"sip:127.0.0.1:{node.port}")
    node.start().wait_engine()
    node.wait_log("store: ", "connected")
    route = f"Route: <sip:127.0.0.1:{node.port};lr>"
    phone = wire.phone(node, "bob", "udp", rfc8599_fcm())
    assert "+sip.pns" in phone.register(600, None, route).headers("Feature-Caps")[0]
    phone.sleep()
    is_long_asleep()
    call = wire.call(node, "bob", route)
    simulator.wait_push(phone.push.token)
    phone = wire.again(phone)
    phone.register(600, None, route)
    assert phone.wait_request("INVITE").headers("Route") == [], "a proxy before the phone would follow it back to here"
    call.wait_status(200)
    # Nobody but a node is sent where he likes.
    elsewhere = wire.phone(node, "elsewhere")
    call = wire.call(node, "stranger", f"Route: <sip:127.0.0.1:{node.port};lr>", f"Route: <sip:127.0.0.1:{elsewhere.endpoint.port};lr>")
    assert call.wait_final().status == 404
    assert elsewhere.received("INVITE") == []
