# SPDX-License-Identifier: MIT
"""What others see of a phone that says everything everywhere: with its token and instance one can pretend to be it."""

import pathlib

import pytest

from endpoint import new_branch, new_id
from phones import rfc8599_fcm
from test_docs import configuration
from test_stock import STOCK, edited
from wire_caller import target_of
from wire_phone import WirePhone

ANSWERED = ("OPTIONS", "MESSAGE", "INFO", "UPDATE", "NOTIFY")


class LoudPhone(WirePhone):
    """Its Contact is the same everywhere, in the URI and as parameters of the header; so are its other headers."""

    HEADERS = ("X-MPUSH: a:com.example.phone:5EC:RET-of-the-header", "X-PIID: 5ec5ec5ec5ec5ec5ec5ec5ec5ec5ec5e",
               "X-Sy.Uppersrv: secret.example.com")

    @property
    def contact_in_calls(self):
        return (f'{self.contact};pn-prid=5EC:RET-behind;pn-param="5EC;RET, quoted>";reg-id=1;pn-provider=fcm;'
                f'+sip.pnsreg="x"')

    def answer(self, request, status, *extra):
        super().answer(request, status, *self.HEADERS, *extra)

    def send_request(self, invite, method, caller, cseq):
        """Within a call that it has answered."""
        lines = [
            f"{method} {target_of(invite)} SIP/2.0",
            f"Via: SIP/2.0/{self.transport.upper()} 127.0.0.1:{self.endpoint.port};rport;branch={new_branch()}",
            *[f"Route: {route}" for route in invite.headers("Record-Route")],
            f"From: {invite.headers('To')[0]};tag={self.tag}", f"To: {invite.headers('From')[0]}",
            f"Call-ID: {invite.headers('Call-ID')[0]}", f"CSeq: {cseq} {method}", f"Contact: {self.contact_in_calls}",
            "Max-Forwards: 70", *self.HEADERS, "Content-Length: 0"]
        self.endpoint.send("\r\n".join(lines) + "\r\n\r\n")
        caller.endpoint.wait_for(method, lambda m: m.method == method)

    def send_new(self, user, method):
        lines = [
            f"{method} sip:{user}@{self.domain} SIP/2.0",
            f"Via: SIP/2.0/{self.transport.upper()} 127.0.0.1:{self.endpoint.port};rport;branch={new_branch()}",
            f"From: <sip:{self.user}@{self.domain}>;tag={self.tag}", f"To: <sip:{user}@{self.domain}>",
            f"Call-ID: {new_id()}", f"CSeq: 1 {method}", f"Contact: {self.contact_in_calls}", "Max-Forwards: 70",
            *self.HEADERS, "Content-Length: 0"]
        self.endpoint.send("\r\n".join(lines) + "\r\n\r\n")

    def secrets(self):
        uuid = self.instance.rpartition(":")[2]
        return [self.push.token, uuid, "5EC:RET", "5EC;RET", "5ec5ec5ec5ec", "secret.example.com", "pn-prid", "pn-param",
                "pn-provider"]


def loud(wire, server, user, domain):
    phone = LoudPhone(server, user, "tcp", rfc8599_fcm(), domain=domain)
    wire.keep(phone)
    for method in ANSWERED:
        phone.answers[method] = (200,)
    phone.register()
    return phone


def leaks(secrets, messages):
    return [line for message in messages if not message.sent for line in message.text.split("\r\n")
            if any(secret.lower() in line.lower() for secret in secrets)]


def the_phone_is_called(wire, server, domain):
    phone = loud(wire, server, "loud", domain)
    call = wire.call(server, "loud", domain=domain)
    call.wait_status(180)
    call.wait_status(200)
    for method in ("OPTIONS", "INFO", "UPDATE"):
        call.wait_answer_to(call.request(method))
    invite = phone.wait_request("INVITE")
    for cseq, method in enumerate(("INFO", "UPDATE", "BYE"), 1):
        phone.send_request(invite, method, call.caller, cseq)
    for method in ("OPTIONS", "MESSAGE"):
        asked = call.caller.request("loud", method, domain=domain)
        asked.wait_final()
    return leaks(phone.secrets(), call.caller.endpoint.messages)


def the_phone_refuses(wire, server, domain):
    phone = loud(wire, server, "loud", domain)
    found = []
    for status in (302, 486, 603):
        phone.answers["INVITE"] = (status,)
        call = wire.call(server, "loud", domain=domain)
        call.wait_final()
        found += leaks(phone.secrets(), call.caller.endpoint.messages)
    return found


def the_phone_wakes(wire, server, domain, simulator):
    """The request that waits is answered later, and by another worker."""
    phone = loud(wire, server, "loud", domain)
    phone.sleep()
    call = wire.call(server, "loud", domain=domain)
    simulator.wait_push(phone.push.token)
    woken = LoudPhone(server, "loud", "tcp", phone.push, instance=phone.instance, domain=domain)
    wire.keep(woken)
    woken.register()
    call.wait_status(200)
    call.hang_up()
    call.wait_answer("BYE")
    return leaks(phone.secrets(), call.caller.endpoint.messages)


def the_phone_calls(wire, server, domain):
    phone = loud(wire, server, "loud", domain)
    other = wire.phone(server, "other", "tcp", rfc8599_fcm(), domain=domain)
    other.register()
    for method in ("INVITE", "MESSAGE"):
        phone.send_new("other", method)
        other.wait_request(method)
    # What leads to the other phone is its own.
    return leaks(phone.secrets()[:6], other.endpoint.messages)


@pytest.fixture(params=["README.md", "docs/kamailio.md", "stock", "stock with NAT"])
def printed(request, make_kamailio):
    if not request.param.startswith("stock"):
        return make_kamailio(config=configuration(request.param), wake_timeout=8).as_printed().start().wait_engine(), "127.0.0.1"
    if not STOCK.exists():
        pytest.skip("the package's kamailio.cfg is not installed")
    text = edited().replace("log_stderror=no", "log_stderror=yes").replace("children=8", 'children=2\nalias="stock.example"')
    arguments = ["-A", "WITH_NAT"] if "NAT" in request.param else []
    server = make_kamailio(config=text, wake_timeout=8, arguments=arguments).as_printed()
    (pathlib.Path(server.config).parent / "pushwake.cfg").write_text("")
    return server.start().wait_engine(), "stock.example"


def test_a_caller_learns_neither_token_nor_instance(printed, wire):
    assert the_phone_is_called(wire, *printed) == []


def test_a_caller_whom_the_phone_refuses_learns_neither(printed, wire):
    assert the_phone_refuses(wire, *printed) == []


def test_a_caller_who_waited_for_the_phone_learns_neither(printed, wire, simulator):
    assert the_phone_wakes(wire, *printed, simulator) == []


def test_who_is_called_learns_neither(printed, wire):
    assert the_phone_calls(wire, *printed) == []
