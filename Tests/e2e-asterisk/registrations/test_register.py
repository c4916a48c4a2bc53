# SPDX-License-Identifier: MIT
"""What a REGISTER leaves behind, and what its answer says."""

import pytest
from phones import apns_token, fcm_token
from sleeper import apns, fcm, finish


def test_the_200_promises_push(phones, asterisk, user):
    token = apns_token()
    reply = phones(user, asterisk.address).register(apns(token))
    assert reply.status == 200
    assert len(reply.all("Feature-Caps")) == 1
    assert '+sip.pns="apns"' in reply["Feature-Caps"] and reply["Feature-Caps"].startswith("*;")
    assert len(asterisk.bindings(user)) == 1


def test_the_200_gives_the_contact_back_whole(phones, asterisk, user):
    token = apns_token()
    phone = phones(user, asterisk.address)
    reply = phone.register(apns(token) + ";pn-call-str=IC_MSG")
    assert f"{phone.contact}{apns(token)};pn-call-str=IC_MSG>" in reply["Contact"]


def test_each_contact_has_what_the_registrar_granted_it(phones, asterisk, user):
    other = f"<sip:{user}@127.0.0.1:20001{fcm(fcm_token())}>;expires=1800"
    phones(user, asterisk.address).register(apns(apns_token()), headers=[("Contact", other)], expires=120)
    ends = {row["provider"]: row["expires_in"] for row in asterisk.bindings(user)}
    assert 100 < ends["apns"] <= 120 and 1700 < ends["fcm"] <= 1800, ends


def test_a_token_behind_the_uri_has_its_colon_escaped(phones, asterisk, user, simulator):
    """As baresip can send it; with the colon itself PJSIP drops the REGISTER."""
    token, phone = fcm_token(), phones(user, asterisk.address)
    phone.flow = ";" + fcm(token.replace(":", "%3A")).lstrip(";")
    assert phone.register().status == 200
    assert [row["provider"] for row in asterisk.bindings(user)] == ["fcm"]
    asterisk.cli(f"pushwake send call {user}")
    simulator.wait_push(token)
    other = phones(user, asterisk.address)
    other.flow = ";" + fcm(fcm_token()).lstrip(";")
    with pytest.raises(AssertionError, match="got nothing"):
        other.register(timeout=1)
    asterisk.wait_log("syntax error exception when parsing 'Contact' header")


def test_a_phone_keeps_a_contact_for_each_of_its_flows(phones, asterisk, user):
    """RFC 5626: two connections of one phone, each with a `reg-id` and a REGISTER of its own."""
    flows, token = [phones(user, asterisk.address, "tcp") for _ in range(2)], apns_token()
    for _ in range(2):
        for number, phone in enumerate(flows, 1):
            phone.instance, phone.flow = flows[0].instance, f";reg-id={number}"
            assert phone.register(apns(token)).status == 200
    contacts = asterisk.cli("database show registrar/contact")
    assert contacts.count(f"sip:{user}@") == 2, contacts


def test_the_registrar_never_sees_the_token(phones, asterisk, user):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    assert token not in asterisk.cli("database show registrar/contact")
    assert token not in asterisk.cli("pjsip show contacts")
    assert token not in asterisk.log()


def test_others_learn_neither_token_nor_instance(phones, asterisk, simulator, user, another_user):
    """Whoever knows them can pretend to be the phone. It says them in all that it sends."""
    token, phone = apns_token(), phones(user, asterisk.address)
    phone.contact_end = f'{apns(token)}>;+sip.instance="{phone.instance}"'
    phone.call_headers = [("X-MPUSH", f"i:com.example.phone:{token}"), ("X-PIID", token[:32])]
    phone.register(apns(token))
    caller = phones("caller", asterisk.address)
    caller.register()
    call = caller.call(user)
    simulator.wait_push(token)
    phone.register(apns(token))
    invite = phone.expect_request("INVITE")
    phone.ring(invite)
    heard = [call.expect(180)]
    phone.answer(invite)
    heard.append(call.expect(200))
    phone.end(invite)
    heard.append(caller.expect_request("BYE"))
    caller.reply(heard[-1], 200, "OK")
    other = phones(another_user, asterisk.address)
    other.register()
    phone.call(another_user, authenticate=True)
    heard.append(other.expect_request("INVITE"))
    secrets = [token, token[:32], phone.instance[10:18], "pn-prid", "X-MPUSH", "X-PIID"]
    assert [line for message in heard for line in message.raw.splitlines() if any(secret in line for secret in secrets)] == []


def test_no_contact_keeps_its_token(phones, make_asterisk):
    asterisk = make_asterisk()
    conf = (asterisk.host_at / "etc/pjsip.conf").read_text().replace("max_contacts = 5", "max_contacts = 30")
    asterisk.write("pjsip.conf", conf)
    asterisk.cli("module reload res_pjsip.so")
    phone, token = phones("100", asterisk.address, "tcp"), apns_token()
    others = [("Contact", f"<sip:100@127.0.0.1:{number}{apns(token)}>") for number in range(20001, 20020)]
    reply = phone.register(apns(token), headers=others)
    assert reply.status == 200
    contacts = asterisk.cli("pjsip show contacts") + asterisk.cli("database show registrar/contact")
    assert "20019" in contacts and token not in contacts
    given = reply.all("Contact")
    assert len(given) == 20 and all(f"pn-prid={token}" in contact for contact in given)


def test_the_line_feed_in_a_parameter_makes_no_other_one(phones, asterisk, user):
    phone = phones(user, asterisk.address)
    parameters = apns(apns_token()) + ";pn-call-str=a%0apn-msg-str%3db"
    reply = phone.register(parameters)
    assert reply.status == 200 and f"{phone.contact}{parameters}>" in reply["Contact"].replace("%0A", "%0a").replace("%3D", "%3d")


def finds_it_by_its_newest_contact(asterisk, phones, simulator, phone, token, parameters, contact):
    """It stands in the registrar once, without token, and rings there when it wakes at the same address."""
    reply = phone.register(parameters)
    assert reply.status == 200 and reply["Contact"].startswith(f"<{contact}"), reply.raw
    contacts = asterisk.cli("database show registrar/contact")
    assert contacts.count(f"sip:{phone.user}@") == 1 and token not in contacts
    call = phones("caller", asterisk.address).call(phone.user)
    simulator.wait_push(token)
    phone.register(parameters)
    finish(call, phone, phone.expect_request("INVITE"))


def test_a_phone_that_registered_before_the_module_was_loaded(phones, make_asterisk, simulator):
    asterisk = make_asterisk()
    asterisk.cli("module unload res_pushwake.so")
    phone, token = phones("100", asterisk.address), fcm_token()
    assert phone.register(fcm(token)).status == 200
    assert token in asterisk.cli("database show registrar/contact")
    asterisk.cli("module load res_pushwake.so")
    asterisk.wait_engine()
    finds_it_by_its_newest_contact(asterisk, phones, simulator, phone, token, fcm(token), phone.contact)


def test_another_parameter_makes_no_other_contact(phones, asterisk, simulator, user):
    phone, token = phones(user, asterisk.address), fcm_token()
    assert phone.register(fcm(token)).status == 200
    finds_it_by_its_newest_contact(asterisk, phones, simulator, phone, token, ";ob" + fcm(token), f"{phone.contact};ob")


PRIVATE = "sip:{user}@10.9.8.7:5060{transport};ob"


@pytest.mark.parametrize("order", ["new", "new and old", "old and new"])
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_phone_behind_nat_that_corrects_its_address_stays_registered(phones, asterisk, simulator, user, transport, order):
    """As PJSIP's apps do: the address that the Via of the 200 shows takes the place of the private one."""
    phone, token = phones(user, asterisk.address, transport), fcm_token()
    private = PRIVATE.format(user=user, transport=";transport=tcp" if transport == "tcp" else "")
    public = f"{phone.contact};ob"
    assert phone.register(fcm(token), contact=private).status == 200
    old = [("Contact", f"<{private}{fcm(token)}>;expires=0")] if "old" in order else []
    if order.startswith("old"):
        plain = phone.send
        phone.send = lambda start, headers, body="": plain(
            start, [h for h in headers if h not in old and h[0] != "Contact"] + old
            + [h for h in headers if h not in old and h[0] == "Contact"], body)
    reply = phone.register(fcm(token), contact=public, headers=old)
    assert reply.status == 200 and reply["Contact"].lower().startswith(f"<{public}"), reply.raw
    contacts = asterisk.cli("database show registrar/contact")
    assert contacts.count(f"sip:{user}@") == 1 and "10.9.8.7" not in contacts
    call = phones("caller", asterisk.address).call(user)
    if transport == "udp":
        simulator.wait_push(token)
        phone.register(fcm(token), contact=public)
    finish(call, phone, phone.expect_request("INVITE"))


@pytest.mark.parametrize("said", [0, 100])
def test_a_phone_that_corrects_its_address_while_it_is_called_still_rings(phones, asterisk, simulator, user, said):
    """Contact and Via both; it is where it was, and rings once."""
    phone, token = phones(user, asterisk.address), fcm_token()
    private = PRIVATE.format(user=user, transport="")
    public_via = phone._via
    phone._via = lambda: public_via().replace(f"127.0.0.1:{phone.port}", "10.9.8.7:5060")
    assert phone.register(fcm(token), contact=private).status == 200
    call = phones("caller", asterisk.address).call(user)
    simulator.wait_push(token)
    assert phone.register(fcm(token), contact=private).status == 200
    invite = phone.expect_request("INVITE")
    if said:
        phone.reply(invite, said, "Trying")
    phone._via = public_via
    assert phone.register(fcm(token), contact=f"{phone.contact};ob").status == 200
    finish(call, phone, invite)
    assert phone.gets_nothing("INVITE", 0.3)


@pytest.mark.parametrize("others", ["", ",900"])
def test_a_phone_that_logs_out_by_another_name_of_its_domain(phones, make_asterisk, others):
    """To names an AoR that only an alias of the domain leads to."""
    asterisk = make_asterisk(settings={"unregister_policy": "remove"})
    conf = (asterisk.host_at / "etc/pjsip.conf").read_text()
    conf = conf.replace("aors = 100\n", f"aors = 100@example.com{others}\n").replace("[100]\ntype = aor", "[100@example.com]\ntype = aor")
    asterisk.write("pjsip.conf", conf + "[127.0.0.1]\ntype = domain_alias\ndomain = example.com\n")
    asterisk.cli("module reload res_pjsip.so")
    phone, token = phones("100", asterisk.address), apns_token()
    assert phone.register(apns(token)).status == 200
    assert len(asterisk.bindings("100@example.com")) == 1
    assert phone.register(apns(token), expires=0).status == 200
    assert [row["removed"] for row in asterisk.bindings("100@example.com")] == ["unregistered"]


def restarted(phones, asterisk, phone):
    """Its app was ended and starts anew at the same address: under another Call-ID."""
    phone.close()
    again = phones(phone.user, asterisk.address, port=phone.port)
    again.instance = phone.instance
    return again


def test_an_app_that_starts_anew_while_its_phone_rings_is_rung_again(phones, asterisk, caller, simulator, user):
    phone, token = phones(user, asterisk.address), fcm_token()
    assert phone.register(fcm(token)).status == 200
    call = caller.call(user)
    simulator.wait_push(token)
    assert phone.register(fcm(token)).status == 200
    invite = phone.expect_request("INVITE")
    phone.ring(invite)
    call.expect(180)
    assert phone.gets_nothing("INVITE", 0.5)  # an address is corrected as soon as that
    again = restarted(phones, asterisk, phone)
    assert again.register(fcm(token)).status == 200
    second = again.expect(lambda m: m.method == "INVITE" and m["Via"] != invite["Via"])
    again.answer(second)
    call.expect(200)
    call.end()


def test_an_app_that_was_started_anew_and_only_refreshes_is_not_rung_twice(phones, asterisk, caller, simulator, user):
    first, token = phones(user, asterisk.address), fcm_token()
    assert first.register(fcm(token)).status == 200
    phone = restarted(phones, asterisk, first)
    assert phone.register(fcm(token)).status == 200
    call = caller.call(user)
    simulator.wait_push(token)
    assert phone.register(fcm(token)).status == 200
    invite = phone.expect_request("INVITE")
    phone.ring(invite)
    call.expect(180)
    assert phone.gets_nothing("INVITE", 0.5)
    assert phone.register(fcm(token)).status == 200
    assert phone.gets_nothing("INVITE", 1)
    phone.answer(invite)
    call.expect(200)
    call.end()


def named(phone, name):
    """Its REGISTERs are for another name than its own."""
    send = phone.send
    phone.send = lambda start, headers, body="": send(
        start, [(key, value.replace(f"sip:{phone.user}@", f"sip:{name}@") if key == "To" else value) for key, value in headers], body)
    return phone


@pytest.mark.parametrize("order", ["auth_username,username", "username,auth_username"])
def test_a_phone_whose_login_and_name_are_of_different_aors_logs_out_where_it_logged_in(phones, make_asterisk, order):
    asterisk = make_asterisk(settings={"unregister_policy": "remove"})
    conf = (asterisk.host_at / "etc/pjsip.conf").read_text()
    asterisk.write("pjsip.conf", conf.replace("aors = 100\n", f"aors = 100,101\nidentify_by = {order}\n").replace("aors = 101\n", ""))
    asterisk.cli("module reload res_pjsip.so")
    phone, parameters = named(phones("100", asterisk.address), "101"), apns(apns_token())
    home, other = ("100", "101") if order.startswith("auth") else ("101", "100")
    assert phone.register(parameters).status == 200
    assert len(asterisk.bindings(home)) == 1 and asterisk.bindings(other) == []
    assert phone.register(parameters, expires=0).status == 200
    assert [row["removed"] for row in asterisk.bindings(home)] == ["unregistered"]


def bound(asterisk, user):
    """The bindings without what the clock changes."""
    return [{name: value for name, value in row.items() if name not in ("registered_ago", "expires_in")}
            for row in asterisk.bindings(user)]  # fmt: skip


def test_a_wrong_password_changes_nothing(phones, asterisk, user):
    good = apns_token()
    phones(user, asterisk.address).register(apns(good))
    before = bound(asterisk, user)
    reply = phones(user, asterisk.address, password="wrong").register(apns(apns_token()))
    assert reply.status in (401, 403)
    assert reply.all("Feature-Caps") == []
    assert len(before) == 1 and bound(asterisk, user) == before


def test_a_refused_register_stores_nothing(phones, asterisk, user):
    made = [phones(user, asterisk.address) for _ in range(6)]
    replies = [phone.register(apns(apns_token())) for phone in made]
    assert [r.status for r in replies] == [200] * 5 + [403]
    assert replies[-1].all("Feature-Caps") == []
    assert len(asterisk.bindings(user)) == 5


@pytest.mark.parametrize("prid", ["x" * 500, "tok:voip&tok2:remote&" + "y" * 200], ids=["500 bytes", "ampersand"])
def test_a_token_that_pjsip_could_not_carry(phones, asterisk, user, prid):
    phone = phones(user, asterisk.address)
    reply = phone.register(f";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={prid}")
    assert reply.status == 200
    assert prid in reply["Contact"]
    caller = phones("caller", asterisk.address)
    asterisk.add_extension(f"dial-{user}", f"Dial(${{PUSHWAKE({user},contacts)}})")
    call = caller.call(f"dial-{user}")
    invite = phone.expect_request("INVITE")
    phone.answer(invite)
    call.expect(200)
    call.end()


def test_a_tcp_contact_goes_with_its_connection_and_the_binding_stays(phones, asterisk, user):
    phone = phones(user, asterisk.address, "tcp")
    phone.register(apns(apns_token()))
    assert user in asterisk.cli(f"pjsip show aor {user}")
    phone.close()
    asterisk.wait_log(f"from AOR '{user}' due to shutdown")
    assert len(asterisk.bindings(user)) == 1


def test_another_token_of_the_same_phone_is_no_other_contact(phones, asterisk, user):
    phone = phones(user, asterisk.address)
    phone.register(apns(apns_token()))
    phone.register(apns(apns_token()))
    assert asterisk.cli("pjsip show contacts").count(f"{user}/sip:") == 1
    assert len(asterisk.bindings(user)) == 1


def test_a_phone_that_moved_is_not_rung_at_its_old_address(phones, asterisk, user):
    token = apns_token()
    old, new = phones(user, asterisk.address), phones(user, asterisk.address)
    new.instance = old.instance
    old.register(apns(token))
    reply = new.register(apns(token))
    assert asterisk.cli("pjsip show contacts").count(f"{user}/sip:") == 1
    assert len(reply.all("Contact")) == 1


def test_a_register_without_push_is_left_as_it_is(phones, asterisk, user):
    phone = phones(user, asterisk.address)
    reply = phone.register(";line=abc")
    assert reply.status == 200 and reply.all("Feature-Caps") == []
    assert f"{phone.contact};line=abc>" in reply["Contact"]


def test_mizutech_header(phones, asterisk, user):
    phone = phones(user, asterisk.address)
    phone.register(headers=[("X-MPUSH", f"i:com.example.phone:{apns_token()}")])
    assert len(asterisk.bindings(user)) == 1


def test_555_and_423_by_setting(make_asterisk, phones):
    strict = make_asterisk(settings={"send_555": 1, "min_expires": 100})
    unknown = phones("100", strict.address).register(";pn-provider=nobody;pn-param=a;pn-prid=b")
    assert unknown.status == 555
    brief = phones("100", strict.address).register(apns(apns_token()), expires=50)
    assert brief.status == 423 and brief["Min-Expires"] == "100"
    assert strict.bindings("100") == []
    assert "100/sip:" not in strict.cli("pjsip show contacts")
    assert phones("100", strict.address).register(apns(apns_token()), expires=200).status == 200


def test_nobody_is_refused_without_an_engine(make_asterisk, phones):
    alone = make_asterisk(settings={"send_555": 1, "min_expires": 100, "engine_mode": "external"}, start=False)
    alone.start()
    assert phones("100", alone.address).register(";pn-provider=nobody;pn-param=a;pn-prid=b").status == 200
    assert phones("100", alone.address).register(apns(apns_token()), expires=50).status == 200


def test_an_endpoint_whose_connections_nobody_watches_is_named_once(make_asterisk, phones):
    asterisk = make_asterisk(users=["100", "101"], start=False)
    asterisk.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = no\n")
    asterisk.start()
    asterisk.wait_engine()
    for user, transport in (("101", "udp"), ("100", "tcp"), ("100", "tcp")):
        assert phones(user, asterisk.address, transport).register(apns(apns_token())).status == 200
    text = asterisk.wait_log("set rewrite_contact = yes")
    assert text.count("endpoint '100' that register over TCP or TLS count as asleep") == 1
    assert "endpoint '101'" not in text
