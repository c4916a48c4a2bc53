# SPDX-License-Identifier: MIT
"""Modules that follow a call from its INVITE on see a held one and its late legs as any other."""

import contextlib
import pathlib
import sqlite3

import pytest

from phones import rfc8599_fcm
from ports import free_port
from servers import CALLS, KAMAILIO_ROOT, stopped, wait_until

TABLES = pathlib.Path(f"{KAMAILIO_ROOT or ''}/usr/share/kamailio/db_sqlite")


def config(modules, *lines, before=""):
    """calls.cfg with these modules, lines of settings, and what its script does with an INVITE before the lookup."""
    loaded = "".join(f'loadmodule "{name}.so"\n' for name in modules)
    text = CALLS.read_text().replace('loadmodule "@PUSHWAKE@"', loaded + 'loadmodule "@PUSHWAKE@"')
    text = text.replace("@SETTINGS@", "\n".join(["@SETTINGS@", *lines]))
    begin = f'    if (is_method("INVITE")) {{ {before} }}\n' if before else ""
    return text.replace("    route(CHOICES);\n", begin + "    route(CHOICES);\n", 1)


@pytest.fixture
def sleeper(wire):
    def make(server, user):
        phone = wire.phone(server, user, "udp", rfc8599_fcm())
        phone.register()
        return phone.sleep()

    return make


def test_dialog_counts_each_call_and_keeps_none(make_server, wire, simulator, sleeper):
    server = make_server(config=config(["dialog"], before="dlg_manage();"), wake_timeout=1)
    phone = sleeper(server, "woken")
    call = wire.call(server, "woken")
    simulator.wait_event(phone.push.token, "call")
    assert "state: 1" in server.rpc("dlg.list"), "a held call has begun and rings nowhere"
    woken = wire.wake(phone)
    call.wait_status(200)
    wait_until("the dialog is confirmed", lambda: "state: 4" in server.rpc("dlg.list"))
    call.hang_up()
    woken.wait_request("BYE")
    absent = sleeper(server, "absent")
    assert wire.call(server, "absent").wait_final().status == 480
    left = wire.call(server, "absent")
    simulator.wait_event(absent.push.token, "call", after=1)
    left.cancel()
    assert left.wait_final().status == 487
    wait_until("no dialog is left", lambda: "h_id" not in (server.rpc("dlg.list") or ""), 15)
    server.wait_none_held()


def test_topos_hides_the_phone(make_server, wire, simulator, sleeper, tmp_path):
    database = sqlite3.connect(tmp_path / "topos.sqlite")
    for part in ("standard", "topos"):
        database.executescript((TABLES / f"{part}-create.sql").read_text())
    database.close()
    text = config(["db_sqlite", "topos"], f'modparam("topos", "db_url", "sqlite:///{tmp_path}/topos.sqlite")')
    server = make_server(config=text, wake_timeout=5)
    phone = sleeper(server, "hidden")
    caller = wire.caller(server)
    call = caller.call("hidden")
    simulator.wait_event(phone.push.token, "call")
    woken = wire.wake(phone)
    invite = woken.wait_request("INVITE")
    answer = call.wait_status(200)
    assert str(caller.endpoint.port) not in "".join(invite.headers("Via") + invite.headers("Contact"))
    assert str(woken.endpoint.port) not in answer.headers("Contact")[0]
    call.hang_up()
    woken.wait_request("BYE")
    assert call.wait_answer("BYE").status == 200
    server.wait_none_held()


def test_uac_restores_the_names_that_it_has_replaced(make_server, wire, simulator, sleeper):
    text = config(["uac"], 'modparam("uac", "restore_mode", "auto")',
                  before='uac_replace_from("Boss", "sip:boss@example.com"); uac_replace_to("", "sip:you@example.com");')
    server = make_server(config=text, wake_timeout=5)
    phone = sleeper(server, "renamed")
    call = wire.call(server, "renamed")
    simulator.wait_event(phone.push.token, "call")
    woken = wire.wake(phone)
    invite = woken.wait_request("INVITE")
    assert "boss@example.com" in invite.headers("From")[0] and "you@example.com" in invite.headers("To")[0]
    call.wait_status(200)
    assert all("alice@127.0.0.1" in answer.headers("From")[0] for answer in call.answers)
    call.hang_up()
    assert "boss@example.com" in woken.wait_request("BYE").headers("From")[0]


def test_dispatcher_goes_on_where_nobody_wakes(make_server, wire, simulator, sleeper, tmp_path):
    """The second gateway is taken when the first fails, and a phone that comes late rings beside it."""
    gateways, ports = tmp_path / "gateways.list", [free_port(), free_port()]
    gateways.write_text(f"1 sip:127.0.0.1:{ports[0]} 0 10\n1 sip:127.0.0.1:{ports[1]} 0 5\n")
    text = config(["dispatcher"], f'modparam("dispatcher", "list_file", "{gateways}")', 'modparam("dispatcher", "flags", 2)',
                  'modparam("dispatcher", "xavp_dst", "gateway")')
    text = text.replace("failure_route[PUSHWAKE] {", """failure_route[GATEWAY] {
    if (!t_is_canceled() && t_check_status("5[0-9][0-9]") && ds_next_dst()) { t_on_failure("GATEWAY"); t_relay(); }
}

failure_route[PUSHWAKE] {
    pushwake_keep_waiting("20");
    if (!ds_select_dst("1", "8")) { t_reply("500", "No gateway"); exit; }
    t_on_failure("GATEWAY");
    t_relay();
    exit;""")
    server = make_server(config=text, wake_timeout=1)
    first, second = (wire.phone(server, "gateway", port=port) for port in ports)
    first.answers["INVITE"], second.answers["INVITE"] = (503,), (180,)
    phone = sleeper(server, "abroad")
    call = wire.call(server, "abroad")
    first.wait_request("INVITE")
    second.wait_request("INVITE")
    wire.wake(phone)
    call.wait_status(200)
    second.wait_request("CANCEL")
    server.wait_none_held()


@pytest.mark.parametrize("is_engine_away", [False, True])
def test_a_register_that_a_call_waits_for_is_replicated(make_server, wire, simulator, sleeper, is_engine_away):
    """What rings its phone leaves the script what it had: where the REGISTER goes, and its branch flags."""
    text = CALLS.read_text().replace('    pushwake_save("location");\n', f"""    setbflag(5);
    pushwake_save("location");
    xlog("L_NOTICE", "SAVED $ci $bf\\n");
    t_replicate("sip:127.0.0.1:{(port := free_port())}");
""")
    server = make_server(config=text, settings={"engine_timeout": 100} if is_engine_away else {}, wake_timeout=5)
    backup = wire.phone(server, "backup", port=port)
    backup.answers["REGISTER"] = (200,)
    phone = sleeper(server, "twice")
    call = wire.call(server, "twice")
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    with stopped(server.engine_pid()) if is_engine_away else contextlib.nullcontext():
        woken.register()
        woken.wait_request("INVITE")
    call.wait_status(200)
    assert backup.wait_request("REGISTER", count=2).headers("Call-ID") == [woken.call_id]
    assert server.wait_log("SAVED", woken.call_id).split()[-1] == "32"
