"""From a study, or from bare numbers, to a question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuroveil.errors import ChainError, StudyError
from neuroveil.evaluate.planning import plan_release
from neuroveil.evaluate.planning.entry import PlanWishes
from neuroveil.pipeline.planning import Size, public_scaling, study_caveats, study_question
from neuroveil.privacy.prediction import advantage_bound
from neuroveil.reference import default_reference
from neuroveil.study import load_study
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS


def test_numbers_of_channels_and_features_become_names() -> None:
    covered = default_reference("harmonised").features
    columns = Size(21, 10).listed(covered)
    channels = list(dict.fromkeys(column.channel for column in columns))
    assert channels == [*STANDARD_CHANNELS, "E20", "E21"]
    assert tuple(dict.fromkeys(column.feature for column in columns)) == covered
    everything = Size(("Cz",), 11).listed(covered)
    assert sorted(column.feature for column in everything) == sorted(FEATURE_NAMES)
    assert len(Size(columns=7).listed()) == 7
    assert (Size(33, 11).label, Size(("Cz",), 3).label, Size(columns=7).label) == (
        "33 x 11", "1 x 3", "7 columns",
    )  # fmt: skip


@pytest.mark.parametrize("size", [Size(0, 3), Size(3, 0), Size(columns=0)])
def test_nothing_cannot_be_planned(size) -> None:
    with pytest.raises(ChainError):
        size.listed()


def test_the_catalogue_ends() -> None:
    with pytest.raises(StudyError, match=r"plan\.features"):
        Size(3, 12).listed()


def test_an_assumed_spectrum_has_the_wanted_eigenvalues() -> None:
    scaling = public_scaling(Size(columns=20), None, 1.5)
    found = np.linalg.eigvalsh(scaling.covariance)[::-1]
    expected = np.arange(1, 21) ** -1.5
    assert found == pytest.approx(20 * expected / expected.sum())
    assert not any(scaling.fallback)


@pytest.fixture
def write(tmp_path: Path):
    """Write a study of two patients whose recordings are empty."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.edf").touch()

    def make(privacy: str, more: str = "", population: str = "") -> Path:
        file = tmp_path / "study.toml"
        file.write_text(
            f'[input]\nlayout = "pattern"\npattern = "{{patient}}.edf"\n{population}\n'
            f'[features]\nnames = ["variance"]\n[privacy]\n{privacy}\n{more}\n'
        )
        return load_study(file)

    return make


def test_a_study_gives_its_public_numbers(write) -> None:
    question = study_question(write('epsilon = 3.0\ntrust_model = "shuffled"\nmechanism = "auto"'))
    assert (question.n_patients, question.dimension, question.epsilons) == (2, 19, (3.0,))
    assert (question.delta, question.trust_model, question.is_covered) == (1e-5, "shuffled", True)
    assert study_question(write("epsilon = 3.0"), (1.0, 2.0), 900).epsilons == (1.0, 2.0)
    assert study_question(write("epsilon = 3.0"), (), 900).delta == 900**-2


def test_a_study_without_an_epsilon_needs_one(write) -> None:
    with pytest.raises(StudyError, match=r"privacy\.epsilon"):
        study_question(write(""))
    assert study_question(write(""), (1.0,)).epsilons == (1.0,)


def test_an_l1_clip_is_refused_and_private_statistics_are_not_looked_at(write) -> None:
    with pytest.raises(StudyError, match=r"privacy\.norm"):
        study_question(write('epsilon = 1.0\nmechanism = "laplace"\nnorm = "l1"'))
    private = write(
        "epsilon = 1.0",
        '[reference]\nscaling = "private_statistics"\nacknowledge_no_guarantee = true',
    )
    assert study_question(private).model is None
    assert study_caveats(private) == ()


def test_caveats_tell_whom_the_reference_does_not_stand_for(write) -> None:
    assert "does not say" in study_caveats(write("epsilon = 1.0"))[0]
    children = write("epsilon = 1.0", population='population = "children"')
    assert any("Children" in caveat for caveat in study_caveats(children))
    assert study_caveats(write("epsilon = 1.0", population='population = "adults"')) == ()


@pytest.mark.slow
def test_drawn_constants_are_paid_for_and_counted_against_attackers(write) -> None:
    """No word of constants that nothing pays for, and no bound that leaves them out."""
    study = write(
        'epsilon = 2.0\ndelta = 1e-6\nmechanism = "mean_covariance"\ntrust_model = "central"',
        '[reference]\nscaling = "dp_quantiles"\nepsilon = 1.5\ndelta = 1e-7',
    )
    question = study_question(study, (), 5000)
    assert question.spent_beside == (1.5, 1e-7)
    assert question.delta == 1e-6
    plan = plan_release(question, PlanWishes(drops=False))
    assert not any("nothing pays for" in sentence for sentence in plan.coverage.sentences)
    assert "1.5" in study_caveats(study)[0]
    for forecast in plan.forecasts:
        assert forecast.attack.advantage >= advantage_bound(3.5, 1e-7)
        assert forecast.attack.advantage_of_noise is None
