"""One recording of a joint, ready for a network: features and torque at a constant rate."""

from dataclasses import dataclass, field

import numpy as np

from trueup.errors import ColumnError, SignalError, listing
from trueup.networks.data.features import check_feature_names, with_derived


@dataclass(frozen=True, eq=False)
class ActuatorSeries:
    """Evenly sampled signals of one joint in one recording, in SI units.

    Attributes:
      name: name of the recording, such as its file's stem.
      group: property shared with other recordings, such as the inertia of the load; groups are held
        out as a whole.
      rate: sample rate [Hz].
      channels: feature name -> samples, shape (n,), see ``features.FEATURES``.
      torque: target of the network, shape (n,) [N m].
      reference_torque: another estimate of the torque for comparison, such as that of the
        controller, shape (n,) [N m], or None.
      start: time of the first sample on the clock of the recording [s].
      source: file it came from, or empty.
      sha256: hash of that file, or empty.

    Raises:
      SignalError: fewer than two samples, unequal lengths, values that are not finite, or a rate
        that is not positive.
      ColumnError: a channel is not a known feature.
    """

    name: str
    group: str
    rate: float
    channels: dict[str, np.ndarray]
    torque: np.ndarray
    reference_torque: np.ndarray | None = None
    start: float = 0.0
    source: str = ""
    sha256: str = ""
    notes: tuple[str, ...] = field(default=())
    """Processing steps applied to the samples, for the report."""

    def __post_init__(self):
        torque = np.ascontiguousarray(self.torque, dtype=np.float64)
        if torque.ndim != 1 or torque.size < 2:
            raise SignalError(
                f"{self.name}: torque has shape {torque.shape}; expected (n,) with at least "
                "two samples"
            )
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise SignalError(f"{self.name}: the rate is {self.rate} Hz; it must be positive")
        channels = {
            name: np.ascontiguousarray(values, dtype=np.float64)
            for name, values in with_derived(self.channels).items()
        }
        check_feature_names(tuple(channels))
        signals = {**channels, "torque": torque}
        if self.reference_torque is not None:
            reference = np.ascontiguousarray(self.reference_torque, dtype=np.float64)
            object.__setattr__(self, "reference_torque", reference)
            signals["reference torque"] = reference
        for name, values in signals.items():
            if values.shape != torque.shape:
                raise SignalError(
                    f"{self.name}: {name} has shape {values.shape}; expected {torque.shape}, as "
                    "torque"
                )
            bad = np.count_nonzero(~np.isfinite(values))
            if bad:
                raise SignalError(
                    f"{self.name}: {bad} of {len(torque)} values of {name} are not finite"
                )
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "torque", torque)

    def __len__(self) -> int:
        return len(self.torque)

    @property
    def times(self) -> np.ndarray:
        """Sample times from zero, shape (n,) [s]."""
        return np.arange(len(self)) / self.rate

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return (len(self) - 1) / self.rate

    def features(self, names: tuple[str, ...]) -> np.ndarray:
        """Samples of the features in the order given, shape (n, features).

        Raises:
          ColumnError: a feature is unknown or not recorded.
        """
        check_feature_names(names)
        missing = [name for name in names if name not in self.channels]
        if missing:
            raise ColumnError(
                f"{self.name} has no channel {listing(missing)}; it has {listing(self.channels)}"
            )
        return np.stack([self.channels[name] for name in names], axis=1)

    def part(self, first: int, last: int) -> "ActuatorSeries":
        """Samples ``first`` to ``last`` (excluded) as a separate recording."""
        reference = self.reference_torque
        return ActuatorSeries(
            name=self.name,
            group=self.group,
            rate=self.rate,
            channels={name: values[first:last] for name, values in self.channels.items()},
            torque=self.torque[first:last],
            reference_torque=None if reference is None else reference[first:last],
            start=self.start + first / self.rate,
            source=self.source,
            sha256=self.sha256,
            notes=self.notes,
        )
