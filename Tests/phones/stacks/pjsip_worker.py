# SPDX-License-Identifier: MIT
"""One PJSIP phone in a process of its own: JSON commands on stdin, JSON events on stdout.

Runs in the virtual environment that has pjsua2. The library has one thread, this one, so that what happens
happens in order.
"""

import json
import os
import select
import sys

import pjsua2 as pj

TRANSPORTS = {"udp": pj.PJSIP_TRANSPORT_UDP, "tcp": pj.PJSIP_TRANSPORT_TCP, "tls": pj.PJSIP_TRANSPORT_TLS}
STATES = {
    pj.PJSIP_INV_STATE_CALLING: "calling", pj.PJSIP_INV_STATE_INCOMING: "ringing", pj.PJSIP_INV_STATE_EARLY: "early",
    pj.PJSIP_INV_STATE_CONNECTING: "answered", pj.PJSIP_INV_STATE_CONFIRMED: "established",
    pj.PJSIP_INV_STATE_DISCONNECTED: "ended"}

BUSY = 70013  # PJ_EINVALIDOP


def tell(event, **values):
    OUT.write(json.dumps({"event": event, **values}) + "\n")
    OUT.flush()


def code(status):
    parameters = pj.CallOpParam(True)
    parameters.statusCode = status
    return parameters


class Log(pj.LogWriter):
    """Writes at once; the library's own file has a buffer, which would end with a killed phone."""

    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w", encoding="utf-8", errors="replace")

    def write(self, entry):
        self.file.write(entry.msg)
        self.file.flush()


class Call(pj.Call):
    def __init__(self, account, way, call_id=pj.PJSUA_INVALID_ID):
        super().__init__(account, call_id)
        self.account, self.way, self.number = account, way, len(account.calls)
        account.calls.append(self)
        self.alive = True

    def onCallState(self, prm):
        info = self.getInfo()
        state = STATES.get(info.state)
        if state == "early" and self.way == "in":
            state = "ringing"
        if state == "ended":
            self.alive = False
        if state:
            tell("call", call=self.number, way=self.way, state=state, code=info.lastStatusCode)

    def onCallMediaState(self, prm):
        info = self.getInfo()  # owns the list
        for medium in info.media:
            if medium.type == pj.PJMEDIA_TYPE_AUDIO:
                tell("media", call=self.number, held=medium.status == pj.PJSUA_CALL_MEDIA_REMOTE_HOLD,
                     holds=medium.status == pj.PJSUA_CALL_MEDIA_LOCAL_HOLD)

    def packets(self):
        return self.getStreamStat(0).rtcp.rxStat.pkt


class Account(pj.Account):
    def __init__(self):
        super().__init__()
        self.calls, self.friends = [], []

    def onRegState(self, prm):
        if prm.code // 100 == 2 and prm.expiration > 0:
            tell("registered")
        elif prm.code >= 300:
            tell("refused", code=prm.code, reason=prm.reason)

    def onIncomingCall(self, prm):
        call = Call(self, "in", prm.callId)
        tell("call", call=call.number, way="in", state="ringing", code=0)
        call.answer(code(180))

    def onInstantMessage(self, prm):
        tell("message", sender=prm.fromUri, text=prm.msgBody)

    def onInstantMessageStatus(self, prm):
        tell("sent", code=prm.code)


class Worker:
    def __init__(self, settings):
        self.settings = settings
        self.endpoint = pj.Endpoint()
        self.endpoint.libCreate()
        self.endpoint.libInit(self._endpoint())
        self.endpoint.audDevManager().setNullDev()
        self.endpoint.transportCreate(TRANSPORTS[settings["transport"]], self._transport())
        self.endpoint.libStart()
        self.account = Account()
        self.account.create(self._account())

    def _endpoint(self):
        config = pj.EpConfig()
        config.logConfig.level = config.logConfig.consoleLevel = 5  # the writer gets what a console would
        config.logConfig.msgLogging = 1
        self.log = Log(self.settings["log"])
        config.logConfig.writer = self.log
        config.uaConfig.threadCnt, config.uaConfig.mainThreadOnly = 0, True
        config.medConfig.ecTailLen, config.medConfig.noVad = 0, True
        # Its clock sends what is not said; by itself it stops a second after the start when there is no call yet.
        config.medConfig.sndAutoCloseTime = -1
        return config

    def _transport(self):
        config = pj.TransportConfig()
        config.port = self.settings["port"]
        config.boundAddress = self.settings["bind"]
        config.publicAddress = self.settings["published"]
        config.tlsConfig.CaListFile, config.tlsConfig.verifyServer = self.settings["authority"], True
        return config

    def _account(self):
        settings, config = self.settings, pj.AccountConfig()
        config.idUri = settings["identity"]
        config.regConfig.registrarUri = settings["registrar"]
        config.regConfig.timeoutSec = settings["expires"]
        config.regConfig.contactUriParams = settings["push"]
        if settings["outbound"]:
            config.sipConfig.proxies.append(settings["outbound"])
        config.sipConfig.authCreds.append(
            pj.AuthCredInfo("digest", "*", settings["user"], 0, settings["password"]))
        config.natConfig.sipOutboundInstanceId = settings["instance"]  # over UDP PJSIP does not send it
        config.mediaConfig.transportConfig.boundAddress = settings["bind"]
        config.natConfig.contactRewriteMethod = settings["rewrite"]
        return config

    def run(self):
        rest = b""
        while True:
            self.endpoint.libHandleEvents(10)
            while select.select([0], [], [], 0)[0]:
                data = os.read(0, 65536)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))

    def _obey(self, command):
        try:
            getattr(self, command.pop("do"))(**command)
        except pj.Error as error:
            tell("error", text=error.info())

    def _call(self):
        return next(call for call in reversed(self.account.calls) if call.alive)

    def quit(self):
        self.endpoint.libDestroy()
        sys.exit()

    def refresh(self):
        self.account.setRegistration(True)

    def call(self, uri):
        Call(self.account, "out").makeCall(uri, pj.CallOpParam(True))

    def answer(self):
        self._call().answer(code(200))

    def decline(self, status):
        self._call().hangup(code(status))

    def hang_up(self):
        self._call().hangup(pj.CallOpParam())

    def _reinvite(self, send):
        """Waits while a re-INVITE of PJSIP's own is under way: it sends one when an answer leaves it a choice of codecs."""
        for _ in range(200):
            try:
                return send()
            except pj.Error as error:
                if error.status != BUSY:
                    raise
            self.endpoint.libHandleEvents(10)
        return send()

    def hold(self):
        self._reinvite(lambda: self._call().setHold(pj.CallOpParam(True)))

    def unhold(self):
        parameters = pj.CallOpParam(True)
        parameters.opt.flag = pj.PJSUA_CALL_UNHOLD
        self._reinvite(lambda: self._call().reinvite(parameters))

    def packets(self):
        tell("packets", received=self._call().packets())

    def message(self, uri, text):
        config = pj.BuddyConfig()
        config.uri = uri
        friend = pj.Buddy()
        friend.create(self.account, config)
        self.account.friends.append(friend)
        parameters = pj.SendInstantMessageParam()
        parameters.content = text
        friend.sendInstantMessage(parameters)


if __name__ == "__main__":
    # The library writes to stdout until it knows its log file.
    OUT = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    Worker(json.loads(sys.argv[1])).run()
