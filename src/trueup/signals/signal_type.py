"""Types of the channels of a time series, and the map from signal names to columns."""

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeAlias

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing


class SignalType(Enum):
    """Quantity of a signal, which determines the source of its prediction."""

    MjSensor = 0
    """A sensor of the model, read from ``mjData.sensordata``."""
    CustomObs = 1
    """An observation that only the user's own residual function can predict."""
    MjStateQPos = 2
    """Generalised position of a joint or free body."""
    MjStateQVel = 3
    """Generalised velocity of a joint or free body."""
    MjStateAct = 4
    """Activation of an actuator with internal state."""
    MjCtrl = 5
    """Control input of an actuator."""


SignalMapping: TypeAlias = dict[str, tuple[SignalType, np.ndarray]]
"""Map from the name of a signal to its type and its columns, in order."""


def encode_signal_mapping(signal_mapping: Mapping[str, tuple[SignalType, np.ndarray]]) -> str:
    """Write a signal mapping as a JSON string: ``{name: [type value, [columns]]}``."""
    return json.dumps(
        {
            name: [signal_type.value, np.atleast_1d(columns).astype(int).tolist()]
            for name, (signal_type, columns) in signal_mapping.items()
        }
    )


def decode_signal_mapping(encoded: str) -> SignalMapping:
    """Read a signal mapping that ``encode_signal_mapping`` wrote.

    Raises:
        SignalError: the text is not such a mapping.
    """
    try:
        return {
            name: (SignalType(type_value), np.asarray(columns, dtype=int))
            for name, (type_value, columns) in json.loads(encoded).items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise SignalError(
            f"The stored signal mapping cannot be read ({error}): expected a JSON object of the "
            'form {"name": [type, [columns]]}.'
        ) from error


def same_signals(first: SignalMapping | None, second: SignalMapping | None) -> bool:
    """Return whether two mappings have the same names, types and columns, in any order."""
    if first is None or second is None:
        return first is second
    if first is second:
        return True
    return first.keys() == second.keys() and all(
        first[name][0] == second[name][0] and np.array_equal(first[name][1], second[name][1])
        for name in first
    )


def unknown_signal(name: object, known: Iterable[str], what: str = "signal") -> SignalError:
    """Return the error for a signal name that is not in a mapping."""
    known = [str(other) for other in known]
    return SignalError(
        f"No {what} {name!r}.{did_you_mean(str(name), known)} Available names: {listing(known)}."
    )
