"""The key that signs a study's certificates."""

from __future__ import annotations

from neuroveil.keys import SiteKey, find_passphrase, is_encrypted, load_key
from neuroveil.study import Study


def signing_key(study: Study) -> SiteKey | None:
    """Open the key that the study names, before anything is spent.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    SiteKey or None
        ``None`` where the study names none: its certificates are not signed.

    Raises
    ------
    StudyError
        If the key cannot be opened; see :func:`neuroveil.keys.load_key`.
    """
    if study.output.signing_key is None:
        return None
    path = study.path(study.output.signing_key)
    return load_key(path, find_passphrase() if is_encrypted(path) else None)
