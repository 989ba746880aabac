"""Puts tables, figures and effects together once all pieces are done."""

from __future__ import annotations

from neuroveil.evaluate.reproduction import effects, table_7, tables
from neuroveil.evaluate.reproduction.assemble import Results, classifier_figures, mechanism_figures
from neuroveil.evaluate.reproduction.printed import DIMENSION
from neuroveil.types.reproduction import CohortFacts, MechanismFigures, Reproduction


def conclude(cohort: CohortFacts, results: Results) -> Reproduction:
    """Compare everything that the paper prints with what was found.

    Parameters
    ----------
    cohort : CohortFacts
        Whose rows.
    results : mapping of Piece to dict
        What every piece gave.

    Returns
    -------
    Reproduction
        Tables, figures behind the drawings, and effects.
    """
    mechanisms = mechanism_figures(results)
    classifiers = classifier_figures(results)
    by_name = {figures.name: figures for figures in classifiers}
    gaussian, laplace = _of(mechanisms, "gaussian"), _of(mechanisms, "paper_laplace")
    return Reproduction(
        cohort=cohort,
        seed=next(iter(results)).seed,
        n_draws=gaussian[0].n_draws,
        n_classifier_draws=classifiers[0].n_draws,
        tables=(
            tables.table_1(),
            tables.table_3(),
            tables.trend_table("gaussian", gaussian, cohort.n_features),
            tables.trend_table("paper_laplace", laplace, cohort.n_features),
            table_7.table_7(by_name),
            table_7.table_7_arithmetic(),
        ),
        mechanisms=mechanisms,
        classifiers=classifiers,
        effects=(
            effects.laplace_scale(),
            effects.private_scaling(),
            # The paper's correlations belong to its number of columns.
            *((effects.one_draw(gaussian),) if cohort.n_features == DIMENSION else ()),
            effects.tuned_threshold(by_name),
            effects.seventeen_patients(by_name),
        ),
    )


def _of(mechanisms: tuple[MechanismFigures, ...], name: str) -> tuple[MechanismFigures, ...]:
    return tuple(figures for figures in mechanisms if figures.name == name)
