"""From a file of patients to what the linkage unit receives, and what is refused on the way."""

import json
import random
import stat
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neuroveil.errors import LinkageError, PatientListError
from neuroveil.linkage.bloom import encode_records
from neuroveil.linkage.encode import Allowances, check_patient_list, encode_patients
from neuroveil.linkage.encoded_list import read_encoded, require_alike, write_encoded
from neuroveil.linkage.hardening import harden
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService
from neuroveil.linkage.patient_list import read_patient_list

SERVICE = LocalKeyService(LinkageKey(bytes(range(32))), bytes(32))
OTHER = LocalKeyService(LinkageKey(bytes(32)), bytes(32))
IDENTIFIER = {"column": "number", "scheme": "own", "pattern": "[0-9]{4}"}
HEADER = "patient,number,given_name,surname,birth_date,postcode,sex\n"
ROWS = (
    "P1,0001,Ingrid,Sørensen,1970-03-01,0455,F\n"
    "P2,0002,Olav,Dahl,24.12.1955,5003,M\n"
    "P3,0003,Ingrid,Soerenson,01.03.1970,0455,f\n"
)


@pytest.fixture
def schema(make_schema):
    return make_schema(identifier=IDENTIFIER)


@pytest.fixture
def listed(tmp_path, schema):
    def read(text: str, **options: str):
        file = tmp_path / "patients.csv"
        file.write_bytes(text.encode("utf-8-sig"))
        return read_patient_list(file, schema, **options)

    return read


@pytest.fixture
def encoded(listed, schema):
    checked = check_patient_list(listed(HEADER + ROWS), schema)
    return encode_patients(checked, schema, SERVICE, OTHER)


def problems(patients, schema) -> str:
    with pytest.raises(PatientListError) as caught:
        check_patient_list(patients, schema)
    assert len(caught.value.as_dict()["problems"]) == len(caught.value.problems)
    return str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_values_stay_text_whatever_separates_them(listed, delimiter):
    patients = listed((HEADER + ROWS).replace(",", delimiter))
    assert patients.patients == ("P1", "P2", "P3")
    assert patients.lines == (2, 3, 4)
    assert patients.numbers == ("0001", "0002", "0003")
    assert patients.fields["postcode"] == ["0455", "5003", "0455"]
    assert "0455" not in repr(patients)


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_line_ends_end_a_line(listed, schema, mark):
    """Python's ``splitlines`` also splits at these, and would tear the patient in two."""
    text = HEADER + ROWS.replace("Olav", f"Olav{mark}Tor") + "P9,x,A,B,1970-03-01,1,F\n"
    patients = listed(text)
    assert patients.patients == ("P1", "P2", "P3", "P9")
    assert patients.fields["given_name"][1] == f"Olav{mark}Tor"
    assert "identifier, line 5" in problems(patients, schema)


def test_lines_are_those_of_the_file_after_blank_lines_and_breaks_inside_values(listed, schema):
    text = HEADER + '\nP1,0001,"Ing\nrid",A,1970-03-01,0455,F\n\nP2,x,Olav,Dahl,no date,5003,M\n'
    patients = listed(text)
    assert patients.lines == (3, 6)
    said = problems(patients, schema)
    assert "identifier, line 6" in said
    assert "birth_date, line 6" in said


def test_every_bad_line_is_named_at_once_and_no_value_is_repeated(listed, schema):
    text = (
        HEADER + "P1,,Kari,Nord,1970-03-01,0455,F\nP2,12x4,Olav,Dahl,Christmas,5003,M\n"
        "P2,0003,A,B,1970-03-01,1,F\n,0004,,,,,\nP5,0003,A,B,1970-03-01,1,F\nP6,0006\n"
    )
    said = problems(listed(text), schema)
    for expected in (
        "identifier, line 2", "identifier, line 3", "birth_date, line 3", "patient key, line 4",
        "patient key, line 5", "fields, line 5", "identifier, line 6", "patient list, line 7",
    ):  # fmt: skip
        assert expected in said
    for value in ("12x4", "Christmas", "Kari", "P2", "0003"):
        assert value not in said


def test_many_problems_are_cut_for_people_and_kept_for_machines(listed, schema):
    text = HEADER + "".join(f"P{n},x,A,B,1970-03-01,1,F\n" for n in range(80))
    with pytest.raises(PatientListError) as caught:
        check_patient_list(listed(text), schema)
    assert "and 30 more" in str(caught.value)
    assert len(caught.value.as_dict()["problems"]) == 80


def test_duplicates_and_missing_numbers_are_accepted_where_that_is_said(listed, schema):
    text = HEADER + ROWS + "P4,00-01,Ingrid,Sørensen,1970-03-01,0455,F\nP5,,A,B,1970-03-01,1,F\n"
    said = problems(listed(text), schema)
    assert "the patient number of line 2" in said
    assert "identifier, line 6" in said
    checked = check_patient_list(listed(text), schema, Allowances(True, True))
    assert checked.n_duplicates == 1
    result = encode_patients(checked, schema, SERVICE)
    ids = result.encoded.global_ids
    assert ids[result.rows["P1"]] == ids[result.rows["P4"]] != ""
    assert ids[result.rows["P5"]] == ""


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"a\0b", "text file"),
        (b"", "column"),
        (b"patient,number\n", "one such column"),
        (HEADER.replace("sex", "number").encode(), "one such column"),
        ((HEADER + 'P1,"a"b,c,d,e,f,g\n').encode(), "line 2.*quotation"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path, schema, data, expected):
    file = tmp_path / "patients.csv"
    file.write_bytes(data)
    with pytest.raises(LinkageError, match=expected):
        read_patient_list(file, schema)
    with pytest.raises(LinkageError, match="no such file"):
        read_patient_list(tmp_path / "none.csv", schema)


def test_a_missing_column_is_named_with_the_place_that_names_it(listed):
    with pytest.raises(LinkageError, match=r"column 'sex'.*in the schema"):
        listed((HEADER + ROWS).replace("sex", "gender"))
    with pytest.raises(LinkageError, match=r"column 'key'.*with --patient-column"):
        listed(HEADER + ROWS, patient_column="key")


def test_an_empty_list_is_refused(listed, schema):
    with pytest.raises(LinkageError, match="at least one patient"):
        check_patient_list(listed(HEADER), schema)


def test_rows_are_what_the_parts_give_in_another_order(listed, schema, encoded):
    fields = listed(HEADER + ROWS).fields
    bits = encode_records(fields, schema, SERVICE.field_keys(schema))
    for at, patient in enumerate(("P1", "P2", "P3")):
        row = encoded.rows[patient]
        np.testing.assert_array_equal(encoded.encoded.bits[row], bits[at])
        mac = SERVICE.macs([f"neuroveil-id:1:own:000{at + 1}".encode()])[0].hex()
        assert encoded.encoded.global_ids[row] == f"v1:{SERVICE.key_id}:{mac}"
        old = OTHER.macs([f"neuroveil-id:1:own:000{at + 1}".encode()])[0].hex()
        assert encoded.encoded.previous_ids[row] == f"v1:{OTHER.key_id}:{old}"
    assert "P1" not in repr(encoded)


def test_the_order_of_rows_says_nothing(listed, schema):
    """Twenty orders of three rows are all alike once in 6^19 times."""
    checked = check_patient_list(listed(HEADER + ROWS), schema)
    orders = {tuple(encode_patients(checked, schema, SERVICE).rows.items()) for _ in range(20)}
    assert len(orders) > 1


@pytest.mark.parametrize("steps", [["diffusion"], ["blip"], ["xor_fold", "blip"]])
def test_hardening_takes_its_keys_from_the_service(make_schema, listed, steps):
    schema = make_schema(identifier=IDENTIFIER, encoding={"hardening": steps})
    patients = listed(HEADER + ROWS)
    result = encode_patients(check_patient_list(patients, schema), schema, SERVICE)
    bits = encode_records(patients.fields, schema, SERVICE.field_keys(schema))
    expected = harden(bits, schema, SERVICE.hardening_keys(), patients.patients)
    row = result.rows["P2"]
    np.testing.assert_array_equal(result.encoded.bits[row], expected[1])


def test_what_is_written_is_read_again(tmp_path, encoded):
    file = tmp_path / "encoded.parquet"
    write_encoded(file, encoded.encoded)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = read_encoded(file)
    assert again.made_with == encoded.encoded.made_with
    assert again.global_ids == encoded.encoded.global_ids
    assert again.previous_ids == encoded.encoded.previous_ids
    np.testing.assert_array_equal(again.bits, encoded.encoded.bits)
    assert again.site_list().n_records == again.n_records == 3
    with pytest.raises(LinkageError, match="existing one"):
        write_encoded(file, encoded.encoded)
    assert b"rid" not in file.read_bytes()


def rewritten(file, change_about=None, change_table=None):
    table = pq.read_table(file)
    about = json.loads(table.schema.metadata[b"neuroveil.linkage"])
    about |= change_about or {}
    if change_table is not None:
        table = change_table(table)
    table = table.replace_schema_metadata({b"neuroveil.linkage": json.dumps(about)})
    pq.write_table(table, file)


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"encoding_version": 2}, "version 2"),
        ({"key_id": "0" * 32}, "row 1.*key id of the whole file"),
        ({"format": "x"}, "another file"),
        ({"format_version": 9}, "another file"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path, encoded, about, expected):
    file = tmp_path / "encoded.parquet"
    write_encoded(file, encoded.encoded)
    rewritten(file, about)
    with pytest.raises(LinkageError, match=expected):
        read_encoded(file)


def test_mixed_ids_and_empty_encodings_are_refused(tmp_path, encoded):
    def mixed(table):
        ids = table.column("global_id").to_pylist()
        ids[1] = ids[1].replace(SERVICE.key_id, OTHER.key_id)
        return table.set_column(0, "global_id", pa.array(ids))

    def empty(table):
        bits = [bytes(128), *table.column("encoding").to_pylist()[1:]]
        place = table.column_names.index("encoding")
        return table.set_column(place, "encoding", pa.array(bits, pa.binary(128)))

    def untyped(table):
        place = table.column_names.index("encoding")
        return table.set_column(place, "encoding", pa.array(["a"] * 3))

    def missing(table):
        return table.set_column(0, "global_id", pa.array(["a", None, "b"]))

    expectations = (
        (mixed, "row 2"), (empty, "row 1.*with bits"), (untyped, "another file"),
        (missing, "another file"),
    )  # fmt: skip
    for change, expected in expectations:
        file = tmp_path / f"{change.__name__}.parquet"
        write_encoded(file, encoded.encoded)
        rewritten(file, change_table=change)
        with pytest.raises(LinkageError, match=expected):
            read_encoded(file)


def test_another_file_is_refused(tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), other)
    text = tmp_path / "text.csv"
    text.write_text("a")
    for file in (other, text, tmp_path / "none"):
        with pytest.raises(LinkageError, match=r"another file|no such file"):
            read_encoded(file)


def test_lists_of_another_key_or_schema_are_not_compared(listed, schema, make_schema, encoded):
    checked = check_patient_list(listed(HEADER + ROWS), schema)
    ours = encoded.encoded
    require_alike(ours, encode_patients(checked, schema, SERVICE).encoded, schema)
    with pytest.raises(LinkageError, match="two keys"):
        require_alike(ours, encode_patients(checked, schema, OTHER).encoded, schema)
    another = make_schema(identifier=IDENTIFIER, encoding={"fill": 0.25})
    theirs = encode_patients(check_patient_list(listed(HEADER + ROWS), another), another, SERVICE)
    with pytest.raises(LinkageError, match=r"encoded list 2.*schema at hand"):
        require_alike(ours, theirs.encoded, schema)
    with pytest.raises(LinkageError, match="encoded list 1"):
        require_alike(ours, ours, another)


@pytest.mark.slow
@pytest.mark.alone
def test_ten_thousand_records_take_less_than_a_second_of_cpu(make_schema, tmp_path):
    """Numbers with a check digit, five fields; the best of five runs."""
    draw = random.Random(1)
    names = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(4000)]
    luhn = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    lines = []
    for n in range(10_000):
        digits = f"{n:08d}"
        total = sum(luhn[int(d)] if i % 2 == 1 else int(d) for i, d in enumerate(digits))
        date = f"{draw.randint(1930, 2010)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"
        who = f"{draw.choice(names)},{draw.choice(names)},{date},{draw.randint(1000, 9999)},f"
        lines.append(f"P{n},{digits}{-total % 10},{who}\n")
    file = tmp_path / "patients.csv"
    file.write_text(HEADER + "".join(lines))
    identifier = {**IDENTIFIER, "pattern": "[0-9]{9}", "check": "luhn"}
    schema = make_schema(identifier=identifier)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        checked = check_patient_list(read_patient_list(file, schema), schema)
        result = encode_patients(checked, schema, SERVICE)
        seconds.append(time.process_time() - start)
    assert result.encoded.n_records == 10_000
    assert min(seconds) < 1.0, seconds
