"""The web application: routes, each of which checks who asks and calls one function."""

from __future__ import annotations

import asyncio
import base64
import hmac
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
from neuroveil.deploy.server.hospitals import Hospital, find_hospital
from neuroveil.deploy.server.metrics import CONTENT_TYPE, Metrics, metrics_folder
from neuroveil.deploy.server.openapi import PATH, describe
from neuroveil.deploy.server.overview import overview, overview_page
from neuroveil.deploy.server.refusals import Refusal, own_mistake
from neuroveil.deploy.server.requests import json_of, offset_of, signature_of
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.submissions import Submissions
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
    turns : asyncio.Semaphore
        For examinations: whoever waits for one holds no thread, since the threads are for all
        other requests.
    """

    settings: ServerSettings
    database: Database
    submissions: Submissions
    metrics: Metrics
    password: str
    turns: asyncio.Semaphore


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
    is_alone = settings.listen.workers == 1
    database = Database(settings.database_location)
    metrics = Metrics(None if is_alone else metrics_folder(settings.root))
    database.create()
    app = FastAPI(title="neuroveil server", docs_url=None, redoc_url=None, openapi_url=None)
    submissions = Submissions(settings, database, key)
    turns = asyncio.Semaphore(settings.limits.examinations_at_once)
    app.state.service = Service(settings, database, submissions, metrics, password, turns)
    app.include_router(_ROUTER)
    if settings.trusted is not None:
        # Only here, since it loads all of the release path.
        from neuroveil.deploy.server.consortium.routes import ROUTER, open_consortium

        app.state.consortium = open_consortium(settings, database, key)
        app.include_router(ROUTER)
    for status in (404, 405):
        app.add_exception_handler(status, _not_routed)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(Exception, _own_mistake)
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


async def _own_mistake(request: Request, _: Exception) -> JSONResponse:
    # Starlette hands the error on after this answer; the guard writes its kind to the log.
    return await _refused(request, own_mistake())


async def _hospital(request: Request) -> tuple[Hospital, bytes]:
    """Who asks, and the body that they signed."""
    body = await request.body()
    signed = signature_of(request)
    service = _service(request)
    hospital = await run_in_threadpool(authenticate, service.database, signed, body, find_hospital)
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
    return await _call(_service(request).submissions.create, hospital, json_of(body))


@_ROUTER.get("/v1/submissions/{content_id}")
async def _status(request: Request, content_id: str) -> JSONResponse:
    hospital, _ = await _hospital(request)
    return await _call(_service(request).submissions.status, hospital, content_id)


@_ROUTER.put("/v1/submissions/{content_id}/files/{name}")
async def _receive(request: Request, content_id: str, name: str) -> JSONResponse:
    hospital, body = await _hospital(request)
    service = _service(request)
    place = (hospital, content_id, name, offset_of(request))
    answer = await _call(service.submissions.receive, *place, body)
    service.metrics.count("received_bytes", len(body))
    request.state.log["bytes"] = len(body)
    return answer


@_ROUTER.post("/v1/submissions/{content_id}/complete")
async def _complete(request: Request, content_id: str) -> JSONResponse:
    hospital, _ = await _hospital(request)
    service = _service(request)
    async with service.turns:
        answer = await _call(service.submissions.complete, hospital, content_id)
    request.state.log["submission"] = content_id[:12]
    return answer


@_ROUTER.get(PATH)
async def _openapi(request: Request) -> JSONResponse:
    return JSONResponse(describe(request.app), headers=_HEADERS)


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
    states, jobs = await run_in_threadpool(service.submissions.states), None
    if service.settings.trusted is not None:
        jobs = await run_in_threadpool(request.app.state.consortium.releases.job_states)
    return PlainTextResponse(
        service.metrics.text(states, jobs), headers={**_HEADERS, "content-type": CONTENT_TYPE}
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
