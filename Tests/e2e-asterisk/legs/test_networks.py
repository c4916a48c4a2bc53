# SPDX-License-Identifier: MIT
"""Plain Dial() to phones over TLS and IPv6, and a module that does not fit its PJSIP."""

import shutil
import ssl
import subprocess

import pytest
from conftest import build
from phones import fcm_token
from ports import free_port
from servers import wait_until
from sip_phone import Phone
from sleeper import Sleeper, fcm
from test_plain_dial import DIALPLAN, nothing_is_left


class TLSPhone(Phone):
    over = "tls"

    def __init__(self, user, server):
        super().__init__(user, server, "tls")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)


class IPv6Phone(Phone):
    over = "udp"
    host = "[::1]"


class NetworkSleeper(Sleeper):
    """A phone of another kind."""

    def __init__(self, kind, address, *arguments):
        self.kind, self.address = kind, address
        super().__init__(None, *arguments, parameters=fcm, transport=kind.over)

    def _phone(self):
        return self.kind(self.user, self.address)


def over_tls(asterisk):
    port = free_port()
    for name in ("key", "crt"):
        assert not (asterisk.host_at / f"etc/{name}.pem").exists()
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-keyout", asterisk.host_at / "etc/key.pem", "-out", asterisk.host_at / "etc/crt.pem"], check=True, capture_output=True)  # fmt: skip
    transport = (
        f"[tls]\ntype = transport\nprotocol = tls\nbind = 127.0.0.1:{port}\nmethod = tlsv1_2\n"
        f"cert_file = {asterisk.at}/etc/crt.pem\npriv_key_file = {asterisk.at}/etc/key.pem\n[caller]"
    )
    asterisk.change("pjsip.conf", "[caller]", transport)
    return TLSPhone, ("127.0.0.1", port)


def over_ipv6(asterisk):
    port = free_port()
    asterisk.change("pjsip.conf", "[caller]", f"[udp6]\ntype = transport\nprotocol = udp\nbind = [::1]:{port}\n[caller]")
    asterisk.change("pjsip.conf", "rewrite_contact = yes\n", "rewrite_contact = yes\nrtp_ipv6 = yes\n")
    return IPv6Phone, ("[::1]", port)


@pytest.mark.parametrize("prepare", [over_tls, over_ipv6])
def test_a_sleeping_phone_rings_twice(make_asterisk, phones, simulator, prepare):
    asterisk = make_asterisk(extensions=DIALPLAN, settings={"wake_timeout": 10}, users=["100"], start=False)
    kind, address = prepare(asterisk)
    asterisk.start()
    asterisk.wait_engine()
    sleeper = NetworkSleeper(kind, address, asterisk, simulator, "100")
    for count in range(2):
        call = phones("caller", asterisk.address).call("100")
        simulator.wait_push(sleeper.token, after=count)
        awake = sleeper.wake()
        invite = awake.expect_request("INVITE")
        assert "pushwake" not in invite.raw.lower().replace("x-push-id", "")
        assert ("[::1]" in invite["Contact"]) == (prepare is over_ipv6)
        awake.ring(invite)
        awake.answer(invite)
        call.expect(200)
        call.end()
        awake.reply(awake.expect_request("BYE"), 200, "OK")
        sleeper.fall_asleep(awake)
        nothing_is_left(asterisk)


@pytest.mark.parametrize("file, old, new, complaint", [
    ("pj/config.h", "#define PJ_VERSION_NUM_MINOR    ", "#define PJ_VERSION_NUM_MINOR    9", "was built for PJSIP 2.9"),
    ("pjsip/sip_transaction.h", "pjsip_tx_data              *last_tx;", "void *more[4]; pjsip_tx_data *last_tx;", "is configured otherwise"),
])  # fmt: skip
def test_with_another_pjsip_calls_go_on_without_push(make_asterisk, chroot, phones, simulator, tmp_path, file, old, new, complaint):
    headers = tmp_path / "pjproject"
    shutil.copytree(chroot / "usr/include/asterisk-pjproject", headers)
    text = (headers / file).read_text()
    assert old in text
    (headers / file).write_text(text.replace(old, new))
    build(chroot, f"OUT={tmp_path}/build", f"PJPROJECT={headers}")
    asterisk = make_asterisk(users=["100"], start=False)
    shutil.copy2(tmp_path / "build/res_pushwake.so", asterisk.host_at / "modules/res_pushwake.so")
    asterisk.start()
    asterisk.wait_engine()
    assert complaint in asterisk.wait_log("build it for this Asterisk")
    awake = phones("100", asterisk.address)
    assert awake.register(fcm(fcm_token())).status == 200
    call = phones("caller", asterisk.address).call("100")
    invite = awake.expect_request("INVITE")
    awake.answer(invite)
    call.expect(200)
    call.end()
    wait_until("no contact of ours", lambda: "transport=pushwake" not in asterisk.cli("pjsip show contacts"))
