"""Score of a finished training through the simulator on other logs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.actuators.catalogue.parameter_file import load_model
from trueup.actuators.logs._process import resample_log
from trueup.actuators.logs.servo_log import ServoLog
from trueup.actuators.search.run_logs import Logs, RunLogs
from trueup.errors import RunDirectoryError
from trueup.fitting import Comparison, Grade, Reason, Verdict, judge
from trueup.fitting.judgement.baselines import BASE_ALONE, CONSTANT
from trueup.networks.model.network_file import read_network
from trueup.networks.motion.base import MotionBase, read_base
from trueup.networks.motion.run import BASE, NETWORK, SERVO
from trueup.networks.motion.simulated_training import METRICS
from trueup.networks.motion.spec import MotionSpec
from trueup.networks.motion.training import Motion, motions
from trueup.runs import RunDirectory, read_spec
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.store.input_check import mark_of_file


@dataclass(frozen=True)
class MotionEvaluation:
    """Angle errors of a correction, and of its base before the training, on logs."""

    words: str
    """Description of the base."""
    corrected: bool
    """Whether the training wrote a correction; else its base alone is scored."""
    motions: dict[str, Motion]
    """Simulated motion of each log."""
    base_errors: dict[str, float]
    """RMS angle error of the base before the training [rad]; empty where it was identified by the
    training."""
    unseen: bool
    """Whether no log was in the training."""
    verdict: Verdict
    mark: str | None
    """Warning for every result; None without one."""

    @property
    def errors(self) -> dict[str, float]:
        """RMS angle error of each log, simulated in full from its first sample [rad]."""
        return {name: motion.angle_error for name, motion in self.motions.items()}

    def to_dict(self) -> dict[str, Any]:
        """Scores as JSON values."""
        return {
            "base_words": self.words,
            "corrected": self.corrected,
            "unit": "rad",
            "unseen": self.unseen,
            "logs": {
                name: {
                    "error": motion.angle_error,
                    "torque_error": motion.torque_error,
                    "base": self.base_errors.get(name),
                    "horizons": [
                        {"horizon": horizon, "error": error}
                        for horizon, error in motion.horizons.items()
                    ],
                }
                for name, motion in self.motions.items()
            },
            "verdict": self.verdict.to_dict(),
        }


def evaluate_motion(
    directory: str | os.PathLike[str], logs: Logs, *, anyway: bool = False
) -> MotionEvaluation:
    """Score a finished training through the simulator on other servo logs.

    Args:
        directory: run directory of the training.
        logs: servo logs, or their folder, file or files.
        anyway: also accept a training whose logs have changed since; the result records this.

    Raises:
        RunDirectoryError: the folder is no finished training of servo logs, or its logs have
            changed.
        TrueupError: the logs cannot be read or lack an input of the correction.
    """
    opened = RunDirectory.open(directory)
    if kind_of(opened) != MotionSpec.kind:
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind_of(opened))}, not {MotionSpec.noun} on servo logs: "
            "hold recordings out of its training, whose report has their scores"
        )
    if not opened.inside(METRICS).is_file():
        raise RunDirectoryError(
            f"{opened.path} has no {METRICS}: the training is not finished. Resume it with:  "
            f"trueup study resume {opened.path}"
        )
    spec = read_spec(opened)
    assert isinstance(spec, MotionSpec)
    base, mark = _base(opened, anyway)
    file = opened.inside(NETWORK)
    network = read_network(file) if file.is_file() else None
    source = RunLogs(logs, uniform=False)
    even = [log if log.dt is not None else resample_log(log) for log in source.logs]
    found = dict(zip((log.name for log in even), motions(base, even, network), strict=True))
    start = {}
    if spec.base.joint is not None:
        own = motions(spec.base, even)
        start = {log.name: each.angle_error for log, each in zip(even, own, strict=True)}
    seen = set() if network is None else set(network.provenance.get("trained_on", ()))
    known = [log.name for log in source.logs if source.hash_of(log) in seen]
    return MotionEvaluation(
        base.words,
        network is not None,
        found,
        start,
        not known,
        _verdict(even, found, start, known),
        mark,
    )


def _base(directory: RunDirectory, anyway: bool) -> tuple[MotionBase, str | None]:
    """The base of a finished training, and the warning that its results carry."""
    file = directory.inside(BASE)
    if file.is_file():
        base = read_base(file, anyway=anyway)
    else:
        file = directory.inside(SERVO)
        base = MotionBase(load_model(file, anyway=anyway))
    return base, base.mark or mark_of_file(file, anyway=anyway)


def _verdict(
    logs: Sequence[ServoLog],
    found: dict[str, Motion],
    start: dict[str, float],
    known: Sequence[str],
) -> Verdict:
    comparisons = []
    for log in logs:
        baselines = {CONSTANT: 1e3 * float(np.std(log.position))}
        if log.name in start:
            baselines[BASE_ALONE] = 1e3 * start[log.name]
        comparisons.append(
            Comparison(
                channel=f"angle of {log.name}",
                error=1e3 * found[log.name].angle_error,
                baselines=baselines,
                held_out=log.name not in known,
                unit="mrad",
            )
        )
    reasons = []
    if known:
        sentence = (
            f"{len(known)} of {len(logs)} logs were in the training: their error is too small. "
            "Evaluate on others."
        )
        reasons.append(Reason(Grade.LOOK, sentence, "scores"))
    return judge(comparisons=comparisons, look_at=reasons)
