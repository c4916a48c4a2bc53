# SPDX-License-Identifier: MIT
"""The page of examples/apps/web in Chromium, with a stand-in for the push service of the browser's vendor."""
import contextlib
import functools
import http.server
import json
import pathlib
import threading

from peers.browser import Browser
from servers import wait_until

PAGE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "apps" / "web"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class WebPhone(Browser):
    """Its service worker takes pushes as text: what the browser has decrypted."""

    def __init__(self, directory, port):
        self.registrations = []
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", port), functools.partial(QuietHandler, directory=PAGE))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        # Service workers run on localhost without TLS.
        self.origin = f"http://localhost:{port}"
        super().__init__(directory)
        self._stack.callback(self.server.shutdown)
        self.ask("ServiceWorker.enable")
        self.ask("Browser.grantPermissions", origin=self.origin, permissions=["notifications"])
        self.open(f"{self.origin}/index.html")
        self.wait("navigator.serviceWorker.ready.then(() => true)")

    def _take(self, message):
        if message.get("method") == "ServiceWorker.workerRegistrationUpdated":
            self.registrations += [r["registrationId"] for r in message["params"]["registrations"]]
        super()._take(message)

    def wait(self, script):
        """What a promise gives."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"].get("value")

    def module(self, script):
        """The same with the functions of push.js."""
        return self.wait(f"import('./push.js').then(push => {script})")

    def push(self, text):
        """Returns when it shows something, as each push does. A browser that has just begun may lose one."""
        wait_until("the service worker is registered", lambda: self.wait("1") and self.registrations)
        before = self.notifications()
        for _ in range(10):
            self.ask("ServiceWorker.deliverPushMessage", origin=self.origin, registrationId=self.registrations[-1],
                     data=text)
            with contextlib.suppress(AssertionError):
                return wait_until("it is shown", lambda: self.notifications() != before, 1)
        raise AssertionError("no push is shown")

    def notifications(self):
        shown = self.wait("navigator.serviceWorker.ready.then(r => r.getNotifications()).then(all => JSON.stringify("
                          "all.map(n => ({title: n.title, tag: n.tag, stays: n.requireInteraction,"
                          " actions: n.actions.map(a => a.action)}))))")
        return json.loads(shown)
