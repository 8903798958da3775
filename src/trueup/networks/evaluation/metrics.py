"""Torque errors of a network over whole files from a cold start, as after deployment."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.errors import SignalError
from trueup.fitting.judgement.paired_errors import block_sums
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import VELOCITY
from trueup.networks.model.network import Network

SPEED_BANDS = 5
"""Number of speed bands; all have the same number of samples."""

FREQUENCY_BANDS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
"""Edges of the frequency bands [Hz]; the last band ends at half the rate."""

SETTLING = 0.5
"""Time after a cold start excluded from the settled scores [s]."""

PIECES = 8
"""Number of pieces of a recording with separate sums of squared errors."""

RATE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Scores:
    """Error of a torque over a set of samples."""

    samples: int
    mse: float
    """Mean squared error [N2 m2]."""
    rmse: float
    """Root mean squared error [N m]."""
    mae: float
    """Mean absolute error [N m]."""
    r2: float
    """Coefficient of determination: explained fraction of variance; NaN for a constant torque."""
    pieces: tuple[float, ...] = ()
    """Sums of squared errors over consecutive pieces of a recording [N2 m2], which say how much a
    difference of errors varies; empty over several recordings."""

    @classmethod
    def of(cls, torque: np.ndarray, predicted: np.ndarray, pieces: int = 0) -> "Scores":
        """Score a prediction, shapes (n,) [N m], with sums over a number of pieces."""
        error = predicted - torque
        square = float(np.mean(error**2))
        variance = float(np.var(torque))
        return cls(
            samples=len(torque),
            mse=square,
            rmse=float(np.sqrt(square)),
            mae=float(np.mean(np.abs(error))),
            r2=1.0 - square / variance if variance > 0 else float("nan"),
            pieces=tuple(block_sums(error**2, pieces).tolist()) if pieces else (),
        )


@dataclass(frozen=True)
class Band:
    """Error within a band of speed or of frequency."""

    lowest: float
    highest: float
    samples: int
    """Number of samples (band of speed) or of frequency lines (band of frequency)."""
    rmse: float
    """RMSE within the band [N m]."""
    torque_rms: float
    """RMS of the torque within the band, for comparison [N m]."""


@dataclass(frozen=True, eq=False)
class SeriesScores:
    """Error over one recording, with those of other estimates of the same torque."""

    name: str
    group: str
    scores: Scores
    settled: Scores
    """Without the first half second, in which a network that starts in motion has no history;
    of the whole recording where it is shorter."""
    others: dict[str, Scores]
    """Errors of other estimates by name, such as ``linear``, ``mean`` and ``reference``."""
    others_settled: dict[str, Scores]
    """The same without the first half second."""
    out_of_range: float
    """Fraction of samples outside the range of the training data; NaN where it is unknown."""
    predicted: np.ndarray
    """Predicted torque, shape (n,) [N m]."""
    notes: tuple[str, ...] = ()
    """Processing of the recording, see ``ActuatorSeries.notes``."""


@dataclass(frozen=True, eq=False)
class NetworkScores:
    """Error over several recordings, each from a cold start over its whole length."""

    series: tuple[SeriesScores, ...]
    total: Scores
    """Errors over all samples."""
    settled: Scores
    """Errors without the first half second of each recording."""
    groups: dict[str, Scores]
    """Errors over all samples of each group."""
    others: dict[str, Scores]
    """Errors of other estimates over all samples, where every recording has them."""
    others_settled: dict[str, Scores]
    """The same without the first half second of each recording."""
    speed_bands: tuple[Band, ...]
    """Errors by speed [rad/s], slow to fast; empty without a velocity."""
    frequency_bands: tuple[Band, ...]
    """Errors by frequency [Hz]."""

    def to_dict(self) -> dict[str, Any]:
        """All fields but the predictions as JSON values; ``rmse`` and ``r2`` at the top level."""
        return {
            **asdict(self.total),
            "settled": asdict(self.settled),
            "groups": {name: asdict(scores) for name, scores in self.groups.items()},
            "others": {name: asdict(scores) for name, scores in self.others.items()},
            "others_settled": {n: asdict(scores) for n, scores in self.others_settled.items()},
            "files": [
                {
                    "name": each.name,
                    "group": each.group,
                    **asdict(each.scores),
                    "settled": asdict(each.settled),
                    "out_of_range": each.out_of_range,
                    "notes": list(each.notes),
                    "others": {name: asdict(scores) for name, scores in each.others.items()},
                    "others_settled": {n: asdict(s) for n, s in each.others_settled.items()},
                }
                for each in self.series
            ],
            "speed_bands": [asdict(band) for band in self.speed_bands],
            "frequency_bands": [asdict(band) for band in self.frequency_bands],
        }


def predict_series(
    network: Network, series: ActuatorSeries, warm_up: ActuatorSeries | None = None
) -> np.ndarray:
    """Torque over a whole recording, shape (n,) [N m].

    Args:
      network: the network.
      series: the recording.
      warm_up: the preceding recorded samples, which the network runs through first; None: a cold
        start.

    Raises:
      SignalError: recording and network have different rates.
      ColumnError: a feature is not recorded.
    """
    from trueup.networks.runtime.compiled_runtime import predict

    if abs(series.rate - network.rate) > RATE_TOLERANCE * network.rate:
        raise SignalError(
            f"{series.name} has {series.rate:g} Hz, the network runs at {network.rate:g} Hz: read "
            f"the recording with data.rate={network.rate:g}"
        )
    inputs = series.features(network.inputs)
    if warm_up is None:
        return predict(network, inputs)
    before = warm_up.features(network.inputs)
    return predict(network, np.concatenate([before, inputs]))[len(before) :]


def score(
    network: Network | Sequence[np.ndarray],
    series: Sequence[ActuatorSeries],
    others: Mapping[str, Network] | None = None,
    mean_torque: float | None = None,
    warm_up: Sequence[ActuatorSeries | None] | None = None,
) -> NetworkScores:
    """Score a network, or its predictions, over whole recordings from a cold start.

    Args:
        network: the network; or its torque over each recording, shapes (n,) [N m].
        series: the recordings.
        others: other networks for comparison, by name, such as ``linear``.
        mean_torque: mean of the training part, for the estimate ``mean`` [N m]; by default the
            mean of each recording, which is not available to a network.
        warm_up: samples preceding each recording, such as ``warm_up`` of a `DataSplit`: the
            networks run through them first, and the score is not from a cold start.

    Raises:
        SignalError: no recording, different rates, or a prediction of another length.
        ColumnError: a feature is not recorded.
    """
    if not series:
        raise SignalError("the list of recordings to score is empty")
    before = [None] * len(series) if warm_up is None else list(warm_up)
    if len(before) != len(series):
        raise SignalError(
            f"expected {len(series)} warm-ups, one per recording; received {len(before)}"
        )
    if isinstance(network, Network):
        predictions = [predict_series(network, *pair) for pair in zip(series, before, strict=True)]
    else:
        predictions = [np.asarray(each, dtype=np.float64) for each in network]
    lengths = [len(each) for each in predictions]
    if lengths != [len(each) for each in series]:
        raise SignalError(
            f"predictions have lengths {lengths}; expected {[len(each) for each in series]}"
        )
    estimates = [
        _other_estimates(each, earlier, others or {}, mean_torque)
        for each, earlier in zip(series, before, strict=True)
    ]
    scored = tuple(
        SeriesScores(
            name=each.name,
            group=each.group,
            scores=Scores.of(each.torque, predicted),
            settled=Scores.of(each.torque[_settled(each)], predicted[_settled(each)], PIECES),
            others={name: Scores.of(each.torque, other) for name, other in estimate_of.items()},
            others_settled={
                name: Scores.of(each.torque[_settled(each)], other[_settled(each)], PIECES)
                for name, other in estimate_of.items()
            },
            out_of_range=_share_out_of_range(network, each),
            predicted=predicted,
            notes=each.notes,
        )
        for each, predicted, estimate_of in zip(series, predictions, estimates, strict=True)
    )
    everywhere = [n for n in estimates[0] if all(n in estimate_of for estimate_of in estimates)]
    others_everywhere = {
        name: [estimate_of[name] for estimate_of in estimates] for name in everywhere
    }
    return NetworkScores(
        series=scored,
        total=_over(series, predictions),
        settled=_over(series, predictions, settled=True),
        groups=_by_group(series, predictions),
        others={name: _over(series, other) for name, other in others_everywhere.items()},
        others_settled={
            name: _over(series, other, settled=True) for name, other in others_everywhere.items()
        },
        speed_bands=speed_bands(series, predictions),
        frequency_bands=frequency_bands(series, predictions),
    )


def speed_bands(
    series: Sequence[ActuatorSeries], predictions: Sequence[np.ndarray], count: int = SPEED_BANDS
) -> tuple[Band, ...]:
    """Error by speed, in bands with equal numbers of samples; empty without a velocity."""
    if not all(VELOCITY in each.channels for each in series):
        return ()
    speed = np.abs(np.concatenate([each.channels[VELOCITY] for each in series]))
    torque = np.concatenate([each.torque for each in series])
    error = np.concatenate(list(predictions)) - torque
    order = np.argsort(speed, kind="stable")
    return tuple(
        Band(
            float(speed[rows[0]]),
            float(speed[rows[-1]]),
            len(rows),
            float(np.sqrt(np.mean(error[rows] ** 2))),
            float(np.sqrt(np.mean(torque[rows] ** 2))),
        )
        for rows in np.array_split(order, min(count, len(order)))
    )


def frequency_bands(
    series: Sequence[ActuatorSeries], predictions: Sequence[np.ndarray]
) -> tuple[Band, ...]:
    """Error by frequency; the squared errors of the bands add up to the total (Parseval).

    Each recording is transformed as a whole, without a window, and the powers are averaged,
    weighted by the number of samples. The mean error belongs to the lowest band.
    """
    top = 0.5 * max(each.rate for each in series)
    edges = np.array([*(edge for edge in FREQUENCY_BANDS if edge < top), np.nextafter(top, np.inf)])
    power = np.zeros((2, len(edges) - 1))
    lines = np.zeros(len(edges) - 1, dtype=np.int64)
    total = sum(len(each) for each in series)
    for each, predicted in zip(series, predictions, strict=True):
        count = len(each)
        band = np.searchsorted(edges, np.fft.rfftfreq(count, 1.0 / each.rate), "right") - 1
        band = band.clip(0, len(edges) - 2)
        # one-sided spectrum: all lines count twice, except zero and the Nyquist frequency
        twice = np.full(count // 2 + 1, 2.0)
        twice[0] = 1.0
        if count % 2 == 0:
            twice[-1] = 1.0
        for row, signal in enumerate((predicted - each.torque, each.torque)):
            square = twice * np.abs(np.fft.rfft(signal)) ** 2 / count
            power[row] += np.bincount(band, square, len(edges) - 1) / total
        lines += np.bincount(band, minlength=len(edges) - 1)
    return tuple(
        Band(float(low), float(high), int(count), float(error), float(torque))
        for low, high, count, error, torque in zip(
            edges[:-1], edges[1:], lines, *np.sqrt(power), strict=True
        )
    )


def _other_estimates(
    series: ActuatorSeries,
    warm_up: ActuatorSeries | None,
    others: Mapping[str, Network],
    mean_torque: float | None,
) -> dict[str, np.ndarray]:
    mean = float(series.torque.mean()) if mean_torque is None else mean_torque
    estimates = {name: predict_series(other, series, warm_up) for name, other in others.items()}
    estimates["mean"] = np.full(len(series), mean)
    if series.reference_torque is not None:
        estimates["reference"] = series.reference_torque
    return estimates


def _share_out_of_range(network: Any, series: ActuatorSeries) -> float:
    if not isinstance(network, Network) or network.feature_lowest is None:
        return float("nan")
    from trueup.networks.runtime.numpy_runtime import NetworkRuntime

    inputs = series.features(network.inputs)
    return float(NetworkRuntime(network, 1).out_of_range(inputs).mean())


def _over(
    series: Sequence[ActuatorSeries], predictions: Sequence[np.ndarray], settled: bool = False
) -> Scores:
    """Scores over the samples of several recordings."""
    parts = [_settled(each) if settled else slice(None) for each in series]
    return Scores.of(
        np.concatenate([each.torque[part] for each, part in zip(series, parts, strict=True)]),
        np.concatenate([each[part] for each, part in zip(predictions, parts, strict=True)]),
    )


def _settled(series: ActuatorSeries) -> slice:
    first = round(SETTLING * series.rate)
    return slice(first if first < len(series) - 1 else 0, None)


def _by_group(
    series: Sequence[ActuatorSeries], predictions: Sequence[np.ndarray]
) -> dict[str, Scores]:
    groups = dict.fromkeys(each.group for each in series)
    found = {}
    for group in groups:
        rows = [i for i, each in enumerate(series) if each.group == group]
        found[group] = _over([series[i] for i in rows], [predictions[i] for i in rows])
    return found
