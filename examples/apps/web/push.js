// SPDX-License-Identifier: MIT

/** The server's key as `subscribe()` takes it; `+sip.vapid` of the Feature-Caps header in a 200 to REGISTER has it. */
export function vapidKey(featureCaps) {
  const text = /\+sip\.vapid="([A-Za-z0-9_-]+)"/.exec(featureCaps)?.[1];
  if (!text) return null;
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(bytes, (c) => c.charCodeAt(0));
}

/** Subscribes, or takes the subscription that is there. To be called from a click: the browser asks the user. */
export async function subscribe(registration, applicationServerKey) {
  if ((await Notification.requestPermission()) !== "granted") return null;
  const known = await registration.pushManager.getSubscription();
  if (known && isSame(known.options.applicationServerKey, applicationServerKey)) return known;
  // A subscription that was made with another key takes no push of this server's.
  await known?.unsubscribe();
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
}

/** Parameters of the Contact URI in each REGISTER, with `;` before each. */
export function contactParameters(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  const values = { "pn-provider": "webpush", "pn-prid": endpoint, "pn-p256dh": keys.p256dh, "pn-auth": keys.auth };
  return Object.entries(values).map(([name, value]) => `;${name}=${encodeURIComponent(value)}`).join("");
}

function isSame(a, b) {
  if (!a || a.byteLength !== b.byteLength) return false;
  const [left, right] = [new Uint8Array(a), new Uint8Array(b)];
  return left.every((byte, index) => byte === right[index]);
}
