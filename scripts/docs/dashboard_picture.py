#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draws examples/grafana.json as a picture, with what a Prometheus has: for documents, and for who has no Grafana.

usage: dashboard_picture.py http://127.0.0.1:9090 picture.png [minutes]"""

import json
import math
import pathlib
import re
import sys
import time
import urllib.parse
import urllib.request

import matplotlib

matplotlib.use("Agg")
import matplotlib.dates  # noqa: E402
import matplotlib.pyplot  # noqa: E402
import matplotlib.ticker  # noqa: E402

DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "examples" / "grafana.json"
UNITS = {"s": "s", "reqps": "/s", "d": " d", "percentunit": ""}
COLUMN, ROW = 0.55, 0.36
"""Inches of a unit of the dashboard's grid."""


def ask(url, path, **values):
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(values)}", timeout=20) as answer:
        return json.load(answer)["data"]["result"]


def series(url, target, begin, end):
    """Legend and points of each series of a target."""
    query = target["expr"].replace("$__rate_interval", "15s").replace("$instance", ".*")
    query = query.replace("$__range", f"{int(end - begin)}s")
    step = max(1, (end - begin) / 200)
    for entry in ask(url, "query_range", query=query, start=begin, end=end, step=step):
        label = re.sub(r"\{\{(\w+)\}\}", lambda m: entry["metric"].get(m[1], ""), target.get("legendFormat", ""))
        points = [(float(at), float(value)) for at, value in entry["values"]]
        yield label, [point for point in points if math.isfinite(point[1])]


def number(value, defaults):
    """In the panel's words or unit."""
    for mapping in defaults.get("mappings", []):
        if f"{value:g}" in mapping["options"]:
            return mapping["options"][f"{value:g}"]["text"]
    if defaults["unit"] == "percentunit":
        return f"{100 * value:.3g} %"
    is_whole = value == int(value) or defaults.get("decimals") == 0
    return (f"{value:.0f}" if is_whole else f"{value:.3g}") + UNITS.get(defaults["unit"], "")


def draw_stat(axes, panel, found):
    axes.axis("off")
    defaults = panel["fieldConfig"]["defaults"]
    named = len(found) > 1 or panel["title"] == "Release"
    words = [(f"{label} " if named else "") + ("" if panel["title"] == "Release" else number(points[-1][1], defaults))
             for label, points in found if points]
    axes.text(0.5, 0.45, "\n".join(words) or "–", ha="center", va="center", fontsize=15, color="#1a5fb4")


def draw_lines(axes, panel, found):
    for label, points in found:
        if points:
            days = [at / 86_400 for at, _ in points]  # matplotlib counts days since 1970
            axes.plot(days, [value for _, value in points], label=label, linewidth=1.3)
    axes.xaxis_date()
    axes.xaxis.set_major_formatter(matplotlib.dates.DateFormatter("%H:%M:%S"))
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    unit = UNITS.get(panel.get("fieldConfig", {}).get("defaults", {}).get("unit"), "")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}{unit}")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=7)
    if axes.lines:
        axes.legend(fontsize=6.5, loc="upper left", framealpha=0.7)


def draw(url, picture, begin, end):
    """All panels where the dashboard has them."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [panel["gridPos"] for panel in panels]
    width = max(place["x"] + place["w"] for place in places)
    height = max(place["y"] + place["h"] for place in places)
    figure = matplotlib.pyplot.figure(figsize=(width * COLUMN, height * ROW), dpi=90)
    for panel in panels:
        place = panel["gridPos"]
        margin = 0.9 if panel["type"] == "timeseries" else 0.2
        axes = figure.add_axes((
            (place["x"] + margin) / width, 1 - (place["y"] + place["h"] - 1.1) / height,
            (place["w"] - margin - 0.4) / width, (place["h"] - 2.4) / height))
        axes.set_title(panel["title"], fontsize=9, loc="left")
        found = [entry for target in panel["targets"] for entry in series(url, target, begin, end)]
        (draw_lines if panel["type"] == "timeseries" else draw_stat)(axes, panel, found)
    figure.savefig(picture)
    matplotlib.pyplot.close(figure)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    now = time.time()
    draw(sys.argv[1].rstrip("/"), sys.argv[2], now - 60 * float((sys.argv[3:] or ["60"])[0]), now)
