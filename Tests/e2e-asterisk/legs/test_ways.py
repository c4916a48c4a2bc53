# SPDX-License-Identifier: MIT
"""Plain Dial() to phones over other ways: WebSockets, an edge proxy, an AoR that has one place."""

import pytest
from browser import Browser, BrowserSleeper
from ports import free_port
from proxied import CONTACT, Proxied, start_proxied
from servers import wait_until
from sleeper import Sleeper, fcm
from test_plain_dial import DIALPLAN, nothing_is_left, take


@pytest.fixture
def browsers(make_asterisk, simulator):
    """Makes an Asterisk for browsers, a browser that sleeps, and what makes browsers."""
    http = free_port()
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wait": "leg"}, start=False)
    asterisk.add_modules("res_http_websocket", "res_pjsip_transport_websocket")
    asterisk.write("http.conf", f"[general]\nenabled = yes\nbindaddr = 127.0.0.1\nbindport = {http}\n")
    # A WebSocket's contact is rewritten whatever the endpoint says.
    asterisk.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = no\n")
    asterisk.change("pjsip.conf", "[caller]", "[ws]\ntype = transport\nprotocol = ws\nbind = 127.0.0.1\n[caller]")
    asterisk.start()
    asterisk.wait_engine()
    made = []

    def make(user):
        made.append(Browser(user, http))
        return made[-1]

    yield asterisk, make
    for browser in made:
        browser.close()


def test_a_browser_rings(browsers, phones, simulator):
    asterisk, make = browsers
    phone = BrowserSleeper(make, asterisk, simulator, "100")
    call = phones("caller", asterisk.address).call("100")
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert "transport=ws" in invite["Contact"].lower() and "pushwake" not in invite["Contact"].lower()
    take(call, awake, invite)
    nothing_is_left(asterisk)


def test_a_phone_behind_an_edge_proxy_is_called_through_it(make_asterisk, phones, simulator):
    asterisk = start_proxied(make_asterisk(extensions=DIALPLAN, settings={"wait": "leg"}, start=False))
    phone = Proxied(phones, asterisk, simulator, "100", fcm)
    call = phones("caller", asterisk.address).call("100")
    awake = phone.wait_and_wake()
    invite = awake.expect_request("INVITE")
    assert invite.uri.startswith(CONTACT) and invite.all("Route") == [f"<sip:127.0.0.1:{awake.port};lr>"]
    take(call, awake, invite)
    nothing_is_left(asterisk)


@pytest.mark.parametrize("more", ["", "\nremove_existing = yes"])
def test_the_companion_makes_room_for_its_phone(make_asterisk, phones, simulator, more):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wait": "leg"}, users=["100"], start=False)
    asterisk.change("pjsip.conf", "max_contacts = 5\n", f"max_contacts = 1{more}\nqualify_frequency = 1\n")
    asterisk.start()
    asterisk.wait_engine()
    phone = Sleeper(phones, asterisk, simulator, "100", transport="tcp")
    wait_until("a companion", lambda: "transport=pushwake" in asterisk.cli("pjsip show aor 100"), 5, 0.1)
    for _ in range(2):
        call = phones("caller", asterisk.address).call("100")
        awake = phone.wait_and_wake()
        take(call, awake, awake.expect_request("INVITE"))
        phone.fall_asleep(awake)
        wait_until("a companion", lambda: "transport=pushwake" in asterisk.cli("pjsip show aor 100"), 5, 0.1)
    wait_until("it is reachable", lambda: "Avail" in asterisk.cli("pjsip show contacts"), 5, 0.1)


def test_waiting_calls_outlive_reloads(make_asterisk, phones, simulator):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wait": "leg", "wake_timeout": 20})
    phone = Sleeper(phones, asterisk, simulator, "100")
    call = phones("caller", asterisk.address).call("100")
    simulator.wait_push(phone.token)
    asterisk.cli("pjsip reload")
    asterisk.settings(**{**simulator.settings(), "wait": "leg", "wake_timeout": 19})
    assert "done" in asterisk.cli("pushwake reload")
    asterisk.wait_engine()
    assert "1 active call" in asterisk.cli("core show channels count")
    awake = phone.wake()
    take(call, awake, awake.expect_request("INVITE"))
    nothing_is_left(asterisk)
    # Sessions hold the module as long as their dialogs last.
    asterisk.cli("module unload res_pushwake.so")
    asterisk.wait_log("Soft unload failed")


def test_asterisk_stops_while_calls_wait(make_asterisk, phones, simulator):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wait": "leg"})
    phone = Sleeper(phones, asterisk, simulator, "100")
    call = phones("caller", asterisk.address).call("100")
    simulator.wait_push(phone.token)
    call.expect(180)
    asterisk.cli("core stop now")
    assert asterisk.process.wait(10) == 0


def test_the_module_is_loaded_again_and_again(make_asterisk, phones, simulator):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wait": "leg"})
    phone = Sleeper(phones, asterisk, simulator, "100", transport="tcp")
    for _ in range(3):
        assert "Unloaded" in asterisk.cli("module unload res_pushwake.so")
        assert "Loaded" in asterisk.cli("module load res_pushwake.so")
    asterisk.wait_engine()
    wait_until("a companion", lambda: "transport=pushwake" in asterisk.cli("pjsip show aor 100"), 5, 0.1)
    call = phones("caller", asterisk.address).call("100")
    awake = phone.wait_and_wake()
    take(call, awake, awake.expect_request("INVITE"))
