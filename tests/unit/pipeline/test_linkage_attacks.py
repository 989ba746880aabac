import pytest

from neuroveil.errors import StudyError
from neuroveil.linkage.schema import LinkageSchema
from neuroveil.pipeline.linkage_attacks import attack_schema, with_hardening
from neuroveil.study.validation import validated

pytestmark = pytest.mark.slow


@pytest.fixture
def make_schema():
    def make(*names: str) -> LinkageSchema:
        kinds = {"birth_date": "date"}
        fields = [{"name": name, "kind": kinds.get(name, "name")} for name in names]
        return validated(LinkageSchema, {"name": "attacked", "field": fields})

    return make


def test_every_attack_is_run_on_the_schemas_own_hardening(make_schema):
    schema = with_hardening(make_schema("surname", "birth_date"), ("xor_fold", "blip"))
    attacked = attack_schema(schema, 60, 30)
    assert attacked.hardening == ("xor_fold", "blip")
    assert [outcome.attack for outcome in attacked.outcomes] == [
        "frequency alignment", "pattern mining, pieces", "pattern mining, values",
        "graph matching", "encoding a list, with the keys",
    ]  # fmt: skip
    assert attacked.outcomes[-1].success > 0.9
    assert attacked.as_dict()["hardening"] == ["xor_fold", "blip"]


def test_another_hardening_changes_nothing_else(make_schema):
    schema = make_schema("surname")
    other = with_hardening(schema, ("rule_90",))
    assert other.encoding.hardening == ("rule_90",)
    assert other.field == schema.field
    assert other.encoding.length == schema.encoding.length
    assert schema.encoding.hardening == ()


def test_fields_that_made_up_people_lack_are_named(make_schema):
    with pytest.raises(StudyError, match="maiden_name"):
        attack_schema(make_schema("surname", "maiden_name"), 60, 30)
    with pytest.raises(StudyError, match="graph matching"):
        attack_schema(make_schema("surname"), 60, 61)
