import subprocess
import sys

import pytest

from neuroveil import privacy


def test_every_public_name_is_there() -> None:
    for name in privacy.__all__:
        assert getattr(privacy, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'protext'"):
        _ = privacy.protext


def test_functions_are_not_hidden_by_modules_of_the_same_name() -> None:
    import neuroveil.privacy.protection
    import neuroveil.privacy.simulation  # noqa: F401

    assert callable(privacy.protect)
    assert callable(privacy.simulate)


def test_verification_needs_neither_numpy_nor_opendp() -> None:
    code = (
        "import sys, neuroveil.privacy, neuroveil.privacy.verify\n"
        "heavy = {'numpy', 'scipy', 'opendp', 'dp_accounting'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
