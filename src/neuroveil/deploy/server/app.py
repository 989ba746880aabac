"""The web application: routes, each of which checks who asks and calls one function."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from neuroveil.deploy.server.audit_log import utc_now
from neuroveil.deploy.server.authentication import authenticate
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.guard import SAFE_HEADERS, Guard, refusal_headers
from neuroveil.deploy.server.hospitals import Hospital
from neuroveil.deploy.server.metrics import CONTENT_TYPE, Metrics
from neuroveil.deploy.server.overview import overview, overview_page
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.submissions import Submissions
from neuroveil.deploy.wire import read_signed
from neuroveil.keys import SiteKey

VIEWER = "coordinator"
"""User name for overview and metrics."""


@dataclass(frozen=True, eq=False)
class Service:
    """What the routes work with.

    Parameters
    ----------
    settings : ServerSettings
        Terms and limits.
    database : Database
        With its tables.
    submissions : Submissions
        What has arrived.
    metrics : Metrics
        Counters of this process.
    password : str
        Opens overview and metrics.
    """

    settings: ServerSettings
    database: Database
    submissions: Submissions
    metrics: Metrics
    password: str


def create_app(settings: ServerSettings, key: SiteKey, password: str) -> Guard:
    """Make the application of a server.

    Parameters
    ----------
    settings : ServerSettings
        Terms and limits.
    key : SiteKey
        Signs receipts.
    password : str
        Opens overview and metrics.

    Returns
    -------
    Guard
        An ASGI application.
    """
    database, metrics = Database(settings.database_location), Metrics()
    database.create()
    app = FastAPI(title="neuroveil server", docs_url=None, redoc_url=None, openapi_url=None)
    submissions = Submissions(settings, database, key)
    app.state.service = Service(settings, database, submissions, metrics, password)
    app.include_router(_ROUTER)
    for status in (404, 405):
        app.add_exception_handler(status, _not_routed)
    app.add_exception_handler(Refusal, _refused)
    return Guard(app, settings.limits, metrics)


_ROUTER = APIRouter()


async def _not_routed(request: Request, error: Exception) -> JSONResponse:
    is_known = getattr(error, "status_code", 404) == 405
    code = "method_not_allowed" if is_known else "not_found"
    words = ("a path of this server", "another path or method", "Use `neuroveil submit`.")
    return await _refused(request, Refusal(code, *words))


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)
    return JSONResponse(
        error.as_dict(), error.status, headers={**_HEADERS, **refusal_headers(error.code)}
    )


async def _hospital(request: Request) -> tuple[Hospital, bytes]:
    """Who asks, and the body that they signed."""
    body = await request.body()
    path = request.scope["raw_path"].decode("ascii", "replace")
    query = request.scope["query_string"].decode("ascii", "replace")
    target = f"{path}?{query}" if query else path
    headers = {name: request.headers.get(name, "") for name in request.headers}
    signed = read_signed(request.method, headers.get("host", ""), target, headers)
    service = _service(request)
    hospital = await run_in_threadpool(authenticate, service.database, signed, body)
    request.state.log = {"hospital": hospital.key_id}
    return hospital, body


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _call(function: Callable[..., dict[str, Any]], *arguments: object) -> JSONResponse:
    answer = await run_in_threadpool(function, *arguments)
    return JSONResponse(answer, headers=_HEADERS)


_HEADERS = {name.decode(): value.decode() for name, value in SAFE_HEADERS}


@_ROUTER.post("/v1/submissions")
async def _create(request: Request) -> JSONResponse:
    hospital, body = await _hospital(request)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal("bad_request", "JSON", "something else", "Use `neuroveil submit`.") from None
    return await _call(_service(request).submissions.create, hospital, document)


@_ROUTER.get("/v1/submissions/{content_id}")
async def _status(request: Request, content_id: str) -> JSONResponse:
    hospital, _ = await _hospital(request)
    return await _call(_service(request).submissions.status, hospital, content_id)


@_ROUTER.put("/v1/submissions/{content_id}/files/{name}")
async def _receive(request: Request, content_id: str, name: str) -> JSONResponse:
    hospital, body = await _hospital(request)
    stated = request.query_params.get("offset", "")
    if not stated.isascii() or not stated.isdigit() or len(stated) > 15:
        raise Refusal(
            "bad_request", "an offset in bytes", "something else", "Use `neuroveil submit`."
        )
    service = _service(request)
    place = (hospital, content_id, name, int(stated))
    answer = await _call(service.submissions.receive, *place, body)
    service.metrics.count("received_bytes", len(body))
    request.state.log["bytes"] = len(body)
    return answer


@_ROUTER.post("/v1/submissions/{content_id}/complete")
async def _complete(request: Request, content_id: str) -> JSONResponse:
    hospital, _ = await _hospital(request)
    answer = await _call(_service(request).submissions.complete, hospital, content_id)
    request.state.log["submission"] = content_id[:12]
    return answer


@_ROUTER.get("/healthz")
async def _healthz() -> dict[str, str]:
    """Say that the process answers, and what time it thinks it is."""
    return {"status": "ok", "time": utc_now()}


@_ROUTER.get("/readyz")
async def _readyz(request: Request) -> dict[str, str]:
    """Say whether database and disk are there."""
    submissions = _service(request).submissions
    await run_in_threadpool(submissions.states)
    await run_in_threadpool(submissions.require_room, 0)
    return {"status": "ready"}


def _require_viewer(request: Request) -> None:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    try:
        stated = base64.b64decode(given, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        stated = b""
    if not hmac.compare_digest(stated, f"{VIEWER}:{_service(request).password}".encode()):
        raise Refusal(
            "wrong_password", f"user {VIEWER!r} and the server's password", "another, or none",
            "The password lies in the server's folder, in overview.password.",
        )  # fmt: skip


@_ROUTER.get("/metrics")
async def _metrics(request: Request) -> PlainTextResponse:
    _require_viewer(request)
    service = _service(request)
    states = await run_in_threadpool(service.submissions.states)
    return PlainTextResponse(
        service.metrics.text(states), headers={**_HEADERS, "content-type": CONTENT_TYPE}
    )


@_ROUTER.get("/v1/overview")
async def _overview(request: Request) -> JSONResponse:
    _require_viewer(request)
    service = _service(request)
    return await _call(overview, service.database, service.settings.study)


@_ROUTER.get("/")
async def _page(request: Request) -> HTMLResponse:
    _require_viewer(request)
    service = _service(request)
    document = await run_in_threadpool(overview, service.database, service.settings.study)
    return HTMLResponse(overview_page(document), headers=_HEADERS)
