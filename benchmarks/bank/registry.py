"""All situations of the bank."""

from bank import learned, right_models, servo_benches, walks, wrong_models
from bank.situation import Situation


def all_situations() -> list[Situation]:
    """Situations of every capability, in the order in which they are played."""
    return [
        *right_models.situations(),
        *wrong_models.situations(),
        *servo_benches.situations(),
        *learned.situations(),
        *walks.situations(),
    ]
