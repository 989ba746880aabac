"""Claims about somebody else's pipeline: what holds, what is broken, what is left out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import verify
from neuroveil.privacy.verify.result import VerificationResult

NUMBERS = [
    "rows_per_unit_max = 1", "dimension = 363", "clip_norm = 2.0", "value = 4.0",
    "noise_scale = 14.92253", "epsilon = 1.0", "delta = 1e-5", "prior_releases = 0",
]  # fmt: skip
EXTREMES = [
    "0",
    "-1",
    "1",
    "9" * 300,
    "-" + "9" * 300,
    "5e-324",
    "1e-300",
    "1e300",
    "-1e300",
    "0.5",
]

Verifier = Callable[[str], VerificationResult]

WHOLE = """
[claim]
title = "A whole claim"
[unit]
entity = "patient"
rows_per_unit_max = 1
[adjacency]
relation = "replace_one"
[domain]
dimension = 363
labels = []
unprotected = []
[preprocessing.features]
fitted_on = "public"
[preprocessing.scaling]
fitted_on = "public"
[bound]
norm = "l2"
clip_norm = 2.0
[sensitivity]
norm = "l2"
value = 4.0
[mechanism]
name = "gaussian"
noise_scale = 14.92253
[sampler]
exact = true
source = "operating_system"
seeded = false
[guarantee]
epsilon = 1.0
delta = 1e-5
[composition]
prior_releases = 0
[postprocessing]
steps = []
"""


def check_of(result: VerificationResult, name: str) -> Any:
    return next(check for check in result.checks if check.id == name)


def example(root: Path, name: str) -> VerificationResult:
    return verify(root / "examples" / "claims" / f"{name}.toml")


# The examples of the documentation.


def test_paper_laplace_equations_7_to_15(project_root: Path) -> None:
    """The factor 19.05, the variance ratio 363, and the unbudgeted median and range."""
    result = example(project_root, "paper_laplace")
    assert result.exit_code == 4
    assert result.broken_links == ("preprocessing", "mechanism")
    assert result.links["sensitivity"] == result.links["bound"] == "holds"
    assert "19.05 times the l2" in check_of(result, "mechanism.norm_match").sentence
    scale = check_of(result, "mechanism.noise_scale")
    assert "19.05 times too small" in scale.sentence
    assert "variance 363 times" in scale.sentence
    assert scale.recomputed == pytest.approx(76.2102, abs=1e-4)
    assert "C*sqrt(2(n+1)) = 12" in check_of(result, "preprocessing.scaling").sentence


def test_paper_gaussian_breaks_on_scaling_only(project_root: Path) -> None:
    result = example(project_root, "paper_gaussian")
    assert result.exit_code == 4
    assert result.broken_links == ("preprocessing",)
    assert "epsilon = 3.41 instead of 1" in check_of(result, "preprocessing.scaling").sentence
    assert check_of(result, "mechanism.noise_scale").outcome == "holds"
    assert check_of(result, "sampler.exact").outcome == "unchecked"


def test_claim_that_holds(project_root: Path) -> None:
    result = example(project_root, "public_scaling")
    assert result.exit_code == 0
    assert set(result.links.values()) == {"holds"}


def test_claim_that_leaves_things_out(project_root: Path) -> None:
    result = example(project_root, "left_out")
    assert result.exit_code == 5
    assert {"adjacency", "bound", "sensitivity", "sampler"} <= set(result.unchecked_links)


def test_claim_of_the_contract(project_root: Path, claim: Verifier) -> None:
    """The example on the page about certificates is found broken for the same reasons."""
    page = (project_root / "docs" / "certificate.md").read_text(encoding="utf-8")
    result = claim(page.split("```toml\n")[1].split("```")[0])
    assert result.title == "A paper's Laplace release"
    assert result.broken_links == ("preprocessing", "mechanism")
    assert "Norm mismatch" in check_of(result, "mechanism.norm_match").sentence


# What a claim may say and leave out.


def test_title_cannot_disturb_a_terminal(claim: Verifier) -> None:
    title = claim(WHOLE.replace("A whole claim", "red \\u001b[31m" + "x" * 500)).title
    assert title.startswith("red [31m")
    assert len(title) == 200


def test_whole_claim_holds(claim: Verifier) -> None:
    assert claim(WHOLE).exit_code == 0


@pytest.mark.parametrize(
    "line",
    [line for line in WHOLE.splitlines() if "=" in line and "title" not in line],
)
def test_every_line_that_is_left_out_is_missed(claim: Verifier, line: str) -> None:
    result = claim(WHOLE.replace(line + "\n", "", 1))
    optional = {'norm = "l2"'}  # the value tells the norm; the bound's norm comes first
    assert result.exit_code == 5 or (line in optional and result.exit_code == 5)


@pytest.mark.parametrize(
    ("old", "new", "link"),
    [
        ('entity = "patient"', 'entity = "recording"', "unit"),
        ("rows_per_unit_max = 1", "rows_per_unit_max = 0", "unit"),
        ("rows_per_unit_max = 1", "rows_per_unit_max = 4", "sensitivity"),
        ("rows_per_unit_max = 1", "rows_per_unit_max = 4", "mechanism"),
        ('"replace_one"', '"add_or_remove_one"', "adjacency"),
        ("dimension = 363", "dimension = 0", "domain"),
        ("clip_norm = 2.0", "clip_norm = 2.1", "sensitivity"),
        ("clip_norm = 2.0", "clip_norm = -2.0", "bound"),
        ("value = 4.0", "value = 3.9", "sensitivity"),
        ("value = 4.0", "value = 0.0", "sensitivity"),
        ("noise_scale = 14.92253", "noise_scale = 14.92", "mechanism"),
        ("noise_scale = 14.92253", "noise_scale = 14", "mechanism"),
        ("noise_scale = 14.92253", "noise_scale = 0.0", "mechanism"),
        ("exact = true", "exact = false", "sampler"),
        ("seeded = false", "seeded = true", "sampler"),
        ('"operating_system"', '"numpy.random.default_rng"', "sampler"),
        ("delta = 1e-5", "delta = 0.0", "guarantee"),
        ("delta = 1e-5", "delta = 1.0", "guarantee"),
        ("epsilon = 1.0\ndelta", "epsilon = -1.0\ndelta", "guarantee"),
        ("epsilon = 1.0\ndelta", "epsilon = 0.9\ndelta", "mechanism"),
        ("epsilon = 1.0\ndelta", "epsilon = 1.0\nepsilon_rows = 1.2\ndelta", "guarantee"),
        ("epsilon = 1.0\ndelta", "epsilon = 1.0\nvariant = 'pure_dp'\ndelta", "guarantee"),
        ("prior_releases = 0", "prior_releases = 0\nspent_before = {epsilon=1.0, delta=0.0}",
         "composition"),
        ("prior_releases = 0", "prior_releases = 1\nspent_before = {epsilon=1.0, delta=0.0}\n"
         "limit = {epsilon=1.5, delta=1e-4}", "composition"),
    ],
)  # fmt: skip
def test_broken_claim_names_its_link(claim: Verifier, old: str, new: str, link: str) -> None:
    assert old in WHOLE
    result = claim(WHOLE.replace(old, new))
    assert result.exit_code == 4
    assert link in result.broken_links


@pytest.mark.parametrize(
    ("old", "new", "link"),
    [
        ('name = "gaussian"', 'name = "staircase"', "mechanism"),
        ('norm = "l2"\nclip', 'norm = "linf"\nclip', "bound"),
        ('"replace_one"', '"edge_level"', "adjacency"),
        ("[sampler]", "[model]\ntrust = 'shuffled'\n[sampler]", "amplification"),
        ("prior_releases = 0", "prior_releases = 3", "composition"),
        ('[preprocessing.scaling]\nfitted_on = "public"',
         '[preprocessing.scaling]\nfitted_on = "private"\nepsilon = 0.1', "preprocessing"),
        ("steps = []", "steps = [{step = 'shrink'}]", "postprocessing"),
    ],
)  # fmt: skip
def test_what_cannot_be_derived_stays_open(claim: Verifier, old: str, new: str, link: str) -> None:
    assert old in WHOLE
    result = claim(WHOLE.replace(old, new))
    assert link in result.unchecked_links
    assert result.exit_code in {4, 5}


def test_scaling_under_a_budget_is_taken_from_epsilon(claim: Verifier) -> None:
    """Noise for the whole epsilon is too little where scaling took a part of it."""
    private = '[preprocessing.scaling]\nfitted_on = "private"\nepsilon = 0.1'
    public = '[preprocessing.scaling]\nfitted_on = "public"'
    result = claim(WHOLE.replace(public, private).replace("14.92253", "14.93"))
    assert "mechanism" not in claim(WHOLE.replace("14.92253", "14.93")).broken_links
    assert "mechanism" in result.broken_links


def test_rounding_of_the_last_printed_digit_is_forgiven(claim: Verifier) -> None:
    """14.9225 is how 14.92252654 is printed; 14.92 is a smaller scale."""
    for printed, code in (("14.9225", 0), ("14.9224", 4), ("14.92", 4), ("15.0", 0)):
        assert claim(WHOLE.replace("14.92253", printed)).exit_code == code


def test_larger_noise_and_sensitivity_are_fine_in_a_claim(claim: Verifier) -> None:
    result = claim(WHOLE.replace("14.92253", "30.0").replace("value = 4.0", "value = 5.0"))
    assert result.exit_code == 0
    assert "2.0103834 times" in check_of(result, "mechanism.noise_scale").sentence


def test_grid_costs_a_claim_its_slack(claim: Verifier) -> None:
    """On a grid of 1/64 the first proof takes more than delta, the second 6e-5 of epsilon."""
    coarse = WHOLE.replace("clip_norm = 2.0", "clip_norm = 2.0\ngrid_log2 = -6")
    assert claim(coarse).broken_links == ("mechanism",)
    assert claim(coarse.replace("14.92253", "14.9236")).exit_code == 0


def test_no_proof_covers_a_coarse_grid(claim: Verifier) -> None:
    """On a grid of 1 neither proof carries epsilon = 1, whatever the printed sigma."""
    coarse = WHOLE.replace("clip_norm = 2.0", "clip_norm = 2.0\ngrid_log2 = 0")
    assert claim(coarse.replace("14.92253", "15.5")).broken_links == ("mechanism",)


def test_rows_of_a_patient_add_up_in_squares(claim: Verifier) -> None:
    """Section 5: m rows a patient have the l2 sensitivity sqrt(m) * 2C."""
    four = WHOLE.replace("rows_per_unit_max = 1", "rows_per_unit_max = 4")
    right = four.replace("value = 4.0", "value = 8.0").replace("14.92253", "29.84506")
    assert claim(right).exit_code == 0


LAPLACE = (
    WHOLE.replace('"gaussian"', '"laplace"').replace("delta = 1e-5", "delta = 0.0")
    .replace('norm = "l2"\nvalue = 4.0', 'norm = "l1"\nvalue = 76.2103')
    .replace("14.92253", "76.2103")
)  # fmt: skip


def test_laplace_claim(claim: Verifier) -> None:
    assert claim(LAPLACE).exit_code == 0
    four = LAPLACE.replace("rows_per_unit_max = 1", "rows_per_unit_max = 4")
    assert claim(four.replace("76.2103", "304.842")).exit_code == 0
    assert claim(four.replace("76.2103", "152.421")).exit_code == 4


def test_laplace_with_delta_stays_open_where_pure_dp_fails(claim: Verifier) -> None:
    result = claim(LAPLACE.replace("noise_scale = 76.2103", "noise_scale = 60.0"))
    assert result.broken_links == ("mechanism",)
    relaxed = LAPLACE.replace("noise_scale = 76.2103", "noise_scale = 60.0")
    assert claim(relaxed.replace("delta = 0.0", "delta = 1e-5")).exit_code == 5


def test_l1_clipping(claim: Verifier) -> None:
    direct = LAPLACE.replace('norm = "l2"\nclip', 'norm = "l1"\nclip').replace("76.2103", "4.0")
    assert claim(direct).exit_code == 0
    assert "mechanism" in claim(direct.replace("scale = 4.0", "scale = 3.9")).broken_links


def test_labels_are_paid_from_epsilon(claim: Verifier) -> None:
    label = "labels = [{name='sex', policy='randomised_response', n_categories=2, epsilon=0.5}]"
    result = claim(WHOLE.replace("labels = []", label))
    assert "mechanism" in result.broken_links
    assert claim(WHOLE.replace("labels = []", label).replace("14.92253", "28.1274")).exit_code == 0


@given(st.dictionaries(st.sampled_from(NUMBERS), st.sampled_from(EXTREMES), max_size=4))
def test_absurd_numbers_end_in_a_verdict_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, str]
) -> None:
    lines = [
        f"{line.partition('=')[0]}= {changes[line]}" if line in changes else line
        for line in (WHOLE + "[utility.predicted]\nrmse = 3.0\n").split("\n")
    ]
    path = tmp_path_factory.mktemp("claim") / "claim.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with contextlib.suppress(CertificateError):
        assert json.dumps(verify(path).as_dict(), allow_nan=False)


# Claims about codebooks and shuffling.


def codebook_claim(epsilon: float, chance: int) -> str:
    text = WHOLE.replace("delta = 1e-5", "delta = 0.0").replace(
        "epsilon = 1.0", f"epsilon = {epsilon}"
    )
    mechanism = f"""[mechanism]
name = "privunit"
codebook_size = 4096
codebook_top = 41
top_probability = "{chance}/1000"
"""
    start, end = text.index("[mechanism]"), text.index("[sampler]")
    return (text[:start] + mechanism + text[end:]).replace(
        '[sensitivity]\nnorm = "l2"\nvalue = 4.0\n', ""
    )


@pytest.mark.parametrize(("chance", "code"), [(500, 0), (600, 0), (601, 4), (999, 4), (0, 4)])
def test_codebook_of_somebody_else(claim: Verifier, chance: int, code: int) -> None:
    """e^5 41 / (e^5 41 + 4055) = 0.60009: what is less is private, what is more is not."""
    assert claim(codebook_claim(5.0, chance)).exit_code == code


def shuffled_claim(local: float, central: float, n: int) -> str:
    text = WHOLE.replace("epsilon = 1.0", f"epsilon = {central}")
    text = text.replace("noise_scale = 14.92253", f"noise_scale = {76.21023553 / local:.8f}")
    text = text.replace('norm = "l2"\nvalue = 4.0', 'norm = "l1"\nvalue = 76.21023553')
    return (
        text.replace('"gaussian"', '"laplace"')
        + f"""row_order = "random_permutation"
[model]
trust = "shuffled"
[amplification]
bound = "clones_2021"
epsilon_local = {local}
batch = {n}
"""
    )


@pytest.mark.parametrize(
    ("local", "central", "n", "code"),
    [(1.0, 0.106, 2000, 0), (1.0, 0.1, 2000, 4), (4.0, 1.478, 2000, 0), (3.0, 1.0, 17, 4)],
)
def test_shuffling_of_somebody_else(
    claim: Verifier, local: float, central: float, n: int, code: int
) -> None:
    """The published epsilons of clones at delta = 1e-5."""
    result = claim(shuffled_claim(local, central, n))
    assert result.exit_code == code, [c for c in result.checks if c.outcome != "holds"]
    assert result.links["amplification"] == ("holds" if code == 0 else "broken")


@pytest.mark.parametrize(
    "left_out", ["batch = 2000\n", "epsilon_local = 1.0\n", 'bound = "clones_2021"\n',
                 'row_order = "random_permutation"\n'],
)  # fmt: skip
def test_shuffling_without_its_numbers_stays_open(claim: Verifier, left_out: str) -> None:
    result = claim(shuffled_claim(1.0, 0.106, 2000).replace(left_out, ""))
    assert result.exit_code == 5
    assert "amplification" in result.unchecked_links
