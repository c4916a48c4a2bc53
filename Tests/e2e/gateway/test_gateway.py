# SPDX-License-Identifier: MIT
"""Phones of a SIP server that knows nothing of push, registered through a gateway."""

import os
import signal

import pytest

from peers.upstream import (REALM, configuration, contacts, make_gateway, make_registrar, name_server, piid, register, sent)
from phones import mpush_android, no_push, rfc8599_fcm
from servers import MODULES, wait_until


@pytest.fixture
def pair(make_kamailio, tmp_path):
    registrar = make_registrar(make_kamailio)
    return make_gateway(make_kamailio, registrar, tmp_path), registrar


def make_phone(wire, gateway, user, push=None, transport="udp", **options):
    return wire.phone(gateway, user, transport, push, domain=REALM, **options)


def test_a_phone_registers_at_its_server_and_rings(pair, wire, simulator):
    gateway, registrar = pair
    phone = make_phone(wire, gateway, "101", rfc8599_fcm(), "tcp")
    answer = register(phone, 600)
    assert answer.status == 200, answer.text
    assert answer.headers("Feature-Caps"), answer.text
    assert answer.headers("X-Sy.AuthURI") == [f"sip:{REALM}"]
    assert phone.push.token in answer.headers("Contact")[0], "the phone's own Contact comes back"

    # The server has one Contact, the gateway's, and no token.
    address, = contacts(registrar, "101")
    assert address == f"sip:gw-101_40pbx.example.com@127.0.0.1:{gateway.port}"
    assert phone.push.token not in registrar.log_text()

    # Awake: it rings at once.
    call = wire.call(registrar, "101")
    call.wait_status(200, 10)
    assert phone.requests("INVITE")
    call.hang_up()
    call.wait_answer("BYE")

    # Asleep: pushed, and rings when it has registered again.
    phone.sleep()
    sleeper = make_phone(wire, gateway, "102", mpush_android(), "tcp")
    assert register(sleeper).status == 200
    sleeper.sleep()
    call = wire.call(registrar, "102")
    simulator.wait_push(sleeper.push.token, seconds=10)
    call.wait_status(180)
    woken = wire.again(sleeper, "tcp")
    assert register(woken).status == 200
    call.wait_status(200, 10)
    assert woken.requests("INVITE")


def test_a_wrong_password_gets_nobody_in(pair, wire):
    gateway, registrar = pair
    phone = make_phone(wire, gateway, "103", rfc8599_fcm())
    assert register(phone, 600, password="wrong").status == 401
    assert not contacts(registrar, "103")
    assert "no upstream" not in gateway.log_text()
    assert gateway.rpc("ul.lookup", "location", f"103@{REALM}") is None
    # X-PIID does not open the door for whom the server refuses.
    assert register(phone, 600, piid(phone), password="wrong").status == 401
    assert not contacts(registrar, "103")


def test_two_phones_are_one_client_and_only_the_last_one_ends_it(pair, wire):
    gateway, registrar = pair
    one, two = (make_phone(wire, gateway, "104", no_push()) for _ in range(2))
    assert register(one).status == 200
    assert register(two).status == 200
    assert len(contacts(registrar, "104")) == 1
    assert len({call_id for _, call_id, *_ in sent(registrar, "104")}) == 1
    numbers = [number for _, _, number, *_ in sent(registrar, "104")]
    assert numbers == sorted(set(numbers)), "each REGISTER has a higher CSeq"

    # Both ring.
    call = wire.call(registrar, "104")
    wait_until("both ring", lambda: one.requests("INVITE") and two.requests("INVITE"))
    call.wait_status(200, 10)

    assert register(one, 0).status == 200
    assert contacts(registrar, "104"), "the other one is still there"
    assert register(two, 0).status == 200
    assert not contacts(registrar, "104")


def test_a_phone_without_an_instance_ends_it_where_it_has_moved_to(pair, wire):
    gateway, registrar = pair
    phone = make_phone(wire, gateway, "107", no_push(), instance="")
    assert register(phone).status == 200
    moved = wire.again(phone, call_id=phone.call_id)
    moved.cseq = phone.cseq
    assert register(moved).status == 200
    assert register(moved, 0).status == 200
    assert not contacts(registrar, "107")


def test_a_phone_with_push_stays_registered_when_it_leaves(pair, wire, simulator):
    gateway, registrar = pair
    phone = make_phone(wire, gateway, "105", rfc8599_fcm())
    assert register(phone, 600, piid(phone)).status == 200
    assert register(phone, 0).status == 200
    assert contacts(registrar, "105")
    wire.call(registrar, "105")
    simulator.wait_push(phone.push.token, seconds=10)


def test_a_server_that_nobody_allowed_is_refused(pair, wire):
    gateway, _ = pair
    phone = wire.phone(gateway, "106", "udp", rfc8599_fcm(), domain="evil.example.net")
    assert register(phone).status == 403
    phone = make_phone(wire, gateway, "106", rfc8599_fcm())
    assert register(phone, 600, "X-Sy.Uppersrv: evil.example.net").status == 403
    assert register(phone, 600, "X-Sy.Upperproxy: evil.example.net").status == 403


def test_the_server_is_chosen_by_mizutechs_headers(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_servers=f"127.0.0.1:{registrar.port}")
    phone = wire.phone(gateway, "107", "udp", rfc8599_fcm(), domain="gw.example.org")
    extra = (f"X-Sy.Uppersrv: 127.0.0.1:{registrar.port}", f"X-Sy.Uppersrvd: {REALM}")
    answer = register(phone, 600, *extra)
    assert answer.status == 200, answer.text
    assert answer.headers("X-Sy.AuthURI") == [f"sip:{REALM}"]
    address, = contacts(registrar, "107")
    assert address.startswith(f"sip:gw-107_40127.0.0.1-{registrar.port}@")


def test_a_server_that_grants_less_makes_the_phone_come_sooner(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, expires=120)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    phone = make_phone(wire, gateway, "108", rfc8599_fcm())
    assert "expires=120" in register(phone, 600).headers("Contact")[0]
    other = make_phone(wire, gateway, "109", rfc8599_fcm())
    assert "expires=600" in register(other, 600, piid(other)).headers("Contact")[0], "the gateway renews it"


@pytest.mark.parametrize("asked, parameter", [(None, ""), (None, ";expires=99999999999"), ("soon", ""), (600, "")])
def test_a_phone_that_asks_for_no_interval_is_granted_no_more_than_its_server_grants(
        make_kamailio, tmp_path, wire, asked, parameter):
    registrar = make_registrar(make_kamailio, expires=120)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    phone = make_phone(wire, gateway, "115", rfc8599_fcm())
    phone.parameters = parameter
    assert "expires=120" in register(phone, asked).headers("Contact")[0]


def test_423_is_obeyed(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, min_expires=7200, expires=9000)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    phone = make_phone(wire, gateway, "110", rfc8599_fcm())
    assert register(phone, 600, piid(phone)).status == 200
    assert [asked for asked, *_ in sent(registrar, "110")][-2:] == [3600, 7200]


def test_service_route_comes_to_the_phone(make_kamailio, tmp_path, wire):
    route = 'append_to_reply("Service-Route: <sip:127.0.0.1:5099;lr>\\r\\n");'
    registrar = make_registrar(make_kamailio, route=route)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    phone = make_phone(wire, gateway, "111", rfc8599_fcm())
    assert register(phone).headers("Service-Route") == ["<sip:127.0.0.1:5099;lr>"]


def test_a_silent_server_is_told_to_the_phone(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    registrar.kill()
    phone = make_phone(wire, gateway, "112", rfc8599_fcm())
    number = phone.send_register(600)
    answer = phone.endpoint.wait_for("an answer", lambda m: m.status >= 200 and m.headers("CSeq") == [f"{number} REGISTER"], 45)
    assert answer.status in (408, 503)


def test_with_prefer_md5_auth_the_phone_is_never_asked(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, prefer_md5_auth=1)
    phone = make_phone(wire, gateway, "113", rfc8599_fcm())
    number = phone.send_register(600, None, piid(phone))
    phone.endpoint.wait_for("the answer", lambda m: m.status >= 200 and m.headers("CSeq") == [f"{number} REGISTER"])
    assert [m.status for m in phone.endpoint.messages if m.status] == [200]
    # Who sends no X-PIID, or a wrong one, is asked himself.
    stranger = make_phone(wire, gateway, "113", rfc8599_fcm())
    assert register(stranger, 600, password="wrong").status == 401
    assert register(stranger, 600, piid(stranger, "wrong"), password="wrong").status == 401


def test_without_the_engine_the_phone_is_told_to_come_again(pair, wire):
    gateway, registrar = pair
    pid = gateway.engine_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        phone = make_phone(wire, gateway, "114", rfc8599_fcm())
        number = phone.send_register(600)
        answer = phone.endpoint.wait_for("an answer", lambda m: m.status >= 200, 10)
        assert answer.status == 503
        assert answer.headers("Retry-After") == ["5"]
    finally:
        os.kill(pid, signal.SIGCONT)
    # The worker that had no answer asks no more for a second, unless one comes: this phone comes again too.
    phone = make_phone(wire, gateway, "115", rfc8599_fcm())
    wait_until("the engine answers again", lambda: register(phone).status == 200)


def test_the_script_may_choose_the_server(make_kamailio, tmp_path, wire):
    """As with dispatcher: $du is the operator's word, and needs no list."""
    registrar = make_registrar(make_kamailio)
    config = configuration().replace('pushwake_save_upstream("location")',
                                     f'$du = "sip:127.0.0.1:{registrar.port}"; pushwake_save_upstream("location")')
    gateway = make_kamailio(config=config, settings={"upper_servers": "", "secret_key_file": ""})
    gateway.as_printed().start().wait_engine()
    phone = make_phone(wire, gateway, "116", rfc8599_fcm())
    assert register(phone).status == 200
    assert len(contacts(registrar, "116")) == 1


KEMI = """
function ksr_request_route() {
    if (KSR.is_method("CANCEL")) { if (KSR.tm.t_check_trans() > 0) { KSR.tm.t_relay(); } return; }
    if (!KSR.is_method("ACK") && KSR.tm.t_check_trans() == 0) { return; }
    if (KSR.siputils.has_totag() > 0) { if (KSR.rr.loose_route() > 0) { KSR.tm.t_relay(); } return; }
    if (KSR.is_method("REGISTER")) { KSR.pushwake.save_upstream("location"); return; }
    KSR.rr.record_route();
    var found = KSR.pushwake.lookup_upstream("location");
    if (found == 1) { KSR.tm.t_relay(); }
    if (found < 0) { KSR.sl.send_reply(480, "Nobody"); }
}
"""


def make_script_gateway(make_kamailio, registrar, tmp_path, text, settings=None):
    script = tmp_path / "gateway.js"
    script.write_text(text)
    config = configuration()
    config = config[:config.index("request_route {")].replace(
        'loadmodule "pushwake.so"', 'loadmodule "pushwake.so"\nloadmodule "app_jsdt.so"') + (
        f'modparam("usrloc", "preload", "location")\nmodparam("app_jsdt", "load", "{script}")\ncfgengine "jsdt"\n')
    gateway = make_kamailio(config=config, wake_timeout=8, settings={"secret_key_file": "", **(settings or {})})
    gateway.as_printed().start().wait_engine()
    name_server(gateway, registrar)
    return gateway


@pytest.mark.skipif(not (MODULES / "app_jsdt.so").exists(), reason="kamailio's JavaScript module is missing")
def test_other_languages_have_the_same_functions(make_kamailio, tmp_path, wire, simulator):
    registrar = make_registrar(make_kamailio)
    gateway = make_script_gateway(make_kamailio, registrar, tmp_path, KEMI)
    phone = make_phone(wire, gateway, "117", rfc8599_fcm(), "tcp")
    assert register(phone).status == 200
    phone.sleep()
    call = wire.call(registrar, "117")
    simulator.wait_push(phone.push.token, seconds=10)
    woken = wire.again(phone, "tcp")
    assert register(woken).status == 200
    call.wait_status(200, 10)


@pytest.mark.skipif(not (MODULES / "app_jsdt.so").exists(), reason="kamailio's JavaScript module is missing")
@pytest.mark.parametrize("is_named", [True, False])
def test_other_languages_name_a_table_of_their_own_before_the_start(make_kamailio, tmp_path, wire, is_named):
    """The answer comes in whichever process: all of them have to know the table."""
    registrar = make_registrar(make_kamailio)
    gateway = make_script_gateway(make_kamailio, registrar, tmp_path, KEMI.replace('"location"', '"branch"'),
                                  {"upstream_table": "branch"} if is_named else None)
    for user in ("130", "131", "132", "133"):
        answer = register(make_phone(wire, gateway, user, rfc8599_fcm(), "tcp"))
        assert answer.status == (200 if is_named else 500)
        assert len(contacts(registrar, user)) == is_named
    if not is_named:
        gateway.wait_log("pushwake_save_upstream(branch): not all processes know this table")
