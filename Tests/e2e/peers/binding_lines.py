# SPDX-License-Identifier: MIT
"""Bindings as `pushwake bindings export` writes them."""

import json
import time


def line(number, **changes):
    now = int(time.time())
    binding = {
        "provider": "apns", "aor": f"user{number}", "app": "com.example.phone", "team": "DEF123GHIJ", "service": "voip",
        "token": f"{number:064x}", "dialect": "rfc8599", "contact": f"sip:user{number}@192.0.2.1", "call_id": f"c{number}",
        "cseq": 1, "registered_at": now - 10, "expires_at": now + 600, "forget_at": now + 6000}
    return json.dumps({key: value for key, value in {**binding, **changes}.items() if value is not None})
