"""The numbers of networks in a model."""

from typing import Any

import numpy as np

from trueup.networks.runtime._network_law import CHUNK


def add_numbers(spec: Any, numbers: np.ndarray) -> None:
    """Put numbers into a spec as custom numerics, side by side in the compiled model."""
    for k, start in enumerate(range(0, len(numbers), CHUNK)):
        name = f"trueup_networks_{k}"
        spec.add_numeric(name=name, data=numbers[start : start + CHUNK].tolist())
