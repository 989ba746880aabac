"""The server's interface as OpenAPI 3.1: what is asked, what is answered, how it is refused."""

from __future__ import annotations

from importlib import metadata

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from neuroveil.deploy.server.operations import IN_PATH, OFFSET, OPERATIONS, SCHEMAS, Schema
from neuroveil.deploy.server.refusals import STATUS
from neuroveil.deploy.wire import FORMS, SIGNATURE

PATH = "/openapi.json"

_OPEN = {"/healthz", "/readyz", PATH}
_VIEWED = {"/", "/metrics", "/v1/overview"}
_ABOUT = """\
Requests of hospitals are signed with Ed25519: five headers hold the key, the time, a number that is
used once, the digest of the body, and the signature over method, host, path and those. A refusal is
a JSON object with a stable code in `error`, in the header `neuroveil-refusal`, and in the metrics.
"""


def describe(app: FastAPI) -> Schema:
    """Describe an application's routes.

    Parameters
    ----------
    app : FastAPI
        With all of its routes.

    Returns
    -------
    dict
        An OpenAPI document. Every operation states how it is refused.
    """
    document = get_openapi(
        title="neuroveil server", version=metadata.version("neuroveil"), description=_ABOUT,
        routes=app.routes,
    )  # fmt: skip
    for path, methods in document["paths"].items():
        for method in methods:
            methods[method] = _operation(method, path, methods[method].get("parameters", []))
    statuses = sorted(set(STATUS.values()))
    document["components"] = {
        "schemas": {**SCHEMAS, "Refusal": _refusal()},
        "parameters": {name: _header(name, form) for name, form in FORMS.items()},
        "securitySchemes": {
            "coordinator": {"type": "http", "scheme": "basic"},
            "signature": {"type": "apiKey", "in": "header", "name": SIGNATURE},
        },
        "responses": {str(status): _refused(status) for status in statuses},
    }
    return document


def _operation(method: str, path: str, parameters: list[Schema]) -> Schema:
    facts = OPERATIONS[method, path]
    stated = [{**each, "schema": IN_PATH[each["name"]]} for each in parameters]
    if facts.has_offset:
        stated.append(OFFSET)
    operation: Schema = {
        "summary": facts.summary,
        "responses": {
            "200": {"description": "Done", "content": facts.answer_content()},
            **{str(status): {"$ref": f"#/components/responses/{status}"}
               for status in sorted(set(STATUS.values()))},
        },
    }  # fmt: skip
    if path not in _OPEN | _VIEWED:
        stated += [{"$ref": f"#/components/parameters/{name}"} for name in FORMS]
        operation["security"] = [{"signature": []}]
    elif path in _VIEWED:
        operation["security"] = [{"coordinator": []}]
    if stated:
        operation["parameters"] = stated
    body = facts.body_content()
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _header(name: str, form: str) -> Schema:
    schema = {"type": "string", "pattern": f"^{form}$"}
    return {"name": name, "in": "header", "required": True, "schema": schema}


def _refused(status: int) -> Schema:
    codes = [code for code, stated in STATUS.items() if stated == status]
    return {
        "description": f"Refused: {', '.join(codes)}",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}},
    }


def _refusal() -> Schema:
    words = {name: {"type": "string"} for name in ("expected", "found", "remedy")}
    return {
        "type": "object", "required": ["error", *words],
        "properties": {"error": {"type": "string", "enum": list(STATUS)}, **words},
    }  # fmt: skip
