# SPDX-License-Identifier: MIT
"""Users with as many phones as max_contacts allows: a phone that wakes at a new address takes the place of its own old one."""

import pytest
from sleeper import Frozen, Sleeper, fcm, finish


def limited(make_asterisk, most, endpoint="rewrite_contact = yes"):
    asterisk = make_asterisk(settings={"wake_timeout": 10}, users=["100"], start=False)
    asterisk.change("pjsip.conf", "max_contacts = 5\n", f"max_contacts = {most}\n")
    asterisk.change("pjsip.conf", "rewrite_contact = yes", endpoint)
    asterisk.start()
    asterisk.wait_engine()
    return asterisk


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", [Sleeper, Frozen])
def test_a_phone_that_wakes_finds_its_own_place(make_asterisk, phones, simulator, kind, count):
    asterisk = limited(make_asterisk, count)
    sleepers = [kind(phones, asterisk, simulator, "100") for _ in range(count)]
    call = phones("caller", asterisk.address).call("100")
    awake = sleepers[0].wait_and_wake()
    finish(call, awake, awake.expect_request("INVITE"))


def test_a_phone_that_wakes_takes_no_other_ones_place(make_asterisk, phones, simulator):
    """With remove_existing the registrar makes room by itself, with the contact that ends first: the desk phone's."""
    asterisk = limited(make_asterisk, "2\nremove_existing = yes")
    desk = phones("100", asterisk.address)
    assert desk.register(expires=60).status == 200
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)
    call = phones("caller", asterisk.address).call("100")
    desk.ring(desk.expect_request("INVITE"))
    awake = sleeper.wait_and_wake()
    invite = awake.expect_request("INVITE")
    contacts = asterisk.cli("pjsip show contacts")
    assert f":{desk.port}" in contacts and f":{awake.port}" in contacts
    finish(call, awake, invite)


def test_a_full_aor_takes_no_phone_more(make_asterisk, phones, simulator):
    asterisk = limited(make_asterisk, 1)
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)
    other = phones("100", asterisk.address)
    assert other.register(fcm("another-token")).status == 403
    call = phones("caller", asterisk.address).call("100")
    awake = sleeper.wait_and_wake()
    finish(call, awake, awake.expect_request("INVITE"))


@pytest.mark.parametrize("most", [1, 5])
def test_a_phone_that_changes_its_address_family_leaves_its_old_place(make_asterisk, phones, simulator, most):
    """No contact of Asterisk's says whose it is: one that is left behind would be rung until it expires."""
    asterisk = limited(make_asterisk, f"{most}", "rewrite_contact = no")
    sleeper = Sleeper(phones, asterisk, simulator, "100", fcm)
    old = phones("100", asterisk.address)
    old.instance = sleeper.instance
    assert old.register(sleeper.parameters, contact="sip:100@[2001:db8::20]:5060").status == 200
    call = phones("caller", asterisk.address).call("100")
    awake = sleeper.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert "2001:db8" not in asterisk.cli("pjsip show contacts")
    finish(call, awake, invite)
