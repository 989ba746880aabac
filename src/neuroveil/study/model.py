"""A whole study: all sections together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, Strict

from neuroveil.errors import StudyMistake
from neuroveil.study.evaluation import EvaluationSettings
from neuroveil.study.federation import FederationSettings
from neuroveil.study.linkage import LinkageSettings
from neuroveil.study.promise import (
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
from neuroveil.study.section import Section, Text
from neuroveil.study.server import ServerSettings
from neuroveil.types.catalogue import column_from_name


class OutputSettings(Section):
    """Where results go, and the key that signs them; the two folders never meet."""

    internal: str = "internal"
    release: str = "release"
    signing_key: Text | None = None

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        if self.signing_key is not None and Path(self.release) in Path(self.signing_key).parents:
            return [StudyMistake(
                "output.signing_key", "a file outside the release folder", "one inside it",
                "The key must never travel with a release.",
            )]  # fmt: skip
        return folders_that_meet(Path(self.internal), Path(self.release))


def folders_that_meet(internal: Path, release: Path) -> list[StudyMistake]:
    """Refuse two folders of which one lies in the other.

    Parameters
    ----------
    internal, release : Path
        As written, or resolved.

    Returns
    -------
    list of StudyMistake
        Empty where they are apart.
    """
    if internal != release and internal not in release.parents and (
        release not in internal.parents
    ):  # fmt: skip
        return []
    return [StudyMistake(
        "output", "two folders, neither inside the other", "folders that meet",
        "Internal results hold patient rows and must not travel with a release.",
    )]  # fmt: skip


class Study(Section):
    """A whole study, checked.

    The section names are the study file's, in the order of the chain.
    """

    input: InputSettings = InputSettings()
    montage: MontageSettings = MontageSettings()
    signal: SignalOptions = SignalOptions()
    features: FeatureSettings = FeatureSettings()
    reference: ReferenceSettings = ReferenceSettings()
    privacy: PrivacySettings = PrivacySettings()
    postprocessing: PostprocessingSettings = PostprocessingSettings()
    labels: Annotated[tuple[LabelSettings, ...], Strict(False)] = ()
    evaluation: EvaluationSettings = EvaluationSettings()
    linkage: LinkageSettings | None = None
    federation: FederationSettings | None = None
    server: ServerSettings | None = None
    provenance: ProvenanceSettings | None = None
    output: OutputSettings = OutputSettings()
    root: Path = Field(default=Path(), exclude=True)
    overrides: tuple[str, ...] = Field(default=(), exclude=True)

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one section.

        Returns
        -------
        list of StudyMistake
            Empty where the study is consistent.
        """
        found = self._promise_mistakes()
        columns = [label.column for label in self.labels]
        if len(set(columns)) != len(columns):
            found.append(StudyMistake(
                "labels", "each column once", "a column that stands twice",
                "A label that is released twice is spent twice: keep one block a column.",
            ))  # fmt: skip
        if any(column_from_name(column) is not None for column in columns):
            found.append(StudyMistake(
                "labels", "columns that are not named like features", "one that is",
                "Rename that column of the roster: the table holds features under such names.",
            ))  # fmt: skip
        # Written apart, the two may still meet once dots and links are followed.
        found += folders_that_meet(self.path(self.output.internal), self.path(self.output.release))
        return found + self._server_mistakes()

    def _server_mistakes(self) -> list[StudyMistake]:
        """What the way to a server must keep apart from what travels on it."""
        if self.server is None:
            return []
        release = self.path(self.output.release)
        stated = {"key": self.server.key, "encoded": self.server.encoded}
        return [
            StudyMistake(
                f"server.{name}", "a place outside the release folder", "one inside it",
                "Keys and lists of patients must never travel with a release.",
            )
            for name, written in stated.items()
            if written is not None and self.path(written).is_relative_to(release)
        ]  # fmt: skip

    def _promise_mistakes(self) -> list[StudyMistake]:
        """Rules between what is promised and what goes with it."""
        found = []
        released = [label for label in self.labels if label.policy != "left_out"]
        if self.privacy.trust_model == "shuffled" and released:
            found.append(StudyMistake(
                "labels", "none, since privacy.trust_model = 'shuffled'", f"{len(released)}",
                "A label beside a row shrinks the batch that it hides in to its own group: leave "
                "labels out, or set trust_model = 'local'.",
            ))  # fmt: skip
        scaling = self.reference.scaling
        if scaling != "public_reference" and self.privacy.projection == "public_pca":
            found.append(StudyMistake(
                "privacy.projection",
                f"'none' or 'auto', since reference.scaling = {scaling!r}",
                "'public_pca'",
                "A public basis goes with public constants: set scaling = 'public_reference'.",
            ))  # fmt: skip
        return found + self._curator_mistakes()

    def _curator_mistakes(self) -> list[StudyMistake]:
        """Rules about what somebody computes who sees all rows."""
        draws, mechanism = self.reference.scaling == "dp_quantiles", self.privacy.mechanism
        is_central, found = self.privacy.trust_model == "central", []
        if draws and not is_central:
            found.append(StudyMistake(
                "privacy.trust_model", "'central', since reference.scaling = 'dp_quantiles'",
                f"{self.privacy.trust_model!r}",
                "Whoever computes quantiles of all patients sees all rows: say so with "
                "trust_model = 'central', or set scaling = 'public_reference'.",
            ))  # fmt: skip
        if draws and mechanism == "auto":
            found.append(StudyMistake(
                "privacy.mechanism", "a mechanism, since reference.scaling = 'dp_quantiles'",
                "'auto'",
                "Nothing public says how columns in these units vary: name mean_covariance, "
                "gaussian, privunit or laplace.",
            ))  # fmt: skip
        if is_central and not draws and mechanism not in ("mean_covariance", "auto"):
            found.append(StudyMistake(
                "privacy.mechanism", "'mean_covariance' or 'auto', since trust_model = 'central'",
                f"{mechanism!r}",
                "Rows need nobody's trust: set trust_model = 'local' to release them.",
            ))  # fmt: skip
        return found

    def path(self, relative: str) -> Path:
        """Resolve a path of the study file.

        Parameters
        ----------
        relative : str
            As written in the study; relative to the study file's folder.

        Returns
        -------
        Path
            The resolved path.
        """
        return (self.root / relative).resolve()
