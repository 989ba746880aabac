"""The study's ledger: find it, start it, charge it, and notice when it was exchanged."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.ledger.anchor import from_json, to_json
from neuroveil.ledger.location import Location, is_url
from neuroveil.pipeline.internal_files import write_json
from neuroveil.pipeline.linked_roster import LINKED
from neuroveil.pipeline.settings import find_roster
from neuroveil.study import Study
from neuroveil.types.budget import Scope

if TYPE_CHECKING:
    from neuroveil.types.budget import AccountingEvent, BudgetStanding, HeadCommitment
    from neuroveil.types.charge import Charge, ChargeRequest

_ANCHOR_NOTICE = (
    "Shows whether the ledger was exchanged for an older one. Internal; keep it with the study."
)


def exact(number: float) -> Fraction:
    """Read a setting as the decimal that the person wrote.

    Parameters
    ----------
    number : float
        For example ``0.1``.

    Returns
    -------
    Fraction
        For example 1/10, not the binary number nearest to it.
    """
    return Fraction(repr(float(number)))


def ledger_location(study: Study) -> Location:
    """Say where the study's ledger is.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Path or str
        SQLite file, or URL of a PostgreSQL database.
    """
    written = study.privacy.ledger
    return written if is_url(written) else study.path(written)


def anchor_file(study: Study) -> Path:
    """Say where the study keeps its commitment to the ledger's newest entry.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Path
        Beside the internal folder, so that it outlives a folder that is made anew.
    """
    internal = study.path(study.output.internal)
    return internal.with_name(f"{internal.name}.ledger-anchor.json")


def open_ledger(study: Study) -> Ledger:
    """Open the study's ledger; start it where the study states a budget.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Ledger
        Ready to reserve from.

    Raises
    ------
    BudgetError
        If there is neither a ledger nor a budget, if the two do not agree, or if this is not
        the ledger that the study was last charged to.
    """
    budget = study.privacy.budget
    ledger = existing_ledger(study)
    if ledger is None and budget is not None:
        return Ledger.create(ledger_location(study), exact(budget.epsilon), exact(budget.delta))
    ledger = ledger or Ledger(ledger_location(study))  # refused: there is none
    _check_agreement(study, ledger)
    return ledger


def _check_agreement(study: Study, ledger: Ledger) -> None:
    """Refuse a ledger whose limit is not what the study counts on."""
    budget, state = study.privacy.budget, ledger.state()
    limit = state.limit
    if budget is not None and limit != (exact(budget.epsilon), exact(budget.delta)):
        raise BudgetError(
            "privacy.budget", f"the ledger's limit, epsilon = {float(limit[0]):g}, "
            f"delta = {float(limit[1]):g}",
            f"epsilon = {budget.epsilon:g}, delta = {budget.delta:g}",
            "A limit that was set stays set: correct the study.",
        )  # fmt: skip


def check_room(study: Study, request: ChargeRequest) -> None:
    """Make every refusal that a release would meet at the ledger, without starting one.

    Parameters
    ----------
    study : Study
        Checked settings.
    request : ChargeRequest
        What would be spent.

    Raises
    ------
    BudgetError
        If a release would be refused for lack of budget or of a sound ledger.
    """
    ledger, budget = existing_ledger(study, read_only=True), study.privacy.budget
    if ledger is not None:
        _check_agreement(study, ledger)
        require_room(study, ledger, request)
    elif budget is None:
        Ledger(ledger_location(study))  # refused: there is none
    elif request.epsilon > exact(budget.epsilon) or request.delta > exact(budget.delta):
        raise BudgetError(
            "budget",
            f"room for epsilon = {float(request.epsilon):g}, delta = {float(request.delta):g}",
            f"a limit of epsilon = {budget.epsilon:g}, delta = {budget.delta:g}",
            "Ask for less, or set another budget before the first release.",
        )  # fmt: skip


def existing_ledger(study: Study, *, read_only: bool = False) -> Ledger | None:
    """Open the study's ledger without starting it.

    Parameters
    ----------
    study : Study
        Checked settings.
    read_only : bool
        Open for looking only.

    Returns
    -------
    Ledger or None
        None where no ledger exists yet.

    Raises
    ------
    BudgetError
        If a ledger exists and cannot be trusted, or the one that was there is gone.
    """
    location, file = ledger_location(study), anchor_file(study)
    anchor = read_anchor(file) if file.exists() else None
    if not Ledger.exists(location):
        if anchor is None:
            return None
        raise BudgetError(
            "ledger", "the ledger that this study was last charged to", "none",
            "Restore the ledger: what was spent stays spent, also when its record is lost.",
        )  # fmt: skip
    key_file = study.path("ledger.key") if is_url(location) else None
    ledger = Ledger(location, read_only=read_only, composer=composed_epsilon, key_file=key_file)
    if anchor is not None:
        ledger.check_commitment(anchor)
    return ledger


def require_site_ledger(study: Study) -> None:
    """Refuse a study without a file of its own unless the site's ledger is named and there.

    Parameters
    ----------
    study : Study
        Made for a BIDS folder and an output folder. A ledger inside the latter would start
        anew with every output folder, and so would one that is started under a mistyped name.

    Raises
    ------
    BudgetError
        If the ledger is not named, does not exist, or cannot be trusted.
    """
    if "privacy.ledger" in study.overrides and existing_ledger(study, read_only=True) is not None:
        return
    named = "privacy.ledger" in study.overrides
    raise BudgetError(
        "ledger", "the ledger of this site, which outlives every output folder",
        "no ledger at the place that was named" if named else "none named",
        "Start it once with `neuroveil ledger init LEDGER --epsilon E --delta D`, and name it "
        "with --ledger LEDGER or in the variable NEUROVEIL_LEDGER.",
    )  # fmt: skip


def composed_epsilon(events: tuple[AccountingEvent, ...], delta: Fraction) -> Fraction | None:
    """Compose events for ledgers whose rule is ``pld``.

    Parameters
    ----------
    events : tuple of AccountingEvent
        What was released.
    delta : Fraction
        Delta of the limit.

    Returns
    -------
    Fraction or None
        See :func:`neuroveil.privacy.composition.composed_epsilon`.
    """
    from neuroveil.privacy import composition

    return composition.composed_epsilon(events, delta)


def budget_standing(study: Study, request: ChargeRequest) -> BudgetStanding | None:
    """Tell where a release would stand, without starting or changing the ledger.

    Parameters
    ----------
    study : Study
        Checked settings.
    request : ChargeRequest
        What it would spend.

    Returns
    -------
    BudgetStanding or None
        None where no ledger exists yet.

    Raises
    ------
    BudgetError
        If a ledger exists and cannot be trusted.
    """
    ledger = existing_ledger(study, read_only=True)
    return ledger.standing(_addressed(study, ledger, request)) if ledger else None


def require_room(study: Study, ledger: Ledger, request: ChargeRequest) -> None:
    """Refuse early where the ledger has no room; the charge itself checks again.

    Parameters
    ----------
    study : Study
        Checked settings.
    ledger : Ledger
        The study's ledger.
    request : ChargeRequest
        What would be spent.

    Raises
    ------
    BudgetError
        If it would not fit.
    """
    ledger.require_room(_addressed(study, ledger, request))


def reserve(study: Study, ledger: Ledger, request: ChargeRequest) -> Charge:
    """Charge a release, and keep a commitment to the entry that was written.

    Parameters
    ----------
    study : Study
        Checked settings.
    ledger : Ledger
        The study's ledger.
    request : ChargeRequest
        What the release will spend.

    Returns
    -------
    Charge
        Pays for exactly this release, once.

    Raises
    ------
    BudgetError
        If there is no room, or the ledger or the study's anchor cannot be written.
    """
    charge = ledger.reserve(_addressed(study, ledger, request))
    assert charge.commitment is not None
    # A crash before this line leaves the older anchor, which the ledger still fulfils.
    try:
        write_json(anchor_file(study), {"notice": _ANCHOR_NOTICE, **to_json(charge.commitment)})
    except OSError:
        raise BudgetError(
            "ledger anchor", "a folder that can be written to", "one that cannot",
            "Nothing was released, but the budget is spent. Make room beside the internal folder.",
        ) from None  # fmt: skip
    return charge


def _addressed(study: Study, ledger: Ledger, request: ChargeRequest) -> ChargeRequest:
    """Say which study a release belongs to and, where the ledger asks, whom it is about."""
    if study.privacy.study is not None:
        request = replace(request, scopes=(Scope("study", study.privacy.study),))
    if not ledger.state().site_wide_keys:
        return request
    roster = find_roster(study)
    if merged := sum(each.count or 0 for each in roster.findings if each.code == LINKED):
        raise BudgetError(
            "ledger with site-wide keys", "one roster key a person, as this ledger declares",
            f"{merged} further keys of people whom linkage put together",
            "What was spent on a person under another key would be left out. Give each person one "
            "key in all studies, or charge a ledger without site-wide keys: there every release "
            "counts for everybody.",
        )  # fmt: skip
    keys = [entry.patient for entry in roster.entries]
    return replace(request, patients=ledger.patient_digests(keys))


def read_anchor(file: Path) -> HeadCommitment:
    """Read a study's commitment to the newest entry of its ledger.

    Parameters
    ----------
    file : Path
        From :func:`anchor_file`.

    Returns
    -------
    HeadCommitment
        As it was written after the study's last charge.

    Raises
    ------
    BudgetError
        If the file holds none.
    """
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError):
        document = None
    return from_json(document)
