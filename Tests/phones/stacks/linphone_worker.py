# SPDX-License-Identifier: MIT
"""One Linphone in a process of its own: JSON commands on stdin, JSON events on stdout.

Drives liblinphone itself, as the apps do: the programs of linphone-cli can neither say 486 nor count packets.
"""

import ctypes
import ctypes.util
import json
import os
import select
import sys

SOUND = "/usr/share/sounds/linphone/hello8000.wav"  # sent in place of a microphone's
LIBRARY = ctypes.util.find_library("linphone")
CALL_STATES = {
    "IncomingReceived": "ringing", "OutgoingInit": "calling", "OutgoingRinging": "early",
    "OutgoingEarlyMedia": "early", "Connected": "answered", "StreamsRunning": "established", "Paused": "established",
    "PausedByRemote": "established", "End": "ended", "Error": "ended"}
REASONS = {486: 6, 603: 3}  # LinphoneReasonBusy, LinphoneReasonDeclined
REGISTRATION_OK, REGISTRATION_FAILED = 2, 4
DELIVERED, NOT_DELIVERED = 2, 3  # LinphoneChatMessageState
LOG_ALL = 1 << 2  # LinphoneLogLevelMessage and above

Pointer, Text, Whole = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
CallChanged = ctypes.CFUNCTYPE(None, Pointer, Pointer, Whole, Text)
RegistrationChanged = ctypes.CFUNCTYPE(None, Pointer, Pointer, Whole, Text)
MessageReceived = ctypes.CFUNCTYPE(None, Pointer, Pointer, Pointer)
MessageChanged = ctypes.CFUNCTYPE(None, Pointer, Whole)


class Library:
    """liblinphone's functions under their names without `linphone_`; what is not a pointer is named here."""

    TEXTS = {"call_state_to_string", "address_as_string_uri_only", "chat_message_get_utf8_text"}
    NUMBERS = {"core_start", "call_accept", "call_decline", "call_terminate", "call_pause", "call_resume",
               "error_info_get_protocol_code", "call_get_dir"}

    def __init__(self):
        self._library = ctypes.CDLL(LIBRARY)

    def __getattr__(self, name):
        function = getattr(self._library, "linphone_" + name)
        function.restype = (
            Text if name in self.TEXTS else Whole if name in self.NUMBERS
            else ctypes.c_float if name == "call_stats_get_download_bandwidth" else Pointer)

        def call(*arguments):
            # A small number stands in a register like a pointer.
            typed = [Pointer(a) if a is None or isinstance(a, int) else a.encode() if isinstance(a, str) else a
                     for a in arguments]
            return function(*typed)

        self.__dict__[name] = call
        return call


def configuration(settings):
    """The linphonerc of a mobile app: listens nowhere by itself, keeps nothing on disk.

    The certificate's authority is verified; its name is not, since mbedTLS 2 does not read addresses there.
    """
    port = settings["listening_port"]
    ports = "".join(f"{name}={port if transport == settings['transport'] else 0}\n" for name, transport in
                    [("sip_port", "udp"), ("sip_tcp_port", "tcp"), ("sip_tls_port", "tls")])
    return f"""[sip]
{ports}bind_address={settings['bind']}
use_ipv6=0
auto_net_state_mon=0
register_only_when_network_is_up=0
default_proxy=0
root_ca={settings['authority']}
verify_server_certs=1
verify_server_cn=0
[net]
mtu=1300
[misc]
uuid={settings['instance'].removeprefix('urn:uuid:').strip('<>').removeprefix('urn:uuid:')}
add_missing_audio_codecs=0
[audio_codec_0]
mime=PCMU
rate=8000
channels=1
enabled=1
[storage]
uri=:memory:
[lime]
enabled=0
[video]
enabled=0
capture=0
display=0
[proxy_0]
reg_proxy=<sip:{settings['server']}>
reg_route=<sip:{settings['server']};lr>
reg_identity={settings['identity']}
reg_expires={settings['expires']}
reg_sendregister=1
publish=0
quality_reporting_enabled=0
contact_uri_parameters={settings['push'].lstrip(';')}
[auth_info_0]
username={settings['user']}
passwd={settings['password']}
"""


def tell(event, **values):
    OUT.write(json.dumps({"event": event, **values}) + "\n")
    OUT.flush()


class Worker:
    def __init__(self, settings):
        self.lib, self.calls, self.messages = Library(), {}, []
        directory = os.path.dirname(settings["log"])
        path = os.path.join(directory, "linphonerc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(configuration(settings))
        lib = self.lib
        logs = lib.logging_service_get()
        lib.logging_service_set_log_level(logs, LOG_ALL)
        lib.logging_service_set_log_file(logs, directory, os.path.basename(settings["log"]), 0)
        factory = lib.factory_get()
        for kind in ("config", "data", "download"):
            getattr(lib, f"factory_set_{kind}_dir")(factory, directory + "/")
        self.core = lib.factory_create_core_3(factory, path, None, None)
        self._listen(factory)
        lib.core_set_use_files(self.core, 1)
        lib.core_set_play_file(self.core, SOUND)
        assert lib.core_start(self.core) == 0
        lib.core_set_network_reachable(self.core, 1)

    def _listen(self, factory):
        lib, callbacks = self.lib, self.lib.factory_create_core_cbs(factory)
        # Kept, since the library holds only their addresses.
        self.listeners = [CallChanged(self._call_changed), RegistrationChanged(self._registration_changed),
                          MessageReceived(self._message_received), MessageChanged(self._message_changed)]
        lib.core_cbs_set_call_state_changed(callbacks, self.listeners[0])
        lib.core_cbs_set_registration_state_changed(callbacks, self.listeners[1])
        lib.core_cbs_set_message_received(callbacks, self.listeners[2])
        lib.core_add_callbacks(self.core, callbacks)

    def _call_changed(self, _core, call, state, _message):
        name = self.lib.call_state_to_string(state).decode().removeprefix("LinphoneCall").removeprefix("State")
        known = call in self.calls
        if name == "Released":
            self.calls.pop(call, None)
            return
        if not known:
            self.calls[call] = self.count = getattr(self, "count", -1) + 1
        number = self.calls[call]
        if name in CALL_STATES:
            code = self.lib.error_info_get_protocol_code(self.lib.call_get_error_info(call))
            tell("call", call=number, way="in" if self.lib.call_get_dir(call) == 1 else "out",
                 state=CALL_STATES[name], code=code)
        if name in ("StreamsRunning", "Paused", "PausedByRemote"):
            tell("media", call=number, held=name == "PausedByRemote", holds=name == "Paused")

    def _registration_changed(self, _core, proxy, state, message):
        if state == REGISTRATION_OK:
            tell("registered")
        elif state == REGISTRATION_FAILED:
            code = self.lib.error_info_get_protocol_code(self.lib.proxy_config_get_error_info(proxy))
            tell("refused", code=code, reason=(message or b"").decode())

    def _message_received(self, _core, _room, message):
        text = self.lib.chat_message_get_utf8_text(message)
        sender = self.lib.address_as_string_uri_only(self.lib.chat_message_get_from_address(message))
        tell("message", sender=sender.decode(), text=(text or b"").decode())

    def _message_changed(self, message, state):
        if state in (DELIVERED, NOT_DELIVERED):
            code = self.lib.error_info_get_protocol_code(self.lib.chat_message_get_error_info(message))
            tell("sent", code=200 if state == DELIVERED else code)

    def run(self):
        rest = b""
        while True:
            self.lib.core_iterate(self.core)
            while select.select([0], [], [], 0.01)[0]:
                data = os.read(0, 65536)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))

    def _obey(self, command):
        try:
            getattr(self, command.pop("do"))(**command)
        except LookupError as error:
            tell("error", text=repr(error))

    def _call(self):
        return list(self.calls)[-1]

    def quit(self):
        self.lib.core_stop(self.core)
        sys.exit()

    def refresh(self):
        self.lib.core_refresh_registers(self.core)

    def call(self, uri):
        self.lib.core_invite(self.core, uri)

    def answer(self):
        self.lib.call_accept(self._call())

    def decline(self, status):
        self.lib.call_decline(self._call(), REASONS[status])

    def hang_up(self):
        self.lib.call_terminate(self._call())

    def hold(self):
        self.lib.call_pause(self._call())

    def unhold(self):
        self.lib.call_resume(self._call())

    def packets(self):
        stats = self.lib.call_get_audio_stats(self._call())
        # Its own count of packets is in a struct that changes from release to release; this is kbit/s of the last second.
        tell("packets", received=self.lib.call_stats_get_download_bandwidth(stats))

    def message(self, uri, text):
        lib = self.lib
        room = lib.core_get_chat_room(self.core, lib.factory_create_address(lib.factory_get(), uri))
        message = lib.chat_room_create_message_from_utf8(room, text)
        lib.chat_message_cbs_set_msg_state_changed(lib.chat_message_get_callbacks(message), self.listeners[3])
        lib.chat_message_send(message)
        self.messages.append(message)


if __name__ == "__main__":
    # The library writes to stdout too.
    OUT = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    Worker(json.loads(sys.argv[1])).run()
