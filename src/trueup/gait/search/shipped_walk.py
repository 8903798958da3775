"""Names of starts that are not files: the nominal vector, and the shipped walk."""

from pathlib import Path

NOMINAL = "nominal"
"""Start from the nominal vector."""

SHIPPED = "shipped"
"""Start from the shipped walk."""

SHIPPED_WALK = Path(__file__).with_name("planar22_walk.json")
"""Values of the shipped walk by name, with its origin: options, seed, versions, date."""

SHIPPED_DISTRIBUTION = Path(__file__).with_name("planar22_distribution.json")
"""Final distribution of the search for that walk."""

SHIPPED_CONDITION = (1.25, 0.0)
"""Speed [m/s] and slope [deg] of that walk."""


def start_path(param_path: str) -> Path:
    """File or folder of the initial walk of a search, by the value of ``param_path``."""
    return SHIPPED_WALK if param_path == SHIPPED else Path(param_path)
