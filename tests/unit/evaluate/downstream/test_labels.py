"""Labels by value and by key word. All reports are made up."""

from __future__ import annotations

import pytest

from neuroveil.evaluate.downstream.keywords import KeywordRule, label_reports
from neuroveil.evaluate.downstream.labels import labels_by_keyword, labels_by_value

CASES = {
    "An epileptic seizure was recorded at 10:14.": (True, None),
    "Two EPILEPTIC SEIZURES over the left temporal region": (True, None),
    "Ictal EEG pattern, left temporal.": (True, None),
    "ictal EEG   activity during sleep": (True, None),
    "Ictal EEG\npattern": (False, None),  # a line break ends a line of a form
    "No epileptic seizure was recorded.": (False, "negated"),
    "The recording is without any clear ictal EEG activity.": (False, "negated"),
    "Ictal EEG patterns were not seen.": (False, "negated"),
    "Ictal EEG pattern: none; absence of epileptic seizures": (False, "negated"),
    "Without spikes, epileptic seizures or slowing": (None, "uncertain"),
    "Sleep without spikes, and one epileptic seizure": (None, "uncertain"),
    "Non-epileptic seizure during recording": (False, "negated"),
    "Psychogenic nonepileptic seizure": (False, None),
    "Interictal EEG activity over both temporal lobes": (False, None),
    "Epileptiform interictal activity": (False, "neutral_term_only"),
    "Abnormal interictal EEG activity": (False, "neutral_term_only"),
    "Epileptiform interictal activity. Later an epileptic seizure.": (True, None),
    "Possible epileptic seizure.": (None, "uncertain"),
    "Epileptic seizure?": (None, "uncertain"),
    "An epileptic seizure cannot be excluded.": (None, "uncertain"),
    "Epileptic seizure was excluded.": (False, "negated"),
    "Family history: epileptic seizures in a brother": (None, "uncertain"),
    "No interictal activity, but an ictal EEG pattern in the right hemisphere": (True, None),
    "No sleep was recorded. Epileptic seizure at the end.": (True, None),
    "No epileptic seizure on day one. Epileptic seizure on day two.": (True, "contradictory"),
    "Normal recording": (False, None),
    "   ": (None, "empty"),
}


@pytest.mark.parametrize("report", CASES, ids=range(len(CASES)))
def test_a_report_is_labelled(report):
    found = label_reports([report], KeywordRule())
    assert (found.labels[0], found.reasons[0]) == CASES[report]


def test_what_the_paper_would_have_called_positive_is_counted():
    """Its rule looks for the terms and for nothing around them."""
    reports = ["No epileptic seizure.", "Epileptic seizure.", "Normal.", "Epileptic seizure?"]
    found = label_reports(reports, KeywordRule())
    assert found.labels == (False, True, False, None)
    assert found.n_differs_from_paper == 2
    assert found.review == {"negated": 1, "uncertain": 1}


def test_own_terms_replace_those_of_the_paper():
    rule = KeywordRule(("status epilepticus",), ())
    found = label_reports(["Status epilepticus.", "Epileptic seizure."], rule)
    assert found.labels == (True, False)


def test_a_term_is_taken_by_the_letter():
    assert label_reports(["abc"], KeywordRule(("a.c",), ())).labels == (False,)
    assert label_reports(["abc"], KeywordRule((), ())).labels == (False,)


def test_no_text_of_a_report_is_in_anything_that_comes_out():
    secret = "Quirinus has an epileptic seizure every xylophone lesson"
    found = labels_by_keyword([secret, "No epileptic seizure: marimba"], KeywordRule(), "report")
    shown = f"{found!r} {found.counts!r} {found.values} {found.reasons}"
    for word in ("Quirinus", "xylophone", "marimba"):
        assert word not in shown
    assert found.counts.review == {"negated": 1, "negation_ignored_by_the_paper": 1}


def test_values_are_counted_and_unknown_ones_left_out():
    found = labels_by_value(["M", "F", " M ", "", "n/a", "unknown"], ["M"], "sex")
    assert found.values == (True, False, True, None, None, None)
    counts = found.counts
    assert (counts.n_positive, counts.n_negative, counts.n_left_out) == (2, 1, 3)
    assert counts.review == {}
