"""Programs as subjects: formats, time limits, and clear words for what goes wrong."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.calling import call_program
from neuroveil.audit.subjects.exchange import FORMATS
from neuroveil.audit.subjects.process import CommandSubject, split_command
from neuroveil.errors import MachineError, StudyError

FACTS = SubjectFacts("program", 1.0, 0.0, 3, 2.0)
ROWS = np.array([[0.1, -1.5e-300, 2.0**70], [3.0, 1 / 3, -0.0]])
PROGRAMS = {
    "npy": "import io,sys,numpy as np; x=np.load(io.BytesIO(sys.stdin.buffer.read())); "
    "np.save(sys.stdout.buffer, 2*x)",
    "jsonl": "import sys,json\nfor line in sys.stdin: "
    "print(json.dumps([[2*v for v in row] for row in json.loads(line)]))",
    "csv": "import sys\nfor line in sys.stdin: "
    "print(','.join(repr(2*float(c)) for c in line.split(',')) if line.strip() else '')",
}


def program(code, form="npy", time_limit=30.0):
    return CommandSubject(FACTS, (sys.executable, "-c", code), form, time_limit)


@pytest.mark.parametrize("form", list(FORMATS))
def test_rows_go_in_and_answers_come_out_to_the_last_bit(form):
    released = program(PROGRAMS[form], form).run(ROWS, 4, None)
    assert released.tobytes() == np.tile((2 * ROWS).ravel(), (4, 1)).tobytes()


@pytest.mark.parametrize("form", list(FORMATS))
def test_one_row_of_one_column_is_a_table_too(form):
    assert program(PROGRAMS[form], form).run(np.array([[0.5]]), 3, None).tolist() == [[1.0]] * 3


@pytest.mark.parametrize(
    ("code", "form", "expected"),
    [
        ("import sys; sys.exit(3)", "npy", "exit code 0, found 3"),
        ("print('words')", "npy", "format npy"),
        ("print('words')", "jsonl", "format jsonl"),
        ("print('words')", "csv", "format csv"),
        ("print('[1]')", "jsonl", "3 trials"),
        ("pass", "npy", "format npy, found 0 bytes"),
        ("pass", "csv", "format csv"),
        ("print('[1]\\n[1, 2]\\n[1]')", "jsonl", "all of one size"),
        ('print(\'["a"]\\n["a"]\\n["a"]\')', "jsonl", "numbers"),
    ],
)
def test_other_answers_are_refused_with_what_was_expected(code, form, expected):
    with pytest.raises(StudyError, match="--command") as caught:
        program(code, form).run(ROWS, 3, None)
    assert expected in str(caught.value)


def test_objects_are_never_unpickled(tmp_path):
    witness = tmp_path / "ran"
    code = (
        "import sys, numpy as np\n"
        "class Bad:\n"
        f"    def __reduce__(self): return (open, ({str(witness)!r}, 'w'))\n"
        "np.save(sys.stdout.buffer, np.array([Bad()] * 3, dtype=object), allow_pickle=True)"
    )
    with pytest.raises(StudyError, match="format npy"):
        program(code).run(ROWS, 3, None)
    assert not witness.exists()


def test_a_slow_program_is_stopped():
    with pytest.raises(MachineError, match=r"within 0\.3 s") as caught:
        program("import time; time.sleep(60)", time_limit=0.3).run(ROWS, 1, None)
    assert caught.value.exit_code == 5


def test_what_a_program_says_on_standard_error_is_counted_and_not_shown():
    code = "import sys; sys.stderr.write('patient Canary\\n'); sys.exit(1)"
    with pytest.raises(StudyError, match="1 lines") as caught:
        program(code).run(ROWS, 1, None)
    assert "Canary" not in str(caught.value)


def test_no_shell_is_involved(tmp_path):
    subject = CommandSubject(FACTS, split_command(f"echo 1 > {tmp_path / 'file'}"), "jsonl")
    with pytest.raises(StudyError):
        subject.run(ROWS, 1, None)
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    "arguments",
    [((),), (("/none/such",), "xml"), (("true",), "npy", 0.0), (("true",), "npy", float("nan"))],
)
def test_commands_that_cannot_be_are_refused_at_once(arguments):
    with pytest.raises(StudyError, match="--command"):
        CommandSubject(FACTS, *arguments)


def test_a_program_that_does_not_exist_is_refused():
    with pytest.raises(StudyError, match="can be started"):
        CommandSubject(FACTS, ("/none/such/program",)).run(ROWS, 1, None)


def test_quotes_are_understood_and_must_be_closed():
    assert split_command("python -c 'a b' \"c d\"") == ("python", "-c", "a b", "c d")
    with pytest.raises(StudyError, match="quotes"):
        split_command("python 'x")


@pytest.mark.skipif(sys.platform == "win32", reason="locks files as POSIX does")
def test_a_child_that_hangs_is_ended_with_its_program(tmp_path):
    """The child holds a lock for as long as it lives."""
    import fcntl

    witness = tmp_path / "child"
    child = (
        f"import fcntl, time; file = open({str(witness)!r}, 'w')\n"
        "fcntl.flock(file, fcntl.LOCK_EX); time.sleep(300)"
    )
    code = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "import time; time.sleep(300)"
    )
    with pytest.raises(MachineError):
        program(code, time_limit=1.0).run(ROWS, 1, None)
    until = time.monotonic() + 60
    with witness.open("a") as file:
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
        else:
            pytest.fail("the child still holds its lock")


def test_a_flood_is_cut_off_and_leaves_nothing_running():
    code = "import os; os.write(2, b'x')\nwhile True: os.write(1, b'Canary' * 1000)"
    began = time.monotonic()
    answer = call_program((sys.executable, "-c", code), b"", 30.0, most_bytes=1_000_000)
    assert not answer.is_whole
    assert len(answer.output) <= 1_000_000
    assert time.monotonic() - began < 20


def test_a_long_question_that_is_not_read_is_no_mistake():
    answer = call_program((sys.executable, "-c", "print(1)"), b"0" * 10_000_000, 30.0)
    assert (answer.output.strip(), answer.exit_code) == (b"1", 0)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux does")
def test_calls_leave_no_files_open():
    call_program((sys.executable, "-c", ""), b"", 30.0)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        call_program((sys.executable, "-c", ""), b"", 30.0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_no_limit_of_time_is_a_limit_too():
    assert program(PROGRAMS["npy"], time_limit=float("inf")).run(ROWS, 1, None).shape == (1, 6)
