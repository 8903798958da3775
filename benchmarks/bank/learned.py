"""Situations of networks: synthetic recordings of an actuator with a known noise floor."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bank.answers import Answered, called
from bank.situation import Situation
from trueup.networks import SyntheticSettings, synthesize

STEPS = 200
"""Gradient steps of a training."""
NONLINEAR = {"coulomb": 0.4, "viscous": 0.05, "no_load_speed": 12.0, "torque_limit": 3.0}
"""An actuator that no linear model is."""
TORQUE = "Acc_Y"
"""Column that the torque follows from: inertia x acceleration / radius."""

Rows = list[dict[str, str]]
Plant = Callable[[Rows, int, np.random.Generator], Rows]


@dataclass(frozen=True, kw_only=True)
class Learned(Situation):
    """A situation of a network.

    Attributes:
      actuator: settings of the actuator.
      plant: changes the rows of a recording; takes size and random numbers.
      all_files: whether every recording is changed, or the first alone.
      repeats: recordings of each signal.
      seconds: length of each [s].
    """

    actuator: dict[str, float] = field(default_factory=lambda: dict(NONLINEAR))
    plant: Plant | None = None
    all_files: bool = False
    repeats: int = 3
    seconds: float = 10.0

    @property
    def capability(self) -> str:
        return "network"

    def play(self, size: int, seed: int, folder: Path) -> Answered:
        """Synthesize, change, train, and score the network on fresh recordings."""
        rng = np.random.default_rng([seed, size, *map(ord, self.name)])
        settings = SyntheticSettings(
            signals=("multisine", "sine"), repeats=self.repeats, duration=self.seconds,
            **self.actuator,  # type: ignore[arg-type]
        )  # fmt: skip
        synthesize(settings, folder / "data", seed=1000 * size + seed)
        files = sorted((folder / "data").glob("*/*.csv"))
        if self.plant is not None:
            for file in files if self.all_files else files[:1]:
                changed = self.plant(_read(file), size, rng)
                with file.open("w", newline="") as out:
                    writer = csv.DictWriter(out, list(changed[0]))
                    writer.writeheader()
                    writer.writerows(changed)
        run = folder / "run"
        words = (f"data.data_base_dir={folder / 'data'}", f"train.max_steps={STEPS}")
        code, answer = called("network", "train", *words, "--output", run, "--quiet")
        found = Answered.of(code, answer)
        found.insights = [(f["severity"], f["sentence"]) for f in answer.get("findings", [])]
        found.words = [file.name for file in files] + [file.stem for file in files]
        if (run / "network.safetensors").is_file() and found.grade != "none":
            fresh = synthesize(settings, folder / "fresh", seed=10_000 + seed)
            floor = fresh.noise_floors[next(iter(fresh.noise_floors))]
            words = (run / "network.safetensors", "--data", folder / "fresh", "--anyway")
            error = called("network", "evaluate", *words)[1].get("rmse", np.inf)
            # of the torque itself: what the noise adds is the same for every model
            found.distance = float(np.sqrt(max(error**2 - floor**2, 0.0)) / floor)
        return found


def situations() -> list[Learned]:
    """Right recordings, wrong ones, and too few of them."""
    wrong = Learned(name="", sort="wrong", causes=("file", "recording", "torque", "unit", "sign"))
    return [
        Learned(name="friction and a limit"),
        Learned(name="linear actuator", actuator={"torque_limit": 100.0}),
        replace(wrong, name="shuffled torque", plant=shuffled, all_files=True),
        replace(wrong, name="torque of one file reversed", plant=reversed_torque),
        replace(wrong, name="torque of one file in other units", plant=other_units),
        replace(wrong, name="late torque", plant=late, all_files=True, causes=("delay", "late")),
        Learned(name="2 s of one signal", sort="little", repeats=1, seconds=2.0,
                causes=("short", "few", "little", "recording")),
    ]  # fmt: skip


# --- faults of a recording ------------------------------------------------------------------------


def shuffled(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Torques of other samples: of all, or of every second one."""
    chosen = np.arange(0, len(rows), (2, 1)[size])
    others = rng.permutation(chosen)
    new = [dict(row) for row in rows]
    for row, other in zip(chosen, others, strict=True):
        new[row][TORQUE] = rows[other][TORQUE]
    return new


def reversed_torque(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Torques of the wrong sign, in the second half or in all of the recording."""
    first = (len(rows) // 2, 0)[size]
    return [_times(row, -1.0 if k >= first else 1.0) for k, row in enumerate(rows)]


def other_units(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Torques in kgf cm, or in mN m."""
    return [_times(row, (10.197, 1000.0)[size]) for row in rows]


def late(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Torques before the motion that they cause, by more than any history."""
    shift = (20, 100)[size]
    return [
        {**row, TORQUE: other[TORQUE]}
        for row, other in zip(rows[:-shift], rows[shift:], strict=True)
    ]


def _times(row: dict[str, str], factor: float) -> dict[str, str]:
    return {**row, TORQUE: f"{factor * float(row[TORQUE]):.9g}"}


def _read(file: Path) -> Rows:
    with file.open() as stream:
        return list(csv.DictReader(stream))
