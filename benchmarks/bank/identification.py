"""Situations of identifications: a machine is recorded, imported, checked and identified."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np

from bank.answers import Answered, called, checked
from bank.grading import distance, torque_noise
from bank.machines import Machine, make_machine, model_file
from bank.published import LEAST, make_published
from bank.recorder import Motion, Wiring, record
from bank.situation import Situation


@dataclass
class Setup:
    """A case before it is played; what plants a fault changes it.

    Attributes:
      machine: machine and model.
      wiring: faults of machine and log.
      motion: motion of the recording.
      noise: factor of the noise.
      edits: patterns in the experiment file that ``import`` wrote, and what replaces them.
      copied: whether the recording is written a second time, as ``copy.csv``.
    """

    machine: Machine
    wiring: Wiring
    motion: Motion
    noise: float = 1.0
    edits: list[tuple[str, str]] = field(default_factory=list)
    copied: bool = False

    def add_unknowns(self, lines: list[str]) -> None:
        """Make further numbers unknowns."""
        text = "".join(f"  {line}\n" for line in lines)
        self.edits.append((r"(?m)^parameters:\n", f"parameters:\n{text}"))

    def remove_unknowns(self, ending: str) -> None:
        """Keep what the names end in at the value of the model."""
        self.edits.append((rf"(?m)^  \w+_{ending}: .*\n", ""))


Plant = Callable[[Setup, int, np.random.Generator], None]


@dataclass(frozen=True, kw_only=True)
class Identification(Situation):
    """A situation of an identification.

    Attributes:
      machines: kinds of machines or published robots; the seed takes them in turn.
      drive: ``"servo"``: simulation; ``"torque"``: inverse dynamics, as ``import`` chooses.
      plant: changes the setup; takes the size (0 or 1) and random numbers.
      motion: arguments of :meth:`Motion.draw`.
      noise: factor of the noise.
      options: further arguments of :func:`make_machine`, or of :func:`make_published`.
    """

    machines: tuple[str, ...]
    drive: str
    plant: Plant | None = None
    motion: dict[str, object] = field(default_factory=dict)
    noise: float = 1.0
    options: dict[str, object] = field(default_factory=dict)

    @property
    def capability(self) -> str:
        return "torque" if self.drive == "torque" else "simulation"

    def make(self, size: int, seed: int) -> tuple[Setup, np.random.Generator]:
        """Setup with its fault, and the random numbers that go on from it."""
        rng = np.random.default_rng([*map(ord, f"{self.name} {self.drive}"), size, seed])
        name = self.machines[seed % len(self.machines)]
        if name in LEAST:
            machine = make_published(name, self.drive, rng, **self.options)  # type: ignore[arg-type]
        else:
            machine = make_machine(name, self.drive, rng, **self.options)  # type: ignore[arg-type]
        motion = Motion.draw(machine, rng, **self.motion)  # type: ignore[arg-type]
        setup = Setup(machine, Wiring(), motion, self.noise)
        if self.plant is not None:
            self.plant(setup, size, rng)
        return setup, rng

    def play(self, size: int, seed: int, folder: Path) -> Answered:
        """Record, then ``import``, ``check`` and ``identify``."""
        setup, rng = self.make(size, seed)
        about = self.machines[seed % len(self.machines)]
        machine = setup.machine
        model = model_file(machine, folder)
        write_log(setup, rng, folder / "log.csv")
        if setup.copied:
            (folder / "copy.csv").write_bytes((folder / "log.csv").read_bytes())
        experiment, out = folder / "experiment.yaml", folder / "run"
        words = (
            folder / "log.csv",
            "--model",
            model,
            "-o",
            experiment,
            "--overwrite",
            "--no-check",
        )
        code, answer = called("import", *words)
        if code:
            return Answered(code=code, message=answer.get("message", ""), about=about)
        edit(experiment, setup.edits)
        said = checked(*called("check", experiment))
        code, answer = called("identify", experiment, "-o", out, "--quiet", "--overwrite")
        found = Answered.of(code, answer, named_as_imported(machine.truth))
        found.check, found.about = said, about
        found.words += [*machine.joints, *_names(machine)]
        if (out / "model.xml").is_file():
            found.distance = distance(
                machine, setup.wiring, setup.motion, out / "model.xml", rng, setup.noise
            )
        return found


def named_as_imported(truth: dict[str, float]) -> dict[str, float]:
    """True values under the names that ``import`` gives the unknowns."""
    return {name.replace("_frictionloss", "_friction"): value for name, value in truth.items()}


def write_log(setup: Setup, rng: np.random.Generator, file: Path) -> None:
    """Record the machine and write the table that the user has."""
    machine = setup.machine
    log = record(machine, setup.motion, setup.wiring, rng, setup.noise)
    commands, suffix = log.command, "cmd"
    if machine.drive == "torque":
        spread = torque_noise(commands) * max(setup.noise, 1.0)
        commands, suffix = commands + spread * rng.normal(size=commands.shape), "torque"
    blocks = [("pos", log.position), (suffix, commands)]
    if machine.kind.velocities:
        blocks.insert(1, ("vel", log.velocity))
    names = [f"{joint}_{what}" for what, _ in blocks for joint in machine.joints]
    table = np.column_stack([log.time, *(block for _, block in blocks)])
    header = ",".join(["time", *names])
    np.savetxt(file, table, delimiter=",", header=header, comments="", fmt="%.9g")


def edit(file: Path, edits: list[tuple[str, str]]) -> None:
    """Replace patterns in a file; each has to occur."""
    text = file.read_text(encoding="utf-8")
    for pattern, new in edits:
        text, count = re.subn(pattern, new, text)
        if not count:
            raise ValueError(f"{file} holds nothing like {pattern!r}")
    file.write_text(text, encoding="utf-8")


def _names(machine: Machine) -> list[str]:
    """Names of bodies, actuators and sensors of the model."""
    text = machine.model
    spec = (
        mujoco.MjSpec.from_file(str(text))
        if isinstance(text, Path)
        else mujoco.MjSpec.from_string(text)
    )
    parts = [*spec.bodies, *spec.actuators, *spec.sensors]
    return [part.name for part in parts if part.name and part.name != "world"]
