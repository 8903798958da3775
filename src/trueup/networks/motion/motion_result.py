"""Parts of a training through the simulator, its scores on held-out logs, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import RecordingError, listing
from trueup.fitting import Comparison, Grade, Reason, Verdict, judge
from trueup.fitting.baselines import BASE_ALONE, CONSTANT
from trueup.networks.model.network import Network
from trueup.networks.motion.motion_training import (
    ENOUGH,
    MotionTraining,
    motion_errors,
)


@dataclass(frozen=True, eq=False)
class MotionParts:
    """Logs to learn from, to choose by, and to judge on."""

    training: tuple[ServoLog, ...]
    validation: tuple[ServoLog, ...]
    test: tuple[ServoLog, ...]


@dataclass(frozen=True, eq=False)
class MotionResult:
    """A training through the simulator, scored on logs that it has not seen."""

    training: MotionTraining
    parts: MotionParts
    base_errors: dict[str, float]
    """RMS angle error of the servo model on each test log [rad]."""
    errors: dict[str, float]
    """The same of servo model and correction."""
    verdict: Verdict
    directory: Path | None

    @property
    def network(self) -> Network | None:
        """Correction of the torque; None where the servo model suffices."""
        return self.training.network

    def to_dict(self) -> dict[str, Any]:
        """Scores as JSON values."""
        base, best = self.training.validation
        return {
            "trueup": __version__,
            "corrected": self.network is not None,
            "unit": "rad",
            "validation": {"base": base, "corrected": best},
            "test": {
                name: {"base": self.base_errors[name], "corrected": error}
                for name, error in self.errors.items()
            },
            "logs": {
                part: [log.name for log in getattr(self.parts, part)]
                for part in ("training", "validation", "test")
            },
            "steps": self.training.steps,
            "seconds": self.training.seconds,
            "history": list(self.training.history),
            "verdict": self.verdict.plain(),
        }


def motion_parts(
    logs: Sequence[ServoLog],
    *,
    test_kp: Sequence[float] = (),
    test: Sequence[str] = (),
    validation: Sequence[str] = (),
) -> MotionParts:
    """Split logs by gain and by trajectory; whole logs, none in two parts.

    Args:
        logs: the logs.
        test_kp: gains that test; none: the highest of three or more, where ``test`` names nothing.
        test: trajectories or logs that test.
        validation: trajectories or logs that validate; none: the first trajectory of those left.

    Raises:
        RecordingError: a gain or a name is in no log, or a part is left without a log.
    """
    gains = sorted({log.kp for log in logs})
    if not test_kp and not test and len(gains) > 2:
        test_kp = (gains[-1],)
    missing = [kp for kp in test_kp if kp not in gains]
    if missing:
        raise RecordingError(
            f"no log has the gain {missing[0]:g}; there are {listing(f'{g:g}' for g in gains)}"
        )
    check_names((*test, *validation), logs)

    def named(log: ServoLog, names: Sequence[str]) -> bool:
        return log.trajectory in names or log.name in names

    held = [log for log in logs if log.kp in test_kp or named(log, test)]
    rest = [log for log in logs if log not in held]
    if not validation and rest:
        trajectories = sorted({log.trajectory for log in rest})
        validation = (trajectories[0],) if len(trajectories) > 1 else (rest[-1].name,)
    validating = [log for log in rest if named(log, validation)]
    training = [log for log in rest if log not in validating]
    for part, members in (("training", training), ("validation", validating)):
        if not members:
            raise RecordingError(
                f"of {len(logs)} logs none is left for {part}: record more, or hold out fewer"
            )
    return MotionParts(tuple(training), tuple(validating), tuple(held))


def scored(
    model: ServoModel, done: MotionTraining, parts: MotionParts, directory: Path | None = None
) -> MotionResult:
    """A training scored on held-out logs; the servo model alone where it is better on them."""
    judged = parts.test or parts.validation
    base = motion_errors(model, judged)
    errors = base if done.network is None else motion_errors(done.servo, judged, done.network)
    worse = float(np.mean(list(errors.values()))) if parts.test else 0.0
    if worse > float(np.mean(list(base.values()))):
        # never worse than the servo model on motion that was held out
        done, errors = replace(done, network=None, servo=model), base
    else:
        worse = 0.0
    verdict = _verdict(done, parts, base, errors, worse)
    return MotionResult(done, parts, base, errors, verdict, directory)


def _verdict(
    done: MotionTraining,
    parts: MotionParts,
    base: dict[str, float],
    errors: dict[str, float],
    worse: float,
) -> Verdict:
    mean = float(np.concatenate([log.position for log in parts.training]).mean())
    logs = {log.name: log for log in (parts.test or parts.validation)}
    comparisons = [
        Comparison(
            channel=f"angle of {name}",
            error=1e3 * error,
            baselines={
                BASE_ALONE: 1e3 * base[name],
                CONSTANT: 1e3 * float(np.sqrt(np.mean((logs[name].position - mean) ** 2))),
            },
            held_out=bool(parts.test),
            unit="mrad",
        )
        for name, error in errors.items()
    ]
    reasons = []
    if worse:
        sentence = (
            f"The correction has an angle error of {1e3 * worse:.3g} mrad on held-out logs, the "
            f"servo model {1e3 * float(np.mean(list(base.values()))):.3g} mrad: the servo model "
            "alone is written. Train longer, or record what is like the held-out motion."
        )
        reasons.append(Reason(Grade.LOOK, sentence, "training"))
    elif done.network is None:
        sentence = (
            f"The servo model suffices: no correction bettered its angle error on validation logs, "
            f"{1e3 * done.validation[0]:.3g} mrad, by {100 * ENOUGH:g} %. The servo model alone is "
            "written."
        )
        reasons.append(Reason(Grade.LOOK, sentence, "training"))
    return judge(comparisons=comparisons, look_at=reasons)


def check_names(names: Sequence[str], logs: Sequence[ServoLog]) -> None:
    """Refuse names that no log or trajectory has."""
    known = sorted({log.trajectory for log in logs} | {log.name for log in logs})
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RecordingError(
            f"no log or trajectory is named {unknown[0]!r}; there are {listing(known)}"
        )
