# SPDX-License-Identifier: MIT
"""More calls to sleeping phones come than a server can put through: it takes as many as it can, and refuses the others at
once, so that nobody waits in vain."""

import time

import pytest

from crowd import Crowd
from phones import rfc8599_fcm
from servers import CALLS, wait_until

# Two processes that take 20 ms for each call that they take.
CAPACITY, OFFERED, SECONDS = 100, 400, 10
# What it takes swings about what it can do.
STEADY = 5
TAKEN = 'case 1:  if (is_present_hf("X-Also"))'


@pytest.fixture
def crowd(make_kamailio):
    text = CALLS.read_text()
    assert TAKEN in text
    text = text.replace(TAKEN, TAKEN.replace("if", 'usleep("20000"); if', 1)).replace("@SETTINGS@", 'loadmodule "cfgutils.so"\n@SETTINGS@')
    crowd = Crowd(make_kamailio(wake_timeout=30, config=text, settings={"lookup_goes_on": 1}).start().wait_engine())
    yield crowd
    crowd.stop()


def offer(crowd, users, rate, seconds):
    """Calls at an even rate; their Call-IDs."""
    begin, calls = time.time(), []
    for number in range(int(rate * seconds)):
        time.sleep(max(0, begin + number / rate - time.time()))
        calls.append(crowd.call(users[number % len(users)]))
    return calls


def test_takes_what_it_can_and_refuses_the_rest_at_once(crowd):
    phones = [(f"user{number}", rfc8599_fcm()) for number in range(50)]
    crowd.register(phones)
    users = [user for user, _ in phones]
    calls = offer(crowd, users, OFFERED, SECONDS)
    late = calls[-STEADY * OFFERED:]
    server = crowd.server
    wait_until("the last are answered", lambda: sum(call in crowd.heard for call in late) >= 0.9 * len(late), 3)
    refused = [call for call in late if crowd.ended.get(call) == 503]
    taken = (len(late) - len(refused)) / STEADY
    assert 0.6 * CAPACITY <= taken <= 1.5 * CAPACITY, f"{taken} a second are taken, {len(refused)} refused"
    assert {crowd.ended.get(call) for call in calls} <= {None, 503}
    assert "it takes about" in server.log_text()
    assert server.counter("kamailio_refused") >= len(refused)
    assert all(crowd.heard[call].headers("Retry-After") for call in refused)

    offer(crowd, users, CAPACITY // 5, 3)
    calls = offer(crowd, users, CAPACITY // 5, 2)
    wait_until("all are taken again", lambda: all(call in crowd.heard for call in calls), 3)
    assert not any(call in crowd.ended for call in calls)
    assert "are taken again" in server.log_text()
