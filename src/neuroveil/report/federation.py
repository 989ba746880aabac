"""The page of a training: what it promises, its rounds, its hospitals, its attacks."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from neuroveil.report.audit import VERDICT_WORDS
from neuroveil.report.rendering import render
from neuroveil.report.text import fact_value, number
from neuroveil.types.federation import FederationResult, Judged

_SETTINGS = {
    "local_features": "rows protected at home, before training",
    "dp_sgd": "noise in every step at every hospital",
    "distributed": "shares of noise under secure aggregation",
    "none": "no protection",
    "central": "noise in every step at a server that holds all rows",
}
_STEP_NAMES = {
    "unit": "Who is protected", "adjacency": "Against what change", "domain": "What goes in",
    "bound": "What one patient can contribute", "sensitivity": "What one patient can change",
    "mechanism": "The noise", "sampler": "Where noise comes from", "guarantee": "The promise",
    "accountant": "How it was counted", "aggregation": "How updates are summed",
    "postprocessing": "What costs nothing more", "model": "Who is trusted",
    "software": "Software",
}  # fmt: skip


def federation_report(result: FederationResult) -> str:
    """Draw the page of a training, by hospitals together or by a server that they trust.

    Parameters
    ----------
    result : FederationResult
        What was found. With figures or attacks the page is internal.

    Returns
    -------
    str
        HTML; one file that asks for nothing else.
    """
    chain = result.chain
    plan = chain["plan"]
    return render("federation.html.j2", {
        "title": "Training by a trusted server" if _is_central(plan) else "Federated training",
        "is_central": _is_central(plan),
        "chain": chain,
        "plan": plan,
        "setting": _SETTINGS[plan["privacy"]["setting"]],
        "key_figures": _key_figures(result),
        "rounds": [_round(each) for each in chain["rounds"]],
        "hospitals": [_judged(name, each) for name, each in result.hospitals.items()],
        "pooled": None if result.pooled is None else _judged("all hospitals", result.pooled),
        "links": [
            {"title": _STEP_NAMES.get(link, link), "facts": [
                {"name": name.replace("_", " "), "value": fact_value(fact["value"]),
                 "status": fact["status"], "source": fact["source"],
                 "formula": fact["formula"] or ""}
                for name, fact in facts.items()
            ]}
            for link, facts in chain["chain"].items()
        ],
        "audits": [
            {"title": each.title, "target": each.target, "verdict": VERDICT_WORDS[each.verdict],
             "sentence": each.sentence, "limits": each.limits,
             "figures": [_audit_figure(figure) for figure in each.figures]}
            for each in result.audits
        ],
        "is_internal": bool(result.hospitals or result.audits),
        "version": version("neuroveil"),
    })  # fmt: skip


def _is_central(plan: Mapping[str, Any]) -> bool:
    return bool(plan["privacy"]["setting"] == "central")


def _key_figures(result: FederationResult) -> list[tuple[str, str]]:
    plan, chain = result.chain["plan"], result.chain
    privacy, seats = plan["privacy"], plan["seats"]
    bare = privacy["setting"] == "none"
    found = [
        ("ε of the plan", "none" if bare else number(privacy["epsilon"])),
        ("δ of the plan", "none" if bare else number(privacy["delta"])),
        (
            "ε spent" if _is_central(plan) else "ε spent so far",
            "none" if bare else number(chain["epsilon_spent"], 3),
        ),
    ]
    n_patients = str(sum(seat["n_patients"] for seat in seats))
    if _is_central(plan):
        found += [("people on the rosters", n_patients), ("steps", str(len(chain["rounds"])))]
    else:
        found += [
            ("hospitals", str(len(seats))), ("patients that train", n_patients),
            ("rounds that counted", f"{len(chain['rounds'])} of {plan['training']['rounds']}"),
        ]  # fmt: skip
    pooled = result.pooled
    if pooled is not None and pooled.balanced_accuracy is not None and pooled.auc is not None:
        found.append(("balanced accuracy", _interval(pooled.balanced_accuracy)))
        found.append(("area under the curve", _interval(pooled.auc)))
    return found


def _interval(figure: Any) -> str:
    return f"{figure.mean:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def _round(record: Mapping[str, Any]) -> dict[str, Any]:
    out = record["hospitals_out"]
    return {
        "number": record["round"], "attempt": record["attempt"],
        "inside": len(record["hospitals_in"]),
        "outside": "; ".join(f"{name}: {why}" for name, why in out.items()) or "none",
        "loss": "not told" if record["loss"] is None else f"{record['loss']:.4f}",
        "seconds": f"{record['seconds']:.1f}",
        "kilobytes": f"{(record['bytes_sent'] + record['bytes_received']) / 1000:.1f}",
    }  # fmt: skip


def _judged(name: str, judged: Judged) -> dict[str, Any]:
    balanced, auc = judged.balanced_accuracy, judged.auc
    return {
        "name": name, "positive": judged.n_positive, "negative": judged.n_negative,
        "balanced": "one class only" if balanced is None else _interval(balanced),
        "auc": "one class only" if auc is None else _interval(auc),
        "loss": f"{judged.loss:.3f}",
    }  # fmt: skip


def _audit_figure(figure: Any) -> dict[str, str]:
    return {
        "label": figure.label,
        "value": f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})",
        "control": "none" if figure.control is None else f"{figure.control:.3f}",
    }
