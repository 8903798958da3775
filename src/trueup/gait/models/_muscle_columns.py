"""Which group and side each muscle of a model belongs to."""

from trueup.gait.models.anatomy import Anatomy


def muscle_groups(muscles: tuple[str, ...], anatomy: Anatomy) -> list[tuple[str, str]]:
    """Group and side of each muscle, by its name."""
    known = {
        anatomy.named(pattern, side): (group, side)
        for group, patterns in anatomy.muscles.items()
        for pattern in patterns
        for side in ("right", "left")
    }
    return [known[name] for name in muscles]
