# SPDX-License-Identifier: MIT
"""Who shares a worker, and who begins, when tests run side by side (pytest -n N --dist loadgroup)."""

import pytest

ALONE = "alone: measures what other tests on the same cores would disturb; `make test` runs these last, one by one"

LONGEST = ["memory", "refresh", "agi", "agi_channels", "release", "certificate", "fifty_refreshes", "hundred_waits"]
"""Begun first, by parts of their names: a long test that begins last is waited for alone."""


def arrange(config, items):
    """The tests of a file that shares a server stay together, all others go to whoever is free."""
    if not hasattr(config, "workerinput"):
        return
    for item in items:
        if _shares_server(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    items.sort(key=lambda item: (_rank(item), not _shares_server(item)))


def _shares_server(item):
    return any(definition[-1].scope == "module" for definition in item._fixtureinfo.name2fixturedefs.values())


def _rank(item):
    """Of the file when that stays together: the order in it stays as well."""
    name = item.path.stem if _shares_server(item) else item.nodeid
    return next((rank for rank, part in enumerate(LONGEST) if part in name), len(LONGEST))
