"""Identification of the parameters of a base from motion, before a correction is trained.

They minimise the squared errors of angle and speed over windows that each start at the recorded
state (multiple shooting), so that errors do not accumulate. All candidates and windows are
stepped in one batch.
"""

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from trueup.errors import FitError
from trueup.fitting import LeastSquares, LeastSquaresSettings, Vectorised, minimise
from trueup.networks.motion.base import MotionBase, PdJoint
from trueup.networks.motion.driven_joint import DrivenJoint
from trueup.networks.motion.logs import MotionLogs
from trueup.networks.motion.rollout import torque_balance
from trueup.parameters import Space

WINDOW = 0.3
"""Length of a window [s]."""
_MOST_WINDOWS = 160
_MOST_ITERATIONS = 40
_RANGE = 1e3
_SAMPLES = 10
"""Number of evenly spaced samples per window in the residual."""


def fit_base(base: MotionBase, logs: MotionLogs, identify_gains: bool = False) -> MotionBase:
    """The base with parameters identified from the motion of the logs.

    Args:
        base: the parameters of a PD joint are identified where it has none; others are kept.
        logs: the training logs.
        identify_gains: identify a firmware factor for each gain of the logs. Where the PD gains are
            identified too, the factor of the lowest gain is 1.

    Raises:
        FitError: no candidate reproduces the motion of the logs.
    """
    joint = base.joint or starting_pd(logs)
    names = tuple(joint.values) if base.joint is None else ()
    stated = tuple(sorted(set(logs.kp.tolist()))) if identify_gains else ()
    fixed = {stated[0]: 1.0} if names and stated else {}
    gains = tuple(gain for gain in stated if gain not in fixed)
    if not names and not gains:
        return base
    first = np.array([*(joint.values[name] for name in names),
                      *(base.gains.get(gain, 1.0) for gain in gains)])  # fmt: skip
    space = Space(
        names=(*names, *(f"factor of the gain {gain:g}" for gain in gains)),
        lower=first / _RANGE,
        upper=first * _RANGE,
        start=first,
        log=np.ones(len(first), bool),
    )
    problem = Vectorised(_Residual(replace(base, joint=joint, gains={}), names, gains, logs), space)
    search = LeastSquares(
        space, LeastSquaresSettings(max_iters=_MOST_ITERATIONS, cost_tolerance=1e-6)
    )
    solution = minimise(problem, search)
    if not np.isfinite(solution.cost):
        raise FitError(
            "no PD base reproduces the motion of the logs: give a servo model, or the base none"
        )
    found = [float(solution.parameters[name]) for name in space.names]
    factors = dict(zip(gains, found[len(names) :], strict=True))
    return replace(base, joint=joint).with_values(
        dict(zip(names, found, strict=False)), {**fixed, **factors} if stated else base.gains
    )


def starting_pd(logs: MotionLogs) -> PdJoint:
    """Initial PD joint, from the torque balance of the joint by linear least squares."""
    balance = torque_balance(logs)
    gain, rate_gain = (getattr(logs, name).numpy()[balance.rows] for name in ("gain", "rate_gain"))
    slow = np.tanh(balance.speed / 0.05)
    columns = [gain * balance.error, -balance.on * rate_gain * balance.speed, -slow]
    stacked = np.stack([*columns, -balance.acceleration], axis=1)
    scale = np.maximum(stacked.std(axis=0), 1e-12)
    found = np.linalg.lstsq(stacked / scale, balance.torque, rcond=None)[0] / scale
    largest = max(float(np.quantile(np.abs(balance.torque), 0.999)), 1e-6)
    fastest = max(float(np.abs(balance.speed).max()), 1e-3)
    # each parameter positive, with a scale from the torque and the motion
    least = 1e-2 * largest / scale
    kp, kd, friction, armature = np.maximum(found, least).tolist()
    return PdJoint(kp, kd, 1.5 * largest, 2.0 * fastest, armature, friction)


class _Residual:
    """Errors of angle and speed over windows, of a batch of candidates."""

    def __init__(
        self, base: MotionBase, names: tuple[str, ...], gains: tuple[float, ...], logs: MotionLogs
    ):
        self.joint, self.logs = DrivenJoint(base, learned=bool(names)), logs
        self.numbers = [names.index(name) for name in self.joint.names]
        # column of the factor of the gain of each log; the last column is the constant 1
        places = {gain: len(names) + place for place, gain in enumerate(gains)}
        self.factors = [places.get(gain, len(names) + len(gains)) for gain in logs.kp.tolist()]
        self.steps = max(2, min(round(WINDOW * logs.rate), int(logs.lengths.min()) - 1))
        whole = [(log, at) for log, count in enumerate(logs.lengths)
                 for at in range(0, int(count) - self.steps, self.steps)]  # fmt: skip
        every = max(1, math.ceil(len(whole) / _MOST_WINDOWS))
        chosen = np.array(whole[::every])
        self.rows, self.starts = (torch.as_tensor(column) for column in chosen.T)
        counted = np.linspace(1, self.steps, min(_SAMPLES, self.steps)).round().astype(int)
        self.counted = set(counted.tolist())
        self.scales = (max(float(logs.position.std()), 1e-6), max(float(logs.speed.std()), 1e-6))

    def __call__(self, candidates: np.ndarray) -> np.ndarray:
        """Residuals (n, m) of candidates (n, p)."""
        logs, count, windows = self.logs, len(candidates), len(self.rows)
        rows, starts = self.rows.repeat(count), self.starts.repeat(count)
        numbers = None
        if self.numbers:
            columns = torch.as_tensor(candidates[:, self.numbers].T)
            numbers = columns.repeat_interleave(windows, dim=1)
        padded = np.column_stack([candidates, np.ones(count)])
        factors = torch.as_tensor(padded[:, self.factors])[:, self.rows].reshape(-1)
        windows = logs.windows(self.joint, rows, starts, self.steps)
        position, speed = windows.position[0], windows.speed[0]
        correction, gain = torch.zeros_like(position), windows.gain * factors
        found: list[Tensor] = []
        with torch.no_grad():
            for step in range(self.steps):
                position, speed = windows.after(step, position, speed, correction, gain, numbers)
                if step + 1 not in self.counted:
                    continue
                for value, recorded, scale in zip(
                    (position, speed), (windows.position, windows.speed), self.scales, strict=True
                ):
                    found.append((value - recorded[step + 1]) / scale)
        stacked = torch.stack(found, dim=1).reshape(count, -1)
        return stacked.numpy() / math.sqrt(stacked.shape[1])
