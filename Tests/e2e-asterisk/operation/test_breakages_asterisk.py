# SPDX-License-Identifier: MIT
"""Ways in which a phone does not ring at an Asterisk. Of each, `pushwake doctor` names the one thing to do, and ends with 1."""

import pytest
from asterisk_server import ChrootSimulator
from peers.doctor import Diagnosis, says
from phones import apns_token, fcm_token
from proxied import Proxied
from servers import stopped
from sleeper import Sleeper, apns, fcm

DIALPLAN = """
[phones]
exten => _1XX,1,Dial(PJSIP/${EXTEN},40)
exten => _short1XX,1,Dial(PJSIP/${EXTEN:5},2)
"""


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("breakages", extensions=DIALPLAN, settings={"wake_timeout": 4})
    yield made
    made.stop()


@pytest.fixture
def make(make_asterisk, phones, simulator):
    """An Asterisk of one user, in which something is wrong: lines of pjsip.conf, settings, and None for one that is missing."""
    def make(old="", new="", provider=None, **settings):
        asterisk = make_asterisk(extensions=DIALPLAN, users=["100"], start=False)
        asterisk.change("pjsip.conf", old, new)
        values = {**(provider or simulator).settings(), "wake_timeout": 3, **settings}
        asterisk.settings(**{name: value for name, value in values.items() if value is not None})
        asterisk.start()
        return asterisk

    return make


# What becomes of the call

@pytest.mark.parametrize("status, remedy", [(486, "busy"), (488, "codec"), (603, "declin"), (500, "app"), (404, "account")])
def test_an_answer_of_the_phone(asterisk, sleeper, caller, user, status, remedy):
    phone = sleeper()
    call = caller.call(user)
    awake = phone.wait_and_wake()
    awake.reply(awake.expect_request("INVITE"), status, "Answer")
    call.final()
    assert says(asterisk, user, remedy, "notifications").state("call") == "fails"


def test_a_phone_that_sleeps_on(asterisk, sleeper, caller, user):
    sleeper()
    caller.call(user).final(10)
    says(asterisk, user, "notifications", "wake_timeout")


def test_a_phone_that_comes_too_late(asterisk, sleeper, caller, user):
    phone = sleeper()
    caller.call(user).final(10)
    phone.wake()
    says(asterisk, user, "wake_timeout", "notifications")


@pytest.mark.parametrize("comes", [False, True], ids=["sleeps", "comes"])
def test_a_dialplan_that_gives_up_before_a_phone_can_come(asterisk, sleeper, caller, user, comes):
    phone = sleeper()
    caller.call("short" + user).final(10)
    if comes:
        phone.wake()
    found = says(asterisk, user, "Dial()", "notifications", "wake_timeout", code=0)
    assert found.state("call") == "look" and "given up after 2 s" in found.advice


def test_a_phone_that_wakes_and_does_not_answer(asterisk, sleeper, caller, user):
    phone = sleeper()
    call = caller.call(user)
    phone.wait_and_wake().expect_request("INVITE")
    call.final(20)
    says(asterisk, user, "INVITE did not reach", "notifications", "wake_timeout")


def test_a_phone_that_is_gone_when_it_is_rung(asterisk, sleeper, caller, user):
    phone = sleeper(transport="tcp")
    call = caller.call(user)
    phone.wait_and_wake().close()
    call.final(20)
    says(asterisk, user, "NAT", "notifications")


def test_a_contact_behind_nat_without_rewrite_contact(make, phones, simulator):
    asterisk = make("rewrite_contact = yes", "rewrite_contact = no")
    asterisk.wait_engine()
    phone = Sleeper(phones, asterisk, simulator, "100")
    call = phones("caller", asterisk.address).call("100")
    simulator.wait_push(phone.token)
    awake = phone._phone()
    awake.instance = phone.instance
    assert awake.register(phone.parameters, contact="sip:100@127.0.0.1:9;transport=tcp").status == 200
    call.final(20)
    says(asterisk, "100", "rewrite_contact", "notifications")


# What does not come to the engine

def test_a_phone_without_any_token(asterisk, phones, user):
    phones("158", asterisk.address).register(apns(apns_token()))
    assert phones(user, asterisk.address).register().status == 200
    says(asterisk, user, "sends no push token", "pushwake_save")
    says(asterisk, "159", "open the app", "pushwake_save")


@pytest.mark.parametrize("most", ["max_contacts = 1", ""], ids=["full", "none"])
def test_an_aor_without_room(make, phones, most):
    asterisk = make("max_contacts = 5\n", f"{most}\n")
    asterisk.wait_engine()
    desk = phones("100", asterisk.address)
    assert desk.register().status == (200 if most else 403)
    assert phones("100", asterisk.address).register(apns(apns_token())).status == 403
    says(asterisk, "100", "max_contacts")


def test_a_proxy_whose_path_is_not_kept(make, phones, simulator):
    asterisk = make("rewrite_contact = yes", "rewrite_contact = no")
    asterisk.wait_engine()
    phone = Proxied(phones, asterisk, simulator, "100")
    call = phones("caller", asterisk.address).call("100")
    phone.wait_and_wake()
    call.final(20)
    says(asterisk, "100", "support_path", "notifications")


def test_a_dialplan_that_does_not_call_pushwake(make, phones, simulator):
    asterisk = make(wait="dialplan")
    asterisk.wait_engine()
    Sleeper(phones, asterisk, simulator, "100", transport="tcp")
    phones("caller", asterisk.address).call("100").final(20)
    found = Diagnosis(asterisk, "100")
    assert found.code == 0 and "PushWake() in extensions.conf" in found.advice and "kamailio" not in found.advice, found.text


# Keys and the way to the provider

REFUSALS = [
    # provider, what it answers, the remedy, what would be a wrong one
    (apns, {"provider": "apns", "reason": "BadDeviceToken"}, "apns_environment", "open the app"),
    (apns, {"provider": "apns", "reason": "DeviceTokenNotForTopic"}, "apns_topic", "open the app"),
    (apns, {"provider": "apns", "reason": "InvalidProviderToken"}, "apns_key_id", "NTP"),
    (fcm, {"provider": "fcm", "reason": "SENDER_ID_MISMATCH"}, "project", "open the app"),
]


@pytest.fixture
def make_provider(workplace, request):
    made = []

    def make(rule):
        made.append(ChrootSimulator(workplace))
        made[-1].script = {"rules": [{"token": "*", **rule}]}
        made[-1].start()
        return made[-1]

    yield make
    for simulator in made:
        simulator.stop()


@pytest.mark.parametrize("parameters, rule, remedy, wrong", REFUSALS, ids=[rule["reason"] for _, rule, *_ in REFUSALS])
def test_a_refusal_of_the_provider(make, make_provider, phones, parameters, rule, remedy, wrong):
    provider = make_provider(rule)
    asterisk = make(provider=provider)
    asterisk.wait_engine()
    Sleeper(phones, asterisk, provider, "100", parameters)
    phones("caller", asterisk.address).call("100").final(20)
    says(asterisk, "100", remedy, wrong)


WAYS = {"https://nowhere.invalid": "resolve", "https://127.0.0.1:9": "nothing listens"}


@pytest.mark.parametrize("url", WAYS)
def test_a_way_that_is_barred(make, phones, simulator, url):
    asterisk = make(apns_url=url)
    asterisk.wait_engine()
    Sleeper(phones, asterisk, simulator, "100")
    phones("caller", asterisk.address).call("100").final(20)
    says(asterisk, "100", WAYS[url], "notifications")


def test_a_push_service_that_is_not_set_up(make, phones):
    asterisk = make(fcm_key=None)
    asterisk.wait_engine()
    phones("100", asterisk.address).register(fcm(fcm_token()))
    says(asterisk, "100", "fcm_key", "what the phone sends")


# The engine and the module

def test_an_engine_that_is_not_installed(make):
    says(make(engine_path="/usr/bin/pushwake-of-nobody"), "100", "set engine_path", "start the PBX")


def test_an_engine_that_hangs(make):
    asterisk = make()
    asterisk.wait_engine()
    with stopped(asterisk.engine_pid()):
        says(asterisk, "100", "hangs", "start the PBX")


def test_an_engine_without_a_place_for_its_store(make):
    says(make(store_path="/etc/hosts/bindings.db"), "100", "store_path", "start the PBX")


@pytest.mark.parametrize("change", [{"modules.conf": "[modules]\nautoload = yes\nnoload = res_pushwake.so\n"},
                                    {"pushwake.conf": "[general]\nwake_timout = 3\n"}], ids=["noload", "declined"])
def test_a_module_that_does_not_run(make_asterisk, change):
    asterisk = make_asterisk(extensions=DIALPLAN, users=["100"], start=False)
    for name, text in change.items():
        asterisk.write(name, text)
    asterisk.start()
    says(asterisk, "100", "has not loaded the module, or the module refuses its settings")
