"""Everything neuroveil can refuse, in one tree.

::

    NeuroveilError                 something was refused; always says what to do
    ├── StudyError         exit 2  a mistake in the study file or on the command line
    ├── RecordingError     exit 3  a recording or table that cannot be used
    ├── ChainError         exit 4  a derivation that would not support its guarantee
    ├── BudgetError        exit 4  no room left in the privacy budget
    ├── CertificateError   exit 4  a certificate that is broken, or not bound to its files
    ├── MachineError       exit 5  the machine, not the data, got in the way; run again
    ├── LinkageError       exit 3  identifiers that cannot be linked
    └── FederationError    exit 3  a federation that cannot go on
    NeuroveilWarning               something a person should know, and nothing is broken

A message names the role of the file or the field, what was expected, what was found and
what to do. It never holds a data value, a patient key or a full path.
"""

from __future__ import annotations


class NeuroveilWarning(UserWarning):
    """Something a person should know although nothing is broken."""


class NeuroveilError(Exception):
    """Base of all refusals.

    Parameters
    ----------
    where : str
        The field (dotted) or the role of the file that is wrong, for example
        ``"privacy.epsilon"`` or ``"recording 3 of 41"``. Never a patient key.
    expected : str
        What would have been right.
    found : str
        What was there instead: a shape, a count, a type, a public setting.
    remedy : str
        What the reader can do now.
    """

    exit_code = 1

    def __init__(self, where: str, expected: str, found: str, remedy: str) -> None:
        self.where = where
        self.expected = expected
        self.found = found
        self.remedy = remedy
        super().__init__(where, expected, found, remedy)

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}. {self.remedy}"

    def as_dict(self) -> dict[str, object]:
        """Give the error as plain data, for ``--json``.

        Returns
        -------
        dict
            Keys ``error``, ``where``, ``expected``, ``found``, ``remedy``.
        """
        return {
            "error": type(self).__name__,
            "where": self.where,
            "expected": self.expected,
            "found": self.found,
            "remedy": self.remedy,
        }


class StudyError(NeuroveilError):
    """One or more mistakes in the study or on the command line.

    Parameters
    ----------
    mistakes : list of StudyMistake
        All mistakes that were found, not just the first.
    """

    exit_code = 2

    def __init__(self, mistakes: list[StudyMistake]) -> None:
        self.mistakes = mistakes
        first = mistakes[0]
        super().__init__(first.where, first.expected, first.found, first.remedy)
        self.args = (mistakes,)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)

    def as_dict(self) -> dict[str, object]:
        """Give the error as plain data, for ``--json``.

        Returns
        -------
        dict
            Keys ``error`` and ``mistakes``, a list with one entry a mistake.
        """
        return {
            "error": type(self).__name__,
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
        }


class StudyMistake(NeuroveilError):
    """One mistake in the study; raised only inside a :class:`StudyError`."""

    exit_code = 2


class RecordingError(NeuroveilError):
    """A recording, roster or feature table cannot be used.

    Parameters
    ----------
    where, expected, found, remedy : str
        As in :class:`NeuroveilError`.
    code : str
        Short stable name of the kind of problem, for example ``"unit_unknown"``, by which
        the problems of many recordings can be counted; ``""`` where it has none.
    """

    exit_code = 3

    def __init__(self, where: str, expected: str, found: str, remedy: str, code: str = "") -> None:
        super().__init__(where, expected, found, remedy)
        self.args = (where, expected, found, remedy, code)
        self.code = code

    def as_dict(self) -> dict[str, object]:
        """Give the error as plain data, for ``--json``.

        Returns
        -------
        dict
            Keys ``error``, ``where``, ``expected``, ``found``, ``remedy``, ``code``.
        """
        return {**super().as_dict(), "code": self.code}


class ChainError(NeuroveilError):
    """The derivation would not support the guarantee that was asked for."""

    exit_code = 4


class BudgetError(NeuroveilError):
    """The privacy budget has no room, or the ledger cannot be trusted."""

    exit_code = 4


class CertificateError(NeuroveilError):
    """A certificate cannot be read, does not hold, or does not match its files."""

    exit_code = 4


class MachineError(NeuroveilError):
    """The machine got in the way: a full disk, no memory, a limit of time.

    Says nothing about the data. Work that was finished is kept; a release is never made
    from what is left, since one patient's data could then decide another patient's row.
    """

    exit_code = 5


class LinkageError(NeuroveilError):
    """Identifiers cannot be encoded or linked."""

    exit_code = 3


class PatientListError(LinkageError):
    """Values of a patient list cannot be linked.

    Parameters
    ----------
    problems : list of LinkageError
        All that were found, each with its field and line.
    """

    _SHOWN = 50

    def __init__(self, problems: list[LinkageError]) -> None:
        self.problems = problems
        first = problems[0]
        super().__init__(first.where, first.expected, first.found, first.remedy)
        self.args = (problems,)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[: self._SHOWN]]
        rest = len(self.problems) - len(lines)
        return "\n".join(lines + ([f"... and {rest} more like these."] if rest else []))

    def as_dict(self) -> dict[str, object]:
        """Give the error as plain data, for ``--json``.

        Returns
        -------
        dict
            Keys ``error`` and ``problems``, a list with one entry a problem.
        """
        problems = [problem.as_dict() for problem in self.problems]
        return {"error": type(self).__name__, "problems": problems}


class FederationError(NeuroveilError):
    """A federation cannot be started or continued."""

    exit_code = 3
