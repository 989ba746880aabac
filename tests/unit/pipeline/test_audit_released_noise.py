"""An audit of a release folder measures the table that lies in it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from neuroveil.errors import CertificateError
from neuroveil.pipeline.audit_mechanism import QUICK, audit_mechanism
from neuroveil.pipeline.audit_targets import target_from_certificate
from neuroveil.pipeline.release_folder import write_release
from neuroveil.types.audit import AttackResult
from neuroveil.types.release import Release


@pytest.fixture
def folder(release: Release, tmp_path: Path) -> Path:
    write_release(release, tmp_path / "release")
    return tmp_path / "release"


def with_noise(folder: Path, factor: float) -> None:
    """Write the table again with other noise."""
    table = pd.read_parquet(folder / "table.parquet")
    (table * factor).to_parquet(folder / "table.parquet", index=False)


def measured(folder: Path) -> AttackResult:
    target = target_from_certificate(folder)
    audit = audit_mechanism(target, QUICK, folder.parent / "internal", ("noise_scale",))
    assert audit.results[0].figure("released_noise_scale").n == 54
    return audit.results[0]


def test_a_table_with_too_little_noise_is_found(folder: Path) -> None:
    """A third of the noise in 54 cells, missed with a probability below 1e-9."""
    with_noise(folder, 0.3)
    assert measured(folder).verdict == "violated"


def test_the_table_as_released_has_the_noise_that_it_should(folder: Path) -> None:
    """Exact noise. Outside of half and twice its scale with a probability below 1e-8."""
    scale = measured(folder).figure("released_noise_scale")
    assert scale.theory is not None
    assert 0.5 < scale.value / scale.theory < 2


def test_a_certificate_alone_has_no_table(folder: Path) -> None:
    assert target_from_certificate(folder / "certificate.json").released is None


def test_a_folder_without_its_table_is_refused(folder: Path) -> None:
    (folder / "table.parquet").unlink()
    with pytest.raises(CertificateError, match="table"):
        target_from_certificate(folder)
