"""The commented study file that ``neuroveil init`` writes."""

from __future__ import annotations

from importlib import resources

TEMPLATE_CHOICES: tuple[str, ...] = ("bids", "manifest", "pattern")

_INPUT = {
    "bids": 'layout = "bids"            # folder holds participants.tsv and sub-*/…/eeg files\n'
    'folder = "{folder}"',
    "manifest": 'layout = "manifest"        # a CSV with the columns patient, path[, session]\n'
    'folder = "{folder}"        # paths in the manifest are relative to this folder\n'
    'manifest = "manifest.csv"',
    "pattern": 'layout = "pattern"         # patient and session are parts of the file name\n'
    'folder = "{folder}"\n'
    'pattern = "{{patient}}_{{session}}.edf"',
}


def study_template(layout: str, folder: str) -> str:
    """Fill the commented study file in.

    Parameters
    ----------
    layout : {"bids", "manifest", "pattern"}
        How recordings and patients are laid out.
    folder : str
        Where the recordings are, relative to the study file.

    Returns
    -------
    str
        TOML text that :func:`neuroveil.study.load_study` accepts once a budget is set.

    Raises
    ------
    KeyError
        If the layout is not one of :data:`TEMPLATE_CHOICES`.
    """
    text = resources.files("neuroveil.study").joinpath("template.toml").read_text("utf-8")
    escaped = folder.replace("\\", "/").replace('"', '\\"')
    return text.replace("@INPUT@", _INPUT[layout].format(folder=escaped))
