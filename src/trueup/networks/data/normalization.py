"""Means and standard deviations of the features, by name, and of the output of a network."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError, listing, reason

SMALLEST_DEVIATION = 1e-6
"""Standard deviation below which a signal counts as constant: it is shifted, not scaled."""


@dataclass(frozen=True, eq=False)
class Normalization:
    """Statistics of the training part: of the inputs by name, and of the output of the network.

    The output is the torque, or the residual where the network corrects an analytic base.

    Attributes:
        features: names of the inputs, in the network's order.
        input_mean: shape (features,).
        input_deviation: shape (features,).
        output_mean: [N m].
        output_deviation: [N m].
    """

    features: tuple[str, ...]
    input_mean: np.ndarray
    input_deviation: np.ndarray
    output_mean: float
    output_deviation: float

    def __post_init__(self):
        for name in ("input_mean", "input_deviation"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != (len(self.features),):
                raise FitError(
                    f"{name} has shape {values.shape}; expected ({len(self.features)},), one per "
                    "feature"
                )
            object.__setattr__(self, name, values)
        deviations = [*self.input_deviation, self.output_deviation]
        if not (np.isfinite(deviations).all() and min(deviations) > 0):
            raise FitError("standard deviations of a normalisation must be positive and finite")

    @classmethod
    def of(
        cls, features: tuple[str, ...], inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> "Normalization":
        """Statistics of recordings, each sample counted once.

        Args:
            features: names of the columns of the inputs.
            inputs: of each recording, shape (n, features).
            outputs: of each recording, shape (n,) [N m].
        """
        stacked, output = np.concatenate(list(inputs)), np.concatenate(list(outputs))
        return cls(
            features=features,
            input_mean=stacked.mean(axis=0),
            input_deviation=_or_one(stacked.std(axis=0)),
            output_mean=float(output.mean()),
            output_deviation=float(_or_one(output.std())),
        )

    def to_dict(self) -> dict[str, Any]:
        """The content of ``normalization_stats.json``."""
        return {
            "feature_names": list(self.features),
            "input_mean": self.input_mean.tolist(),
            "input_std": self.input_deviation.tolist(),
            "target_mean": [self.output_mean],
            "target_std": [self.output_deviation],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Normalization":
        """The statistics from `to_dict`.

        Raises:
          FitError: an entry is missing, or lengths differ.
        """
        keys = ("feature_names", "input_mean", "input_std", "target_mean", "target_std")
        missing = [key for key in keys if key not in content]
        if missing:
            raise FitError(
                f"normalisation statistics have no {listing(missing)}; they have {listing(content)}"
            )
        return cls(
            features=tuple(content["feature_names"]),
            input_mean=np.asarray(content["input_mean"], dtype=np.float64),
            input_deviation=np.asarray(content["input_std"], dtype=np.float64),
            output_mean=float(content["target_mean"][0]),
            output_deviation=float(content["target_std"][0]),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Normalization":
        """Read ``normalization_stats.json``.

        Raises:
          FitError: the file or an entry is missing, or the file is not JSON.
        """
        try:
            content = json.loads(Path(path).read_text())
        except (OSError, ValueError) as error:
            raise FitError(
                f"{path} cannot be read as normalisation statistics: {reason(error)}"
            ) from error
        if not isinstance(content, dict):
            raise FitError(f"{path} does not contain normalisation statistics")
        return cls.from_dict(content)


def _or_one(deviation: np.ndarray) -> np.ndarray:
    return np.where(deviation < SMALLEST_DEVIATION, 1.0, deviation)
