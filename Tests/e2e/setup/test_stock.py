# SPDX-License-Identifier: MIT
"""The configuration that Kamailio's package installs, edited by examples/kamailio-stock.sh, with its features on and off."""

import getpass
import hashlib
import pathlib
import re
import socket
import subprocess
import threading

import pytest

from phones import rfc8599_fcm
from ports import free_port
from servers import KAMAILIO_ROOT, PUSHWAKE, ROOT, Kamailio, certificate_with_key, wait_until

DOMAIN = "stock.example"
INSTALLED = pathlib.Path(KAMAILIO_ROOT or "/") / "etc" / "kamailio"
STOCK = INSTALLED / "kamailio.cfg"
SCRIPT = ROOT / "examples" / "kamailio-stock.sh"
TABLES = {
    "version": ("table_name(str) table_version(int)",
                ["subscriber:7", "acc:5", "missed_calls:4", "location:9", "address:6"]),
    "subscriber": ("id(int,auto) username(str) domain(str) password(str) ha1(str) ha1b(str)", []),
    "acc": ("id(int,auto) method(str) from_tag(str) to_tag(str) callid(str) sip_code(str) sip_reason(str) time(int) "
            "src_user(str) src_domain(str) src_ip(str) dst_ouser(str) dst_user(str) dst_domain(str)", []),
}  # fmt: skip
TABLES["missed_calls"] = TABLES["acc"]


class RTPProxy:
    """What the stock configuration asks of an RTP proxy, answered: its version, and one address for all media."""

    MEDIA = ("198.51.100.9", 40000)

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                data, address = self.socket.recvfrom(4096)
            except OSError:
                return
            cookie, _, command = data.decode().partition(" ")
            if command.startswith("V"):
                answer = "20040107" if command.strip() == "V" else "1"
            elif command[:1] in "UL":
                answer = f"{self.MEDIA[1]} {self.MEDIA[0]}"
            else:
                answer = "0"
            self.socket.sendto(f"{cookie} {answer}\n".encode(), address)

    def close(self):
        self.socket.close()


@pytest.fixture(scope="module")
def proxy():
    proxy = RTPProxy()
    yield proxy
    proxy.close()


def edited():
    done = subprocess.run([SCRIPT, STOCK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tables(directory, users):
    directory.mkdir()
    for name, (columns, rows) in {**TABLES, "subscriber": (TABLES["subscriber"][0], users)}.items():
        (directory / name).write_text(columns + "\n" + "".join(row + "\n" for row in rows))
    return directory


FEATURES = {
    "plain": [], "NAT": ["WITH_NAT"], "VOICEMAIL": ["WITH_VOICEMAIL"], "ACCDB": ["WITH_ACCDB"], "AUTH": ["WITH_AUTH"],
    "TLS": ["WITH_TLS"], "all": ["WITH_NAT", "WITH_VOICEMAIL", "WITH_ACCDB", "WITH_TLS"],
}  # fmt: skip


class Stock:
    def __init__(self, kamailio, defines, directory):
        self.kamailio, self.defines, self.directory = kamailio, defines, directory

    def __contains__(self, feature):
        return f"WITH_{feature}" in self.defines

    def rows(self, table):
        """Rows of a table of db_text, once they are written."""
        self.kamailio.rpc("db_text.dump")
        return [line.split(":") for line in (self.directory / "tables" / table).read_text().splitlines()[1:]]


@pytest.fixture(scope="module", params=FEATURES)
def stock(request, simulator, proxy, tmp_path_factory):
    defines = FEATURES[request.param]
    directory = tmp_path_factory.mktemp("stock")
    box = free_port()
    text = edited().replace("log_stderror=no", "log_stderror=yes").replace("children=8", 'children=2\nalias="stock.example"')
    text = text.replace('voicemail.srv_ip = ""', 'voicemail.srv_ip = "127.0.0.1"')
    text = text.replace('voicemail.srv_port = "5060"', f'voicemail.srv_port = "{box}"')
    text = text.replace("udp:127.0.0.1:7722", f"udp:127.0.0.1:{proxy.port}")
    text = text.replace('loadmodule "acc.so"', 'loadmodule "db_text.so"\nloadmodule "acc.so"')
    if "WITH_TLS" in defines:
        (directory / "server.pem").write_bytes(certificate_with_key())
        tls = (INSTALLED / "tls.cfg").read_text()
        tls = re.sub(r"/etc/kamailio/kamailio-selfsigned.\w+", str(directory / "server.pem"), tls)
        (directory / "tls.cfg").write_text(tls)
        text = text.replace("/etc/kamailio/tls.cfg", str(directory / "tls.cfg"))
    users = [f"{number}:{name}:{DOMAIN}:secret:x:x" for number, name in enumerate(("alice", "asleep", "lost", "impatient", "both"), 1)]
    arguments = [word for define in [*defines, f"DBURL=\"text://{tables(directory / 'tables', users)}\""] for word in ("-A", define)]
    kamailio = Kamailio(directory, simulator, config=text, wake_timeout=5, arguments=arguments)
    kamailio.as_printed()
    if "WITH_TLS" in defines:
        kamailio.arguments += ["-l", f"tls:127.0.0.1:{kamailio.tls_port}"]
    kamailio.start().wait_engine()
    made = Stock(kamailio, defines, directory)
    made.box = box
    yield made
    kamailio.stop()


SDP = "v=0\r\no=- 1 1 IN IP4 10.0.0.5\r\ns=-\r\nc=IN IP4 10.0.0.5\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"


def digest(challenge, user, password, method, uri):
    """Authorization for a challenge without qop (RFC 2617, 3.2.2.1)."""
    realm, nonce = (re.search(rf'{name}="([^"]*)"', challenge)[1] for name in ("realm", "nonce"))

    def md5(text):
        return hashlib.md5(text.encode()).hexdigest()

    response = md5(f"{md5(f'{user}:{realm}:{password}')}:{nonce}:{md5(f'{method}:{uri}')}")
    return (f'Authorization: Digest username="{user}", realm="{realm}", nonce="{nonce}", uri="{uri}", '
            f'response="{response}"')


def register(phone):
    """Registers, with a password when the server asks for one."""
    def answer_to(number):
        return phone.endpoint.wait_for(
            f"answer to REGISTER {number}", lambda m: m.status >= 200 and m.headers("CSeq") == [f"{number} REGISTER"])

    answer = answer_to(phone.send_register())
    if answer.status == 401:
        proof = digest(answer.headers("WWW-Authenticate")[0], phone.user, "secret", "REGISTER", f"sip:{DOMAIN}")
        answer = answer_to(phone.send_register(600, None, proof))
    assert answer.status == 200, answer.text
    assert "+sip.pns" in answer.headers("Feature-Caps")[0]
    return phone


@pytest.fixture
def sleeper(stock, wire, request):
    """A phone that has registered and sleeps; behind a NAT, where the configuration knows of those."""
    def make(user):
        behind = {"contact": f"sip:{user}@10.0.0.9:5066"} if "NAT" in stock else {}
        transport = "tls" if "TLS" in stock and not behind else "udp"
        phone = register(wire.phone(stock.kamailio, user, transport, rfc8599_fcm(), domain=DOMAIN, **behind))
        phone.behind = behind
        return phone.sleep()

    return make


def call(stock, wire, user):
    return wire.call(stock.kamailio, user, domain=DOMAIN, text=SDP, content="application/sdp")


def missed(stock, made):
    """Codes of the missed calls that were recorded of a call."""
    return [row[5] for row in wait_until("missed calls", lambda: [
        row for row in stock.rows("missed_calls") if row[4] == made.call_id])]


def errors(stock):
    return [line for line in stock.kamailio.log_text().splitlines() if "ERROR:" in line or "CRITICAL:" in line]


def test_a_sleeping_phone_rings(stock, wire, sleeper, simulator):
    phone = sleeper("asleep")
    made = call(stock, wire, "asleep")
    simulator.wait_event(phone.push.token, "call")
    awake = register(wire.again(phone, **phone.behind))
    invite = awake.wait_request("INVITE")
    answer = made.wait_status(200)
    # Also behind a NAT: the 200 carries where the phone can be reached, and the ACK finds it there.
    awake.wait_request("ACK")
    assert [m.status for m in made.answers if m.status >= 200] == [200]
    made.hang_up()
    awake.wait_request("BYE")
    if "NAT" in stock:
        assert RTPProxy.MEDIA[0] in invite.text and "10.0.0.5" not in invite.text.split("c=IN")[1], "MANAGE_BRANCH ran"
        assert ";alias=" in answer.headers("Contact")[0], "MANAGE_REPLY ran"
    assert errors(stock) == []
    if "ACCDB" in stock:
        assert [row[5] for row in wait_until("accounting", lambda: [
            row for row in stock.rows("acc") if row[4] == made.call_id and row[1] == "INVITE"])] == ["200"]


def test_nobody_wakes(stock, wire, sleeper, simulator):
    phone = sleeper("lost")
    box = wire.phone(stock.kamailio, "voicemail", port=stock.box)
    box.answers["INVITE"] = (200,)
    made = call(stock, wire, "lost")
    simulator.wait_event(phone.push.token, "call")
    if "VOICEMAIL" in stock:
        assert made.wait_final(10).status == 200
        assert box.wait_request("INVITE").text.startswith(f"INVITE sip:lost@127.0.0.1:{stock.box}")
        made.hang_up()
    else:
        assert made.wait_final(10).status == 480
    if "ACCDB" in stock:
        assert missed(stock, made) == ["408" if "VOICEMAIL" in stock else "480"]
    assert errors(stock) == []


def test_the_caller_hangs_up_while_a_phone_sleeps(stock, wire, sleeper, simulator):
    phone = sleeper("impatient")
    made = call(stock, wire, "impatient")
    simulator.wait_event(phone.push.token, "call")
    made.cancel()
    assert made.wait_final().status == 487
    stock.kamailio.wait_none_held()
    assert errors(stock) == []


def test_a_user_who_is_unknown(stock, wire):
    box = wire.phone(stock.kamailio, "voicemail", port=stock.box)
    box.answers["INVITE"] = (200,)
    made = call(stock, wire, "stranger")
    assert made.wait_final().status == (200 if "VOICEMAIL" in stock else 404)


def test_a_desk_phone_is_busy_while_a_mobile_sleeps(stock, wire, sleeper):
    desk = wire.phone(stock.kamailio, "both", domain=DOMAIN)
    desk.answers["INVITE"] = (486,)
    if "AUTH" in stock:
        pytest.skip("the desk phone would have to answer a challenge")
    desk.register()
    sleeper("both")
    box = wire.phone(stock.kamailio, "voicemail", port=stock.box)
    box.answers["INVITE"] = (200,)
    made = call(stock, wire, "both")
    assert made.wait_final(10).status == (200 if "VOICEMAIL" in stock else 486)
    if "ACCDB" in stock:
        assert missed(stock, made) == ["486"]


def test_check_finds_nothing_wrong_with_it(stock):
    defines = [word for define in stock.defines for word in ("-A", define)]
    done = subprocess.run([PUSHWAKE, "check", stock.kamailio.config, "--user", getpass.getuser(), *defines],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_keys_of_the_page_are_taken(tmp_path):
    page = (ROOT / "docs" / "kamailio-stock.md").read_text()
    keys = re.search(r"```\n# /etc/kamailio/pushwake.cfg\n(.*?)```", page, re.S)[1]
    (tmp_path / "pushwake.cfg").write_text(keys)
    (tmp_path / "kamailio.cfg").write_text(edited())
    done = subprocess.run([PUSHWAKE, "check", tmp_path / "kamailio.cfg"], capture_output=True, text=True, check=False)
    assert f"{tmp_path}/pushwake.cfg:1: warning: apns_key: cannot read" in done.stdout


def test_a_file_that_is_edited_already_is_refused(tmp_path):
    path = tmp_path / "kamailio.cfg"
    path.write_text(edited())
    done = subprocess.run([SCRIPT, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "" and "already" in done.stderr
    path.write_text("# no configuration of Kamailio's\n")
    done = subprocess.run([SCRIPT, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "" and "no place for" in done.stderr
