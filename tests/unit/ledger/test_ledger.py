"""The ledger never overspends, never forgets and never lets a stranger make a charge."""

import pickle
import sqlite3
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger
from neuroveil.types.budget import AccountingEvent, Scope
from neuroveil.types.charge import Charge


def test_spends_add_up_exactly(ledger, request_for):
    for _ in range(3):
        ledger.reserve(request_for("1/10"))
    state = ledger.state()
    assert state.spent == (Fraction(3, 10), Fraction(3, 100000))
    assert state.remaining == (Fraction(97, 10), Fraction(97, 100000))


def test_refuses_without_room_and_writes_nothing(ledger, request_for):
    ledger.reserve(request_for("9.5"))
    with pytest.raises(BudgetError, match=r"epsilon = 0\.5"):
        ledger.reserve(request_for("0.6"))
    assert len(ledger.state().entries) == 1


def test_refuses_when_only_delta_is_short(ledger, request_for):
    with pytest.raises(BudgetError, match="Nothing was released"):
        ledger.reserve(request_for("1", "1/500"))


def test_the_limit_can_be_spent_to_the_last_bit(ledger, request_for):
    ledger.reserve(request_for("10", "1/1000"))
    assert ledger.state().remaining == (0, 0)
    with pytest.raises(BudgetError):
        ledger.reserve(request_for("1/1000000", "0"))


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0"), ("-1", "0"), ("1", "1"), ("1", "-1")])
def test_refuses_senseless_amounts(ledger, request_for, epsilon, delta):
    with pytest.raises(BudgetError):
        ledger.reserve(request_for(epsilon, delta))


def test_a_limit_that_is_set_stays_set(ledger, ledger_path):
    with pytest.raises(BudgetError, match="existing one"):
        Ledger.create(ledger_path, Fraction(100), Fraction(1, 10))


def test_no_ledger_no_charge(tmp_path):
    with pytest.raises(BudgetError, match="ledger init"):
        Ledger(tmp_path / "absent.sqlite")
    assert not (tmp_path / "absent.sqlite").exists()


def test_a_charge_cannot_be_made_by_hand(request_for):
    with pytest.raises(BudgetError, match="no way around the ledger"):
        Charge(
            request_for(), entry=1, limit=(Fraction(1), Fraction(0)), prior_releases=0,
            spent_before=(Fraction(0), Fraction(0)), seal=object(),
        )  # fmt: skip


def test_a_charge_pays_once_and_only_for_its_request(ledger, request_for):
    charge = ledger.reserve(request_for("1"))
    with pytest.raises(BudgetError, match="other parameters"):
        charge.consume(request_for("2"))
    charge.consume(request_for("1"))
    with pytest.raises(BudgetError, match="already paid"):
        charge.consume(request_for("1"))


def test_a_charge_cannot_be_copied_to_another_process(ledger, request_for):
    with pytest.raises(BudgetError):
        pickle.dumps(ledger.reserve(request_for()))


def test_another_file_is_not_taken_for_a_ledger(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text("these are notes and no database at all, " * 50)
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(path).state()
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE t (x)").connection.commit()
    with pytest.raises(BudgetError, match="not a ledger"):
        Ledger(tmp_path / "other.sqlite").state()


def test_a_ledger_of_a_later_format_is_left_alone(ledger, ledger_path, request_for):
    connection = sqlite3.connect(ledger_path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(BudgetError, match="another format"):
        ledger.reserve(request_for())


def test_only_its_owner_can_read_the_file(ledger, ledger_path):
    assert ledger_path.stat().st_mode & 0o777 == 0o600


def test_events_must_add_up_to_the_charge(ledger, request_for):
    part = AccountingEvent("gaussian", Fraction(1, 2), Fraction(1, 100000))
    label = AccountingEvent("randomised_response", Fraction(1, 2), Fraction(0))
    ledger.reserve(request_for("1", events=(part, label)))
    with pytest.raises(BudgetError, match="add up"):
        ledger.reserve(request_for("1", events=(part,)))
    assert ledger.state().entries[0].spend.events == (part, label)


@pytest.mark.parametrize(
    "noise",
    [
        {"noise_multiplier": 1.0},
        {"noise_multiplier": 1.0, "integer_scale": 2.0**40},
        {"noise_multiplier": 1.0, "integer_scale": 2.0**40, "dimension": 0},
        {"noise_multiplier": -1.0, "integer_scale": 2.0**40, "dimension": 3},
        {"noise_multiplier": float("nan"), "integer_scale": 2.0**40, "dimension": 3},
        {"noise_multiplier": float("inf"), "integer_scale": 2.0**40, "dimension": 3},
        {"dimension": 3},
    ],
)
def test_events_with_senseless_noise_are_refused(noise):
    with pytest.raises(BudgetError, match=r"charge\.events"):
        AccountingEvent("gaussian", Fraction(1), Fraction(1, 100000), **noise)


def test_export_holds_everything_but_what_identifies(site_ledger, request_for):
    import json

    digests = site_ledger.patient_digests(["sub-01", "sub-02"])
    site_ledger.set_limit(Scope("patients", "young"), Fraction(5), Fraction(1, 2000), digests[:1])
    noisy = AccountingEvent(
        "gaussian", Fraction(1), Fraction(1, 100000), noise_multiplier=4.0,
        integer_scale=2.0**44, dimension=363,
    )  # fmt: skip
    site_ledger.reserve(request_for(patients=digests, studies=("one",), events=(noisy,)))
    opening, limit, spend = site_ledger.export()
    assert (opening["epsilon"], opening["rule"], opening["site_wide_keys"]) == ("10", "basic", True)
    assert (limit["scope"], limit["n_members"]) == ("patients:young", 1)
    assert spend["events"] == [
        {"mechanism": "gaussian", "epsilon": "1", "delta": "1/100000", "noise_multiplier": 4.0}
    ]
    assert (spend["scopes"], spend["n_patients"], spend["patients_known"]) == (
        ["study:one"],
        2,
        True,
    )
    text = json.dumps(site_ledger.export())
    secrets = [*digests, site_ledger.state().head, "sub-01", "nonce", "hash", "key_check"]
    assert not [secret for secret in secrets if secret in text]
