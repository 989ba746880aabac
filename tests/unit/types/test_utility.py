"""Counting findings."""

from __future__ import annotations

from neuroveil.types.recording import QualityFinding
from neuroveil.types.utility import FindingCount, count_findings


def test_findings_are_counted_by_code_and_channel():
    findings = [
        QualityFinding("flat_channel", "A channel is flat.", "Cz", 10),
        QualityFinding("short", "A recording is short."),
        QualityFinding("flat_channel", "A channel is flat.", "Cz", 5),
        QualityFinding("flat_channel", "A channel is flat.", "O2"),
    ]
    assert count_findings(findings) == (
        FindingCount("flat_channel", "A channel is flat.", "Cz", 2, 15),
        FindingCount("flat_channel", "A channel is flat.", "O2", 1, None),
        FindingCount("short", "A recording is short.", None, 1, None),
    )
    assert count_findings([]) == ()
