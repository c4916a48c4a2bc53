// SPDX-License-Identifier: MIT

/** Browsers that get pushes for which nothing is shown take the subscription away: each push shows something. */
self.addEventListener("push", (event) => {
  event.waitUntil(show(event.data?.json() ?? {}));
});

async function show(push) {
  const name = push["display-name"] || push["from-user"] || "Somebody";
  const tag = push["call-id"] || push.event || "push";
  const isLate = push["expires-at"] && Date.now() >= push["expires-at"] * 1000;
  if (push.event === "call" && !isLate) {
    await self.registration.showNotification(`${name} calls`, {
      tag, body: push.body, requireInteraction: true, renotify: true, data: push,
      actions: [{ action: "answer", title: "Answer" }, { action: "decline", title: "Decline" }],
    });
    // A page that is open registers at once; the user need not click first.
    await tellPages(push);
    return;
  }
  // Under the same tag it takes the place of the ringing.
  const title = push.title || (push.event === "call" ? `Missed call from ${name}` : "Phone");
  await self.registration.showNotification(title, { tag, body: push.body, silent: push.event !== "chat", data: push });
}

async function tellPages(push, action = "") {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  for (const page of pages) page.postMessage({ push, action });
  return pages;
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? {}, event.action));
});

async function open(push, action) {
  const [page] = await tellPages(push, action);
  if (page) return page.focus();
  // It registers while it loads, and finds the call by its Call-ID.
  const call = encodeURIComponent(push["call-id"] ?? "");
  return self.clients.openWindow(`index.html?call=${call}&action=${encodeURIComponent(action)}`);
}

self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(tellPages({ event: "subscribe" }));
});
