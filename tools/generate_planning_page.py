"""Compute the tables and the figure of docs/planning.md, or check that they are up to date.

Run ``python tools/generate_planning_page.py`` after changing a forecast; it takes some minutes.
Names of parts compute those alone; with ``--check`` nothing is written and a difference ends
with exit code 1. Of the figure its description is compared, which holds its numbers.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path

from neuroveil.evaluate.planning import PlanQuestion, plan_release
from neuroveil.evaluate.planning.coverage import coverage_of
from neuroveil.evaluate.planning.entry import PlanWishes
from neuroveil.evaluate.planning.forecast import forecast_option
from neuroveil.evaluate.planning.options import offered_options
from neuroveil.evaluate.planning.price import price_of_dimension
from neuroveil.pipeline.planning import PLANNED_EPSILONS, Size, public_scaling
from neuroveil.report.planning import plan_figure
from neuroveil.types.planning import Plan

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "planning.md"
FIGURE = DOCS / "images" / "plan-eegmat.svg"
DELTA = 1e-5
COHORTS = (17, 200, 2000)


def question(n_patients: int, size: Size, trust: str, epsilons: tuple[float, ...]) -> PlanQuestion:
    """Ask with the built-in reference; delta is what that many patients allow."""
    return PlanQuestion(
        public_scaling(size, None, None), n_patients, epsilons,
        min(DELTA, 1 / n_patients**2), trust_model=trust,
    )  # fmt: skip


@lru_cache(maxsize=1)
def eegmat_plan() -> Plan:
    """Seventeen patients, 19 channels, the ten features of the reference, nobody trusted."""
    return plan_release(question(17, Size(19, 10), "local", PLANNED_EPSILONS), PlanWishes())


def price() -> list[str]:
    """The price of the dimension, for three sizes at epsilon = 1."""
    asked = question(17, Size(19, 10), "local", (1.0,))
    rows = [
        price_of_dimension(size.label, size.channels * size.features, asked, 1.0)
        for size in (Size(33, 11), Size(64, 11), Size(33, 12), Size(19, 10))
    ]
    return table(
        ("channels x features", "d", "√d", "typical cell $2/\\sqrt d$", *rows[0].correlations),
        (
            (row.label, row.dimension, f"{row.root:.2f}", f"{row.typical_cell:.3f}",
             *(f"{value:.4f}" for value in row.correlations.values()))
            for row in rows
        ),
    )  # fmt: skip


def eegmat() -> list[str]:
    """Correlation of every release of rows over epsilon, best at the largest first."""
    plan = eegmat_plan()
    kinds = {}
    for forecast in plan.forecasts:
        key = (forecast.mechanism, forecast.form)
        kinds.setdefault(key, {})[forecast.epsilon] = forecast
    ranked = sorted(kinds.values(), key=lambda row: -row[max(plan.epsilons)].score)
    rows = []
    for row in ranked:
        label = re.sub(r" in \d+ public components?", " in public components",
                       row[plan.epsilons[0]].label)  # fmt: skip
        cells = (f"{f.score:.2f}" + (f" ({f.components})" if f.components else "")
                 for f in row.values())  # fmt: skip
        rows.append((label, *cells))
    return table(("release", *(f"ε = {epsilon:g}" for epsilon in plan.epsilons)), rows)


def attackers() -> list[str]:
    """What the strongest attacker gains from plain rows at each epsilon."""
    plan, rows = eegmat_plan(), []
    for epsilon in plan.epsilons:
        plain = [f for f in plan.forecasts if (f.epsilon, f.form) == (epsilon, "plain")]
        of = {forecast.mechanism: forecast.attack for forecast in plain}
        rows.append((
            f"{epsilon:g}", f"{of['privunit'].advantage:.4f}",
            f"{of['privunit'].advantage_of_noise:.4f}", f"{of['gaussian'].advantage_of_noise:.4f}",
            f"{of['privunit'].posterior:.4f}",
        ))  # fmt: skip
    return table(
        ("ε", "advantage, at most", "PrivUnit's own", "Gaussian's own", "belief 1/2 becomes"), rows
    )


def groups() -> list[str]:
    """Areas under the curve that are left of d' = 0.8."""
    plan, rows = eegmat_plan(), []
    for epsilon in plan.epsilons:
        best = plan.best(epsilon)
        rows.append((f"{epsilon:g}", best.label, f"{plan.auc_before:.2f}",
                     f"{best.rows.auc_pattern:.2f}", f"{best.rows.auc_column:.2f}"))  # fmt: skip
    return table(
        ("ε", "best release", "without noise", "by the strongest pattern", "by a column"), rows
    )


def drops() -> list[str]:
    """The three best channels and features to leave out."""
    found = eegmat_plan().drops
    rows = []
    for kind in ("channel", "feature"):
        best = [each for each in found.listed if each.kind == kind][:3]
        rows += [
            (f"{kind} {drop.name}", f"{drop.kept_before:.3f}", f"{drop.kept_after:.3f}",
             f"{drop.recovered:.2f}", f"{drop.all_before:.3f}", f"{drop.all_after:.3f}")
            for drop in best
        ]  # fmt: skip
    return table(
        ("left out", "others before", "others after", "its own, estimated", "all before",
         "all after"), rows,
    )  # fmt: skip


def simulated() -> list[str]:
    """The made-up cohort of the demonstration: all eleven features, so one is not covered."""
    asked = question(24, Size(19, 11), "local", (1.0, 10.0))
    words = [f"> {sentence}" for sentence in coverage_of(asked).sentences]
    rows = []
    for option in offered_options(asked):
        found = [forecast_option(option, asked, epsilon) for epsilon in asked.epsilons]
        rows.append((found[0].label, *(f"{each.score:.3f}" for each in found)))
    return ["\n>\n".join(words), "", *table(("release", "ε = 1", "ε = 10"), rows)]


def cohorts() -> list[str]:
    """What trust and patients buy, at epsilon = 1 and 5."""
    rows = []
    for epsilon in (1.0, 5.0):
        for n_patients in COHORTS:
            asked = question(n_patients, Size(19, 10), "central", (epsilon,))
            best: dict[str, float] = {}
            for option in offered_options(asked):
                score = forecast_option(option, asked, epsilon).score
                best[option.trust_model] = max(best.get(option.trust_model, 0.0), score)
            scores = (f"{best[name]:.2f}" for name in ("local", "shuffled", "central"))
            rows.append((f"{epsilon:g}", f"{n_patients:,}", *scores))
    return table(
        ("ε", "patients", "nobody trusted", "a shuffler trusted", "mean and covariance, central"),
        rows,
    )  # fmt: skip


PARTS: dict[str, Callable[[], list[str]]] = {
    "price": price, "eegmat": eegmat, "attackers": attackers, "groups": groups, "drops": drops,
    "simulated": simulated, "cohorts": cohorts,
}  # fmt: skip


@cache
def computed(name: str) -> str:
    """Give a part as it stands between its markers."""
    return "\n".join(PARTS[name]()) + "\n"


def table(headings: Iterable[object], rows: Iterable[Iterable[object]]) -> list[str]:
    """Write a Markdown table."""
    first = list(map(str, headings))
    lines = [first, ["---"] * len(first), *(list(map(str, row)) for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def fill(text: str, names: Iterable[str]) -> str:
    """Put computed parts between their markers."""
    for name in names:
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        found = pattern.search(text)
        if found is None:
            raise SystemExit(f"docs/{PAGE.name} has no part {name}")
        text = text[: found.end(1)] + computed(name) + text[found.start(2) :]
    return text


def description(svg: str) -> str:
    """Give the words of a figure, numbers included."""
    found = re.search(r"<desc[^>]*>(.*?)</desc>", svg, re.DOTALL)
    return found.group(1) if found else ""


def main() -> int:
    """Write or check; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"default: {' '.join(PARTS)} figure")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    names = options.parts or [*PARTS, "figure"]
    parts = [name for name in names if name != "figure"]
    for name in parts:
        computed(name)  # takes a while, in which somebody may have edited the page
    text = PAGE.read_text(encoding="utf-8")
    differing = [name for name in parts if fill(text, [name]) != text]
    if "figure" in names:
        figure = plan_figure(eegmat_plan()) + "\n"
        if not options.check:
            FIGURE.write_text(figure, encoding="utf-8")
        elif description(figure) != description(FIGURE.read_text(encoding="utf-8")):
            differing.append("figure")
    if not options.check:
        PAGE.write_text(fill(text, parts), encoding="utf-8")
        return 0
    for name in differing:
        print(f"docs/{PAGE.name}: {name} is out of date: run tools/{Path(__file__).name}",
              file=sys.stderr)  # fmt: skip
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
