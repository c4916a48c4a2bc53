# SPDX-License-Identifier: MIT
"""Phones that sleep, and callers."""

import dataclasses
import uuid

from ports import free_port
from sip import Sipp


@dataclasses.dataclass
class Push:
    """How a phone says that it can be pushed. @TOKEN@ in the texts is its token."""

    name: str
    token: str
    contact: str = ""  # URI parameters
    header: str = "X-Nothing: 0"
    sip_pns: str = None  # what Feature-Caps must say

    def named(self, text):
        return text.replace("@TOKEN@", self.token)


def apns_token():
    return (uuid.uuid4().hex + uuid.uuid4().hex)


def fcm_token():
    return f"{uuid.uuid4().hex[:22]}:APA91b{uuid.uuid4().hex}{uuid.uuid4().hex}-_{uuid.uuid4().hex}"


def mpush_ios():
    return Push("X-MPUSH i:", apns_token(), header="X-MPUSH: i:com.example.phone:@TOKEN@")


def mpush_android():
    return Push("X-MPUSH a:", fcm_token(), header="X-MPUSH: a:com.example.phone:@TOKEN@")


def rfc8599_apns():
    return Push("RFC 8599 apns", apns_token(),
                contact=";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=@TOKEN@", sip_pns="apns")


def rfc8599_fcm():
    return Push("RFC 8599 fcm", fcm_token(), contact=";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid=@TOKEN@",
                sip_pns="fcm")


def push_token():
    return Push("push-token-*", fcm_token(), contact=";push-token-type=android;push-token-app=com.example.phone;push-token-id=@TOKEN@")


def old_linphone():
    return Push("older Linphone", fcm_token(), contact=";app-id=com.example.phone;pn-type=firebase;pn-tok=@TOKEN@")


def flexisip():
    return Push("Flexisip", apns_token(),
                contact=";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip&remote;pn-prid=@TOKEN@:voip&@TOKEN@:remote",
                sip_pns="apns")


def acrobits():
    """Of a server with `Simulator.acrobits()`."""
    return Push("Acrobits", uuid.uuid4().hex, sip_pns="acrobits",
                contact=";pn-provider=acrobits;pn-param=com.example.softphone;pn-prid=@TOKEN@;pn-selector=7A6F")


def no_push():
    return Push("no push", "none")


DIALECTS = [mpush_ios, rfc8599_apns, rfc8599_fcm, mpush_android, push_token, old_linphone, flexisip, acrobits]


class Phone:
    """A user agent that ends after it registered, and comes back from a new port."""

    def __init__(self, server, user, push, directory, simulator, tcp=False, instance=True):
        self.server, self.user, self.push = server, user, push
        self.directory, self.simulator, self.tcp = directory, simulator, tcp
        self.instance = f';+sip.instance="<urn:uuid:{uuid.uuid4()}>"' if instance else ""
        self.processes = []
        self.seen = 0

    def _register(self, scenario, *, pause, expires, out_of_call, contact=None, header=None):
        port = free_port()
        transport = ";transport=tcp" if self.tcp else ""
        uri = f"sip:{self.user}@127.0.0.1:{port}{transport}{self.push.named(self.push.contact)}"
        sipp = Sipp(
            self.server.port, scenario, self.directory, tcp=self.tcp, port=port, pause=pause, out_of_call=out_of_call,
            keys={
                "user": self.user,
                "contact": contact or f"<{uri}>{self.instance}",
                "extra": header or self.push.named(self.push.header),
                "expires": expires,
            })
        self.processes.append(sipp)
        return sipp

    def register(self, expires=600, **options):
        """Registers and goes to sleep: the socket is closed. Returns the 200."""
        sipp = self._register("register", pause=0, expires=expires, out_of_call=None, **options)
        return sipp.finish().wait_status(200)

    def register_any(self, expires=600, **options):
        """Registers, whatever the answer; returns it."""
        sipp = self._register("register_any", pause=0, expires=expires, out_of_call=None, **options).finish()
        return [m for m in sipp.messages if not m.sent][-1]

    def wake(self, then="answer", expires=600):
        """Registers from a new port and stays there for what comes."""
        return self._register("register", pause=14000, expires=expires, out_of_call=then)

    def wait_and_wake(self, then="answer", seconds=5):
        """Wakes when the provider says that a push came, one that has not woken this phone before."""
        self.simulator.wait_push(self.push.token, seconds, after=self.seen)
        self.seen = len(self.simulator.pushes(self.push.token))
        return self.wake(then)

    def transcript(self):
        return "\n".join(process.transcript() for process in self.processes)

    def stop(self):
        for process in self.processes:
            process.stop()


class Caller:
    """Somebody who calls or writes to a user."""

    def __init__(self, server, user, directory, tcp=False):
        self.server, self.user, self.directory, self.tcp = server, user, directory, tcp

    def start(self, scenario, pause=0, code=None, timeout=15):
        return Sipp(self.server.port, scenario, self.directory, tcp=self.tcp, pause=pause, code=code,
                    keys={"user": self.user}, timeout=timeout)


def called(kamailio, actors, user, push):
    """Registers, sleeps, is called, wakes and answers; returns the 200 of the first REGISTER."""
    phone = actors.phone(kamailio, user, push)
    answer = phone.register()
    caller = actors.call(kamailio, user, "call")
    phone.wait_and_wake()
    caller.finish()
    return answer
