"""A study file is read strictly, and every mistake is reported at once with its place."""

from pathlib import Path

import pytest

from neuroveil.errors import StudyError
from neuroveil.study import (
    TEMPLATE_CHOICES,
    dump_study,
    load_study,
    study_for_bids,
    study_json_schema,
    study_template,
)
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS


@pytest.fixture
def load(tmp_path: Path):
    def write_and_load(text: str, **overrides):
        (tmp_path / "study.toml").write_text(text)
        dotted = {name.replace("__", "."): value for name, value in overrides.items()}
        return load_study(tmp_path, dotted)

    return write_and_load


def mistakes(load, text: str) -> dict[str, str]:
    with pytest.raises(StudyError) as caught:
        load(text)
    return {mistake.where: str(mistake) for mistake in caught.value.mistakes}


@pytest.mark.parametrize("layout", TEMPLATE_CHOICES)
def test_every_template_is_a_valid_study(load, layout):
    study = load(study_template(layout, 'recor"dings'))
    assert study.input.layout == layout
    assert study.input.folder == 'recor"dings'
    assert study.montage.channels == STANDARD_CHANNELS
    assert study.features.names == FEATURE_NAMES
    assert study.privacy.budget is None


@pytest.mark.parametrize("layout", TEMPLATE_CHOICES)
def test_dump_and_load_give_the_same_study(load, layout):
    study = load(study_template(layout, "."))
    again = load(dump_study(study))
    assert again == study


def test_all_mistakes_are_reported_at_once_with_suggestions(load):
    found = mistakes(
        load,
        """
        [inptu]
        [montage]
        channels = ["Fp1", "Fp1"]
        [features]
        names = ["alfa_power"]
        [privacy]
        epsilom = 1
        mechanism = "gausian"
        delta = 0.0
        [output]
        internal = "a"
        release = "a/b"
        """,
    )
    assert "Did you mean 'input'" in found["inptu"]
    assert "Did you mean 'epsilon'" in found["privacy.epsilom"]
    assert "Did you mean 'gaussian'" in found["privacy.mechanism"]
    assert "Did you mean 'alpha_power'" in found["features.names.1"]
    assert {"montage.channels", "output"} <= set(found)


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "true", '"1"', "[1]"])
def test_epsilon_must_be_a_positive_finite_number(load, value):
    assert "privacy.epsilon" in mistakes(load, f"[privacy]\nepsilon = {value}")


@pytest.mark.parametrize("value", ["1.0", "-1e-9", "nan", "false"])
def test_delta_must_lie_from_zero_to_below_one(load, value):
    assert "privacy.delta" in mistakes(load, f"[privacy]\ndelta = {value}")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('mechanism = "gaussian"\ndelta = 0.0', "privacy.delta"),
        ('mechanism = "laplace"\ndelta = 1e-5', "privacy.delta"),
        ('mechanism = "gaussian"\nnorm = "l1"', "privacy.norm"),
        ("clip_norm = 0.0", "privacy.clip_norm"),
        ('adjacency = "add_or_remove_one"', "privacy.adjacency"),
        ('trust_model = "curator"', "privacy.trust_model"),
        ('trust_model = "shuffled"\nmechanism = "gaussian"', "privacy.mechanism"),
        ('trust_model = "shuffled"\nmechanism = "privunit"\ndelta = 0.0', "privacy.delta"),
        ('mechanism = "privunit"\ndelta = 1e-5', "privacy.delta"),
        ('mechanism = "privunit"\nnorm = "l1"', "privacy.norm"),
        ('mechanism = "laplace"\nnorm = "l1"\nprojection = "public_pca"', "privacy.norm"),
        ('projection = "none"\ncomponents = 3', "privacy.components"),
        ('projection = "public_pca"\ncomponents = 0', "privacy.components"),
        ("largest_codebook = 100", "privacy.largest_codebook"),
        ("seed = 1", "privacy.seed"),
    ],
)
def test_privacy_settings_must_fit_together(load, text, where):
    assert where in mistakes(load, f"[privacy]\n{text}")


def test_labels_and_private_scaling_must_fit_the_promise(load):
    label = '[[labels]]\ncolumn = "sex"\npolicy = "unprotected"\ncategories = ["a", "b"]\n'
    label += "acknowledge_unprotected = true"
    shuffled = '[privacy]\ntrust_model = "shuffled"\nmechanism = "privunit"\n'
    assert "labels" in mistakes(load, shuffled + label)
    private = '[reference]\nscaling = "private_statistics"\nacknowledge_no_guarantee = true\n'
    projected = '[privacy]\nmechanism = "privunit"\nprojection = "public_pca"\n'
    assert "privacy.projection" in mistakes(load, private + projected)


def test_private_scaling_needs_an_acknowledgement(load):
    text = '[reference]\nscaling = "private_statistics"'
    assert "reference.acknowledge_no_guarantee" in mistakes(load, text)
    study = load(text + "\nacknowledge_no_guarantee = true")
    assert study.reference.scaling == "private_statistics"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('policy = "randomised_response"\ncategories = ["a", "b"]', "labels.sex.epsilon"),
        ('policy = "randomised_response"\nepsilon = 1.0', "labels.sex"),
        ('policy = "unprotected"\ncategories = ["a", "b"]', "labels.sex.acknowledge_unprotected"),
        ('policy = "randomised_response"\nepsilon = 1.0\ncategories = ["a", "a"]', "labels.sex"),
        ('policy = "randomised_response"\nepsilon = 1.0\nbins = [2.0, 1.0, 3.0]',
         "labels.sex.bins"),
    ],
)  # fmt: skip
def test_labels_need_a_public_domain_and_a_price(load, text, where):
    assert where in mistakes(load, f'[[labels]]\ncolumn = "sex"\n{text}')


def test_a_label_cannot_be_released_twice(load):
    block = '[[labels]]\ncolumn = "sex"\n'
    assert "labels" in mistakes(load, block + block)


def test_numbers_fall_into_half_open_public_bins(load):
    study = load(
        '[[labels]]\ncolumn = "age"\npolicy = "randomised_response"\nepsilon = 1.0\n'
        "bins = [0.0, 18.0, 65.0]"
    )
    (label,) = study.labels
    assert label.category_names == ("[0, 18)", "[18, 65)")
    assert [label.categorise(text) for text in (" 17.9", "18", "65", "n/a", "nan")] == [
        "[0, 18)", "[18, 65)", None, None, None,
    ]  # fmt: skip


def test_layout_and_its_field_go_together(load):
    assert "input.pattern" in mistakes(load, '[input]\nlayout = "pattern"')
    assert "input.manifest" in mistakes(load, '[input]\nlayout = "bids"\nmanifest = "m.csv"')
    assert "input.pattern" in mistakes(load, '[input]\nlayout = "pattern"\npattern = "x.edf"')


def test_the_command_line_overrides_the_study_and_is_recorded(load):
    study = load("[privacy]\nepsilon = 1.0", privacy__epsilon=5.0)
    assert study.privacy.epsilon == 5.0
    assert study.overrides == ("privacy.epsilon",)


def test_the_file_cannot_set_what_only_the_loader_knows(load):
    assert "root" in mistakes(load, 'root = "/"')
    assert "overrides" in mistakes(load, "overrides = []")


@pytest.mark.parametrize(
    "text",
    ["= 1", "[privacy", "a = 1\na = 2", "a = " + "9" * 5000, "a = " + "[" * 5000],
    ids=["no name", "no end", "twice", "endless number", "endless brackets"],
)
def test_broken_toml_is_one_clear_mistake(load, text):
    assert "valid TOML" in mistakes(load, text)["study file"]


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(StudyError, match="neuroveil init"):
        load_study(tmp_path)


def test_paths_are_relative_to_the_study_file(load, tmp_path):
    assert load("").path("internal") == tmp_path / "internal"


def test_bids_app_study_needs_no_file(tmp_path):
    study = study_for_bids(tmp_path / "bids", tmp_path / "out", {"privacy.epsilon": 2.0})
    assert study.path(study.input.folder) == tmp_path / "bids"
    assert study.path(study.output.release) == tmp_path / "out" / "release"
    assert study.privacy.epsilon == 2.0


def test_the_json_schema_knows_every_section():
    schema = study_json_schema()
    assert set(schema["properties"]) == {
        "input", "montage", "signal", "features", "reference", "privacy", "postprocessing",
        "labels", "evaluation", "linkage", "federation", "server", "provenance", "output",
    }  # fmt: skip


def test_the_way_to_a_server_is_checked_and_all_mistakes_are_told(load):
    found = mistakes(
        load,
        """
        [server]
        adress = "https://server.example"
        address = "https://user:word@server.example"
        study = "Sleep 2027"
        key = ""
        [privacy]
        epsilon = 0.0
        """,
    )
    assert "Did you mean 'address'" in found["server.adress"]
    assert "word@" not in found["server.address"]
    assert {"server.study", "server.key", "privacy.epsilon"} <= set(found)


@pytest.mark.parametrize(
    "address", ["http://a.example", "a.example", "https://", "https://a/b", "https://a:x",
                "https://a?x", "https://a#x", "https://[::1"],
)  # fmt: skip
def test_a_server_has_an_https_address_and_nothing_more(load, address):
    assert "server.address" in mistakes(load, f'[server]\naddress = "{address}"')


def test_keys_and_lists_of_patients_never_lie_in_a_release(load):
    text = '[server]\nkey = "release/site.key"\nencoded = "out/../release"\nca = "release/ca.pem"'
    found = mistakes(load, text)
    assert {"server.key", "server.encoded"} <= set(found)
    assert "server.ca" not in found  # public


def test_without_the_section_nothing_is_known_of_a_server(load):
    assert load("").server is None
    section = load("[server]").server
    assert set(section.model_dump().values()) == {None}
