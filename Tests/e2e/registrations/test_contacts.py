# SPDX-License-Identifier: MIT
"""The INVITE goes where the REGISTER said, and only there."""

import re
import socket
import time

import pytest

from phones import mpush_ios, rfc8599_apns, rfc8599_fcm
from ports import free_port


@pytest.mark.parametrize("push", [mpush_ios, rfc8599_apns])
def test_the_contact_that_a_phone_left_is_forgotten(kamailio, actors, push):
    """No +sip.instance: only the token says that both Contacts are one phone."""
    phone = actors.phone(kamailio, f"nomad-{push.__name__}", push(), instance=False)
    phone.register()
    for _ in range(2):
        caller = actors.call(kamailio, phone.user, "call")
        awake = phone.wait_and_wake()
        caller.finish()
        assert len(awake.received("INVITE")) == 1
        awake.stop()
    contacts = kamailio.rpc("ul.lookup", "location", phone.user)
    assert contacts.count("Address:") == 1, contacts


def addresses(server, user):
    lines = server.rpc("ul.lookup", "location", user).splitlines()
    return sorted(line.split("Address:")[1].strip() for line in lines if "Address:" in line)


def both(one, other):
    """One REGISTER with the addresses of both, as from one phone."""
    other.push, other.instance = one.push, one.instance
    return f"{one.contact}, {other.contact}"


@pytest.mark.parametrize("instance, kept", [("", 2), (None, 1)], ids=["token", "instance"])
def test_a_phone_keeps_all_addresses_that_it_registers_with_one_token(kamailio, wire, simulator, instance, kept):
    """The registrar keeps one for an instance."""
    phone = wire.phone(kamailio, f"addresses{kept}", "udp", rfc8599_fcm(), instance=instance)
    other = wire.phone(kamailio, f"addresses{kept}", "tcp")
    contacts = both(phone, other)
    for _ in range(3):
        phone.register(600, contacts)
        assert len(addresses(kamailio, phone.user)) == kept
    call = wire.call(kamailio, phone.user)
    simulator.wait_event(phone.push.token, "call")
    phone.register(600, contacts)
    call.wait_status(200)
    assert len(addresses(kamailio, phone.user)) == kept


def test_each_contact_has_what_the_registrar_granted_it(kamailio, wire):
    phone = wire.phone(kamailio, "granted", "udp", rfc8599_fcm(), instance="")
    other = wire.phone(kamailio, "granted", "tcp", rfc8599_fcm(), instance="")
    phone.register(600, f"{phone.contact};expires=120, {other.contact};expires=1800")
    ends = sorted(int(seconds) for seconds in re.findall(r"expires_in\W+(\d+)", kamailio.rpc("pushwake.list", "granted")))
    assert len(ends) == 2 and 100 < ends[0] <= 120 and 1700 < ends[1] <= 1800, ends


def test_a_phone_keeps_a_contact_for_each_of_its_flows(kamailio, actors):
    """RFC 5626: two connections of one phone, both lost while it sleeps."""
    phone = actors.phone(kamailio, "flows", rfc8599_apns(), tcp=True)
    phone.push.header = "Supported: outbound, path"
    instance = phone.instance
    for flow in (1, 2):
        phone.instance = f"{instance};reg-id={flow}"
        phone.register()
    assert kamailio.rpc("ul.lookup", "location", "flows").count("Address:") == 2
    caller = actors.call(kamailio, "flows", "call")
    caller.wait_status(110)
    awake = phone.wait_and_wake()
    caller.finish()
    assert len(awake.received("INVITE")) == 1


class Edge:
    """An edge proxy with one phone behind it: registers with a Path and shows what arrives."""

    def __init__(self, server, user, push):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5)
        self.server, self.user, self.push, self.cseq = server, user, push, 0

    def register(self, flow=""):
        """`flow`: what the proxy's Path says of the connection."""
        self.cseq += 1
        port = self.socket.getsockname()[1]
        lines = [
            "REGISTER sip:127.0.0.1 SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{self.user}{self.cseq}",
            f"From: <sip:{self.user}@127.0.0.1>;tag=1",
            f"To: <sip:{self.user}@127.0.0.1>",
            f"Call-ID: {self.user}",
            f"CSeq: {self.cseq} REGISTER",
            f"Path: <sip:{flow}127.0.0.1:{port};lr>",
            "Supported: path",
            f"Contact: <sip:{self.user}@192.0.2.7:5060>",
            self.push.named(self.push.header),
            "Expires: 600",
            "Content-Length: 0",
        ]
        self.socket.sendto(("\r\n".join(lines) + "\r\n\r\n").encode(), ("127.0.0.1", self.server.port))
        return self.receive()

    def receive(self):
        return self.socket.recv(65535).decode()


def test_a_phone_behind_an_edge_proxy_is_reached_through_it(kamailio, actors, simulator):
    edge = Edge(kamailio, "behind", mpush_ios())
    with edge.socket:
        answer = edge.register()
        assert answer.startswith("SIP/2.0 200") and "\r\nPath: " in answer
        caller = actors.call(kamailio, "behind", "call_fails", code=480)
        simulator.wait_push(edge.push.token)
        assert edge.register().startswith("SIP/2.0 200")
        invite = edge.receive()
        assert invite.startswith("INVITE sip:behind@192.0.2.7:5060 ")
        assert f"\r\nRoute: <sip:127.0.0.1:{edge.socket.getsockname()[1]};lr>" in invite
        caller.stop()


def test_a_phone_that_comes_back_over_another_connection_of_its_proxy_is_reached_over_that(kamailio, actors, simulator):
    """Contact and proxy are the same, only the Path tells the connections apart (RFC 5626, 5.1)."""
    edge = Edge(kamailio, "reflowed", mpush_ios())
    with edge.socket:
        assert edge.register("old@").startswith("SIP/2.0 200")
        caller = actors.call(kamailio, "reflowed", "call_fails", code=480)
        simulator.wait_push(edge.push.token)
        assert edge.register("old@").startswith("SIP/2.0 200")
        assert "\r\nRoute: <sip:old@" in edge.receive()
        edge.register("new@")
        deadline = time.monotonic() + 5
        while "\r\nRoute: <sip:new@" not in edge.receive():
            assert time.monotonic() < deadline
        caller.stop()


def test_what_a_late_phone_gets_is_what_the_script_made_of_the_request(kamailio, actors):
    phone = actors.phone(kamailio, "lumps", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "lumps", "call")
    awake = phone.wait_and_wake()
    invite = awake.wait_request("INVITE")
    caller.finish()
    assert len(invite.headers("Record-Route")) == 1
    assert invite.headers("X-Edited") == ["before lookup"]
    assert invite.headers("X-Branch") == ["late or not"]
    kamailio.wait_log(f"BRANCH INVITE sip:lumps@127.0.0.1:{awake.port}")


@pytest.mark.parametrize("is_awake", [True, False])
def test_a_proxy_that_has_lost_the_phone_ends_no_call(make_server, wire, simulator, is_awake):
    """RFC 5626, 5.3.1: 430 is the proxy's answer, and the phone comes back over another flow."""
    server = make_server(settings={"awake_for": 60 if is_awake else 0}, wake_timeout=5)

    def register(phone):
        phone.register(600, None, "Supported: path", f"Path: <sip:127.0.0.1:{phone.endpoint.port};lr>")
        return phone

    phone = wire.phone(server, "lost-flow", "udp", rfc8599_fcm())
    phone.answers["INVITE"] = (100, 430)
    register(phone)
    call = wire.call(server, "lost-flow")
    simulator.wait_event(phone.push.token, "call")
    if not is_awake:
        register(phone)
    phone.wait_request("ACK")
    assert call.final is None
    back = register(wire.again(phone))
    back.wait_request("INVITE")
    call.wait_status(200)


@pytest.mark.parametrize("has_sleeper", [False, True], ids=["alone", "beside-a-sleeper"])
def test_a_phone_whose_contact_says_nothing_of_its_connection_rings_over_it(kamailio, wire, simulator, has_sleeper):
    """It counts as awake because the connection is open, so it is not rung by a datagram."""
    user = "hidden-beside" if has_sleeper else "hidden-alone"
    if has_sleeper:
        sleeper = wire.phone(kamailio, user, "udp", rfc8599_fcm())
        sleeper.register()
        sleeper.sleep()
    phones = []
    for port in (free_port(), free_port()):
        phones.append(wire.phone(kamailio, user, "tcp", rfc8599_fcm(), port=port, contact=f"sip:{user}@127.0.0.1:{port}"))
        phones[-1].answers["INVITE"] = (180,)
        phones[-1].register()
    call = wire.call(kamailio, user)
    for phone in phones:
        phone.wait_request("INVITE")
    assert kamailio.rpc("pushwake.trace", user).count("its connection is open") == 2
    assert [simulator.calls(phone.push.token) for phone in phones] == [[], []]
    call.cancel()
    for phone in phones:
        phone.wait_request("CANCEL")


def test_a_connection_from_another_host_than_the_contact_names_shows_nobody_awake(kamailio, wire, simulator):
    """It is that of a proxy which adds no Path: it is open while the phone sleeps."""
    phone = wire.phone(kamailio, "proxied", "tcp", rfc8599_fcm(), contact="sip:proxied@127.0.0.2:9")
    phone.register()
    call = wire.call(kamailio, phone.user)
    simulator.wait_event(phone.push.token, "call")
    assert "its connection is open" not in kamailio.rpc("pushwake.trace", phone.user)
    phone.register()
    phone.wait_request("INVITE")
    call.wait_status(200)
