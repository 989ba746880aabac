"""Who may do what in studies that the server protects: people by their keys, each with a role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.database import HOSPITAL, Database
from neuroveil.deploy.server.hospitals import find_hospital
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import PERSON
from neuroveil.deploy.wire import key_id
from neuroveil.errors import StudyError, StudyMistake

Role = Literal["site_administrator", "principal_investigator", "reviewer", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Roles of people. Hospitals have none: their keys send data, and decide nothing."""


@dataclass(frozen=True)
class Party:
    """Somebody whose requests are taken: a person with a role, or a hospital.

    Parameters
    ----------
    key_id : str
        Short name of the key, 32 hexadecimal digits.
    name : str
        What the coordinator calls it.
    public_key : str
        64 hexadecimal digits.
    role : str
        One of :data:`ROLES`, or ``"hospital"``.
    hospital : str or None
        Key id of the hospital that a site administrator decides for; a hospital's own.
    is_active : bool
        Whether its requests are accepted.
    """

    key_id: str
    name: str
    public_key: str
    role: str
    hospital: str | None
    is_active: bool

    def require(self, *roles: str) -> None:
        """Refuse a request that this role may not make.

        Parameters
        ----------
        *roles : str
            Who may.

        Raises
        ------
        Refusal
            Code ``forbidden``.
        """
        if self.role not in roles:
            raise Refusal(
                "forbidden", f"the role {' or '.join(roles)}", f"the role {self.role}",
                "Ask somebody who has it.",
            )  # fmt: skip


def find_party(database: Database, identity: str) -> Party | None:
    """Look an active person or hospital up by key id.

    Parameters
    ----------
    database : Database
        The server's database.
    identity : str
        Key id, as stated in a request.

    Returns
    -------
    Party or None
        ``None`` where there is none, or it was removed.
    """
    hospital = find_hospital(database, identity)
    if hospital is not None:
        return Party(
            hospital.key_id, hospital.name, hospital.public_key, "hospital", hospital.key_id, True
        )
    with database.reading() as connection:
        row = connection.execute(sa.select(PERSON).where(PERSON.c.key_id == identity)).first()
    return Party(*row) if row and row.is_active else None


def list_people(database: Database) -> list[Party]:
    """List all people who were ever registered.

    Parameters
    ----------
    database : Database
        The server's database.

    Returns
    -------
    list of Party
        By name.
    """
    with database.reading() as connection:
        rows = connection.execute(sa.select(PERSON).order_by(PERSON.c.name)).all()
    return [Party(*row) for row in rows]


def add_person(
    database: Database, name: str, role: Role, public_key: str, hospital: str | None = None
) -> Party:
    """Register a person.

    Parameters
    ----------
    database : Database
        The server's database.
    name : str
        Shown in the status of studies.
    role : str
        One of :data:`ROLES`; one key has one role.
    public_key : str
        64 hexadecimal digits.
    hospital : str, optional
        Name of the hospital that a site administrator decides for, and of nobody else.

    Returns
    -------
    Party
        As registered.

    Raises
    ------
    StudyError
        If name or key are registered, or the hospital does not fit the role.
    """
    if (hospital is not None) != (role == "site_administrator"):
        raise _mistake("hospital", "a hospital for a site administrator, and for nobody else")
    identity = key_id(public_key)
    with database.writing() as connection:
        named = (HOSPITAL.c.name == hospital) & HOSPITAL.c.is_active
        site = connection.execute(sa.select(HOSPITAL.c.key_id).where(named)).scalar()
        if hospital is not None and site is None:
            raise _mistake("hospital", "the name of a registered hospital")
        taken = connection.execute(
            sa.union_all(
                sa.select(HOSPITAL.c.key_id).where(HOSPITAL.c.key_id == identity),
                sa.select(PERSON.c.key_id).where(
                    (PERSON.c.key_id == identity)
                    | ((PERSON.c.name == name.strip()) & PERSON.c.is_active)
                ),
            )
        ).first()
        if taken or not name.strip():
            raise _mistake("person", "a new name and a new key")
        person = Party(identity, name.strip(), public_key, role, site, True)
        connection.execute(PERSON.insert().values(**vars(person)))
        facts = {"person": identity, "role": role, "hospital": site}
        audit_log.append(connection, "person.added", facts)
    return person


def remove_person(database: Database, identity: str) -> None:
    """Refuse a person's requests from now on; what they decided stays.

    Parameters
    ----------
    database : Database
        The server's database.
    identity : str
        Name or key id.

    Raises
    ------
    StudyError
        If there is no such active person.
    """
    wanted = ((PERSON.c.key_id == identity) | (PERSON.c.name == identity)) & PERSON.c.is_active
    with database.writing() as connection:
        found = connection.execute(sa.select(PERSON.c.key_id).where(wanted)).scalar()
        if found is None:
            raise _mistake("person", "the name or key id of a registered one")
        connection.execute(PERSON.update().where(PERSON.c.key_id == found).values(is_active=False))
        audit_log.append(connection, "person.removed", {"person": found})


def _mistake(where: str, expected: str) -> StudyError:
    return StudyError([StudyMistake(
        where, expected, "another",
        "See `neuroveil serve person list` and `neuroveil serve hospital list`.",
    )])  # fmt: skip
