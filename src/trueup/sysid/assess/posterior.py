"""Posterior of an identification by sampling, for parameters whose error is not Gaussian."""

import hashlib
import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import DAMAGED_ARCHIVE, read_arrays
from trueup.errors import SimulationError
from trueup.fitting import Grade, Reason
from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.sampler import PosteriorSampler, reflected
from trueup.fitting.posterior.samples import PosteriorSamples
from trueup.fitting.problem import ResidualGroup
from trueup.runs.store import atomic
from trueup.sysid.assess.assessment import Assessment
from trueup.sysid.assess.fit_covariance import further_row_scale, sequence_rows
from trueup.sysid.fit.problem import GrayBoxProblem

STATE_FILE = "sampling.npz"
"""File of a run with the state of an unfinished sampling."""
POSTERIOR_FILE = "posterior.npz"
"""File of a run with the samples, in the form of exported draws."""

_MOST = 200_000  # simulated candidates without convergence
_MOST_ON_DEVICE = 2_000_000
_ROUNDING = 0.05  # change of log densities by the rounding of a device
_SAVE_EVERY = 20.0  # time between two states on disk [s]


def sample_posterior(
    problem: GrayBoxProblem,
    x: np.ndarray,
    assessment: Assessment,
    directory: Path,
    seed: int,
    *,
    seconds: float = np.inf,
    report: Callable[[str, float], None] = lambda text, share: None,
) -> PosteriorSamples:
    """Sample the posterior of a fit until it converges, or the time is over.

    The noise is that of the intervals, its size unknown. The noise of measured initial states and
    the effect of the time step are added to the samples. A state in the run directory is continued;
    it is removed at the end.

    Args:
      problem: problem of the training data.
      x: the fit ``(p,)``.
      assessment: its assessment by linearisation, where walkers start.
      directory: run directory.
      seed: seed of the sampling.
      seconds: time limit [s].
      report: called with the state of the sampling and the share done.

    Raises:
      FitError: an undetermined parameter has no bounds, or the simulation fails at the fit.
      SimulationError: rounding of the requested device changes the posterior.
      KeyboardInterrupt: Ctrl-C; the state is saved.
    """
    residual = problem.residuals(x[None, :])[0]
    covariance = assessment.covariance
    groups = [
        ResidualGroup(s.name, tuple(s.channel_names), np.asarray(s.times), rows.start)
        for s, rows in sequence_rows(problem)
    ]
    likelihood = NoiseLikelihood(
        residual,
        groups,
        further_row_scale(problem, problem.residual_size - problem.data_rows),
        white=covariance.method in ("per_channel", "classical"),
        parameters=problem.space.size,
    )
    spread = np.where(np.isfinite(covariance.matrix), covariance.matrix, 0.0)
    loose = covariance.undetermined | ~np.isfinite(np.diag(covariance.matrix))
    spread[loose, loose] = np.inf
    sampler = PosteriorSampler(problem, likelihood, x, spread, seed)
    device = _moved_to_device(sampler, problem)
    state = directory / STATE_FILE
    mark = _mark(problem, residual)
    former = _read_state(state, mark)
    if former is not None:
        sampler.restore(former)
    end, saved = time.perf_counter() + seconds, time.perf_counter()

    def save() -> None:
        content = io.BytesIO()
        arrays: dict[str, Any] = {**sampler.state(), "mark": mark}
        np.savez(content, **arrays)
        atomic.write_bytes(state, content.getvalue())

    def on_steps(found: PosteriorSamples | None, share: float) -> None:
        nonlocal saved
        counted = f"sampling: {sampler.evaluations} candidates"
        if found is not None:
            counted += f", {found.effective_sizes.min():.0f} independent samples"
        report(counted, share)
        if time.perf_counter() - saved > _SAVE_EVERY:
            save()
            saved = time.perf_counter()

    try:
        most = _MOST_ON_DEVICE if device else _MOST
        found = sampler.run(most, on_steps=on_steps, goes_on=lambda: time.perf_counter() < end)
    except KeyboardInterrupt:
        save()
        raise
    state.unlink(missing_ok=True)
    return _with_added_covariance(replace(found, device=device), problem, assessment, seed)


def _moved_to_device(sampler: PosteriorSampler, problem: GrayBoxProblem) -> str:
    """Name of the device on which the sampler simulates from now on; '' for the CPU.

    Raises:
      SimulationError: rounding of the requested device changes the posterior.
    """
    quick = problem.quick(sampler.walkers // 2)
    if quick is problem:
        return ""
    apart = sampler.simulate_with(quick)
    device = problem.device.device
    if apart <= _ROUNDING and device is not None:
        return device.label
    if device is not None:
        problem.device.refuse(
            SimulationError(
                f"single precision changes the log densities of the posterior by {apart:.2g}, and "
                f"{_ROUNDING:g} is allowed: the recordings are too long for it. Use shorter "
                "windows, or device: cpu"
            )
        )
    sampler.simulate_with(problem)
    return ""


def with_posterior(assessment: Assessment, found: PosteriorSamples, level: float) -> Assessment:
    """The assessment with intervals, standard errors and covariance of the samples."""
    covariance = found.covariance()
    sentence = found.sentence()
    return replace(
        assessment,
        covariance=replace(
            assessment.covariance,
            method="sampling",
            reason="The posterior is sampled, with a flat prior within the bounds and the noise "
            f"of the residuals. {sentence}.",
        ),
        intervals=found.intervals(level),
        standard_errors=np.sqrt(np.diag(covariance)),
        value_covariance=covariance,
        posterior=found,
    )


def sampling_reasons(found: PosteriorSamples | None) -> list[Reason]:
    """Reason against intervals of samples that have not converged."""
    if found is None or found.converged:
        return []
    advice = "raise or remove search.time_limit and resume, or narrow the bounds"
    return [Reason(Grade.LOOK, f"{found.sentence()}: {advice}.", "parameters")]


def _mark(problem: GrayBoxProblem, residual: np.ndarray) -> np.ndarray:
    """Fingerprint of what a state was sampled from."""
    space = problem.space
    digest = hashlib.sha256("\n".join(space.names).encode())
    for array in (*space.search_bounds, residual):
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


def _read_state(path: Path, mark: np.ndarray) -> dict[str, Any] | None:
    """State of an earlier sampling of the same posterior; None if there is none."""
    if not path.is_file():
        return None
    try:
        arrays = read_arrays(path)
    except DAMAGED_ARCHIVE:
        return None  # sampled again: the state of an interrupted sampling is no result
    same = "mark" in arrays and np.array_equal(arrays.pop("mark"), mark)
    return arrays if same else None


def _with_added_covariance(
    found: PosteriorSamples, problem: GrayBoxProblem, assessment: Assessment, seed: int
) -> PosteriorSamples:
    """Samples with the spread that the noise of measured starts and the time step add."""
    added = assessment.added_covariance
    if added is None:
        return found
    space, rng = problem.space, np.random.default_rng([seed, 1])
    values, vectors = np.linalg.eigh(added)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    z = space.to_search(found.values) + rng.normal(size=found.values.shape) @ root.T
    return replace(found, values=space.from_search(reflected(z, *space.search_bounds)))
