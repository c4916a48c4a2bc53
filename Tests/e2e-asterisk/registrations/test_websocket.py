# SPDX-License-Identifier: MIT
"""Browsers: their phones come over a WebSocket (RFC 7118), with a Contact that leads nowhere but to their connection."""

import pytest
from browser import Browser, BrowserSleeper
from ports import free_port
from sleeper import finish


class FrozenBrowser(BrowserSleeper):
    """Suspended behind an open connection."""

    def fall_asleep(self, phone):
        self.socket = phone


@pytest.fixture(scope="module")
def asterisk(make_session_asterisk):
    made = make_session_asterisk("websocket", start=False, settings={"silent_after": 500})
    made.http_port = free_port()
    made.add_modules("res_http_websocket", "res_pjsip_transport_websocket")
    made.write("http.conf", f"[general]\nenabled = yes\nbindaddr = 127.0.0.1\nbindport = {made.http_port}\n")
    made.change("pjsip.conf", "[udp]\n", "[ws]\ntype = transport\nprotocol = ws\nbind = 0.0.0.0\n[udp]\n")
    # A WebSocket's contact is rewritten whatever the endpoint says.
    made.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = no\n")
    made.start()
    made.wait_engine()
    yield made
    made.stop()


@pytest.fixture
def browser(asterisk):
    made = []

    def make(user):
        made.append(Browser(user, asterisk.http_port))
        return made[-1]

    yield make
    for phone in made:
        phone.close()


def test_a_browser_that_sleeps_is_woken_and_one_that_is_awake_is_not_pushed(browser, asterisk, simulator, caller, user):
    phone = BrowserSleeper(browser, asterisk, simulator, user)
    call = caller.call(user)
    awake = phone.wait_and_wake()
    finish(call, awake, awake.expect_request("INVITE"))
    call = caller.call(user)
    finish(call, awake, awake.expect_request("INVITE"))
    assert len(phone.pushes) == 1
    phone.fall_asleep(awake)
    call = caller.call(user)
    simulator.wait_push(phone.token, after=1)
    awake = phone.wake()
    finish(call, awake, awake.expect_request("INVITE"))


def test_a_browser_that_is_suspended_is_pushed_and_rings_at_its_new_connection(browser, asterisk, simulator, caller, user):
    phone = FrozenBrowser(browser, asterisk, simulator, user)
    call = caller.call(user)
    awake = phone.wait_and_wake()
    finish(call, awake, awake.expect_request("INVITE"))
    assert len(phone.pushes) == 1


def test_a_text_reaches_a_browser_over_sip_or_by_push(browser, asterisk, simulator, caller, user):
    phone = BrowserSleeper(browser, asterisk, simulator, user)
    caller.begin_message(user, "are you there?")
    awake = phone.wait_and_wake()
    caller.begin_message(user, "good evening")
    message = awake.expect_request("MESSAGE")
    assert message.body == "good evening"
    awake.reply(message, 200, "OK")
    assert len(phone.pushes) == 1
