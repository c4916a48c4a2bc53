# SPDX-License-Identifier: MIT
"""An Asterisk that knows nothing of push, with phones that are registered through a Kamailio gateway."""

import hashlib
import re
import time

import pytest

from gateway_pair import Gateway, plain_asterisk
from servers import wait_until
from sip_phone import Phone


@pytest.fixture
def pair(make_asterisk, tmp_path, simulator):
    """An untouched Asterisk, and the gateway of docs/gateway.md before it."""
    made = []

    def make(auth="", aor="", **settings):
        asterisk = plain_asterisk(make_asterisk, auth, aor)
        gateway = Gateway(tmp_path, simulator, asterisk, **settings)
        made.append(gateway)
        return gateway.start(), asterisk

    yield make
    for gateway in made:
        gateway.stop()


def piid(user, password=None):
    return "X-PIID", hashlib.md5(f"{user}:asterisk:{password or user + '-secret'}".encode()).hexdigest()


def contacts(asterisk, user):
    return re.findall(rf"Contact:\s+{user}/(\S+)", asterisk.cli(f"pjsip show aor {user}"))


def test_a_sleeping_phone_rings_long_after_its_registration_would_have_ended(pair, simulator):
    gateway, asterisk = pair(upper_expire=12)
    with gateway.phone("101") as phone:
        reply = phone.register(gateway.push, [piid("101")])
        assert reply.status == 200, reply.raw
        assert reply["Feature-Caps"]
    address, = contacts(asterisk, "101")
    assert address.startswith("sip:gw-101_40127.0.0.1-"), "one Contact, and no token in it"
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert contacts(asterisk, "101"), "Asterisk has forgotten it"
        time.sleep(1)
    gateway.rings(asterisk, "101", phone.instance)


def test_a_path_leads_asterisk_through_the_gateway(pair):
    gateway, asterisk = pair(aor="support_path = yes", upper_contact="gateway.invalid",
                             upper_path_header="sip:127.0.0.1:@OWN_PORT@")
    with gateway.phone("101") as phone:
        assert phone.register(gateway.push).status == 200
    address, = contacts(asterisk, "101")
    assert "@gateway" in address, "no DNS knows that host: only the Path leads there"
    gateway.rings(asterisk, "101", phone.instance)


def test_an_asterisk_without_support_path_takes_the_contact_as_it_is(pair):
    gateway, asterisk = pair(upper_path_header="sip:127.0.0.1:@OWN_PORT@")
    with gateway.phone("102") as phone:
        assert phone.register(gateway.push).status == 200
    gateway.rings(asterisk, "102", phone.instance)


def test_two_phones_of_one_extension_both_ring(pair, simulator):
    gateway, asterisk = pair()
    with gateway.phone("102", "tcp") as one, gateway.phone("102", "tcp") as two:
        for phone in (one, two):
            assert phone.register().status == 200
        assert len(contacts(asterisk, "102")) == 1
        with Phone("caller", asterisk.address) as caller:
            call = caller.call("102")
            first, second = one.expect_request("INVITE", 10), two.expect_request("INVITE", 10)
            for phone, invite in ((one, first), (two, second)):
                phone.ring(invite)
            one.answer(first)
            call.expect(200)
            two.expect_request("CANCEL")
            call.end()
            one.reply(one.expect_request("BYE"), 200, "OK")


def test_a_wrong_password_is_asterisks_business(pair):
    gateway, asterisk = pair()
    with gateway.phone("103") as phone:
        phone.password = "wrong"
        assert phone.register(gateway.push, [piid("103")]).status in (401, 403)
    assert not contacts(asterisk, "103")


@pytest.mark.parametrize("offered", ["SHA-256,MD5", "MD5,SHA-256", "MD5"])
def test_the_challenge_is_answered_that_x_piid_fits(pair, offered):
    gateway, asterisk = pair(f"supported_algorithms_uas = {offered}", upper_expire=12, prefer_md5_auth=1)
    with gateway.phone("104") as phone:
        assert phone.register(gateway.push, [piid("104")]).status == 200
    assert contacts(asterisk, "104")


def test_a_sha256_x_piid_answers_sha256(pair):
    gateway, asterisk = pair("supported_algorithms_uas = SHA-256", upper_expire=12, prefer_md5_auth=1)
    digest = hashlib.sha256(b"105:asterisk:105-secret").hexdigest()
    with gateway.phone("105") as phone:
        assert phone.register(gateway.push, [("X-PIID", digest)]).status == 200
    assert contacts(asterisk, "105")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        assert contacts(asterisk, "105"), "Asterisk has forgotten it"
        time.sleep(1)


def test_qualify_is_answered_by_the_gateway(pair):
    gateway, asterisk = pair(aor="qualify_frequency = 1")
    with gateway.phone("106") as phone:
        assert phone.register(gateway.push, [piid("106")]).status == 200
    wait_until("the contact is reachable", lambda: " Avail " in asterisk.cli("pjsip show aor 106"))
