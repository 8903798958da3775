"""Names that options and configurations accept in place of paths; without heavy imports."""

from pathlib import Path

from trueup.gait.costs.norm_names import ADULT
from trueup.gait.models._shipped_models import SHIPPED_MODELS
from trueup.gait.search.shipped_walk import NOMINAL, SHIPPED_WALKS

PATH_WORDS = (*SHIPPED_MODELS, ADULT, NOMINAL, *SHIPPED_WALKS)
"""Names of the models, norms and starts of the package."""


def path_or_word(value: str | Path, folder: Path = Path()) -> str:
    """The absolute form of a path relative to a folder; names are not changed."""
    return str(value) if str(value) in PATH_WORDS else str((folder / value).resolve())
