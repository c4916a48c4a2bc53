# SPDX-License-Identifier: MIT
"""An Apple token whose phone does not say what it is for: it is used for calls or for alerts, never for both."""

import subprocess

import pytest

from phones import Push, apns_token, mpush_ios
from servers import PUSHWAKE, wait_until


def marked(kind):
    return Push(f"X-MPUSH i: .{kind}", apns_token(), header=f"X-MPUSH: i:com.example.phone.{kind}:@TOKEN@")


def older():
    return Push("push-token-*", apns_token(),
                contact=";push-token-type=ios;push-token-app=com.example.phone;push-token-id=@TOKEN@")


def asleep(wire, server, push):
    phone = wire.phone(server, f"u{push.token[:8]}", "udp", push)
    phone.register()
    phone.sleep()
    return phone


def sent(simulator, token):
    """Event, type and topic of each push; Apple would have taken every one."""
    pushes = simulator.pushes(token)
    assert all(push["status"] == 200 for push in pushes)
    return [(event, push["headers"]["apns-push-type"], push["headers"]["apns-topic"])
            for event, push in zip(simulator.events(token), pushes)]


def call_and_write(wire, server, simulator, push, events):
    """A call that nobody answers, then a message; returns what was pushed, and what the trace says of the message.

    A message that no push can help goes to the last known contact, where nobody answers.
    """
    phone = asleep(wire, server, push)
    assert wire.call(server, phone.user).wait_final().status == 480
    message = wire.caller(server).write(phone.user)
    for event in events:
        simulator.wait_event(push.token, event)
    trace = wait_until("the trace of the message",
                       lambda: [text for text in [server.rpc("pushwake.trace", message.call_id) or ""] if "phone 1 " in text])
    return sent(simulator, push.token), trace[0]


VOIP = [("call", "voip", "com.example.phone.voip")]
ALERT = [("call", "alert", "com.example.phone"), ("chat", "alert", "com.example.phone")]


@pytest.mark.parametrize("settings, push, pushes", [
    pytest.param({}, mpush_ios(), VOIP, id="by default calls, as with Mizutech's apps"),
    pytest.param({}, older(), VOIP, id="in the older form too"),
    pytest.param({"apns_token_kind": "alert"}, mpush_ios(), ALERT, id="alerts by setting"),
    pytest.param({"apns_push_type": "alert"}, mpush_ios(), ALERT, id="alerts by apns_push_type"),
    pytest.param({"apns_push_type": "alert", "apns_token_kind": "voip"}, mpush_ios(), VOIP, id="calls all the same"),
    pytest.param({"apns_token_kind": "alert"}, marked("voip"), VOIP, id="calls, as the phone says"),
    pytest.param({}, marked("remote"), ALERT, id="alerts, as the phone says"),
])
def test_a_token_has_one_kind(make_server, wire, simulator, settings, push, pushes):
    server = make_server(settings=settings, wake_timeout=1)
    found, trace = call_and_write(wire, server, simulator, push, [event for event, _, _ in pushes])
    assert [one for one in found if one[0] in ("call", "chat")] == pushes, "the missed call may come before the text or after"
    assert {kind for _, kind, _ in found} == {kind for _, kind, _ in pushes}
    refused = "is not pushed: a token that counts as PushKit's may only get calls (apns_token_kind)"
    assert (refused in trace) == (pushes is VOIP)


def test_a_changed_setting_counts_for_phones_that_sleep(make_engine, make_kamailio, wire, simulator):
    engine = make_engine(**simulator.settings())
    socket = engine.settings.parent / "engine.sock"
    server = make_kamailio(settings={"engine_mode": "external", "engine_socket": str(socket)}, wake_timeout=1)
    server.start().wait_engine()
    push = mpush_ios()
    phone = asleep(wire, server, push)
    assert "counts as PushKit's" in server.complaint("pushwake.send", "chat", phone.user) and simulator.pushes(push.token) == []
    engine.settings.write_text(engine.settings.read_text() + "apns_token_kind = alert\n")
    assert "taken: apns_token_kind: the new value" in server.rpc("pushwake.reload")
    assert server.rpc("pushwake.send", "chat", phone.user).strip() == "1"
    simulator.wait_event(push.token, "chat")
    assert sent(simulator, push.token) == ALERT[1:]


def test_by_hand_a_text_goes_to_any_token(make_engine, simulator):
    """Who sends by hand says by that what the token is for; a call goes as the setting says."""
    engine = make_engine(apns_token_kind="alert", **simulator.settings())
    token = apns_token()
    for event in ("call", "chat"):
        subprocess.run([PUSHWAKE, "send", event, "--platform", "i", "--package", "com.example.phone", "--token", token,
                        "--settings", engine.settings], check=True, capture_output=True)
    assert [kind for _, kind, _ in sent(simulator, token)] == ["alert", "alert"]
