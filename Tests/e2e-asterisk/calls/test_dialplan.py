# SPDX-License-Identifier: MIT
"""Function, device state, MESSAGE, and arguments that are wrong."""

import socket
import time

import pytest
from phones import apns_token, fcm_token
from ports import free_port
from servers import wait_until
from sleeper import apns, fcm, finish


def run(asterisk, caller, number, *steps):
    """Plays dialplan steps for a call and returns the log they wrote."""
    asterisk.add_extension(number, *steps, "Hangup(20)")
    since = len(asterisk.log())
    caller.call(number).final(10)
    return asterisk.wait_log(f"Spawn extension (phones, {number},", since=since)


def test_the_function_tells_what_push_knows(phones, asterisk, caller, user):
    phones(user, asterisk.address).register(apns(apns_token()))
    log = run(asterisk, caller, f"f{user}",
              f"Verbose(0,said ${{PUSHWAKE({user},count)}} ${{PUSHWAKE({user},provider)}} ${{PUSHWAKE({user},app)}})",
              f"Verbose(0,dial ${{PUSHWAKE({user},contacts)}})")  # fmt: skip
    assert "said 1 apns com.example.phone" in log
    assert f"dial PJSIP/{user}/sip:{user}@127.0.0.1" in log


def test_the_function_names_no_half_contact(phones, make_asterisk):
    """More contacts than a dialplan reads from a variable."""
    asterisk = make_asterisk()
    asterisk.change("pjsip.conf", "max_contacts = 5\n", "max_contacts = 40\n")
    asterisk.cli("module reload res_pjsip.so")
    phone = phones("100", asterisk.address, "tcp")
    others = [("Contact", f"<sip:100@127.0.0.1:{port};mark={'m' * 120}end>") for port in range(20001, 20031)]
    assert phone.register(headers=others).status == 200
    log = run(asterisk, phones("caller", asterisk.address), "f100", "Set(all=${PUSHWAKE(100,contacts)})",
              "Verbose(0,there are ${FIELDQTY(all,&)} that end in ${all:-6})")  # fmt: skip
    said = next(line for line in log.splitlines() if "there are" in line and "Executing" not in line).split()
    # They have no order: the last may be the contact of its connection.
    assert said[-1] in ("mmmend", "rt=TCP") and 10 < int(said[-5]) < 31, said


@pytest.mark.parametrize("arguments, complaint", [
    ("", "needs the name of an AoR"),
    ("{user},soon", "is not a number of seconds"),
    ("{user},0", "is not a number of seconds"),
    ("{user},5,x", "use j, m or r"),
])  # fmt: skip
def test_wrong_arguments_fail_and_the_dialplan_goes_on(asterisk, caller, user, arguments, complaint):
    log = run(asterisk, caller, f"w{user}", f"PushWake({arguments.format(user=user)})",
              "Verbose(0,went on with ${PUSHWAKE_STATUS})")  # fmt: skip
    assert complaint in log
    assert "went on with FAILED" in log


@pytest.mark.parametrize("arguments", ["{user}, 1, r", " {user} ,1 ", "{user},, rm"])
def test_blanks_around_arguments_mean_nothing(asterisk, caller, user, arguments):
    log = run(asterisk, caller, f"b{user}", f"PushWake({arguments.format(user=user)})",
              "Verbose(0,went on with ${PUSHWAKE_STATUS})")  # fmt: skip
    assert "went on with NOBINDING" in log


def woken(asterisk, caller, sleeper, written, user):
    """The log of a call whose PushWake() names a phone that sleeps so, and comes when it is pushed."""
    phone = sleeper()
    asterisk.add_extension(f"n{user}", f"PushWake({written},10)", "Verbose(0,went on with ${PUSHWAKE_STATUS} ${PUSHWAKE_CONTACTS})",
                           "Dial(${PUSHWAKE_CONTACTS},10)", "Hangup(20)")
    since = len(asterisk.log())
    call = caller.call(f"n{user}")
    awake = phone.wait_and_wake()
    finish(call, awake, awake.expect_request("INVITE"))
    return asterisk.wait_log(f"Spawn extension (phones, n{user},", since=since)


@pytest.mark.parametrize("written", ["PJSIP/{user}", "pjsip/{user}", "PJSIP/{user}/sip:{user}@192.0.2.1", "nobody&PJSIP/{user}",
                                     "{user}&PJSIP/{user}", "SIP/{user}&PJSIP/{user}"])
def test_an_endpoint_stands_for_its_aors(asterisk, caller, sleeper, user, written):
    log = woken(asterisk, caller, sleeper, written.format(user=user), user)
    assert f"went on with WAKING PJSIP/{user}/sip:" in log and "&PJSIP/" not in log.split("went on with WAKING")[1].split("\n")[0]


def test_an_endpoint_whose_aor_has_another_name(asterisk, caller, sleeper, user):
    with open(asterisk.host_at / "etc/pjsip.conf", "a") as file:
        file.write(f"\n[desk-{user}]\ntype = endpoint\ncontext = phones\ndisallow = all\nallow = ulaw\naors = {user}\n")
    asterisk.cli("module reload res_pjsip.so")
    wait_until("the endpoint", lambda: f"desk-{user}" in asterisk.cli("pjsip show endpoints"))
    assert "went on with WAKING" in woken(asterisk, caller, sleeper, f"PJSIP/desk-{user}", user)
    log = run(asterisk, caller, f"d{user}", f"PushWake(desk-{user},1)", "Verbose(0,went on with ${PUSHWAKE_STATUS})")
    assert f"write PushWake(PJSIP/desk-{user})" in log and "went on with NOBINDING" in log


def test_an_endpoint_may_have_a_name_with_a_domain(asterisk, caller, sleeper, user):
    """As Dial() takes it: PJSIP/alice@example.com is that endpoint where there is one."""
    with open(asterisk.host_at / "etc/pjsip.conf", "a") as file:
        file.write(f"\n[{user}@example.com]\ntype = endpoint\ncontext = phones\ndisallow = all\nallow = ulaw\naors = {user}\n")
    asterisk.cli("module reload res_pjsip.so")
    wait_until("the endpoint", lambda: f"{user}@example.com" in asterisk.cli("pjsip show endpoints"))
    assert "went on with WAKING" in woken(asterisk, caller, sleeper, f"PJSIP/{user}@example.com", user)


def test_who_has_been_answered_by_a_menu_hears_ringing_while_the_phone_wakes(asterisk, caller, sleeper, user):
    phone = sleeper()
    asterisk.add_extension(f"m{user}", "Answer()", f"PushWake({user},10,r)", "Dial(${PUSHWAKE_CONTACTS},10)")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as media:
        media.bind(("127.0.0.1", free_port()))
        media.settimeout(5)
        caller.media_port = media.getsockname()[1]
        call = caller.call(f"m{user}")
        call.expect(200)
        for _ in range(20):
            assert len(media.recv(2048)) > 12
    phone.wait_and_wake()
    call.end()


@pytest.mark.parametrize("written", ["PJSIP/door-{user}", "gate-{user}"])
def test_a_contact_that_stands_in_the_configuration_is_dialled_through_its_endpoint(asterisk, caller, user, written):
    with open(asterisk.host_at / "etc/pjsip.conf", "a") as file:
        file.write(f"\n[door-{user}]\ntype = endpoint\ncontext = phones\ndisallow = all\nallow = ulaw\naors = gate-{user}\n"
                   f"[gate-{user}]\ntype = aor\ncontact = sip:door@127.0.0.1:9\n")
    asterisk.cli("module reload res_pjsip.so")
    wait_until("the endpoint", lambda: f"door-{user}" in asterisk.cli("pjsip show endpoints"))
    log = run(asterisk, caller, f"s{user}", f"PushWake({written.format(user=user)},1)", "Verbose(0,dial ${PUSHWAKE_CONTACTS}.)")
    assert f"dial PJSIP/door-{user}/sip:door@127.0.0.1:9." in log


@pytest.mark.parametrize("written, remedy", [
    ("PJSIP/nobody", "there is no endpoint nobody; write the name of an AoR"),
    ("PJSIP/100@trunk", "the endpoint trunk sends to another server"),
    ("SIP/{user}@here", "only PJSIP phones can be woken; write the name of their AoR, such as PushWake({user})"),
    ("Local/", "only PJSIP phones can be woken"), ("PJSIP/", "there is no endpoint"), ("&", "no AoR is named"),
])  # fmt: skip
def test_what_names_no_phone_is_said_with_what_to_write(asterisk, caller, user, written, remedy):
    log = run(asterisk, caller, f"x{user}", f"PushWake({written.format(user=user)},1)", "Verbose(0,went on with ${PUSHWAKE_STATUS})")
    assert remedy.format(user=user) in log and "went on with FAILED" in log


def test_a_provider_that_refuses_every_push(phones, asterisk, caller, user):
    phone = phones(user, asterisk.address)
    phone.register(fcm("unregistered-" + fcm_token()))
    phone.close()
    started = time.monotonic()
    log = run(asterisk, caller, f"r{user}", f"PushWake({user},20)", "Dial(${PUSHWAKE_CONTACTS},20)", "Verbose(0,went on with ${DIALSTATUS})")
    assert "went on with " in log and time.monotonic() - started < 10


def state(asterisk, user):
    return asterisk.cli(f"core show hint {user}").split("State:")[1].split()[0]


def test_a_phone_that_sleeps_counts_as_available(phones, asterisk, caller, user):
    asterisk.add_extension(user, f"hint,PushWake:{user}")
    assert state(asterisk, user) == "Unavailable"
    phone = phones(user, asterisk.address, "tcp")
    phone.register(apns(apns_token()))
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")
    phone.close()
    asterisk.wait_log(f"from AOR '{user}' due to shutdown")
    assert state(asterisk, user) == "Idle"


def is_in_use_while_it_talks(asterisk, caller, user, phone, device):
    asterisk.add_extension(f"t{user}", f"Dial({device})")
    call = caller.call(f"t{user}")
    phone.answer(phone.expect_request("INVITE"))
    call.expect(200)
    wait_until("the hint is in use", lambda: state(asterisk, user) == "InUse")
    call.end()
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")


def test_a_phone_that_talks_is_in_use(phones, asterisk, caller, user):
    asterisk.add_extension(user, f"hint,PushWake:{user}")
    phone = phones(user, asterisk.address)
    phone.register(apns(apns_token()))
    is_in_use_while_it_talks(asterisk, caller, user, phone, f"PJSIP/{user}")


def test_an_endpoint_of_another_name_tells_how_its_phone_is(phones, asterisk, caller, user):
    phone = phones(user, asterisk.address)
    with open(asterisk.host_at / "etc/pjsip.conf", "a") as file:
        file.write(f"\n[side-{user}]\ntype = endpoint\ncontext = phones\ndisallow = all\nallow = ulaw\naors = back-{user}\n"
                   f"[back-{user}]\ntype = aor\ncontact = {phone.contact}\n")
    asterisk.cli("module reload res_pjsip.so")
    asterisk.add_extension(user, f"hint,PushWake:back-{user}")
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")
    is_in_use_while_it_talks(asterisk, caller, user, phone, f"PJSIP/side-{user}")


def test_an_endpoint_that_has_but_the_name_of_the_aor_says_nothing_of_its_phone(phones, asterisk, caller, user):
    phone = phones(user, asterisk.address)
    conf = (asterisk.host_at / "etc/pjsip.conf").read_text().replace(f"aors = {user}\n", f"aors = desk-{user}\n")
    asterisk.write("pjsip.conf", conf + f"\n[desk-{user}]\ntype = aor\nmax_contacts = 1\n[side-{user}]\ntype = endpoint\n"
                   f"context = phones\nallow = !all,ulaw\naors = {user}\n")  # fmt: skip
    asterisk.write("pjsip.conf", (asterisk.host_at / "etc/pjsip.conf").read_text().replace(
        f"[{user}]\ntype = aor\n", f"[{user}]\ntype = aor\ncontact = {phone.contact}\n"))
    asterisk.cli("module reload res_pjsip.so")
    asterisk.add_extension(user, f"hint,PushWake:{user}")
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")
    is_in_use_while_it_talks(asterisk, caller, user, phone, f"PJSIP/side-{user}")


def test_a_phone_that_was_dialled_and_is_pushed_then_rings(phones, asterisk, caller, user, simulator):
    """Its connection breaks while it is dialled: a queue that took it for idle would send it the next caller."""
    asterisk.add_extension(user, f"hint,PushWake:{user}")
    asterisk.add_extension(f"s{user}", f"PushWake({user},20)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake,20)")
    phone, token = phones(user, asterisk.address, "tcp"), fcm_token()
    phone.register(fcm(token))
    call = caller.call(f"s{user}")
    phone.expect_request("INVITE")
    phone.close()
    simulator.wait_push(token)
    wait_until("the hint rings", lambda: state(asterisk, user) == "Ringing")
    call.cancel()
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")


def test_a_phone_whose_app_is_suspended_rings_for_queues_once_it_is_pushed(asterisk, caller, user, frozen):
    """The INVITE is out and unanswered, which is idle for Asterisk."""
    asterisk.add_extension(user, f"hint,PushWake:{user}")
    asterisk.add_extension(f"s{user}", f"PushWake({user},20)", "Dial(${PUSHWAKE_CONTACTS}&Local/join@pushwake,20)")
    phone = frozen(fcm)
    call = caller.call(f"s{user}")
    phone.simulator.wait_push(phone.token)
    wait_until("the hint rings", lambda: state(asterisk, user) == "Ringing", 3)
    awake = phone.wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    wait_until("the hint is in use", lambda: state(asterisk, user) == "InUse")
    call.end()
    awake.reply(awake.expect_request("BYE"), 200, "OK")
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")


def test_a_message_goes_out_as_a_push(phones, asterisk, caller, user, simulator):
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    assert caller.message(user, "Lunch at noon?").status == 202
    assert "Lunch at noon?" in str(simulator.wait_push(token)["body"])
    assert caller.message(user, "Or at one?").status == 202
    wait_until("the second push", lambda: len(simulator.pushes(token)) == 2)


def test_messages_that_are_accepted_go_out_however_long_it_takes(make_asterisk, phones, simulator):
    """More than a phone is pushed at once, and more than a request would be held."""
    asterisk = make_asterisk(settings={"wake_timeout": 2})
    token = fcm_token()
    phone = phones("100", asterisk.address, "tcp")
    phone.register(fcm(token))
    phone.close()
    asterisk.wait_log("from AOR '100' due to shutdown")
    sender = phones("caller", asterisk.address)
    texts = [f"number {number}" for number in range(7)]
    for text in texts:
        assert sender.message("100", text).status == 202
    def pushed():
        return [push["body"]["message"]["data"]["text"] for push in simulator.pushes(token)]
    wait_until("all have come", lambda: pushed() == texts, 20)
    awake = phones("100", asterisk.address, "tcp")
    awake.instance = phone.instance
    awake.register(fcm(token))
    trace = asterisk.cli("pushwake trace 100")
    assert trace.count("accepted with 202 after") == len(texts) and "is rung" not in trace and "is held" not in trace, trace
    assert trace.count("fcm accepted the push to phone 1") == len(texts), trace


def test_a_message_reaches_a_phone_that_is_awake(phones, asterisk, caller, user, simulator):
    token = fcm_token()
    phone = phones(user, asterisk.address, "tcp")
    phone.register(fcm(token))
    assert caller.message(user, "Are you there?").status == 202
    message = phone.expect_request("MESSAGE")
    assert message.body == "Are you there?"
    phone.reply(message, 200, "OK")
    assert simulator.pushes(token) == []


def test_a_message_waits_for_its_phone(phones, asterisk, caller, user, simulator):
    with open(asterisk.host_at / "etc/extensions.conf", "a") as f:
        f.write(f"[messages](+)\nexten => wait-{user},1,PushWake({user},10,m)\n"
                " same => n,MessageSend(pjsip:${PUSHWAKE_CONTACTS:6},${MESSAGE(from)})\n same => n,Hangup()\n")  # fmt: skip
    asterisk.cli("dialplan reload")
    token = fcm_token()
    phone = phones(user, asterisk.address, "tcp")
    phone.register(fcm(token))
    phone.close()
    asterisk.wait_log(f"from AOR '{user}' due to shutdown")
    assert caller.message(f"wait-{user}", "Are you up?").status == 202
    simulator.wait_push(token)
    awake = phones(user, asterisk.address, "tcp")
    awake.instance = phone.instance
    awake.register(fcm(token))
    assert awake.expect_request("MESSAGE").body == "Are you up?"


def test_a_queue_rings_a_phone_that_sleeps(phones, asterisk, caller, user, simulator):
    asterisk.write("queues.conf", f"[help-{user}]\njoinempty = no\nmember => Local/{user}@phones,0,Ann,PushWake:{user}\n")
    asterisk.add_extension(f"q{user}", f"Queue(help-{user},,,,10)", "Verbose(0,left the queue: ${QUEUESTATUS})", "Hangup(20)")
    token = apns_token()
    phone = phones(user, asterisk.address, "tcp")
    phone.register(apns(token))
    phone.close()
    asterisk.wait_log(f"from AOR '{user}' due to shutdown")
    asterisk.cli("module reload app_queue.so")
    call = caller.call(f"q{user}")
    simulator.wait_push(token)
    awake = phones(user, asterisk.address, "tcp")
    awake.register(apns(token))
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()


@pytest.mark.parametrize("presentation", ["prohib", "prohib_passed_screen", "unavailable"])
def test_a_caller_who_withholds_the_number_is_anonymous_in_the_push(phones, asterisk, caller, user, simulator, presentation):
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    asterisk.add_extension(
        f"p{user}", "Set(CALLERID(all)=Jane <+4917012345>)", f"Set(CALLERID(pres)={presentation})", f"PushWake({user},1)", "Hangup(20)")
    caller.call(f"p{user}").expect_final(480)
    push = str(simulator.wait_push(token)["body"])
    assert "4917012345" not in push and "Jane" not in push and "anonymous" in push


@pytest.mark.parametrize("privacy, is_hidden", [("id", True), ("user; critical", True), ("none", False), (None, False)])
def test_a_caller_who_asks_for_privacy_is_anonymous_in_the_push(phones, asterisk, user, simulator, privacy, is_hidden):
    """Asterisk itself heeds Privacy of endpoints that it trusts, and of no other."""
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    asterisk.add_extension(f"p{user}", f"PushWake({user},1)", "Hangup(20)")
    headers = [("Privacy", privacy)] if privacy else []
    phones("caller", asterisk.address).call(f"p{user}", headers=headers).expect_final(480)
    push = str(simulator.wait_push(token)["body"])
    assert ("sip:caller@" in push) != is_hidden and ("anonymous" in push) == is_hidden, push


def test_a_caller_of_no_address_is_anonymous_in_the_push(phones, asterisk, user, simulator):
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    asterisk.add_extension(f"p{user}", f"PushWake({user},1)", "Hangup(20)")
    caller = phones("caller", asterisk.address)
    plain = caller.send
    caller.send = lambda start, fields, body="": plain(start, [
        (name, value.replace("@127.0.0.1>", "@anonymous.invalid>") if name == "From" else value)
        for name, value in fields], body)  # fmt: skip
    caller.call(f"p{user}").expect_final(480)
    data = simulator.wait_push(token)["body"]["message"]["data"]
    assert data["from-uri"] == "sip:anonymous@anonymous.invalid" and data["display-name"] in ("", "anonymous")


@pytest.mark.parametrize("header", [("Privacy", "id"), ("Content-Encoding", "deflate"), ("e", "gzip")])
def test_a_text_in_disguise_shows_nothing_of_what_is_behind(phones, asterisk, user, simulator, header):
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    sender = phones("caller", asterisk.address, "tcp")
    sender.begin_message(user, "r\x9cubbish", headers=[header])
    data = simulator.wait_push(token)["body"]["message"]["data"]
    if header[0] == "Privacy":
        assert data["from-uri"] == "sip:anonymous@anonymous.invalid" and "ubbish" in data["text"]
    else:
        assert data["from-uri"].startswith("sip:caller@") and "ubbish" not in str(data)


@pytest.mark.parametrize("display", ["alice@example.org", "x@bank.example;a=b", "x" * 200 + "<sip:x@bank.example>", "<sip:x@bank.example" + "x" * 1000])
def test_the_domain_in_the_push_is_that_of_the_callers_uri(phones, asterisk, user, simulator, display):
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    asterisk.add_extension(f"p{user}", f"PushWake({user},1)", "Hangup(20)")
    caller = phones("caller", asterisk.address, "tcp")
    plain = caller.send
    caller.send = lambda start, headers, body="": plain(
        start, [(name, value.replace("The Caller", display) if name == "From" else value) for name, value in headers], body)
    caller.call(f"p{user}").expect_final(480)
    told = simulator.wait_push(token)["body"]["message"]["data"]["from-uri"]
    assert told == "sip:caller@127.0.0.1" or len(display) > 900 and told == f"sip:caller@{socket.gethostname()}"


@pytest.mark.parametrize("name, encoding, shown", [
    ('Jürg \\"the boss\\" Noël', "utf-8", 'Jürg "the boss" Noël'),
    ('Jürg \\"the boss\\" Noël', "latin-1", 'Jürg "the boss" Noël'),  # Asterisk's own name has U+FFFD there
    ("CORP\\\\jürg", "latin-1", "CORP\\jürg"),
])
def test_the_name_in_the_push_is_what_the_caller_wrote(phones, asterisk, user, simulator, name, encoding, shown):
    phone, token = phones(user, asterisk.address), fcm_token()
    phone.register(fcm(token))
    asterisk.add_extension(f"p{user}", f"PushWake({user},1)", "Hangup(20)")
    caller = phones("caller", asterisk.address)
    caller.name, caller.encoding = name, encoding
    caller.call(f"p{user}").expect_final(480)
    assert simulator.wait_push(token)["body"]["message"]["data"]["display-name"] == shown


def test_a_caller_of_an_ipv6_domain_is_named_whole(phones, asterisk, user, simulator):
    phone, token = phones(user, asterisk.address), fcm_token()
    phone.register(fcm(token))
    asterisk.add_extension(f"p{user}", f"PushWake({user},1)", "Hangup(20)")
    caller = phones("caller", asterisk.address)
    plain = caller.send
    caller.send = lambda start, headers, body="": plain(
        start, [(name, value.replace("@127.0.0.1>", "@[2001:db8::7]>") if name == "From" else value) for name, value in headers], body)
    caller.call(f"p{user}").expect_final(480)
    assert simulator.wait_push(token)["body"]["message"]["data"]["from-uri"] == "sip:caller@[2001:db8::7]"


@pytest.mark.parametrize("display", ["Boss <sip:boss@corp>", "x" * 700 + " <sip:boss@corp>", 'say \\"<sip:boss@corp>\\"'], ids=["a name", "a long one", "with quotes"])
def test_the_sender_of_a_text_is_the_one_who_sent_it(phones, asterisk, user, simulator, display):
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    phone.close()
    sender = phones("caller", asterisk.address, "tcp")
    sender.begin_message(user, "hello")
    start, headers, text = sender.last_message
    own = next(value for name, value in headers if name == "From")
    forged = [(name, f'"{display}" ' + own[own.index("<"):] if name == "From" else value)
              for name, value in headers if name not in ("Call-ID", "Via")]  # fmt: skip
    forged.append(("Via", sender._via()))
    sender.send(start, [*forged, ("Call-ID", "forged-" + user)], text)
    assert sender.expect_response("forged-" + user, "MESSAGE").status == 202
    wait_until("both texts", lambda: len(simulator.pushes(token)) == 2)
    for push in simulator.pushes(token):
        assert push["body"]["message"]["data"]["from-uri"] in (f"sip:caller@{sender.server[0]}", "sip:anonymous@anonymous.invalid")


def test_a_phone_that_is_to_read_a_text_does_not_ring(phones, asterisk, caller, user, simulator):
    asterisk.add_extension(user, f"hint,PushWake:{user}")
    with open(asterisk.host_at / "etc/extensions.conf", "a") as f:
        f.write(f"[messages](+)\nexten => text-{user},1,PushWake({user},,m)\n same => n,Hangup()\n")
    asterisk.cli("dialplan reload")
    token = fcm_token()
    phone = phones(user, asterisk.address)
    phone.register(fcm(token))
    wait_until("the hint is idle", lambda: state(asterisk, user) == "Idle")
    assert caller.message(f"text-{user}", "hello").status == 202
    simulator.wait_push(token)
    assert state(asterisk, user) == "Idle"
    phone.register(fcm(token))
    assert state(asterisk, user) == "Idle"
