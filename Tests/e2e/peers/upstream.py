# SPDX-License-Identifier: MIT
"""A gateway as docs/gateway.md prints it, a second Kamailio as the SIP server behind it, and phones that show who they are."""

import hashlib
import re

from endpoint import new_id
from servers import ROOT, wait_until

REALM = "pbx.example.com"
PASSWORD = "secret"

REGISTRAR = """#!KAMAILIO
debug=2
log_stderror=yes
children=2
listen=udp:127.0.0.1:@PORT@
mpath="@MODULES@"
loadmodule "kex.so"
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "maxfwd.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "xlog.so"
loadmodule "ctl.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "auth.so"
modparam("ctl", "binrpc", "unix:@CONTROL@")
modparam("registrar", "max_expires", @EXPIRES@)
modparam("registrar", "min_expires", @MIN_EXPIRES@)
modparam("registrar", "min_expires_mode", 1)
modparam("auth", "nonce_expire", @NONCE@)
@MODPARAMS@
request_route {
    if (is_method("CANCEL")) { if (t_check_trans()) { t_relay(); } exit; }
    if (has_totag()) {
        if (loose_route()) { t_relay(); exit; }
        if (is_method("ACK") && t_check_trans()) { t_relay(); }
        exit;
    }
    if (is_method("REGISTER")) {
        $var(why) = pv_www_authenticate("pbx.example.com", "secret", "0");
        xlog("L_NOTICE", "REGISTER $tU expires=$hdr(Expires) callid=$ci cseq=$cs contact=$ct auth=$hdr(Authorization) why=$var(why)\\n");
        if ($var(why) < 0) { www_challenge("pbx.example.com", "1"); exit; }
        @ROUTE@
        save("location");
        xlog("L_NOTICE", "REGISTERED $tU expires=$hdr(Expires)\\n");
        exit;
    }
    record_route();
    if (!lookup("location")) { sl_send_reply("404", "Not Found"); exit; }
    t_relay();
}
"""


def ha1(user, password=PASSWORD):
    return hashlib.md5(f"{user}:{REALM}:{password}".encode()).hexdigest()


def configuration():
    text = re.findall(r"^```\w*\n(#!KAMAILIO.*?)^```", (ROOT / "docs/gateway.md").read_text(), flags=re.M | re.S)[0]
    return text.replace("192.0.2.10", "127.0.0.1")


def registrar_config(expires=3600, min_expires=0, nonce=300, route="", modparams=""):
    """The SIP server behind the gateway: a plain Kamailio registrar that asks for digest."""
    values = {"EXPIRES": expires, "MIN_EXPIRES": min_expires, "NONCE": nonce, "ROUTE": route, "MODPARAMS": modparams}
    text = REGISTRAR
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def make_registrar(make_kamailio, **values):
    return make_kamailio(config=registrar_config(**values)).start()


def make_gateway(make_kamailio, registrar, tmp_path, **settings):
    key = tmp_path / "secret.key"
    key.write_text("5f" * 32 + "\n")
    gateway = make_kamailio(config=configuration(), wake_timeout=8,
                            settings={"secret_key_file": str(key), **settings})
    gateway.as_printed().start().wait_engine()
    name_server(gateway, registrar)
    return gateway


def name_server(gateway, registrar):
    """pbx.example.com is the registrar, whatever DNS says."""
    for record in (["dns.add_srv", "_sip._udp.pbx.example.com", 3600, 10, 10, registrar.port, "sip.pbx.example.com", 0],
                   ["dns.add_a", "sip.pbx.example.com", 3600, "127.0.0.1", 0]):
        assert gateway.rpc(*record) is not None, gateway.complaint(*record)


def authorization(challenge, user, uri, password=PASSWORD):
    value = {name: text for name, text in re.findall(r'(\w+)="?([^",]+)"?', challenge)}
    first = hashlib.md5(f"{user}:{value['realm']}:{password}".encode()).hexdigest()
    second = hashlib.md5(f"REGISTER:{uri}".encode()).hexdigest()
    line = f'Digest username="{user}", realm="{value["realm"]}", nonce="{value["nonce"]}", uri="{uri}"'
    if "qop" in value:
        response = hashlib.md5(f"{first}:{value['nonce']}:00000001:c0ffee:auth:{second}".encode()).hexdigest()
        return f'{line}, response="{response}", qop=auth, nc=00000001, cnonce="c0ffee"'
    response = hashlib.md5(f"{first}:{value['nonce']}:{second}".encode()).hexdigest()
    return f'{line}, response="{response}"'


def answer_to(phone, number, seconds=10):
    return phone.endpoint.wait_for(f"answer to REGISTER {number}",
                                   lambda m: m.status >= 200 and m.headers("CSeq") == [f"{number} REGISTER"], seconds)


def register(phone, expires=600, *extra, password=PASSWORD):
    """Registers through the gateway: answers the server's challenge; returns the final answer."""
    answer = answer_to(phone, phone.send_register(expires, None, *extra))
    if answer.status != 401:
        return answer
    line = authorization(answer.headers("WWW-Authenticate")[0], phone.user, f"sip:{phone.domain}", password)
    return answer_to(phone, phone.send_register(expires, None, f"Authorization: {line}", *extra))


def piid(phone, password=PASSWORD):
    return f"X-PIID: {ha1(phone.user, password)}"


def contacts(registrar, user):
    """What the SIP server has of a user."""
    text = registrar.rpc("ul.lookup", "location", f"s:{user}") or ""
    return re.findall(r"Address: (\S+)", text)


def expires(registrar, user):
    text = registrar.rpc("ul.lookup", "location", f"s:{user}") or ""
    found = re.search(r"Expires: (\d+)", text)
    return int(found.group(1)) if found else 0


def sent(registrar, user):
    """REGISTERs of a user that the server saw: Expires, Call-ID, CSeq, nonce count or none."""
    found = re.findall(rf"REGISTER {user} expires=(\S+) callid=(\S+) cseq=(\d+) contact=(\S+) auth=(.*) why=", registrar.log_text())
    return [(int(e), c, int(n), contact, auth) for e, c, n, contact, auth in found]


def wait_sent(registrar, user, count, seconds=10):
    return wait_until(f"{count} REGISTERs of {user}", lambda: len(sent(registrar, user)) >= count and sent(registrar, user), seconds)
