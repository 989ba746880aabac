"""Any program under audit: rows on its standard input, answers on its standard output."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.answers import as_releases
from neuroveil.audit.subjects.calling import MOST_BYTES, call_program
from neuroveil.audit.subjects.exchange import FORMATS
from neuroveil.errors import MachineError, StudyError, StudyMistake
from neuroveil.types.recording import FloatArray

ROLE = "--command"
TIME_LIMIT = 600.0
"""Seconds that one call may take, unless another limit is given."""


@dataclass(frozen=True)
class CommandSubject:
    """A program that claims differential privacy.

    It is started without a shell, once for as many trials as a run asks for, each of which it
    must treat on its own, as if it had been started for it alone.

    Parameters
    ----------
    facts : SubjectFacts
        What it claims.
    command : tuple of str
        Program and arguments.
    form : {"npy", "jsonl", "csv"}
        How tables and answers are written, see :mod:`~neuroveil.audit.subjects.exchange`.
    time_limit : float
        Seconds that one call may take.

    Raises
    ------
    StudyError
        If there is no program, no such format, or no time.
    """

    facts: SubjectFacts
    command: tuple[str, ...]
    form: str = "npy"
    time_limit: float = TIME_LIMIT

    def __post_init__(self) -> None:
        if not self.command:
            raise _mistake("a program and its arguments", "nothing", "Name a program.")
        if self.form not in FORMATS:
            raise _mistake(
                f"one of the formats {', '.join(FORMATS)}", repr(self.form), "Choose one of them."
            )
        if not self.time_limit > 0:
            raise _mistake("a positive time limit in seconds", repr(self.time_limit), "Give one.")

    def run(self, rows: FloatArray, n_trials: int, seed: int | None) -> FloatArray:
        """Start the program once, for one table and several trials.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, dimension)
            One table (no unit).
        n_trials : int
            How many releases.
        seed : None
            A program has randomness of its own.

        Returns
        -------
        ndarray of float64, shape (n_trials, n_values)
            One flattened release a trial.

        Raises
        ------
        StudyError
            If it cannot be started, fails, or answers something else.
        MachineError
            If it takes longer than it may.
        """
        form = FORMATS[self.form]
        answer = self._call(form.write(rows, n_trials))
        try:
            answers = form.read(answer)
        except (ValueError, EOFError, RecursionError):
            raise _mistake(
                f"an answer in the format {self.form}", f"{len(answer)} bytes that are none",
                "Write nothing but the answer to standard output; words go to standard error.",
            ) from None  # fmt: skip
        return as_releases(answers, n_trials, ROLE)

    def _call(self, question: bytes) -> bytes:
        try:
            done = call_program(self.command, question, self.time_limit)
        except TimeoutError:
            raise MachineError(
                ROLE, f"an answer within {self.time_limit:g} s", "none",
                "Ask for fewer trials, or allow more time with --time-limit.",
            ) from None  # fmt: skip
        except OSError as error:
            raise _mistake(
                "a program that can be started", type(error).__name__,
                "Give its path, or put it on PATH; shell syntax is not understood.",
            ) from None  # fmt: skip
        if not done.is_whole:
            raise _mistake(
                f"an answer of at most {MOST_BYTES >> 20} MiB", "a longer one",
                "Write nothing but the answer to standard output, or ask for fewer trials.",
            )  # fmt: skip
        if done.exit_code != 0:
            n_lines = done.n_error_lines
            raise _mistake(
                "exit code 0", f"{done.exit_code}, and {n_lines} lines on standard error",
                "Feed it one table yourself to see what it says.",
            )  # fmt: skip
        return done.output


def split_command(text: str) -> tuple[str, ...]:
    """Split a command line into program and arguments, as a shell would, without one.

    Parameters
    ----------
    text : str
        Command line.

    Returns
    -------
    tuple of str
        Program and arguments.

    Raises
    ------
    StudyError
        If quotes are not closed.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise _mistake("a command line", "quotes that are not closed", "Close them.") from None


def _mistake(expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake(ROLE, expected, found, remedy)])
