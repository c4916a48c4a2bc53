# SPDX-License-Identifier: MIT
"""Phones that can be pushed: asleep, or frozen behind a connection that is open."""

import time

from phones import apns_token, fcm_token
from servers import wait_until


def apns(token):
    return f";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid={token}"


def fcm(token):
    return f";pn-provider=fcm;pn-param=pushwake-simulator;pn-prid={token}"


def finish(call, phone, invite):
    """The phone rings, answers, and is hung up."""
    phone.ring(invite)
    call.expect(180)
    phone.answer(invite)
    call.expect(200)
    call.end()
    phone.reply(phone.expect_request("BYE"), 200, "OK")


class Sleeper:
    """A phone that registers, goes to sleep, and wakes at a new port when it is pushed."""

    def __init__(self, phones, asterisk, simulator, user, parameters=apns, transport="udp"):
        self.phones, self.asterisk, self.simulator, self.user = phones, asterisk, simulator, user
        self.token = apns_token() if parameters is apns else fcm_token()
        self.parameters, self.transport = parameters(self.token), transport
        phone = self._phone()
        self.instance = phone.instance
        self.registered = phone.register(self.parameters)
        assert self.registered.status == 200
        self.fall_asleep(phone)

    def fall_asleep(self, phone):
        """Until Asterisk knows: it would send a call into a connection that is just ending."""
        phone.close()
        if self.transport != "udp":
            self.asterisk.wait_log(f":{phone.port};transport={self.transport.upper()}' from AOR '{self.user}' due to shutdown")
            self.asterisk.wait_contact(self.user)

    def _phone(self):
        return self.phones(self.user, self.asterisk.address, self.transport)

    def wake(self):
        phone = self._phone()
        phone.instance = self.instance
        phone.woken_at = time.monotonic()
        assert phone.register(self.parameters).status == 200
        return phone

    def ring(self, awake):
        """It rings, and the engine knows: a REGISTER that overtakes the 180 would move the call."""
        awake.ring(awake.expect_request("INVITE"))
        trace = f"pushwake trace {self.user}"
        wait_until("the engine knows that it rings", lambda: "rings (180)" in self.asterisk.cli(trace), 5, 0.05)

    def move(self, phone):
        """The phone that is awake has another address now; the app runs on."""
        moved = self._phone()
        moved.instance, moved.register_id, moved.register_cseq = self.instance, phone.register_id, phone.register_cseq
        assert moved.register(self.parameters).status == 200
        return moved

    def wait_and_wake(self):
        self.simulator.wait_push(self.token)
        return self.wake()

    @property
    def pushes(self):
        return self.simulator.pushes(self.token)


class Frozen(Sleeper):
    """A phone whose app is suspended: its connection is open, and nobody reads from it."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{"transport": "tcp", **options})

    def fall_asleep(self, phone):
        self.socket = phone
