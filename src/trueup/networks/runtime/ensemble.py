"""Several networks trained alike from different seeds: their mean, and how far they disagree."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.errors import FitError, listing
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import load_network

MEMBERS = "members"
"""Folder of a run that holds the networks of an ensemble."""


@dataclass(frozen=True, eq=False)
class EnsembleTorque:
    """Torque of an ensemble over a recording.

    Attributes:
        mean: shape (n,) [N m].
        spread: standard deviation over the members, shape (n,) [N m]: how far they disagree. It
            tells where data were few; it holds neither sensor noise nor what all members miss.
        out_of_range: which samples leave the range of training in a feature, shape (n,), bool.
    """

    mean: np.ndarray
    spread: np.ndarray
    out_of_range: np.ndarray


class NetworkEnsemble:
    """Networks with the same inputs and rate.

    Args:
        networks: two members or more.

    Raises:
        FitError: fewer than two, or members whose inputs or rates differ.
    """

    def __init__(self, networks: Sequence[Network]):
        if len(networks) < 2:
            raise FitError(f"an ensemble has two networks or more; found {len(networks)}")
        first = networks[0]
        for other in networks[1:]:
            if other.inputs != first.inputs or other.rate != first.rate:
                raise FitError(
                    f"the networks of an ensemble take the same inputs at one rate; found "
                    f"{listing(first.inputs)} at {first.rate:g} Hz and {listing(other.inputs)} at "
                    f"{other.rate:g} Hz"
                )
        self.networks = tuple(networks)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, anyway: bool = False) -> "NetworkEnsemble":
        """Read the networks of a run (its ``members``), or all networks of a folder.

        Args:
          folder: run directory or folder.
          anyway: take those of a run whose recordings have changed since too.

        Raises:
          RunDirectoryError: the recordings of the run have changed since.
          FitError: there are fewer than two, or one cannot be read.
        """
        folder = Path(folder)
        inner = folder / MEMBERS if (folder / MEMBERS).is_dir() else folder
        files = sorted([*inner.glob("*.safetensors"), *inner.glob("*/network.safetensors")])
        if len(files) < 2:
            raise FitError(
                f"{inner} holds {len(files)} networks: train an ensemble with "
                "model.ensemble_members=5"
            )
        return cls([load_network(file, anyway=anyway) for file in files])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Features that a caller must give, in order."""
        return self.networks[0].inputs

    @property
    def rate(self) -> float:
        """Samples a second [Hz]."""
        return self.networks[0].rate

    def predict(self, inputs: np.ndarray) -> EnsembleTorque:
        """Torque over a whole recording from a cold start.

        Args:
            inputs: raw features in the order of `inputs`, shape (n, inputs).

        Raises:
            SignalError: the shape is another.
        """
        from trueup.networks.runtime.numpy_runtime import NetworkRuntime

        torque = self.each(inputs)
        return EnsembleTorque(
            mean=torque.mean(axis=0),
            spread=torque.std(axis=0, ddof=1),
            out_of_range=NetworkRuntime(self.networks[0]).out_of_range(inputs),
        )

    def each(self, inputs: np.ndarray) -> np.ndarray:
        """Torque of each member ``(members, n)`` [N m]; arguments and errors as :meth:`predict`."""
        from trueup.networks.runtime.compiled_runtime import predict

        inputs = np.asarray(inputs)
        return np.stack([predict(network, inputs) for network in self.networks])
