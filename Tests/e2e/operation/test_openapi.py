# SPDX-License-Identifier: MIT
"""docs/openapi.yaml says what the engine does: every path and method, every answer's status and shape."""

import json
import re

import jsonschema
import pytest
import yaml

from peers.http_client import listen
from servers import ROOT

SPEC = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
METHODS = ("get", "post", "delete", "options")
OPERATIONS = [(path, method) for path, item in SPEC["paths"].items() for method in METHODS if method in item]


def resolved(node):
    while isinstance(node, dict) and "$ref" in node:
        found = SPEC
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def check(path, method, answer):
    """The status is one that is described, and the body has its shape."""
    responses = SPEC["paths"][path][method]["responses"]
    assert str(answer.status) in responses, f"{method} {path} gives {answer.status}: {answer.body}"
    content = resolved(responses[str(answer.status)]).get("content", {})
    kind = answer.header("content-type").split(";")[0]
    assert kind in content, f"{method} {path}: {kind}"
    if kind == "application/json":
        schema = {**resolved(content[kind]["schema"]), "components": SPEC["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json)


def bodies(operation):
    body = resolved(operation.get("requestBody") or {})
    examples = body.get("content", {}).get("application/json", {}).get("examples", {})
    return [example["value"] for example in examples.values()]


@pytest.fixture(scope="module")
def engine(tmp_path_factory, simulator):
    from servers import Engine

    made = []

    def make(**settings):
        made.append(Engine(tmp_path_factory.mktemp("engine"), simulator, {
            "acrobits": 1, "acrobits_url": f"{simulator.url}/pnm2/send", "http_rate": 1000,
            **{k: v for k, v in simulator.settings().items() if k.startswith("apns_")}, **settings}))
        return made[-1]

    yield listen(make, tmp_path_factory.mktemp("http"))
    made[0].stop()


def test_the_description_is_whole():
    """Every reference leads somewhere, every answer that is JSON has a schema that is one."""
    text = (ROOT / "docs" / "openapi.yaml").read_text()
    for name in re.findall(r'\$ref: "(#/[^"]+)"', text):
        assert resolved({"$ref": name}) is not None
    for schema in SPEC["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    sources = "".join(path.read_text() for path in (ROOT / "Sources/PushWakeEngine/HTTP").glob("*.swift"))
    assert set(re.findall(r'"(/(?:v1/[a-z/-]+|healthz|metrics))"', sources)) == set(SPEC["paths"])


@pytest.mark.parametrize("path", SPEC["paths"])
def test_every_path_takes_the_methods_that_are_described(engine, path):
    answer = engine[1].curl(path, "-X", "PATCH")
    assert answer.status == 405
    described = {method.upper() for method in METHODS if method in SPEC["paths"][path]}
    assert set(answer.header("allow").split(", ")) == described


@pytest.mark.parametrize("path, method", OPERATIONS)
def test_every_example_is_answered_as_described(engine, path, method):
    client = engine[1]
    operation = SPEC["paths"][path][method]
    client.curl("/v1/bindings", "-H", "Content-Type: application/json", "-d",
                json.dumps(bodies(SPEC["paths"]["/v1/bindings"]["post"])[0]))
    statuses = set()
    for body in bodies(operation):
        answer = client.curl(path, "-X", method.upper(), "-H", "Content-Type: application/json", "-d", json.dumps(body))
        check(path, method, answer)
        statuses.add(answer.status)
    answer = client.curl(f"{path}?aor=openapi&timeout=1", "-X", method.upper())
    check(path, method, answer)
    answer = client.curl(path, "-X", method.upper())
    check(path, method, answer)
    assert not bodies(operation) or 200 in statuses
    if operation.get("security") != []:
        answer = client.curl(path, "-X", method.upper(), operator=False)
        assert answer.status == 401
        check(path, method, answer)
    if method == "post":
        answer = client.curl(path, "-H", "Content-Type: text/xml", "-d", "<a/>")
        assert answer.status == 415
        check(path, method, answer)
