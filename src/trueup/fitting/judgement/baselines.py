"""Baselines: trivial predictions on the same samples as a result.

A set of recordings is a sequence of arrays ``(T, C)``, one per recording, with the same channels
in each; NaN marks unmeasured values. A mask selects the held-out recordings. Every baseline is a
list of predictions of the same shapes, and :func:`compare` scores them together with the result::

    from trueup.fitting.judgement import baselines

    rivals = {
        "a constant": baselines.constant(measured, held_out),
        "the last state held": baselines.state_held(measured, window=200),
        "the model before the fit": predicted_at_start,
    }
    comparisons = baselines.compare(measured, predicted, rivals, held_out, channels)

Any other predictions can be added: an analytic base without its network, a simpler member of a
family, the torque estimate of a controller.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from trueup.errors import FitError, listing
from trueup.fitting.judgement.paired_errors import CHANCE, block_sums, is_clearly_worse
from trueup.fitting.judgement.verdict import Comparison

Arrays = Sequence[np.ndarray]
"""One array ``(T, C)`` per recording, or ``(T,)`` for a single channel."""

CONSTANT = "a constant"
STATE_HELD = "the last state held"
VELOCITY_HELD = "the velocity held"
LINEAR = "a linear model"
BEFORE_FIT = "the model before the fit"
BASE_ALONE = "the base alone"
SIMPLER = "the simpler model"
CONTROLLER = "the controller's estimate"

MEASURES = ("RMSE", "MAE")
"""Error measures of :func:`compare`."""

_POWER = {"RMSE": 2, "MAE": 1}

_ROUNDING = 1e-6  # errors below this share of the size of a channel are rounding


def constant(
    measured: Arrays,
    held_out: Sequence[bool] | None = None,
    repeated: Sequence[bool] | None = None,
) -> list[np.ndarray]:
    """Mean of each channel over the samples of the fit.

    Args:
        measured: recordings.
        held_out: which of them are held out; none if None.
        repeated: which of these are also among the other recordings, as parts held out of a
            second fit only: the mean for each is that of all other samples.

    Raises:
        FitError: no sample of the fit, or shapes do not match.
    """
    tables = _tables(measured, "measured")
    seen = _seen(tables, held_out)
    mean = _mean(seen)
    again = _mask(tables, repeated)
    return [
        np.broadcast_to(_mean(seen, table) if is_again else mean, table.shape).copy()
        for table, is_again in zip(tables, again, strict=True)
    ]


def state_held(
    measured: Arrays, window: int | Sequence[np.ndarray] | None = None
) -> list[np.ndarray]:
    """Last value measured before each window, held through the window.

    The first window of a recording uses its first sample, since there is no earlier one.

    Args:
        measured: recordings.
        window: samples of a window, or the first sample of each window in each recording; None:
            whole recordings.

    Raises:
        FitError: a window is shorter than a sample, or shapes do not match.
    """
    tables = [_filled(table) for table in _tables(measured, "measured")]
    anchors = [_anchors(len(t), window, i) for i, t in enumerate(tables)]
    return [table[anchor] for table, anchor in zip(tables, anchors, strict=True)]


def velocity_held(
    measured: Arrays,
    times: Sequence[np.ndarray],
    window: int | Sequence[np.ndarray] | None = None,
    velocities: Arrays | None = None,
) -> list[np.ndarray]:
    """Linear extrapolation of state and velocity at the start of each window.

    Args:
        measured: recordings.
        times: times of their samples [s], ``(T,)`` each.
        window: windows as in :func:`state_held`.
        velocities: measured velocities of the channels, with their shapes; None: the slope over
            the two samples up to the start of the window, or over the first two samples.

    Raises:
        FitError: a window is shorter than a sample, or shapes do not match.
    """
    tables = [_filled(table) for table in _tables(measured, "measured")]
    given = None if velocities is None else _tables(velocities, "velocities")
    out = []
    for i, (table, clock) in enumerate(zip(tables, times, strict=True)):
        clock = np.asarray(clock, float)
        if clock.shape != (len(table),):
            raise FitError(
                f"recording {i} has {len(table)} samples, but times of shape {clock.shape}"
            )
        anchor = _anchors(len(table), window, i)
        if given is not None:
            if given[i].shape != table.shape:
                raise FitError(
                    f"recording {i} has shape {table.shape}, its velocities {given[i].shape}"
                )
            slope = _filled(given[i])[anchor]
        elif len(table) < 2:
            slope = np.zeros_like(table)
        else:
            before = np.diff(table, axis=0) / np.diff(clock)[:, None]
            slope = before[np.maximum(anchor - 1, 0)]
        out.append(table[anchor] + slope * (clock - clock[anchor])[:, None])
    return out


def linear(
    measured: Arrays, regressors: Arrays, held_out: Sequence[bool] | None = None
) -> list[np.ndarray]:
    """Linear function of given regressors plus a constant, fitted by least squares.

    Args:
      measured: recordings.
      regressors: ``(T, R)`` for each recording: commands, measured speeds, past samples.
      held_out: which recordings are held out; none if None.

    Raises:
      FitError: no complete sample of the fit, or shapes do not match.
    """
    tables = _tables(measured, "measured")
    inputs = _tables(regressors, "regressors")
    if [len(t) for t in inputs] != [len(t) for t in tables]:
        raise FitError("regressors must have one row per sample of the recordings")
    seen = _seen(inputs, held_out)
    middle = _mean(seen)
    spread = np.sqrt(_mean([(t - middle) ** 2 for t in seen]))
    spread = np.where(spread > 0, spread, 1.0)
    designs = [np.column_stack([(t - middle) / spread, np.ones(len(t))]) for t in inputs]
    A, B = np.concatenate(_seen(designs, held_out)), np.concatenate(_seen(tables, held_out))
    out = [np.empty(t.shape) for t in tables]
    for c in range(B.shape[1]):
        complete = np.isfinite(A).all(axis=1) & np.isfinite(B[:, c])
        if not complete.any():
            raise FitError("a linear model requires samples with all regressors and the channel")
        weights = np.linalg.lstsq(A[complete], B[complete, c], rcond=None)[0]
        for design, part in zip(designs, out, strict=True):
            part[:, c] = design @ weights
    return out


def compare(
    measured: Arrays,
    predicted: Arrays,
    baselines: Mapping[str, Arrays],
    held_out: Sequence[bool] | None = None,
    channels: Sequence[str] = (),
    *,
    units: Sequence[str] = (),
    resolution: float | Sequence[float] = 0.0,
    measure: str = "RMSE",
) -> list[Comparison]:
    """Errors of a result and of baselines in each channel, on held-out and other recordings.

    All are scored on the samples at which the channel was measured. A prediction that is not finite
    at one of them has an infinite error.

    Args:
        measured: recordings.
        predicted: predictions of the result.
        baselines: predictions of each baseline, by name.
        held_out: which recordings are held out; none if None.
        channels: names of the channels.
        units: units of the channels.
        resolution: error below which a difference is not significant, for all channels or for
            each; at least the rounding of the channel.
        measure: ``"RMSE"`` or ``"MAE"``.

    Returns:
        A comparison for each channel of the held-out recordings, then for each of the others;
        channels without a measured sample are omitted.

    Raises:
        FitError: shapes do not match, or an unknown measure.
    """
    if measure not in MEASURES:
        raise FitError(f"unknown error measure {measure!r}; available: {listing(MEASURES)}")
    tables = _tables(measured, "measured")
    guesses = {"": _tables(predicted, "predicted")}
    guesses |= {name: _tables(arrays, name) for name, arrays in baselines.items()}
    for name, arrays in guesses.items():
        if [a.shape for a in arrays] != [t.shape for t in tables]:
            raise FitError(
                f"{name or 'predicted'} has shapes {[a.shape for a in arrays]}, measured "
                f"{[t.shape for t in tables]}: both must have the same samples and channels"
            )
    count = tables[0].shape[1]
    names = list(channels) or [f"channel {c}" for c in range(count)]
    unit_of = list(units) or [""] * count
    if len(names) != count or len(unit_of) != count:
        raise FitError(
            f"expected {count} channel names and units, found {len(names)} names and "
            f"{len(unit_of)} units"
        )
    finest = np.broadcast_to(np.asarray(resolution, float), (count,))
    mask = _mask(tables, held_out)
    out = []
    for unseen in (True, False):
        chosen = np.flatnonzero(mask == unseen)
        if not chosen.size:
            continue
        truth = np.concatenate([tables[i] for i in chosen])
        known = np.isfinite(truth)
        size = np.max(np.abs(truth), axis=0, initial=0.0, where=known)
        errors = {
            name: _errors(truth, known, np.concatenate([a[i] for i in chosen]), measure)
            for name, a in guesses.items()
        }
        pieces = {
            name: block_sums(_off(truth, known, np.concatenate([a[i] for i in chosen]), measure))
            for name, a in guesses.items()
        }
        chance = CHANCE / max(count * len(baselines), 1)
        floor = block_sums(known * np.maximum(finest, _ROUNDING * size) ** _POWER[measure])
        for c in np.flatnonzero(known.any(axis=0)):
            beaten = tuple(
                name
                for name in baselines
                if is_clearly_worse(pieces[""][:, c], np.maximum(pieces[name], floor)[:, c], chance)
            )
            out.append(
                Comparison(
                    names[c],
                    float(errors[""][c]),
                    {name: float(errors[name][c]) for name in baselines},
                    unseen,
                    unit_of[c],
                    float(max(finest[c], _ROUNDING * size[c])),
                    measure,
                    beaten,
                )
            )
    return out


def _off(truth: np.ndarray, known: np.ndarray, guess: np.ndarray, measure: str) -> np.ndarray:
    """Squared or absolute error of each measured sample ``(T, C)``, zero elsewhere."""
    off = np.abs(np.where(known, guess - truth, 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        return off ** _POWER[measure]


def _errors(truth: np.ndarray, known: np.ndarray, guess: np.ndarray, measure: str) -> np.ndarray:
    """Error of each channel over the measured samples ``(C,)``."""
    count = np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _off(truth, known, guess, measure).sum(axis=0) / count
        out = mean ** (1.0 / _POWER[measure])
    return np.where(np.isfinite(out), out, np.inf)


def _tables(arrays: Arrays, what: str) -> list[np.ndarray]:
    tables = [np.asarray(a, float) for a in arrays]
    tables = [t[:, None] if t.ndim == 1 else t for t in tables]
    if not tables or any(t.ndim != 2 for t in tables) or len({t.shape[1] for t in tables}) > 1:
        raise FitError(
            f"{what} has shapes {[t.shape for t in tables]}: expected one array (time, channels) "
            "for each recording, with the same channels"
        )
    return tables


def _mask(tables: Sequence[np.ndarray], held_out: Sequence[bool] | None) -> np.ndarray:
    mask = np.zeros(len(tables), bool) if held_out is None else np.asarray(held_out, bool)
    if mask.shape != (len(tables),):
        raise FitError(
            f"held_out has {mask.size} entries, expected one for each of {len(tables)} recordings"
        )
    return mask


def _seen(tables: Sequence[np.ndarray], held_out: Sequence[bool] | None) -> list[np.ndarray]:
    seen = [t for t, out in zip(tables, _mask(tables, held_out), strict=True) if not out]
    if not seen:
        raise FitError(
            "all recordings are held out: a baseline requires at least one recording of the fit"
        )
    return seen


def _mean(tables: Sequence[np.ndarray], without: np.ndarray | None = None) -> np.ndarray:
    """Mean of each channel over measured samples, excluding those of a part; 0 without any."""
    total, count = _sums(np.concatenate(list(tables)))
    if without is not None:
        part, less = _sums(without)
        total, count = np.where(count > less, total - part, 0.0), count - less
    return total / np.maximum(count, 1)


def _sums(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum of each channel over measured samples, and their number."""
    known = np.isfinite(rows)
    return np.where(known, rows, 0.0).sum(axis=0), known.sum(axis=0)


def _filled(table: np.ndarray) -> np.ndarray:
    """The table with gaps filled by the previous value, or the next one at the start."""
    known = np.isfinite(table)
    last = np.where(known, np.arange(len(table))[:, None], -1)
    last = np.maximum.accumulate(last, axis=0)
    first = np.argmax(known, axis=0)
    return np.take_along_axis(table, np.where(last >= 0, last, first), axis=0)


def _anchors(samples: int, window: int | Sequence[np.ndarray] | None, recording: int) -> np.ndarray:
    """Sample whose state is held at each sample ``(T,)``."""
    if window is None:
        return np.zeros(samples, int)
    if isinstance(window, int | np.integer):
        if window < 1:
            raise FitError(f"window must be at least one sample, found {window}")
        starts = np.arange(0, max(samples, 1), window)
    else:
        starts = np.unique(np.concatenate([[0], np.asarray(window[recording], int)]))
    number = np.searchsorted(starts, np.arange(samples), side="right") - 1
    return np.maximum(starts[number] - 1, 0)
