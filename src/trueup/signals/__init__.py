"""Recorded signals: time series, recordings, readers, filters, quality checks and splits."""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.signals import readers
    from trueup.signals._interpolation import InterpolationMethod
    from trueup.signals._read import read, read_all
    from trueup.signals._suspect_units import suspect_units
    from trueup.signals.clocks.even import resampled
    from trueup.signals.clocks.gaps import split_at_gaps
    from trueup.signals.clocks.repair import repaired
    from trueup.signals.clocks.runs import runs_of
    from trueup.signals.delay import estimate_delay
    from trueup.signals.filters import butterworth, savitzky_golay
    from trueup.signals.mapping import select
    from trueup.signals.quality import QUALITY_CHECKS, Finding, QualityReport, check_quality
    from trueup.signals.readers.contents import Contents, Table
    from trueup.signals.readers.registry import register_reader
    from trueup.signals.recording import Recording, Stream
    from trueup.signals.signal_type import SignalMapping, SignalType
    from trueup.signals.splits import Split, k_fold, split_by_time
    from trueup.signals.time_series import TimeSeries
    from trueup.signals.units import UNITS, Unit, find_unit, si_unit

_EXPORTS = {
    "QUALITY_CHECKS": "trueup.signals.quality",
    "UNITS": "trueup.signals.units",
    "Contents": "trueup.signals.readers.contents",
    "Finding": "trueup.signals.quality",
    "InterpolationMethod": "trueup.signals._interpolation",
    "QualityReport": "trueup.signals.quality",
    "Recording": "trueup.signals.recording",
    "SignalMapping": "trueup.signals.signal_type",
    "SignalType": "trueup.signals.signal_type",
    "Split": "trueup.signals.splits",
    "Stream": "trueup.signals.recording",
    "Table": "trueup.signals.readers.contents",
    "TimeSeries": "trueup.signals.time_series",
    "Unit": "trueup.signals.units",
    "butterworth": "trueup.signals.filters",
    "check_quality": "trueup.signals.quality",
    "estimate_delay": "trueup.signals.delay",
    "find_unit": "trueup.signals.units",
    "k_fold": "trueup.signals.splits",
    "read": "trueup.signals._read",
    "read_all": "trueup.signals._read",
    "register_reader": "trueup.signals.readers.registry",
    "repaired": "trueup.signals.clocks.repair",
    "resampled": "trueup.signals.clocks.even",
    "runs_of": "trueup.signals.clocks.runs",
    "savitzky_golay": "trueup.signals.filters",
    "select": "trueup.signals.mapping",
    "si_unit": "trueup.signals.units",
    "split_at_gaps": "trueup.signals.clocks.gaps",
    "split_by_time": "trueup.signals.splits",
    "suspect_units": "trueup.signals._suspect_units",
    "readers": "trueup.signals.readers",
}

__all__ = [
    "QUALITY_CHECKS",
    "UNITS",
    "Contents",
    "Finding",
    "InterpolationMethod",
    "QualityReport",
    "Recording",
    "SignalMapping",
    "SignalType",
    "Split",
    "Stream",
    "Table",
    "TimeSeries",
    "Unit",
    "butterworth",
    "check_quality",
    "estimate_delay",
    "find_unit",
    "k_fold",
    "read",
    "read_all",
    "readers",
    "register_reader",
    "repaired",
    "resampled",
    "runs_of",
    "savitzky_golay",
    "select",
    "si_unit",
    "split_at_gaps",
    "split_by_time",
    "suspect_units",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
