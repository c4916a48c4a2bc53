# SPDX-License-Identifier: MIT
"""The kamailio.cfg of README.md works as printed; only ports, keys and paths are those of the test."""

import re

from phones import mpush_ios, rfc8599_fcm
from servers import ROOT

ABOVE = """#!KAMAILIO
listen=udp:127.0.0.1:@PORT@
listen=tcp:127.0.0.1:@PORT@
mpath="@MODULES@"
"""


def printed():
    text = re.search(r"```\n#!KAMAILIO\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    text = text.replace('loadmodule "pushwake.so"', 'loadmodule "@PUSHWAKE@"')
    text = re.sub(r'(?:modparam\("pushwake", .*\n)+', '@SETTINGS@\nmodparam("ctl", "binrpc", "unix:@CONTROL@")\n', text)
    return ABOVE + text


def test_the_example_is_the_configuration_of_the_readme():
    block = re.search(r"```\n(#!KAMAILIO\n.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    assert (ROOT / "examples" / "kamailio.cfg").read_text() == block


def test_the_configuration_of_the_readme_rings_a_sleeping_phone(make_kamailio, actors):
    kamailio = make_kamailio(config=printed()).start().wait_engine()
    for push, tcp in [(mpush_ios(), False), (rfc8599_fcm(), True)]:
        user = f"readme-{tcp}"
        phone = actors.phone(kamailio, user, push, tcp=tcp)
        phone.register()
        caller = actors.call(kamailio, user, "call", tcp=tcp)
        phone.wait_and_wake()
        caller.finish()
        assert caller.statuses == [100, 110, 180, 200, 200]
