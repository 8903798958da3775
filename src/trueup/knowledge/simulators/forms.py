"""Forms of an export of draws, by the simulator that reads them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from trueup.errors import TrueupError, did_you_mean, listing
from trueup.knowledge.draws import Draws
from trueup.knowledge.simulators import isaac_lab, mjlab, playground


@dataclass(frozen=True)
class SimulatorForm:
    """How a simulator takes draws."""

    file: str
    """Name of the module; empty for none."""
    source: Callable[[Draws, str, Path], str] | None = None
    """Text of the module, of the draws, the name of the run and the folder, where it writes the
    further files."""
    lost: Callable[[Draws], list[str]] = lambda made: []
    """Sentences on what the simulator cannot take."""
    further: tuple[str, ...] = ()
    """Names of further files."""


def _of_fields(file: str, module: ModuleType) -> SimulatorForm:
    """A form that writes fields of MjModel and numbers of signals."""
    return SimulatorForm(
        file,
        lambda made, name, folder: module.source(made.fields, made.signals, name),
        lambda made: module.lost(made.fields, made.signals),
    )


SIMULATORS = {
    "mjlab": _of_fields("posterior_event.py", mjlab),
    "isaaclab": _of_fields("posterior_event.py", isaac_lab),
    "playground": _of_fields("posterior_randomize.py", playground),
    "json": SimulatorForm(""),
}
"""Simulator -> form of a model's draws."""


def simulator_form(name: str, forms: dict[str, SimulatorForm] = SIMULATORS) -> SimulatorForm:
    """Form of a simulator.

    Args:
      name: simulator.
      forms: forms of what is drawn.

    Raises:
      TrueupError: there is none of this name, or none for what is drawn.
    """
    if name not in SIMULATORS:
        raise TrueupError(
            f"there is no export for {name!r}.{did_you_mean(name, SIMULATORS)} Simulators are "
            f"{listing(forms)}"
        )
    if name not in forms:
        raise TrueupError(
            f"{name} has no actuator that could take these draws; there are exports for "
            f"{listing(forms)}"
        )
    return forms[name]
