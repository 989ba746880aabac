"""What each address of the server takes and answers, for its OpenAPI description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuroveil.deploy.manifest import FILE_NAMES, TRAINING_FILES
from neuroveil.deploy.pseudonymised import KINDS

Schema = dict[str, Any]

_DIGEST: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_CONTENT_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_FILE_NAME: Schema = {"type": "string", "enum": sorted(FILE_NAMES)}
_PUBLISHED_NAME: Schema = {"type": "string", "enum": sorted(FILE_NAMES | TRAINING_FILES)}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_TRUE_OR_FALSE: Schema = {"type": "boolean"}
_KIND: Schema = {"type": "string", "enum": list(KINDS)}

IN_PATH: dict[str, Schema] = {
    "content_id": _CONTENT_ID, "name": _PUBLISHED_NAME, "kind": _KIND,
    "study": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"},
    "release": {"type": "string"},
}  # fmt: skip
"""Schemas of what stands in a path, by name."""

OFFSET: Schema = {
    "name": "offset", "in": "query", "required": True, "description": "Where it begins, bytes.",
    "schema": {**_COUNT, "maximum": 10**15 - 1},
}  # fmt: skip
"""The query of what is sent, or fetched, in pieces."""


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties}


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS: dict[str, Schema] = {
    "Manifest": {
        **_object({"files": {
            "type": "object", "propertyNames": _FILE_NAME, "required": ["certificate.json"],
            "additionalProperties": {
                **_object({"size": _COUNT, "digest": _DIGEST}), "additionalProperties": False,
            },
        }}),
        "additionalProperties": False,
        "description": "All files of a release; certificate.json is one of them.",
    },
    "Announcement": _object({
        "content_id": {**_CONTENT_ID, "description": "SHA-256 of the canonical manifest."},
        "manifest": _named("Manifest"),
    }),
    "Submission": _object(
        {
            "content_id": _CONTENT_ID, "chunk_bytes": _COUNT,
            "state": {"type": "string", "enum": ["receiving", "accepted", "refused"]},
        },
        {
            "received": {
                "type": "object", "additionalProperties": _COUNT,
                "description": "Bytes on the server's disk by file, unless it was accepted.",
            },
            "receipt": {**_OBJECT, "description": "Signed by the server, where accepted."},
        },
    ),
    "Received": _object({"received": _COUNT}),
    "Overview": _object({
        "study": _TEXT, "n_releases": _COUNT, "n_patients": _COUNT, "hospitals": {"type": "array"},
    }),
    "Health": _object({"status": _TEXT}),
    "Proposal": _object(
        {
            "study": _TEXT,
            "proposal": {
                **_OBJECT,
                "description": "Title, hospitals, policy, columns, signal, reference, clip norm; "
                "a label where a model is to be trained.",
            },
        },
    ),
    "Decision": _object(
        {"approve": _TRUE_OR_FALSE},
        {
            "proposal": {**_DIGEST, "description": "What is approved, for a study."},
            "request": {**_DIGEST, "description": "What is approved, for a release."},
        },
    ),
    "Rows": _object(
        {"kind": _KIND, "size": {"type": "integer", "minimum": 1}, "digest": _DIGEST},
        {"terms": {**_OBJECT, "description": "Digests of the study's columns and settings."}},
    ),
    "Upload": _object(
        {"state": _TEXT, "received": _COUNT, "chunk_bytes": _COUNT}, {"receipt": _OBJECT}
    ),
    "Study": _object({"study": _TEXT, "state": _TEXT, "next": _TEXT, "hospitals": {
        "type": "array"}}),
    "Studies": _object({"studies": {"type": "array"}}),
    "Wish": _object(
        {"epsilon": {"type": "number", "exclusiveMinimum": 0}, "mechanism": _TEXT},
        {"delta": {"type": ["number", "null"]}, "components": {"type": ["integer", "null"]}},
    ),
    "Requested": _object({"release": _TEXT}),
    "Files": _object({"files": _OBJECT, "chunk_bytes": _COUNT}),
    "Export": _object({"entries": {"type": "array"}, "head": _TEXT, "signature": _TEXT}),
    "Nothing": {**_OBJECT, "description": "It is done."},
}  # fmt: skip
"""Schemas by name."""

_JSON, _BYTES = "application/json", "application/octet-stream"
_BINARY: Schema = {"type": "string", "format": "binary"}


@dataclass(frozen=True)
class Operation:
    """One method of one address.

    Parameters
    ----------
    summary : str
        What it does.
    answer : str
        Name of the good answer's schema, or its media type where that is not JSON.
    body : str, optional
        Name of the body's schema; ``"bytes"`` for a chunk.
    has_offset : bool
        Whether it is about a piece.
    """

    summary: str
    answer: str
    body: str | None = None
    has_offset: bool = False

    def answer_content(self) -> Schema:
        """Give the good answer's content.

        Returns
        -------
        dict
            By media type.
        """
        if self.answer in SCHEMAS:
            return {_JSON: {"schema": _named(self.answer)}}
        is_json, is_text = self.answer == _JSON, self.answer.startswith("text/")
        return {self.answer: {"schema": _OBJECT if is_json else _TEXT if is_text else _BINARY}}

    def body_content(self) -> Schema | None:
        """Give the body's content.

        Returns
        -------
        dict or None
            By media type; ``None`` where there is no body.
        """
        if self.body is None:
            return None
        if self.body == "bytes":
            return {_BYTES: {"schema": _BINARY}}
        return {_JSON: {"schema": _named(self.body)}}


_OWN, _STUDY = "/v1/submissions", "/v1/studies/{study}"
_UPLOAD, _RELEASE = f"{_STUDY}/uploads/{{kind}}", f"{_STUDY}/releases/{{release}}"

OPERATIONS: dict[tuple[str, str], Operation] = {
    ("post", _OWN): Operation(
        "Begin a submission, or ask how far it is", "Submission", "Announcement"
    ),
    ("get", f"{_OWN}/{{content_id}}"): Operation("How far a submission is", "Submission"),
    ("put", f"{_OWN}/{{content_id}}/files/{{name}}"): Operation(
        "Send one chunk of one file", "Received", "bytes", has_offset=True
    ),
    ("post", f"{_OWN}/{{content_id}}/complete"): Operation(
        "Have a submission verified; the answer takes as long as that", "Submission"
    ),
    ("get", "/healthz"): Operation("Whether the process answers", "Health"),
    ("get", "/readyz"): Operation("Whether database and disk are there", "Health"),
    ("get", "/openapi.json"): Operation("This description", _JSON),
    ("get", "/metrics"): Operation("Counters for Prometheus", "text/plain"),
    ("get", "/v1/overview"): Operation("What has arrived", "Overview"),
    ("get", "/"): Operation("What has arrived, as a page", "text/html"),
    ("post", "/v1/studies"): Operation("Propose a study", "Study", "Proposal"),
    ("get", "/v1/studies"): Operation("The studies that the sender takes part in", "Studies"),
    ("get", _STUDY): Operation("How far a study is, and who is next", "Study"),
    ("post", f"{_STUDY}/approval"): Operation(
        "Approve a study for one's own hospital, or decline it", "Nothing", "Decision"
    ),
    ("post", f"{_STUDY}/end"): Operation("End a study and delete its rows", "Nothing"),
    ("post", f"{_STUDY}/uploads"): Operation(
        "Begin to send a roster or features, or ask how far it is", "Upload", "Rows"
    ),
    ("get", _UPLOAD): Operation("How far an upload is", "Upload"),
    ("put", _UPLOAD): Operation("Send one chunk", "Received", "bytes", has_offset=True),
    ("post", f"{_UPLOAD}/complete"): Operation("Have an upload checked and accepted", "Upload"),
    ("post", f"{_STUDY}/releases"): Operation("Ask for a release", "Requested", "Wish"),
    ("post", f"{_RELEASE}/review"): Operation(
        "Approve somebody else's request, or decline it", "Nothing", "Decision"
    ),
    ("get", f"{_RELEASE}/files"): Operation("Files of a published release", "Files"),
    ("get", f"{_RELEASE}/files/{{name}}"): Operation(
        "A piece of a published file", _BYTES, has_offset=True
    ),
    ("get", "/v1/audit-log"): Operation("The whole audit log, signed", "Export"),
}
"""Operations by method and path."""
