"""Release folders of every kind: written, signed, verified, described, exported."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from neuroveil.cli.app import run
from neuroveil.errors import CertificateError, StudyError
from neuroveil.keys import create_key
from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.pipeline.signing import signing_key
from neuroveil.privacy import ProtectSettings, charge_request
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.registry_export import OPEN, registry_entry
from neuroveil.privacy.releasing import release_any
from neuroveil.privacy.settings import Postprocessing, Projection
from neuroveil.privacy.verify import verify
from neuroveil.reference import default_reference
from neuroveil.study import Study
from neuroveil.study.model import OutputSettings

ROOT = Path(__file__).resolve().parents[3]
BOOK = CodebookOptions(4096)
NO_STEPS = Postprocessing("none", inverse_scaling=False)
KINDS: dict[str, ProtectSettings] = {
    "gaussian": ProtectSettings("gaussian", 1.0, 1e-5, 2.0, postprocessing=NO_STEPS),
    "gaussian, estimated": ProtectSettings("gaussian", 1.0, 1e-5, 2.0),
    "laplace, shrunk": ProtectSettings(
        "laplace", 1.0, 0.0, 2.0, postprocessing=Postprocessing("james_stein")
    ),
    "codewords": ProtectSettings("privunit", 5.0, 0.0, 2.0, codebook=BOOK),
    "a codebook a row": ProtectSettings(
        "privunit", 5.0, 0.0, 2.0, codebook=CodebookOptions(4096, fresh_per_row=True)
    ),
    "projected": ProtectSettings(
        "privunit", 5.0, 0.0, 2.0, codebook=BOOK, projection=Projection(4),
        postprocessing=Postprocessing(clamp=5.0),
    ),
    "shuffled": ProtectSettings(
        "privunit", 2.0, 1e-5, 2.0, codebook=BOOK, projection=Projection(3),
        trust_model="shuffled",
    ),
    "central": ProtectSettings("mean_covariance", 2.0, 1e-5, 2.0, trust_model="central"),
}  # fmt: skip


@pytest.fixture
def write(table: Any, columns: Any, tmp_path: Path) -> Any:
    """Make and write a release; takes settings and a key."""

    def made(settings: ProtectSettings, key: Any = None) -> Path:
        ledger = Ledger.create(tmp_path / "book.sqlite", Fraction(10), Fraction(1, 1000))
        charge = ledger.reserve(charge_request(settings, columns, table.n_patients))
        scaling = default_reference("harmonised").scaling_for(columns)
        target = tmp_path / "shared"
        write_release(release_any(table, scaling, settings, charge), target, key)
        return target

    return made


def certificate(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "certificate.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_folder_verifies_and_validates(write: Any, settings: ProtectSettings) -> None:
    """Two implementations of one contract, and the published schema, on the same files."""
    folder = write(settings)
    result = verify(folder)
    assert result.exit_code == 0, [c for c in result.checks if c.outcome != "holds"]
    schema = json.loads((ROOT / "docs" / "certificate.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(certificate(folder))


def test_signed_folder_holds_for_its_key_only(write: Any, tmp_path: Path) -> None:
    key, other = (create_key(tmp_path / name) for name in ("site.key", "other.key"))
    folder = write(KINDS["gaussian"], key)
    assert certificate(folder)["signature"]["public_key"] == key.public_key
    assert verify(folder, key.public_key).exit_code == 0
    assert verify(folder, other.public_key).broken_links == ("signature",)
    (folder / "report.html").write_text("changed", encoding="utf-8")
    assert verify(folder, key.public_key).broken_links == ("release",)


def test_verify_on_the_command_line(write: Any, tmp_path: Path, capsys: Any) -> None:
    key = create_key(tmp_path / "site.key")
    folder = str(write(KINDS["codewords"], key))
    public, other = tmp_path / "site.pub", tmp_path / "other.pub"
    public.write_text(key.public_key, encoding="ascii")
    other.write_text("00" * 32, encoding="ascii")
    assert run(["verify", folder, "--public-key", str(public)]) == 0
    assert key.fingerprint in capsys.readouterr().out
    assert run(["verify", folder, "--public-key", str(other)]) == 4
    assert "another key" in capsys.readouterr().out
    assert run(["verify", folder, "--previous", f"{folder}/certificate.json"]) == 4
    assert "does not follow" in capsys.readouterr().out


# The key that a study names.


def study(tmp_path: Path, key: str | None) -> Study:
    return Study(output=OutputSettings(signing_key=key), root=tmp_path)


def test_key_of_a_study_is_opened_beside_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create_key(tmp_path / "site.key")
    assert signing_key(study(tmp_path, None)) is None
    opened = signing_key(study(tmp_path, "site.key"))
    assert opened is not None
    assert opened.public_key == made.public_key
    with pytest.raises(StudyError, match="can be read"):
        signing_key(study(tmp_path, "absent.key"))
    monkeypatch.setattr("neuroveil.keys.sealing.SCRYPT_COST", 1 << 10)
    create_key(tmp_path / "locked.key", "a phrase")
    with pytest.raises(StudyError, match="passphrase"):
        signing_key(study(tmp_path, "locked.key"))
    monkeypatch.setenv("NEUROVEIL_KEY_PASSPHRASE", "a phrase")
    assert signing_key(study(tmp_path, "locked.key")) is not None


def test_key_never_lies_in_the_release_folder() -> None:
    output = OutputSettings.model_construct(
        internal="internal", release="release", signing_key="release/site.key"
    )
    assert [mistake.where for mistake in output.mistakes()] == ["output.signing_key"]


# The registry of deployments.


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_export_is_yaml_in_the_words_of_the_registry(
    write: Any, tmp_path: Path, settings: ProtectSettings, capsys: Any
) -> None:
    file = tmp_path / "entry.yaml"
    assert run(["verify", str(write(settings)), "--export-registry", str(file)]) == 0
    capsys.readouterr()
    entry = read_yaml(file.read_text("utf-8"))["deployment"]
    assert set(entry) == {
        "basic", "dp_variant", "privacy_loss", "deployment_model", "implementation",
        "administrative",
    }  # fmt: skip
    assert entry["dp_variant"]["variant_name"] in {"Pure DP", "Approximate DP"}
    assert entry["deployment_model"]["model_name"] in {"Local", "Shuffle", "Central"}
    parameters = entry["privacy_loss"]["privacy_parameters"]
    assert parameters["epsilon"] == settings.epsilon
    assert parameters.get("delta", 0) == settings.delta
    assert entry["basic"]["data_curators"][0]["data_curator_name"] == OPEN
    assert entry["administrative"]["tier"] == 3


def test_only_what_holds_is_exported(write: Any, tmp_path: Path, capsys: Any) -> None:
    folder, file = write(KINDS["gaussian"]), tmp_path / "entry.yaml"
    document = certificate(folder)
    document["chain"]["mechanism"]["noise_scale"]["value"] /= 2
    (folder / "certificate.json").write_text(json.dumps(document), encoding="utf-8")
    assert run(["verify", str(folder), "--export-registry", str(file)]) == 4
    assert "one that holds" in capsys.readouterr().err
    assert not file.exists()


def test_certificate_without_a_guarantee_has_no_entry(release: Any) -> None:
    from dataclasses import replace

    with pytest.raises(CertificateError, match="with a guarantee"):
        registry_entry(replace(release.certificate, formal_guarantee=False))


def read_yaml(text: str) -> dict[str, Any]:
    """Read nested objects, lists of objects and JSON scalars, by their indentation."""
    lines = [line for line in text.splitlines() if line.strip()]

    def block(place: int, depth: int) -> tuple[Any, int]:
        found: dict[str, Any] = {}
        items: list[Any] = []
        while place < len(lines):
            line = lines[place]
            indent = len(line) - len(line.lstrip())
            if indent < depth:
                break
            if line.lstrip().startswith("- "):
                lines[place] = line.replace("- ", "  ", 1)
                if '": ' in line or ":" in line.partition('"')[0]:
                    item, place = block(place, indent + 2)
                else:
                    item, place = json.loads(lines[place]), place + 1
                items.append(item)
                continue
            key, _, value = line.strip().partition(":")
            if value.strip():
                found[key], place = json.loads(value), place + 1
            else:
                found[key], place = block(place + 1, indent + 1)
        return items or found, place

    result: dict[str, Any] = block(0, 0)[0]
    return result
