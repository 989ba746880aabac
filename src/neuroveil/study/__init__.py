"""The study file: what a data steward writes down, and the checked settings made from it."""

from neuroveil.study.evaluation import EvaluationSettings
from neuroveil.study.load import dump_study, load_study, study_for_bids, study_json_schema
from neuroveil.study.model import OutputSettings, Study
from neuroveil.study.promise import (
    BudgetSettings,
    LabelSettings,
    PostprocessingSettings,
    PrivacySettings,
    ProvenanceSettings,
    ReferenceSettings,
)
from neuroveil.study.recordings import (
    FeatureSettings,
    InputSettings,
    MontageSettings,
    SignalOptions,
)
from neuroveil.study.server import ServerSettings
from neuroveil.study.template import TEMPLATE_CHOICES, study_template

__all__ = [
    "TEMPLATE_CHOICES",
    "BudgetSettings",
    "EvaluationSettings",
    "FeatureSettings",
    "InputSettings",
    "LabelSettings",
    "MontageSettings",
    "OutputSettings",
    "PostprocessingSettings",
    "PrivacySettings",
    "ProvenanceSettings",
    "ReferenceSettings",
    "ServerSettings",
    "SignalOptions",
    "Study",
    "dump_study",
    "load_study",
    "study_for_bids",
    "study_json_schema",
    "study_template",
]
