# SPDX-License-Identifier: MIT
"""What a REGISTER leaves behind, and what its answer says."""

import pytest
from phones import apns_token
from sleeper import apns


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


def test_the_registrar_never_sees_the_token(phones, asterisk, user):
    token = apns_token()
    phones(user, asterisk.address).register(apns(token))
    assert token not in asterisk.cli("database show registrar/contact")
    assert token not in asterisk.cli("pjsip show contacts")
    assert token not in asterisk.log()


def test_no_contact_keeps_its_token_or_a_route_of_its_own(phones, make_asterisk):
    asterisk = make_asterisk()
    conf = (asterisk.host_at / "etc/pjsip.conf").read_text().replace("max_contacts = 5", "max_contacts = 30")
    asterisk.write("pjsip.conf", conf)
    asterisk.cli("module reload res_pjsip.so")
    phone, token = phones("100", asterisk.address, "tcp"), apns_token()
    others = [("Contact", f"<sip:100@127.0.0.1:{number}{apns(token)}>") for number in range(20001, 20020)]
    reply = phone.register(apns(token) + ";PushWake-Route=%3Csip:127.0.0.1:9;lr%3E", headers=others)
    assert reply.status == 200
    contacts = asterisk.cli("pjsip show contacts") + asterisk.cli("database show registrar/contact")
    assert "20019" in contacts and token not in contacts and "oute" not in contacts


def test_a_phone_that_logs_out_by_another_name_of_its_domain(phones, make_asterisk):
    """To names an AoR that only an alias of the domain leads to."""
    asterisk = make_asterisk(settings={"unregister_policy": "remove"})
    conf = (asterisk.host_at / "etc/pjsip.conf").read_text()
    conf = conf.replace("aors = 100\n", "aors = 100@example.com\n").replace("[100]\ntype = aor", "[100@example.com]\ntype = aor")
    asterisk.write("pjsip.conf", conf + "[127.0.0.1]\ntype = domain_alias\ndomain = example.com\n")
    asterisk.cli("module reload res_pjsip.so")
    phone, token = phones("100", asterisk.address), apns_token()
    assert phone.register(apns(token)).status == 200
    assert len(asterisk.bindings("100@example.com")) == 1
    assert phone.register(apns(token), expires=0).status == 200
    assert [row["removed"] for row in asterisk.bindings("100@example.com")] == ["unregistered"]


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
