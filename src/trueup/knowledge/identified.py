"""Finished identification, with the distribution of its unknowns and its simulation."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.posterior.sampler import reflected
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.draws import Draws
from trueup.knowledge.finished_run import (
    check_names,
    finished,
    known_of,
    mark_of,
    values_of,
    widening_of,
)
from trueup.knowledge.gaussian_run import GaussianRun
from trueup.knowledge.model_fields import model_fields
from trueup.knowledge.signals import command_delays, signal_draws
from trueup.parameters import ParameterDict, Space
from trueup.runs import check_inputs, read_spec
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.store.damage import read_as_written
from trueup.runs.store.input_check import check_read
from trueup.runs.store.run_directory import RunDirectory
from trueup.simulation.warp.devices import DeviceChoice
from trueup.sysid.assess.horizons import HORIZONS
from trueup.sysid.assess.posterior import POSTERIOR_FILE
from trueup.sysid.experiment.preparation import Prepared, prepare
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.fit.spec import IdentificationSpec
from trueup.sysid.fit.window_states import without_window_states
from trueup.sysid.recordings.channel_units import signal_units


@dataclass(frozen=True)
class IdentifiedRun(GaussianRun):
    """A finished identification with the distribution of its unknowns."""

    directory: RunDirectory
    """Directory of the run."""
    prepared: Prepared
    """Experiment with models, recordings and unknowns."""
    solution: dict[str, Any]
    """Content of ``solution.json``."""
    verdict: Verdict
    """Verdict on the use of the run."""
    parameters: ParameterDict
    """Unknowns at their start values, without the states of windows."""
    fit: np.ndarray
    """Identified values ``(p,)``."""
    known: Gaussian
    """Distribution from the training data."""
    widening: np.ndarray
    """Factor on the standard deviation of each element for model error ``(p,)``."""

    mark: str | None = None
    """Mark of all results, if inputs have changed or the verdict is "do not use"."""
    samples: np.ndarray | None = None
    """Samples of the posterior ``(n, p)``; None if the run has none."""
    of_fleet: bool = False
    """Whether it represents the robots of a fleet; recordings of one robot reject no draws then."""

    @property
    def space(self) -> Space:
        """The unknowns and their bounds."""
        return self.parameters.space()

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Values ``(n, p)``: rows of the sampled posterior, or draws from the Gaussian.

        Model error widens the samples around their mean as it widens the Gaussian.
        """
        if self.samples is None:
            return super().sample(count, rng)
        space = self.space
        z = space.to_search(self.samples)
        mean = z.mean(axis=0)
        rows = rng.integers(len(z), size=count)
        return space.from_search(
            reflected(mean + self.widening * (z[rows] - mean), *space.search_bounds)
        )

    @property
    def training_error(self) -> float:
        """Mean square of the training residuals."""
        training = self.prepared.motion_problem(self.parameters)
        return 2.0 * float(self.solution["cost"]) / training.data_rows

    def held_out_problem(self) -> GrayBoxProblem | None:
        """Problem that simulates the held-out recordings; None without any.

        Recordings fitted in windows are simulated over the longest horizon of the scores.
        """
        prepared = self.prepared
        if self.of_fleet or not prepared.held_out:
            return None
        settings = prepared.settings
        if settings.window:
            settings = replace(settings, window=max(settings.window, HORIZONS[-1]))
        return GrayBoxProblem(
            self.parameters, prepared.held_out, settings, prepared.rules, device=prepared.device
        )

    def units(self, problem: Any) -> list[tuple[str, ...]]:
        """Unit of each channel of each held-out recording."""
        models = [variant.model for variant in problem.variants]
        return [signal_units(models, each.signal_names) for each in problem.sequences]

    @property
    def drawn(self) -> None:
        """None: the rows contain the fields that they write into a MuJoCo model."""
        return None

    def rows(self, values: np.ndarray) -> tuple[Draws, list[str]]:
        """Draws with the fields that they write, and sentences on what cannot vary.

        Raises:
          RunDirectoryError: the parameters are not fields of a compiled model.
        """
        prepared, parameters = self.prepared, self.parameters
        problem = prepared.motion_problem(parameters)
        variant = problem.variants[0]
        if variant.compiles:
            raise RunDirectoryError(
                f"{self.directory.path} compiles a model for each candidate; draws require "
                "parameters that are fields of a compiled model"
            )
        fields, others = model_fields(variant.model, variant.field_writes(values))
        fields, delays = command_delays(fields, variant.model)
        signals = list(dict.fromkeys(s for q in problem.sequences for s in q.signal_names))
        table = parameters.value_table(values)
        sensors = signal_draws(prepared.rules, signals, variant.model, table)
        space = self.space
        owners = [p for p in parameters.free for _ in range(p.size)]
        kept = [
            i
            for i, p in enumerate(owners)
            if not (p.targets and all(t.startswith("state/") for t in p.targets))
        ]
        # the value of a frozen parameter is part of the model
        varying = [f for f in fields if len(f.values) and np.ptp(f.values, axis=0).any()]
        made = Draws(
            tuple(space.names[i] for i in kept),
            tuple(space.units[i] if space.units else "" for i in kept),
            tuple(", ".join(owners[i].targets) for i in kept),
            values[:, kept],
            tuple(varying),
            (*delays, *sensors),
        )
        return made, [
            f"{name} is the same for all environments: set it to the identified value"
            for name in others
            if name.startswith("opt.")
        ]


def identified_run(
    directory: str | os.PathLike[str],
    *,
    anyway: bool = False,
    folder: Path | None = None,
    device: str | None = "cpu",
) -> IdentifiedRun:
    """Read a finished identification.

    Args:
      directory: run directory.
      anyway: accept a run with the verdict "do not use", or with changed inputs.
      folder: folder of the inputs, if they have moved relative to the run.
      device: device of large batches of draws; None: that of the experiment.

    Raises:
      RunDirectoryError: it is not a finished identification, has no intervals, has the verdict "do
        not use", or its inputs have changed.
    """
    opened = RunDirectory.open(directory)
    check = check_inputs(opened, folder=folder, anyway=anyway)
    if (kind := kind_of(opened)) != IdentificationSpec.kind:
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind)}; expected an identification of a model "
            "(trueup identify)"
        )
    spec = read_spec(opened, folder)
    assert isinstance(spec, IdentificationSpec)
    solution, verdict = finished(opened, anyway)
    known = known_of(solution, opened)
    chosen = DeviceChoice(device or spec.experiment.simulation.device, "The check of draws")
    prepared = prepare(spec.experiment, spec.folder)
    prepared.device = chosen
    parameters, _ = without_window_states(prepared.parameters)
    mark = mark_of(check_read(check, prepared.inputs, anyway=anyway), verdict)
    check_names(known, parameters.space().names, opened)
    fit = values_of(solution, opened)
    with read_as_written(opened.solution):
        widening = widening_of(solution["parameters"])
    samples = None if solution.get("posterior") is None else _samples(opened, known.names)
    return IdentifiedRun(
        opened, prepared, solution, verdict, parameters, fit, known, widening, mark, samples
    )


def _samples(run: RunDirectory, names: tuple[str, ...]) -> np.ndarray:
    """Samples of the posterior of a run.

    Raises:
      RunDirectoryError: the file is missing, damaged, or of other parameters.
    """
    path = run.inside(POSTERIOR_FILE)
    found = Draws.read(path)
    values = found.values
    if found.names != names or values.ndim != 2 or values.shape[1] != len(names):
        raise RunDirectoryError(
            f"{path} is damaged: its samples are not of the parameters of the run"
        )
    if not len(values) or not np.isfinite(values).all():
        raise RunDirectoryError(f"{path} is damaged: its samples are not finite numbers")
    return values
