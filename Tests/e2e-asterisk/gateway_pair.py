# SPDX-License-Identifier: MIT
"""The gateway of docs/gateway.md before an Asterisk without any module of ours."""

import time

from peers.upstream import configuration
from phones import apns_token
from servers import Kamailio
from sip_phone import Phone

DIALPLAN = "[phones]\nexten => _1XX,1,Dial(PJSIP/${EXTEN},40)\n"


def plain_asterisk(make_asterisk, auth="", aor="", users=("101", "102", "103", "104", "105", "106")):
    """Asterisk as a distribution ships it: our module is taken away before it starts."""
    asterisk = make_asterisk(extensions=DIALPLAN, users=users, start=False)
    strip(asterisk, auth, aor)
    asterisk.start()
    return asterisk


def strip(asterisk, auth="", aor=""):
    """`auth` and `aor`: lines more for phones."""
    (asterisk.host_at / "modules/res_pushwake.so").unlink()
    (asterisk.host_at / "etc/pushwake.conf").unlink(missing_ok=True)
    path = asterisk.host_at / "etc/pjsip.conf"
    text = path.read_text().replace("type = aor", f"type = aor\n{aor}")
    if "support_path" in aor:
        # What the gateway registers shall stay: the way to it is the Path alone.
        text = text.replace("rewrite_contact = yes", "rewrite_contact = no")
    path.write_text(text.replace("auth_type = userpass", f"auth_type = digest\n{auth}") if auth else text)


class HostSide:
    """The simulator in the chroot, as a PBX outside of it sees it."""

    def __init__(self, simulator):
        self.simulator = simulator

    def settings(self):
        return self.simulator.host_settings()


class Gateway(Kamailio):
    def __init__(self, directory, simulator, asterisk, **settings):
        key = directory / "secret.key"
        key.write_text("5f" * 32 + "\n")
        server = f"127.0.0.1:{asterisk.sip_port}"
        self.server, self.simulator = server, simulator
        self.token = apns_token()
        self.push = f";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid={self.token}"
        # Both are on this machine: Asterisk is told by its port.
        text = configuration().replace('$si == "127.0.0.1"', f'$sp == {asterisk.sip_port}')
        super().__init__(
            directory, HostSide(simulator), config=text, wake_timeout=20,
            settings={"upper_servers": server, "secret_key_file": str(key), **settings})
        self.settings = {name: value.replace("@OWN_PORT@", str(self.port)) if isinstance(value, str) else value
                         for name, value in self.settings.items()}
        self.as_printed()

    def start(self):
        super().start()
        return self.wait_engine()

    def phone(self, user, transport="udp"):
        """A phone with Asterisk as domain and the gateway as outbound proxy."""
        phone = Phone(user, ("127.0.0.1", self.port), transport)
        phone.server = (self.server, self.port)
        return phone

    def rings(self, asterisk, user, instance, note=lambda text, at=None: None):
        """Somebody dials the extension in Asterisk: the phone is woken, rings, talks and is hung up."""
        with Phone("caller", asterisk.address) as caller:
            call = caller.call(user)
            note("caller   INVITE to Asterisk", call.started)
            push = self.simulator.wait_push(self.token, seconds=10)
            note(f"provider {push['provider']} accepts the push", time.monotonic() - time.time() + push["t"])
            with self.phone(user) as awake:
                awake.instance = instance
                note(f"phone    wakes, REGISTER from port {awake.port}")
                assert awake.register(self.push).status == 200
                invite = awake.expect_request("INVITE", 10)
                note("phone    INVITE: it rings", invite.at)
                awake.ring(invite)
                awake.answer(invite)
                note("caller   200 OK", call.expect(200).at)
                call.end()
                awake.reply(awake.expect_request("BYE"), 200, "OK")
                note("caller   BYE")
