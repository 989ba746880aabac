"""The study and its ledger: started once, charged, anchored, and never exchanged in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, Terms
from neuroveil.pipeline.budget import (
    anchor_file,
    budget_standing,
    composed_epsilon,
    existing_ledger,
    ledger_location,
    open_ledger,
    require_room,
    reserve,
)
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import ProtectSettings, charge_request, protect
from neuroveil.privacy.verify import verify
from neuroveil.reference import default_reference
from neuroveil.study import Study, load_study
from neuroveil.types.budget import SITE, Scope
from neuroveil.types.charge import ChargeRequest

STUDY = """\
[input]
layout = "pattern"
folder = "."
pattern = "{{patient}}_{{session}}.edf"

[privacy]
epsilon = 1.0
ledger = "{ledger}"
"""
BUDGET = "\n[privacy.budget]\nepsilon = 10.0\ndelta = 1e-3\n"


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Study]:
    """A study over empty files: a roster is made of names, not of signals."""

    def make(name: str = "one", patients: str = "ab", budget: bool = True, **privacy: str) -> Study:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for patient in patients:
            (folder / f"{patient}_1.edf").touch()
        ledger = privacy.pop("ledger", "../ledger.sqlite")
        text = STUDY.format(ledger=ledger)
        text += "".join(f'{key} = "{value}"\n' for key, value in privacy.items())
        (folder / "study.toml").write_text(text + BUDGET * budget)
        return load_study(folder)

    return make


def request(n_patients: int = 2, epsilon: str = "1") -> ChargeRequest:
    return ChargeRequest(
        Fraction(epsilon), Fraction(1, 10**5), "gaussian", n_patients, 209, "sha256:0"
    )


class TestStarting:
    def test_a_stated_budget_starts_it_once(self, make_study) -> None:
        study = make_study()
        assert existing_ledger(study) is None
        assert budget_standing(study, request()) is None
        assert open_ledger(study).state().limit == (10, Fraction(1, 1000))
        assert open_ledger(study).state().entries == ()

    def test_without_a_budget_there_is_none(self, make_study) -> None:
        with pytest.raises(BudgetError, match="ledger init"):
            open_ledger(make_study(budget=False))

    def test_the_study_and_the_ledger_must_agree(self, make_study, tmp_path) -> None:
        Ledger.create(tmp_path / "ledger.sqlite", Fraction(1), Fraction(1, 1000))
        with pytest.raises(BudgetError, match="limit that was set stays set"):
            open_ledger(make_study())
        assert open_ledger(make_study(budget=False)).state().limit[0] == 1


class TestComposedSpends:
    """Ledgers with the rule ``pld``: what they charge, certificates state and `verify` confirms."""

    RELEASES = (
        ("gaussian", 0.5, 1e-6), ("laplace", 0.3, 0.0), ("gaussian", 0.5, 1e-5),
        ("gaussian", 0.2, 1e-6), ("laplace", 0.1, 0.0),
    )  # fmt: skip

    def test_certificates_verify(self, table, columns, tmp_path) -> None:
        path = tmp_path / "ledger.sqlite"
        Ledger.create(path, Fraction(3), Fraction(1, 10**5), Terms("pld"))
        ledger = Ledger(path, composer=composed_epsilon)
        scaling = default_reference("harmonised").scaling_for(columns)
        left = 3.0
        for number, (mechanism, epsilon, delta) in enumerate(self.RELEASES):
            settings = ProtectSettings(mechanism, epsilon, delta, 2.0)
            charge = ledger.reserve(charge_request(settings, columns, table.n_patients))
            folder = tmp_path / f"release-{number}"
            certificate = write_release(protect(table, scaling, settings, charge), folder)
            assert verify(folder).exit_code == 0
            assert certificate.value("composition.rule") == "pld"
            remaining = certificate.value("composition.remaining")["epsilon"]
            assert 0 < remaining < left
            left = remaining
        # Added up, they would have spent epsilon = 1.6 and more than all of delta.
        assert ledger.state().spent[1] == Fraction(1, 10**5)

    def test_the_study_may_use_such_a_ledger(self, make_study, tmp_path) -> None:
        Ledger.create(tmp_path / "ledger.sqlite", Fraction(10), Fraction(1, 1000), Terms("pld"))
        study = make_study()
        assert reserve(study, open_ledger(study), request()).standing.rule == "pld"


class TestCharging:
    def test_the_site_alone_by_default(self, make_study) -> None:
        study = make_study()
        ledger = open_ledger(study)
        require_room(study, ledger, request())
        charge = reserve(study, ledger, request())
        charge.consume(request())  # what `protect` derives from the settings
        standing = budget_standing(study, request())
        assert standing is not None
        assert (standing.scope, standing.spent_before[0], standing.prior_releases) == (SITE, 1, 1)
        with pytest.raises(BudgetError, match="Nothing was released"):
            require_room(study, ledger, request(epsilon="9.5"))

    def test_a_study_with_a_name_is_charged_as_a_study_too(self, make_study, tmp_path) -> None:
        study = make_study(study="epilepsy 2026")
        ledger = open_ledger(study)
        ledger.set_limit(Scope("study", "epilepsy 2026"), Fraction(1), Fraction(1, 1000))
        reserve(study, ledger, request())
        with pytest.raises(BudgetError, match="budget of this study"):
            reserve(study, ledger, request())
        other = make_study("two")
        reserve(other, open_ledger(other), request())

    def test_patients_are_recognised_across_studies(self, make_study, tmp_path) -> None:
        path = tmp_path / "ledger.sqlite"
        ledger = Ledger.create(path, Fraction(10), Fraction(1, 1000), Terms(site_wide_keys=True))
        one, two, three = (
            make_study("one", "ab"),
            make_study("two", "bc"),
            make_study("three", "cd"),
        )
        reserve(one, ledger, request(epsilon="7"))
        with pytest.raises(BudgetError, match="epsilon = 3, delta"):
            reserve(two, ledger, request(epsilon="7"))
        assert reserve(three, ledger, request(epsilon="7")).spent_before == (0, 0)
        assert reserve(two, ledger, request(epsilon="3")).prior_releases == 2
        assert b"a_1" not in path.read_bytes()

    def test_a_person_with_two_keys_is_not_spent_on_twice(self, make_study, tmp_path) -> None:
        """The ledger declares one key a person; what it knows of the other key would be lost."""
        path = tmp_path / "ledger.sqlite"
        ledger = Ledger.create(path, Fraction(10), Fraction(1, 1000), Terms(site_wide_keys=True))
        reserve(make_study("one", "a"), ledger, request(1, "7"))
        reserve(make_study("two", "b"), ledger, request(1, "7"))
        make_study("both", "ab")
        both = tmp_path / "both"
        with (both / "study.toml").open("a") as study_file:
            study_file.write('[linkage]\npeople = "people.csv"\n')
        (both / "people.csv").write_text("patient,person,undecided\na,1,\nb,1,\n")
        for ask in (budget_standing, lambda *one: reserve(one[0], ledger, one[1])):
            with pytest.raises(BudgetError, match="one roster key a person") as refusal:
                ask(load_study(both), request(1, "1"))
            assert "1 further keys" in str(refusal.value)
        (both / "people.csv").write_text("patient,person,undecided\na,1,\nb,2,\n")
        assert reserve(load_study(both), ledger, request(2, "3")).prior_releases == 2


class TestAnchor:
    def test_it_lies_beside_the_internal_folder_for_the_owner_only(self, make_study) -> None:
        study = make_study()
        ledger = open_ledger(study)
        assert not anchor_file(study).exists()
        charge = reserve(study, ledger, request())
        file = anchor_file(study)
        assert file.parent == study.path("internal").parent
        assert file.stat().st_mode & 0o777 == 0o600
        document = json.loads(file.read_text())
        assert document["number"] == charge.entry == 1
        assert ledger.state().head not in file.read_text()

    def test_the_ledger_may_go_on(self, make_study) -> None:
        study, other = make_study("one"), make_study("two")
        reserve(study, open_ledger(study), request())
        reserve(other, open_ledger(other), request())
        assert reserve(study, open_ledger(study), request()).entry == 3

    def test_an_old_copy_is_refused(self, make_study, tmp_path) -> None:
        study, path = make_study(), tmp_path / "ledger.sqlite"
        reserve(study, open_ledger(study), request())
        shutil.copy(path, tmp_path / "backup")
        reserve(study, open_ledger(study), request())
        shutil.copy(tmp_path / "backup", path)
        for attempt in (lambda: open_ledger(study), lambda: budget_standing(study, request())):
            with pytest.raises(BudgetError, match="The ledger was replaced, or an old copy"):
                attempt()

    def test_a_ledger_that_vanished_is_not_started_anew(self, make_study, tmp_path) -> None:
        study, path = make_study(), tmp_path / "ledger.sqlite"
        reserve(study, open_ledger(study), request())
        path.unlink()
        with pytest.raises(BudgetError, match="what was spent stays spent"):
            open_ledger(study)
        assert not path.exists()

    @pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"number": 1}'])
    def test_a_broken_anchor_is_refused(self, make_study, content) -> None:
        study = make_study()
        open_ledger(study)
        anchor_file(study).write_bytes(content)
        with pytest.raises(BudgetError, match="ledger anchor"):
            open_ledger(study)

    def test_where_it_cannot_be_written_nothing_is_released(self, make_study, tmp_path) -> None:
        study = make_study()
        ledger = open_ledger(study)
        anchor_file(study).mkdir()  # a folder in its place
        with pytest.raises(BudgetError, match="Nothing was released, but the budget is spent"):
            reserve(study, ledger, request())
        assert ledger.state().spent[0] == 1


def test_a_ledger_on_a_server_is_named_by_its_url(make_study) -> None:
    url = "postgresql+psycopg://ledger.hospital.example/neuroveil"
    assert ledger_location(make_study(ledger=url)) == url
