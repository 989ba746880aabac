"""A server to try things on: loopback only, with everything generated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.setup import create_server, overview_password, terms_of
from neuroveil.deploy.tls import tls_files
from neuroveil.keys import create_key
from neuroveil.study import load_study

_STUDY = """\
# The study of the demonstration server: the same columns as `neuroveil demo` releases.
[input]
layout = "bids"
folder = "cohort"
population = "adults"
"""
_HOST = "127.0.0.1"


@dataclass(frozen=True)
class DemoServer:
    """What somebody needs to try the server.

    Parameters
    ----------
    folder : Path
        The server's folder.
    url : str
        Where it will be reached.
    hospital_key : Path
        Key of a hospital that is registered.
    authority : Path
        Certificate of the server's authority.
    password : str
        Opens the overview; of this demonstration only.
    """

    folder: Path
    url: str
    hospital_key: Path
    authority: Path
    password: str


def create_demo(place: Path, port: int) -> DemoServer:
    """Make a server with one hospital, or find the one that an earlier call made.

    Parameters
    ----------
    place : Path
        Folder for server and hospital.
    port : int
        Where it will listen; kept by an earlier call's server.

    Returns
    -------
    DemoServer
        Ready to run.
    """
    from neuroveil.deploy.server.settings import load_settings

    server, key_file, study = place / "server", place / "hospital.key", place / "study.toml"
    if not server.exists():
        place.mkdir(parents=True, exist_ok=True)
        study.write_text(_STUDY, encoding="utf-8")
        # `neuroveil demo` signs nothing, so that a release of it can be tried here.
        terms = {**terms_of(load_study(study), "demonstration"), "signed_by_hospital": False}
        listen = {"host": _HOST, "port": port}
        made = create_server(server, terms, (_HOST, "localhost"), listen)
        key = create_key(key_file)
        database = Database(made.settings.database_location)
        add_hospital(database, "demonstration hospital", key.public_key)
    stated = load_settings(server).listen
    return DemoServer(
        server, f"https://{stated.host}:{stated.port}", key_file, tls_files(server).authority,
        overview_password(server),
    )  # fmt: skip
