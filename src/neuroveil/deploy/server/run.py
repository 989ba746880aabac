"""Run a server: uvicorn with TLS, on this machine unless the settings say otherwise."""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from neuroveil.deploy.server.app import create_app
from neuroveil.deploy.server.guard import Guard
from neuroveil.deploy.server.logs import log
from neuroveil.deploy.server.metrics import forget_metrics
from neuroveil.deploy.server.protocol import PatientProtocol
from neuroveil.deploy.server.settings import Listen, load_settings
from neuroveil.deploy.server.setup import overview_password, server_key
from neuroveil.deploy.server.store import Store
from neuroveil.deploy.tls import WARN_BELOW_DAYS, days_left, tls_files
from neuroveil.errors import StudyError, StudyMistake

_FOLDER = "NEUROVEIL_SERVER_FOLDER"


def application() -> Guard:
    """Make the application in a worker's process.

    Returns
    -------
    Guard
        Of the folder that :func:`run_server` was called with.
    """
    folder = Path(os.environ[_FOLDER])
    return create_app(load_settings(folder), server_key(folder), overview_password(folder))


def run_server(folder: Path) -> None:
    """Serve until the process is told to stop.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Raises
    ------
    StudyError
        If settings, keys or certificates cannot be used.
    """
    import uvicorn

    folder = folder.resolve()
    settings, files = load_settings(folder), tls_files(folder)
    server_key(folder), overview_password(folder)
    try:
        days = days_left(files.certificate.read_bytes())
    except (OSError, ValueError):
        raise StudyError([StudyMistake(
            files.certificate.name, "the server's certificate as PEM", "none",
            "Put certificate and key into the server's folder as tls.pem and tls.key.",
        )]) from None  # fmt: skip
    _require_free(settings.listen)
    if days < WARN_BELOW_DAYS:
        log("certificate.expires", days=round(days, 1))
    Store(folder, 0).clear()
    forget_metrics(folder)
    os.environ[_FOLDER] = str(folder)
    listen = settings.listen
    log("server.started", port=listen.port)
    with nullcontext() if settings.trusted is None else _worker(folder):
        uvicorn.run(
            f"{__name__}:{application.__name__}", factory=True, host=listen.host,
            port=listen.port, workers=listen.workers, http=PatientProtocol, ws="none",
            ssl_certfile=files.certificate, ssl_keyfile=str(files.key),
            ssl_version=ssl.PROTOCOL_TLS_SERVER, **_client_certificates(folder, listen),
            timeout_keep_alive=15, access_log=False,
            log_level="error", server_header=False, proxy_headers=False, lifespan="off",
            timeout_graceful_shutdown=30,
        )  # fmt: skip


def _client_certificates(folder: Path, listen: Listen) -> dict[str, Any]:
    """Ask for client certificates where the settings name an authority of theirs."""
    if listen.client_ca is None:
        return {}
    file = folder / listen.client_ca
    try:
        ssl.create_default_context(cafile=file)
    except (OSError, ssl.SSLError):
        raise StudyError([StudyMistake(
            "listen.client_ca", "a file of certificates (PEM) in the server's folder", "none",
            "Put the certificate of the hospitals' authority there.",
        )]) from None  # fmt: skip
    return {"ssl_ca_certs": str(file), "ssl_cert_reqs": ssl.CERT_REQUIRED}


def _worker(folder: Path) -> AbstractContextManager[None]:
    # Only here, since it loads all of the release path.
    from neuroveil.deploy.server.consortium.background import background_worker

    return background_worker(folder)


def _require_free(listen: Listen) -> None:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        socket.create_server((listen.host, listen.port), family=family).close()
    except OSError as error:
        raise StudyError([StudyMistake(
            "listen.port", "an address and port that are free", error.strerror or "none",
            "Stop the program that uses it, or choose another port in server.toml.",
        )]) from None  # fmt: skip
