# SPDX-License-Identifier: MIT
"""The samples of docs/apps, with pushes of ours: in a browser, and as far as a compiler for Swift or Kotlin goes."""
import json
import pathlib
import shutil
import subprocess

import pytest

from apps.test_apps import CALL_ID, CALL_UUID, explain
from apps.web_phone import WebPhone
from peers.browser import CHROMIUM
from phones import Push
from ports import free_port
from providers.test_webpush import decoded, decrypted, files
from servers import Kamailio, wait_until

HERE = pathlib.Path(__file__).parent
SAMPLES = HERE.parents[2] / "examples" / "apps"
SWIFTC, KOTLINC = shutil.which("swiftc"), shutil.which("kotlinc")


def run(*command, text=None, seconds=200):
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True, check=False,
                          timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def kamailio(tmp_path_factory, simulator):
    kamailio = Kamailio(tmp_path_factory.mktemp("kamailio"), simulator, settings={
        "vapid_key": files(simulator) / "vapid.pem", "vapid_subject": "mailto:ops@example.com",
        "webpush_hosts": "127.0.0.1"})
    kamailio.start().wait_engine()
    yield kamailio
    kamailio.stop()


@pytest.mark.skipif(not CHROMIUM, reason="Debian's chromium is not installed")
def test_a_page_rings_in_the_browser_until_the_caller_hangs_up(kamailio, actors, simulator, tmp_path):
    subscription = json.loads((files(simulator) / "subscription.json").read_text())
    made = {"endpoint": f"{simulator.url}/push/sample-page",
            "keys": {"p256dh": subscription["p256dh"], "auth": subscription["auth"]}}
    with WebPhone(tmp_path, free_port()) as page:
        contact = page.module(f"push.contactParameters({{toJSON: () => ({json.dumps(made)})}})")
        phone = actors.phone(kamailio, "page", Push("page", "sample-page", contact=contact, sip_pns="webpush"))
        caps, = phone.register().headers("Feature-Caps")
        key = page.module(f"Array.from(push.vapidKey({json.dumps(caps)}))")
        assert len(key) == 65 and key[0] == 4, "a point, as subscribe() takes it"

        def deliver(number):
            body = simulator.wait_push("sample-page", after=number)["body"]
            page.push(json.dumps(decrypted(decoded(body[len("base64:"):]), subscription)))

        caller = actors.call(kamailio, "page", "call_cancelled", pause=500)
        deliver(0)
        rings, = wait_until("it rings", page.notifications)
        assert "calls" in rings["title"] and rings["stays"] and rings["actions"] == ["answer", "decline"]
        caller.finish()
        deliver(1)
        over, = wait_until("it has stopped", lambda: [n for n in page.notifications() if not n["stays"]])
        assert over["tag"] == rings["tag"] and "ended" in over["title"]
        assert page.notifications() == [over]
        assert not page.complaints


@pytest.mark.skipif(not SWIFTC, reason="there is no Swift compiler")
def test_the_iphone_sample_compiles_and_reads_what_is_pushed(tmp_path):
    for module in ("AVFAudio", "CryptoKit", "PushKit", "CallKit"):
        run(SWIFTC, "-parse-as-library", "-swift-version", "5", "-emit-module", "-emit-library", "-static", "-module-name",
            module, "-I", tmp_path, "-o", tmp_path / f"lib{module}.a", "-emit-module-path",
            tmp_path / f"{module}.swiftmodule", HERE / "ios" / f"{module}.swift")
    sample = tmp_path / "sample"
    run(SWIFTC, "-swift-version", "5", "-warnings-as-errors", "-I", tmp_path, "-L", tmp_path, "-lAVFAudio", "-lCryptoKit",
        "-lPushKit", "-lCallKit", "-o", sample, *sorted((SAMPLES / "ios").glob("*.swift")), HERE / "ios" / "main.swift")
    answer, _ = explain(tmp_path, "ipjsua")
    body = answer["requests"][0]["body"]
    shown = json.loads(run(sample, text=json.dumps(body)))
    assert shown == {"call-id": CALL_ID, "uuid": CALL_UUID, "handle": "1234", "name": "Anna Karenina", "video": False,
                     "expires-at": body["expires-at"]}
    assert body["uuid"] == shown["uuid"], "the app computes what the push says"


@pytest.mark.skipif(not KOTLINC, reason="Debian's kotlin is not installed")
def test_the_android_sample_compiles_and_reads_what_is_pushed(tmp_path):
    run(KOTLINC, *sorted((SAMPLES / "android").glob("*.kt")), *sorted((HERE / "android").glob("*.kt")), "-d",
        tmp_path / "app.jar")
    answer, _ = explain(tmp_path, "flutter-android")
    data = answer["requests"][0]["body"]["message"]["data"]
    said = run("java", "-cp", f"{tmp_path / 'app.jar'}:/usr/share/java/kotlin-stdlib.jar", "com.example.phone.TestKt",
               *[part for pair in data.items() for part in pair])
    assert f"callId={CALL_ID}, uuid={CALL_UUID}, number=1234, name=Anna Karenina, hasVideo=false" in said
    assert f"expiresAt={data['expires-at']}000" in said
    assert "register pn-provider=fcm;pn-param=my-project;pn-prid=token\nrefresh" in said
