"""Tell failures of the machine from failures of a file.

Only what a file itself holds may turn a patient's row into the public fallback. A full disk
or a lack of memory may come from another patient's recording, so rows would no longer be
independent; such a run stops before any budget is spent.
"""

from __future__ import annotations

import errno

from neuroveil.errors import MachineError

_OF_THE_FILE = frozenset({
    errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP,
    errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO, errno.EFBIG, errno.ENODEV,
})  # fmt: skip


def is_of_the_machine(error: BaseException) -> bool:
    """Tell whether an error says nothing about the file that was read.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    bool
        True for lack of memory, disk, handles, and for errors of input and output.
    """
    if isinstance(error, MemoryError):
        return True
    # An OSError without a number was raised by a reader about what it read.
    return isinstance(error, OSError) and error.errno is not None and (
        error.errno not in _OF_THE_FILE
    )  # fmt: skip


def machine_error(where: str, error: BaseException) -> MachineError:
    """Say what the machine could not do.

    Parameters
    ----------
    where : str
        Role of the file or folder.
    error : BaseException
        What was raised; its text may hold a path and is not repeated.

    Returns
    -------
    MachineError
        Ready to raise.
    """
    number = error.errno if isinstance(error, OSError) else None
    kind = errno.errorcode.get(number, "error") if number else type(error).__name__
    return MachineError(
        where, "a machine with room on its disk and in its memory", kind,
        "Make room and run again; finished recordings are kept.",
    )  # fmt: skip
