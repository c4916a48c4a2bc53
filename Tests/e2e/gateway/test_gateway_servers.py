# SPDX-License-Identifier: MIT
"""A gateway before servers that come and go, refuse, or want a Path; and an engine that is replaced meanwhile."""

import os
import re
import signal

import pytest

from peers.faint_engine import FaintEngine
from peers.upstream import (REALM, answer_to, authorization, configuration, contacts, make_gateway, make_registrar, name_server,
                            piid, register, registrar_config, sent)
from phones import rfc8599_fcm
from ports import free_port
from servers import ROOT, wait_until


def make_phone(wire, gateway, user, transport="udp"):
    return wire.phone(gateway, user, transport, rfc8599_fcm(), domain=REALM)


def signal_all(kamailio, number):
    for pid in kamailio.pids():
        os.kill(pid, number)


def test_a_held_register_goes_on_with_a_new_engine(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio)
    gateway = make_gateway(make_kamailio, registrar, tmp_path)
    phone = make_phone(wire, gateway, "501")
    signal_all(registrar, signal.SIGSTOP)
    try:
        number = phone.send_register(600)
        wait_until("it is on its way", lambda: "upstream_sent: 1" in (gateway.rpc("pushwake.stats") or ""))
        os.kill(gateway.engine_pid(), signal.SIGKILL)
        gateway.wait_log("1 held REGISTERs go on with the new engine", seconds=10)
    finally:
        signal_all(registrar, signal.SIGCONT)
    answer = answer_to(phone, number, 10)
    assert answer.status == 401, answer.text
    line = authorization(answer.headers("WWW-Authenticate")[0], "501", f"sip:{REALM}")
    answer = answer_to(phone, phone.send_register(600, None, f"Authorization: {line}"))
    assert answer.status == 200 and answer.headers("Feature-Caps"), answer.text
    assert len(contacts(registrar, "501")) == 1


@pytest.fixture
def held(make_kamailio, make_engine, tmp_path, wire):
    """Phones whose REGISTERs are held while the engine is replaced by a faint one; those, and their numbers."""
    def make(users, **faint):
        socket = tmp_path / "engine.sock"
        key = tmp_path / "secret.key"
        key.write_text("5f" * 32 + "\n")
        engine = make_engine(engine_socket=socket, secret_key_file=key, upper_servers=REALM)
        registrar = make_registrar(make_kamailio)
        gateway = make_gateway(
            make_kamailio, registrar, tmp_path, engine_mode="external", engine_socket=str(socket), engine_timeout=500)
        phones = [make_phone(wire, gateway, user) for user in users]
        signal_all(registrar, signal.SIGSTOP)
        try:
            numbers = [phone.send_register(600) for phone in phones]
            wait_until("they are on their way", lambda: f"upstream_sent: {len(users)}" in (gateway.rpc("pushwake.stats") or ""))
            engine.stop()
            other = FaintEngine(socket, **faint)
            try:
                gateway.wait_log(f"{len(users)} held REGISTERs go on with the new engine", seconds=10)
            finally:
                other.stop()
        finally:
            signal_all(registrar, signal.SIGCONT)
        return other, phones, numbers

    return make


def test_held_registers_do_not_keep_the_supervisor_from_held_calls(held):
    faint, _, _ = held([str(user) for user in range(521, 527)], pause=0.03)
    assert len(set(faint.asked)) == len(faint.asked) == 6
    # Two in a row, until the next look at what is held. The first two are asked as the engine comes, maybe just before one.
    assert all(later - at > 0.2 for at, later in zip(faint.asked_at, faint.asked_at[4:])), f"without end: {faint.asked_at}"


def test_held_registers_wait_for_a_new_engine_that_is_slow(held):
    faint, phones, numbers = held(["511", "512", "513"], silences=2)
    assert len(set(faint.asked)) == 3 and len(faint.asked) == 5
    for phone, number in zip(phones, numbers):
        answers = [m.status for m in phone.endpoint.messages if not m.sent and m.headers("CSeq") == [f"{number} REGISTER"]]
        assert max(answers, default=100) < 200, "it was refused because another one had no answer"


def test_a_path_leads_the_server_through_the_gateway(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, modparams='modparam("registrar", "use_path", 1)\nmodparam("registrar", "path_mode", 0)')
    gateway = make_kamailio(config=configuration(), wake_timeout=8, settings={
        "secret_key_file": "", "upper_contact": "gateway.invalid"})
    gateway.settings["upper_path_header"] = f"sip:127.0.0.1:{gateway.port}"
    gateway.as_printed().start().wait_engine()
    name_server(gateway, registrar)
    phone = make_phone(wire, gateway, "502", "tcp")
    assert register(phone).status == 200
    assert contacts(registrar, "502") == ["sip:gw-502_40pbx.example.com@gateway.invalid"]
    # No DNS knows that host: only the Path leads there.
    call = wire.call(registrar, "502")
    call.wait_status(200, 10)
    assert phone.requests("INVITE")


def test_a_server_that_knows_no_path_is_named(make_kamailio, tmp_path, wire):
    registrar = make_registrar(make_kamailio, route='if (is_present_hf("Path")) { sl_send_reply("420", "Bad Extension"); exit; }')
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_path_header="sip:127.0.0.1:5060")
    assert register(make_phone(wire, gateway, "503")).status == 420
    gateway.wait_log("does not support Path (420)", "upper_path_header")


def several_servers(place):
    """The configuration of docs/gateway.md with what the same page adds for several servers."""
    page = (ROOT / "docs/gateway.md").read_text()
    added = re.findall(r"^```\w*\n(# Several servers\n.*?)^```", page, flags=re.M | re.S)[0]
    added = added.replace("/etc/kamailio/dispatcher.list", str(place)).replace('"ds_ping_interval", 5', '"ds_ping_interval", 1')
    config = configuration()
    at = config.index("request_route {")
    # A probe that nobody answers fails after tm's fr_timer, which is half a minute.
    return config[:at] + added + 'modparam("tm", "fr_timer", 2000)\n' + config[at:]


def test_another_server_takes_over(make_kamailio, tmp_path, wire, simulator):
    first, second = (make_registrar(make_kamailio, expires=6) for _ in range(2))
    place = tmp_path / "dispatcher.list"
    place.write_text(f"1 sip:127.0.0.1:{first.port} 0 10\n1 sip:127.0.0.1:{second.port} 0 5\n")
    key = tmp_path / "secret.key"
    key.write_text("5f" * 32 + "\n")
    gateway = make_kamailio(config=several_servers(place), wake_timeout=8, settings={
        "secret_key_file": str(key), "upper_expire": 6})
    gateway.as_printed().start().wait_engine()
    phone = make_phone(wire, gateway, "504")
    assert register(phone, 600, piid(phone)).status == 200
    assert contacts(first, "504") and not contacts(second, "504")
    phone.sleep()

    first.kill()
    wait_until("the other one has it", lambda: contacts(second, "504"), 30)
    # A phone that has never been here goes there at once.
    other = make_phone(wire, gateway, "505")
    assert register(other).status == 200
    assert contacts(second, "505")
    # And the phone that sleeps is woken by its call.
    wire.call(second, "504")
    simulator.wait_push(phone.push.token, seconds=10)


def test_the_next_srv_record_is_tried_if_kamailio_is_told_to(make_kamailio, tmp_path, wire):
    assert "`use_dns_failover=on`" in (ROOT / "docs/gateway.md").read_text()
    registrar = make_registrar(make_kamailio)
    config = configuration().replace("debug=2", "debug=2\nuse_dns_failover=on", 1)
    config = config.replace("request_route {", 'modparam("tm", "fr_timer", 1000)\nrequest_route {', 1)
    gateway = make_kamailio(config=config, settings={"secret_key_file": ""})
    gateway.as_printed().start().wait_engine()
    # One that is preferred, and where nobody is.
    for record in (["dns.add_srv", "_sip._udp.pbx.example.com", 3600, 5, 10, free_port(), "dead.pbx.example.com", 0],
                   ["dns.add_a", "dead.pbx.example.com", 3600, "127.0.0.1", 0]):
        assert gateway.rpc(*record) is not None, gateway.complaint(*record)
    name_server(gateway, registrar)
    assert register(make_phone(wire, gateway, "507")).status == 200
    assert len(contacts(registrar, "507")) == 1


def test_a_user_whom_the_server_bars_loses_the_binding_at_once(make_kamailio, tmp_path, wire, simulator):
    modparams = 'loadmodule "htable.so"\nmodparam("htable", "htable", "barred=>size=4;")'
    route = 'if ($sht(barred=>$tU) == 1) { sl_send_reply("403", "Barred"); exit; }'
    registrar = make_registrar(make_kamailio, expires=6, route=route, modparams=modparams)
    gateway = make_gateway(make_kamailio, registrar, tmp_path, upper_expire=6)
    phone = make_phone(wire, gateway, "506")
    assert register(phone, 600, piid(phone)).status == 200
    registrar.rpc("htable.seti", "barred", "s:506", 1)
    push = simulator.wait_push(phone.push.token, seconds=15)
    assert push["body"]["message"]["data"]["event"] == "refresh"
    listing = gateway.rpc("pushwake.list", f"s:506@{REALM}") or ""
    assert "rejects" not in listing, "it was woken, and may know better"
    assert register(phone, 600, piid(phone)).status == 403
    gateway.wait_log("the SIP server rejects this user", "506", seconds=5)
    assert "the SIP server rejects this user" in (gateway.rpc("pushwake.list", f"s:506@{REALM}") or "")
    # A stranger who is refused for somebody else's name changes nothing.
    other = make_phone(wire, gateway, "507")
    assert register(other, 600, piid(other)).status == 200
    registrar.rpc("htable.seti", "barred", "s:507", 1)
    assert register(make_phone(wire, gateway, "507")).status == 403
    assert "rejects" not in (gateway.rpc("pushwake.list", f"s:507@{REALM}") or "")
    assert sent(registrar, "507")


def test_a_server_on_this_host_over_ipv6(make_kamailio, tmp_path, wire, simulator):
    """Its address begins with colons, the name that is made of it does not begin with what no host may begin with."""
    config = registrar_config().replace("listen=udp:127.0.0.1:@PORT@\n", "listen=udp:127.0.0.1:@PORT@\nlisten=udp:[::1]:@PORT@\n")
    registrar = make_kamailio(config=config).start()
    key = tmp_path / "secret.key"
    key.write_text("5f" * 32 + "\n")
    gateway = make_kamailio(config=configuration().replace('$si == "127.0.0.1"', '$si == "::1"'), wake_timeout=8, settings={
        "secret_key_file": str(key), "upper_servers": f"[::1]:{registrar.port}"})
    gateway.set_up(upper_contact=f"[::1]:{gateway.port}")
    gateway.arguments += ["-l", f"udp:[::1]:{gateway.port}"]
    gateway.as_printed().start().wait_engine()

    phone = wire.phone(gateway, "101", "tcp", rfc8599_fcm(), domain=f"[::1]:{registrar.port}")
    answer = register(phone)
    assert answer.status == 200 and answer.headers("Feature-Caps"), answer.text
    phone.sleep()
    call = wire.call(registrar, "101")
    simulator.wait_push(phone.push.token, seconds=10)
    woken = wire.again(phone)
    assert register(woken).status == 200
    woken.wait_request("INVITE")
    assert call.wait_final(10).status == 200
