"""Collects the numbers of messages, such as those of ROS 2, into columns."""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trueup._memory_budget import MemoryBudget
from trueup.signals.readers.contents import Table

# Longer arrays, such as images and scans, are not signals.
_LONGEST_ARRAY = 64
_NAME_FIELDS = ("name", "names", "joint_names")
# Fields of a whole message that describe it.
_NO_SIGNALS = ("header", "layout")
_NUMBERS = (bool, int, float, np.number, np.bool_)
_LISTS = (list, tuple, np.ndarray)
_NANOSECOND_FIELDS = ("nanosec", "nsec", "nanosecs", "nanoseconds")


class TopicColumns:
    """Columns of one topic, filled message by message.

    Nested fields are named ``outer/inner``. A message with a list of names and lists of as many
    numbers (such as JointState) gives ``joint/position`` and so on, so that the order of joints may
    change from message to message.
    """

    def __init__(self, topic: str, budget: MemoryBudget):
        self.topic = topic.lstrip("/")
        self._budget = budget
        # Arrays of bare numbers, as millions of messages are as many Python objects otherwise.
        self._log_times = array("d")
        self._stamps = array("d")
        # Messages of equal structure are kept together: their numbers, row after row.
        self._rows: dict[tuple[str, ...], tuple[array[int], array[float]]] = {}

    def add(self, log_time: float, message: Any) -> None:
        """Add a message that was logged at a time [s]."""
        names: list[str] = []
        values: list[float] = []
        _collect(message, "", names, values, top=True)
        self._budget.take(8 * (len(values) + 3))
        places, numbers = self._rows.setdefault(tuple(names), (array("q"), array("d")))
        places.append(len(self._log_times))
        numbers.extend(values)
        self._log_times.append(log_time)
        self._stamps.append(_stamp(message))

    def tables(self, clock: str) -> tuple[list[Table], str]:
        """Return the columns, grouped by the messages in which they occur, and their clock.

        Args:
            clock: ``header`` takes the stamps in the messages if all have one, else the log
                times; ``log`` always takes the log times.
        """
        stamps = np.array(self._stamps)
        stamped = clock == "header" and stamps.size > 0 and bool(np.all(stamps > 0))
        times = stamps if stamped else np.array(self._log_times)
        layouts = [
            (names, np.array(places), np.array(numbers).reshape(len(places), len(names)))
            for names, (places, numbers) in self._rows.items()
            if names
        ]
        held: dict[str, list[tuple[int, int]]] = {}
        for number, (names, _, _) in enumerate(layouts):
            for column, name in enumerate(names):
                held.setdefault(name, []).append((number, column))
        together: dict[tuple[int, ...], list[str]] = {}
        for name, where in held.items():
            together.setdefault(tuple(number for number, _ in where), []).append(name)

        tables = []
        for numbers, names in together.items():
            places = np.concatenate([layouts[number][1] for number in numbers])
            order = np.argsort(places, kind="stable")
            columns = {
                f"{self.topic}/{name}": np.concatenate(
                    [layouts[number][2][:, column] for number, column in held[name]]
                )[order]
                for name in names
            }
            label = self.topic if len(together) == 1 else f"{self.topic} ({len(tables) + 1})"
            tables.append(Table(columns, times=times[places[order]], name=label))
        return tables, "header" if stamped else "log"


def _fields(message: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a decoded message, whichever library decoded it."""
    if isinstance(message, Mapping):
        yield from ((str(name), value) for name, value in message.items())
        return
    names = getattr(message, "__dataclass_fields__", None) or getattr(message, "__slots__", ())
    for name in names:
        if not name.startswith("_"):
            yield name, getattr(message, name)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        not isinstance(value, (str, bytes, int, float, list, tuple, np.ndarray, np.generic))
        and (hasattr(value, "__dataclass_fields__") or hasattr(value, "__slots__"))
    )


def _collect(
    value: Any,
    path: str,
    names: list[str],
    values: list[float],
    top: bool = False,
    outer: list[str] | None = None,
) -> None:
    """Append name and value of every number in a message.

    ``outer`` are the names that an enclosing message lists, such as a trajectory message for its
    points.
    """
    if isinstance(value, _NUMBERS):
        names.append(path or "data")
        values.append(float(value))
    elif isinstance(value, _LISTS):
        if len(value) <= _LONGEST_ARRAY:
            labels = [f"{path}/{place}" if path else str(place) for place in range(len(value))]
            _collect_list(value, labels, names, values)
    elif _is_message(value):
        fields = dict(_fields(value))
        seconds = _seconds(fields)
        if seconds is not None:
            names.append(path or "data")
            values.append(seconds)
            return
        labels = _labels(fields) or outer or []
        for name, item in fields.items():
            if top and name in _NO_SIGNALS:
                continue
            if labels and isinstance(item, _LISTS) and len(item) == len(labels):
                inner = [f"{path}/{label}/{name}".lstrip("/") for label in labels]
                _collect_list(item, inner, names, values)
            else:
                _collect(item, f"{path}/{name}" if path else name, names, values, outer=labels)


def _collect_list(items: Any, paths: list[str], names: list[str], values: list[float]) -> None:
    """Append the numbers of a list, its items named by ``paths``."""
    if isinstance(items, np.ndarray) and items.dtype.kind in "buif" and items.ndim == 1:
        items = items.tolist()
    if all(type(item) is float for item in items):
        names += paths
        values += items
        return
    for path, item in zip(paths, items):
        _collect(item, path, names, values)


def _labels(fields: Mapping[str, Any]) -> list[str]:
    """Return the names that a message lists for its numbers, or an empty list."""
    for key in _NAME_FIELDS:
        labels = fields.get(key)
        if isinstance(labels, _LISTS) and len(labels):
            names = [str(label) for label in labels if isinstance(label, str)]
            if len(names) == len(labels) == len(set(names)):
                return names
    return []


def _seconds(fields: Mapping[str, Any]) -> float | None:
    """Return a point in time given as seconds and nanoseconds [s], or None."""
    if len(fields) != 2 or not {"sec", "secs", "seconds"} & set(fields):
        return None
    for key in _NANOSECOND_FIELDS:
        if key in fields:
            whole = next(v for name, v in fields.items() if name != key)
            return float(whole) + 1e-9 * float(fields[key])
    return None


def _stamp(message: Any) -> float:
    """Return the stamp in the header of a message [s], or 0 where there is none."""
    header = dict(_fields(message)).get("header") if _is_message(message) else None
    stamp = dict(_fields(header)).get("stamp") if _is_message(header) else None
    seconds = _seconds(dict(_fields(stamp))) if _is_message(stamp) else None
    return 0.0 if seconds is None else seconds
