"""Situations of walks: variants of the shipped walk, judged by what they do.

No walk of the shipped walker is natural, so there is no right one: the bank asks that none of
these is called ``use``, and that what is wrong with it is said.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import trueup.gait
from bank.answers import Answered, called
from bank.situation import Situation

SECONDS, REPEATS = 8.0, 4
STOP_TORQUE = 1.0
"""Mean torque of the joint limits from which a walk leans on them [N m/kg]."""
SLOWED = 0.5
"""Part of its way below which a pushed walk has not survived."""


@dataclass(frozen=True, kw_only=True)
class Walk(Situation):
    """A situation of a walk.

    Attributes:
      spread: how far the vector is moved from that of the shipped walk, by size.
      measure: what is measured: ``"stops"``, ``"slowed"`` or ``"fall"``.
    """

    spread: tuple[float, float]
    measure: str

    @property
    def capability(self) -> str:
        return "walk"

    def play(self, size: int, seed: int, folder: Path) -> Answered:
        """Evaluate a walk near the shipped one, under pushes too."""
        rng = np.random.default_rng([seed, size, *map(ord, self.name)])
        shipped = Path(trueup.gait.__file__).parent / "search" / "planar22_walk.json"
        content = json.loads(shipped.read_text(encoding="utf-8"))
        moved = {
            # activations at the start are bounded from below
            name: value * (1.0 + self.spread[size] * rng.normal() * ("activation" not in name))
            for name, value in content["parameters"].items()
        }
        file = folder / "walk.json"
        file.write_text(json.dumps({**content, "parameters": moved}), encoding="utf-8")
        words = (file, "--config", "walk", f"sim_time={SECONDS}", "--perturbations", REPEATS)
        code, answer = called("gait", "evaluate", *words)
        found = Answered.of(code, answer)
        if answer.get("terms"):
            found.distance = 2.0 * self._measured(answer)
        return found

    def _measured(self, answer: dict) -> float:
        """What is wrong with the walk, over the value from which it is; infinite for a fall."""
        terms = answer["terms"]
        if self.measure == "fall" or terms["fell"]:
            return np.inf if terms["fell"] else 0.0
        if self.measure == "stops":
            return terms["pain"] / STOP_TORQUE
        (repeats,) = answer["survival"].values()
        return SLOWED * terms["walked"] / max(min(repeats["walked_m"]), 1e-3)


def situations() -> list[Walk]:
    """Walks that lean on their stops, that a push slows, and that fall."""
    return [
        Walk(name="leans on its joint stops", sort="wrong", spread=(0.0, 0.01), measure="stops",
             causes=("stop", "limit")),
        Walk(name="slows under a push", sort="wrong", spread=(0.005, 0.02), measure="slowed",
             causes=("slow", "speed", "unseen perturbations")),
        Walk(name="falls", sort="wrong", spread=(0.1, 0.2), measure="fall",
             causes=("fall", "time before")),
    ]  # fmt: skip
