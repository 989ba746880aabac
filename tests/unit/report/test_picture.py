"""The picture of the chain."""

from __future__ import annotations

import pytest

from neuroveil.report.facts import Facts
from neuroveil.report.links import chain_links
from neuroveil.report.picture import draw_chain


@pytest.mark.parametrize(("n_columns", "width"), [(3, 280), (1, 320)])
def test_boxes_hold_their_text_and_do_not_overlap(paper_laplace, n_columns, width):
    links = chain_links(Facts(paper_laplace))
    picture = draw_chain(links, n_columns, width)
    assert len(picture.boxes) == 9
    assert len(picture.arrows) == 8
    for box in picture.boxes:
        assert all(box.y < line.y < box.y + box.height - 5 for line in box.lines)
        assert box.x + box.width <= picture.width
        assert box.y + box.height <= picture.height
    for i, a in enumerate(picture.boxes):
        for b in picture.boxes[i + 1 :]:
            apart = a.x + a.width < b.x or b.x + b.width < a.x or a.y + a.height < b.y
            assert apart


def test_links_follow_the_derivation(certificate):
    links = chain_links(Facts(certificate))
    assert [link.value for link in links] == [
        "replace one patient", "one patient", "public constants", "length ≤ 2", "363 columns",
        "Δ = 4", "Gaussian", "σ = 14.9225", "ε = 1",
    ]  # fmt: skip
    assert all(link.broken is None for link in links)


@pytest.mark.parametrize(
    ("facts", "link", "words"),
    [
        ({"adjacency.factor": 1}, "adjacency", "is 2, not 1"),
        ({"sensitivity.value": 2.0}, "sensitivity", "allows a change of 4, not 2"),
        ({"sensitivity.norm": "l1"}, "sensitivity", "allows a change of 76.2102, not 4"),
        ({"mechanism.consumes_norm": "l1"}, "mechanism", "measured in L1, but was given L2"),
        ({"guarantee.epsilon_supported": 1.1}, "noise", "supports ε = 1.1, not 1"),
        ({"sampler.seeded": True}, "noise", "seed"),
    ],
)
def test_facts_that_contradict_the_promise_break_their_link(altered, facts, link, words):
    links = {one.key: one for one in chain_links(Facts(altered(facts)))}
    assert words in links[link].broken
    assert links["guarantee"].broken is not None


def test_reasons_of_the_certificate_are_shown_at_their_link(altered):
    links = chain_links(Facts(altered(
        {}, formal_guarantee=False,
        blocking_reasons=("sampler: a seed was used", "composition: no ledger paid"),
    )))  # fmt: skip
    broken = {link.key: link.broken for link in links if link.broken}
    assert broken == {"noise": "A seed was used.", "guarantee": "No ledger paid."}
