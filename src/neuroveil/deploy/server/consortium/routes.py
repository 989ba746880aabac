"""Addresses of studies that the server protects; each checks who asks and calls one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response

from neuroveil.deploy.server.audit_log import export
from neuroveil.deploy.server.authentication import authenticate
from neuroveil.deploy.server.consortium.proposal import require_name
from neuroveil.deploy.server.consortium.releases import Releases
from neuroveil.deploy.server.consortium.status import status_list, status_of
from neuroveil.deploy.server.consortium.studies import Studies
from neuroveil.deploy.server.consortium.uploads import Uploads
from neuroveil.deploy.server.consortium.vault import open_vault
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.guard import SAFE_HEADERS
from neuroveil.deploy.server.people import Party, find_party
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.requests import json_of, offset_of, signature_of
from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.errors import CertificateError
from neuroveil.keys import SiteKey

ROUTER = APIRouter()

_HEADERS = {name.decode(): value.decode() for name, value in SAFE_HEADERS}


@dataclass(frozen=True, eq=False)
class Consortium:
    """What these routes work with.

    Parameters
    ----------
    settings : ServerSettings
        With the section ``[trusted]``.
    database : Database
        The server's database.
    key : SiteKey
        Signs receipts and exports.
    studies : Studies
        Proposals and approvals.
    uploads : Uploads
        Rosters and rows.
    releases : Releases
        Requests and reviews.
    """

    settings: ServerSettings
    database: Database
    key: SiteKey
    studies: Studies
    uploads: Uploads
    releases: Releases


def open_consortium(settings: ServerSettings, database: Database, key: SiteKey) -> Consortium:
    """Get ready to take requests about studies.

    Parameters
    ----------
    settings : ServerSettings
        With the section ``[trusted]``.
    database : Database
        The server's database.
    key : SiteKey
        Signs receipts and exports.

    Returns
    -------
    Consortium
        For the routes, as ``app.state.consortium``.
    """
    uploads = Uploads(settings, database, open_vault(settings), key)
    return Consortium(
        settings, database, key, Studies(settings, database), uploads,
        Releases(settings, database),
    )  # fmt: skip


def _of(request: Request) -> Consortium:
    consortium: Consortium = request.app.state.consortium
    return consortium


async def _party(request: Request) -> tuple[Party, bytes]:
    """Who asks, and the body that they signed."""
    body, consortium = await request.body(), _of(request)
    signed = signature_of(request)
    party = await run_in_threadpool(authenticate, consortium.database, signed, body, find_party)
    request.state.log = {"hospital": party.key_id}
    return party, body


async def _call(function: Callable[..., Any], *arguments: object) -> JSONResponse:
    answer = await run_in_threadpool(function, *arguments)
    return JSONResponse(answer or {"done": True}, headers=_HEADERS)


@ROUTER.post("/v1/studies")
async def _propose(request: Request) -> JSONResponse:
    party, body = await _party(request)
    consortium = _of(request)
    study = await run_in_threadpool(consortium.studies.propose, party, json_of(body))
    return await _call(status_of, consortium.settings, consortium.database, party, study)


@ROUTER.get("/v1/studies")
async def _list(request: Request) -> JSONResponse:
    party, _ = await _party(request)
    return await _call(status_list, _of(request).database, party)


@ROUTER.get("/v1/studies/{study}")
async def _status(request: Request, study: str) -> JSONResponse:
    party, _ = await _party(request)
    consortium = _of(request)
    return await _call(
        status_of, consortium.settings, consortium.database, party, require_name(study)
    )


@ROUTER.post("/v1/studies/{study}/approval")
async def _decide(request: Request, study: str) -> JSONResponse:
    party, body = await _party(request)
    return await _call(_of(request).studies.decide, party, require_name(study), json_of(body))


@ROUTER.post("/v1/studies/{study}/end")
async def _abandon(request: Request, study: str) -> JSONResponse:
    party, _ = await _party(request)
    return await _call(_of(request).studies.abandon, party, require_name(study))


@ROUTER.post("/v1/studies/{study}/uploads")
async def _begin(request: Request, study: str) -> JSONResponse:
    party, body = await _party(request)
    return await _call(_of(request).uploads.begin, party, require_name(study), json_of(body))


@ROUTER.get("/v1/studies/{study}/uploads/{kind}")
async def _upload(request: Request, study: str, kind: str) -> JSONResponse:
    party, _ = await _party(request)
    return await _call(_of(request).uploads.status, party, require_name(study), kind)


@ROUTER.put("/v1/studies/{study}/uploads/{kind}")
async def _receive(request: Request, study: str, kind: str) -> JSONResponse:
    party, body = await _party(request)
    place = (party, require_name(study), kind, offset_of(request))
    request.state.log["bytes"] = len(body)
    return await _call(_of(request).uploads.receive, *place, body)


@ROUTER.post("/v1/studies/{study}/uploads/{kind}/complete")
async def _complete(request: Request, study: str, kind: str) -> JSONResponse:
    party, _ = await _party(request)
    async with request.app.state.service.turns:
        return await _call(_of(request).uploads.complete, party, require_name(study), kind)


@ROUTER.post("/v1/studies/{study}/releases")
async def _request(request: Request, study: str) -> JSONResponse:
    party, body = await _party(request)
    return await _call(_of(request).releases.request, party, require_name(study), json_of(body))


@ROUTER.post("/v1/studies/{study}/releases/{release}/review")
async def _review(request: Request, study: str, release: str) -> JSONResponse:
    party, body = await _party(request)
    place = (party, require_name(study), release)
    return await _call(_of(request).releases.review, *place, json_of(body))


@ROUTER.get("/v1/studies/{study}/releases/{release}/files")
async def _files(request: Request, study: str, release: str) -> JSONResponse:
    party, _ = await _party(request)
    return await _call(_of(request).releases.files, party, require_name(study), release)


@ROUTER.get("/v1/studies/{study}/releases/{release}/files/{name}")
async def _file(request: Request, study: str, release: str, name: str) -> Response:
    party, _ = await _party(request)
    place = (party, require_name(study), release, name, offset_of(request))
    content = await run_in_threadpool(_of(request).releases.read, *place)
    return Response(content, media_type="application/octet-stream", headers=_HEADERS)


@ROUTER.get("/v1/audit-log")
async def _audit_log(request: Request) -> JSONResponse:
    party, _ = await _party(request)
    party.require("auditor")
    try:
        return await _call(export, _of(request).database, _of(request).key)
    except CertificateError as error:
        words = (error.expected, error.found, error.remedy)
        raise Refusal("broken_audit_log", *words) from None
