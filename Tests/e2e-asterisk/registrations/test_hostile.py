# SPDX-License-Identifier: MIT
"""REGISTERs that mean harm, or nothing: Asterisk goes on, and so does the next phone."""

import pytest
from phones import apns_token
from sip_phone import Phone, token
from sleeper import apns

LONG = "x" * 10_000
GOOD = "pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid="


def contact(text):
    return [("Contact", text)]


HOSTILE = {
    "no value": contact("<sip:u@127.0.0.1;pn-provider;pn-param;pn-prid>"),
    "empty values": contact("<sip:u@127.0.0.1;pn-provider=;pn-param=;pn-prid=>"),
    "names only": contact("<sip:u@127.0.0.1;pn-;push-token-;app-id>"),
    "escaped NUL": contact(f"<sip:u@127.0.0.1;{GOOD}%00%00abc>"),
    "escaped line feed": contact(f"<sip:u@127.0.0.1;{GOOD}a%0D%0APn-x%3D1%0APN-Y>"),
    "escaped separators": contact(f"<sip:u@127.0.0.1;{GOOD}a%3Bb%3Ec%22d%26e>"),
    "broken escape": contact(f"<sip:u@127.0.0.1;{GOOD}%zz%4>"),
    "token of 10 kB": contact(f"<sip:u@127.0.0.1;{GOOD}{LONG}>"),
    "2,000 parameters": contact("<sip:u@127.0.0.1" + ";pn-a=1" * 2000 + ">"),
    "twice the same": contact(f"<sip:u@127.0.0.1;{GOOD}a;{GOOD}b>"),
    "star with parameters": contact("*;pn-prid=a"),
    "50 contacts": [("Contact", f"<sip:u@127.0.0.{i};{GOOD}{i}>") for i in range(1, 51)],
    "tel": contact("<tel:+123;pn-prid=a>"),
    "IPv6": contact(f"<sip:u@[::1]:5060;{GOOD}a?X=y>"),
    "no angle brackets": contact(f"sip:u@127.0.0.1;{GOOD}a"),
    "no Contact at all": [],
    "X-MPUSH of 10 kB": [*contact("<sip:u@127.0.0.1>"), ("X-MPUSH", "i:com.example:" + LONG)],
    "200 headers": [*contact("<sip:u@127.0.0.1>"), *[("X-MPUSH", f"i:a:{i}") for i in range(200)]],
    "raw bytes": [*contact("<sip:u@127.0.0.1>"), ("X-MPUSH", "i:\x01\x7f\u00ff:\u2028")],
}


@pytest.fixture(scope="module")
def open_asterisk(make_session_asterisk):
    """One user needs no password, so that what is sent reaches the module."""
    asterisk = make_session_asterisk("hostile", start=False)
    with open(asterisk.host_at / "etc/pjsip.conf", "a") as f:
        f.write("[open]\ntype=endpoint\ncontext=phones\nallow=!all,ulaw\naors=open\n[open]\ntype=aor\nmax_contacts=3\n")
    asterisk.start()
    asterisk.wait_engine()
    yield asterisk
    asterisk.stop()


@pytest.fixture(scope="module")
def honest(open_asterisk):
    with Phone("100", open_asterisk.address) as phone:
        yield phone


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_asterisk_goes_on(open_asterisk, honest, phones, name, transport):
    bad = phones("open", open_asterisk.address, transport)
    for expires in (60, 0):
        bad.send(
            "REGISTER sip:127.0.0.1 SIP/2.0",
            [
                ("Via", bad._via()), ("Max-Forwards", 70), ("From", f"<sip:open@127.0.0.1>;tag={token()}"),
                ("To", "<sip:open@127.0.0.1>"), ("Call-ID", token()), ("CSeq", "1 REGISTER"), ("Expires", expires),
                *HOSTILE[name],
            ],
        )  # fmt: skip
        reply = bad._read(0.5)
        assert reply is None or reply.status >= 200
        assert reply is None or all("\n" not in value for _, value in reply.headers)
    reply = honest.register(apns(apns_token()), expires=60)
    assert reply.status == 200 and "sip.pns" in reply["Feature-Caps"]


def test_a_flood_of_failed_registers_leaves_nothing(open_asterisk, phones):
    for _ in range(300):
        phone = phones("101", open_asterisk.address, password="wrong")
        assert phone.register(apns(apns_token())).status == 401
        phone.close()
    assert open_asterisk.bindings("101") == []
    assert open_asterisk.process.poll() is None
