"""The application itself, asked without a network."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import Any

import pytest

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.app import create_app
from neuroveil.deploy.server.tables import JOB, RELEASE
from neuroveil.deploy.wire import sign_request
from neuroveil.keys import load_key

pytestmark = pytest.mark.slow  # the world takes a few seconds to be made

HOST = "server.example:8443"


def ask(app: Any, path: str, headers: dict[str, str], method: str = "GET") -> tuple[int, str]:
    """Send one request, as a web server would hand it on."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    stated = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "https", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "headers": [(b"host", HOST.encode()), *stated],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8443), "state": {},
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return int(sent[0]["status"]), body.decode()


def test_a_changed_audit_log_is_refused_in_words(world_at):
    world = world_at("new")
    app = create_app(world.settings, world.key, "word")
    key = load_key(world.root.parent / "auditor.key")

    def export() -> tuple[int, str]:
        return ask(app, "/v1/audit-log", sign_request(key, "GET", HOST, "/v1/audit-log", b""))

    status, text = export()
    assert (status, '"head"' in text) == (200, True)
    with world.database.writing() as connection:
        audit_log.append(connection, "test", {})
        connection.exec_driver_sql("DROP TRIGGER deploy_audit_no_update")
        # Neither JSON nor what was signed.
        connection.exec_driver_sql("UPDATE deploy_audit SET body = '[' WHERE number = 0")
    status, text = export()
    assert status == 409
    assert '"broken_audit_log"' in text
    assert "entry 0" in text


def test_files_of_rows_are_examined_in_turns(world_at):
    """Each examination may take gigabytes: no hospital can start any number of them."""
    world = world_at("complete")
    app = create_app(world.settings, world.key, "word")
    taken: list[bool] = []

    class Counted(asyncio.Semaphore):
        async def acquire(self) -> bool:  # type: ignore[override]
            taken.append(await super().acquire())
            return True

    inner = app._app.state
    inner.service = replace(inner.service, turns=Counted(1))
    path, key = (
        "/v1/studies/six/uploads/features/complete",
        load_key(world.root.parent / "North.key"),
    )
    status, _ = ask(app, path, sign_request(key, "POST", HOST, path, b""), "POST")
    assert (status, taken) == (409, [True])  # it was accepted before


def test_background_jobs_are_counted_by_state(world_at):
    world = world_at("new")
    app = create_app(world.settings, world.key, "word")
    states = {
        "waiting": ("waiting", "approved"), "running": ("running", "approved"),
        "done": ("done", "published"), "failed": ("done", "failed"),
    }  # fmt: skip
    jobs = [each for n, each in enumerate(states.values(), 1) for _ in range(n)]
    with world.database.writing() as connection:
        for number, (job, release) in enumerate(jobs):
            name = f"{number:032x}"
            connection.execute(RELEASE.insert().values(
                release=name, study="six", state=release, requested=0.0, requested_by="",
                request="{}", request_digest="",
            ))  # fmt: skip
            connection.execute(JOB.insert().values(release=name, created=0.0, state=job, lease=0.0))
    word = base64.b64encode(b"coordinator:word").decode()
    status, text = ask(app, "/metrics", {"authorization": f"Basic {word}"})
    assert status == 200
    counted = {line for line in text.splitlines() if line.startswith("neuroveil_jobs{")}
    assert counted == {f'neuroveil_jobs{{state="{name}"}} {n}' for n, name in enumerate(states, 1)}
