# SPDX-License-Identifier: MIT
"""What no phone should send is answered as plain Kamailio would, said once, and not stored."""

import uuid

import pytest
from phones import rfc8599_fcm
from sip import register

GOOD = "a" * 64

CASES = {
    "an unfinished Contact": (b"<sip:u@127.0.0.1:5999;pn-provider=apns;pn-param=T.app.voip;pn-prid=" + GOOD.encode(), b"", None),
    "a Contact that is not a URI": (b"<;pn-prid=x>", b"", None),
    "a path in the token": (
        b"<sip:u@127.0.0.1:5999;pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=../../secret>", b"", "pn-prid"),
    "escaped bytes in the token": (
        b"<sip:u@127.0.0.1:5999;pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=%00%0d%0a" + GOOD[:50].encode() + b">",
        b"", "pn-prid"),
    "a token with bytes above 127": (
        b"<sip:u@127.0.0.1:5999>", b"X-MPUSH: i:com.example.phone:\xc3\xa9\xff" + GOOD[:50].encode(), "X-MPUSH"),
    "a NUL in the token": (b"<sip:u@127.0.0.1:5999>", b"X-MPUSH: i:com.example.phone:abc\0def" + GOOD[:50].encode(), "X-MPUSH"),
    "a header of 10 kB": (b"<sip:u@127.0.0.1:5999>", b"X-MPUSH: i:com.example.phone:" + b"a" * 10000, "X-MPUSH"),
    "what JavaScript writes for no token": (
        b"<sip:u@127.0.0.1:5999;pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=undefined>", b"", "pn-prid"),
    "what Objective-C writes for no token": (
        b"<sip:u@127.0.0.1:5999;pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=%28null%29>", b"", "pn-prid"),
    "an empty object for a token": (b"<sip:u@127.0.0.1:5999>", b"X-MPUSH: a:com.example.phone:{}", "X-MPUSH"),
    "an X-MPUSH without a token": (b"<sip:u@127.0.0.1:5999>", b"X-MPUSH: i:com.example.phone", "X-MPUSH"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(kamailio, case):
    contact, extra, parameter = CASES[case]
    user = "bad" + uuid.uuid4().hex[:8]
    _, plain = register(kamailio.port, "plain" + user, contact, extra)
    call_id, answer = register(kamailio.port, user, contact, extra)

    assert answer[0] == plain[0]
    assert not any("sip.pns" in line for line in answer)
    assert user not in (kamailio.rpc("pushwake.list", user) or "")
    if parameter:
        kamailio.wait_log(call_id, "WARNING: pushwake")
        warnings = [line for line in kamailio.log_text().splitlines() if call_id in line and "WARNING: pushwake" in line]
        assert len(warnings) == 1, warnings
        assert user in warnings[0] and parameter.lower() in warnings[0].lower()
    assert kamailio.process.poll() is None


def test_users_whose_names_are_no_text_are_registered_and_called_without_push(kamailio, wire, simulator):
    """Mended, the two names would be one."""
    first, second = (wire.phone(kamailio, user, "udp", rfc8599_fcm()) for user in ("m\udcf6b", "m\udce4b"))  # the bytes F6 and E4
    for phone in (first, second):
        assert phone.register().headers("Feature-Caps") == []
    kamailio.wait_log("REGISTER", "the name is not UTF-8")
    wire.call(kamailio, first.user).wait_status(200)
    second.sleep()
    wire.call(kamailio, second.user)
    second = wire.again(second)
    second.register()
    assert len(first.requests("INVITE")) == 1 and second.requests("INVITE") == []
    assert simulator.pushes(first.push.token) + simulator.pushes(second.push.token) == []


def test_a_call_id_forges_no_other_value_in_the_log(kamailio, wire):
    phone = wire.phone(kamailio, "forger", "udp", call_id="x user=root\x1b[31m")
    phone.send_register(600, "<sip:forger@127.0.0.1:5999;pn-provider=fcm;pn-param=p;pn-prid=%00>")
    kamailio.wait_log('call-id="x user=root?[31m" user=forger ', "pn-prid")
    assert "\x1b" not in kamailio.log_text()
