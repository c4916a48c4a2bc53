# SPDX-License-Identifier: MIT
"""How long something took."""

import contextlib
import time

# Said of what needs no waiting: far below every timer of SIP and of the product, far above what a busy machine needs.
AT_ONCE = 1.0


@contextlib.contextmanager
def within(seconds, at_least=0.0):
    """Fails when the block takes longer than so many seconds, or is done too early."""
    begun = time.monotonic()
    yield
    took = time.monotonic() - begun
    assert at_least <= took <= seconds, f"took {took:.2f} s, not {at_least} to {seconds} s"
