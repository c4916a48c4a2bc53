# SPDX-License-Identifier: MIT
"""Many callers wait for one phone: each is put through, the one that came first before the others."""

from phones import rfc8599_fcm
from servers import wait_until

COUNT = 200


def test_all_callers_of_one_sleeper_reach_it_in_their_order(make_server, wire, simulator):
    server = make_server(wake_timeout=20)
    phone = wire.phone(server, "popular", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    # over streams: a burst of answers is more than a datagram socket takes
    caller = wire.caller(server, "tcp")
    calls = []
    for _ in range(COUNT):
        calls.append(caller.call(phone.user))
        # one at a time: workers work side by side
        calls[-1].wait_status(100)
    # 100 is sent before the script holds the call
    wait_until("all are held", lambda: server.held() == COUNT)
    woken = wire.again(phone, "tcp")
    woken.answers["INVITE"] = (200,)
    woken.register()
    for call in calls:
        assert call.wait_final(15).status == 200
    order = [invite.headers("Call-ID")[0] for invite in woken.requests("INVITE")]
    assert order == [call.call_id for call in calls]
    server.wait_none_held()
