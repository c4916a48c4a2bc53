# SPDX-License-Identifier: MIT
"""Passwords."""


def test_a_wrong_password_stores_no_token(phones, user, stack):
    phone = phones.make(stack, user, password="not this one").start()
    assert phone.wait_refused()["code"] in (401, 403)
    phone.kill()
    caller = phones.caller()
    caller.call(user)
    assert caller.wait_ended().code == 404
    assert phone.pushes() == []
