"""Parts of a training through the simulator, its scores on held-out logs, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._rich_display import RichDisplay
from trueup._version import __version__
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.selection.user_models import fitted_to
from trueup.errors import RecordingError, listing
from trueup.fitting import Comparison, Grade, Reason, Verdict, judge
from trueup.fitting.judgement.baselines import BASE_ALONE, CONSTANT
from trueup.networks.motion.overlap import largest_overlap
from trueup.networks.motion.training import (
    ENOUGH,
    Motion,
    MotionTraining,
    motions,
)

_MUCH = 0.05
"""Fraction of held-out samples outside the trained angles above which it is reported."""


@dataclass(frozen=True, eq=False)
class MotionParts:
    """Logs for training, validation and test."""

    training: tuple[Any, ...]
    """Servo logs, or recorded joints of a model."""
    validation: tuple[Any, ...]
    test: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class MotionResult(RichDisplay):
    """A training through the simulator, scored on held-out logs."""

    displayed_by = "trueup.runs.display:of_run"

    training: MotionTraining
    parts: MotionParts
    base_motions: dict[str, Motion]
    """Simulated motion of the base for each test log."""
    motions: dict[str, Motion]
    """Simulated motion with the correction for each test log."""
    verdict: Verdict
    directory: Path | None

    @property
    def network(self) -> Any:
        """Torque correction, for a model one per joint; None where the base is sufficient."""
        return self.training.network

    @property
    def base_errors(self) -> dict[str, float]:
        """RMS angle error of the base on each test log [rad]."""
        return {name: motion.angle_error for name, motion in self.base_motions.items()}

    @property
    def errors(self) -> dict[str, float]:
        """RMS angle error with the correction on each test log [rad]."""
        return {name: motion.angle_error for name, motion in self.motions.items()}

    def to_dict(self) -> dict[str, Any]:
        """Scores as JSON values."""
        base, best = self.training.validation
        return {
            "trueup": __version__,
            "corrected": self.network is not None,
            "unit": "rad",
            "validation": {"base": base, "corrected": best},
            "base": self.training.base.to_dict(),
            "base_words": self.training.base.words,
            "inputs": [] if self.network is None else list(self.network.features),
            "test": {name: self._score(name) for name in self.motions},
            "logs": {
                part: [log.name for log in getattr(self.parts, part)]
                for part in ("training", "validation", "test")
            },
            "steps": self.training.steps,
            "seconds": self.training.seconds,
            "history": list(self.training.history),
            "verdict": self.verdict.to_dict(),
        }

    def _score(self, name: str) -> dict[str, Any]:
        """Errors of a test log and standard deviation of its angle [rad]; torque error [N m];
        errors by horizon."""
        base, own = self.base_motions[name], self.motions[name]
        log = next(each for each in (*self.parts.test, *self.parts.validation) if each.name == name)
        found: dict[str, Any] = {"base": base.angle_error, "corrected": own.angle_error}
        found["deviation"] = float(log.position.std())
        if base.torque_error is not None and own.torque_error is not None:
            found |= {"base_torque": base.torque_error, "corrected_torque": own.torque_error}
        found["horizons"] = [
            {"horizon": horizon, "base": base.horizons[horizon], "corrected": error}
            for horizon, error in own.horizons.items()
        ]
        return found


def motion_parts(
    logs: Sequence[ServoLog],
    *,
    test_kp: Sequence[float] = (),
    test: Sequence[str] = (),
    validation: Sequence[str] = (),
) -> MotionParts:
    """Split logs by gain and by trajectory into disjoint parts of whole logs.

    Args:
        logs: the logs.
        test_kp: gains of the test logs; empty: the highest of three or more, where ``test`` is
            empty.
        test: trajectories or logs of the test part.
        validation: trajectories or logs for validation; empty: of the rest, the trajectory with the
            largest motion overlap with the others.

    Raises:
        RecordingError: no log has a gain or a name, or a part is empty.
    """
    gains = sorted({log.kp for log in logs})
    if not test_kp and not test and len(gains) > 2:
        test_kp = (gains[-1],)
    missing = [kp for kp in test_kp if kp not in gains]
    if missing:
        raise RecordingError(
            f"no log has the gain {missing[0]:g}; available: {listing(f'{g:g}' for g in gains)}"
        )
    check_names((*test, *validation), logs)

    def named(log: ServoLog, names: Sequence[str]) -> bool:
        return log.trajectory in names or log.name in names

    held = [log for log in logs if log.kp in test_kp or named(log, test)]
    rest = [log for log in logs if log not in held]
    if not validation and rest:
        several = len({log.trajectory for log in rest}) > 1
        validation = (_largest_overlap(rest),) if several else (rest[-1].name,)
    validating = [log for log in rest if named(log, validation)]
    training = [log for log in rest if log not in validating]
    for part, members in (("training", training), ("validation", validating)):
        if not members:
            raise RecordingError(
                f"none of {len(logs)} logs remains for {part}: record more, or hold out fewer"
            )
    return MotionParts(tuple(training), tuple(validating), tuple(held))


def scored(done: MotionTraining, parts: MotionParts, directory: Path | None = None) -> MotionResult:
    """A training scored on held-out logs; without a correction where the base is better on them."""
    logs = parts.test or parts.validation
    names = [log.name for log in logs]
    base = dict(zip(names, motions(done.start, logs), strict=True))
    own = base
    if done.network is not None:
        own = dict(zip(names, motions(done.base, logs, done.network), strict=True))
    return evaluated(done, parts, base, own, directory)


def _largest_overlap(logs: Sequence[ServoLog]) -> str:
    """The trajectory with the largest motion overlap with the others."""
    moved: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for log in logs:
        moved.setdefault(log.trajectory, []).append((log.position, log.speed))
    return largest_overlap(moved)


def evaluated(
    done: MotionTraining,
    parts: MotionParts,
    base: dict[str, Motion],
    own: dict[str, Motion],
    directory: Path | None = None,
) -> MotionResult:
    """Result of a training from the motions of base and correction on the held-out logs.

    On held-out logs it is never worse than its base.
    """
    worse = _mean_error(own) if parts.test else 0.0
    if worse > _mean_error(base):
        done, own = replace(done, network=None, base=done.start), base
    else:
        worse = 0.0
    verdict = _verdict(done, parts, base, own, worse)
    return MotionResult(done, parts, base, own, verdict, directory)


def _mean_error(found: dict[str, Motion]) -> float:
    return float(np.mean([motion.angle_error for motion in found.values()]))


def _verdict(
    done: MotionTraining,
    parts: MotionParts,
    base: dict[str, Motion],
    own: dict[str, Motion],
    worse: float,
) -> Verdict:
    means = _means(parts.training)
    logs = {log.name: log for log in (parts.test or parts.validation)}
    comparisons = [
        Comparison(
            channel=f"angle of {name}",
            error=1e3 * motion.angle_error,
            baselines={
                BASE_ALONE: 1e3 * base[name].angle_error,
                CONSTANT: 1e3
                * float(np.sqrt(np.mean((logs[name].position - means[logs[name].motor]) ** 2))),
            },
            held_out=bool(parts.test),
            unit="mrad",
        )
        for name, motion in own.items()
    ]
    words, reasons = done.start.words, []
    joint = done.start.joint
    if isinstance(joint, ServoModel) and (seen := fitted_to(joint, parts.test)):
        sentence = (
            f"The {words} was fitted to the test logs {listing(seen, 3)}: its error on them, and "
            "that of its correction, is too small. Fit it without these logs."
        )
        reasons.append(Reason(Grade.LOOK, sentence, "scores"))
    if worse:
        sentence = (
            f"The correction has an angle error of {1e3 * worse:.3g} mrad on held-out logs, the "
            f"{words} {1e3 * _mean_error(base):.3g} mrad: the {words} alone is written. Train "
            "longer, or record motion similar to the held-out logs."
        )
        if (beyond := _beyond(parts.training, parts.test)) >= _MUCH:
            sentence += (
                f" {100 * beyond:.0f} % of its samples are at angles that no training log reaches: "
                "the correction is untrained there."
            )
        reasons.append(Reason(Grade.LOOK, sentence, "training"))
    elif done.network is None:
        sentence = (
            f"The {words} is sufficient: no correction reduced its angle error on validation logs, "
            f"{1e3 * done.validation[0]:.3g} mrad, by {100 * ENOUGH:g} %. The {words} alone is "
            "written."
        )
        reasons.append(Reason(Grade.LOOK, sentence, "training"))
    return judge(comparisons=comparisons, look_at=reasons)


def _beyond(training: Sequence[Any], test: Sequence[Any]) -> float:
    """Fraction of test samples at angles that no training log of the joint reaches."""
    outside, count = 0, 0
    for log in test:
        seen = np.concatenate([each.position for each in training if each.motor == log.motor])
        outside += int(np.sum((log.position < seen.min()) | (log.position > seen.max())))
        count += len(log.position)
    return outside / count


def _means(logs: Sequence[Any]) -> dict[str, float]:
    """Mean angle of each motor or joint over logs [rad]."""
    names = {log.motor for log in logs}
    return {
        name: float(np.concatenate([log.position for log in logs if log.motor == name]).mean())
        for name in names
    }


def check_names(names: Sequence[str], logs: Sequence[ServoLog]) -> None:
    """Check that a log or trajectory exists for each name."""
    known = sorted({log.trajectory for log in logs} | {log.name for log in logs})
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RecordingError(
            f"no log or trajectory named {unknown[0]!r}; available: {listing(known)}"
        )
