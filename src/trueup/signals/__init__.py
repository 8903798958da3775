"""Recorded signals: time series, recordings, readers, filters, quality checks and splits."""

import importlib
from typing import Any

_EXPORTS = {
    "InterpolationMethod": "trueup.signals._interpolation",
    "SignalMapping": "trueup.signals.signal_type",
    "SignalType": "trueup.signals.signal_type",
    "TimeSeries": "trueup.signals.time_series",
    "decode_signal_mapping": "trueup.signals.signal_type",
    "encode_signal_mapping": "trueup.signals.signal_type",
    "same_signals": "trueup.signals.signal_type",
}
"""Public name to the module that holds it, imported on first use."""

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
