# SPDX-License-Identifier: MIT
"""Parameters of registrar and tm that change what becomes of a call hold for a held one too."""

import time

import pytest

from phones import rfc8599_fcm
from servers import CALLS, wait_until


def config(*lines):
    return CALLS.read_text().replace("@SETTINGS@", "\n".join(["@SETTINGS@", *lines]))


def test_method_filtering(make_server, wire, simulator):
    """A phone that takes no MESSAGE is not woken for one."""
    server = make_server(config=config('modparam("registrar", "method_filtering", 1)'), wake_timeout=2)
    calls_only = wire.phone(server, "filtered", "udp", rfc8599_fcm())
    calls_only.register(600, None, "Allow: INVITE, ACK, CANCEL, BYE")
    assert wire.caller(server).write("filtered").wait_final().status == 404
    both = wire.phone(server, "filtered", "udp", rfc8599_fcm())
    both.register(600, None, "Allow: INVITE, ACK, CANCEL, BYE, MESSAGE")
    message = wire.caller(server).write("filtered")
    simulator.wait_event(both.push.token, "chat")
    calls_only.register(600, None, "Allow: INVITE, ACK, CANCEL, BYE")
    both.register(600, None, "Allow: INVITE, ACK, CANCEL, BYE, MESSAGE")
    assert message.wait_final().status == 200
    assert calls_only.requests("MESSAGE") == [] and simulator.pushes(calls_only.push.token) == []
    call = wire.call(server, "filtered")
    simulator.wait_event(calls_only.push.token, "call")
    calls_only.register(600, None, "Allow: INVITE, ACK, CANCEL, BYE")
    call.wait_status(200)


@pytest.mark.parametrize("is_blocked", [True, False])
def test_disable_6xx_block(make_server, wire, simulator, is_blocked):
    text = config() if is_blocked else config('modparam("tm", "disable_6xx_block", 1)')
    server = make_server(config=text, wake_timeout=5)
    desk = wire.phone(server, "declines")
    desk.answers["INVITE"] = (603,)
    desk.register()
    mobile = wire.phone(server, "declines", "udp", rfc8599_fcm())
    mobile.register()
    call = wire.call(server, "declines")
    if is_blocked:
        assert call.wait_final(1).status == 603
        return
    simulator.wait_event(mobile.push.token, "call")
    time.sleep(0.2)
    assert call.final is None
    mobile.register()
    assert call.wait_final().status == 200


@pytest.mark.parametrize("is_checked", [True, False])
def test_path_check_local(make_server, wire, simulator, is_checked):
    """A Path whose first hop is this server itself: with the parameter it is passed over."""
    server = make_server(
        config=config(f'modparam("registrar", "path_check_local", {int(is_checked)})'), wake_timeout=5)
    phone = wire.phone(server, "path", "udp", rfc8599_fcm())
    edge = wire.phone(server, "edge")
    path = f"Path: <sip:127.0.0.1:{server.port};lr>, <sip:127.0.0.1:{edge.endpoint.port};lr>"
    phone.register(600, None, path, "Supported: path")
    call = wire.call(server, "path")
    simulator.wait_event(phone.push.token, "call")
    phone.register(600, None, path, "Supported: path")
    if is_checked:
        invite = edge.wait_request("INVITE")
        assert [r for r in invite.headers("Route") if str(server.port) in r] == []
        call.wait_status(200)
    else:
        time.sleep(0.3)
        assert edge.requests("INVITE") == []
        call.cancel()


def test_a_parameter_that_is_changed_while_it_runs(make_server, wire, simulator):
    server = make_server(config=config().replace('loadmodule "ctl.so"', 'loadmodule "ctl.so"\nloadmodule "cfg_rpc.so"'), wake_timeout=5)
    for number, (value, called) in enumerate([(0, "MIXED-0"), (1, "Mixed-1"), (0, "MIXED-2")]):
        assert server.rpc("cfg.set_now_int", "registrar", "case_sensitive", value) is not None
        phone = wire.phone(server, f"Mixed-{number}", "udp", rfc8599_fcm())
        phone.register()
        phone.sleep()
        call = wire.call(server, called)
        simulator.wait_event(phone.push.token, "call")
        wire.wake(phone)
        call.wait_status(200)


def test_use_expired_contacts(make_server, wire, simulator):
    """What lookup() would ring rings beside a phone that sleeps as well."""
    server = make_server(config=config('modparam("registrar", "use_expired_contacts", 1)'), wake_timeout=5)
    desk = wire.phone(server, "expired")
    desk.answers["INVITE"] = (180,)
    desk.register(1)
    mobile = wire.phone(server, "expired", "udp", rfc8599_fcm())
    mobile.register()
    wait_until("the desk phone has expired", lambda: "Expires: expired" in server.rpc("ul.dump"))
    call = wire.call(server, "expired")
    desk.wait_request("INVITE")
    simulator.wait_event(mobile.push.token, "call")
    mobile.register()
    call.wait_status(200)


def test_another_table_is_another_user(make_server, wire, simulator):
    """The same name in a second location table: its REGISTER releases nothing of the first."""
    text = config().replace('pushwake_save("location");', """
    if (is_present_hf("X-Table")) { pushwake_save("tablets"); exit; }
    pushwake_save("location");""")
    server = make_server(config=text, wake_timeout=3)
    phone = wire.phone(server, "namesake", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(server, "namesake")
    simulator.wait_event(phone.push.token, "call")
    namesake = wire.phone(server, "namesake", "udp", rfc8599_fcm())
    namesake.register(600, None, "X-Table: tablets")
    time.sleep(0.3)
    assert namesake.requests("INVITE") == []
    woken = wire.again(phone)
    woken.register()
    call.wait_status(200)


def test_an_interval_that_the_registrar_shortens_promises_nothing(make_server, wire):
    """RFC 8599, 5.6.1.1: the response is forwarded without sip.pns."""
    server = make_server(config=config('modparam("registrar", "max_expires", 120)'), settings={"min_expires": 300})
    short = wire.phone(server, "shortened", "udp", rfc8599_fcm()).register(600)
    assert short.headers("Feature-Caps") == []
    longer = make_server(config=config('modparam("registrar", "max_expires", 400)'), settings={"min_expires": 300})
    assert wire.phone(longer, "granted", "udp", rfc8599_fcm()).register(600).headers("Feature-Caps")


@pytest.mark.parametrize("phones", [1, 2])
def test_xavp_rcd(make_server, wire, phones):
    text = config('modparam("registrar", "xavp_rcd", "ulrcd")').replace("X-Route: named $T_branch_idx", "X-Route: $xavp(ulrcd[0]=>contact)")
    server = make_server(config=text)
    made = [wire.phone(server, "told", "tcp", rfc8599_fcm()) for _ in range(phones)]
    for phone in made:
        phone.register()
    call = wire.call(server, "told", "X-Branch: yes")
    told = [phone.wait_request("INVITE").headers("X-Route")[0] for phone in made]
    assert any(told[0].startswith(phone.uri) for phone in made) and len(set(told)) == 1
    call.wait_status(200)


def test_a_script_that_replies_itself_does_so_for_a_refusal_too(make_server, wire):
    """Flag 2 of save(): no reply."""
    script = CALLS.read_text().replace(
        '    pushwake_save("location");\n',
        '    if (!pushwake_save("location", "2")) { sl_send_reply("403", "Mine"); exit; }\n    sl_send_reply("200", "Mine");\n')
    server = make_server(config=script, settings={"min_expires": 900})
    phone = wire.phone(server, "own-reply", "udp", rfc8599_fcm())
    phone.register(1800)
    phone.send_register(60)
    server.wait_log("not saved; the script replies: 423")
    phone.endpoint.wait_for("403", lambda reply: reply.status == 403)
    assert [reply.status for reply in phone.endpoint.messages if not reply.sent] == [200, 403]


@pytest.mark.parametrize("phones", [1, 2])
def test_a_phone_that_wakes_finds_its_own_place(make_server, wire, simulator, phones):
    """As many phones as max_contacts: the woken one takes the place of its own old contact. By +sip.instance the registrar
    knows that by itself; these have none."""
    server = make_server(config=config(f'modparam("registrar", "max_contacts", {phones})'), wake_timeout=5)
    made = [wire.phone(server, "full", "udp", rfc8599_fcm(), instance="") for _ in range(phones)]
    for phone in made:
        phone.register()
        phone.sleep()
    call = wire.call(server, "full")
    simulator.wait_event(made[0].push.token, "call")
    wire.again(made[0]).register()
    call.wait_status(200)


def test_a_full_user_gets_no_phone_more(make_server, wire):
    server = make_server(config=config('modparam("registrar", "max_contacts", 1)'))
    wire.phone(server, "one", "udp", rfc8599_fcm()).register()
    with pytest.raises(AssertionError, match="Too many registered contacts"):
        wire.phone(server, "one", "udp", rfc8599_fcm()).register()


@pytest.mark.parametrize("is_told", [False, True])
def test_case_sensitive(make_server, wire, simulator, is_told):
    """Commands take a user as usrloc's do: capitals count only if the registrar was told so."""
    text = config('modparam("registrar", "case_sensitive", 1)') if is_told else config()
    server = make_server(config=text)
    phone = wire.phone(server, "Ann.Lee", "udp", rfc8599_fcm())
    phone.register()
    stored = "Ann.Lee" if is_told else "ann.lee"
    for typed in ("Ann.Lee", "ann.lee"):
        is_same = typed == stored or not is_told
        for command in ("list", "show"):
            assert (f"aor: {stored}\n" in server.rpc(f"pushwake.{command}", typed)) == is_same
        assert server.rpc("pushwake.send", "chat", typed, "Hello") == ("1\n" if is_same else None)
    assert "removed: 1" in server.rpc("pushwake.remove", "Ann.Lee")
