"""Codewords, public components and shuffled rows, from study file to verified folder."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from neuroveil.privacy.codebook.vectors import Codebook

pytestmark = pytest.mark.slow

NAMES = (
    "line_length", "root_mean_square", "variance", "zero_crossing_rate", "delta_power",
    "theta_power", "alpha_power", "beta_power", "gamma_power", "spectral_edge_frequency_95",
)  # fmt: skip
"""What the built-in reference covers; high gamma is not part of it."""


def write(study: Path, privacy: str, more: str = "") -> None:
    names = ", ".join(f'"{name}"' for name in NAMES)
    study.write_text(
        f"""
[input]
layout = "bids"
folder = "cohort"
population = "adults"
[features]
names = [{names}]
[privacy]
{privacy}
[privacy.budget]
epsilon = 20.0
delta = 1e-4
{more}
"""
    )


def facts(folder: Path) -> dict:
    chain = json.loads((folder / "certificate.json").read_text())["chain"]
    return {
        f"{link}.{name}": f["value"] for link, found in chain.items() for name, f in found.items()
    }


def test_an_automatic_release_says_why_verifies_and_decodes(neuroveil, study):
    write(study, 'mechanism = "auto"\nprojection = "auto"\nepsilon = 5.0\ndelta = 1e-5')
    folder = study.parent / "release"
    check = neuroveil("check", study, "--json").json["release"]
    assert check["mechanism"] == "privunit"
    assert check["spends"] == {"epsilon": 5.0, "delta": 0.0}
    dry = neuroveil("release", study, "--dry-run", "--json").json
    assert dry["choice"] == check["choice"]
    assert check["choice"] in neuroveil("check", study).out

    release = neuroveil("release", study, "--json")
    assert release.code == 0, release.err
    assert release.json["verdict"] == (
        "Differentially private for every patient: epsilon = 5, delta = 0."
    )
    verify = neuroveil("verify", folder, "--json")
    assert verify.code == 0, verify.out

    value = facts(folder)
    assert value["mechanism.choice"] == check["choice"]
    m = value["bound.dimension"]
    assert value["preprocessing.projection"]["params"]["components"] == m < 190
    table = pd.read_csv(folder / "table.csv")
    assert list(table) == [f"component_{number}" for number in range(1, m + 1)]
    messages = pd.read_csv(folder / "messages.csv", dtype={"seed": str})
    seed = bytes.fromhex(value["mechanism.codebook_seed"])
    assert set(messages["seed"]) == {seed.hex()}
    book = Codebook(seed, value["mechanism.codebook_size"], m + 1)
    decoded = book.vectors(messages["number"].to_numpy())[:, :m] * value["mechanism.decoding_scale"]
    np.testing.assert_array_equal(decoded, table.to_numpy())

    estimated = pd.read_csv(folder / "table_estimated.csv")
    assert estimated.shape == (5, 190)
    pd.testing.assert_frame_equal(
        estimated, pd.read_parquet(folder / "table_estimated.parquet"), check_exact=True
    )
    # Features in their own units: alpha powers of microvolts squared, edges below 70 Hz.
    assert estimated.filter(like="alpha_power").min(axis=None) > 0
    assert estimated.filter(like="spectral_edge").max(axis=None) < 70
    units = json.loads((folder / "table_estimated.json").read_text())["Columns"]
    assert units["Cz__alpha_power"]["Units"] == "µV²"
    statement = (folder / "STATEMENT.md").read_text()
    assert "public codewords" in statement
    assert "table_estimated.csv" in statement
    internal = neuroveil("report", folder, "--study", study, "--out", study.parent / "page.html")
    assert internal.code == 0, internal.err


def test_shuffled_rows_name_whom_they_trust(neuroveil, study):
    write(study, 'mechanism = "auto"\ntrust_model = "shuffled"\nprojection = "public_pca"\n'
          "components = 3\nepsilon = 2.0")  # fmt: skip
    folder = study.parent / "release"
    release = neuroveil("release", study, "--json")
    assert release.code == 0, release.err
    assert release.json["verdict"] == (
        "Differentially private for every patient, given a trusted shuffler: epsilon = 2, "
        "delta = 1e-05."
    )
    assert neuroveil("verify", folder).code == 0
    value = facts(folder)
    assert value["model.trust"] == "shuffled"
    assert value["amplification.bound"] == "privacy_blanket"
    assert value["amplification.batch"] == 5
    assert value["amplification.epsilon_local"] >= 2.0
    assert value["amplification.delta_bound"] <= value["guarantee.delta"] == 1e-5
    words = (folder / "STATEMENT.md").read_text()
    assert "whoever shuffled its rows" in words
    assert "that person" in words
    ledger = neuroveil("ledger", "show", study.parent / "ledger.sqlite", "--json").json
    assert ledger["spent"] == {"epsilon": 2.0, "delta": 1e-5}


def test_every_row_can_have_a_codebook_of_its_own(neuroveil, study):
    write(study, 'mechanism = "privunit"\nprojection = "public_pca"\nepsilon = 1.0\n'
          "codebook_per_row = true\nlargest_codebook = 4096")  # fmt: skip
    folder = study.parent / "release"
    assert neuroveil("release", study).code == 0
    assert neuroveil("verify", folder).code == 0
    assert facts(folder)["mechanism.codebook_seed"] is None
    assert pd.read_csv(folder / "messages.csv", dtype={"seed": str})["seed"].nunique() == 5


def test_a_codeword_that_was_exchanged_is_found(neuroveil, study):
    """Also by somebody who corrects the digest: the table no longer follows from the message."""
    import hashlib

    write(study, 'mechanism = "privunit"\nprojection = "public_pca"\nepsilon = 5.0')
    folder = study.parent / "release"
    assert neuroveil("release", study).code == 0
    messages = folder / "messages.csv"
    lines = messages.read_text().splitlines()
    seed, number = lines[1].split(",")
    lines[1] = f"{seed},{(int(number) + 1) % facts(folder)['mechanism.codebook_size']}"
    messages.write_text("\n".join(lines) + "\n")
    certificate = folder / "certificate.json"
    document = json.loads(certificate.read_text())
    digest = hashlib.sha256(messages.read_bytes()).hexdigest()
    document["release"]["messages.csv"] = f"sha256:{digest}"
    certificate.write_text(json.dumps(document))
    verify = neuroveil("verify", folder)
    assert verify.code == 4
    assert "messages" in verify.everything


@pytest.mark.parametrize(
    ("privacy", "more", "code", "where"),
    [
        ('mechanism = "privunit"\nepsilon = 1.0\nseed = 7', "", 2, "privacy.seed"),
        ('mechanism = "gaussian"\nepsilon = 1.0\ndelta = 0.01', "", 2, "delta_justification"),
        ('mechanism = "privunit"\nepsilon = 2000.0', "", 4, "privacy.epsilon"),
        ('mechanism = "privunit"\nepsilon = 1e-9', "", 4, "privacy.epsilon"),
        ('mechanism = "gaussian"\nepsilon = 1.0\ndelta = 1e-20', "", 4, "privacy.delta"),
        (
            'mechanism = "privunit"\nepsilon = 1.0\nprojection = "public_pca"\ncomponents = 191',
            "", 4, "privacy.components",
        ),
        (
            'mechanism = "auto"\nepsilon = 1.0\ntrust_model = "shuffled"',
            '[[labels]]\ncolumn = "sex"\npolicy = "randomised_response"\n'
            'categories = ["F", "M"]\nepsilon = 1.0',
            2, "labels",
        ),
    ],
    ids=["seed", "large delta", "large epsilon", "tiny epsilon", "tiny delta", "components",
         "labels"],
)  # fmt: skip
def test_refusals_spend_nothing(neuroveil, study, privacy, more, code, where):
    write(study, privacy, more)
    answer = neuroveil("release", study)
    assert answer.code == code, answer.everything
    assert where in answer.everything
    assert not (study.parent / "release").exists()
    assert not (study.parent / "ledger.sqlite").exists()


def test_a_basis_needs_a_reference_for_every_column(neuroveil, study):
    """High gamma is not in the built-in reference; nothing is extracted or spent."""
    text = 'mechanism = "privunit"\nprojection = "public_pca"\nepsilon = 5.0'
    write(study, text)
    study.write_text(
        study.read_text().replace('names = ["line', 'names = ["high_gamma_power", "line')
    )
    answer = neuroveil("release", study)
    assert answer.code == 4
    assert "19 columns outside the reference" in answer.everything
    assert not (study.parent / "internal").exists()
