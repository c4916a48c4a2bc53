# SPDX-License-Identifier: MIT
"""A real browser without a window: Chromium, asked over its DevTools protocol."""

import base64
import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import wsproto
import wsproto.events

CHROMIUM = shutil.which("chromium")
# As `make setup-test` has it from PyPI.
AXE = next(pathlib.Path(__file__).parents[3].glob(".cache/axe-venv/lib/*/site-packages/axe_core_python/axe.min.js"), None)


class Browser:
    """One window with one page."""

    def __init__(self, directory, width=1200):
        self.width = width
        self.profile = tempfile.mkdtemp(prefix="profile-", dir=directory)
        # What the policy refuses, and what the script fails at.
        self.complaints = []
        self._stack = contextlib.ExitStack()
        self._process = subprocess.Popen([
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            f"--user-data-dir={self.profile}", "--remote-debugging-port=0",
            "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._stack.callback(self._end)
        try:
            for line in self._process.stderr:
                found = re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line)
                if found:
                    break
            else:
                raise AssertionError("chromium did not start")
            # Who does not read a pipe stops its writer.
            threading.Thread(target=self._process.stderr.read, daemon=True).start()
            self._connect(int(found[1]))
        except BaseException:
            self._stack.close()
            raise

    def _connect(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=20) as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._stack.callback(self._socket.close)
        self._web = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        path = page["webSocketDebuggerUrl"].split(str(port), 1)[1]
        self._socket.sendall(self._web.send(wsproto.events.Request(host=f"127.0.0.1:{port}", target=path)))
        self._text, self._answers, self._serial = "", {}, 0
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        # A window has 500 pixels at least.
        self.ask("Emulation.setDeviceMetricsOverride", width=self.width, height=900, deviceScaleFactor=1, mobile=False)
        # A phone's lie above the page.
        self.ask("Emulation.setScrollbarsHidden", hidden=True)

    def _end(self):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def ask(self, method, **parameters):
        self._serial += 1
        question = json.dumps({"id": self._serial, "method": method, "params": parameters})
        # The answer to the upgrade comes before the first question can leave.
        while self._web.state is not wsproto.ConnectionState.OPEN:
            self._receive()
        self._socket.sendall(self._web.send(wsproto.events.TextMessage(data=question)))
        end = time.monotonic() + 30
        while self._serial not in self._answers:
            assert time.monotonic() < end, f"chromium does not answer to {method}"
            self._receive()
        answer = self._answers.pop(self._serial)
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self):
        data = self._socket.recv(1 << 16)
        assert data, "chromium has closed the connection"
        self._web.receive_data(data)
        for event in self._web.events():
            if isinstance(event, wsproto.events.TextMessage):
                self._text += event.data
                if event.message_finished:
                    self._take(json.loads(self._text))
                    self._text = ""
            elif isinstance(event, wsproto.events.Ping):
                self._socket.sendall(self._web.send(event.response()))

    def _take(self, message):
        if "id" in message:
            self._answers[message["id"]] = message
        elif message["method"] == "Page.loadEventFired":
            self._is_loaded = True
        elif message["method"] == "Runtime.exceptionThrown":
            self.complaints.append(message["params"]["exceptionDetails"])
        elif message["method"] == "Log.entryAdded" and message["params"]["entry"]["source"] in ("security", "javascript"):
            self.complaints.append(message["params"]["entry"])

    def open(self, url):
        """Goes there, and waits until all is there that the page names."""
        self._is_loaded = False
        self.ask("Page.navigate", url=url)
        end = time.monotonic() + 30
        while not self._is_loaded:
            assert time.monotonic() < end, f"{url} does not come"
            self._receive()

    def run(self, script):
        """What a script of one expression gives."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"].get("value")

    def violations(self):
        """What axe-core finds by all its rules: the rule, the remedy and the element. DevTools' scripts pass every policy."""
        self.run(AXE.read_text() + "; 0")
        return self.run("axe.run().then((all) => all.violations.flatMap((v) => v.nodes.map((n) => "
                        "`${v.id}: ${v.help}: ${n.html.slice(0, 120)}: ${n.failureSummary}`)))")

    def press(self, key, code=0):
        """A key by its name, and by its number where it writes nothing."""
        text = {} if code else {"text": key}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def document(self):
        return self.ask("DOM.getDocument")["root"]["nodeId"]

    def html(self):
        """The page as it stands, with scripts or without."""
        return self.ask("DOM.getOuterHTML", nodeId=self.document())["outerHTML"]

    def picture(self, of=None):
        """A PNG of the window, or of the first element that a selector names."""
        options = {}
        if of:
            left, top, width, height = self.run(f"(() => {{ const r = document.querySelector('{of}').getBoundingClientRect();"
                                                "return [r.left + scrollX, r.top + scrollY, r.width, r.height] })()")
            options = {"captureBeyondViewport": True, "clip": {"x": left, "y": top, "width": width, "height": height, "scale": 1}}
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", **options)["data"])
