"""Ensemble sampler of the posterior of a problem with residuals, in batches of candidates."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueup.errors import FitError, listing
from trueup.fitting.posterior.convergence import (
    autocorrelation_times,
    effective_sizes,
    split_r_hat,
)
from trueup.fitting.posterior.independence import AroundFit
from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.samples import PosteriorSamples
from trueup.fitting.problem import Failures, Problem

R_HAT = 1.01
"""Largest R-hat of a converged sampling (Vehtari et al. 2021, Bayesian Analysis 16:667)."""
EFFECTIVE = 400.0
"""Smallest number of independent samples of a converged sampling, for ends of intervals."""
LENGTH = 20.0
"""Shortest chains of a converged sampling, in autocorrelation times: those of shorter chains are
estimated too short (Sokal 1997)."""

_ENSEMBLES = 2
_FIRST_TEST = 100  # steps before the first test of convergence
_STRIDE = 10  # steps between two looks at the clock
_STORED = 4_000_000  # numbers of stored paths; from there on every second step is dropped
_BURN_IN = 0.2  # least share of the steps that are not used
_ROWS = 8192  # largest number of samples of the result
_RESIDUALS = 8_000_000  # largest number of residuals of a batch in memory


@dataclass
class _Ensemble:
    """Walkers of one ensemble, and their stored path."""

    walkers: np.ndarray
    densities: np.ndarray
    random: Any
    path: list[np.ndarray] = field(default_factory=list)


class PosteriorSampler:
    """Samples of the posterior of a problem, by ensembles of walkers.

    Priors are flat within the bounds in the coordinates of the search, the logarithm for a log
    scale and the value otherwise, and Gaussian where the problem has rows of priors. Half of the
    steps are proposals around the fit, the others stretch and differential moves between walkers
    (Goodman and Weare 2010; ter Braak 2006). Two
    ensembles with seeds of their own show convergence. Half of the walkers of an ensemble are one
    batch of candidates. A state from :meth:`state` continues bit for bit.

    Args:
      problem: problem with residuals.
      likelihood: density of its residuals.
      centre: values of the fit ``(p,)``.
      spread: covariance of the fit in search coordinates ``(p, p)``, from which walkers start; an
        infinite variance starts anywhere within the bounds.
      seed: seed of starts and moves.

    Raises:
      FitError: a parameter without bounds that the data do not determine: its posterior does not
        exist.
    """

    def __init__(
        self,
        problem: Problem,
        likelihood: NoiseLikelihood,
        centre: np.ndarray,
        spread: np.ndarray,
        seed: int = 0,
    ):
        self._problem, self._likelihood = problem, likelihood
        space = problem.space
        self._low, self._high = space.search_bounds
        variance = np.diag(spread)
        loose = ~np.isfinite(variance) & ~(np.isfinite(self._low) & np.isfinite(self._high))
        if loose.any():
            names = [space.names[i] for i in np.flatnonzero(loose)]
            raise FitError(
                f"the data do not determine {listing(names)}, without bounds on both sides: give "
                "bounds or a prior, otherwise there is no posterior to sample"
            )
        self.walkers = 2 * max(space.size + 1, 12)
        # independent samples of converged chains
        self.enough = max(EFFECTIVE, LENGTH * _ENSEMBLES * self.walkers)
        self.steps, self.evaluations, self._interval = 0, 0, 1
        seeds = np.random.SeedSequence(seed).spawn(_ENSEMBLES)
        place = space.to_search(centre)
        self._around = AroundFit(place, spread, self._low, self._high)
        self._ensembles = [self._started(place, np.random.default_rng(each)) for each in seeds]

    def _started(self, centre: np.ndarray, rng: np.random.Generator) -> _Ensemble:
        """Walkers around the fit, within the bounds."""
        walkers = reflected(self._around.draw(self.walkers, rng), self._low, self._high)
        densities = self.log_densities(walkers)
        for _ in range(20):  # walkers whose simulation fails start nearer to the fit
            lost = ~np.isfinite(densities)
            if not lost.any():
                break
            shrunk = centre + 0.5 * (walkers[lost] - centre)
            walkers[lost] = shrunk + 1e-9 * rng.normal(size=shrunk.shape) * np.abs(shrunk)
            walkers = np.clip(walkers, self._low, self._high)
            densities[lost] = self.log_densities(walkers[lost])
        if not np.isfinite(densities).all():
            raise FitError(
                "the simulation fails next to the values of the fit, so that its posterior cannot "
                "be sampled"
            )
        random = np.random.RandomState(rng.integers(2**32, dtype=np.uint32)).get_state()
        return _Ensemble(walkers, densities, random)

    def simulate_with(self, problem: Problem) -> float:
        """Evaluate candidates with another form of the problem from now on.

        Returns:
          Largest change of a difference between log densities of the walkers.
        """
        self._problem = problem
        apart = []
        for ensemble in self._ensembles:
            former = ensemble.densities
            ensemble.densities = self.log_densities(ensemble.walkers)
            apart.append(ensemble.densities - former)
        return float(np.ptp(np.concatenate(apart)))

    def log_densities(self, z: np.ndarray) -> np.ndarray:
        """Log density ``(n,)`` of candidates in search coordinates ``(n, p)``, up to a constant."""
        inside = ((z >= self._low) & (z <= self._high)).all(axis=1)
        out = np.full(len(z), -np.inf)
        rows = np.flatnonzero(inside)
        size = max(1, _RESIDUALS // max(self._problem.residual_size, 1))
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            failures: Failures = {}
            x = self._problem.space.from_search(z[some])
            density = self._likelihood.log_density(self._problem.residuals(x, failures))
            density[list(failures)] = -np.inf
            out[some] = density + self._log_slope(x)
        self.evaluations += len(rows)
        return np.where(np.isfinite(out), out, -np.inf)

    def _log_slope(self, x: np.ndarray) -> np.ndarray:
        """Log of dx/dz of a logit scale, on which the prior is flat in the value."""
        space = self._problem.space
        if space.logit is None or not space.logit.any():
            return np.zeros(len(x))
        with np.errstate(divide="ignore"):
            slopes = np.log(np.stack([space.slope(row) for row in x]))
        return slopes[:, space.logit].sum(axis=1)

    def advance(self, steps: int) -> None:
        """Move all walkers by a number of steps."""
        import emcee

        moves = [
            (emcee.moves.MHMove(self._around.propose), 0.5),
            (emcee.moves.StretchMove(), 0.25),
            (emcee.moves.DEMove(), 0.25),
        ]
        keep = [(self.steps + k + 1) % self._interval == 0 for k in range(steps)]
        moved = [self._moved(ensemble, moves, keep) for ensemble in self._ensembles]
        # all at once: a block that was interrupted leaves no trace
        for ensemble, (state, path) in zip(self._ensembles, moved, strict=True):
            ensemble.walkers, ensemble.densities = state.coords, state.log_prob
            ensemble.random = state.random_state
            ensemble.path += path
        self.steps += steps
        most = max(_STORED // (_ENSEMBLES * self._ensembles[0].walkers.size), 2 * _FIRST_TEST)
        while len(self._ensembles[0].path) > most:
            self._interval *= 2
            for ensemble in self._ensembles:
                ensemble.path = ensemble.path[1::2]

    def _moved(self, ensemble: _Ensemble, moves: list[Any], keep: list[bool]) -> Any:
        """State of an ensemble after a step for each of ``keep``, and the kept steps."""
        import emcee

        size = self._problem.space.size
        sampler = emcee.EnsembleSampler(
            self.walkers, size, self.log_densities, moves=moves, vectorize=True
        )
        state = emcee.State(
            ensemble.walkers, log_prob=ensemble.densities, random_state=ensemble.random
        )
        steps = sampler.sample(
            state, iterations=len(keep), store=False, skip_initial_state_check=True
        )
        path = []
        for kept, reached in zip(keep, steps, strict=True):
            if kept:
                path.append(reached.coords.copy())
            state = reached
        return emcee.State(state, copy=True), path

    def chains(self) -> np.ndarray:
        """Stored steps after the burn-in ``(ensembles, steps, walkers, p)``."""
        stored = np.stack([np.stack(ensemble.path) for ensemble in self._ensembles])
        burn = int(np.ceil(_BURN_IN * stored.shape[1]))
        times = autocorrelation_times(stored[:, burn:])
        slow = times[np.isfinite(times)].max(initial=1.0)
        return stored[:, min(max(burn, int(5.0 * slow)), stored.shape[1] // 2) :]

    def samples(self) -> PosteriorSamples:
        """The samples so far, with their convergence."""
        chains = self.chains()
        r_hat, sizes = split_r_hat(chains), effective_sizes(chains)
        flat = chains.transpose(1, 0, 2, 3).reshape(-1, chains.shape[-1])
        rows = np.linspace(0, len(flat) - 1, min(len(flat), _ROWS)).astype(int)
        return PosteriorSamples(
            tuple(self._problem.space.names),
            self._problem.space.from_search(flat[rows]),
            r_hat,
            sizes,
            self.evaluations,
            bool((r_hat <= R_HAT).all() and (sizes >= self.enough).all()),
        )

    def run(
        self,
        most: int,
        *,
        on_steps: Callable[[PosteriorSamples | None, float], None] | None = None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> PosteriorSamples:
        """Sample until convergence, which is tested after steps that do not depend on pauses.

        Args:
          most: largest number of evaluations.
          on_steps: called after a few steps, with the samples of the last test and the share done.
          goes_on: tested after a few steps; False ends the sampling.
        """
        found: PosteriorSamples | None = None
        while True:
            test = _FIRST_TEST
            while test <= self.steps:
                test += max(_FIRST_TEST, test // 4)
            while self.steps < test:
                self.advance(min(_STRIDE, test - self.steps))
                if on_steps is not None:
                    on_steps(found, 0.0 if found is None else self._share(found, most))
                if not goes_on() and self.steps >= _FIRST_TEST:
                    return self.samples()
            found = self.samples()
            if found.converged or self.evaluations >= most:
                return found

    def _share(self, found: PosteriorSamples, most: int) -> float:
        """Share done: by the slower of convergence and evaluations."""
        sizes = found.effective_sizes.min() / self.enough
        return float(np.clip(max(min(sizes, 0.95), self.evaluations / most), 0.0, 1.0))

    def state(self) -> dict[str, np.ndarray]:
        """Arrays to continue from, for :meth:`restore`."""
        out = {"counts": np.array([self.steps, self.evaluations, self._interval])}
        for k, ensemble in enumerate(self._ensembles):
            kind, keys, place, has_normal, normal = ensemble.random
            assert kind == "MT19937"
            out |= {
                f"walkers_{k}": ensemble.walkers,
                f"densities_{k}": ensemble.densities,
                f"path_{k}": np.array(ensemble.path).reshape(-1, *ensemble.walkers.shape),
                f"random_{k}": np.asarray(keys),
                f"place_{k}": np.array([place, has_normal]),
                f"normal_{k}": np.array([normal]),
            }
        return out

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from the arrays of :meth:`state` of the same problem."""
        self.steps, self.evaluations, self._interval = (int(n) for n in arrays["counts"])
        for k, ensemble in enumerate(self._ensembles):
            place, has_normal = (int(n) for n in arrays[f"place_{k}"])
            ensemble.walkers = arrays[f"walkers_{k}"]
            ensemble.densities = arrays[f"densities_{k}"]
            ensemble.path = list(arrays[f"path_{k}"])
            normal = float(arrays[f"normal_{k}"][0])
            ensemble.random = ("MT19937", arrays[f"random_{k}"], place, has_normal, normal)


def reflected(z: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Values mirrored at the bounds that they exceed, at most once, then clipped."""
    with np.errstate(invalid="ignore"):
        z = np.where(z < low, 2.0 * low - z, z)
        z = np.where(z > high, 2.0 * high - z, z)
    return np.clip(z, low, high)
