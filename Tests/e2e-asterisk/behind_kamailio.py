# SPDX-License-Identifier: MIT
"""What docs/asterisk.md prints of a Kamailio that registers the phones, and an Asterisk without res_pushwake behind it."""

import pathlib
import re

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "asterisk.md").read_text()
BEGIN = "of a server without res_pushwake\n"


def printed(name):
    """A file of Asterisk's."""
    return re.search(r"```\n; /etc/asterisk/" + re.escape(name) + " " + BEGIN + r"(.*?)```", PAGE, re.S)[1]


def printed_pjsip(asterisk_port, kamailio_port):
    """pjsip.conf, on loopback and at these ports."""
    text = printed("pjsip.conf").replace("0.0.0.0:5060", f"127.0.0.1:{asterisk_port}")
    return text.replace("127.0.0.1:5080", f"127.0.0.1:{kamailio_port}")


def kamailio_config(asterisk_port, wakes=False):
    """kamailio.cfg, which `Kamailio` fills in. `wakes`: with what stands on the page in place of lookup()."""
    text = re.search(r"```\n#!KAMAILIO\n(.*?)```", PAGE, re.S)[1]
    if wakes:
        found = re.search(r"```\n# Kamailio wakes: .*?\n(.*?)```\n\n```\n(modparam.*?)\n```", PAGE, re.S)
        assert "        if (!lookup(" in text
        text = re.sub(r" +if \(!lookup\(.*\n", lambda _: found[1], text)
        text = text.replace("request_route {", f"{found[2]}\nrequest_route {{", 1)
    text = re.sub(r"listen=(\w+):0.0.0.0:5080", r"listen=\1:127.0.0.1:@PORT@", text)
    text = text.replace('loadmodule "pushwake.so"', 'loadmodule "@PUSHWAKE@"').replace("5060", str(asterisk_port))
    settings = '@SETTINGS@\nmodparam("ctl", "binrpc", "unix:@CONTROL@")\n'
    text = re.sub(r'(?:modparam\("pushwake", "(?:apns|fcm).*\n)+', settings, text)
    return '#!KAMAILIO\nmpath="@MODULES@"\n' + text


def dialplan_where_kamailio_wakes():
    return "[phones]\n" + re.search(r"```\n; Kamailio wakes: .*?\n(exten =>.*?)```", PAGE, re.S)[1]
