import json
import math
from dataclasses import replace

import pytest

from neuroveil.errors import ChainError
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, overall_verdict


def result(verdict: str) -> AttackResult:
    figure = AuditFigure("auc", "Area under the curve", 0.6, 0.5, 0.7, 0.95, 17, control=0.5)
    return AttackResult(
        "membership", "Membership", "Can somebody be found?", "release", verdict, "No.", (figure,)
    )


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["no_attack_succeeded", "weak"], "weak"),
        (["weak", "violated", "not_testable"], "violated"),
        (["not_testable", "no_attack_succeeded"], "no_attack_succeeded"),
        (["not_testable", "not_testable"], "not_testable"),
    ],
)
def test_the_severest_verdict_counts(verdicts, expected):
    assert overall_verdict(tuple(result(each) for each in verdicts)) == expected


def test_yardsticks_do_not_count_beside_the_release():
    paper = replace(result("violated"), target="paper")
    unprotected = replace(result("weak"), target="unprotected")
    assert overall_verdict((result("no_attack_succeeded"), unprotected, paper)) == (
        "no_attack_succeeded"
    )
    assert overall_verdict((unprotected, paper)) == "violated"  # nothing else was attacked


def test_no_attack_is_no_verdict():
    with pytest.raises(ChainError, match="at least one attack"):
        overall_verdict(())


def test_only_the_four_verdicts_exist():
    with pytest.raises(ChainError, match="verdict of membership"):
        result("safe")


def test_results_are_marked_internal_and_can_be_written():
    document = json.loads(json.dumps(result("weak").to_json()))
    assert document["internal"] is True
    assert document["figures"][0]["control"] == 0.5
    assert result("weak").figure("auc").n == 17
    with pytest.raises(KeyError):
        result("weak").figure("none")


def test_open_ends_of_intervals_are_written_as_null():
    bound = AuditFigure("epsilon", "Bound", 0.8, 0.8, math.inf, 0.95, 9, theory=math.nan)
    found = AttackResult("x", "X", "?", "y", "weak", ".", (bound,), settings={"k": [math.inf, 1]})
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["figures"][0]["high"] is None
    assert document["figures"][0]["theory"] is None
    assert document["settings"] == {"k": [None, 1]}


@pytest.mark.parametrize("wrong", [{"y": (1.0,)}, {"low": (1.0,)}, {"control": (1.0, 2.0, 3.0)}])
def test_curves_have_one_value_a_point(wrong):
    with pytest.raises(ChainError, match="2 points"):
        AuditCurve("roc", "ROC", "x", "y", **({"x": (0.0, 1.0), "y": (0.0, 1.0)} | wrong))
