"""The pages as documents: what they say, whom they let in, and who can read them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from neuroveil import report
from neuroveil.errors import CertificateError
from neuroveil.report import internal_report, public_report, rehearsal_report
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.utility import FindingCount

HOSTILE = '<script>alert("x")</script><img src=http://evil.example/a.png onerror=x>'


class Document(HTMLParser):
    """Tags with their attributes, in order, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def named(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture(
    scope="module", params=["public", "internal", "rehearsal", "paper_laplace", "private_scaling"]
)
def page(request, certificate, columns, utility, extraction):
    if request.param == "internal":
        return internal_report(certificate, columns, utility, extraction)
    if request.param == "rehearsal":
        return rehearsal_report(certificate, columns, utility)
    if request.param == "public":
        return public_report(certificate, columns)
    return public_report(request.getfixturevalue(request.param), columns)


def test_page_asks_for_nothing_from_outside_and_runs_nothing(page):
    document = Document(page)
    for tag, attributes in document.tags:
        assert tag not in {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in {"src", "href", "xlink:href", "action", "data", "srcset", "poster"}:
                assert (value or "").startswith("#"), (tag, name, value)
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))
    policy = [m["content"] for m in document.named("meta") if "http-equiv" in m]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_headings_start_at_one_and_skip_no_level(page):
    levels = [int(tag[1]) for tag, _ in Document(page).tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_page_has_language_title_landmarks_and_column_headers(page):
    document = Document(page)
    assert document.named("html") == [{"lang": "en"}]
    assert {"header", "nav", "main", "footer", "title"} <= {tag for tag, _ in document.tags}
    assert document.named("th")
    assert all(header.get("scope") in {"col", "row"} for header in document.named("th"))
    scrolling = [a for _, a in document.tags if a.get("class") == "scroll"]
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in scrolling)


def test_every_picture_has_a_text_alternative(page):
    document = Document(page)
    pictures = document.named("svg")
    assert len(pictures) >= 3
    by_id = Counter(a["id"] for _, a in document.tags if "id" in a)
    for picture in pictures:
        assert picture["role"] == "img"
        named = (picture.get("aria-labelledby") or "").split()
        assert picture.get("aria-label") or len(named) == 2
        assert all(by_id[name] == 1 for name in named)
    assert len(document.named("desc")) >= 2


def test_identifiers_are_unique_and_links_lead_somewhere(page):
    document = Document(page)
    names = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    targets = [a[key][1:] for _, a in document.tags for key in ("href", "xlink:href") if key in a]
    assert set(targets) <= set(names)
    references = re.findall(r"url\(#([^)]*)\)", page)
    assert references
    assert set(references) <= set(names)


@pytest.mark.slow
def test_same_input_gives_the_same_bytes(certificate, columns, utility, extraction):
    first = internal_report(certificate, columns, utility, extraction)
    assert internal_report(certificate, columns, utility, extraction) == first
    assert not re.search(r"\b20\d\d-\d\d-\d\d", first)


@pytest.mark.slow
def test_same_bytes_in_processes_with_other_hash_seeds():
    code = (
        "from neuroveil.report.charts import signal_and_noise as f;"
        "import hashlib;print(hashlib.sha256(f(0.1, 15.0).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True,
            env={"PYTHONHASHSEED": seed, "PATH": "", "TZ": zone},
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }  # fmt: skip
    assert len(digests) == 1


def test_hostile_strings_stay_text(altered, certificate, utility, extraction):
    columns = (Column(HOSTILE, "alpha_power"), Column("$x$", "alpha_power"))
    names = digest(canonical_json([column.name for column in columns]))
    hostile = altered(
        {
            "domain.columns_digest": names, "domain.unprotected": [HOSTILE],
            "model.who_is_trusted": HOSTILE, "model.trust": HOSTILE, "mechanism.name": HOSTILE,
            "sampler.library": HOSTILE, "unit.entity": HOSTILE,
            "preprocessing.scaling": {"params": {HOSTILE: HOSTILE}},
        },
        verdict=HOSTILE,
        blocking_reasons=("bound: " + HOSTILE,),
        formal_guarantee=False,
    )  # fmt: skip
    fact = replace(hostile.chain["bound"]["norm"], source=HOSTILE, formula=HOSTILE)
    hostile = replace(hostile, chain={**hostile.chain, "bound": {"norm": fact}})
    group = replace(utility.by_channel[0], label=HOSTILE)
    utility = replace(utility, by_channel=(group,), mechanism=HOSTILE)
    finding = FindingCount("x", HOSTILE, HOSTILE, 1, None)
    page = internal_report(hostile, columns, utility, replace(extraction, findings=(finding,)))
    document = Document(page)
    assert not document.named("script", "img")
    assert document.text.count("<script>") > 10


def test_public_page_is_given_nothing_private():
    """The barrier is the signature: a certificate and column names, nothing else."""
    for function in (report.public_report, report.statement):
        kinds = {p.annotation for p in inspect.signature(function).parameters.values()}
        assert kinds <= {"Certificate", "tuple[Column, ...]"}


def test_public_page_has_no_internal_section(certificate, columns):
    page = public_report(certificate, columns)
    assert "INTERNAL" not in page
    assert "REHEARSAL" not in page
    assert 'id="measured"' not in page
    assert 'id="input"' not in page


def test_internal_page_is_marked_and_shows_measurements_and_counts(
    certificate, columns, utility, extraction
):
    text = Document(internal_report(certificate, columns, utility, extraction)).text
    assert "INTERNAL - NOT FOR PUBLICATION" in text
    assert "20 fresh draws of Gaussian noise on 17 rows of 363 columns" in text
    assert "14.90 (14.80 to 15.00)" in text
    assert "Capping shortened 94 % of the rows" in text
    assert "38 (3.3 %)" in text  # windows rejected
    assert "9 (0.15 %)" in text  # cells missing
    assert "A channel is flat." in text
    assert "alpha power (8-13 Hz)" in text


def test_rehearsal_page_says_that_it_is_none(certificate, columns):
    text = Document(rehearsal_report(certificate, columns)).text
    assert "REHEARSAL on simulated rows. Nothing was spent, and this is not a release." in text
    assert "INTERNAL" not in text


def test_rehearsal_shows_what_a_release_would_promise(altered, columns):
    open_links = ("sampler: the noise can be drawn again from a seed",
                  "composition: no ledger has paid for this draw")  # fmt: skip
    rehearsed = altered(
        {"sampler.seeded": True, "composition.remaining": {"epsilon": -1.0, "delta": 0.0}},
        formal_guarantee=False, verdict="Not differentially private.",
        blocking_reasons=open_links,
    )  # fmt: skip
    page = rehearsal_report(rehearsed, columns)
    assert "What a release with these settings would promise" in page
    assert "✓ Formal guarantee" not in page
    assert "at most a factor of 2.72" in page
    assert "is left." not in page  # no budget was looked at
    assert "verdict: Not differentially private." in page
    for other in ("mechanism: too little noise", "preprocessing: private scaling"):
        broken = altered({}, formal_guarantee=False, blocking_reasons=(*open_links, other))
        assert "✗ No guarantee" in rehearsal_report(broken, columns)
    # Outside a rehearsal an unpaid draw has no guarantee.
    assert "✗ No guarantee" in public_report(rehearsed, columns)


def test_guarantee_is_stated_once_and_in_green(certificate, columns):
    page = public_report(certificate, columns)
    assert "✓ Formal guarantee" in page
    assert "at most a factor of 2.72 (ε = 1)" in page
    assert 'class="link is-broken"' not in page
    assert certificate.chain_digest in page


@pytest.mark.parametrize(
    ("name", "words", "broken"),
    [
        ("paper_laplace", "the noise scale is 19.05 times too small", "8  Amount of noise"),
        ("private_scaling", "the scaling constants were fitted on the private cohort",
         "3  How columns are made comparable"),
    ],
)  # fmt: skip
def test_missing_guarantee_is_said_first_and_the_broken_link_is_marked(
    request, columns, name, words, broken
):
    page = public_report(request.getfixturevalue(name), columns)
    assert "✗ No guarantee" in page
    assert "✓ Formal guarantee" not in page
    assert "There is no differential-privacy guarantee for this table at ε = 1, " in page
    assert words in page
    groups = re.findall(r'<g class="link([^"]*)">(.*?)</g>', page, flags=re.DOTALL)
    marked = [text for style, text in groups if "is-broken" in style]
    assert any(broken in text and "✗ Broken" in text for text in marked)
    assert not any("4  Cap on one row" in text for text in marked)


def test_columns_of_another_table_are_refused(certificate, columns):
    with pytest.raises(CertificateError, match="columns"):
        public_report(certificate, columns[:-1])
    with pytest.raises(CertificateError, match="columns"):
        public_report(certificate, columns[::-1])


def test_every_fact_is_listed(certificate, columns):
    page = public_report(certificate, columns)
    for link, facts in certificate.chain.items():
        for name in facts:
            assert f"<code>{link}.{name}</code>" in page


def test_a_guarantee_is_green_a_missing_one_red_and_a_plan_amber():
    style = (Path(report.__file__).parent / "templates" / "style.css").read_text()
    rules = dict(re.findall(r"^([^{}@\n]+) \{([^}]*)\}", style, flags=re.M))
    assert "color: var(--green)" in rules[".status"]
    assert "color: var(--red)" in rules[".is-broken .status"]
    assert "color: var(--amber)" in rules[".is-planned .status"]


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_colours_have_a_contrast_of_at_least_4_5():
    """WCAG 2.2, 1.4.3 (AA), for every ink on every ground that the style sheet pairs it with."""
    style = (Path(report.__file__).parent / "templates" / "style.css").read_text()
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style))
    box, promised, broken, note = "#f7f9fa", "#edf6f1", "#fdf1f0", "#f7f4ec"
    for ground in (box, promised, broken, note):
        assert ground in style
    pairs = [(colours[ink], colours[ground]) for ink in ("ink", "quiet", "blue")
             for ground in ("paper", "ground")]  # fmt: skip
    pairs += [(colours["ink"], g) for g in (box, promised, broken, note)]
    pairs += [(colours["quiet"], g) for g in (box, promised, broken)]
    pairs += [(colours["red"], g) for g in (colours["paper"], broken)]
    pairs += [(colours["green"], colours["paper"])]
    pairs += [("#ffffff", colours["red"]), ("#ffffff", colours["amber"])]
    for pair in pairs:
        darker, lighter = sorted(_luminance(colour) for colour in pair)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, pair
