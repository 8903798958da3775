"""Words that options and configurations take in place of paths; nothing heavy is imported."""

from pathlib import Path

from trueup.gait.costs.norm_names import ADULT
from trueup.gait.models._own_models import OWN_MODELS
from trueup.gait.search.shipped_walk import NOMINAL, SHIPPED

PATH_WORDS = (*OWN_MODELS, ADULT, NOMINAL, SHIPPED)
"""Models, norms and starts that the package holds."""


def path_or_word(value: str | Path, folder: Path = Path()) -> str:
    """A path that counts from a folder, absolute; a word in its place stays."""
    return str(value) if str(value) in PATH_WORDS else str((folder / value).resolve())
