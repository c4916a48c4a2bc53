# SPDX-License-Identifier: MIT
"""Push bindings that go because the operator says so; they stay listed with the reason until the phone registers again."""

import re
import time
import uuid
from urllib.parse import quote

import pytest

from peers.later_clock import LaterClock
from phones import Push, apns_token, no_push, rfc8599_fcm
from servers import CONFIG, stopped, wait_until


def listing(kamailio, user):
    return kamailio.rpc("pushwake.list", user) or ""


def test_a_phone_that_says_nothing_of_push_loses_its_binding(make_kamailio, wire):
    kamailio = make_kamailio(settings={"remove_at_nopn": 1}).start().wait_engine()
    phone = wire.phone(kamailio, "quiet", "udp", rfc8599_fcm())
    phone.register()
    token, phone.push = phone.push, no_push()
    phone.register()
    assert "registered without push" in listing(kamailio, "quiet")
    phone.push = token
    phone.register()
    assert "registered without push" not in listing(kamailio, "quiet"), "it has registered again"


def test_a_phone_without_pn_prid_loses_its_binding(make_kamailio, wire):
    kamailio = make_kamailio(settings={"remove_at_noprid": 1}).start().wait_engine()
    phone = wire.phone(kamailio, "asker", "udp", rfc8599_fcm())
    phone.register()
    instance = f';+sip.instance="<{phone.instance}>"'
    phone.register(600, f"<{phone.uri};pn-provider=fcm>{instance}")
    assert "registered without pn-prid" in listing(kamailio, "asker")


def test_by_default_both_keep_it(make_kamailio, wire, simulator):
    kamailio = make_kamailio().start().wait_engine()
    phone = wire.phone(kamailio, "keeper", "udp", rfc8599_fcm())
    phone.register()
    token, phone.push = phone.push, no_push()
    phone.register()
    phone.sleep()
    wire.call(kamailio, "keeper")
    simulator.wait_push(token.token)


@pytest.fixture
def clock(tmp_path):
    return LaterClock(tmp_path)


def test_a_phone_that_does_not_come_on_three_days_loses_its_binding(make_kamailio, wire, simulator, clock):
    """However often it is called on one of them: it may be off for an evening."""
    kamailio = make_kamailio(wake_timeout=1, settings={"engine_path": clock.engine}).start().wait_engine()
    gone, here = (wire.phone(kamailio, user, "tcp", rfc8599_fcm()) for user in ("gone", "here"))
    for phone in (gone, here):
        phone.register()
    gone.sleep()
    for day in range(3):
        for _ in range(7 if day == 0 else 1):
            assert "did not come" not in listing(kamailio, "gone")
            wire.call(kamailio, "gone").wait_final(10)
        # Another phone comes: the way to this server is open.
        here.sleep()
        wire.call(kamailio, "here")
        wait_until("it is pushed", lambda n=day: len(simulator.calls(here.push.token)) > n)
        here = wire.again(here, "tcp")
        here.register()
        here.wait_request("INVITE")
        if day < 2:
            clock.pass_days(1)
    wait_until("it is removed", lambda: "did not come on 3 days" in listing(kamailio, "gone"))
    assert "did not come" not in listing(kamailio, "here")


def test_a_phone_that_comes_and_says_nothing_on_three_days_loses_its_binding(make_kamailio, wire, simulator, clock):
    config = CONFIG.read_text().replace("@SETTINGS@", 'modparam("tm", "fr_timer", 6000)\n@SETTINGS@')
    kamailio = make_kamailio(config=config, wake_timeout=8, settings={
        "remove_on_callfail": 0, "engine_path": clock.engine}).start().wait_engine()
    mute, here = (wire.phone(kamailio, user, "tcp", rfc8599_fcm()) for user in ("mute", "here"))
    for phone in (mute, here):
        phone.register()

    def wake(phone, calls, **answers):
        phone.sleep()
        call = wire.call(kamailio, phone.user)
        wait_until("it is pushed", lambda: len(simulator.calls(phone.push.token)) > calls)
        phone = wire.again(phone, "tcp")
        phone.answers = answers
        phone.register()
        phone.wait_request("INVITE")
        call.wait_final(20)
        return phone

    for day in range(3):
        assert "said nothing" not in listing(kamailio, "mute")
        mute = wake(mute, day)
        here = wake(here, day, INVITE=(180, 486))
        if day < 2:
            clock.pass_days(1)
    wait_until("it is removed", lambda: "came and said nothing on 3 days" in listing(kamailio, "mute"))


def contacts_of(kamailio, user):
    return kamailio.rpc("ul.lookup", "location", f"s:{user}") or ""


def test_a_removal_without_push_parameters_takes_the_contact_too(make_kamailio, wire):
    """RFC 8599, 4.1.2: the URIs are equal by RFC 3261, 19.1.4, and usrloc compares bytes."""
    kamailio = make_kamailio(settings={"unregister_policy": "remove"}).start().wait_engine()
    phone = wire.phone(kamailio, "leaver", "udp", rfc8599_fcm())
    contact = f"<{phone.uri};pn-provider=fcm;pn-param=project;pn-prid={phone.push.token}>"
    phone.register(600, contact)
    assert phone.push.token in contacts_of(kamailio, "leaver")
    phone.register(0, f"<{phone.uri}>")
    assert phone.push.token not in contacts_of(kamailio, "leaver")
    assert "unregistered" in listing(kamailio, "leaver")


def test_a_contact_that_is_removed_by_hand_is_pushed_no_more(make_kamailio, wire, simulator):
    kamailio = make_kamailio(wake_timeout=2).start().wait_engine()
    phone = wire.phone(kamailio, "banned", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    assert kamailio.rpc("ul.rm", "location", "s:banned") is not None
    wait_until("its binding is gone", lambda: "by hand" in listing(kamailio, "banned"))
    wire.call(kamailio, "banned").wait_final(10)
    assert not simulator.pushes(phone.push.token)


def test_a_contact_without_an_address_that_is_removed_by_hand_takes_no_binding(make_kamailio, wire):
    """`ul.add` takes one; to the engine it would be all that the user has."""
    kamailio = make_kamailio().start().wait_engine()
    phones = [wire.phone(kamailio, "blank", "udp", rfc8599_fcm()) for _ in range(2)]
    for phone in phones:
        phone.register()
    kept, removed = (phone.contact.split("<", 1)[1].split(">", 1)[0] for phone in phones)
    assert kamailio.rpc("ul.add", "location", "blank", "s:", "600", "1.0", "s:.", "0", "0", "4294967295") is not None
    assert kamailio.rpc("ul.rm_contact", "location", "blank", "s:") is not None
    assert kamailio.rpc("ul.rm_contact", "location", "blank", removed) is not None
    wait_until("the one that was named is gone", lambda: "by hand" in listing(kamailio, "blank"))
    assert listing(kamailio, "blank").count("by hand") == 1 and kept in contacts_of(kamailio, "blank")


@pytest.mark.parametrize("removes", [True, False])
def test_a_user_whom_the_script_logs_out_is_pushed_no_more(make_kamailio, wire, simulator, removes):
    """unregister() alone is what scripts say of a contact where nothing answers: its phone may sleep."""
    out = 'pushwake_remove("$ru"); ' if removes else ""
    config = CONFIG.read_text().replace(
        "request_route {\n",
        'request_route {\n    if (is_method("OPTIONS")) { unregister("location", "$ru"); %ssl_send_reply("200", "OK"); exit; }\n' % out, 1)
    kamailio = make_kamailio(config=config, wake_timeout=2).start().wait_engine()
    phone = wire.phone(kamailio, "out", "tcp", rfc8599_fcm())
    other = wire.phone(kamailio, "other", "tcp", rfc8599_fcm())
    for one in (phone, other):
        one.register()
        one.sleep()
    assert wire.caller(kamailio).request("out", "OPTIONS").wait_final().status == 200
    assert phone.push.token not in contacts_of(kamailio, "out")
    if removes:
        wait_until("its binding is gone", lambda: "by hand" in listing(kamailio, "out"))
    assert "by hand" not in listing(kamailio, "other")
    call = wire.call(kamailio, "out")
    assert call.wait_final(10).status == (404 if removes else 480)
    assert bool(simulator.pushes(phone.push.token)) != removes


def test_what_phones_remove_themselves_is_not_by_hand(make_kamailio, wire):
    kamailio = make_kamailio().start().wait_engine()
    phone = wire.phone(kamailio, "offline", "udp", rfc8599_fcm())
    phone.register()
    phone.register(0)
    assert phone.push.token not in contacts_of(kamailio, "offline")
    assert "by hand" not in listing(kamailio, "offline")


def test_nor_is_what_they_remove_while_their_request_was_suspended(make_kamailio, wire, simulator):
    """A worker that goes on with suspended requests has the rank of a process that answers RPC."""
    config = CONFIG.read_text().replace("children=2\n", "children=2\nasync_workers=1\n", 1)
    config = config.replace('loadmodule "tmx.so"', 'loadmodule "tmx.so"\nloadmodule "async.so"')
    config = config.replace("request_route {\n", """route[SAVE] {
    pushwake_save("location");
}

request_route {
    if (is_method("REGISTER")) { async_task_route("SAVE"); exit; }
""", 1)
    kamailio = make_kamailio(config=config).start().wait_engine()
    phone = wire.phone(kamailio, "later", "udp", rfc8599_fcm())
    phone.register()
    phone.register(0)
    phone.sleep()
    assert phone.push.token not in contacts_of(kamailio, "later")
    wire.call(kamailio, "later")
    simulator.wait_push(phone.push.token)
    assert "by hand" not in listing(kamailio, "later")


def test_a_removal_by_hand_waits_for_no_engine(make_kamailio, wire):
    """The supervisor, which all held requests need, asks nobody about it: it sees that a connection has ended."""
    kamailio = make_kamailio().start().wait_engine()
    for _ in range(2):
        wire.phone(kamailio, "banned", "tcp", rfc8599_fcm()).register()
    phone = wire.phone(kamailio, "suspended", "tcp", rfc8599_fcm())
    phone.register()
    phone.suspend()
    wire.call(kamailio, phone.user)
    phone.endpoint.wait_data()
    with stopped(kamailio.engine_pid()):
        assert kamailio.rpc("ul.rm", "location", "s:banned") is not None
        phone.endpoint.reset()
        wait_until("the leg has ended, and its request is held", lambda: kamailio.held() == 1, 3)
    wait_until("its bindings are gone", lambda: listing(kamailio, "banned").count("by hand") == 2)


@pytest.mark.parametrize("how", ["by hand", "contact by hand", "null token", "un-REGISTER"])
def test_a_call_waits_no_longer_for_a_phone_whose_binding_is_gone(make_kamailio, wire, simulator, how):
    """And the phone hears nothing of the call any more: its user has logged out, or was barred."""
    kamailio = make_kamailio(wake_timeout=30, settings={"unregister_policy": "remove"}).start().wait_engine()
    phone = wire.phone(kamailio, "leaver", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call = wire.call(kamailio, "leaver")
    simulator.wait_event(phone.push.token, "call")
    at = time.time()
    if how == "by hand":
        assert kamailio.rpc("pushwake.remove", "leaver") is not None
    elif how == "contact by hand":
        assert kamailio.rpc("ul.rm", "location", "s:leaver") is not None
    elif how == "null token":
        null = phone.contact.replace(phone.push.token, "null").replace(">", ";expires=0>", 1)
        wire.again(phone, "tcp").register(0, null)
    else:
        wire.again(phone, "tcp").register(0, phone.contact)
    answer = call.wait_final(10)
    assert answer.status == 480 and 4 < answer.at - at < 8
    kamailio.wait_none_held()
    wire.call(kamailio, "leaver").wait_final()
    assert simulator.events(phone.push.token) == ["call"]


# One phone, several users: one token and one instance.


def accounts(kamailio, wire, *users):
    """A phone that can log in as each of these users."""
    first = wire.phone(kamailio, users[0], "tcp", rfc8599_fcm())
    return [first] + [wire.phone(kamailio, user, "tcp", first.push, instance=first.instance) for user in users[1:]]


def is_over(kamailio, user):
    wait_until(f"the registration of {user} is over",
               lambda: not re.search(r"expires_in\W+[1-9]", listing(kamailio, user)))


def test_who_registers_the_token_of_another_takes_nothing_away(make_kamailio, wire, simulator):
    """Token and instance are all that one has to know. The phone gets the calls of both, and each names its user."""
    kamailio = make_kamailio(wake_timeout=8).start().wait_engine()
    victim, thief = accounts(kamailio, wire, "victim", "thief")
    victim.register(1)
    victim.sleep()
    is_over(kamailio, "victim")
    for _ in range(2):
        thief.register()
    line = kamailio.wait_log("aor=thief has registered with the push token of aor=victim")
    assert victim.push.token not in line
    assert kamailio.log_text().count("has registered with the push token") == 1
    wait_until("the claim is seen", lambda: kamailio.counter("bindings_claimed") == 1)
    assert re.search(r"shared_with\W+thief", listing(kamailio, "victim"))
    thief.sleep()
    call = wire.call(kamailio, "victim")
    assert "victim" in str(simulator.wait_push(victim.push.token))
    woken = wire.again(victim)
    woken.register()
    woken.wait_request("INVITE")
    call.wait_status(200)
    wire.call(kamailio, "thief")
    wait_until("both are pushed", lambda: len(simulator.calls(victim.push.token)) == 2)
    assert "thief" in str(simulator.calls(victim.push.token)[1])
    # Only the victim's own phone ends it.
    woken.push = no_push()
    woken.register(600, f"<{woken.uri};pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=null>;+sip.instance=\"<{woken.instance}>\"")
    assert "unbound by the phone" in listing(kamailio, "victim")
    assert "unbound" not in listing(kamailio, "thief")


def test_a_phone_with_two_accounts_keeps_both(make_kamailio, wire, simulator):
    """It adds the second, sleeps, is woken for one of them again and again and refreshes that alone, then both."""
    kamailio = make_kamailio(wake_timeout=8).start().wait_engine()
    first, second = accounts(kamailio, wire, "first", "second")
    first.register(1)
    second.register(1)
    for user in ("first", "second"):
        is_over(kamailio, user)
    for _ in range(3):
        second = wire.again(second, "tcp")
        second.register(1)
        is_over(kamailio, "second")
    for phone in (first, second, first, second):
        phone.register()
    for phone in (first, second):
        phone.sleep()
        assert "moved to" not in listing(kamailio, phone.user)
    for number, phone in enumerate((first, second), 1):
        wire.call(kamailio, phone.user)
        wait_until("it is pushed", lambda n=number: len(simulator.calls(phone.push.token)) >= n)
        phone = wire.again(phone, "tcp")
        phone.register()
        phone.wait_request("INVITE")


def test_a_token_leaves_a_user_where_apps_have_one_account(make_kamailio, wire, simulator):
    """The app was offline, or crashed; then somebody else logs in on that phone."""
    kamailio = make_kamailio(wake_timeout=2, settings={"one_aor_per_token": "always"}).start().wait_engine()
    before, after = accounts(kamailio, wire, "before", "after")
    before.register()
    before.sleep()
    after.register()
    wait_until("the binding is gone", lambda: "moved to after" in listing(kamailio, "before"))
    line = kamailio.wait_log("binding removed aor=before: its phone has registered as after")
    assert before.push.token not in line
    assert "moved to" not in listing(kamailio, "after")
    assert wire.call(kamailio, "before").wait_final(10).status >= 400
    assert not simulator.pushes(before.push.token)
    assert "bindings_moved: 1" in kamailio.rpc("pushwake.stats").replace('"', "")


def spellings(token):
    """What apps make of the bytes of a token, and what else a service takes for it."""
    pairs = [token[at:at + 8] for at in range(0, 64, 8)]
    return [token, token.upper(), token.capitalize(), token[:32].upper() + token[32:], f"<{' '.join(pairs)}>",
            f" {token} ", " ".join(pairs).upper(), f"<{token}>", f"{token}\t", f" <{token.upper()}> "]


@pytest.mark.parametrize("form", ["Contact", "X-MPUSH"])
def test_a_token_in_another_spelling_is_the_same(make_kamailio, wire, simulator, form):
    kamailio = make_kamailio(wake_timeout=8).start().wait_engine()
    token = apns_token()
    for number, spelling in enumerate(spellings(token)):
        phone = wire.phone(kamailio, "speller", "tcp", no_push(), instance=f"urn:uuid:{uuid.uuid4()}")
        push = f";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid={quote(spelling)}"
        if form == "Contact":
            phone.push = Push("spelled", token, contact=push, sip_pns="apns")
        elif number < 8:  # SIP itself takes blanks around a header away
            phone.push = Push("spelled", token, header=f"X-MPUSH: i:com.example.phone:{spelling}")
        phone.register()
        phone.sleep()
    assert listing(kamailio, "speller").count("aor:") == 1
    wire.call(kamailio, "speller")
    simulator.wait_push(token)
    assert kamailio.counter("pushes") == 1
