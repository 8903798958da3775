"""Forms of an export of draws, by the simulator that reads them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trueup.errors import TrueupError, did_you_mean, listing
from trueup.posterior.draws import ModelField
from trueup.posterior.signals import SignalDraw
from trueup.posterior.simulators import isaac_lab, mjlab, playground


@dataclass(frozen=True)
class SimulatorForm:
    """How a simulator takes draws."""

    file: str
    """Name of the module; empty for none."""
    source: Callable[[Sequence[ModelField], Sequence[SignalDraw], str], str] | None
    """Writes the module, of fields, signals and the name of the run."""
    lost: Callable[[Sequence[ModelField], Sequence[SignalDraw]], list[str]]
    """Sentences on what the simulator cannot take."""


def _nothing(fields: Sequence[ModelField], signals: Sequence[SignalDraw]) -> list[str]:
    return []


SIMULATORS = {
    "mjlab": SimulatorForm("posterior_event.py", mjlab.source, mjlab.lost),
    "isaaclab": SimulatorForm("posterior_event.py", isaac_lab.source, isaac_lab.lost),
    "playground": SimulatorForm("posterior_randomize.py", playground.source, playground.lost),
    "json": SimulatorForm("", None, _nothing),
}
"""Simulator -> form."""


def simulator_form(name: str) -> SimulatorForm:
    """Form of a simulator.

    Raises:
      TrueupError: there is none of this name.
    """
    if name not in SIMULATORS:
        raise TrueupError(
            f"there is no export for {name!r}.{did_you_mean(name, SIMULATORS)} Simulators are "
            f"{listing(SIMULATORS)}"
        )
    return SIMULATORS[name]
