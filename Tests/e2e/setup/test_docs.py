# SPDX-License-Identifier: MIT
"""The configurations in the documents run as printed."""

import re

import pytest

from phones import mpush_ios, no_push, rfc8599_fcm
from servers import CALLS, ROOT


def configuration(path):
    """The first whole kamailio.cfg of a Markdown file."""
    blocks = re.findall(r"^```\w*\n(#!KAMAILIO.*?)^```", (ROOT / path).read_text(), flags=re.M | re.S)
    assert blocks, f"{path} prints no kamailio.cfg"
    return blocks[0]


@pytest.mark.parametrize("path", ["README.md", "docs/kamailio.md"])
def test_the_printed_configuration_works(make_kamailio, actors, path):
    kamailio = make_kamailio(config=configuration(path), wake_timeout=3).as_printed().start().wait_engine()
    phone = actors.phone(kamailio, "reader", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "reader", "call")
    caller.wait_status(110)
    phone.wait_and_wake()
    caller.finish()
    actors.call(kamailio, "stranger", "call_fails", code=404).finish()
    actors.phone(kamailio, "desk", no_push()).wake().wait_status(200)
    actors.call(kamailio, "desk", "call").finish()


@pytest.mark.parametrize("path", ["README.md", "docs/kamailio.md"])
def test_the_printed_configuration_sends_no_phone_the_route_to_itself(make_kamailio, wire, simulator, path):
    """A caller with an outbound proxy names it so, and a proxy before the phone would follow it back to here."""
    kamailio = make_kamailio(config=configuration(path), wake_timeout=3).as_printed().start().wait_engine()
    phone = wire.phone(kamailio, "routed", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(kamailio, "routed", f"Route: <sip:127.0.0.1:{kamailio.port};lr>")
    simulator.wait_event(phone.push.token, "call")
    assert wire.wake(phone).wait_request("INVITE").headers("Route") == []
    call.wait_status(200)


def names_about_push():
    """All that the table calls so, and any others that begin as they do."""
    table = (ROOT / "Sources/PushWakeCore/Binding/Dialect.swift").read_text()
    table = table[table.index("enum PushParameterName"):]
    names = set(re.findall(r'case \w+ = "([^"]+)"|equalsIgnoringCase\("([^"]+)"\)', table))
    names = {one or other for one, other in names}
    assert len(names) > 25 and {"pn-prid", "x-mpush", "appid"} <= names
    return sorted(names | {"pn-x", "PN-ANY", "push-token-any"})


def test_the_printed_route_keeps_tokens_from_the_caller(make_kamailio, wire):
    """RFC 8599, 13. What leads to the phone stays, and so does its PURR."""
    secrets = "".join(f";{name}=5EC:RET/+" for name in names_about_push() if name != "pn-purr")
    kamailio = make_kamailio(config=configuration("docs/kamailio.md")).as_printed().start().wait_engine()
    phone = wire.phone(kamailio, "private", "tcp")
    phone.register()
    address = phone.uri
    phone.uri += f";pn-purr=00fa{secrets};ob"
    call = wire.call(kamailio, "private")
    assert call.wait_status(200).headers("Contact") == [f"<{address};pn-purr=00fa;ob>"]


@pytest.mark.parametrize("path", ["README.md", "docs/kamailio.md"])
def test_the_printed_configuration_logs_no_token(make_kamailio, wire, path):
    kamailio = make_kamailio(config=configuration(path), wake_timeout=3).as_printed().start().wait_engine()
    phone = wire.phone(kamailio, "discreet", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(kamailio, "discreet")
    call.wait_status(110)
    wire.wake(phone)
    call.wait_status(200)
    assert "discreet" in kamailio.log_text()
    assert phone.push.token not in kamailio.log_text()


KEMI = """
function ksr_request_route() {
    if (KSR.is_method("CANCEL")) { if (KSR.tm.t_check_trans() > 0) { KSR.tm.t_relay(); } return; }
    if (!KSR.is_method("ACK") && KSR.tm.t_check_trans() == 0) { return; }
    if (KSR.siputils.has_totag() > 0) { if (KSR.rr.loose_route() > 0) { KSR.tm.t_relay(); } return; }
    if (KSR.is_method("REGISTER")) { KSR.pushwake.save("location"); return; }
    KSR.rr.record_route();
    var found = KSR.pushwake.lookup("location");
    if (found == 1) { KSR.tm.t_relay(); }
    if (found < 0) { KSR.sl.send_reply(404, "Not Found"); }
}
function asleep(evname) { KSR.notice("KEMI asleep\\n"); }
function result(evname) { KSR.notice("KEMI result " + KSR.pv.get("$pushwake(outcome)") + "\\n"); }
"""

KEMI_CONFIG = """#!KAMAILIO
debug=2
log_stderror=yes
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "siputils.so"
loadmodule "ctl.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "pushwake.so"
loadmodule "app_jsdt.so"
modparam("app_jsdt", "load", "@SCRIPT@")
modparam("usrloc", "preload", "location")
modparam("pushwake", "failure_callback", "asleep")
modparam("pushwake", "event_callback", "result")
cfgengine "jsdt"
"""


def test_javascript_can_do_the_same(make_kamailio, actors, tmp_path):
    script = tmp_path / "kamailio.js"
    script.write_text(KEMI)
    kamailio = make_kamailio(config=KEMI_CONFIG.replace("@SCRIPT@", str(script)), wake_timeout=2)
    kamailio.as_printed().start().wait_engine()
    phone = actors.phone(kamailio, "kemi", mpush_ios())
    phone.register()
    caller = actors.call(kamailio, "kemi", "call")
    caller.wait_status(110)
    phone.wait_and_wake()
    caller.finish()
    kamailio.wait_log("KEMI result accepted")
    phone.stop()
    actors.call(kamailio, "kemi", "call_fails", code=480).finish()
    kamailio.wait_log("KEMI asleep")


def test_the_printed_group_rings_who_is_awake_and_wakes_the_others(make_kamailio, wire, simulator):
    group, = re.findall(r"^(route\[GROUP\] \{.*?^\})", (ROOT / "docs/kamailio.md").read_text(), flags=re.M | re.S)
    config = configuration("docs/kamailio.md").replace(
        "    if (is_method(\"REGISTER\"))", '    if ($rU == "sales") { route(GROUP); }\n    if (is_method("REGISTER"))', 1)
    config = config.replace('loadmodule "pushwake.so"', 'loadmodule "corex.so"\nloadmodule "kex.so"\nloadmodule "pushwake.so"', 1)
    config += "\n" + group.replace("127.0.0.1:5060", "127.0.0.1:@PORT@") + "\n"
    kamailio = make_kamailio(config=config, wake_timeout=3)
    kamailio.as_printed().start().wait_engine()
    for awake, sleeping in (("anna", "bert"), ("bert", "anna")):
        desk = wire.phone(kamailio, awake)
        desk.answers["INVITE"] = (180,)
        desk.register()
        mobile = wire.phone(kamailio, sleeping, "udp", rfc8599_fcm())
        mobile.register()
        mobile.sleep()
        call = wire.call(kamailio, "sales")
        desk.wait_request("INVITE")
        simulator.wait_event(mobile.push.token, "call")
        mobile = wire.wake(mobile)
        call.wait_status(200)
        desk.wait_request("CANCEL")
        call.hang_up()
        kamailio.wait_none_held()
        for phone in (desk, mobile):
            phone.unregister()
