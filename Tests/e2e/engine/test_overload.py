# SPDX-License-Identifier: MIT
"""A provider that takes half of the pushes which calls need: those that it takes are for callers who still wait."""

import time

import pytest

from crowd import Crowd
from phones import rfc8599_apns

CAPACITY, SECONDS, PATIENCE = 20, 16, 5
RULES = {
    "waits": {"answers_per_second": CAPACITY},
    "503": {"above_per_second": CAPACITY, "reason": "ServiceUnavailable"},
    "429": {"above_per_second": CAPACITY, "reason": "TooManyRequests"},
}


@pytest.fixture
def crowd(make_simulator, make_kamailio, request):
    provider = make_simulator({"rules": [{"provider": "apns", **RULES[request.param]}]})
    server = make_kamailio(provider, wake_timeout=30).start().wait_engine()
    crowd = Crowd(server)
    crowd.provider = provider
    yield crowd
    crowd.stop()


@pytest.mark.parametrize("crowd", RULES, indirect=True)
def test_pushes_reach_callers_who_still_wait(crowd):
    phones = [(f"user{number}", rfc8599_apns()) for number in range(2 * CAPACITY * SECONDS)]
    crowd.register(phones)
    begin, calls = time.time(), {}
    for number, (user, push) in enumerate(phones):
        time.sleep(max(0, begin + number / (2 * CAPACITY) - time.time()))
        calls[push.token] = crowd.called[crowd.call(user)]
    end = time.time()
    requests = [request for request in crowd.provider.requests if request["provider"] == "apns" and request["t"] <= end]
    taken = {request["path"].rsplit("/", 1)[1]: request["t"] for request in requests if request["status"] == 200}
    in_time = sum(at - calls[token] <= PATIENCE for token, at in taken.items())
    assert len(taken) >= 0.8 * CAPACITY * SECONDS, "it could have taken more"
    assert in_time >= 0.9 * len(taken), f"{in_time} of {len(taken)} rang in time"
    assert len(requests) <= 1.4 * len(taken), f"{len(requests)} requests for {len(taken)} pushes"
