"""Situations of servo benches: an invented servo of known structure, fitted by ``actuator fit``."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bank.answers import Answered, called
from bank.situation import Situation
from servo_choice_truths import recorded
from servo_truths import ENCODER_COUNT, noisy_logs, true_model
from trueup.actuators import BenchSimulator, ServoLog, ServoModel, load_model
from trueup.actuators.logs.files import write_log

SERVO = "xl330"
LOADS, GAINS = (0.15, 0.4), (200, 800)
MOTIONS = ("strides", "lift_and_drop")
UNSEEN = ("sin_time_square", "strides")

Plant = Callable[[ServoLog, int], ServoLog]


@dataclass(frozen=True, kw_only=True)
class ServoBench(Situation):
    """A situation of a servo bench.

    Attributes:
      truth: friction model of the servo.
      terms: further terms of the servo, with their values for each size.
      fitted: friction model that is fitted; empty: the choice of the command.
      given: terms that the fit is given.
      plant: changes a log; takes the log and the size.
      motions: trajectories of the logs.
      loads: masses of the logs [kg].
    """

    truth: str = "m4"
    terms: dict[str, tuple[float, float]] = field(default_factory=dict)
    fitted: str = ""
    given: tuple[str, ...] = ()
    plant: Plant | None = None
    motions: tuple[str, ...] = MOTIONS
    loads: tuple[float, ...] = LOADS

    @property
    def capability(self) -> str:
        return "servo bench"

    def play(self, size: int, seed: int, folder: Path) -> Answered:
        """Record, and fit what the situation names by least squares alone."""
        truth = self._servo(size, seed)
        rng = np.random.default_rng([seed, size, *map(ord, self.name)])
        logs = noisy_logs(recorded(truth, self.motions, self.loads, GAINS), rng)
        (folder / "logs").mkdir()
        for log in logs:
            changed = log if self.plant is None else self.plant(log, size)
            write_log(changed, folder / "logs" / f"{log.name}.json")
        file = folder / "fit.json"
        words = ["--actuator", SERVO, "--logdir", folder / "logs", "--output", file]
        words += ["--method", "least-squares", "--quiet", "--seed", seed]
        words += ["--model", self.fitted] if self.fitted else ["--model", "m1,m4,m6"]
        words += [f"terms={','.join(self.given)}"] if self.given else []
        code, answer = called("actuator", "fit", *words)
        found = Answered.of(code, answer)
        found.intervals = {
            row["name"]: (*row["interval"], truth.values[row["name"]])
            for row in answer.get("parameters", [])
            if row["name"] in truth.values and None not in row["interval"]
        }
        found.words = [*truth.names, *(log.name for log in logs), SERVO]
        found.about = f"{truth.friction.name} {' '.join(truth.terms)}".strip()
        if file.is_file():
            found.distance = distance(truth, load_model(file))
        return found

    def _servo(self, size: int, seed: int) -> ServoModel:
        plain = true_model(SERVO, self.truth, seed)
        terms = {name: values[size] for name, values in self.terms.items()}
        return ServoModel.create(SERVO, self.truth, tuple(terms), **{**plain.values, **terms})


def distance(truth: ServoModel, fitted: ServoModel) -> float:
    """Error of a fitted servo on loads, a gain and motions of its own, in counts of the encoder."""
    logs = recorded(truth, UNSEEN, (0.25,), (400,))
    motion = BenchSimulator(fitted, logs, threads=1).simulate()
    if motion.failures:
        return np.inf
    errors = [
        np.sqrt(np.mean((position[0] - log.position) ** 2))
        for log, position in zip(logs, motion.position, strict=True)
    ]
    return float(max(errors)) / ENCODER_COUNT


def situations() -> list[ServoBench]:
    """Right models, wrong ones, and too few logs."""
    return [*right(), *wrong(), *little()]


def right() -> list[ServoBench]:
    """Each friction model, terms, and the choice of the command."""
    models = [ServoBench(name=m.upper(), truth=m, fitted=m)
              for m in ("m1", "m2", "m3", "m4", "m5", "m6")]  # fmt: skip
    terms = {"backlash": 0.03, "command_delay": 0.015, "torque_saturation": 0.6}
    return [
        *models,
        *(
            ServoBench(name=f"M4 with {term}", fitted="m4", terms={term: (value,) * 2},
                       given=(term,))
            for term, value in terms.items()
        ),
        ServoBench(name="choice of a model"),
    ]  # fmt: skip


def wrong() -> list[ServoBench]:
    """Terms that the fitted model lacks, and faults of the bench and its logs."""
    plain = ServoBench(name="", sort="wrong", fitted="m4")
    friction = ("friction", "stribeck", "load", "model", "simpler")
    return [
        replace(plain, name="friction of the load missing", truth="m4", fitted="m1",
                causes=friction),
        replace(plain, name="backlash missing", terms={"backlash": (0.03, 0.08)},
                causes=("backlash", "play")),
        replace(plain, name="delay missing", terms={"command_delay": (0.01, 0.03)},
                causes=("delay", "late")),
        replace(plain, name="saturation missing", terms={"torque_saturation": (0.6, 0.4)},
                causes=("saturat", "limit")),
        replace(plain, name="mass of the pendulum", plant=heavier,
                causes=("mass", "load", "inertia")),
        replace(plain, name="gain of the firmware", plant=stiffer, causes=("gain", "kp")),
        replace(plain, name="gain of the firmware in all logs", plant=stiffer_everywhere,
                causes=("gain", "kp")),
        replace(plain, name="one log of another load", plant=one_heavier,
                causes=("log", "mass")),
        replace(plain, name="sign of one log", plant=one_reversed,
                causes=("sign", "log", "revers")),
    ]  # fmt: skip


def little() -> list[ServoBench]:
    """Logs that cannot determine the model."""
    return [
        ServoBench(name="one motion, one load", sort="little", fitted="m6", truth="m6",
                   motions=("lift_and_drop",), loads=(0.15,),
                   causes=("log", "determin", "gain", "mass")),
    ]  # fmt: skip


# --- faults of a log ------------------------------------------------------------------------------


def heavier(log: ServoLog, size: int) -> ServoLog:
    """A pendulum whose mass was entered too small."""
    return replace(log, mass=log.mass * (0.8, 0.6)[size])


def stiffer(log: ServoLog, size: int) -> ServoLog:
    """A gain that was entered too small, of the logs with the highest."""
    return replace(log, kp=log.kp * (0.8, 0.5)[size]) if log.kp == max(GAINS) else log


def stiffer_everywhere(log: ServoLog, size: int) -> ServoLog:
    """Gains that were entered too small, or too large, in all logs."""
    return replace(log, kp=log.kp * (0.5, 4.0)[size])


def one_heavier(log: ServoLog, size: int) -> ServoLog:
    """One log whose mass was entered as that of the other load."""
    wrong = (MOTIONS[0], max(LOADS), (GAINS[0], GAINS[1])[size])
    return replace(log, mass=min(LOADS)) if (log.trajectory, log.mass, log.kp) == wrong else log


def one_reversed(log: ServoLog, size: int) -> ServoLog:
    """One log whose position and speed have the wrong sign."""
    wrong = (MOTIONS[size], max(LOADS), GAINS[0])
    if (log.trajectory, log.mass, log.kp) != wrong:
        return log
    return replace(log, position=-log.position, speed=-log.speed)
