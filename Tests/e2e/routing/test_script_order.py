# SPDX-License-Identifier: MIT
"""What a script does after pushwake_lookup() counts for phones that wake, where a phone that sleeps is a branch (wait=leg)."""

import json

import pytest

from phones import rfc8599_fcm
from servers import CONFIG

LATE = """
        case 1:  if (is_method("INVITE")) { record_route(); }
                 append_hf("X-Late: yes\\r\\n");
                 uac_replace_from("Late Name", "sip:late@127.0.0.1");
                 setflag(7);
                 t_on_branch("LATE");
                 t_on_reply("LATE");
                 t_on_failure("LATE");
                 t_relay();
                 exit;"""
ROUTES = """
branch_route[LATE] { append_hf("X-Late-Branch: $rU\\r\\n"); }
onreply_route[LATE] { xlog("L_NOTICE", "REPLY $rs from $si:$sp\\n"); }
failure_route[LATE] {
    if (isflagset(7) && t_check_status("480|486")) { t_reply("499", "Late"); } else { t_reply("498", "Not So"); }
}
"""


@pytest.fixture(scope="module")
def server(make_server):
    text = CONFIG.read_text().replace('loadmodule "@PUSHWAKE@"', "".join(
        f'loadmodule "{name}.so"\n' for name in ("textopsx", "uac"))
        + 'modparam("uac", "restore_mode", "none")\nloadmodule "@PUSHWAKE@"')
    text = text.replace("record_route(); append_hf", "append_hf").replace('    t_on_branch("SEEN");\n', "")
    text = text.replace('failure_route[PUSHWAKE] {\n    xlog("L_NOTICE", "ASLEEP $rU\\n");\n}\n', ROUTES)
    before, _, after = text.partition("        case 1:")
    return make_server(config=before + LATE + after[after.index("\n"):], settings={"wait": "leg"}, wake_timeout=3)


def called(server, wire, simulator, phone):
    call = wire.caller(server, name="early", display='"Early Name" ').call(phone.user)
    return call, simulator.wait_push(phone.push.token)


def woken(wire, phone, *answers):
    again = wire.again(phone)
    again.answers["INVITE"] = answers
    again.register()
    return again


def test_the_ack_and_the_bye_of_a_woken_call_come_by_its_record_route(server, asleep, wire, simulator):
    phone = asleep("routed")
    call, _ = called(server, wire, simulator, phone)
    again = woken(wire, phone, 180, 200)
    assert again.wait_request("INVITE").headers("Record-Route")
    call.wait_status(200)
    again.wait_request("ACK")
    call.hang_up()
    again.wait_request("BYE")
    server.wait_none_held()


def test_headers_and_who_calls_are_those_that_were_set_last(server, asleep, wire, simulator):
    phone = asleep("edited")
    call, push = called(server, wire, simulator, phone)
    invite = woken(wire, phone, 180, 200).wait_request("INVITE")
    assert invite.headers("X-Late") == ["yes"] and "sip:late@" in invite.headers("From")[0]
    text = json.dumps(push["body"])
    assert "Late Name" in text and "Early Name" not in text
    call.wait_status(200)
    call.hang_up()
    server.wait_none_held()


def test_routes_for_branches_and_replies_run_for_phones_alone(server, asleep, wire, simulator):
    phone = asleep("branched")
    call, _ = called(server, wire, simulator, phone)
    again = woken(wire, phone, 180, 200)
    assert again.wait_request("INVITE").headers("X-Late-Branch") == ["branched"]
    call.wait_status(200)
    for status in (180, 200):
        server.wait_log(f"REPLY {status} from 127.0.0.1:{again.endpoint.port}")
    assert "REPLY 1" not in server.log_text().replace("REPLY 180", "")
    call.hang_up()
    server.wait_none_held()


@pytest.mark.parametrize("answer", [None, 486])
def test_a_failure_route_and_a_flag_count_when_nobody_takes_the_call(server, asleep, wire, simulator, answer):
    phone = asleep(f"failed-{answer}")
    call, _ = called(server, wire, simulator, phone)
    if answer:
        woken(wire, phone, 180, answer)
    assert call.wait_final(10).status == 499
    server.wait_none_held()


def test_changes_that_are_applied_after_the_lookup_leave_the_wait_as_it_is(make_kamailio, wire, simulator):
    text = CONFIG.read_text().replace('loadmodule "@PUSHWAKE@"', 'loadmodule "textopsx.so"\nloadmodule "@PUSHWAKE@"')
    text = text.replace("case 1:  t_relay();", 'case 1:  append_hf("X-Late: yes\\r\\n"); msg_apply_changes(); t_relay();')
    server = make_kamailio(config=text, settings={"wait": "leg"}, wake_timeout=8)
    server.start().wait_engine()
    phone = wire.phone(server, "applied", "udp", rfc8599_fcm())
    phone.register()
    phone.sleep()
    call, _ = called(server, wire, simulator, phone)
    assert woken(wire, phone, 180, 200).wait_request("INVITE").headers("X-Late") == ["yes"]
    call.wait_status(200)
    call.hang_up()
    server.wait_none_held()
