"""The server's OpenAPI description against a server that runs: it says what is answered.

Requests are made up from the description by schemathesis, right and wrong ones, always the
same ones: without a signature, and signed by everybody whom the server knows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.people import add_person
from neuroveil.deploy.server.setup import create_server
from neuroveil.deploy.wire import sign_request
from neuroveil.keys import SiteKey, create_key
from neuroveil.privacy.settings import columns_digest
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.certificate import canonical_json, digest

pytestmark = pytest.mark.slow

COLUMNS = columns_for(("Cz", "Pz"), ("variance", "line_length"))
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance,
]  # fmt: skip


@dataclass(frozen=True)
class World:
    """A trusted server that runs, and everybody whom it knows."""

    url: str
    authority: Path
    keys: dict[str, SiteKey]
    log: Path

    def ask(self, who: str, method: str, path: str, document: Any = None) -> requests.Response:
        body = b"" if document is None else json.dumps(document).encode()
        return requests.request(
            method, self.url + path, data=body, auth=Signed(self.keys[who]), timeout=60,
            verify=str(self.authority),
        )  # fmt: skip


class Signed(requests.auth.AuthBase):
    """Signs whatever is about to be sent."""

    def __init__(self, key: SiteKey) -> None:
        self.key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        data = body.encode() if isinstance(body, str) else bytes(body)
        host = urlsplit(str(request.url)).netloc
        request.headers.update(
            sign_request(self.key, str(request.method), host, request.path_url, data)
        )
        return request


def make_server(place: Path, port: int) -> tuple[Path, dict[str, SiteKey]]:
    scaling = default_reference("harmonised").scaling_for(COLUMNS)
    terms = {
        "name": "test", "columns_digest": columns_digest(COLUMNS), "reference": scaling.name,
        "reference_digest": scaling.digest, "features_digest": digest(canonical_json({})),
    }  # fmt: skip
    made = create_server(
        place / "server", terms, ("127.0.0.1",), {"port": port}, {"epsilon": 4.0, "delta": 1e-5}
    )
    database = Database(made.settings.database_location)
    names = ("North", "South", "investigator", "reviewer", "auditor")
    keys = {name: create_key(place / f"{name}.key") for name in names}
    for name in names[:2]:
        add_hospital(database, name, keys[name].public_key)
    roles = ("principal_investigator", "reviewer", "auditor")
    for name, role in zip(names[2:], roles, strict=True):
        add_person(database, name, role, keys[name].public_key)
    return place / "server", keys


@pytest.fixture(scope="module")
def world(tmp_path_factory, free_port) -> Iterator[World]:
    place = tmp_path_factory.mktemp("openapi")
    port = free_port()
    folder, keys = make_server(place, port)
    made = World(f"https://127.0.0.1:{port}", folder / "ca.pem", keys, place / "log")
    with made.log.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "neuroveil", "serve", "run", str(folder)],
            stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    try:
        for _ in range(1200):
            assert process.poll() is None, made.log.read_text()
            try:
                requests.get(made.url + "/healthz", timeout=20, verify=str(made.authority))
                break
            except requests.ConnectionError:
                time.sleep(0.1)
        yield made
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture(scope="module")
def document(world) -> dict[str, Any]:
    """The description, in which known names stand beside those that are made up."""
    answer = requests.get(world.url + "/openapi.json", timeout=60, verify=str(world.authority))
    description: dict[str, Any] = answer.json()
    content = {"certificate.json": {"size": 9, "digest": digest(b"x" * 9)}}
    content_id = digest(canonical_json({"files": content})).removeprefix("sha256:")
    announced = {"content_id": content_id, "manifest": {"files": content}}
    assert world.ask("North", "POST", "/v1/submissions", announced).status_code == 200
    public = default_reference("harmonised")
    reference = {**public.to_json(), "digest": public.digest}
    proposal = {
        "title": "test", "hospitals": ["North", "South"], "policy": "pool", "signal": {},
        "columns": [column.name for column in COLUMNS], "reference": reference, "clip_norm": 2.0,
    }  # fmt: skip
    proposed = world.ask(
        "investigator", "POST", "/v1/studies", {"study": "known", "proposal": proposal}
    )
    assert proposed.status_code == 200, proposed.text
    known = {"content_id": [content_id, "0" * 64], "study": ["known", "other"]}
    for operations in description["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter.get("name") in known and parameter["in"] == "path":
                    parameter["schema"] = {"type": "string", "enum": known[parameter["name"]]}
    return description


def test_every_address_is_described_with_its_refusals(document):
    operations = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) > 20
    for method, path, operation in operations:
        assert {"200", "401", "404", "413", "422", "503", "507"} <= set(operation["responses"])
        is_open = path in ("/healthz", "/readyz", "/openapi.json")
        assert ("security" in operation) is not is_open, (method, path)
    codes = document["components"]["schemas"]["Refusal"]["properties"]["error"]["enum"]
    assert {"replayed_request", "broken_certificate", "no_room"} <= set(codes)


def examples(operation: Any, mode: Any, count: int, judge: Callable[[Any], None]) -> None:
    """Send requests that fit the description, or that do not."""

    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(
        max_examples=count, derandomize=True, deadline=None, database=None,
        phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    def run(case: Any) -> None:
        judge(case)

    with suppress(hypothesis.errors.Unsatisfiable):  # an address without anything to get wrong
        run()


@pytest.mark.parametrize("is_signed", [False, True], ids=["unsigned", "signed"])
def test_what_is_answered_is_what_the_description_says(world, document, is_signed):
    """No answer is a mistake of the server, and each has a described status and form."""
    schema = schemathesis.openapi.from_dict(document)
    signers = cycle([Signed(key) for key in world.keys.values()])
    session, statuses = requests.Session(), set()

    def judge(case: Any) -> None:
        more = {"verify": str(world.authority), "auth": next(signers) if is_signed else None}
        response = case.call(base_url=world.url, session=session, timeout=60, **more)
        case.validate_response(response, checks=CHECKS)
        statuses.add(response.status_code)

    for result in schema.get_all_operations():
        for mode in schemathesis.GenerationMode:
            examples(result.ok(), mode, 6 if is_signed else 2, judge)
    if is_signed:
        assert {200, 403, 404, 409, 422} <= statuses
    assert 401 in statuses
    log = world.log.read_text()
    assert '"bug"' not in log
    assert "Traceback" not in log
