"""Who may submit: hospitals by their registered keys."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.database import HOSPITAL, Database
from neuroveil.deploy.server.tables import PERSON
from neuroveil.deploy.wire import key_id
from neuroveil.errors import StudyError, StudyMistake


@dataclass(frozen=True)
class Hospital:
    """A hospital that may submit.

    Parameters
    ----------
    key_id : str
        Short name of its key, 32 hexadecimal digits.
    name : str
        What the coordinator calls it.
    public_key : str
        64 hexadecimal digits.
    is_active : bool
        Whether its requests are accepted.
    """

    key_id: str
    name: str
    public_key: str
    is_active: bool


def list_hospitals(database: Database) -> list[Hospital]:
    """List all hospitals that were ever registered.

    Parameters
    ----------
    database : Database
        The server's database.

    Returns
    -------
    list of Hospital
        By name.
    """
    with database.reading() as connection:
        rows = connection.execute(sa.select(HOSPITAL).order_by(HOSPITAL.c.name)).all()
    return [Hospital(*row) for row in rows]


def find_hospital(database: Database, identity: str) -> Hospital | None:
    """Look an active hospital up by its key id.

    Parameters
    ----------
    database : Database
        The server's database.
    identity : str
        Key id, as stated in a request.

    Returns
    -------
    Hospital or None
        ``None`` where there is none, or it was removed.
    """
    with database.reading() as connection:
        wanted = sa.select(HOSPITAL).where(HOSPITAL.c.key_id == identity)
        row = connection.execute(wanted).first()
    return Hospital(*row) if row and row.is_active else None


def add_hospital(database: Database, name: str, public_key: str) -> Hospital:
    """Register a hospital.

    Parameters
    ----------
    database : Database
        The server's database.
    name : str
        What the coordinator calls it; shown in the overview.
    public_key : str
        64 hexadecimal digits.

    Returns
    -------
    Hospital
        As registered.

    Raises
    ------
    StudyError
        If the name or the key is registered already; a person's key is none for a hospital.
    """
    hospital = Hospital(key_id(public_key), name.strip(), public_key, True)
    with database.writing() as connection:
        same = (HOSPITAL.c.key_id == hospital.key_id) | (
            (HOSPITAL.c.name == hospital.name) & HOSPITAL.c.is_active
        )
        taken = sa.union_all(
            sa.select(HOSPITAL.c.key_id).where(same),
            sa.select(PERSON.c.key_id).where(PERSON.c.key_id == hospital.key_id),
        )
        if not hospital.name or connection.execute(taken).first():
            raise StudyError([StudyMistake(
                "hospital", "a new name and a new key", "one that is registered, or no name",
                "See `neuroveil serve hospital list`; a removed key cannot come back.",
            )])  # fmt: skip
        connection.execute(HOSPITAL.insert().values(**vars(hospital)))
        audit_log.append(connection, "hospital.added", {"hospital": hospital.key_id})
    return hospital


def remove_hospital(database: Database, identity: str) -> None:
    """Refuse a hospital's requests from now on; what it sent stays.

    Parameters
    ----------
    database : Database
        The server's database.
    identity : str
        Its name or key id.

    Raises
    ------
    StudyError
        If there is no such active hospital.
    """
    with database.writing() as connection:
        wanted = ((HOSPITAL.c.key_id == identity) | (HOSPITAL.c.name == identity)) & (
            HOSPITAL.c.is_active
        )
        row = connection.execute(sa.select(HOSPITAL.c.key_id).where(wanted)).first()
        if row is None:
            raise StudyError([StudyMistake(
                "hospital", "the name or key id of a registered one", "another",
                "See `neuroveil serve hospital list`.",
            )])  # fmt: skip
        connection.execute(
            HOSPITAL.update().where(HOSPITAL.c.key_id == row[0]).values(is_active=False)
        )
        audit_log.append(connection, "hospital.removed", {"hospital": row[0]})
