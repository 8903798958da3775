"""JSON: a list of entries, an object with such a list, columns by name, or JSON lines."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RecordingError, did_you_mean, listing
from trueup.signals.readers._clock_names import time_rank
from trueup.signals.readers.contents import Contents, Table

_RATES = ("fps", "rate", "rate_hz", "hz", "frequency", "sample_rate", "sampling_rate")


def read_json(path: Path, *, entries: str | None = None) -> Contents:
    """Read a JSON file of entries, one dictionary per sample.

    The file is a list of entries; or an object in which one value is such a list (``entries``,
    or the only one), whose other values become metadata, a rate such as ``fps`` among them the
    clock of entries without times; or an object of lists of numbers, one per
    column; or JSON lines. Nested values become ``outer/inner``, lists ``name/0`` and so on. true
    and false are 1 and 0; null, or a key that an entry lacks, is NaN; texts are skipped.

    Args:
        path: The file.
        entries: Key of the list of entries, where an object holds several.

    Raises:
        RecordingError: Not JSON, no entries, or a value that is a number in some entries and a text
            in others.
    """
    content = _parse(path)
    if isinstance(content, list):
        return _from_entries(path, content, {})
    if not isinstance(content, Mapping):
        raise RecordingError(f"{path} contains {str(content)[:40]!r}: expected a list of entries.")
    lists = [key for key, value in content.items() if _is_entries(value)]
    if entries is not None:
        if entries not in lists:
            raise RecordingError(
                f"{path} has no list of entries {entries!r}.{did_you_mean(entries, lists)} Lists "
                f"of entries: {listing(lists)}."
            )
        key = entries
    elif "entries" in content:
        key = "entries"
    elif len(lists) == 1:
        key = lists[0]
    elif lists:
        raise RecordingError(
            f"{path} contains several lists of entries, {listing(lists)}: choose one with entries=."
        )
    else:
        return _from_columns(path, content)
    metadata = {name: value for name, value in content.items() if name != key}
    return _from_entries(path, content[key], metadata)


def _parse(path: Path) -> Any:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordingError(f"{path} is not JSON: {error}. Copy or record it again.") from error
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _parse_lines(path, text)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return _parse_lines(path, text)
        begun, ended = text.lstrip()[:1] in ("[", "{"), text.rstrip()[-1:] in ("]", "}")
        if begun and (not ended or error.pos >= len(text.rstrip())):
            raise RecordingError(
                f"{path} is truncated: its JSON is incomplete in line {error.lineno}. Copy or "
                "record it again."
            ) from error
        raise RecordingError(
            f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        ) from error


def _parse_lines(path: Path, text: str) -> list[Any]:
    entries = []
    # Not splitlines: a JSON text may contain other line separators as plain characters.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entries.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise RecordingError(
                f"{path}, line {number}: incomplete JSON entry ({error.msg}). If the recording "
                "was interrupted, delete that line."
            ) from error
    return entries


def _is_entries(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _from_entries(path: Path, entries: Any, metadata: dict[str, Any]) -> Contents:
    if not isinstance(entries, list) or not entries:
        raise RecordingError(
            f"{path} contains no entries: expected a list with one entry per sample."
        )
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping):
            raise RecordingError(
                f"{path}: entry {number} is {str(entry)[:40]!r}, not a dictionary of values."
            )
    if any(isinstance(value, (Mapping, list)) for value in entries[0].values()):
        entries = [_flat(entry) for entry in entries]
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    columns: dict[str, np.ndarray] = {}
    left_out: dict[str, str] = {}
    for name in names:
        values = [entry.get(name) for entry in entries]
        texts = [place for place, value in enumerate(values) if not _is_number(value)]
        if not texts:
            columns[name] = _floats(values)
        elif len(texts) == sum(value is not None for value in values):
            left_out[name] = f"it contains {str(values[texts[0]])[:40]!r}"
        else:
            raise RecordingError(
                f"{path}: {name!r} of entry {texts[0] + 1} is {str(values[texts[0]])[:40]!r}, not "
                "a number as in other entries."
            )
    times = _times_of_rate(columns, metadata)
    return Contents((Table(columns, times=times),), _with_left_out(metadata, left_out))


def _times_of_rate(columns: dict[str, np.ndarray], metadata: dict[str, Any]) -> np.ndarray | None:
    """Times [s] of the rate that the file states, such as ``info/fps``; None if it has a clock."""
    if not columns or any(time_rank(name) is not None for name in columns):
        return None
    stated = _flat_columns(metadata)
    rates = {
        float(value)
        for name, value in stated.items()
        if name.rsplit("/", 1)[-1].lower() in _RATES
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 < value < np.inf
    }
    if len(rates) != 1:
        return None
    return np.arange(len(next(iter(columns.values())))) / rates.pop()


def _from_columns(path: Path, content: Mapping[str, Any]) -> Contents:
    columns: dict[str, np.ndarray] = {}
    metadata: dict[str, Any] = {}
    for name, value in _flat_columns(content).items():
        if isinstance(value, list) and value and all(_is_number(item) for item in value):
            columns[name] = _floats(value)
        else:
            metadata[name] = value
    if not columns:
        raise RecordingError(
            f"{path} contains neither a list of entries nor lists of numbers. Its keys: "
            f"{listing(content)}."
        )
    return Contents((Table(columns),), metadata)


def _flat_columns(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            flat |= _flat_columns(value, f"{prefix}{name}/")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry without nesting: dictionaries and lists become ``outer/inner``."""
    flat: dict[str, Any] = {}
    for name, value in entry.items():
        if isinstance(value, list):
            value = {str(place): item for place, item in enumerate(value)}
        if isinstance(value, Mapping):
            flat |= {f"{name}/{inner}": item for inner, item in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))


def _floats(values: list[Any]) -> np.ndarray:
    return np.array([np.nan if value is None else float(value) for value in values])


def _with_left_out(metadata: dict[str, Any], left_out: dict[str, str]) -> dict[str, Any]:
    return {**metadata, "left_out": left_out} if left_out else metadata
