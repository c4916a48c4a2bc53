# SPDX-License-Identifier: MIT
"""A phone is asked by push to register again before its registration ends."""

import os
import signal

from phones import rfc8599_fcm
from servers import wait_until


def test_a_phone_is_asked_before_its_registration_ends(make_kamailio, actors, simulator):
    kamailio = make_kamailio(settings={"refresh_before": 4}).start().wait_engine()
    phone = actors.phone(kamailio, "fading", rfc8599_fcm())
    phone.register(expires=8)
    push = simulator.wait_push(phone.push.token, seconds=20)
    message = push["body"]["message"]
    assert message["data"]["event"] == "refresh"
    assert message["android"]["priority"].lower() == "normal"
    assert 0 < int(message["android"]["ttl"].rstrip("s")) <= 4

    phone.register(expires=600)
    other = actors.phone(kamailio, "fading2", rfc8599_fcm())
    other.register(expires=8)
    gone = actors.phone(kamailio, "fading3", rfc8599_fcm())
    gone.register(expires=8)
    kamailio.rpc("pushwake.remove", "fading3")
    os.kill(kamailio.engine_pid(), signal.SIGKILL)
    wait_until("the other phone is asked", lambda: simulator.pushes(other.push.token), seconds=25)
    assert len(simulator.pushes(phone.push.token)) == 1, "it has registered"
    assert not simulator.pushes(gone.push.token)
