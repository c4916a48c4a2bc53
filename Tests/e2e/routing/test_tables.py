# SPDX-License-Identifier: MIT
"""A script with two tables of the registrar, which looks in one after the other."""

import pytest

from phones import rfc8599_fcm
from servers import CONFIG, wait_until


def two_tables(first, second):
    """Users whose names begin with `first` register in the one, those with `second` in the other."""
    text = CONFIG.read_text().replace(
        '{ pushwake_save("location"); exit; }',
        '{ if ($tU =~ "^second") { pushwake_save("%s"); } else { pushwake_save("%s"); } exit; }' % (second, first))
    return text.replace(
        'switch (pushwake_lookup("location")) {',
        'switch (pushwake_lookup("%s")) { case 1: t_relay(); exit; case 2: exit; }\n'
        '    switch (pushwake_lookup("%s")) {' % (first, second))


def is_registered(server, user):
    found = [server.rpc("ul.lookup", table, f"s:{user}") for table in ("location", "loc2")]
    return any(text and "Expires: expired" not in text for text in found)


@pytest.fixture(scope="module", params=[("location", "loc2"), ("loc2", "location")], ids=["loc2-last", "loc2-first"])
def server(request, make_server):
    return make_server(config=two_tables(*request.param), wake_timeout=5)


@pytest.mark.parametrize("user", ["first", "second"])
@pytest.mark.parametrize("is_over", [False, True], ids=["registered", "expired"])
def test_a_sleeping_user_of_either_is_woken_and_rings(server, wire, simulator, user, is_over):
    phone = wire.phone(server, f"{user}-{is_over}", "udp", rfc8599_fcm())
    phone.register(1 if is_over else 600)
    phone.sleep()
    if is_over:
        wait_until("its registration is over", lambda: not is_registered(server, phone.user))
    call = wire.call(server, phone.user)
    simulator.wait_event(phone.push.token, "call")
    woken = wire.again(phone)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(200)
    assert len(simulator.calls(phone.push.token)) == 1


@pytest.mark.parametrize("user", ["first", "second"])
def test_a_user_of_either_who_is_awake_rings_at_once(server, wire, simulator, user):
    phone = wire.phone(server, f"{user}-awake", "tcp", rfc8599_fcm())
    phone.register()
    call = wire.call(server, phone.user)
    call.wait_status(200, 1.5)
    assert simulator.calls(phone.push.token) == []


def test_namesakes_in_two_tables_are_two_users(make_server, wire, simulator):
    text = CONFIG.read_text().replace(
        '{ pushwake_save("location"); exit; }',
        '{ if ($hdr(X-Table) == "home") { pushwake_save("home"); } else { pushwake_save("work"); } exit; }')
    text = text.replace('pushwake_lookup("location")', 'pushwake_lookup("home")')
    server = make_server(config=text, wake_timeout=5)
    phones = {}
    for table in ("work", "home"):
        phones[table] = wire.phone(server, "namesake", "udp", rfc8599_fcm())
        phones[table].register(600, None, f"X-Table: {table}")
    call = wire.call(server, "namesake")
    simulator.wait_event(phones["home"].push.token, "call")
    phones["work"].register(600, None, "X-Table: work")
    phones["home"].register(600, None, "X-Table: home")
    call.wait_status(200)
    assert phones["work"].requests("INVITE") == [] and simulator.calls(phones["work"].push.token) == []
