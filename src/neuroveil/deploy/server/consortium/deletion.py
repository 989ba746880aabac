"""Raw rows deleted by policy: after a release, after an end without one, or after a time."""

from __future__ import annotations

import time

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.consortium.studies import ENDED, EXPIRED, PUBLISHED, end, is_releasing
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.settings import Trusted
from neuroveil.deploy.server.tables import CHUNK, DATA_KEY, STUDY

_DAY = 86_400.0


def delete_due(database: Database, trusted: Trusted) -> list[str]:
    """Delete rosters and rows of every study that is over, and their data key with them.

    Parameters
    ----------
    database : Database
        The server's database.
    trusted : Trusted
        How long rows are kept.

    Returns
    -------
    list of str
        Studies whose rows were deleted.
    """
    now = time.time()
    expires = now - _DAY * trusted.unreleased_days
    released = now - _DAY * trusted.keep_rows_days
    is_over = STUDY.c.state.in_(ENDED) | (
        (STUDY.c.state == PUBLISHED) & (STUDY.c.ended <= released)
    )
    is_old = STUDY.c.state.not_in((*ENDED, PUBLISHED)) & (STUDY.c.proposed < expires)
    with database.reading() as connection:
        held = sa.select(STUDY.c.study, STUDY.c.state).where(
            (is_over & STUDY.c.study.in_(sa.select(DATA_KEY.c.study))) | is_old
        )
        due = connection.execute(held).all()
    done = [study for study, _ in due if _delete(database, study, expires)]
    if done:
        database.scrub()
    return done


def _delete(database: Database, study: str, expires: float) -> bool:
    with database.writing() as connection:
        row = connection.execute(sa.select(STUDY).where(STUDY.c.study == study)).one()
        state = row.state
        if state not in (*ENDED, PUBLISHED):
            if row.proposed >= expires or is_releasing(connection, study):
                return False
            state = EXPIRED
            end(connection, study, state)
            audit_log.append(connection, "study.expired", {"study": study})
        elif not _holds_key(connection, study):  # another worker was faster
            return False
        chunks = CHUNK.c.study == study
        counted = sa.select(sa.func.count()).select_from(CHUNK).where(chunks)
        n_chunks = int(connection.execute(counted).scalar() or 0)
        connection.execute(CHUNK.delete().where(chunks))
        erased = connection.execute(DATA_KEY.delete().where(DATA_KEY.c.study == study)).rowcount
        facts = {"study": study, "after": state, "chunks": n_chunks, "data_keys": erased}
        audit_log.append(connection, "rows.deleted", facts)
    return True


def _holds_key(connection: sa.Connection, study: str) -> bool:
    found = connection.execute(sa.select(DATA_KEY.c.study).where(DATA_KEY.c.study == study))
    return found.first() is not None
