# SPDX-License-Identifier: MIT
"""An Asterisk and a Kamailio that share push bindings: a call at either rings the phone that registers at the other."""

import re
import time

import pytest
from conftest import ROOT
from gateway_pair import HostSide
from peers.valkey import Valkey
from phones import apns_token, fcm_token
from servers import NODES, Kamailio, wait_until
from sip_phone import Phone
from sleeper import apns, fcm

PAGE = (ROOT / "docs" / "nodes.md").read_text()
FILES = dict(re.findall(r"```\n; /etc/asterisk/(\w+\.conf)[^\n]*\n(.*?)```", PAGE, re.S))
STREAMS = pytest.mark.parametrize("transport", ["udp", "tcp"])


@pytest.fixture(scope="module")
def valkey(tmp_path_factory):
    valkey = Valkey(tmp_path_factory.mktemp("valkey")).start()
    yield valkey
    valkey.stop()


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator, valkey):
    node = Kamailio(tmp_path_factory.mktemp("node"), HostSide(simulator), config=NODES.read_text(), wake_timeout=8)
    node.set_up(store=valkey.url, node_uri=f"sip:127.0.0.1:{node.port}")
    node.start().wait_engine()
    node.wait_log("store: ", "connected")
    yield node
    node.stop()


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk, valkey):
    """With what docs/nodes.md prints; only the addresses are others, which all are of this machine here."""
    node = make_session_asterisk("node", start=False)
    etc = node.host_at / "etc"
    pjsip = (etc / "pjsip.conf").read_text().replace("debug = no", "endpoint_identifier_order = username,ip")
    node.write("pjsip.conf", pjsip + FILES["pjsip.conf"].replace("10.0.0.1,10.0.0.2", "127.0.0.1"))
    node.write("extensions.conf", (etc / "extensions.conf").read_text() + FILES["extensions.conf"])
    with open(etc / "pushwake.conf", "a") as f:
        f.write(f"wake_timeout = 8\nstore = {valkey.url}\nnode_uri = sip:127.0.0.1:{node.sip_port}\n")
    node.start()
    node.wait_engine()
    wait_until("the store is connected", lambda: re.search(r"store: .*connected", node.log()))
    yield node
    node.stop()


class Roamer:
    """A user whose phone registers at one node, sleeps, is pushed by another, and registers where it is told."""

    def __init__(self, phones, simulator, user, transport, gets_texts):
        self.phones, self.simulator, self.user, self.transport = phones, simulator, user, transport
        # What has a token for PushKit alone gets calls alone.
        self.token, self.parameters = (fcm_token(), fcm) if gets_texts else (apns_token(), apns)
        self.instance = None

    def register(self, address):
        phone = self.phones(self.user, address, self.transport)
        phone.instance = self.instance = self.instance or phone.instance
        phone.register_at = time.monotonic()
        assert phone.register(self.parameters(self.token)).status == 200
        return phone

    def sleep_at(self, address):
        self.register(address).close()
        # Of a phone that registered elsewhere a moment ago it is not known that it sleeps.
        time.sleep(2.1)

    def wait_push(self):
        self.simulator.wait_push(self.token)


@pytest.fixture
def roamer(phones, simulator, user):
    return lambda transport="udp", gets_texts=False: Roamer(phones, simulator, user, transport, gets_texts)


@pytest.fixture
def pairs(asterisk, kamailio):
    """Where the call is and where the phone is."""
    here, there = asterisk.address, ("127.0.0.1", kamailio.port)
    return {"asterisk to kamailio": (here, there), "kamailio to asterisk": (there, here)}


WAYS = pytest.mark.parametrize("way", ["asterisk to kamailio", "kamailio to asterisk"])


def caller(phones, here, way):
    """One that the Asterisk knows, or one that is none of its own."""
    return phones("caller" if way.startswith("asterisk") else "alice", here)


def begin(pairs, way, phones, roamer, user, transport="udp"):
    """A call for a phone that sleeps at the other node, and wakes there."""
    here, there = pairs[way]
    phone = roamer(transport)
    phone.sleep_at(there)
    call = caller(phones, here, way).call(user)
    phone.wait_push()
    awake = phone.register(there)
    invite = awake.expect_request("INVITE")
    print(f"{way}, {transport}: REGISTER to INVITE {(invite.at - awake.register_at) * 1000:.1f} ms")
    assert invite.at - awake.register_at < 2
    assert f"127.0.0.1:{there[1]};" in invite["Via"], "it came another way"
    return call, phone, awake, invite


@WAYS
@STREAMS
def test_a_phone_that_registers_at_the_other_node_rings(pairs, phones, roamer, user, way, transport):
    call, phone, awake, invite = begin(pairs, way, phones, roamer, user, transport)
    assert phone.token not in invite.raw and "pn-prid" not in invite.raw
    awake.ring(invite)
    call.expect(180)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    assert len([push for push in phone.simulator.pushes(phone.token) if '"call"' in str(push).replace("'", '"')]) == 1


def test_a_phone_that_rings_is_not_rung_once_more_by_a_new_engine(asterisk, pairs, phones, roamer, user):
    """It finds that the phone has registered since the call came, and hears of the leg that is out to it."""
    call, _, awake, invite = begin(pairs, "asterisk to kamailio", phones, roamer, user)
    awake.ring(invite)
    call.expect(180)
    killed = asterisk.engine_pid()
    asterisk.kill_engine()
    wait_until("the next engine", lambda: asterisk.engine_pid() not in (0, killed), 10)
    assert awake.gets_nothing("INVITE", 1)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")


def test_a_phone_that_comes_to_the_other_node_while_no_engine_is_here(asterisk, pairs, phones, roamer, user):
    here, there = pairs["asterisk to kamailio"]
    phone = roamer()
    phone.sleep_at(there)
    call = caller(phones, here, "asterisk").call(user)
    phone.wait_push()
    asterisk.kill_engine()
    awake = phone.register(there)
    awake.ring(awake.expect_request("INVITE"))
    call.expect(180)
    call.cancel()


@WAYS
def test_the_phone_hangs_up(pairs, phones, roamer, user, way):
    call, _, awake, invite = begin(pairs, way, phones, roamer, user)
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    assert awake.end(invite).status == 200
    call.phone.reply(call.phone.expect_request("BYE"), 200, "OK")


@WAYS
def test_the_caller_gives_up(pairs, phones, roamer, user, way):
    call, _, awake, invite = begin(pairs, way, phones, roamer, user)
    awake.ring(invite)
    call.expect(180)
    call.cancel()
    awake.reply(awake.expect_request("CANCEL"), 200, "OK")
    awake.reply(invite, 487, "Request Terminated")


@WAYS
def test_the_phone_is_busy(pairs, phones, roamer, user, way):
    call, _, awake, invite = begin(pairs, way, phones, roamer, user)
    awake.reply(invite, 486, "Busy Here")
    call.expect_final(486)


def test_a_phone_that_has_registered_at_a_kamailio_a_moment_ago_rings_at_once(pairs, phones, roamer, user):
    here, there = pairs["asterisk to kamailio"]
    awake = roamer().register(there)
    began = time.monotonic()
    call = phones("caller", here).call(user)
    assert awake.expect_request("INVITE", 2).at - began < 1
    call.cancel()


def test_a_phone_that_has_left_asterisk_meanwhile_is_not_there(asterisk, phones, user):
    route = f"<sip:127.0.0.1:{asterisk.sip_port};lr;aor={user};received=sip:127.0.0.1:9>"
    call = phones("a-node", asterisk.address).call(f"{user}-gone", [("Route", route)])
    call.expect_final(480)
    asterisk.wait_log("not registered here any more")


def test_what_is_no_node_reaches_nobody(asterisk, phones, user):
    phone = phones(user, asterisk.address)
    assert phone.register().status == 200
    route = f"<sip:127.0.0.1:{asterisk.sip_port + 1};lr;aor={user}>"
    call = phones("a-node", asterisk.address).call(user, [("Route", route)])
    call.expect_final(480)
    assert phone.gets_nothing("INVITE", 0.2)


# ---- MESSAGEs


@WAYS
@STREAMS
def test_a_message_reaches_a_phone_that_wakes_at_the_other_node(asterisk, pairs, phones, roamer, user, way, transport):
    here, there = pairs[way]
    phone = roamer(transport, gets_texts=True)
    phone.sleep_at(there)
    sender = phones("caller" if way.startswith("asterisk") else "alice", here)
    request = sender.begin_message(held_by_asterisk(asterisk, user) if way.startswith("asterisk") else user, "Are you up?")
    phone.wait_push()
    awake = phone.register(there)
    message = awake.expect_request("MESSAGE")
    assert message.body == "Are you up?" and message["Content-Type"] == "text/plain"
    assert f"127.0.0.1:{there[1]};" in message["Via"], "it came another way"
    assert not message.all("Route") and phone.token not in message.raw
    awake.reply(message, 200, "OK")
    # An Asterisk that holds a MESSAGE has accepted it long ago.
    assert sender.expect_response(request, "MESSAGE").status == (202 if way.startswith("asterisk") else 200)
    assert awake.gets_nothing("MESSAGE", 0.7), "sent twice"


def held_by_asterisk(asterisk, user):
    """An extension that waits with a MESSAGE until a phone of this user wakes; it sends as docs/asterisk-pushwake.md prints."""
    with open(asterisk.host_at / "etc/extensions.conf", "a") as f:
        f.write(f"[messages](+)\nexten => wait-{user},1,PushWake({user},10,m)\n same => n,Goto({user},next)\n")
    asterisk.cli("dialplan reload")
    return f"wait-{user}"


def test_what_the_phone_says_of_a_message_goes_back_to_its_node(pairs, phones, roamer, user):
    here, there = pairs["kamailio to asterisk"]
    phone = roamer(gets_texts=True)
    phone.sleep_at(there)
    sender = phones("alice", here)
    request = sender.begin_message(user, "Are you up?")
    phone.wait_push()
    awake = phone.register(there)
    awake.reply(awake.expect_request("MESSAGE"), 603, "Decline")
    assert sender.expect_response(request, "MESSAGE").status == 603


def test_a_message_that_is_sent_again_reaches_the_phone_once(asterisk, phones, user):
    phone = phones(user, asterisk.address)
    assert phone.register().status == 200
    node = phones("a-node", asterisk.address)
    route = ("Route", f"<sip:127.0.0.1:{asterisk.sip_port};lr;aor={user};received=sip:127.0.0.1:9>")
    text = "x" * 900
    request = node.begin_message(phone.contact, text, [route])
    message = phone.expect_request("MESSAGE")
    assert message.body == text and int(message["Max-Forwards"]) == 69
    node.repeat()
    phone.reply(message, 200, "OK")
    assert node.expect_response(request, "MESSAGE").status == 200
    node.repeat()
    assert node.expect_response(request, "MESSAGE").status == 200
    assert phone.gets_nothing("MESSAGE", 0.3)


def test_a_message_for_a_phone_that_has_left_asterisk_is_not_taken(asterisk, phones, user):
    node = phones("a-node", asterisk.address)
    route = ("Route", f"<sip:127.0.0.1:{asterisk.sip_port};lr;aor={user};received=sip:127.0.0.1:9>")
    request = node.begin_message(f"sip:{user}-gone@127.0.0.1:9", "hello", [route])
    assert node.expect_response(request, "MESSAGE").status == 480


def test_a_message_of_another_node_that_names_no_phone_is_refused(asterisk, phones, user):
    """202 would say that the phone gets it."""
    assert phones("a-node", asterisk.address).message(user, "hello").status == 404


def test_a_phone_cannot_send_messages_past_the_dialplan(asterisk, phones, user):
    """As a node does: its endpoint has another message_context."""
    phone = phones(user, asterisk.address)
    contact = f"sip:nobody@127.0.0.1:{phone.port}"
    assert phone.register(contact=contact).status == 200
    caller = phones("caller", asterisk.address)
    route = ("Route", f"<sip:127.0.0.1:{asterisk.sip_port};lr;aor={user};received=sip:127.0.0.1:9>")
    request = caller.begin_message(contact, "hello", [route])
    assert caller.expect_response(request, "MESSAGE").status == 404
    assert phone.gets_nothing("MESSAGE", 0.3)


@STREAMS
def test_a_call_waits_for_a_server_that_stands_still(asterisk, phones, roamer, user, valkey, transport):
    phone = roamer(transport)
    phone.sleep_at(asterisk.address)
    valkey.stand_still()
    try:
        call = caller(phones, asterisk.address, "asterisk").call(user)
        wait_until("it is held", lambda: f"held until the store answers aor={user}" in asterisk.log())
    finally:
        valkey.go_on()
    phone.wait_push()
    awake = phone.register(asterisk.address)
    invite = awake.expect_request("INVITE")
    awake.ring(invite)
    awake.answer(invite)
    call.expect(200)
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
