"""A network for numpy alone: arrays and a JSON text in an ``.npz`` archive, nothing pickled."""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import FitError, reason
from trueup.networks.model.network import Network
from trueup.networks.model.network_file import describe_network, network_from_description
from trueup.studies import atomic

_DESCRIPTION = "description"


def save_numpy_network(network: Network, path: str | os.PathLike[str]) -> Path:
    """Write a network as ``.npz``; returns the path."""
    text = np.frombuffer(json.dumps(describe_network(network)).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {_DESCRIPTION: text, **network.weights}
    np.savez(buffer, **arrays)
    atomic.write_bytes(Path(path), buffer.getvalue())
    return Path(path)


def load_numpy_network(path: str | os.PathLike[str]) -> Network:
    """Read a network that `save_numpy_network` wrote; needs numpy and nothing else.

    Raises:
        FitError: the file is missing, damaged, or of another format.
    """
    try:
        # from memory: numpy leaves a file that it refuses open
        content = io.BytesIO(Path(path).read_bytes())
        with np.load(content, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        description = json.loads(arrays.pop(_DESCRIPTION).tobytes())
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise FitError(f"{path} cannot be read as a network for numpy: {reason(error)}") from error
    return network_from_description(description, arrays, os.fspath(path))
