"""Prediction error after 0.1, 0.5 and 2 s, compared with predictors without a model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueup.fitting.judgement import baselines
from trueup.fitting.judgement.paired_errors import block_sums, is_clearly_worse
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.held_motion import velocities, velocity_sources
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.window_states import without_window_states
from trueup.sysid.recordings.channel_units import signal_units
from trueup.sysid.recordings.measured_state import state_columns

HORIZONS = (0.1, 0.5, 2.0)
"""Prediction horizons: times after the last measured state [s]."""

WHOLE = 0.0
"""Horizon of whole recordings."""

_SAMPLES = 5  # minimum samples in a window, of the slowest recording

_SHARE = 0.2  # last part of a horizon whose samples measure the error at its end
_CHANCE = 0.05
"""Significance level of one comparison with a predictor without a model.

It is not divided by the number of comparisons: right models are far better than these predictors
where a joint moves, so that none was beaten in 183 right runs with 8 to 16 comparisons each
(benchmarks/false_alarms.py), while the division hides errors 1.4 times those of the held velocity.
"""
_SMALL = 0.01  # errors below this share of the spread of a channel are ignored
_PREDICTORS = ("identified", "initial", "state_held", "velocity_held")


@dataclass(frozen=True)
class HorizonError:
    """Error of one channel at one horizon."""

    horizon: float
    """Time after the last measured state [s]; :data:`WHOLE` for whole recordings."""
    channel: str
    unit: str
    held_out: bool
    """Whether the recordings were held out of the fit."""
    identified: float
    """Root mean square error of the identified model."""
    initial: float
    """RMSE of the model before the fit."""
    state_held: float
    """RMSE of the last measured value."""
    velocity_held: float
    """RMSE of the last measured value extrapolated with the last measured velocity."""

    is_beaten: bool
    """Whether a predictor without a model is significantly better, see
    :func:`trueup.fitting.judgement.paired_errors.is_clearly_worse`."""


def horizon_errors(
    prepared: Prepared, problem: GrayBoxProblem, x: np.ndarray
) -> list[HorizonError]:
    """Errors at every horizon, on held-out data if available.

    For each horizon a recording is simulated in windows of that length, each from the measured
    state, and as a whole: many short windows determine the significance of a difference.

    Args:
      prepared: the experiment.
      problem: its problem.
      x: the fit ``(p,)``.

    Returns:
      One entry per horizon and channel; empty if a joint was not measured, so that no simulation
      can start in the middle of a recording.
    """
    held_out = bool(prepared.held_out)
    groups = prepared.held_out if held_out else prepared.training
    if not _is_measured(groups):
        return []
    parameters, keep = without_window_states(prepared.parameters)
    points = np.stack([problem.space.start, x])[:, keep]
    out = []
    for horizon in (*HORIZONS, WHOLE):
        window = max(horizon, _SAMPLES * _pause(groups)) if horizon else WHOLE
        settings = replace(prepared.settings, window=window)
        other = GrayBoxProblem(parameters, groups, settings, prepared.rules)
        out += _errors(other, points, horizon, held_out)
    return out


def _pause(groups: Sequence[ModelSequences]) -> float:
    """Longest time between samples [s]."""
    return max(
        float(np.median(np.diff(t.sensordata.times))) for g in groups for t in g.measured_rollout
    )


def _is_measured(groups: Sequence[ModelSequences]) -> bool:
    return all(
        len(state_columns(t.model, t.sensordata).positions) == t.model.nq
        for group in groups
        for t in group.measured_rollout
    )


def _errors(
    problem: GrayBoxProblem, points: np.ndarray, horizon: float, held_out: bool
) -> list[HorizonError]:
    """Errors at one horizon, pooled over recordings by channel."""
    models = [variant.model for variant in problem.variants]
    pooled: dict[str, _Pooled] = {}
    for sequence, (measured, predicted) in zip(
        problem.sequences, problem.predictions(points), strict=True
    ):
        truth, times = measured[-1], sequence.times
        firsts = np.array([w.first for w in sequence.windows], int)
        rows = np.flatnonzero(_rows_at(sequence, horizon))
        if not rows.size:
            continue
        speeds = velocities(times, truth, velocity_sources(models, sequence.signal_names))
        guesses = [
            predicted[1],
            predicted[0],
            baselines.state_held([truth], [firsts])[0],
            baselines.velocity_held([truth], [times], [firsts], [speeds])[0],
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.stack([np.square(guess[rows] - truth[rows]) for guess in guesses], axis=1)
        errors = np.where(np.isfinite(errors), errors, np.inf)
        if horizon == WHOLE:
            pieces = block_sums(errors)
        else:  # windows restart from measurements: their errors are independent
            _, starts = np.unique(np.searchsorted(firsts, rows, side="right"), return_index=True)
            pieces = np.add.reduceat(errors, starts, axis=0)
        own = signal_units(models, sequence.signal_names)
        for c, channel in enumerate(sequence.channel_names):
            part = pooled.setdefault(channel, _Pooled(own[c]))
            part.pieces.append(pieces[:, :, c])
            part.truth.append(truth[rows, c])
    return [part.error(horizon, channel, held_out) for channel, part in pooled.items()]


@dataclass
class _Pooled:
    """Errors of one channel over all recordings."""

    unit: str
    pieces: list[np.ndarray] = field(default_factory=list)
    """Sums of squared errors of each predictor over windows ``(W, 4)`` of each recording."""
    truth: list[np.ndarray] = field(default_factory=list)

    def error(self, horizon: float, channel: str, held_out: bool) -> HorizonError:
        """The errors, and whether a predictor without a model is significantly better."""
        sums, truth = np.concatenate(self.pieces), np.concatenate(self.truth)
        # ignore errors that are a small share of the motion, such as those of a joint at rest
        floor = len(truth) / len(sums) * (_SMALL * float(np.std(truth))) ** 2
        is_beaten = any(is_clearly_worse(sums[:, 0], sums[:, k] + floor, _CHANCE) for k in (2, 3))
        own, before, state, velocity = (float(e) for e in np.sqrt(sums.sum(axis=0) / len(truth)))
        return HorizonError(
            horizon, channel, self.unit, held_out, own, before, state, velocity, is_beaten
        )


def _rows_at(sequence: object, horizon: float) -> np.ndarray:
    """Rows of a sequence at a horizon ``(T,)`` bool."""
    times = sequence.times  # type: ignore[attr-defined]
    if horizon == WHOLE:
        return np.ones(len(times), bool)
    age = np.zeros(len(times))
    for window in sequence.windows:  # type: ignore[attr-defined]
        age[window.rows] = times[window.rows] - window.start_time
    slack = 1e-9 + 0.01 * horizon
    return (age > (1 - _SHARE) * horizon - slack) & (age <= horizon + slack)


def brief_horizons(errors: Sequence[HorizonError]) -> list[HorizonError]:
    """Errors at the shortest horizon, which grade a fit to torques.

    Recorded torques that drive a model have errors of their own, and no controller corrects what
    they add up to: a right model ends far from its recording after a second or two.
    """
    return [e for e in errors if e.horizon == HORIZONS[0]]


def horizon_rows(errors: Sequence[HorizonError]) -> list[dict[str, object]]:
    """Errors as plain data."""
    return [
        {
            "horizon": "whole" if e.horizon == WHOLE else e.horizon,
            "channel": e.channel,
            "unit": e.unit,
            "part": "held-out" if e.held_out else "training",
            **{name: getattr(e, name) for name in _PREDICTORS},
        }
        for e in errors
    ]


def beaten_sentences(errors: Sequence[HorizonError]) -> list[str]:
    """One sentence per horizon at which a predictor without a model is significantly better."""
    out = []
    for horizon in dict.fromkeys(e.horizon for e in errors):
        beaten = [e for e in errors if e.horizon == horizon and e.is_beaten]
        if not beaten:
            continue
        figures = []
        for e in beaten[:3]:
            is_state = e.state_held <= e.velocity_held
            rival = "state" if is_state else "velocity"
            unit = f" {e.unit}" if e.unit else ""
            best = min(e.state_held, e.velocity_held)
            figures.append(
                f"{e.channel} {e.identified:.3g}{unit} compared with {best:.3g}{unit} with the "
                f"{rival} held"
            )
        more = f"; and {len(beaten) - 3} more" if len(beaten) > 3 else ""
        when = "Over whole recordings" if horizon == WHOLE else f"{horizon:g} s ahead"
        out.append(
            f"{when} the identified model is worse than a prediction without a model: "
            f"{'; '.join(figures)}{more}."
        )
    return out
