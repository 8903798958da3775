"""Error of a prediction after 0.1, 0.5 and 2 s, beside predictors that need no model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.fitting import baselines
from trueup.simulation.model_sequences import ModelSequences
from trueup.sysid.assess.held_motion import velocities, velocity_sources
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.window_states import without_window_states
from trueup.sysid.recordings.channel_units import signal_units
from trueup.sysid.recordings.measured_state import state_columns

HORIZONS = (0.1, 0.5, 2.0)
"""Times after the last measured state at which errors are taken [s]."""

WHOLE = 0.0
"""Stands for whole recordings among the horizons."""

_SHARE = 0.2  # of a horizon: samples in its last part show the error at its end
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
    """That of the model before the fit."""
    state_held: float
    """That of the last measured value."""
    velocity_held: float
    """That of the last measured value with the last measured velocity."""

    @property
    def is_beaten(self) -> bool:
        """Whether a predictor without a model is at least as good."""
        return self.identified >= min(self.state_held, self.velocity_held)


def horizon_errors(
    prepared: Prepared, problem: GrayBoxProblem, x: np.ndarray
) -> list[HorizonError]:
    """Errors at every horizon, of held-out data where there are some.

    Each recording is simulated from its measured state every 2 s, and in one piece.

    Args:
      prepared: the experiment.
      problem: its problem.
      x: the fit ``(p,)``.

    Returns:
      One entry a horizon and channel; empty where a joint was not measured, so that no simulation
      can begin in the middle of a recording.
    """
    held_out = bool(prepared.held_out)
    groups = prepared.held_out if held_out else prepared.training
    if not _is_measured(groups):
        return []
    parameters, keep = without_window_states(prepared.parameters)
    points = np.stack([problem.space.start, x])[:, keep]
    out = []
    for horizon in (*HORIZONS, WHOLE):
        if horizon in HORIZONS[:-1]:
            continue
        settings = replace(prepared.settings, window=horizon)
        other = GrayBoxProblem(parameters, groups, settings, prepared.rules)
        for wanted in HORIZONS if horizon else (WHOLE,):
            out += _errors(other, points, wanted, held_out)
    return out


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
    squares: dict[str, np.ndarray] = {}
    counts: dict[str, int] = {}
    units: dict[str, str] = {}
    for sequence, (measured, predicted) in zip(
        problem.sequences, problem.predictions(points), strict=True
    ):
        truth, times = measured[-1], sequence.times
        firsts = np.array([w.first for w in sequence.windows], int)
        rows = _rows_at(sequence, horizon)
        if not rows.any():
            continue
        speeds = velocities(times, truth, velocity_sources(models, sequence.signal_names))
        guesses = [
            predicted[1],
            predicted[0],
            baselines.state_held([truth], [firsts])[0],
            baselines.velocity_held([truth], [times], [firsts], [speeds])[0],
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.stack(
                [np.square(guess[rows] - truth[rows]).sum(axis=0) for guess in guesses]
            )
        errors = np.where(np.isfinite(errors), errors, np.inf)
        own = signal_units(models, sequence.signal_names)
        for c, channel in enumerate(sequence.channel_names):
            squares[channel] = squares.get(channel, 0.0) + errors[:, c]
            counts[channel] = counts.get(channel, 0) + int(rows.sum())
            units[channel] = own[c]
    return [
        HorizonError(
            horizon,
            channel,
            units[channel],
            held_out,
            *(float(v) for v in np.sqrt(squares[channel] / counts[channel])),
        )
        for channel in squares
    ]


def _rows_at(sequence: object, horizon: float) -> np.ndarray:
    """Rows of a sequence that show a horizon ``(T,)`` bool."""
    times = sequence.times  # type: ignore[attr-defined]
    if horizon == WHOLE:
        return np.ones(len(times), bool)
    age = np.zeros(len(times))
    for window in sequence.windows:  # type: ignore[attr-defined]
        age[window.rows] = times[window.rows] - window.segment.start_time
    slack = 1e-9 + 0.01 * horizon
    return (age > (1 - _SHARE) * horizon - slack) & (age <= horizon + slack)


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
    """One sentence a horizon at which a predictor without a model is as good as the fit."""
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
                f"{e.channel} {e.identified:.3g}{unit} beside {best:.3g}{unit} with the {rival} "
                "held"
            )
        more = f"; and {len(beaten) - 3} more" if len(beaten) > 3 else ""
        when = "Over whole recordings" if horizon == WHOLE else f"{horizon:g} s ahead"
        out.append(
            f"{when} the identified model is no better than a prediction without a model: "
            f"{'; '.join(figures)}{more}."
        )
    return out
