"""Network files for numpy: arrays and a JSON text in an ``.npz`` archive, without pickle."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup._marks import KEY, joined
from trueup.errors import FitError, reason
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import describe_network, network_from_description
from trueup.runs.store import atomic
from trueup.runs.store.input_check import mark_of_file

_DESCRIPTION = "description"


def save_numpy_network(network: Network, path: str | os.PathLike[str]) -> Path:
    """Write a network as ``.npz``; returns the path."""
    text = np.frombuffer(json.dumps(describe_network(network)).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {_DESCRIPTION: text, **network.weights}
    np.savez(buffer, **arrays)
    atomic.write_bytes(Path(path), buffer.getvalue())
    return Path(path)


def load_numpy_network(path: str | os.PathLike[str], *, anyway: bool = False) -> Network:
    """Read a network that `save_numpy_network` wrote; requires only numpy.

    Args:
        path: the file.
        anyway: also accept a network whose recordings have changed since training; its provenance
            records this.

    Raises:
        RunDirectoryError: the recordings of its run have changed since training.
        FitError: the file is missing or damaged, or has another format.
    """
    try:
        arrays = read_arrays(Path(path))
        description = json.loads(arrays.pop(_DESCRIPTION).tobytes())
    except (*DAMAGED_ARCHIVE, AttributeError) as error:
        raise FitError(f"{path} cannot be read as a network for numpy: {reason(error)}") from error
    written = arrays.pop(KEY, None)  # metadata added by the file writer
    network = network_from_description(description, arrays, os.fspath(path))
    mark = joined(
        network.provenance.get(KEY),
        None if written is None else str(written),
        mark_of_file(path, anyway=anyway),
    )
    return (
        network if mark is None else replace(network, provenance={**network.provenance, KEY: mark})
    )
