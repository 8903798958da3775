"""Parameters of a servo base as one row with named columns, for compiled code."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from trueup.actuators.equations.servo_equations import friction_loss
from trueup.networks.base.kinds import Base
from trueup.networks.base.servo import LAWS, LEARNED, SETTINGS, ServoBase

_COLUMNS = ("law", "loss", "friction", "gate", *SETTINGS, *LEARNED)


class ServoLayout(NamedTuple):
    """Friction equations and columns of the rows of servos."""

    losses: tuple[Callable[..., Any], ...] = (friction_loss,)
    """Equations of the friction budgets; a row contains the index of its equation."""
    columns: tuple[str, ...] = _COLUMNS
    """Names of the columns."""

    def row(self, base: ServoBase) -> list[float]:
        """The row of a servo."""
        values = {
            "law": LAWS.index(base.law),
            "loss": self.losses.index(base.loss),
            "friction": base.friction,
            "gate": base.gated,
            **{name: getattr(base, name) for name in SETTINGS},
            **base.numbers,
        }
        return [float(values.get(name, 0.0)) for name in self.columns]


def servo_layout(bases: Iterable[Base | None]) -> ServoLayout:
    """Layout of the rows of all servos among bases."""
    servos = [base for base in bases if isinstance(base, ServoBase)]
    losses = dict.fromkeys([friction_loss, *(base.loss for base in servos)])
    more = dict.fromkeys(name for base in servos for name in base.friction_values)
    return ServoLayout(tuple(losses), (*_COLUMNS, *more))
