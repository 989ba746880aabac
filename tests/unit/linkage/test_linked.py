"""Several lists put together: people over all of them, and what nobody has decided."""

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage import linked
from neuroveil.linkage.encode import Allowances, check_patient_list, encode_patients
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService
from neuroveil.linkage.linked import match_all, resolve_people
from neuroveil.linkage.patient_list import PatientList

SERVICE = LocalKeyService(LinkageKey(bytes(range(32))))
FIELDS = [
    {"name": "given_name", "kind": "name", "typical_grams": 7},
    {"name": "surname", "kind": "name", "typical_grams": 8},
]
Person = tuple[str, str, str, str]  # local key, number, given name, surname


@pytest.fixture
def schema(make_schema):
    return make_schema(
        field=FIELDS, identifier={"column": "number", "scheme": "own", "pattern": "[0-9]+"}
    )


@pytest.fixture
def encode(schema):
    def make(*people: Person):
        keys, numbers, given, surnames = zip(*people, strict=True)
        fields = {"given_name": list(given), "surname": list(surnames)}
        listed = PatientList(keys, tuple(range(2, len(keys) + 2)), numbers, fields)
        return encode_patients(
            check_patient_list(listed, schema, Allowances(True, True)), schema, SERVICE
        )

    return make


def people_of(schema, *encoded, within=True):
    lists = [each.encoded for each in encoded]
    matched = match_all(lists, schema, within=within)
    resolved = resolve_people([each.n_records for each in lists], matched.matches, matched.review)
    numbers = {
        key: int(resolved.people.of_record[place][row])
        for place, each in enumerate(encoded)
        for key, row in each.rows.items()
    }
    return matched, resolved, numbers


NORTH = (("N1", "1", "Ingrid", "Sørensen"), ("N2", "2", "Olav", "Dahl"))
SOUTH = (("S1", "2", "Olav", "Dahl"), ("S2", "3", "Marit", "Kvåle"))
WEST = (("W1", "", "Ingird", "Soerensen"), ("W2", "3", "Marit", "Kvaale"))


def test_a_person_is_one_over_three_hospitals(schema, encode):
    matched, resolved, person = people_of(schema, encode(*NORTH), encode(*SOUTH), encode(*WEST))
    assert person["N2"] == person["S1"]
    assert person["S2"] == person["W2"]
    assert person["N1"] == person["W1"]
    assert resolved.counts() == {
        "records": 6, "people": 3, "conflicts": 0, "undecided": 0, "rows_per_person_max": 1,
    }  # fmt: skip
    assert matched.counts() == {"matches": 3, "exact": 2, "review": 0}


def test_two_keys_of_one_number_in_a_hospital_are_one_person(schema, encode):
    twice = encode(*NORTH, ("N3", "2", "Olav", "Dal"))
    matched, resolved, person = people_of(schema, twice, encode(*SOUTH))
    assert person["N2"] == person["N3"] == person["S1"]
    assert resolved.counts()["conflicts"] == 0
    assert (resolved.people.n_people, matched.n_exact) == (3, 2)


def test_undecided_people_share_a_group(schema, encode):
    """The same name under two numbers is for a person to decide."""
    north = encode(("N1", "1", "Kari", "Nordmann"), ("N2", "2", "Olav", "Dahl"))
    south = encode(("S1", "9", "Kari", "Nordmann"), ("S2", "3", "Marit", "Kvåle"))
    matched, resolved, _ = people_of(schema, north, south)
    assert matched.reasons[0, 1] == ["different_numbers"]
    groups = {
        key: int(resolved.undecided[place][row])
        for place, each in enumerate((north, south))
        for key, row in each.rows.items()
    }
    assert groups == {"N1": 1, "S1": 1, "N2": 0, "S2": 0}
    assert resolved.counts()["rows_per_person_max"] == 2


def test_blocking_finds_the_same_people(schema, encode, monkeypatch):
    lists = encode(*NORTH), encode(*WEST)
    _, _, person = people_of(schema, *lists)
    monkeypatch.setattr(linked, "ALL_PAIRS_UP_TO", 0)
    _, _, blocked = people_of(schema, *lists)
    assert blocked == person


def test_a_row_that_does_not_exist_is_refused():
    pairs = linked.ScoredPairs(np.array([5]), np.array([0]), np.ones(1))
    with pytest.raises(LinkageError, match="rows of list 1"):
        resolve_people([2, 2], {(0, 1): pairs}, {})


def test_each_list_is_searched_for_people_who_stand_there_twice(schema, encode):
    """Olav has no number the second time, and is in the other hospital besides."""
    north = encode(*NORTH, ("N3", "", "Olav", "Dahl"), ("N4", "", "Bjørn", "Lund"))
    matched, _, person = people_of(schema, north, encode(*SOUTH), within=False)
    assert person["N2"] == person["S1"] != person["N3"]
    assert matched.reasons[0, 1] == ["rival"]  # not lost, but for a person to decide
    matched, resolved, person = people_of(schema, north, encode(*SOUTH))
    assert person["N2"] == person["S1"] == person["N3"] != person["N4"]
    assert resolved.people.n_conflicts == 0
    assert set(matched.matches) == {(0, 0), (0, 1)}
    assert matched.n_exact == 1
    assert matched.counts()["review"] == 0  # settled inside the list
