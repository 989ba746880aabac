"""Audits of real releases: every mechanism and trust model, through the ledger and the folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from neuroveil.audit.table.attacks import TABLE_ATTACKS
from neuroveil.audit.table.effort import Effort
from neuroveil.cli.app import run
from neuroveil.errors import CertificateError, RecordingError, StudyError
from neuroveil.ledger import Ledger
from neuroveil.pipeline.audit_inputs import load_frame, read_feature_table
from neuroveil.pipeline.audit_table import TableAuditInputs, audit_table, planned
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import (
    ProtectSettings,
    charge_request,
    private_statistics_scaling,
    scale_rows,
)
from neuroveil.privacy.central.dp_scaling import ScalingBudget
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.releasing import release_any
from neuroveil.privacy.settings import Projection
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.table import FeatureTable

COLUMNS = columns_for(("Fp1", "Cz", "O2"), ("variance", "alpha_power", "zero_crossing_rate"))
EFFORT = Effort("test", n_trials=400, n_links=120, n_bootstraps=50, cells=100_000_000)
GAUSSIAN = ProtectSettings("gaussian", 1.0, 1e-5, 2.0)
Made = tuple[Path, Path]


def made_up(n_patients: int = 6, seed: int = 4) -> FeatureTable:
    values = 10 ** np.random.default_rng(seed).normal(1, 0.3, (n_patients, len(COLUMNS)))
    return FeatureTable(
        patients=tuple(f"secret-{i}" for i in range(n_patients)), columns=COLUMNS, values=values,
        n_windows=np.full(n_patients, 30), seconds=np.full(n_patients, 31.0),
    )  # fmt: skip


def of_scaled(rows: FloatArray) -> FeatureTable:
    """A table whose rows are these after scaling by the public constants."""
    scaling = default_reference("harmonised").scaling_for(COLUMNS)
    values = scaling.centre + scaling.spread * rows
    log10 = [column.scale == "log10" for column in COLUMNS]
    values[:, log10] = 10 ** values[:, log10]
    return replace(made_up(len(rows)), values=values)


def write_table(table: FeatureTable, file: Path) -> Path:
    frame = pd.DataFrame(table.values, columns=[column.name for column in table.columns])
    frame.insert(0, "patient", table.patients)
    frame["n_windows"], frame["seconds"] = table.n_windows, table.seconds
    for name, values in table.attributes.items():
        frame[name] = values
    if file.suffix == ".parquet":
        frame.to_parquet(file, index=False)
    else:
        frame.to_csv(file, index=False)
    return file


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Made]:
    """A release folder and the feature table behind it."""

    def made(settings: ProtectSettings, table: FeatureTable | None = None) -> Made:
        table = made_up() if table is None else table
        scaling = default_reference("harmonised").scaling_for(table.columns)
        if settings.acknowledge_private_statistics:
            scaling = private_statistics_scaling(table)
        ledger = Ledger.create(tmp_path / "ledger.sqlite", Fraction(1000), Fraction(1, 1000))
        charge = ledger.reserve(charge_request(settings, table.columns, table.n_patients))
        write_release(release_any(table, scaling, settings, charge), tmp_path / "release")
        (tmp_path / "internal").mkdir()
        return tmp_path / "release", write_table(table, tmp_path / "internal" / "features.parquet")

    return made


pytestmark = pytest.mark.slow

SETTINGS = {
    "gaussian": GAUSSIAN,
    "laplace": ProtectSettings("laplace", 2.0, 0.0, 2.0),
    "laplace, l1": ProtectSettings("laplace", 2.0, 0.0, 2.0, "l1"),
    "privunit": ProtectSettings("privunit", 4.0, 0.0, 2.0),
    "projected": ProtectSettings("privunit", 4.0, 0.0, 2.0, projection=Projection(4)),
    "projected gaussian": replace(GAUSSIAN, projection=Projection(4)),
    "shuffled": ProtectSettings("privunit", 2.0, 1e-5, 2.0, trust_model="shuffled"),
    "codebook a row": ProtectSettings(
        "privunit", 4.0, 0.0, 2.0, projection=Projection(3),
        codebook=CodebookOptions(fresh_per_row=True),
    ),
    "central": ProtectSettings("mean_covariance", 1.0, 1e-5, 2.0, trust_model="central"),
    "drawn scaling": ProtectSettings(
        "gaussian", 1.0, 5e-6, 2.0, trust_model="central",
        scaling_budget=ScalingBudget(400.0, 5e-6),
    ),
    "private scaling": replace(GAUSSIAN, acknowledge_private_statistics=True),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_every_release_can_be_attacked(make: Callable[..., Made], name: str) -> None:
    """The claim holds, so no bound may lie above it; at 99.99 % confidence (seeded draws)."""
    frame = load_frame(*make(SETTINGS[name]))
    release, unprotected, paper = frame.targets
    assert (unprotected.name, paper.name) == ("unprotected", "paper")
    for attack in TABLE_ATTACKS:
        if attack.obstacle(frame, release):
            assert name == "central" or attack.name == "attributes"  # nothing to guess is named
            continue
        result = attack.run(frame, release, EFFORT, None)
        assert result.verdict != "violated"
        assert result.settings["mechanism"] == release.channel.name
        assert json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", ["shuffled", "central"])
def test_an_audit_is_written_whole_and_stays_inside(
    make: Callable[..., Made], tmp_path: Path, name: str
) -> None:
    release, table = make(SETTINGS[name])
    audit = audit_table(TableAuditInputs(release, table), tmp_path / "audit", EFFORT)
    targets = [result.target for result in audit.results if result.attack == "membership"]
    assert targets == ["release", "unprotected", "paper"]
    document = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert document["internal"] is True
    assert document["verdict"] == audit.verdict != "violated"
    pages = [page.name for page in (tmp_path / "audit").glob("*.html")]
    attacks = {attack.name for attack in TABLE_ATTACKS} - {"attributes"}  # nothing is named
    if name == "central":  # there are no rows
        attacks = {"membership"}
    assert sorted(pages) == sorted(["index.html", *(f"{attack}.html" for attack in attacks)])
    for file in (tmp_path / "audit").iterdir():
        assert "secret-" not in file.read_text()
    assert (tmp_path / "audit").stat().st_mode & 0o077 == 0


def test_an_interrupted_audit_goes_on(make: Callable[..., Made], tmp_path: Path) -> None:
    release, table = make(GAUSSIAN)
    inputs, folder, only = TableAuditInputs(release, table), tmp_path / "audit", ("linkage",)
    seen: list[str] = []

    def stop_at_the_paper(done: int, total: int, what: str) -> None:
        seen.append(what)
        if what == "linkage, paper":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_table(inputs, folder, EFFORT, only, stop_at_the_paper)
    assert set(seen) == {"linkage, release", "linkage, unprotected", "linkage, paper"}
    seen.clear()
    audit = audit_table(inputs, folder, EFFORT, only, lambda *news: seen.append(news[2]))
    assert set(seen) == {"linkage, paper"}
    again = audit_table(inputs, tmp_path / "other", EFFORT, only)
    assert again.to_json() == audit.to_json()  # the same as without the interruption


def test_order_that_was_kept_scores_the_released_rows(
    make: Callable[..., Made], tmp_path: Path
) -> None:
    """At epsilon = 500 a released row is as good as the row itself, so the order is found.

    Rows along different axes are 19 standard deviations of the noise apart: two of them are
    taken for each other with a chance of 1e-20.
    """
    far_apart = of_scaled(np.eye(6, len(COLUMNS)) * 5.0)
    release, table = make(ProtectSettings("gaussian", 500.0, 1e-5, 2.0), far_apart)
    frame = load_frame(release, table)
    target = frame.targets[0]
    assert frame.released is not None
    guessed = target.candidates.all(frame.released).argmax(axis=1)
    order = tmp_path / "internal" / "order.txt"
    order.write_text("\n".join(frame.table.patients[row] for row in guessed))
    audit = audit_table(
        TableAuditInputs(release, table, order=order), tmp_path / "audit", EFFORT, ("linkage",)
    )
    figure = audit.results[0].figure("rank_1_of_the_release")
    assert (figure.value, figure.n) == (1.0, 6)
    order.write_text("secret-1\nsecret-1")
    with pytest.raises(RecordingError, match="each of 6 patients once"):
        load_frame(release, table, order=order)


def test_a_reference_of_another_hospital_may_lack_columns(
    make: Callable[..., Made], tmp_path: Path
) -> None:
    release, table = make(GAUSSIAN)
    frame = pd.read_parquet(table).drop(columns=["O2__alpha_power", "n_windows"])
    frame = pd.concat([frame.iloc[1:], frame.iloc[:1].assign(patient="somebody else")])
    other = tmp_path / "internal" / "other.csv"
    frame.to_csv(other, index=False)
    audit = audit_table(
        TableAuditInputs(release, table, other), tmp_path / "audit", EFFORT, ("linkage",)
    )
    found = {result.target: result for result in audit.results}
    assert found["unprotected"].figure("rank_1").n == 5
    assert found["unprotected"].figure("rank_1").value == 1.0
    assert found["release"].settings["reference"] == "another session"
    stranger = frame.assign(patient=[f"stranger {i}" for i in range(6)])
    stranger.to_csv(other, index=False)
    with pytest.raises(RecordingError, match="at least one patient"):
        audit_table(
            TableAuditInputs(release, table, other), tmp_path / "audit", EFFORT, ("linkage",)
        )


def test_a_tampered_release_is_not_attacked(make: Callable[..., Made], tmp_path: Path) -> None:
    release, table = make(GAUSSIAN)
    (release / "STATEMENT.md").write_text("We promise epsilon = 0.")
    with pytest.raises(CertificateError, match="neuroveil verify"):
        audit_table(TableAuditInputs(release, table), tmp_path / "audit", EFFORT)


def test_internal_pages_stay_out_of_releases(make: Callable[..., Made]) -> None:
    release, table = make(GAUSSIAN)
    with pytest.raises(StudyError, match="outside every release folder"):
        audit_table(TableAuditInputs(release, table), release / "audit", EFFORT)


def test_a_dry_run_says_what_would_be_run(make: Callable[..., Made], tmp_path: Path) -> None:
    release, table = make(SETTINGS["central"])
    runs, skipped, n_patients = planned(TableAuditInputs(release, table))
    assert n_patients == 6
    assert "membership, release" in runs
    assert ("linkage", "sums of all patients are released, and nobody's row") in skipped
    assert sorted(path.name for path in (tmp_path / "internal").iterdir()) == ["features.parquet"]


class TestTables:
    """What is refused, and what is read whatever it looks like."""

    @pytest.mark.parametrize("name", ["gaussian", "laplace", "projected gaussian"])
    def test_of_another_session(self, make: Callable[..., Made], tmp_path: Path, name: str) -> None:
        """The opposite values of the same people, under little noise. Missed with 1e-20."""
        scaling = default_reference("harmonised").scaling_for(COLUMNS)
        release, table = make(replace(SETTINGS[name], epsilon=200.0))
        assert load_frame(release, table).n_patients == 6
        opposite = of_scaled(-scale_rows(made_up(), scaling))
        other = write_table(opposite, tmp_path / "other.parquet")
        with pytest.raises(RecordingError, match="farther from it than its noise reaches"):
            load_frame(release, other)

    def test_of_another_cohort(self, make: Callable[..., Made], tmp_path: Path) -> None:
        release, _ = make(GAUSSIAN)
        other = write_table(made_up(7), tmp_path / "other.parquet")
        with pytest.raises(RecordingError, match="6 patients, as the certificate states"):
            load_frame(release, other)

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    def test_odd_names_and_missing_cells(self, tmp_path: Path, suffix: str) -> None:
        columns = columns_for(("Fp1 [µV]", "電極 (左), 2", "A-B__C"), ("variance", "alpha_power"))
        values = np.exp(np.random.default_rng(0).normal(size=(3, 6)))
        values[1, 2] = np.nan
        table = FeatureTable(
            ("007", "1e5", "NaN"), columns, values, np.ones(3, dtype=np.int64), np.ones(3),
            {"sex [m/f]": ("f", "m", "ö")},
        )  # fmt: skip
        file = write_table(table, tmp_path / f"table.{suffix}")
        if suffix == "csv":
            file.write_text(file.read_text().replace("NaN,", "n/a's,"))
        found = read_feature_table(file, columns)
        assert found.patients[:2] == ("007", "1e5")
        np.testing.assert_array_equal(found.values, values)
        assert found.attributes == table.attributes

    def test_refusals(self, tmp_path: Path) -> None:
        table, file = made_up(), tmp_path / "table.csv"
        frame = pd.read_csv(write_table(table, file))
        for change, message in (
            (frame.drop(columns="patient"), "a column 'patient'"),
            (frame.drop(columns="Cz__variance"), "all 9 feature columns"),
            (frame.assign(Cz__variance="high"), "numbers in every feature column"),
            (frame.assign(patient=["a", "a", "b", "c", "d", "e"]), "one row a patient"),
            (frame.assign(patient=["a", None, "b", "c", "d", "e"]), "a roster key in every row"),
            (frame.assign(Cz__variance=np.inf), "finite values"),
            (frame.assign(Cz__zero_crossing_rate=-1e308), "a feature of EEG can have"),
            (frame.assign(n_windows="many"), "counts of windows"),
            (frame.assign(n_windows=1e300), "counts of windows"),
            (frame.assign(seconds=np.inf), "counts of windows"),
            (frame.assign(seconds=-1.0), "counts of windows"),
        ):
            change.to_csv(file, index=False)
            with pytest.raises(RecordingError, match=message):
                read_feature_table(file, COLUMNS)
        file.write_bytes(b"\xff\xfe\x00\x81")
        with pytest.raises(RecordingError, match="Parquet, CSV or TSV"):
            read_feature_table(file, COLUMNS)


class TestCommand:
    """``neuroveil audit``, in this process."""

    def test_json_pages_and_exit_code(
        self, make: Callable[..., Made], capsys: pytest.CaptureFixture[str]
    ) -> None:
        release, table = make(GAUSSIAN)
        call = ["audit", str(release), "--table", str(table), "--only", "linkage", "--seed", "3"]
        assert run([*call, "--json", "--quiet"]) == 0
        spoken = capsys.readouterr()
        document = json.loads(spoken.out)
        assert spoken.err == ""
        assert document["verdict"] == "no_attack_succeeded"
        assert document["claim"]["epsilon"] == 1.0
        assert Path(document["pages"]).is_file()
        assert {each["settings"]["seed"] for each in document["results"]} == {3}

    def test_two_patients_end_with_5(
        self, make: Callable[..., Made], capsys: pytest.CaptureFixture[str]
    ) -> None:
        release, table = make(GAUSSIAN, made_up(2))
        assert (
            run(["audit", "table", str(release), "--table", str(table), "--only", "linkage"]) == 5
        )
        assert "Not testable" in capsys.readouterr().out

    def test_an_attribute_is_guessed_and_its_values_stay_unsaid(
        self, make: Callable[..., Made], capsys: pytest.CaptureFixture[str]
    ) -> None:
        release, table = make(GAUSSIAN)
        labels = table.with_name("labels.csv")
        lines = [f"secret-{row},unsaid {row % 2}" for row in range(6)]
        labels.write_text("\n".join(["patient,sex", *lines]))
        call = ["audit", str(release), "--table", str(table), "--only", "attributes"]
        assert run([*call, "--attribute", "sex", "--labels", str(labels), "--json"]) in {0, 5}
        spoken = capsys.readouterr()
        document = json.loads(spoken.out)
        assert [each["attack"] for each in document["results"]] == ["attributes"] * 3
        assert document["results"][0]["settings"]["attribute"] == "sex"
        assert "unsaid" not in spoken.out + spoken.err
        assert run(call) == 2
        assert "--attribute" in capsys.readouterr().err
        assert run([*call[:-2], "--labels", str(labels)]) == 2

    def test_dry_run_and_mistakes(
        self, make: Callable[..., Made], capsys: pytest.CaptureFixture[str]
    ) -> None:
        release, table = make(SETTINGS["central"])
        call = ["audit", str(release), "--table", str(table)]
        assert run([*call, "--dry-run", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["written"] is False
        assert document["n_patients"] == 6
        assert not (table.parent / "audit-table").exists()
        assert run([*call, "--only", "magic"]) == 2
        assert "membership" in capsys.readouterr().err
        assert run([*call, "--only", "linkage"]) == 2
        assert "sums of all patients" in capsys.readouterr().err
        assert run(["audit", str(table), "--table", str(table)]) == 4


def test_noise_that_settings_do_not_call_for_is_refused(make: Callable[..., Made]) -> None:
    """Scores by a wrong law would say nothing, so the mechanism has to follow from its settings."""
    release, table = make(GAUSSIAN)
    file = release / "certificate.json"
    document = json.loads(file.read_text())
    document["chain"]["mechanism"]["noise_scale"]["value"] *= 0.99
    file.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="the noise that its settings call for"):
        load_frame(release, table)


def test_a_released_table_of_another_shape_is_refused(make: Callable[..., Made]) -> None:
    release, table = make(GAUSSIAN)
    pd.read_parquet(release / "table.parquet").iloc[1:].to_parquet(release / "table.parquet")
    with pytest.raises(CertificateError, match="6 rows of 9 values"):
        load_frame(release, table)
