"""What has arrived: counts and budgets by hospital, as plain data and as one page."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.server.audit_log import utc_now
from neuroveil.deploy.server.database import SUBMISSION, Database
from neuroveil.deploy.server.hospitals import list_hospitals
from neuroveil.deploy.server.settings import Terms

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ study }}: what has arrived</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #767676; }
</style>
</head>
<body>
<main>
<h1>{{ study }}: what has arrived</h1>
<p>Releases: {{ n_releases }}. Patients in them: {{ n_patients }}. Hospitals that have sent any:
{{ n_submitting }} of {{ hospitals|length }}.</p>
<p>Every certificate was derived again by this server, and every release has the study's columns,
reference and settings. A patient who was in two hospitals, or in two releases of one, is counted
twice.</p>
<h2>Hospitals</h2>
<table>
<caption>Accepted releases, and the budget that each hospital's own ledger states</caption>
<thead><tr><th scope="col">Hospital</th><th scope="col">Releases</th>
<th scope="col">Patients</th><th scope="col">Largest epsilon spent</th>
<th scope="col">Being received</th><th scope="col">Refused</th></tr></thead>
<tbody>
{% for hospital in hospitals %}
<tr><th scope="row">{{ hospital.name }}{{ "" if hospital.is_active else " (removed)" }}</th>
<td>{{ hospital.releases|length }}</td><td>{{ hospital.n_patients }}</td>
<td>{{ "–" if hospital.epsilon_spent is none else "%.4g"|format(hospital.epsilon_spent) }}</td>
<td>{{ hospital.n_receiving }}</td><td>{{ hospital.n_refused }}</td></tr>
{% endfor %}
</tbody>
</table>
<p>{{ time }}</p>
</main>
</body>
</html>
"""


def overview(database: Database, terms: Terms) -> dict[str, Any]:
    """Sum up what has arrived; everything in it is public or a count.

    Parameters
    ----------
    database : Database
        The server's database.
    terms : Terms
        What releases have in common.

    Returns
    -------
    dict
        Keys ``study``, ``time``, ``terms``, ``n_releases``, ``n_patients``, ``n_submitting``
        and ``hospitals``.
    """
    names = (SUBMISSION.c.key_id, SUBMISSION.c.state, SUBMISSION.c.content_id, SUBMISSION.c.facts)
    with database.reading() as connection:
        rows = connection.execute(sa.select(*names).order_by(SUBMISSION.c.content_id)).all()
    hospitals = []
    for hospital in list_hospitals(database):
        own = [row for row in rows if row.key_id == hospital.key_id]
        states = [row.state for row in own]
        releases = [
            {"content_id": row.content_id, **json.loads(row.facts)}
            for row in own
            if row.state == "accepted"
        ]
        hospitals.append({
            "key_id": hospital.key_id, "name": hospital.name, "is_active": hospital.is_active,
            "releases": releases, "n_patients": sum(each["n_patients"] for each in releases),
            "epsilon_spent": _spent(releases), "n_receiving": states.count("receiving"),
            "n_refused": states.count("refused"),
        })  # fmt: skip
    return {
        "study": terms.name, "time": utc_now(), "terms": terms.model_dump(),
        "n_releases": sum(len(each["releases"]) for each in hospitals),
        "n_patients": sum(each["n_patients"] for each in hospitals),
        "n_submitting": sum(bool(each["releases"]) for each in hospitals),
        "hospitals": hospitals,
    }  # fmt: skip


def overview_page(document: dict[str, Any]) -> str:
    """Draw the overview.

    Parameters
    ----------
    document : dict
        From :func:`overview`.

    Returns
    -------
    str
        One HTML page without scripts and without requests to anywhere.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(_PAGE).render(document)


def _spent(releases: list[dict[str, Any]]) -> float | None:
    """Largest spend that one of a hospital's certificates states, after its release."""
    spends = [
        each["limit"]["epsilon"] - each["remaining"]["epsilon"]
        for each in releases
        if each["limit"] and each["remaining"]
    ]
    return max(spends) if spends else None
