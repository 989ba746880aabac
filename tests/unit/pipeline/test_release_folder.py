"""Only a release can be written; it appears whole, and never over something else."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from neuroveil.errors import BudgetError, CertificateError, ChainError, StudyError
from neuroveil.ledger import Ledger
from neuroveil.pipeline import release_folder
from neuroveil.pipeline.claim import check_target
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import ProtectSettings, charge_request, protect, simulate
from neuroveil.privacy.verify import verify
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.certificate import certificate_from_json
from neuroveil.types.release import Release
from neuroveil.types.table import FeatureTable


def test_a_written_release_verifies_and_reads_back_to_the_bit(release, tmp_path):
    certificate = write_release(release, tmp_path / "release")
    assert verify(tmp_path / "release").exit_code == 0
    read = pd.read_csv(tmp_path / "release" / "table.csv")
    np.testing.assert_array_equal(read.to_numpy(), release.values)
    document = json.loads((tmp_path / "release" / "certificate.json").read_text())
    assert certificate_from_json(document) == certificate


@pytest.mark.parametrize(("clip_norm", "epsilon"), [(1e5, 1.0), (2.0, 1e-6)])
def test_small_tables_on_coarse_grids_verify(tmp_path, clip_norm, epsilon):
    """Values beyond 2^53 grid steps carry no odd bit; that is no sign of a wrong grid.

    Before, about half of such honest releases were called broken; now the chance of a false
    alarm over all eight is below 1e-5.
    """
    settings = ProtectSettings("gaussian", epsilon, 1e-7, clip_norm)
    columns = columns_for(("Cz", "Pz"), ("variance",))
    small = FeatureTable(
        patients=tuple(map(str, range(12))), columns=columns, values=np.ones((12, 2)),
        n_windows=np.ones(12, dtype=np.int64), seconds=np.ones(12),
    )  # fmt: skip
    scaling = default_reference("harmonised").scaling_for(columns)
    ledger = Ledger.create(tmp_path / "many.sqlite", Fraction(100), Fraction(1, 100))
    for number in range(4):
        charge = ledger.reserve(charge_request(settings, columns, 12))
        write_release(protect(small, scaling, settings, charge), tmp_path / f"r{number}")
        assert verify(tmp_path / f"r{number}").exit_code == 0


def test_nothing_but_a_release_is_written(table, release, tmp_path):
    settings = ProtectSettings(mechanism="gaussian", epsilon=1.0, delta=1e-5, clip_norm=2.0)
    scaling = default_reference("harmonised").scaling_for(table.columns)
    (simulation,) = simulate(table, scaling, settings, seed=1)
    for impostor in (table, simulation, release.values, release.certificate):
        with pytest.raises(CertificateError, match="Only what"):
            write_release(impostor, tmp_path / "release")  # type: ignore[arg-type]
    assert not (tmp_path / "release").exists()


def test_a_release_cannot_be_made_around_the_ledger(table, release):
    """Neither a charge that was used, nor one for other parameters, nor none at all."""
    settings = ProtectSettings(mechanism="gaussian", epsilon=1.0, delta=1e-5, clip_norm=2.0)
    with pytest.raises(BudgetError, match="already paid"):
        protect(table, release.scaling, settings, release.charge)
    with pytest.raises(ChainError, match="charge"):
        Release(
            release.columns, release.values, {}, release.scaling, release.certificate,
            charge=None,  # type: ignore[arg-type]
        )  # fmt: skip


def test_an_existing_target_is_refused(release, tmp_path):
    (tmp_path / "release").mkdir()
    with pytest.raises(StudyError, match="existing one"):
        check_target(tmp_path / "release")
    with pytest.raises(StudyError):
        write_release(release, tmp_path / "release")
    assert list((tmp_path / "release").iterdir()) == []


def test_other_values_are_not_what_the_charge_has_paid_for(release):
    """Neither raw rows nor a second draw pass for the draw that was charged."""
    with pytest.raises(ChainError, match="other values"):
        replace(release, values=release.values + 1.0)


def test_a_crash_while_writing_leaves_no_folder(release, tmp_path, monkeypatch):
    def fail(*_: object) -> str:
        raise OSError

    monkeypatch.setattr(release_folder, "statement", fail)
    with pytest.raises(OSError):  # noqa: PT011 - an OSError of the system has no fixed text
        write_release(release, tmp_path / "release")
    assert [entry.name for entry in tmp_path.iterdir()] == ["ledger.sqlite"]


def test_no_patient_key_in_any_file(release, tmp_path):
    write_release(release, tmp_path / "release")
    for file in (tmp_path / "release").iterdir():
        assert b"secret-" not in file.read_bytes(), file.name
