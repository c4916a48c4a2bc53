# SPDX-License-Identifier: MIT
"""The job: a phone that sleeps is pushed, wakes, registers and rings."""

import json
import time

import pytest

from phones import DIALECTS, Push, apns_token, mpush_ios, no_push, rfc8599_apns, rfc8599_fcm
from servers import Kamailio
from sip import invite

TRANSPORTS = [pytest.param(False, id="udp"), pytest.param(True, id="tcp")]


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator):
    kamailio = Kamailio(tmp_path_factory.mktemp("kamailio"), simulator, settings=simulator.acrobits())
    kamailio.start().wait_engine()
    yield kamailio
    kamailio.stop()


@pytest.mark.parametrize("tcp", TRANSPORTS)
@pytest.mark.parametrize("push", DIALECTS)
def test_a_sleeping_phone_rings(kamailio, actors, simulator, push, tcp):
    user = f"{push.__name__}-{'tcp' if tcp else 'udp'}"
    phone = actors.phone(kamailio, user, push(), tcp=tcp)
    stored = phone.register()
    feature_caps = stored.headers("Feature-Caps")
    if phone.push.sip_pns:
        assert feature_caps and f'+sip.pns="{phone.push.sip_pns}"' in feature_caps[0]
    else:
        assert feature_caps == []

    caller = actors.call(kamailio, user, "call", tcp=tcp)
    caller.wait_status(110)
    awake = phone.wait_and_wake()
    caller.finish()

    assert caller.statuses[:2] == [100, 110]
    assert caller.statuses[2:] == [180, 200, 200]
    assert len(awake.received("INVITE")) == 1
    assert awake.received("ACK") and awake.received("BYE")
    assert len(simulator.pushes(phone.push.token)) == 1
    kamailio.wait_none_held()


@pytest.mark.parametrize("tcp", TRANSPORTS)
def test_nobody_wakes(kamailio, actors, tcp):
    phone = actors.phone(kamailio, f"nobody-{tcp}", mpush_ios(), tcp=tcp)
    phone.register()
    started = time.monotonic()
    caller = actors.call(kamailio, phone.user, "call_fails", tcp=tcp, code=480).finish()
    assert 2.5 < time.monotonic() - started < 5.5
    assert caller.statuses == [100, 110, 480]
    kamailio.wait_log(f"ASLEEP nobody-{tcp}")
    kamailio.wait_none_held()


@pytest.mark.parametrize("tcp", TRANSPORTS)
def test_the_caller_hangs_up_while_it_waits(kamailio, actors, simulator, tcp):
    phone = actors.phone(kamailio, f"cancel-{tcp}", rfc8599_apns(), tcp=tcp)
    phone.register()
    caller = actors.call(kamailio, phone.user, "call_cancelled", tcp=tcp, pause=200).finish()
    assert caller.statuses[-2:] == [487, 200]
    late = phone.wait_and_wake("ring")
    late.wait_status(200)
    # its push made it show a call: it is shown the end (RFC 3326)
    late.wait_request("INVITE")
    assert late.wait_request("CANCEL").headers("Reason") == ['SIP;cause=487;text="Request Terminated"']
    kamailio.wait_none_held()


def test_a_phone_that_was_shown_nothing_hears_nothing_of_a_call_that_is_over(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "cancel-android", rfc8599_fcm())
    phone.register()
    actors.call(kamailio, phone.user, "call_cancelled", pause=200).finish()
    late = phone.wait_and_wake()
    late.wait_status(200)
    time.sleep(0.5)
    assert late.received("INVITE") == []
    kamailio.wait_none_held()


def test_the_end_of_a_call_is_told_with_its_caller(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "told", rfc8599_fcm())
    phone.register()
    actors.call(kamailio, phone.user, "call_cancelled", pause=1500).finish()
    rang = simulator.wait_push(phone.push.token)["body"]["message"]["data"]
    ended = simulator.wait_push(phone.push.token, after=1)["body"]["message"]["data"]
    assert rang["event"] == "call" and ended["event"] == "cancel"
    for name in ("call-id", "from-uri", "from-user", "display-name"):
        assert ended[name] and ended[name] == rang[name], name
    assert "Alice" in ended["title"]


def test_a_user_without_a_push_binding_is_routed_as_ever(kamailio, actors):
    phone = actors.phone(kamailio, "plain", no_push())
    awake = phone.wake()
    awake.wait_status(200)
    caller = actors.call(kamailio, "plain", "call").finish()
    assert 110 not in caller.statuses and caller.statuses[-2:] == [200, 200]


def test_an_unknown_user_gets_404(kamailio, actors):
    actors.call(kamailio, "unknown", "call_fails", code=404).finish()
    kamailio.wait_none_held()


def test_retransmissions_push_once(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "again", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "again", "call_twice", code=480).finish()
    assert caller.statuses.count(480) >= 1
    assert len(simulator.calls(phone.push.token)) == 1


@pytest.mark.parametrize("header", [
    "Replaces: 1@127.0.0.1;to-tag=2;from-tag=3", "Priority: Non-Urgent", "X-fs-message-type: chat-service",
])
def test_what_is_not_for_sleeping_phones_wakes_nobody(kamailio, actors, simulator, header):
    user = "quiet-" + header.split(":")[0].lower()
    phone = actors.phone(kamailio, user, mpush_ios())
    phone.register()
    held = kamailio.held()
    assert invite(kamailio.port, user, header) == 100
    assert kamailio.held() == held
    actors.call(kamailio, user, "call_fails", code=480).finish()
    calls = {push["headers"]["apns-id"] for push in simulator.calls(phone.push.token)}
    assert len(calls) == 1, "only the call that followed is pushed"


def test_an_invitation_to_a_chat_room_is_no_call(kamailio, actors, simulator):
    """iOS kills an app that gets a call's push and shows none."""
    contact = ";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone;pn-prid=@TOKEN@"
    phone = actors.phone(kamailio, "room", Push("remote", apns_token(), contact=contact, sip_pns="apns"))
    phone.register()
    assert invite(kamailio.port, "room", "Content-Type: application/resource-lists+xml;charset=utf-8") == 100
    push = simulator.wait_push(phone.push.token)
    assert push["headers"]["apns-push-type"] == "alert" and "group" in json.dumps(push["body"]).lower(), push


def test_unregistering_releases_nothing(kamailio, actors):
    phone = actors.phone(kamailio, "leaves", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "leaves", "call_fails", code=480)
    caller.wait_status(110)
    joined = kamailio.counter("kamailio_joined")
    phone.register(expires=0)
    caller.finish()
    assert kamailio.counter("kamailio_joined") == joined


def test_a_message_waits_too(kamailio, actors, simulator):
    phone = actors.phone(kamailio, "texts", rfc8599_fcm())
    phone.register()
    sender = actors.call(kamailio, "texts", "message", code=200)
    awake = phone.wait_and_wake("take_message")
    sender.finish()
    assert "are you there?" in awake.received("MESSAGE")[0].text
    assert set(sender.statuses) == {200}


def test_a_message_that_nobody_takes_is_answered_480(kamailio, actors):
    phone = actors.phone(kamailio, "deaf", rfc8599_fcm())
    phone.register()
    sender = actors.call(kamailio, "deaf", "message", code=480).finish()
    assert set(sender.statuses) == {480}
