# SPDX-License-Identifier: MIT
"""What is wrong with a setting is said at the start, by name."""

import pytest

from phones import mpush_ios, no_push, rfc8599_apns, rfc8599_fcm
from servers import CONFIG


@pytest.mark.parametrize(("name", "value"), [
    ("wake_timeout", "soon"),
    ("wake_timeout", 0),
    ("engine_mode", "sometimes"),
    ("apns_url", "ftp://example.com"),
    ("no_such_setting", "1"),
])
def test_a_wrong_setting_stops_the_start(make_kamailio, name, value):
    kamailio = make_kamailio(settings={name: value})
    kamailio.launch()
    assert kamailio.process.wait(10) != 0
    assert name in kamailio.log_text()


@pytest.mark.parametrize(("name", "value", "remedy"), [
    ("core_dumps", 0, "set LimitCORE=0 in the systemd unit"),
    ("upper_path", "/var/lib/pushwake/upstream.db", "move the file to the directory of store_path"),
    ("cancel_push", 0, "for 0, write cancel_when = never"),
])
def test_a_setting_that_no_longer_exists_stops_the_start_and_says_what_to_write(make_kamailio, name, value, remedy):
    kamailio = make_kamailio(settings={name: value})
    kamailio.launch()
    assert kamailio.process.wait(10) != 0
    assert [line for line in kamailio.log_text().splitlines() if name in line and "no longer exists" in line and remedy in line]


SAVE = 'pushwake_save("location"); exit;'


def with_flags(make_kamailio, flags):
    config = CONFIG.read_text()
    assert SAVE in config
    return make_kamailio(config=config.replace(SAVE, f'pushwake_save("location", "{flags}"); send_reply("299", "Script"); exit;'))


@pytest.mark.parametrize("flags", ["2", "0x02", "0X06"])
def test_flags_are_written_as_for_save(make_kamailio, wire, flags):
    """With 2 the script replies."""
    kamailio = with_flags(make_kamailio, flags).start().wait_engine()
    phone = wire.phone(kamailio, "flags")
    phone.send_register()
    assert phone.endpoint.wait_for("an answer", lambda message: message.status >= 200).status == 299


@pytest.mark.parametrize("flags", ["quiet", "0x", "-1", "2 4"])
def test_flags_that_are_no_number_are_named_at_the_start(make_kamailio, flags):
    kamailio = with_flags(make_kamailio, flags)
    kamailio.launch()
    assert kamailio.process.wait(10) != 0
    assert f'pushwake_save: flags "{flags}": write a number, such as 4 or 0x04' in kamailio.log_text()


def test_a_missing_key_file_does_not(make_kamailio, actors):
    kamailio = make_kamailio(settings={"apns_key": "/nonexistent/AuthKey.p8"}).start().wait_engine()
    phone = actors.phone(kamailio, "keyless", mpush_ios())
    phone.wake("answer").wait_status(200)
    actors.call(kamailio, "keyless", "call").finish()
    kamailio.wait_log("apns_key", "/nonexistent/AuthKey.p8")
    said = [line for line in kamailio.log_text().splitlines() if "apns_key" in line and "/nonexistent/AuthKey.p8" in line]
    assert len([line for line in said if "NoCredential" not in line]) == 1, said


def test_a_service_that_is_not_supported_is_refused_on_wish(make_kamailio, actors):
    kamailio = make_kamailio(settings={"send_555": 1, "min_expires": 120}).start().wait_engine()
    other = actors.phone(kamailio, "other", no_push())
    answer = other.register_any(contact="<sip:other@127.0.0.1:5999;pn-provider=pigeon;pn-param=x;pn-prid=y>")
    assert answer.status == 555
    brief = actors.phone(kamailio, "brief", rfc8599_apns()).register_any(expires=60)
    assert brief.status == 423 and brief.headers("Min-Expires") == ["120"]
    assert kamailio.rpc("ul.lookup", "location", "sip:brief@127.0.0.1") is None, "it was refused"
    actors.phone(kamailio, "long", rfc8599_apns()).register(expires=600)


def test_nobody_is_refused_without_an_engine(make_kamailio, actors, tmp_path):
    away = {"engine_mode": "external", "engine_socket": str(tmp_path / "nobody.sock")}
    kamailio = make_kamailio(settings={"send_555": 1, "min_expires": 120} | away).start()
    other = actors.phone(kamailio, "other", no_push())
    assert other.register_any(contact="<sip:other@127.0.0.1:5999;pn-provider=pigeon;pn-param=x;pn-prid=y>").status == 200
    brief = actors.phone(kamailio, "brief", rfc8599_apns()).register_any(expires=60)
    assert brief.status == 200 and brief.headers("Feature-Caps") == []


def test_a_thousand_accounts_reach_the_engine(make_kamailio, wire, simulator):
    """More settings than a pipe takes at once."""
    key = simulator.settings()["fcm_key"]
    accounts = {f"fcm_app{number}": f"com.example.a-rather-long-name-of-an-app.number-{number}" for number in range(1, 1001)}
    keys = {f"fcm_key{number}": key for number in range(1, 1001)}
    kamailio = make_kamailio(settings=accounts | keys)
    assert len(kamailio.config.read_text()) > 150_000
    kamailio.start().wait_engine(30)
    phone = wire.phone(kamailio, "one-of-thousand", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    wire.call(kamailio, phone.user)
    simulator.wait_event(phone.push.token, "call")
