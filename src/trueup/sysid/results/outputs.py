"""Files of a run directory: parameters, identified models, signals, solution, report."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.errors import ReportError, RunDirectoryError
from trueup.simulation.precise_xml import precise_xml
from trueup.studies import RunDirectory, atomic
from trueup.sysid.assess.assessment import SequenceSignals

if TYPE_CHECKING:
    from trueup.sysid.fit.identification import Identification

SIGNALS_FILE = "signals.npz"


def write_outputs(result: Identification, directory: RunDirectory) -> None:
    """Write every result file; each is whole or absent.

    The report comes last: where it cannot be drawn, the results are there.

    Raises:
      ReportError: the report cannot be drawn.
      RunDirectoryError: a file cannot be written.
    """
    from trueup.sysid.report import identification_report

    parameters = result.problem.parameters.copy()
    parameters.update_from_vector(result.solution.x)
    # all results are made before any is written: a failure here leaves no half result
    models: dict[str, str] = {}
    for variant in result.problem.variants:
        if variant.name not in models:
            spec = variant.spec_at(result.solution.x)
            spec.compile()
            models[variant.name] = precise_xml(spec, directory.path)
    signals = pack_signals(result.assessment.signals)
    parameters.save_to_disk(directory.inside("identified_parameters.yaml"))
    for name, text in models.items():
        atomic.write_text(directory.model(name), text)
    atomic.write_bytes(directory.inside(SIGNALS_FILE), signals)
    atomic.write_json(directory.solution, result.summary)
    output = result.prepared.experiment.output
    if output.report:
        videos = _videos(result) if output.video else []
        try:
            report = identification_report(result.summary, result.assessment.signals, videos).html()
        except ReportError as error:
            raise ReportError(
                f"{error}. The report is missing; all results are in {directory.path}"
            ) from error
        atomic.write_text(directory.report, report)


def _videos(result: Identification) -> list[Any]:
    from trueup.sysid.results.overlay_video import overlay_videos

    return overlay_videos(result)


def pack_signals(signals: list[SequenceSignals]) -> bytes:
    """Signals as an NPZ file without pickled objects."""
    arrays: dict[str, np.ndarray] = {
        "names": np.array([s.name for s in signals]),
        "held_out": np.array([s.held_out for s in signals]),
    }
    for i, s in enumerate(signals):
        arrays[f"{i}/channels"] = np.array(s.channels)
        arrays[f"{i}/units"] = np.array(s.units or ("",) * len(s.channels))
        for key in ("times", "measured", "initial", "fitted"):
            arrays[f"{i}/{key}"] = getattr(s, key)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def read_signals(directory: RunDirectory) -> list[SequenceSignals]:
    """Signals of a run.

    Raises:
      RunDirectoryError: the run has not finished, or the file is damaged.
    """
    path = directory.inside(SIGNALS_FILE)
    try:
        # numpy leaves the file of a damaged archive open: it gets the bytes
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return [
                SequenceSignals(
                    str(name),
                    bool(file["held_out"][i]),
                    tuple(str(c) for c in file[f"{i}/channels"]),
                    *(file[f"{i}/{key}"] for key in ("times", "measured", "initial", "fitted")),
                    units=tuple(str(u) for u in file[f"{i}/units"]),
                )
                for i, name in enumerate(file["names"])
            ]
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{directory.path} has no {SIGNALS_FILE}: the run did not finish; resume it with "
            f"trueup identify EXPERIMENT --output {directory.path} --resume"
        ) from None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise RunDirectoryError(f"{path} is damaged: {error}") from error


def read_summary(directory: RunDirectory) -> dict[str, Any]:
    """Content of ``solution.json``; non-finite numbers come back as numbers.

    Raises:
      RunDirectoryError: the run has not finished.
    """
    if not directory.solution.is_file():
        raise RunDirectoryError(
            f"{directory.path} has no solution.json: the run did not finish; resume it with "
            f"trueup identify EXPERIMENT --output {directory.path} --resume"
        )
    return _numbers(atomic.read_json(directory.solution))


_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return _WORDS.get(value, value) if isinstance(value, str) else value
