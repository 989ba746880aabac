"""Exit codes and words of the command line, without a process of its own."""

import errno
import io
import json

import pytest

from neuroveil.cli import COMMANDS, app
from neuroveil.errors import BudgetError, RecordingError, StudyError, StudyMistake

ERRORS = {
    2: StudyError([StudyMistake("privacy.epsilon", "a number", "text", "Correct it.")]),
    3: RecordingError("recording 1 of 2", "EEG", "none", "Export it again."),
    4: BudgetError("budget", "room", "none", "Stop."),
}


@pytest.fixture
def failing(monkeypatch):
    """Make `neuroveil verify` raise what a test asks for."""

    def make(error: BaseException) -> None:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr("neuroveil.privacy.verify.verify", fail)

    return make


@pytest.mark.parametrize("code", sorted(ERRORS))
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_each_refusal_has_its_exit_code(failing, capsys, code, flags):
    failing(ERRORS[code])
    assert app.run(["verify", ".", *flags]) == code
    said = capsys.readouterr()
    assert str(ERRORS[code]) in said.err
    if flags:
        assert json.loads(said.out)["error"] == type(ERRORS[code]).__name__


def test_a_bug_tells_its_place_and_never_its_values(failing, capsys):
    failing(ValueError("patient Canary has 42"))
    assert app.run(["verify", ".", "-v"]) == 1
    said = capsys.readouterr()
    assert "Canary" not in said.out + said.err
    assert "ValueError at" in said.err


def test_interruption_says_how_to_go_on(failing, capsys):
    failing(KeyboardInterrupt())
    assert app.run(["verify", "."]) == 130
    assert "go on" in capsys.readouterr().err


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "Canary"), MemoryError("Canary")])
def test_a_full_machine_is_no_bug(failing, capsys, error):
    failing(error)
    assert app.run(["verify", ".", "--json"]) == 5
    said = capsys.readouterr()
    assert json.loads(said.out)["error"] == "MachineError"
    assert "Canary" not in said.out + said.err


def test_an_interruption_is_one_object_too(failing, capsys):
    failing(KeyboardInterrupt())
    assert app.run(["verify", ".", "--json"]) == 130
    assert json.loads(capsys.readouterr().out) == {"error": "interrupted", "exit_code": 130}


def test_output_that_nobody_reads_is_not_a_claim_that_holds(failing, monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())  # it is closed
    failing(BrokenPipeError())
    assert app.run(["verify", "."]) == 5


@pytest.mark.parametrize("arguments", [[], ["plan"], ["audit"], ["audit", "mechanism"]])
def test_help_has_a_short_name_as_well(capsys, arguments):
    assert app.run([*arguments, "-h"]) == 0
    assert "Usage: neuroveil" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nonsense"], ["verify"], ["release", "--epsilon", "x"]])
def test_mistakes_on_the_command_line_end_with_2(capsys, arguments):
    assert app.run([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "UsageError"


def test_every_command_module_has_a_command_and_help():
    for name, (_, text) in COMMANDS.items():
        command = app.cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert command.help
        assert text.endswith(".")


@pytest.mark.parametrize(
    "arguments", [["verify"], ["report"], ["audit", "--table", "t.csv"], ["audit", "table"]]
)
def test_a_mistyped_path_is_no_broken_claim(tmp_path, capsys, arguments):
    name = "release of Canary"
    assert app.run([*arguments, str(tmp_path / name)]) == 2
    said = capsys.readouterr()
    assert "no such file or folder" in said.err
    assert "Canary" not in said.out + said.err
