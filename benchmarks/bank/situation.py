"""A situation of the bank: what is played in a case of it, and what a good answer is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from bank.answers import Answered

CAPABILITIES = ("simulation", "torque", "servo bench", "network", "walk")
SORTS = ("right", "wrong", "little", "refused")


@dataclass(frozen=True, kw_only=True)
class Situation(ABC):
    """A situation.

    Attributes:
      name: name, unique within its capability.
      sort: ``"right"``: the model holds the machine; ``"wrong"``: a planted fault; ``"little"``:
        too little data or excitation; ``"refused"``: input that has to be refused.
      causes: words of which a text that names the cause has one.
      sizes: sizes of the fault.
    """

    name: str
    sort: str = "right"
    causes: tuple[str, ...] = ()

    @property
    @abstractmethod
    def capability(self) -> str:
        """One of :data:`CAPABILITIES`."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the fault."""
        return (0, 1) if self.sort == "wrong" else (0,)

    @abstractmethod
    def play(self, size: int, seed: int, folder: Path) -> Answered:
        """Play one case in an empty folder."""
