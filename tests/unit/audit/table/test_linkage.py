"""Linkage: chance, yardsticks, other sessions, strangers, and odd tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame
from neuroveil.audit.table.linkage import attack_linkage
from neuroveil.audit.table.links import link
from neuroveil.errors import RecordingError
from neuroveil.types.recording import FloatArray

MakeFrame = Callable[..., AuditFrame]


@pytest.mark.parametrize("name", ["gaussian", "laplace", "paper_laplace", "privunit"])
def test_controls_are_chance(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort, name: str
) -> None:
    frame = make_frame(rows, name, 5.0)
    result = attack_linkage(frame, frame.targets[0], effort)
    assert result.figure("rank_1").control == pytest.approx(1 / 17, abs=0.04)
    assert result.figure("rank_5").control == pytest.approx(5 / 17, abs=0.07)
    assert result.settings["chance"] == 1 / 17
    cmc = result.curves[0]
    assert cmc.y[0] == pytest.approx(result.figure("rank_1").value)
    assert cmc.y[-1] == 1.0
    assert list(cmc.y) == sorted(cmc.y)
    missed = [value for value in result.curves[1].y if np.isfinite(value)]
    assert missed == sorted(missed, reverse=True)
    assert json.dumps(result.to_json(), allow_nan=False)


def test_unprotected_rows_are_all_found(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    frame = make_frame(rows, "gaussian", 1.0)
    result = attack_linkage(frame, frame.targets[1], effort)
    assert result.figure("rank_1").value == result.figure("assignment").value == 1.0
    # 17 of 17 by Clopper and Pearson: the rate may be 80 % as well.
    assert result.figure("rank_1").low == pytest.approx(0.025 ** (1 / 17))
    assert result.figure("rank_1").high == 1.0
    assert result.figure("fnir_at_fpir_0.01").value == 0.0
    assert result.verdict == "weak"


def test_strong_noise_hides_everybody(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    frame = make_frame(rows, "laplace", 0.5)
    result = attack_linkage(frame, frame.targets[0], effort)
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("rank_1").high < 0.1
    assert result.figure("fnir_at_fpir_0.01").value > 0.95


@pytest.mark.slow
def test_more_noise_never_raises_the_risk(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """From epsilon = 20 down to 0.5; rates are measured to .04 (1,000 seeded links)."""
    for name in ("gaussian", "paper_laplace", "privunit"):
        rates = []
        for epsilon in (20.0, 8.0, 3.0, 1.0, 0.5):
            frame = make_frame(rows, name, epsilon)
            links = link(frame, frame.targets[0], effort)
            rates.append([links.standing.within(1).mean(), links.assigned.mean()])
        assert (np.diff(rates, axis=0) <= 0.04).all(), name


def test_another_session_is_never_easier_than_the_rows_themselves(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    drifted = rows + np.random.default_rng(8).normal(scale=0.8, size=rows.shape)
    for name in ("gaussian", "privunit"):
        same = make_frame(rows, name, 10.0)
        other = make_frame(rows, name, 10.0, drifted)
        known = attack_linkage(same, same.targets[0], effort).figure("rank_1").value
        drift = attack_linkage(other, other.targets[0], effort).figure("rank_1").value
        assert 1.5 / 17 < drift < known


def test_a_reference_in_another_order_with_strangers(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """Twelve of 17 are known, in another order, among three strangers."""
    frame = make_frame(rows, "gaussian", 1.0, rows)
    assert frame.reference is not None
    order = np.random.default_rng(9).permutation(17)[:15]
    names = [frame.reference.patients[row] for row in order]
    names[:3] = ["stranger 1", "stranger 2", "stranger 3"]
    reference = replace(
        frame.reference, patients=tuple(names), values=frame.reference.values[order],
        n_windows=np.ones(15, dtype=np.int64), seconds=np.ones(15),
    )  # fmt: skip
    plain = frame.targets[1]
    assert plain.reference is not None
    frame = replace(frame, reference=reference)
    result = attack_linkage(frame, replace(plain, reference=plain.reference[order]), effort)
    assert result.figure("rank_1").n == 12
    assert result.figure("rank_1").value == 1.0
    assert result.settings["n_candidates"] == 15


def test_other_people_cannot_be_linked(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    frame = make_frame(rows, "gaussian", 1.0, rows)
    assert frame.reference is not None
    strangers = replace(frame.reference, patients=tuple(f"stranger {i}" for i in range(17)))
    with pytest.raises(RecordingError, match="at least one patient"):
        attack_linkage(replace(frame, reference=strangers), frame.targets[0], effort)


def test_copies_share_their_hits(make_frame: MakeFrame, effort: Effort) -> None:
    """Three people, two rows each: the right one of two in half of the cases, order or not."""
    rows = np.repeat(np.random.default_rng(4).normal(size=(3, 5)), 2, axis=0)
    frame = make_frame(rows, "gaussian", 1.0)
    result = attack_linkage(frame, frame.targets[1], effort)
    assert result.figure("rank_1").value == 0.5
    assert result.figure("assignment").value == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("name", ["gaussian", "privunit"])
def test_two_patients_are_not_testable(make_frame: MakeFrame, effort: Effort, name: str) -> None:
    frame = make_frame(np.random.default_rng(5).normal(size=(2, 5)), name, 5.0)
    small = replace(effort, n_links=200)
    for target in frame.targets:
        result = attack_linkage(frame, target, small)
        assert result.verdict == "not_testable"
        assert any("Fewer than 5 patients" in limit for limit in result.limits)


def test_missing_cells_and_constant_columns(make_frame: MakeFrame, effort: Effort) -> None:
    rows = np.random.default_rng(6).normal(size=(6, 5))
    rows[:, 1], rows[2] = 3.0, np.nan  # a constant column, and a patient without a recording
    frame = make_frame(rows, "privunit", 5.0)
    result = attack_linkage(frame, frame.targets[0], replace(effort, n_links=200))
    assert all(np.isfinite(figure.value) for figure in result.figures)


def test_many_people_get_fewer_draws_and_no_assignment(
    make_frame: MakeFrame, effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuroveil.audit.table.links.LARGEST_ASSIGNMENT", 50)
    frame = make_frame(np.random.default_rng(7).normal(size=(120, 8)), "gaussian", 20.0)
    result = attack_linkage(frame, frame.targets[0], replace(effort, n_links=240))
    assert result.settings["n_links"] == 240
    assert "assignment" not in {figure.name for figure in result.figures}
    assert any("No best assignment" in limit for limit in result.limits)


def test_every_figure_says_what_it_could_have_seen(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    frame = make_frame(rows, "gaussian", 2.0)
    frame = replace(
        frame, order=np.arange(17), released=frame.targets[0].candidates.draw(
            np.arange(17), effort.source("a release")
        ),
    )  # fmt: skip
    result = attack_linkage(frame, frame.targets[0], effort)
    for figure in result.figures:
        assert figure.n > 0
        assert figure.control is not None
        assert figure.smallest_detectable is not None
        assert figure.low <= figure.value <= figure.high
    one_release = result.figure("rank_1_of_the_release")
    assert one_release.smallest_detectable == pytest.approx(4 / 17)  # 4 of 17: at least 6.8 %
