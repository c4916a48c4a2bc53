# SPDX-License-Identifier: MIT
"""SIP servers that answer what no server should: the gateway stays, and other phones register as ever."""

import socket
import threading

from peers.upstream import REALM, answer_to, configuration, piid
from phones import rfc8599_fcm
from servers import wait_until

ANSWERS = {
    "no challenge": "SIP/2.0 401 Unauthorized\r\n{same}Content-Length: 0\r\n\r\n",
    "an open quote": 'SIP/2.0 401 Unauthorized\r\n{same}WWW-Authenticate: Digest realm="x, nonce="\r\nContent-Length: 0\r\n\r\n',
    "a long nonce": 'SIP/2.0 401 Unauthorized\r\n{same}WWW-Authenticate: Digest realm="x", nonce="' + "n" * 7000
                    + '"\r\nContent-Length: 0\r\n\r\n',
    "many challenges": "SIP/2.0 407 Again\r\n{same}" + "".join(
        f'Proxy-Authenticate: Digest realm="{n}", nonce="{n}"\r\n' for n in range(60)) + "Content-Length: 0\r\n\r\n",
    "no reason": "SIP/2.0 403 \r\n{same}Content-Length: 0\r\n\r\n",
    "an interval too brief for ever": "SIP/2.0 423 Brief\r\n{same}Min-Expires: 4294967295\r\nContent-Length: 0\r\n\r\n",
    "a redirection": "SIP/2.0 302 Moved\r\n{same}Contact: <sip:evil.example.net>\r\nContent-Length: 0\r\n\r\n",
    "a global failure": "SIP/2.0 699 Never\r\n{same}Content-Length: 0\r\n\r\n",
    "no Contact": "SIP/2.0 200 OK\r\n{same}Content-Length: 0\r\n\r\n",
    "nothing granted": "SIP/2.0 200 OK\r\n{same}Contact: <{contact}>;expires=0\r\nContent-Length: 0\r\n\r\n",
    "an endless grant": "SIP/2.0 200 OK\r\n{same}Contact: <{contact}>;expires=99999999999999999999\r\nContent-Length: 0\r\n\r\n",
    "a broken Contact": "SIP/2.0 200 OK\r\n{same}Contact: \"x <sip:\r\nContent-Length: 0\r\n\r\n",
    "a line in a header": "SIP/2.0 200 OK\r\n{same}Service-Route: <sip:a;lr>\r\n ,<sip:b>\r\nContent-Length: 0\r\n\r\n",
}


class Server:
    """Answers every REGISTER with the same text, twice."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port, self.text, self.seen = self.socket.getsockname()[1], "", 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                data, address = self.socket.recvfrom(65536)
            except OSError:
                return
            lines = data.decode(errors="replace").split("\r\n")
            self.seen += 1
            names = ("Via", "From", "To", "Call-ID", "CSeq")
            same = "".join(line + (";tag=s" if line.startswith("To") else "") + "\r\n" for line in lines if line.split(":")[0] in names)
            contact = next((line for line in lines if line.startswith("Contact")), "").partition("<")[2].partition(">")[0]
            answer = self.text.replace("{same}", same).replace("{contact}", contact).encode()
            self.socket.sendto(answer, address)
            self.socket.sendto(answer, address)


def test_no_answer_of_a_server_does_harm(make_kamailio, tmp_path, wire):
    server = Server()
    key = tmp_path / "secret.key"
    key.write_text("5f" * 32 + "\n")
    config = configuration().replace('pushwake_save_upstream("location")',
                                     f'$du = "sip:127.0.0.1:{server.port}"; pushwake_save_upstream("location")')
    gateway = make_kamailio(config=config, settings={
        "secret_key_file": str(key), "prefer_md5_auth": 1})
    gateway.as_printed().start().wait_engine()
    engine, heard = gateway.engine_pid(), {}
    for number, (name, text) in enumerate(ANSWERS.items()):
        server.text = text
        phone = wire.phone(gateway, f"4{number:02}", "udp", rfc8599_fcm(), domain=REALM)
        answer = answer_to(phone, phone.send_register(600, None, piid(phone)))
        heard[name] = answer.status
        if name == "a redirection":
            assert answer.headers("Contact") == ["<sip:evil.example.net>"], "where to is the phone's to judge"
    assert heard == {
        "no challenge": 401, "an open quote": 401, "a long nonce": heard["a long nonce"], "many challenges": 407,
        "no reason": 403, "an interval too brief for ever": 423, "a redirection": 302, "a global failure": 699,
        "no Contact": 200, "nothing granted": 200, "an endless grant": 200, "a broken Contact": 200, "a line in a header": 200}
    assert gateway.engine_pid() == engine, "the engine lives"
    assert gateway.process.poll() is None
    wait_until("nothing is asked without end", lambda: server.seen < 60)
    server.socket.close()
