"""What a hospital's policy refuses, and that each rule refuses on its own."""

from __future__ import annotations

import pytest

from neuroveil.deploy.federated.operate.bundle import (
    PLAN_KEY,
    app_bundle,
    app_digest,
    digest_of,
    pack,
)
from neuroveil.deploy.federated.operate.policy import (
    Offer,
    SitePolicy,
    bundle_objections,
    plan_objections,
    run_objections,
)

BUNDLE = pack({"pyproject.toml": b"[project]\n"})
IDENTITY = ("neuroveil/neuroveil", "1.0")


@pytest.fixture
def policy() -> SitePolicy:
    return SitePolicy(
        allowed_apps=(digest_of(BUNDLE),), privacy=("dp_sgd",), minimum_patients=30,
        minimum_hospitals=2, maximum_answers=2,
    )  # fmt: skip


def test_a_bundle_is_known_by_what_came_and_not_by_what_is_claimed(policy):
    assert bundle_objections(policy, digest_of(BUNDLE), BUNDLE) == []
    evil = BUNDLE + b"\0"
    assert "not the one" in bundle_objections(policy, digest_of(BUNDLE), evil)[0]
    assert "allowed_apps" in bundle_objections(policy, digest_of(evil), evil)[0]


def test_the_coordinators_words_about_a_bundle_must_be_the_bundles_own(plan):
    config = {PLAN_KEY: plan.digest}
    right = Offer(IDENTITY, IDENTITY, "flwr-serverapp", config)
    assert run_objections(right, plan) == []
    wrong = [
        Offer(("../../evil/neuroveil", "1.0"), IDENTITY, "flwr-serverapp", config),
        Offer((IDENTITY[0], "../2.0"), IDENTITY, "flwr-serverapp", config),
        Offer(IDENTITY, IDENTITY, "flwr-agentapp", config),
        Offer(IDENTITY, IDENTITY, "flwr-serverapp", {PLAN_KEY: "sha256:" + "1" * 64}),
        Offer(IDENTITY, IDENTITY, "flwr-serverapp", {}),
    ]
    assert [len(run_objections(each, plan)) for each in wrong] == [1] * len(wrong)


def test_a_plan_within_the_policy_is_allowed(policy, plan):
    assert plan_objections(policy, plan, 30) == []


@pytest.mark.parametrize(
    ("privacy", "changed", "word"),
    [
        ({"epsilon": 1.01}, {}, "maximum_epsilon"),
        ({"delta": 1.1e-5}, {}, "maximum_delta"),
        ({"setting": "local_features", "labels": "unprotected"}, {}, "privacy setting"),
        ({}, {"minimum_hospitals": 1}, "minimum_hospitals"),
        ({}, {"simulation": True}, "simulation"),
    ],
)
def test_each_rule_of_the_policy_refuses(policy, make_plan, privacy, changed, word):
    reasons = plan_objections(policy, make_plan(privacy, **changed), 30)
    assert len(reasons) == 1
    assert word in reasons[0]


def test_small_cohorts_and_long_plans_are_refused(policy, plan):
    assert "minimum_patients" in plan_objections(policy, plan, 29)[0]
    short = policy.model_copy(update={"maximum_answers": 1})
    assert "maximum_answers" in plan_objections(short, plan, 30)[0]


def test_our_bundle_holds_no_code_and_is_the_same_every_time():
    import io
    import zipfile

    assert app_bundle() == app_bundle()
    assert app_digest() == digest_of(app_bundle())
    with zipfile.ZipFile(io.BytesIO(app_bundle())) as archive:
        assert sorted(archive.namelist()) == [".info/CONTENT", "pyproject.toml"]
