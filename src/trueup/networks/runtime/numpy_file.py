"""A network for numpy alone: arrays and a JSON text in an ``.npz`` archive, nothing pickled."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE
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
    """Read a network that `save_numpy_network` wrote; needs numpy and nothing else.

    Args:
        path: the file.
        anyway: take a network whose recordings have changed since its training too; its provenance
            says so.

    Raises:
        RunDirectoryError: it is of a run whose recordings have changed since.
        FitError: the file is missing, damaged, or of another format.
    """
    try:
        # from memory: numpy leaves a file that it refuses open
        content = io.BytesIO(Path(path).read_bytes())
        with np.load(content, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        description = json.loads(arrays.pop(_DESCRIPTION).tobytes())
    except (*DAMAGED_ARCHIVE, AttributeError) as error:
        raise FitError(f"{path} cannot be read as a network for numpy: {reason(error)}") from error
    written = arrays.pop(KEY, None)  # as the writer of files puts it
    network = network_from_description(description, arrays, os.fspath(path))
    mark = joined(
        network.provenance.get(KEY),
        None if written is None else str(written),
        mark_of_file(path, anyway=anyway),
    )
    return (
        network if mark is None else replace(network, provenance={**network.provenance, KEY: mark})
    )
