"""NumPy archives, among them saved time series."""

import zipfile
from pathlib import Path

import numpy as np

from trueup._input_files import check_archive
from trueup.errors import RecordingError
from trueup.signals.readers.contents import Contents, Table
from trueup.signals.signal_type import decode_signal_mapping

_SERIES = {"times", "data"}


def read_npz(path: Path) -> Contents:
    """Read an ``.npz`` archive of 1-D and 2-D arrays, without unpickling.

    A saved :class:`TimeSeries` (``times``, ``data``, ``signal_mapping``) gives one column per
    signal, ``name/0``, ``name/1`` and so on where a signal is wider.

    Raises:
        RecordingError: An array contains Python objects.
    """
    if zipfile.is_zipfile(path):
        check_archive(path)
    arrays: dict[str, np.ndarray] = {}
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                arrays[name] = archive[name]
            except ValueError as error:
                if "pickle" not in str(error):
                    raise
                raise RecordingError(
                    f"{path}: array {name!r} contains Python objects, which are not read because "
                    "they "
                    "can run code. Save it again as an array of numbers."
                ) from error
    if _SERIES <= set(arrays) <= _SERIES | {"signal_mapping"}:
        return _time_series(arrays)
    texts = {n: str(a) for n, a in arrays.items() if a.dtype.kind in "US" and a.ndim == 0}
    columns = {name: array for name, array in arrays.items() if name not in texts}
    return Contents((Table(columns),), dict(texts))


def _time_series(arrays: dict[str, np.ndarray]) -> Contents:
    data = arrays["data"].reshape(len(arrays["times"]), -1)
    columns: dict[str, np.ndarray] = {"times": arrays["times"]}
    named: set[int] = set()
    types: dict[str, str] = {}
    if "signal_mapping" in arrays:
        for name, (kind, indices) in decode_signal_mapping(str(arrays["signal_mapping"])).items():
            types[name] = kind.name
            places = np.atleast_1d(indices)
            for component, place in enumerate(places):
                label = name if len(places) == 1 else f"{name}/{component}"
                columns[label] = data[:, place]
                named.add(int(place))
    unnamed = [place for place in range(data.shape[1]) if place not in named]
    columns |= {f"data/{place}": data[:, place] for place in unnamed}
    return Contents((Table(columns),), {"signal_types": types} if types else {})
