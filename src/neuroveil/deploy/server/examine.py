"""Verify one release folder in a process of its own, with limits of memory and time.

What hospitals send is untrusted: a file that makes a reader run wild ends this process and not
the server. Run as ``python -m neuroveil.deploy.server.examine FOLDER KEY MIB SECONDS``.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

_MOST_SENTENCES = 5


def examine(folder: Path, public_key: str | None) -> dict[str, Any]:
    """Derive a certificate again, and check the files that it binds.

    Parameters
    ----------
    folder : Path
        A release folder.
    public_key : str or None
        The key that has to have signed the certificate; any, or none, where left out.

    Returns
    -------
    dict
        Keys ``outcome``, ``links`` (broken or unchecked ones) and ``sentences``.
    """
    from neuroveil.errors import CertificateError
    from neuroveil.privacy.verify import verify

    try:
        result = verify(folder, public_key)
    except CertificateError as error:
        return {"outcome": "broken", "links": ["document"], "sentences": [str(error)]}
    links = result.broken_links or result.unchecked_links
    sentences = [check.sentence for check in result.checks if check.outcome == result.outcome]
    shown = sentences[:_MOST_SENTENCES] if links else []
    return {"outcome": result.outcome, "links": list(links), "sentences": shown}


def main(arguments: list[str]) -> None:
    """Set the limits, examine, and print one JSON object.

    Parameters
    ----------
    arguments : list of str
        Folder, key or ``-``, MiB of memory, seconds of CPU.
    """
    folder, key, mebibytes, seconds = arguments
    memory = int(mebibytes) << 20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    print(json.dumps(examine(Path(folder), None if key == "-" else key)))


if __name__ == "__main__":
    main(sys.argv[1:])
