"""Largest values of fields of a simulation, such as forces of actuators."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import SimulationError
from trueup.simulation.engine.batch import BatchEngine
from trueup.sysid.fit.problem import GrayBoxProblem


def simulated_peaks(problem: GrayBoxProblem, fields: Sequence[str]) -> dict[str, np.ndarray]:
    """Largest magnitude of each entry of fields of MjData over the recordings of one model.

    Args:
      problem: recordings of one model, simulated as in its file.
      fields: names of the fields.

    Raises:
      SimulationError: the simulation fails.
    """
    model = problem.variants[0].model
    segments = [w for s in problem.sequences for w in s.windows]
    chains = [s.segments for s in problem.sequences]
    engine = BatchEngine(model, segments, tuple(fields), problem.n_threads, chains)
    failures: dict[int, str] = {}
    found: dict[str, np.ndarray] = {}
    for block in engine.run(1, failures=failures):
        for name, values in block.records.items():
            largest = np.abs(values).max(axis=(0, 1, 2), initial=0.0)
            found[name] = np.maximum(found.get(name, 0.0), largest)
    if failures:
        raise SimulationError(
            f"the simulation of the initial model fails: {failures[0]} Correct the model "
            "or the initial state, shorten the time step, or use windows (window: 0.2)"
        )
    return found
