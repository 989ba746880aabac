import pytest

from neuroveil.errors import StudyError
from neuroveil.linkage.schema import load_schema

GOOD = """\
name = "sleep consortium"

[identifier]
column = "patient_number"
scheme = "no.fodselsnummer"

[[field]]
name = "surname"
column = "Etternavn"
kind = "name"
typical_grams = 8.0

[encoding]
hardening = ["xor_fold"]

[matching]
threshold = 0.75
"""


def test_a_schema_is_read_from_toml(tmp_path):
    file = tmp_path / "linkage.toml"
    file.write_text(GOOD)
    schema = load_schema(file)
    assert schema.identifier is not None
    assert schema.identifier.rules().scheme == "no.fodselsnummer"
    assert schema.field[0].column == "Etternavn"
    assert schema.encoding.hardening == ("xor_fold",)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"Etternavn"', '"Surname"', True),
        ("threshold = 0.75", "threshold = 0.9", True),
        ("[encoding]", '[encoding]\ndate_order = "mdy"', True),
        ('["xor_fold"]', "[]", False),
        ("typical_grams = 8.0", "typical_grams = 9.0", False),
        ('"no.fodselsnummer"', '"gb.nhs"', False),
    ],
)
def test_the_digest_covers_what_sites_must_set_alike(tmp_path, old, new, same):
    file = tmp_path / "linkage.toml"
    file.write_text(GOOD)
    digest = load_schema(file).digest
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    assert (load_schema(file).digest == digest) is same


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('kind = "name"', 'kind = "nam"', "field.1.kind.*Did you mean 'name'"),
        ('scheme = "no.fodselsnummer"', 'scheme = "norway"', "identifier.pattern"),
        ("threshold = 0.75", "threshold = 0.5", "review_from"),
        ('["xor_fold"]', '["xor_fold", "xor_fold"]', "encoding.hardening"),
        ("[encoding]", '[encoding]\nsalt_field = "birth"', "salt_field"),
        ("[encoding]", "[encoding]\nfil = 0.3", "encoding.fil.*'fill'"),
        ("[encoding]", "[encoding]\nlength = 1000", "encoding.length"),
        ('name = "sleep consortium"', "name = 7", "name"),
        ("[[field]]", "[[field", "valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, expected):
    file = tmp_path / "linkage.toml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(StudyError, match=expected):
        load_schema(file)


def test_all_mistakes_are_named_at_once(tmp_path):
    file = tmp_path / "linkage.toml"
    file.write_text(GOOD.replace('"name"', '"nam"').replace("0.75", "1.5"))
    with pytest.raises(StudyError) as caught:
        load_schema(file)
    assert len(caught.value.mistakes) == 2


def test_a_missing_file_and_an_empty_schema_are_refused(tmp_path):
    with pytest.raises(StudyError, match="no such file"):
        load_schema(tmp_path / "linkage.toml")
    (tmp_path / "empty.toml").write_text('name = "nobody"\n')
    with pytest.raises(StudyError, match="neither"):
        load_schema(tmp_path / "empty.toml")
