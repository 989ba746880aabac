"""Pages of an audit: what they say of any result, and whom they let in."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from neuroveil.errors import ChainError
from neuroveil.report.audit import OVERVIEW, VERDICT_WORDS, AuditHeading, audit_pages
from neuroveil.report.audit_charts import curve_chart
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure

HOSTILE = '<script>alert("x")</script>'
HEADING = AuditHeading("Audit of a mechanism", "gaussian", (("claimed epsilon", "1"),))
CURVE = AuditCurve(
    "roc", "Operating curve", "false positives", "true positives", (0.001, 0.1, 1.0),
    (0.01, 0.4, 1.0), (0.005, 0.3, 0.9), (0.02, 0.5, 1.0), (0.001, 0.1, 1.0),
)  # fmt: skip
FIGURE = AuditFigure(
    "epsilon_lower_bound", "Lower bound of epsilon", 0.81, 0.81, math.inf, 0.95, 1000,
    control=-0.2, control_low=-math.inf, control_high=0.1, smallest_detectable=0.3, theory=1.0,
)  # fmt: skip
RESULT = AttackResult(
    "black_box", "Black box", "Do releases tell two tables apart?", "gaussian",
    "no_attack_succeeded", "The bound of 0.81 lies below the claim.", (FIGURE,), (CURVE,),
    ("An epsilon above 5.6 could not be certified.",), {"n_trials": 1000},
)  # fmt: skip


class Tags(HTMLParser):
    """Tags with their attributes, in order."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_there_is_an_overview_and_one_page_an_attack():
    other = replace(RESULT, attack="replay", title="Replay", verdict="violated")
    pages = audit_pages(HEADING, (RESULT, other, replace(RESULT, target="paper")))
    assert list(pages) == [OVERVIEW, "black_box.html", "replay.html"]
    assert VERDICT_WORDS["violated"] in pages[OVERVIEW]
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", pages["black_box.html"]) == ["gaussian", "paper"]


def test_a_page_shows_figure_interval_control_and_what_could_have_been_seen():
    page = audit_pages(HEADING, (RESULT,))["black_box.html"]
    cells = re.findall(r"<td>(.*?)</td>", page)
    assert cells == ["0.81", "at least 0.81", "95 %", "1000", "-0.2 (at most 0.1)", "0.3", "1"]
    assert "An epsilon above 5.6 could not be certified." in page
    assert RESULT.sentence in page
    assert "n_trials" in page


@pytest.mark.parametrize(
    ("level", "words"),
    [(0.95, "95 %"), (0.999, "99.9 %"), (1 - 1e-7, "more than 99.9 %"), (1.0, "exact")],
)
def test_confidence_never_rounds_to_certainty(level, words):
    page = audit_pages(HEADING, (replace(RESULT, figures=(replace(FIGURE, level=level),)),))
    assert f"<td>{words}</td>" in page["black_box.html"]


def test_a_control_that_is_a_bound_is_written_once():
    bound = replace(FIGURE, control=0.0, control_low=0.0, control_high=math.inf)
    page = audit_pages(HEADING, (replace(RESULT, figures=(bound,)),))["black_box.html"]
    assert "<td>0</td>" in page


def test_every_page_is_marked_internal_and_asks_for_nothing_from_outside():
    pages = audit_pages(HEADING, (RESULT,))
    for page in pages.values():
        assert "INTERNAL - NOT FOR PUBLICATION" in page
        for tag, attributes in Tags(page).tags:
            assert tag not in {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
            for name, value in attributes.items():
                assert not name.startswith("on")
                if name in {"src", "href", "xlink:href"}:
                    assert value.startswith("#") or value in pages


def test_identifiers_are_used_once_and_every_region_has_a_name():
    page = audit_pages(HEADING, (RESULT, replace(RESULT, target="paper")))["black_box.html"]
    identifiers = [attributes["id"] for _, attributes in Tags(page).tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    named = {
        name for _, each in Tags(page).tags for name in (each.get("aria-labelledby") or "").split()
    }
    assert named <= set(identifiers)
    levels = [int(tag[1]) for tag, _ in Tags(page).tags if re.fullmatch(r"h\d", tag)]
    assert levels[:2] == [1, 2]


def test_words_from_elsewhere_are_escaped():
    hostile = replace(
        RESULT, title=HOSTILE, question=HOSTILE, target=HOSTILE, sentence=HOSTILE,
        limits=(HOSTILE,), settings={HOSTILE: HOSTILE},
        curves=(replace(CURVE, label=HOSTILE, x_label=HOSTILE + "$a$", y_label="$b$"),),
        figures=(replace(FIGURE, label=HOSTILE, unit=HOSTILE),),
    )  # fmt: skip
    for page in audit_pages(AuditHeading(HOSTILE, HOSTILE), (hostile,)).values():
        assert "<script" not in page


def test_the_same_input_gives_the_same_bytes():
    assert audit_pages(HEADING, (RESULT,)) == audit_pages(HEADING, (RESULT,))


@pytest.mark.parametrize("attack", ["../x", "a b", "", "Index", "index", "a/b"])
def test_a_key_that_cannot_name_a_file_is_refused(attack):
    with pytest.raises(ChainError, match="lower-case"):
        audit_pages(HEADING, (replace(RESULT, attack=attack),))


def test_a_result_with_a_sentence_alone_has_a_page():
    bare = AttackResult("timing", "Timing", "Does time tell?", "x", "not_testable", "Too few.")
    page = audit_pages(HEADING, (bare,))["timing.html"]
    assert "Too few." in page
    assert "<table" not in page


class TestChart:
    def test_it_is_well_formed_with_a_text_alternative(self):
        root = ElementTree.fromstring(curve_chart(CURVE, "roc"))
        assert [child.tag.rpartition("}")[2] for child in list(root)[:2]] == ["title", "desc"]
        assert "highest 1 at 1" in root[1].text
        assert "null control lies between 0.001 and 1" in root[1].text

    def test_points_that_are_not_finite_are_left_out_and_counted(self):
        curve = AuditCurve("c", "C", "x", "y", (1.0, 2.0, 3.0), (math.nan, 1.0, math.inf))
        assert "1 points from 1 at 2 to 1 at 2; highest 1 at 2; 2 points are not finite" in (
            curve_chart(curve, "c")
        )
        nothing = AuditCurve("c", "C", "x", "y", (1.0,), (math.nan,))
        assert "no finite point" in curve_chart(nothing, "c")

    def test_wide_positive_axes_are_logarithmic(self):
        wide = AuditCurve("c", "C", "x", "y", (1.0, 1e4), (0.5, 0.6))
        narrow = AuditCurve("c", "C", "x", "y", (1.0, 3.0), (0.5, 0.6))
        assert "mathdefault{10^{2}}" in curve_chart(wide, "c")
        assert "mathdefault{10^" not in curve_chart(narrow, "c")
