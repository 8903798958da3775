"""Files of an identification's run directory: parameters, identified models, signals."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import RunDirectoryError
from trueup.fitting.posterior.samples import PosteriorSamples
from trueup.fitting.solution import Solution
from trueup.parameters import ParameterDict
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.simulation.models.precise_xml import precise_xml
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.assess.posterior import POSTERIOR_FILE
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.window_states import asked_elements

SIGNALS_FILE = "signals.npz"


def write_models(
    problem: GrayBoxProblem,
    solution: Solution,
    directory: RunDirectory,
    specs: Mapping[str, Any] | None = None,
) -> None:
    """Write ``identified_parameters.yaml`` and the identified models.

    Args:
      problem: the problem.
      solution: its solution.
      directory: run directory for the files.
      specs: models by name as read, with visual elements; None: those of the problem.

    Raises:
      RunDirectoryError: a file cannot be written.
    """
    parameters = problem.parameters.copy()
    parameters.update_from_vector(solution.x)
    # all are built before any is written, so that a failure leaves no partial result
    models: dict[str, str] = {}
    for variant in problem.variants:
        if variant.name not in models:
            spec = variant.spec_at(solution.x, (specs or {}).get(variant.name))
            spec.compile()
            models[variant.name] = precise_xml(spec, directory.path)
    parameters.save_to_disk(directory.inside("identified_parameters.yaml"))
    for name, text in models.items():
        atomic.write_text(directory.model(name), text)


def write_posterior(
    samples: PosteriorSamples, parameters: ParameterDict, directory: RunDirectory
) -> None:
    """Write samples of the posterior, without states that were not asked for: ``posterior.npz``."""
    owners = [p for p in parameters.free for _ in range(p.size)]
    asked = np.flatnonzero(asked_elements(parameters)).tolist()
    space = parameters.space()
    content = samples.of(asked).archive(
        [space.units[i] if space.units else "" for i in asked],
        [", ".join(owners[i].targets) for i in asked],
    )
    atomic.write_bytes(directory.inside(POSTERIOR_FILE), content)


def write_signals(signals: list[SequenceSignals], directory: RunDirectory) -> None:
    """Write measured, initial and fitted signals: ``signals.npz``."""
    atomic.write_bytes(directory.inside(SIGNALS_FILE), pack_signals(signals))


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
        file = read_arrays(path)
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
            f"{directory.path} has no {SIGNALS_FILE}: the run has not finished; resume it with  "
            f"trueup study resume {directory.path}"
        ) from None
    except DAMAGED_ARCHIVE as error:
        raise RunDirectoryError(f"{path} is damaged: {error}") from error
