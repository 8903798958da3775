"""Ensembles of networks trained with different seeds: mean and spread of the torque."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.errors import FitError, listing
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import load_network

MEMBERS = "members"
"""Folder of a run with the networks of an ensemble."""


@dataclass(frozen=True, eq=False)
class EnsembleTorque:
    """Torque of an ensemble over a recording.

    Attributes:
        mean: shape (n,) [N m].
        spread: standard deviation over the members, shape (n,) [N m]. It is large where data were
            few; it excludes sensor noise and the errors common to all members.
        out_of_range: samples outside the range of training in any feature, shape (n,), bool.
    """

    mean: np.ndarray
    spread: np.ndarray
    out_of_range: np.ndarray


class NetworkEnsemble:
    """Networks with the same inputs and rate.

    Args:
        networks: at least two members.

    Raises:
        FitError: fewer than two members, or different inputs or rates.
    """

    def __init__(self, networks: Sequence[Network]):
        if len(networks) < 2:
            raise FitError(f"an ensemble requires at least two networks; found {len(networks)}")
        first = networks[0]
        for other in networks[1:]:
            if other.inputs != first.inputs or other.rate != first.rate:
                raise FitError(
                    f"the networks of an ensemble must have the same inputs and rate; found "
                    f"{listing(first.inputs)} at {first.rate:g} Hz and {listing(other.inputs)} at "
                    f"{other.rate:g} Hz"
                )
        self.networks = tuple(networks)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, anyway: bool = False) -> "NetworkEnsemble":
        """Read the networks of a run (its ``members``), or all networks of a folder.

        Args:
          folder: run directory or folder.
          anyway: also accept networks whose recordings have changed since training.

        Raises:
          RunDirectoryError: the recordings of the run have changed since training.
          FitError: fewer than two networks, or one cannot be read.
        """
        folder = Path(folder)
        inner = folder / MEMBERS if (folder / MEMBERS).is_dir() else folder
        files = sorted([*inner.glob("*.safetensors"), *inner.glob("*/network.safetensors")])
        if len(files) < 2:
            raise FitError(
                f"{inner} contains {len(files)} networks, at least two are required: train an "
                "ensemble with "
                "model.ensemble_members=5"
            )
        return cls([load_network(file, anyway=anyway) for file in files])

    @property
    def inputs(self) -> tuple[str, ...]:
        """Features that a caller supplies, in order."""
        return self.networks[0].inputs

    @property
    def rate(self) -> float:
        """Sample rate [Hz]."""
        return self.networks[0].rate

    def predict(self, inputs: np.ndarray) -> EnsembleTorque:
        """Torque over a whole recording from a cold start.

        Args:
            inputs: raw features in the order of `inputs`, shape (n, inputs).

        Raises:
            SignalError: `inputs` has another shape.
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
