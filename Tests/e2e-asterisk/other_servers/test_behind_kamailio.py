# SPDX-License-Identifier: MIT
"""An Asterisk as it comes behind a Kamailio that wakes the phones that it calls, as docs/asterisk.md prints them."""

import re

import pytest
from behind_kamailio import dialplan_where_kamailio_wakes, kamailio_config, printed_pjsip
from gateway_pair import HostSide, strip
from servers import Kamailio, wait_until
from sip_phone import Phone
from sleeper import Sleeper, fcm

MORE = """
exten => group,1,Dial(PJSIP/102@kamailio&PJSIP/103@kamailio,30)
exten => queue,1,Queue(support)
"""
QUEUES = "[support]\nstrategy = linear\ntimeout = 3\nretry = 1\nmember => Local/101@phones/n\n"
# A user of Asterisk's own whose calls go to Kamailio.
USER = "[101]\ntype = endpoint\naors = 101\ncontext = phones\n[101]\ntype = aor\nqualify_frequency = 1\ncontact = sip:101@127.0.0.1:{}\n"


class Front:
    """Where phones register and call: the Kamailio. Asterisk is behind it."""

    def __init__(self, asterisk, kamailio):
        self.asterisk, self.kamailio, self.address = asterisk, kamailio, ("127.0.0.1", kamailio.port)

    def wait_log(self, text):
        self.kamailio.wait_disconnected(int(re.match(r":(\d+)", text)[1]))

    def wait_contact(self, user):
        """Contacts are the Kamailio's."""


@pytest.fixture(scope="module")
def front(make_session_asterisk, simulator, tmp_path_factory):
    asterisk = make_session_asterisk("behind", users=[], start=False)
    strip(asterisk)
    asterisk.add_modules("res_pjsip_refer")
    config = kamailio_config(asterisk.sip_port, wakes=True)
    kamailio = Kamailio(tmp_path_factory.mktemp("front"), HostSide(simulator), config=config, wake_timeout=10)
    asterisk.write("pjsip.conf", printed_pjsip(asterisk.sip_port, kamailio.port) + USER.format(kamailio.port))
    asterisk.write("extensions.conf", dialplan_where_kamailio_wakes() + MORE)
    asterisk.write("queues.conf", QUEUES)
    kamailio.start().wait_engine()
    asterisk.start()
    yield Front(asterisk, kamailio)
    asterisk.stop()
    kamailio.stop()


@pytest.fixture
def asleep(front, phones, simulator):
    def make(user, transport="udp"):
        return Sleeper(phones, front, simulator, user, fcm, transport=transport)

    return make


@pytest.fixture
def caller(front, phones):
    return phones("caller", front.address)


def answer(call, phone):
    """The phone answers what it is called for, and the caller hangs up."""
    phone.answer(phone.expect_request("INVITE"))
    call.expect(200)
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_sleeping_phone_rings(asleep, caller, transport):
    user = {"udp": "104", "tcp": "105"}[transport]
    phone = asleep(user, transport)
    call = caller.call(user)
    call.expect(180)
    answer(call, phone.wait_and_wake())


def test_of_a_group_who_answers_first_has_the_call(asleep, caller, simulator):
    first, second = asleep("102"), asleep("103")
    call = caller.call("group")
    simulator.wait_push(first.token)
    answer(call, second.wait_and_wake())
    simulator.wait_event(first.token, "elsewhere")


def test_a_queue_that_gave_up_calls_the_phone_that_has_woken(asleep, caller, simulator):
    phone = asleep("101", "tcp")
    call = caller.call("queue")
    simulator.wait_event(phone.token, "cancel")
    answer(call, phone.wake())


def test_who_forwards_wakes_another(asleep, caller):
    first, second = asleep("106"), asleep("107")
    call = caller.call("106")
    awake = first.wait_and_wake()
    awake.forward(awake.expect_request("INVITE"), "107")
    answer(call, second.wait_and_wake())


def test_a_user_whose_phone_sleeps_can_be_called(front, asleep):
    """As far as Asterisk knows from its OPTIONS, which wake nobody."""
    phone = asleep("101")
    wait_until("the contact is reachable", lambda: " Avail " in front.asterisk.cli("pjsip show aor 101"))
    assert phone.pushes == []
