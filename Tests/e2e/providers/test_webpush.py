# SPDX-License-Identifier: MIT
"""Web Push and Acrobits from REGISTER to call. What was sent is read with libraries that are not ours."""

import base64
import json
import re
import subprocess
import time
import uuid

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from phones import Push, acrobits, called
from servers import ROOT, Kamailio


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point_of(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def files(simulator):
    return simulator.directory / "files"


def vapid_point(simulator):
    """The public half of the key that the engine was given."""
    key = serialization.load_pem_private_key((files(simulator) / "vapid.pem").read_bytes(), None)
    return point_of(key.public_key())


def decrypted(body, subscription):
    """RFC 8291 from the side of the phone."""
    salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
    sender, sealed = body[21:21 + length], body[21 + length:]
    assert length == 65 and len(sealed) <= size
    own = serialization.load_pem_private_key(subscription["private_key"].encode(), None)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))

    def derive(salt, key, info, count):
        return HKDF(hashes.SHA256(), count, salt, info).derive(key)

    info = b"WebPush: info\0" + point_of(own.public_key()) + sender
    material = derive(decoded(subscription["auth"]), shared, info, 32)
    key = derive(salt, material, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derive(salt, material, b"Content-Encoding: nonce\0", 12)
    padded = AESGCM(key).decrypt(nonce, sealed, None)
    text, _, padding = padded.rpartition(b"\x02")
    assert padding.strip(b"\0") == b""
    return json.loads(text)


def claims(authorization, point):
    """The claims of a VAPID token (RFC 8292), its signature verified with the key that the header names."""
    assert authorization.startswith("vapid ")
    fields = dict(part.strip().split("=", 1) for part in authorization[6:].split(","))
    assert decoded(fields["k"]) == point
    header, payload, signature = fields["t"].split(".")
    raw = decoded(signature)
    assert len(raw) == 64 and json.loads(decoded(header))["alg"] == "ES256"
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    public.verify(der, f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))
    return json.loads(decoded(payload))


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator):
    kamailio = Kamailio(tmp_path_factory.mktemp("kamailio"), simulator, settings={
        "vapid_key": files(simulator) / "vapid.pem", "vapid_subject": "mailto:ops@example.com",
        "webpush_hosts": "127.0.0.1"} | simulator.acrobits())
    kamailio.start().wait_engine()
    yield kamailio
    kamailio.stop()


def webpush(simulator, keys=None, host=None):
    keys_said = f";pn-p256dh={keys['p256dh']};pn-auth={keys['auth']}" if keys else ""
    target = f"{host or simulator.url}/push/@TOKEN@"
    return Push("webpush", uuid.uuid4().hex, contact=f";pn-provider=webpush;pn-prid={target}{keys_said}", sip_pns="webpush")


def test_a_browser_hears_of_a_call(kamailio, actors, simulator):
    subscription = json.loads((files(simulator) / "subscription.json").read_text())
    push = webpush(simulator, subscription)
    caps = called(kamailio, actors, "browser", push).headers("Feature-Caps")
    point = vapid_point(simulator)
    key = base64.urlsafe_b64encode(point).rstrip(b"=").decode()
    assert caps == [f'*;+sip.pns="webpush";+sip.vapid="{key}"']

    sent = simulator.wait_push(push.token)
    assert sent["status"] == 201
    headers = sent["headers"]
    assert headers["urgency"] == "high" and int(headers["ttl"]) == 3
    assert headers["content-encoding"] == "aes128gcm"
    said = claims(headers["authorization"], point)
    assert said["aud"] == simulator.url and said["sub"] == "mailto:ops@example.com"
    assert time.time() < said["exp"] <= time.time() + 86400

    body = sent["body"]
    assert body.startswith("base64:")
    payload = decrypted(decoded(body[len("base64:"):]), subscription)
    assert "call" in json.dumps(payload).lower()


def test_without_keys_the_push_is_empty(kamailio, actors, simulator):
    push = webpush(simulator)
    called(kamailio, actors, "keyless", push)
    sent = simulator.wait_push(push.token)
    assert sent["status"] == 201 and not sent["body"]
    assert "content-encoding" not in sent["headers"]
    claims(sent["headers"]["authorization"], vapid_point(simulator))


def test_a_dead_subscription_is_forgotten(kamailio, actors, simulator):
    push = webpush(simulator)
    push.token = f"unregistered-{push.token}"
    actors.phone(kamailio, "left", push).register()
    caller = actors.call(kamailio, "left", "call")
    kamailio.wait_log("RESULT provider=webpush outcome=token-gone aor=left status=410 removed=1")
    caller.stop()


def test_a_subscription_that_leads_elsewhere_is_not_stored_and_not_promised(kamailio, actors, simulator):
    push = webpush(simulator, host=simulator.url.replace("127.0.0.1", "localhost"))
    answer = actors.phone(kamailio, "astray", push).register()
    assert not any("webpush" in line for line in answer.headers("Feature-Caps"))
    kamailio.wait_log("pn-prid: localhost is a private address, so no push may go there; write it into webpush_hosts")
    kamailio.rpc("pushwake.send", "chat", "astray", "hello there")
    assert simulator.pushes(push.token) == []


def test_acrobits_hears_of_a_call(kamailio, actors, simulator):
    push = acrobits()
    caps = called(kamailio, actors, "softphone", push).headers("Feature-Caps")
    assert caps == ['*;+sip.pns="acrobits"']
    body = simulator.wait_push(push.token)["body"]
    assert body["verb"] == "NotifyIncomingCall" and body["AppId"] == "com.example.softphone"
    assert body["Selector"] == "7A6F" and body["Id"]


MEDIA = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"


@pytest.mark.parametrize("body, expected", [(MEDIA, "audio"), (MEDIA + "m=video 4002 RTP/AVP 96\r\n", "video")],
                         ids=["audio", "video"])
def test_acrobits_hears_of_video(kamailio, wire, simulator, body, expected):
    push = acrobits()
    phone = wire.phone(kamailio, f"seen-{expected}", "tcp", push)
    phone.register()
    phone.sleep()
    wire.call(kamailio, phone.user, text=body, content="application/sdp")
    assert simulator.wait_push(push.token)["body"]["Media"] == expected


def test_hand_made_pushes_reach_web_push_and_acrobits(kamailio, actors, simulator):
    subscription = json.loads((files(simulator) / "subscription.json").read_text())
    push = webpush(simulator, subscription)
    actors.phone(kamailio, "written", push).register()
    assert kamailio.rpc("pushwake.send", "chat", "written", "hello there").strip() == "1"
    body = simulator.wait_push(push.token)["body"]
    assert "hello there" in json.dumps(decrypted(decoded(body[len("base64:"):]), subscription))


def test_a_key_in_base64url_becomes_a_file_as_printed(tmp_path):
    page = (ROOT / "docs" / "webpush.md").read_text()
    steps = re.search(r"^    (KEY=.*?)\n\n", page, re.M | re.S)[1]
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_numbers().private_value.to_bytes(32, "big")
    steps = re.sub(r"KEY=\S+", "KEY=" + base64.urlsafe_b64encode(private).decode().rstrip("="), steps)
    file = tmp_path / "vapid.pem"
    subprocess.run(["sh", "-c", steps.replace("/etc/pushwake/vapid.pem", str(file))], check=True, capture_output=True)
    public = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    read = serialization.load_pem_private_key(file.read_bytes(), None).public_key()
    assert read.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint) == public
