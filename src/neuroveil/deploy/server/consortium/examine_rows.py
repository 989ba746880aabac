"""Read what a hospital sent in a process of its own, with limits of memory and time.

The content comes through a pipe and never touches a disk. Run as
``python -m neuroveil.deploy.server.consortium.examine_rows MIB SECONDS``.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from neuroveil.deploy.pseudonymised import read_features, read_roster
from neuroveil.errors import RecordingError
from neuroveil.types.catalogue import Column


def main(arguments: list[str]) -> None:
    """Set the limits, read, print one JSON object, empty where all is well, and end the process.

    Parameters
    ----------
    arguments : list of str
        MiB of memory and seconds of CPU.
    """
    mebibytes, seconds = map(int, arguments)
    resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    head = json.loads(sys.stdin.buffer.readline())
    roster, content = sys.stdin.buffer.read(head["roster"]), sys.stdin.buffer.read()
    columns = tuple(Column(channel, feature) for channel, feature in head["columns"])
    try:
        if not roster:
            read_roster(content, head["largest"])
        else:
            rows = read_features(content, columns, head["largest"], head["has_label"])
            rows.in_order_of(read_roster(roster, head["largest"]), columns)
    except RecordingError as error:
        print(json.dumps({"expected": error.expected, "found": error.found}), flush=True)
    else:
        print("{}", flush=True)
    # Without the interpreter's own end: now and then a thread of Arrow's wants the interpreter
    # just then and aborts the process (apache/arrow#34314), and an honest file would be refused.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
