"""Names of starts that are not files: the nominal vector, and the shipped walks."""

from pathlib import Path

NOMINAL = "nominal"
"""Start from the nominal vector."""

SHIPPED = "shipped"
"""Start from the shipped walk."""

SHIPPED_IN_SPACE = "shipped3d"
"""Start from the shipped walk of the walker space26."""

SHIPPED_WALK = Path(__file__).with_name("planar22_walk.json")
"""Values of the shipped walk by name, with its origin: options, seed, versions, date."""

SHIPPED_WALKS = {
    SHIPPED: SHIPPED_WALK,
    SHIPPED_IN_SPACE: SHIPPED_WALK.with_name("space26_walk.json"),
}
"""Files of the shipped walks by name."""

SHIPPED_DISTRIBUTION = Path(__file__).with_name("planar22_distribution.json")
"""Final distribution of the search for :data:`SHIPPED_WALK`."""

SHIPPED_CONDITION = (1.25, 0.0)
"""Speed [m/s] and slope [deg] of the shipped walks."""


def start_path(param_path: str) -> Path:
    """File or folder of the initial walk of a search, by the value of ``param_path``."""
    return SHIPPED_WALKS.get(param_path, Path(param_path))
