"""Recorded signals: time series, recordings, readers, filters, quality checks and splits."""

import importlib
from typing import Any

_EXPORTS = {
    "ColumnMapping": "trueup.signals.mapping",
    "Contents": "trueup.signals.readers.contents",
    "DelayEstimate": "trueup.signals.delay",
    "Finding": "trueup.signals.quality",
    "InterpolationMethod": "trueup.signals._interpolation",
    "QUALITY_CHECKS": "trueup.signals.quality",
    "QualityReport": "trueup.signals.quality",
    "Recording": "trueup.signals.recording",
    "SignalMapping": "trueup.signals.signal_type",
    "SignalType": "trueup.signals.signal_type",
    "Split": "trueup.signals.splits",
    "Stream": "trueup.signals.recording",
    "Table": "trueup.signals.readers.contents",
    "TimeSeries": "trueup.signals.time_series",
    "TimeSplit": "trueup.signals.splits",
    "UNITS": "trueup.signals.units",
    "Unit": "trueup.signals.units",
    "butterworth": "trueup.signals.filters",
    "check_quality": "trueup.signals.quality",
    "convert": "trueup.signals.units",
    "decode_signal_mapping": "trueup.signals.signal_type",
    "encode_signal_mapping": "trueup.signals.signal_type",
    "estimate_delay": "trueup.signals.delay",
    "find_unit": "trueup.signals.units",
    "in_intervals": "trueup.signals.splits",
    "k_fold": "trueup.signals.splits",
    "k_fold_by_time": "trueup.signals.splits",
    "read": "trueup.signals._read",
    "read_all": "trueup.signals._read",
    "register_reader": "trueup.signals.readers.registry",
    "same_signals": "trueup.signals.signal_type",
    "savitzky_golay": "trueup.signals.filters",
    "select": "trueup.signals.mapping",
    "si_unit": "trueup.signals.units",
    "split_by_group": "trueup.signals.splits",
    "split_by_sequence": "trueup.signals.splits",
    "split_by_time": "trueup.signals.splits",
    "suspect_units": "trueup.signals._suspect_units",
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
