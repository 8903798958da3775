"""Scores of predictions per channel, compared with trivial predictors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.errors import FitError, listing

__all__ = [
    "ChannelScore",
    "ScoreRow",
    "ScoreTable",
    "ScoredSequence",
    "channel_scores",
    "compare_predictors",
]


@dataclass(frozen=True)
class ChannelScore:
    """Scores of one channel.

    A constant measured channel has no variance to explain. Its relative scores are 100 (and 1 for
    R2) if the prediction equals it up to rounding, and 0 if not; ``constant`` is then True.

    Args:
        channel: Name of the channel.
        rmse: Root mean square error [units of the channel].
        fit_percent: ``100 (1 - |error| / |measured - mean|)``, the NRMSE fit; 100 is perfect, 0 is
            as good as the mean, negative is worse.
        vaf: Variance accounted for, ``100 (1 - var(error) / var(measured))`` [%]; not affected by
            a constant offset.
        r2: ``1 - |error|^2 / |measured - mean|^2``.
        samples: Number of samples.
        constant: True if the measured channel is constant.
    """

    channel: str
    rmse: float
    fit_percent: float
    vaf: float
    r2: float
    samples: int
    constant: bool


@dataclass(frozen=True)
class ScoredSequence:
    """One measured sequence and its predictions.

    Args:
        measured: ``(T, C)``.
        predictions: For each predictor ``(T, C)``: ``{"identified": ..., "initial": ...}``.
        name: Name of the sequence.
        start: ``(C,)`` measured value at the first sample of the record, for the predictor "hold
            first value"; default the first row of ``measured``.
    """

    measured: np.ndarray
    predictions: Mapping[str, np.ndarray]
    name: str = ""
    start: np.ndarray | None = None


@dataclass(frozen=True)
class ScoreRow:
    """Scores of one predictor on one set of sequences, one ``ChannelScore`` per channel."""

    part: str
    predictor: str
    channels: tuple[ChannelScore, ...]


@dataclass(frozen=True)
class ScoreTable:
    """Scores of every predictor on every set.

    Args:
        rows: A row for each set and predictor.
        remarks: Sentences on channels with a better trivial predictor, and on channels that are
            worse than with the initial model.
    """

    rows: tuple[ScoreRow, ...]
    remarks: tuple[str, ...] = field(default=())

    def row(self, part: str, predictor: str) -> ScoreRow:
        """Return one row; raises :class:`~trueup.errors.FitError` if there is none."""
        for row in self.rows:
            if (row.part, row.predictor) == (part, predictor):
                return row
        existing = [f"{row.part}/{row.predictor}" for row in self.rows]
        raise FitError(f"no scores for {part}/{predictor}; available: {listing(existing)}.")


MEAN = "mean of training"
HOLD = "hold first value"
TRIVIAL = (MEAN, HOLD)


def channel_scores(
    measured: np.ndarray | Sequence[np.ndarray],
    predicted: np.ndarray | Sequence[np.ndarray],
    channels: Sequence[str] = (),
) -> list[ChannelScore]:
    """Score a prediction, channel by channel.

    Args:
        measured: ``(T, C)``, or one such array for each sequence; sequences are pooled sample by
            sample.
        predicted: The same shapes.
        channels: Names of the channels.

    Raises:
        FitError: Shapes do not match, no samples, or values that are not finite.
    """
    truth, guess = _pooled(measured, "measured"), _pooled(predicted, "predicted")
    if truth.shape != guess.shape:
        raise FitError(
            f"measured has shape {truth.shape}, predicted {guess.shape}; "
            "both must have the same samples and channels."
        )
    names = list(channels) or [f"channel {c}" for c in range(truth.shape[1])]
    if len(names) != truth.shape[1]:
        raise FitError(f"expected {truth.shape[1]} channel names, found {len(names)}.")
    return [_score(truth[:, c], guess[:, c], name) for c, name in enumerate(names)]


def compare_predictors(
    parts: Mapping[str, Sequence[ScoredSequence]],
    channels: Sequence[str] = (),
    training: str = "training",
    identified: str = "identified",
    initial: str = "initial",
) -> ScoreTable:
    """Score all predictors on all sets, including two trivial ones.

    The trivial predictors do not use the model: one predicts the mean of the training set at all
    times, the other holds the first value of each sequence.

    Args:
        parts: Sequences of each set, ``{"training": [...], "held-out": [...]}``.
        channels: Names of the channels.
        training: Name of the set whose mean the trivial predictor uses.
        identified: Name of the identified model's prediction, for the remarks.
        initial: Name of the initial model's prediction, for the remarks.

    Raises:
        FitError: The training set is missing or a set is empty, or shapes do not match.
    """
    if training not in parts:
        raise FitError(f"no training set {training!r}; available: {listing(parts)}.")
    empty = [part for part, sequences in parts.items() if not sequences]
    if empty:
        raise FitError(f"no sequence in {listing(empty)}; omit the set or add sequences.")
    means = _pooled([s.measured for s in parts[training]], "measured").mean(axis=0)
    rows = []
    for part, sequences in parts.items():
        measured = [np.asarray(s.measured, dtype=float) for s in sequences]
        if {m.shape[-1] for m in measured} != {len(means)}:
            raise FitError(
                f"{part}: sequences have {sorted({m.shape[-1] for m in measured})} channels, "
                f"the training set has {len(means)}."
            )
        for predictor in _common_predictors(part, sequences):
            guess = [np.asarray(s.predictions[predictor], dtype=float) for s in sequences]
            rows.append(ScoreRow(part, predictor, tuple(channel_scores(measured, guess, channels))))
        flat = [np.broadcast_to(means, m.shape) for m in measured]
        rows.append(ScoreRow(part, MEAN, tuple(channel_scores(measured, flat, channels))))
        held = [
            np.broadcast_to(m[0] if s.start is None else np.asarray(s.start), m.shape)
            for m, s in zip(measured, sequences)
        ]
        rows.append(ScoreRow(part, HOLD, tuple(channel_scores(measured, held, channels))))
    return ScoreTable(tuple(rows), tuple(_remarks(rows, list(parts), identified, initial)))


def _common_predictors(part: str, sequences: Sequence[ScoredSequence]) -> list[str]:
    first = list(sequences[0].predictions)
    for sequence in sequences[1:]:
        if set(sequence.predictions) != set(first):
            raise FitError(
                f"{part}: sequence {sequence.name!r} has predictions "
                f"{listing(sequence.predictions)}, the first one {listing(first)}."
            )
    return first


def _remarks(
    rows: Sequence[ScoreRow], parts: Sequence[str], identified: str, initial: str
) -> list[str]:
    found = {(row.part, row.predictor): row for row in rows}
    remarks = []
    for part in parts:
        model = found.get((part, identified))
        if model is None:
            continue
        for c, score in enumerate(model.channels):
            for rival in (*TRIVIAL, initial):
                row = found.get((part, rival))
                if row is None or row.channels[c].rmse >= score.rmse * (1.0 - 1e-9):
                    continue
                what = "the initial model" if rival == initial else f"a constant ({rival})"
                remarks.append(
                    f"{part}, {score.channel}: the RMSE of the identified model is "
                    f"{score.rmse:.3g}, "
                    f"that of {what} only {row.channels[c].rmse:.3g}."
                )
    return remarks


def _score(measured: np.ndarray, predicted: np.ndarray, channel: str) -> ChannelScore:
    error = measured - predicted
    samples = len(measured)
    rmse = float(np.sqrt(np.mean(error**2)))
    spread = float(np.sum((measured - measured.mean()) ** 2))
    rounding = 8.0 * np.finfo(float).eps * float(np.abs(measured).max())
    if np.sqrt(spread / samples) <= rounding:
        met = rmse <= max(rounding, np.finfo(float).tiny)
        return ChannelScore(
            channel,
            rmse,
            100.0 if met else 0.0,
            100.0 if met else 0.0,
            1.0 if met else 0.0,
            samples,
            True,
        )
    lost = float(np.sum(error**2)) / spread
    varying = float(np.sum((error - error.mean()) ** 2)) / spread
    return ChannelScore(
        channel,
        rmse,
        100.0 * (1.0 - float(np.sqrt(lost))),
        100.0 * (1.0 - varying),
        1.0 - lost,
        samples,
        False,
    )


def _pooled(tables: np.ndarray | Sequence[np.ndarray], what: str) -> np.ndarray:
    arrays = [tables] if isinstance(tables, np.ndarray) else list(tables)
    if not arrays:
        raise FitError(f"{what}: expected at least one sequence, found none.")
    columns = [np.asarray(array, dtype=float) for array in arrays]
    columns = [array[:, None] if array.ndim == 1 else array for array in columns]
    if len({array.shape[1:] for array in columns}) > 1 or columns[0].ndim != 2:
        raise FitError(
            f"{what}: shapes {[array.shape for array in columns]}; give (time, channels) arrays "
            "of the same channels."
        )
    pooled = np.concatenate(columns)
    if len(pooled) == 0:
        raise FitError(f"{what}: expected at least one sample, found none.")
    if not np.isfinite(pooled).all():
        bad = int(np.count_nonzero(~np.isfinite(pooled)))
        raise FitError(f"{what}: {bad} values are not finite; remove those samples first.")
    return pooled
