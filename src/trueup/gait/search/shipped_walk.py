"""Names of starts that are no files: the nominal vector, and the walk of the package."""

from pathlib import Path

NOMINAL = "nominal"
"""Start at the nominal vector."""

SHIPPED = "shipped"
"""Start at the walk of the package."""

SHIPPED_WALK = Path(__file__).with_name("planar22_walk.json")
"""Values by name of that walk, with what found it: options, seed, versions, date."""

SHIPPED_DISTRIBUTION = Path(__file__).with_name("planar22_distribution.json")
"""Distribution of the search at that walk."""

SHIPPED_CONDITION = (1.25, 0.0)
"""Speed [m/s] and slope [deg] of that walk."""


def start_path(param_path: str) -> Path:
    """File or folder that a search starts from, by the value of ``param_path``."""
    return SHIPPED_WALK if param_path == SHIPPED else Path(param_path)
