# SPDX-License-Identifier: MIT
"""Loading, unloading, settings, and an engine that dies."""

import pytest
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time

from conftest import build
from phones import apns_token
from ports import free_port
from servers import wait_until
from sleeper import apns

SCENARIO = pathlib.Path(__file__).parents[1] / "sipp" / "wait_and_answer.xml"


def figures(pid):
    """Descriptors, threads and private memory (kB) of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    threads = int(status.split("Threads:")[1].split()[0])
    smaps = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    private = sum(int(line.split()[1]) for line in smaps.splitlines() if line.startswith("Private_"))
    return len(os.listdir(f"/proc/{pid}/fd")), threads, private


def children(pid):
    listing = subprocess.run(["ps", "-o", "pid=,stat=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return listing.split("\n")[:-1]


# What a thread is in that waits for descriptors: the number of the one call or the other.
POLL, PPOLL = "7", "73"


def poll_limits(pid):
    """For each thread that waits in poll() for four descriptors: for how many milliseconds at most."""
    calls = [task.joinpath("syscall").read_text().split() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    limits = [int(call[3], 16) for call in calls if call[0] == POLL and call[2] == "0x4"]
    # Where the C library has ppoll alone, the third argument leads to seconds and nanoseconds.
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for call in calls:
            if call[0] == PPOLL and call[2] == "0x4" and memory.seek(int(call[3], 16)):
                seconds, nanoseconds = struct.unpack("qq", memory.read(16))
                limits.append(seconds * 1000 + nanoseconds // 1_000_000)
    return limits


def load_and_unload(asterisk, times):
    for _ in range(times):
        assert "Unloaded" in asterisk.cli("module unload res_pushwake.so")
        assert "Loaded" in asterisk.cli("module load res_pushwake.so")


@pytest.mark.alone
def test_a_hundred_loads_leak_nothing(make_asterisk):
    asterisk = make_asterisk()
    load_and_unload(asterisk, 5)
    asterisk.wait_engine()
    before = figures(asterisk.pid)
    memory = [before[2]]
    for _ in range(6):
        load_and_unload(asterisk, 17)
        asterisk.wait_engine()
        now = figures(asterisk.pid)
        memory.append(now[2])
        assert now[0] <= before[0] + 1 and now[1] <= before[1] + 1, (now, before)
    assert len(children(asterisk.pid)) == 1
    # Memory that leaks grows in every stretch. A thread of Asterisk's own that gets a malloc arena grows it once, by
    # 2 MB, in whichever stretch that happens, and the arenas fill up in the first three or four.
    growth = [after - earlier for earlier, after in zip(memory, memory[1:])]
    assert min(growth) < 200, f"kB after each stretch: {memory}"


def test_no_engine_is_left_behind(make_asterisk):
    asterisk = make_asterisk()
    engine = asterisk.engine_pid()
    asterisk.cli("module unload res_pushwake.so")
    assert not pathlib.Path(f"/proc/{engine}").exists()
    asterisk.cli("module load res_pushwake.so")
    asterisk.wait_engine()
    engine = asterisk.engine_pid()
    asterisk.process.kill()
    asterisk.process.wait()
    wait_until("the engine ends with Asterisk", lambda: not pathlib.Path(f"/proc/{engine}").exists(), 5)


def test_the_engine_inherits_nothing_of_a_busy_asterisk(make_asterisk):
    asterisk = make_asterisk(start=False)
    asterisk.run_as_packaged()
    assert "-p" in asterisk.flags
    # What a unit's Nice= and UMask= do.
    before = os.umask(0), os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    try:
        asterisk.start()
        asterisk.wait_engine()
    finally:
        os.umask(before[0])
        os.setpriority(os.PRIO_PROCESS, 0, before[1])
    engine = asterisk.engine_pid()
    assert os.sched_getscheduler(asterisk.pid) == os.SCHED_RR
    assert os.sched_getscheduler(engine) == os.SCHED_OTHER
    assert os.getpriority(os.PRIO_PROCESS, engine) == 0
    assert "Umask:\t0027" in pathlib.Path(f"/proc/{engine}/status").read_text()
    held = {os.readlink(f"/proc/{engine}/fd/{number}") for number in os.listdir(f"/proc/{engine}/fd")}
    assert not [name for name in held if "/log/" in name or "astdb" in name], held


def test_no_two_files_need_each_other(module, chroot):
    build(chroot, "circles")


def test_built_for_another_asterisk(make_asterisk, chroot, tmp_path):
    version = subprocess.run(["chroot", chroot, "asterisk", "-V"], check=True, capture_output=True, text=True).stdout
    here = re.search(r"\d+", version)[0]
    other = "20" if here == "22" else "22"
    build(chroot, f"ASTERISK_MAJOR={other}", f"OUT={tmp_path}/build")
    asterisk = make_asterisk(start=False)
    shutil.copy(tmp_path / "build/res_pushwake.so", asterisk.host_at / "modules/res_pushwake.so")
    asterisk.start()
    asterisk.wait_log(f"built for Asterisk {other} and this is Asterisk {here}")
    assert "Not Running" in asterisk.cli("module show like pushwake")


def test_built_for_another_release_of_the_series(make_asterisk, chroot, tmp_path, phones):
    """Asterisk 22.10 has put two ports into the middle of an endpoint."""
    headers = tmp_path / "include"
    headers.mkdir()
    for path in (chroot / "usr/include").glob("asterisk*"):
        (headers / path.name).symlink_to(path)
    (headers / "asterisk").unlink()
    shutil.copytree(chroot / "usr/include/asterisk", headers / "asterisk")
    header = headers / "asterisk/res_pjsip.h"
    text, count = re.subn(r"\n\tunsigned int port_(?:start|end);", "", header.read_text())
    assert count == 2
    header.write_text(text)
    build(chroot, f"ASTERISK={headers}", f"OUT={tmp_path}/build")
    asterisk = make_asterisk(start=False)
    shutil.copy(tmp_path / "build/res_pushwake.so", asterisk.host_at / "modules/res_pushwake.so")
    asterisk.start()
    asterisk.wait_engine()
    phone = phones("101", asterisk.address)
    assert phone.register(apns(apns_token())).status == 200
    send = phone.send
    phone.send = lambda start, headers, body="": send(
        start, [(key, value.replace("sip:101@", "sip:999@") if key == "To" else value) for key, value in headers], body)
    assert phone.register(apns(apns_token())).status == 404
    assert asterisk.process.poll() is None


def test_a_wrong_setting_is_named_with_its_line(make_asterisk):
    asterisk = make_asterisk(start=False)
    asterisk.write("pushwake.conf", "[general]\nwake_timeout = soon\napns_keyid = ABC\n[apple]\nkey = x\n")
    asterisk.start()
    log = asterisk.wait_log("push is off")
    assert "pushwake.conf:2: wake_timeout" in log and "write a number" in log
    assert "pushwake.conf:3: apns_keyid" in log and "did you mean apns_key_id" in log
    assert "[apple] is not known" in log


def test_a_typing_error_switches_push_off_and_nothing_else(make_asterisk, phones):
    asterisk = make_asterisk(start=False)
    good = (asterisk.host_at / "etc/pushwake.conf").read_text()
    asterisk.write("pushwake.conf", good + "wake_timout = 1\n")
    asterisk.start()
    asterisk.wait_log("push is off")
    assert "Running" in asterisk.cli("module show like pushwake").replace("Not Running", "")
    assert "push is off" in asterisk.cli("pushwake show stats")
    assert children(asterisk.pid) == []
    call_a_desk_phone(asterisk, phones)
    push = phones("101", asterisk.address)
    reply = push.register(apns(apns_token()))
    assert reply.status == 200 and reply.all("Feature-Caps") == []
    # The mistake is mended: push is on, without a restart.
    asterisk.write("pushwake.conf", good)
    assert "done" in asterisk.cli("pushwake reload")
    asterisk.wait_engine()
    assert "+sip.pns" in push.register(apns(apns_token())).all("Feature-Caps")[0]


def test_the_dialplan_needs_no_module(make_asterisk, phones):
    asterisk = make_asterisk(start=False)
    (asterisk.host_at / "modules/res_pushwake.so").unlink()
    asterisk.start()
    assert "0 modules loaded" in asterisk.cli("module show like pushwake")
    call_a_desk_phone(asterisk, phones)
    phones("caller", asterisk.address).call("101").expect_final(480)


def call_a_desk_phone(asterisk, phones):
    desk = phones("100", asterisk.address)
    assert desk.register("").status == 200
    call = phones("caller", asterisk.address).call("100")
    desk.answer(desk.expect_request("INVITE"))
    call.expect(200)
    call.end()
    desk.reply(desk.expect_request("BYE"), 200, "OK")


def test_a_key_file_that_is_missing_stops_nothing(make_asterisk):
    asterisk = make_asterisk(settings={"apns_key": "/etc/pushwake/absent.p8"})
    assert "Running" in asterisk.cli("module show like pushwake")
    line = next(line for line in asterisk.wait_log("absent.p8").splitlines() if "absent.p8" in line)
    assert "apns_key" in line


def test_a_reload_with_an_error_keeps_the_settings(make_asterisk):
    asterisk = make_asterisk()
    engine = asterisk.engine_pid()
    good = (asterisk.host_at / "etc/pushwake.conf").read_text()
    asterisk.write("pushwake.conf", good + "nonsense = 1\n")
    assert "errors" in asterisk.cli("pushwake reload")
    asterisk.wait_log("pushwake.conf:")
    assert asterisk.engine_pid() == engine
    asterisk.write("pushwake.conf", good.replace("wake_timeout = 3", "wake_timeout = 4"))
    assert "done" in asterisk.cli("pushwake reload")
    asterisk.wait_engine()
    assert asterisk.engine_pid() != engine


def test_a_numbered_key_is_a_setting_like_others(make_asterisk):
    asterisk = make_asterisk()
    engine = asterisk.engine_pid()
    good = (asterisk.host_at / "etc/pushwake.conf").read_text()
    key = next(line.split("= ")[1] for line in good.splitlines() if line.startswith("fcm_key"))
    asterisk.write("pushwake.conf", good + f"fcm_app1 = com.example.other\nfcm_key1 = {key}\n")
    assert "done" in asterisk.cli("pushwake reload")
    asterisk.wait_engine()
    assert asterisk.engine_pid() != engine


def test_a_call_waits_on_when_a_setting_changes(make_asterisk, sleeper, phones):
    asterisk = make_asterisk(settings={"wake_timeout": 20})
    phone = sleeper(at=asterisk, of="100")
    call = phones("caller", asterisk.address).call("100")
    phone.simulator.wait_push(phone.token)
    good = (asterisk.host_at / "etc/pushwake.conf").read_text()
    asterisk.write("pushwake.conf", good.replace("wake_timeout = 20", "wake_timeout = 21"))
    engine = asterisk.engine_pid()
    assert "done" in asterisk.cli("pushwake reload")
    wait_until("the next engine", lambda: asterisk.engine_pid() not in (0, engine), 10)
    awake = phone.wake()
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()
    assert len(phone.simulator.calls(phone.token)) == 1


def test_calls_go_on_without_an_engine(make_asterisk, phones):
    asterisk = make_asterisk(settings={"engine_path": "/nonexistent"}, start=False)
    asterisk.start()
    asterisk.wait_log("cannot start /nonexistent: it is not a program")
    phone = phones("100", asterisk.address)
    reply = phone.register(apns(apns_token()))
    assert reply.status == 200 and reply.all("Feature-Caps") == []
    call = phones("caller", asterisk.address).call("100")
    phone.answer(phone.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_the_engine_dies_while_twenty_calls_wait(make_asterisk, phones, simulator, tmp_path):
    asterisk = make_asterisk(settings={"wake_timeout": 20})
    users = [str(number) for number in range(120, 140)]
    tokens, instances = {}, {}
    for user in users:
        phone = phones(user, asterisk.address)
        tokens[user], instances[user] = apns_token(), phone.instance
        assert phone.register(apns(tokens[user])).status == 200
        phone.close()
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("SEQUENTIAL\n" + "".join(f"{user};\n" for user in users))
    sipp = subprocess.Popen(
        ["sipp", f"127.0.0.1:{asterisk.sip_port}", "-sf", SCENARIO, "-inf", numbers, "-m", "20", "-r", "20", "-i",
         "127.0.0.1", "-p", str(free_port()), "-nostdin", "-timeout", "30", "-timeout_error", "-error_file", tmp_path / "errors", "-trace_err"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    for user in users:
        simulator.wait_push(tokens[user])
    engine = asterisk.engine_pid()
    asterisk.kill_engine()
    asterisk.wait_log("the engine ended")
    for user in users:
        phone = phones(user, asterisk.address)
        phone.instance = instances[user]
        assert phone.register(apns(tokens[user])).status == 200
        phone.answer(phone.expect_request("INVITE"))
        phone.reply(phone.expect_request("BYE"), 200, "OK")
        phone.close()
    assert sipp.wait(20) == 0, (tmp_path / "errors").read_text() if (tmp_path / "errors").exists() else ""
    wait_until("another engine runs", lambda: asterisk.engine_pid() not in (0, engine), 5, 0.1)
    assert "0 active channels" in asterisk.cli("core show channels count")


@pytest.mark.alone
def test_a_hundred_waits_cost_no_connection_and_no_polling(make_asterisk, phones, simulator, tmp_path):
    asterisk = make_asterisk(settings={"wake_timeout": 20})
    phone = phones("100", asterisk.address)
    token = apns_token()
    phone.register(apns(token))
    phone.close()
    idle = len(os.listdir(f"/proc/{asterisk.engine_pid()}/fd"))
    callers = [phones("caller", asterisk.address) for _ in range(100)]
    calls = [caller.call("100") for caller in callers]
    for call in calls:
        call.expect(180, 20)
    # Clients are lent from a pool: as many connections as threads asked at the same moment, and far fewer than waits.
    assert len(os.listdir(f"/proc/{asterisk.engine_pid()}/fd")) - idle <= 40
    before = cpu_ticks(asterisk.pid) + cpu_ticks(asterisk.engine_pid())
    time.sleep(2)
    assert cpu_ticks(asterisk.pid) + cpu_ticks(asterisk.engine_pid()) - before < 20
    for call in calls:
        call.cancel()


def test_the_supervisor_sleeps_as_long_as_it_has_nothing_to_do(asterisk):
    # It asks a silent engine for a sign of life every ten seconds.
    wait_until("a thread that waits for seconds", lambda: any(5000 < limit <= 10_000 for limit in poll_limits(asterisk.pid)), 20)


def test_a_restart_forgets_no_phone(make_asterisk, phones, simulator):
    asterisk = make_asterisk()
    token = apns_token()
    phone = phones("100", asterisk.address)
    phone.register(apns(token))
    phone.close()
    asterisk.stop()
    asterisk.start()
    asterisk.wait_engine()
    call = phones("caller", asterisk.address).call("100")
    simulator.wait_push(token)
    awake = phones("100", asterisk.address)
    awake.instance = phone.instance
    awake.register(apns(token))
    awake.answer(awake.expect_request("INVITE"))
    call.expect(200)
    call.end()


def test_two_servers_share_one_engine(make_asterisk, phones, simulator):
    registrar = make_asterisk()
    other = make_asterisk(
        users=[], settings={"engine_mode": "external", "engine_socket": f"{registrar.at}/run/engine.sock"}, start=False)
    other.add_extension("7100", "PushWake(100,5)", "Verbose(0,went on with ${PUSHWAKE_STATUS})", "Hangup(20)")
    other.start()
    token = apns_token()
    phone = phones("100", registrar.address)
    phone.register(apns(token))
    call = phones("caller", other.address).call("7100")
    simulator.wait_push(token)
    phone.register(apns(token))
    call.expect_final(480)
    other.wait_log("went on with WAKING")
    assert other.engine_pid() == 0 and children(other.pid) == []
    assert "100" in other.cli("pushwake show bindings")


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])
