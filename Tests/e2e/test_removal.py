# SPDX-License-Identifier: MIT
"""Push bindings that go because the operator says so; they stay listed with the reason until the phone registers again."""

from phones import no_push, rfc8599_fcm
from servers import wait_until


def listing(kamailio, user):
    return kamailio.rpc("pushwake.list", user) or ""


def test_a_phone_that_says_nothing_of_push_loses_its_binding(make_kamailio, wire):
    kamailio = make_kamailio(settings={"remove_at_nopn": 1}).start().wait_engine()
    phone = wire.phone(kamailio, "quiet", "udp", rfc8599_fcm())
    phone.register()
    token, phone.push = phone.push, no_push()
    phone.register()
    assert "registered without push" in listing(kamailio, "quiet")
    phone.push = token
    phone.register()
    assert "registered without push" not in listing(kamailio, "quiet"), "it has registered again"


def test_a_phone_without_pn_prid_loses_its_binding(make_kamailio, wire):
    kamailio = make_kamailio(settings={"remove_at_noprid": 1}).start().wait_engine()
    phone = wire.phone(kamailio, "asker", "udp", rfc8599_fcm())
    phone.register()
    instance = f';+sip.instance="<{phone.instance}>"'
    phone.register(600, f"<{phone.uri};pn-provider=fcm>{instance}")
    assert "registered without pn-prid" in listing(kamailio, "asker")


def test_by_default_both_keep_it(make_kamailio, wire, simulator):
    kamailio = make_kamailio().start().wait_engine()
    phone = wire.phone(kamailio, "keeper", "udp", rfc8599_fcm())
    phone.register()
    token, phone.push = phone.push, no_push()
    phone.register()
    phone.sleep()
    wire.call(kamailio, "keeper")
    simulator.wait_push(token.token)


def test_a_phone_that_does_not_come_loses_its_binding_by_setting(make_kamailio, wire, simulator):
    kamailio = make_kamailio(wake_timeout=1, settings={"remove_on_callfail": 2}).start().wait_engine()
    phone = wire.phone(kamailio, "gone", "tcp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    for _ in range(2):
        assert "did not come" not in listing(kamailio, "gone")
        wire.call(kamailio, "gone").wait_final(10)
    wait_until("it is removed", lambda: "did not come for 2 calls" in listing(kamailio, "gone"))
