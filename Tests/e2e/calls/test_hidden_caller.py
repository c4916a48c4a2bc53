# SPDX-License-Identifier: MIT
"""A push names whom the phone will see, and nobody who does not want to be named."""

import json
import re

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import CONFIG, wait_until

HIDDEN = "anonymous"
CHANGES = {
    "uac_replace_from": 'uac_replace_from("Anonymous", "sip:anonymous@anonymous.invalid");',
    "$fu": '$fn = "Anonymous"; $fu = "sip:hidden@example.org";',
    "$fU": '$fn = "Anonymous"; $fU = "hidden";',
    "subst_hf": 'subst_hf("From", "/^.*<sip:[^@]*@(.*)$/\\"Anonymous\\" <sip:hidden@\\1/", "a");',
    "remove_hf": 'remove_hf("From"); insert_hf("From: \\"Anonymous\\" <sip:hidden@example.org>;tag=$ft\\r\\n", "Call-ID");',
    "append_hf": 'remove_hf("From"); append_hf("X-Before: 1\\r\\nFrom: <sip:hidden@example.org>;tag=$ft\\r\\n");',
    "Privacy": 'append_hf("Privacy: id\\r\\n");',
    "msg_apply_changes": '$fn = "Anonymous"; $fu = "sip:hidden@example.org"; msg_apply_changes();',
}


def config(change):
    """What the tests run, with a script that hides callers of users whose names begin with `hidden`."""
    text = CONFIG.read_text().replace('loadmodule "@PUSHWAKE@"', "".join(
        f'loadmodule "{name}.so"\n' for name in ("textopsx", "uac")) + 'modparam("uac", "restore_mode", "none")\nloadmodule "@PUSHWAKE@"')
    line = '    if (is_method("INVITE")) { record_route();'
    return text.replace(line, f'    if (is_method("INVITE") && $rU =~ "^hidden") {{ {change} }}\n{line}', 1)


def from_of(message):
    return re.match(r'\s*"?([^"<]*?)"?\s*<sip:(?:([^@>]*)@)?', message.headers("From")[0]).groups()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_push_names_whom_the_phone_sees(make_kamailio, wire, simulator, change):
    server = make_kamailio(config=config(change), wake_timeout=8)
    server.start().wait_engine()
    for user, is_hidden in (("hidden", True), ("shown", False)):
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        call = wire.caller(server, name="realuser", display='"Real Name" ').call(user)
        push = simulator.wait_push(phone.push.token)
        invite = wire.wake(phone).wait_request("INVITE")
        call.wait_status(200)
        text = json.dumps(push["body"])
        assert ("Real Name" in text or "realuser" in text) != is_hidden, text
        trace = server.rpc("pushwake.trace", call.call_id)
        assert ("realuser" in trace) != is_hidden, trace
        if is_hidden and "Privacy" not in change:
            name, user = from_of(invite)
            assert f"sip:{user}@" in text and "realuser" not in (name, user)
        call.hang_up()


def test_a_phone_that_comes_after_the_end_sees_no_more(make_kamailio, wire, simulator):
    server = make_kamailio(config=config(CHANGES["$fu"]), wake_timeout=8)
    server.start().wait_engine()
    phone = wire.phone(server, "hidden-late", "udp", rfc8599_apns())
    phone.register()
    phone.sleep()
    call = wire.caller(server, name="realuser", display='"Real Name" ').call("hidden-late")
    simulator.wait_push(phone.push.token)
    call.cancel()
    call.wait_final()
    invite = wire.wake(phone).wait_request("INVITE")
    assert "realuser" not in invite.text and "Real Name" not in invite.text
    assert "realuser" not in json.dumps(simulator.pushes(phone.push.token))


def test_a_push_of_the_script_names_nobody_else(make_kamailio, wire, simulator):
    server = make_kamailio(config=config(CHANGES["uac_replace_from"]).replace('$rU =~ "^hidden"', '$rU =~ "hidden"'), wake_timeout=8)
    server.start().wait_engine()
    for user, is_hidden in (("hidden", True), ("shown", False)):
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        wire.caller(server, name="realuser", display='"Real Name" ').call(f"push-{user}")
        push = json.dumps(simulator.wait_push(phone.push.token)["body"])
        assert ("Real Name" in push or "realuser" in push) != is_hidden, push


@pytest.mark.parametrize("value, is_hidden", [
    ("id", True), ("header;user", True), ("user;critical", True), ("none", False), ("session", False)])
def test_privacy_is_heeded(kamailio, wire, simulator, value, is_hidden):
    user = f"private-{re.sub('[^a-z]', '-', value)}"
    phone = wire.phone(kamailio, user, "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    wire.caller(kamailio, name="realuser", display='"Real Name" ').call(user, f"Privacy: {value}")
    push = json.dumps(simulator.wait_push(phone.push.token)["body"])
    assert ("Real Name" in push or "realuser" in push) != is_hidden, push
    assert (HIDDEN in push) == is_hidden


def test_hidden_callers_are_told_apart_by_limits(make_kamailio, wire, simulator):
    """One who calls without end keeps no other one from waking the phone."""
    server = make_kamailio(settings={"caller_pushes": 2, "ignore_same": 0, "device_pushes": 0, "aor_pushes": 0}, wake_timeout=8)
    server.start().wait_engine()
    phone = wire.phone(server, "popular", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    flood = wire.caller(server, name="flood")
    for _ in range(6):
        flood.call("popular", "Privacy: id")
    wait_until("his two pushes", lambda: len(simulator.calls(phone.push.token)) == 2)
    wire.caller(server, name="honest").call("popular", "Privacy: id")
    wait_until("the third", lambda: len(simulator.calls(phone.push.token)) == 3, 4)
