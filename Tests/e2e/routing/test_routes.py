# SPDX-License-Identifier: MIT
"""Which routes run for phones that join late, and whose."""

import os
import re
import socket

import pytest

from phones import rfc8599_apns, rfc8599_fcm
from servers import CALLS, KAMAILIO_ROOT

DEFAULT = """
branch_route[PUSHWAKE] {
    append_hf("X-Route: default\\r\\n");
}
"""


def called(server, wire, simulator, user, *headers):
    """A phone that sleeps, is called and wakes; the INVITE that it gets."""
    phone = wire.phone(server, user, "udp", rfc8599_fcm())
    phone.register()
    call = wire.call(server, user, *headers)
    simulator.wait_event(phone.push.token, "call")
    phone.register()
    invite = phone.wait_request("INVITE")
    call.wait_status(200)
    return invite


def test_a_branch_route_runs_for_the_call_it_was_set_for_and_no_other(make_server, wire, simulator):
    server = make_server(wake_timeout=5)
    for number in range(8):
        invite = called(server, wire, simulator, f"own-{number}", "X-Branch: yes")
        assert len(invite.headers("X-Route")) == 1 and invite.headers("X-Route")[0].startswith("named")
        assert called(server, wire, simulator, f"other-{number}").headers("X-Route") == []


def test_a_call_without_one_runs_the_default(make_server, wire, simulator):
    server = make_server(config=CALLS.read_text() + DEFAULT, wake_timeout=5)
    for number in range(4):
        assert called(server, wire, simulator, f"plain-{number}").headers("X-Route") == ["default"]
        invite = called(server, wire, simulator, f"own-{number}", "X-Branch: yes")
        assert len(invite.headers("X-Route")) == 1 and invite.headers("X-Route")[0].startswith("named")


def test_a_phone_that_joins_what_rings_runs_it_too(make_server, wire, simulator):
    server = make_server(wake_timeout=5)
    desk = wire.phone(server, "both")
    desk.answers["INVITE"] = (180,)
    desk.register()
    mobile = wire.phone(server, "both", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    call = wire.call(server, "both", "X-Branch: yes")
    assert desk.wait_request("INVITE").headers("X-Route")
    simulator.wait_event(mobile.push.token, "call")
    woken = wire.again(mobile)
    woken.register()
    assert woken.wait_request("INVITE").headers("X-Route")
    call.wait_status(200)


LUA = """
function ksr_request_route()
    if KSR.is_CANCEL() then
        if KSR.tmx.t_precheck_trans() > 0 or KSR.tm.t_check_trans() > 0 then KSR.tm.t_relay() end
        return 1
    end
    if not KSR.is_ACK() then KSR.tm.t_check_trans() end
    if KSR.siputils.has_totag() > 0 then
        if KSR.rr.loose_route() > 0 then KSR.tm.t_relay() end
        return 1
    end
    if KSR.is_REGISTER() then
        KSR.pushwake.save("location")
        return 1
    end
    if KSR.hdr.is_present("X-Branch") > 0 then KSR.tm.t_on_branch("ksr_branch_named") end
    local found = KSR.pushwake.lookup("location")
    if found == 1 then KSR.tm.t_relay() end
    if found < 0 then KSR.sl.send_reply(404, "Not Found") end
    return 1
end

function ksr_branch_named()
    KSR.hdr.append("X-Route: lua\\r\\n")
    return 1
end

function ksr_asleep()
    KSR.info("ASLEEP in Lua\\n")
    if KSR.hdr.is_present("X-Voicemail") > 0 then
        KSR.pushwake.keep_waiting(10)
        KSR.pv.sets("$ru", "sip:voicemail@127.0.0.1:" .. KSR.hdr.get("X-Voicemail"))
        KSR.tm.t_relay()
    end
    return 1
end

function ksr_result(event)
    KSR.info("RESULT in Lua\\n")
    return 1
end
"""


@pytest.fixture(scope="module")
def lua(make_lua):
    return make_lua(LUA)


@pytest.fixture(scope="module")
def make_lua(make_server, tmp_path_factory):
    return lambda text, **options: serve_lua(make_server, tmp_path_factory, text, **options)


def serve_lua(make_server, tmp_path_factory, text, is_loaded_first=False):
    script = tmp_path_factory.mktemp("lua") / "routes.lua"
    script.write_text(text)
    config, _ = CALLS.read_text().split("request_route {", 1)
    modules = ['loadmodule "@PUSHWAKE@"', 'loadmodule "app_lua.so"']
    order = "\n".join(reversed(modules) if is_loaded_first else modules)
    config = config.replace('loadmodule "@PUSHWAKE@"', f'''{order}
modparam("app_lua", "load", "{script}")
modparam("usrloc", "preload", "location")
modparam("pushwake", "failure_callback", "ksr_asleep")
modparam("pushwake", "event_callback", "ksr_result")''')
    return make_server(config=config + '\ncfgengine "lua"\n', wake_timeout=2)


def test_in_lua_too(lua, wire, simulator):
    for number in range(4):
        assert called(lua, wire, simulator, f"own-{number}", "X-Branch: yes").headers("X-Route") == ["lua"]
        assert called(lua, wire, simulator, f"other-{number}").headers("X-Route") == []
    lua.wait_log("RESULT in Lua")


def test_in_lua_loaded_before_pushwake(make_lua, wire, simulator):
    """The core loads app_lua.so for all to see: what it exports must not stand for what pushwake.so exports."""
    server = make_lua(LUA, is_loaded_first=True)
    called(server, wire, simulator, "after-lua")
    server.wait_none_held()  # asks for the statistics, which bear the module's name


def test_in_lua_a_late_phone_rings_beside_voicemail(lua, wire):
    voicemail = wire.phone(lua, "voicemail")
    voicemail.answers["INVITE"] = (183,)
    phone = wire.phone(lua, "late", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(lua, phone.user, f"X-Voicemail: {voicemail.endpoint.port}")
    voicemail.wait_request("INVITE")
    wire.again(phone).register()
    call.wait_status(200)
    voicemail.wait_request("CANCEL")


def test_in_lua_nobody_wakes(lua, wire, simulator):
    phone = wire.phone(lua, "asleep", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(lua, phone.user)
    assert call.wait_final().status == 480
    lua.wait_log("ASLEEP in Lua")


def test_in_lua_a_script_that_relays_whatever_was_found(make_lua, wire, simulator):
    """As Kamailio's own kamailio-basic-kemi-lua.lua does, with t_on_branch() and an error reply in its relay route."""
    text = LUA.replace("""    if KSR.hdr.is_present("X-Branch") > 0 then KSR.tm.t_on_branch("ksr_branch_named") end
""", "").replace("    if found == 1 then KSR.tm.t_relay() end\n", """    if found > 0 then
        KSR.tm.t_on_branch("ksr_branch_named")
        if KSR.tm.t_relay() < 0 then KSR.sl.sl_reply_error() end
    end
""")
    server = make_lua(text)
    for number in range(3):
        user = f"relayed-{number}"
        assert called(server, wire, simulator, user).headers("X-Route") == ["lua"]
        assert (server.rpc("pushwake.trace", user) or "").count("INVITE") == 1
    server.wait_none_held()


def test_what_the_branch_route_of_a_late_phone_logs_bears_the_prefix_of_its_call(make_server, wire, simulator):
    config = CALLS.read_text().replace("debug=2", 'debug=2\nlog_prefix="<$ci> "') + """
branch_route[PUSHWAKE] {
    xlog("L_NOTICE", "JOINS $ci\\n");
}
"""
    config = config.replace('pushwake_save("location");', 'pushwake_save("location"); xlog("L_NOTICE", "SAVED $ci\\n");')
    server = make_server(config=config, wake_timeout=5)
    for number in range(4):
        invite = called(server, wire, simulator, f"prefix-{number}")
        call_id = invite.headers("Call-ID")[0]
        assert f"<{call_id}>" in server.wait_log("JOINS", call_id)
    # What the same worker says of the REGISTER after that bears the REGISTER's.
    saved = [line for line in server.log_text().splitlines() if "SAVED" in line]
    assert len(saved) == 8 and all(f"<{line.split()[-1]}>" in line for line in saved)


def test_a_branch_route_holds_nothing(make_server, wire, simulator):
    """The parser cannot tell: it calls a route that is right elsewhere."""
    config = CALLS.read_text().replace("branch_route[NAMED] {", """
route[WAKE] {
    pushwake_in_dialog();
    pushwake_lookup("location");
    pushwake_save_upstream("location");
}

branch_route[NAMED] {
    route(WAKE);""").replace("            pushwake_in_dialog(); ", '            t_on_branch("NAMED"); ')
    server = make_server(config=config, settings={"purr": 1}, wake_timeout=5)
    phone = wire.phone(server, "branched", "udp", rfc8599_fcm())
    purr = re.search(r'[+]sip[.]pnspurr="([^"]+)"', phone.register().headers("Feature-Caps")[0])[1]
    phone.uri += f";pn-purr={purr}"
    phone.answers["INFO"] = (200,)
    call = wire.call(server, "branched")
    call.wait_status(110)
    phone.register()
    call.wait_status(200)
    assert call.wait_answer_to(call.request("INFO")).status == 200
    assert len(simulator.pushes(phone.push.token)) == 1
    for name in ("pushwake_in_dialog", "pushwake_lookup", "pushwake_save_upstream"):
        server.wait_log(f"{name}() is for a request_route")
    assert "CRITICAL" not in server.log_text()


def hears_soon(server, wire, user):
    """The caller of a sleeping phone hears that it is pushed, and the phone rings, within a second and a half."""
    phone = wire.phone(server, user, "udp", rfc8599_fcm())
    phone.register()
    call = wire.call(server, user)
    call.wait_status(110, 1.5)
    phone.register()
    call.wait_status(200, 1.5)
    call.hang_up()


def test_a_slow_failure_route_of_serial_forking_delays_no_other_call(make_server, wire):
    text = CALLS.read_text().replace("@SETTINGS@", 'loadmodule "cfgutils.so"\n@SETTINGS@')
    text = text.replace('"UNANSWERED $rU $T_reply_code\\n");', '"UNANSWERED $rU $T_reply_code\\n"); usleep("2500000");')
    server = make_server(config=text, wake_timeout=20)
    for parameters, answers in ((";q=0.9", ()), (";q=0.5", (180,))):
        desk = wire.phone(server, "serial")
        (desk.parameters, desk.answers["INVITE"]) = (parameters, answers)
        desk.register()
    mobile = wire.phone(server, "serial", "udp", rfc8599_fcm())
    mobile.register()
    mobile.sleep()
    wire.call(server, "serial", "X-Serial: 1", "X-Fr: 1500", "X-Fr-Inv: 20000")
    server.wait_log("UNANSWERED serial", seconds=8)
    hears_soon(server, wire, "somebody")
    desk.wait_request("INVITE")


def test_phones_that_register_while_a_failure_route_runs_block_no_worker(make_server, wire):
    text = CALLS.read_text().replace("@SETTINGS@", 'loadmodule "cfgutils.so"\n@SETTINGS@')
    text = text.replace('"ASLEEP $rU\\n");', '"ASLEEP $rU\\n"); pushwake_keep_waiting("10"); usleep("3000000");')
    server = make_server(config=text, wake_timeout=2)
    phones = [wire.phone(server, "late", "udp", rfc8599_fcm()) for _ in range(3)]
    for phone in phones:
        phone.register()
        phone.sleep()
    desk = wire.phone(server, "other")
    desk.register()
    voicemail = wire.phone(server, "voicemail")
    voicemail.answers["INVITE"] = (180,)
    wire.call(server, "late", f"X-Voicemail: {voicemail.endpoint.port}")
    server.wait_log("ASLEEP late", seconds=8)
    woken = [wire.again(phone) for phone in phones]
    for phone in woken:
        phone.send_register()
    call = wire.call(server, "other")
    assert call.wait_status(180).at - call.sent_at < 1
    for phone in woken:
        phone.wait_request("INVITE")


def test_serial_forking_beside_a_sleeper_goes_on_from_one_desk_to_the_next(make_server, wire):
    server = make_server(wake_timeout=30)
    for number in range(4):
        user = f"row-{number}"
        mobile = wire.phone(server, user, "udp", rfc8599_fcm())
        mobile.register()
        mobile.sleep()
        desks = [wire.phone(server, user) for _ in range(6)]
        for place, desk in enumerate(desks):
            desk.parameters, desk.answers["INVITE"] = f";q=0.{9 - place}", () if desk is not desks[-1] else (180,)
            desk.register()
        call = wire.call(server, user, "X-Serial: 1", "X-Fr: 400", "X-Fr-Inv: 20000")
        rung = [desk.wait_request("INVITE").at for desk in desks]
        assert max(later - earlier for earlier, later in zip(rung, rung[1:])) < 2
        call.cancel()


def test_a_slow_failure_route_delays_no_other_call(make_server, wire):
    text = CALLS.read_text().replace("@SETTINGS@", 'loadmodule "cfgutils.so"\n@SETTINGS@')
    text = text.replace('"ASLEEP $rU\\n");', '"ASLEEP $rU\\n"); usleep("2500000");')
    server = make_server(config=text, wake_timeout=1)
    calls = []
    for number in range(2):
        phone = wire.phone(server, f"nobody-{number}", "udp", rfc8599_fcm())
        phone.register()
        calls.append(wire.call(server, phone.user))
    server.wait_log("ASLEEP nobody-")
    hears_soon(server, wire, "somebody")
    assert not any(call.final for call in calls), "the route still runs"
    assert [call.wait_final(8).status for call in calls] == [480, 480]


class Names:
    """A server whose user `named` has a phone under a name of which DNS says nothing. Pushes to his phones are refused."""

    def __init__(self, server, wire, dns):
        self.server, self.wire, self.dns = server, wire, dns
        self.phone(contact="sip:named@phone.nowhere.example:5060")

    def phone(self, **options):
        push = rfc8599_apns()
        push.token = "aa400" + push.token[5:]
        phone = self.wire.phone(self.server, "named", "udp", push, **options)
        phone.register()
        return phone

    def wait_asked(self):
        while b"nowhere" not in self.dns.recv(2000):
            pass


@pytest.fixture
def make_names(make_server, make_provider, wire, tmp_path):
    if KAMAILIO_ROOT is not None:
        pytest.skip("it takes a resolv.conf of its own")
    dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    address = f"127.53.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    dns.bind((address, 53))
    dns.settimeout(5)
    (tmp_path / "resolv.conf").write_text(f"nameserver {address}\n")
    program = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec kamailio "$@"', tmp_path / "resolv.conf")

    def make(**rule):
        provider = make_provider({"token": "aa400*", "status": 400, "reason": "BadDeviceToken", **rule})
        return Names(make_server(provider, program=program, wake_timeout=20), wire, dns)

    with dns:
        yield make


def test_a_name_that_dns_does_not_know_delays_no_other_call(make_names, wire):
    names = make_names()
    call = wire.call(names.server, "named")
    names.wait_asked()
    hears_soon(names.server, wire, "numbered")
    assert call.final is None
    call.cancel()


def test_a_name_that_dns_does_not_know_delays_no_other_phone_of_its_user(make_names, wire):
    names = make_names()
    other = names.phone()
    call = wire.call(names.server, "named")
    names.wait_asked()
    call.wait_status(200, 1.5)
    assert len(other.requests("INVITE")) == 1


def test_a_phone_that_answers_while_dns_is_asked_for_another_blocks_no_worker(make_names, wire):
    names = make_names(delay_ms=500)
    desk = wire.phone(names.server, "named")
    desk.answers["INVITE"] = (180,)
    desk.register()
    call = wire.call(names.server, "named")
    invite = desk.wait_request("INVITE")
    names.wait_asked()
    for _ in range(4):  # there are two workers
        desk.answer(invite, 183)
    hears_soon(names.server, wire, "numbered")
    desk.answer(invite, 200)
    call.wait_status(200, 1.5)
