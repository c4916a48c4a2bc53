# SPDX-License-Identifier: MIT
"""Phones behind an edge proxy (Path): their Contact is an address that only the proxy can reach."""

from sleeper import Sleeper

CONTACT = "sip:tj3kd0@nowhere.invalid"


def behind_proxy(phone):
    register = phone.register

    def through_proxy(parameters="", **options):
        path = [("Path", f"<sip:127.0.0.1:{phone.port};lr>"), ("Supported", "path")]
        return register(parameters, path, contact=CONTACT, **options)

    phone.register = through_proxy
    return phone


class Proxied(Sleeper):
    """The test's socket is the proxy and the phone behind it."""

    def _phone(self):
        return behind_proxy(super()._phone())


def start_proxied(asterisk):
    text = (asterisk.host_at / "etc/pjsip.conf").read_text().replace("rewrite_contact = yes", "rewrite_contact = no")
    asterisk.write("pjsip.conf", text.replace("max_contacts = 5", "max_contacts = 5\nsupport_path = yes"))
    asterisk.start()
    asterisk.wait_engine()
    return asterisk
