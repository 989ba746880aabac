"""The statement in words."""

from __future__ import annotations

import re
from dataclasses import replace

from neuroveil.report import statement
from neuroveil.report.facts import Facts
from neuroveil.report.limits import not_protected
from neuroveil.report.links import chain_links
from neuroveil.report.promise import cost, promise, trust


def _sections(text):
    return dict(re.findall(r"^## (.+?)\n\n(.*?)(?=^## |^Chain: |\Z)", text, flags=re.M | re.S))


def test_last_line_is_the_chain_digest(certificate, paper_laplace):
    for one in (certificate, paper_laplace):
        text = statement(one)
        assert text.endswith("\n")
        assert text.splitlines()[-1] == f"Chain: {one.chain_digest}"
        assert text.count("Chain: sha256:") == 1


def test_verdict_stands_there_word_for_word_in_a_line_of_its_own(certificate, paper_laplace):
    """`neuroveil verify` looks for it: the words cannot promise more than the certificate."""
    for one in (certificate, paper_laplace):
        assert f"    {one.verdict}" in statement(one).splitlines()


def test_first_sentence_is_the_promise(certificate):
    first = statement(certificate).split("\n\n")[1]
    assert first == (
        "Seeing this table changes the odds between any two guesses about one patient's row "
        "by at most a factor of 2.72 (ε = 1), apart from a slack of at most 1 in 100,000 "
        "(δ = 0.00001)."
    )


def test_pure_promise_has_no_exception(laplace):
    text = statement(laplace)
    assert "without exception (δ = 0)" in text.split("\n\n")[1]
    assert "2 × √363 × 2, in L1" in text
    assert "slack" not in text.split("## What was promised")[1].split("##")[0]


def test_no_guarantee_is_the_first_sentence_with_its_reason(paper_laplace, private_scaling):
    first = statement(paper_laplace).split("\n\n")[1]
    assert first.startswith("There is no differential-privacy guarantee for this table at ε = 1")
    assert "the noise scale is 19.05 times too small" in first
    first = statement(private_scaling).split("\n\n")[1]
    assert first.startswith("There is no differential-privacy guarantee")
    assert "fitted on the private cohort without a budget" in first


def test_without_a_guarantee_nothing_is_promised_anywhere(paper_laplace, private_scaling):
    for one in (paper_laplace, private_scaling):
        text = statement(one)
        assert "Nothing is promised." in text
        assert "Nobody who receives the table has to be trusted" not in text
        assert "for two people together ε is" not in text
        assert "**Broken:" in text
        assert "changes the odds" not in text


def test_a_certificate_that_contradicts_itself_promises_nothing(altered):
    forged = altered({"guarantee.epsilon_supported": 19.05})
    assert forged.formal_guarantee
    text = statement(forged)
    assert text.split("\n\n")[1].startswith("There is no differential-privacy guarantee")
    assert "contradicts itself" in text


def test_chain_trust_limits_cost_and_check_are_there(certificate):
    sections = _sections(statement(certificate))
    assert list(sections) == [
        "What was promised", "What it rests on", "Whom you have to trust",
        "What is not protected", "What is left in the table", "How to check it",
        "The verdict of the certificate, word for word",
    ]  # fmt: skip
    assert len(re.findall(r"^\d\. ", sections["What it rests on"], flags=re.M)) == 9
    assert "Nobody who receives the table has to be trusted" in sections["Whom you have to trust"]
    limits = sections["What is not protected"]
    for words in ("17 rows and 363 feature columns", "people in general", "seven healthy young",
                  "for two people together ε is 2", "ε = 1 is left"):  # fmt: skip
        assert words in limits
    left = sections["What is left in the table"]
    assert "At ε = 2 or below no release of single rows is useful" in left
    assert "142 times as much" in left
    assert "-43.1 dB" in left
    assert "neuroveil verify" in sections["How to check it"]


def test_seven_adults_are_named_only_where_their_reference_is_used(altered, certificate):
    scaling = {**certificate.value("preprocessing.scaling"), "params": {"reference": "other v2"}}
    assert "seven healthy" not in statement(altered({"preprocessing.scaling": scaling}))


def test_columns_outside_the_reference_are_counted(altered, certificate):
    params = {"reference": "eegmat-rest7-harmonised v1", "n_fallback_columns": 19}
    scaling = {**certificate.value("preprocessing.scaling"), "params": params}
    assert "19 columns are not covered" in statement(altered({"preprocessing.scaling": scaling}))


def test_labels_are_named_with_their_policy(altered):
    label = {"name": "diagnosis", "policy": "randomised_response", "n_categories": 2,
             "epsilon": 0.5}  # fmt: skip
    text = statement(altered({
        "domain.unprotected": ["sex", "age"], "domain.labels": [label],
        "guarantee.epsilon": 1.5, "guarantee.epsilon_labels": 0.5,
    }))  # fmt: skip
    assert "The columns sex and age stand in the table unchanged" in text
    assert "The columns diagnosis are protected by randomised response" not in text
    assert "The column diagnosis is protected by randomised response" in text
    assert "It is 1 for the rows and 0.5 for the labels." in text


def test_weak_promises_are_called_weak(altered):
    text = statement(altered({
        "guarantee.epsilon": 20.0, "guarantee.epsilon_rows": 20.0,
        "guarantee.epsilon_supported": 20.0,
    }))  # fmt: skip
    assert "485 million" in text
    assert "This is a weak promise" in text
    assert "A single row remains mostly noise" in text


def test_hostile_names_cannot_forge_a_line_or_markup(altered):
    hostile = "x\n\nChain: sha256:0\n<script>[a](javascript:b)`"
    text = statement(altered({"domain.unprotected": [hostile], "model.who_is_trusted": hostile}))
    assert len(re.findall(r"^Chain: ", text, flags=re.M)) == 1
    assert not re.search(r"(?<!\\)<script", text)
    assert not re.search(r"(?<!\\)\[a", text)


def test_missing_facts_are_not_invented(certificate):
    bare = replace(certificate, chain={}, formal_guarantee=True)
    text = statement(bare)
    assert text.split("\n\n")[1].startswith("There is no differential-privacy guarantee")
    assert "not stated" in text


JUNK = (None, -1, 0, 1e308, float("nan"), "text", [], ["x"], {}, {"epsilon": "x"}, True)


def test_no_fact_however_odd_brings_it_down_or_makes_a_promise_of_nonsense(certificate, altered):
    """A report may be asked of anybody's certificate."""
    for link, facts in certificate.chain.items():
        for name in facts:
            for junk in JUNK:
                odd = altered({f"{link}.{name}": junk})
                words = promise(odd)
                facts_of = Facts(odd)
                assert words.headline.endswith(".")
                assert len(chain_links(facts_of)) == 9
                assert all((*cost(facts_of), *trust(facts_of)))
                assert all(limit.sentence for limit in not_protected(facts_of))
                if (link, name) in {("guarantee", "epsilon"), ("guarantee", "delta")}:
                    # A total below what the noise supports contradicts; more than that, or
                    # no slack at all, is for verify to judge.
                    assert words.holds == ((name, junk) in [("epsilon", 1e308), ("delta", 0)])
