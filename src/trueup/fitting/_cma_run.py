"""One run of ``cma`` in normalised coordinates: quiet, private, resumable."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting import _cma_state

_ONE_AT_A_TIME = threading.RLock()


class PrivateNormals:
    """Standard normal numbers for ``cma`` from a generator of one's own.

    Args:
      rng: the generator.
    """

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def __call__(self, *shape: int) -> np.ndarray:
        """Numbers of the given shape."""
        return self.rng.standard_normal(shape)


class CmaRun:
    """``cma`` between two restarts.

    Coordinates are in start deviations from the start of the search, so that ``cma``'s tolerances
    mean the same whatever the units.

    Args:
      start: mean of the first generation ``(n,)``.
      step: first step size, in start deviations.
      population: candidates a generation.
      lower: lower bounds ``(n,)``, may be ``-inf``.
      upper: upper bounds ``(n,)``, may be ``inf``.
      options: resolved options of ``cma``.
      rng: source of the samples, advanced by them.
      seed: numbers that seed what ``cma`` draws from numpy's global generator.

    Raises:
      FitError: ``cma`` refuses an option.
    """

    def __init__(
        self,
        start: np.ndarray,
        step: float,
        population: int,
        lower: np.ndarray,
        upper: np.ndarray,
        options: dict[str, Any],
        rng: np.random.Generator,
        seed: tuple[int, ...],
    ):
        self.seed = seed
        bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        with self._quiet(0):
            import cma

            try:
                self.strategy: Any = cma.CMAEvolutionStrategy(
                    start,
                    step,
                    {
                        "popsize": population,
                        "bounds": [lower.tolist(), upper.tolist()] if bounded else [None, None],
                        **options,
                        "randn": PrivateNormals(rng),
                        "seed": np.nan,
                        "signals_filename": None,
                        "verbose": -10,
                        "verb_disp": 0,
                        "verb_log": 0,
                        "verb_plot": 0,
                    },
                )
            except Exception as error:  # cma raises whatever its code happens to raise
                raise FitError(
                    f"cma refuses to start with the given settings: {error or repr(error)}"
                ) from error

    @property
    def population(self) -> int:
        """Candidates a generation."""
        return int(self.strategy.popsize)

    @property
    def generation(self) -> int:
        """Finished generations of the run."""
        return int(self.strategy.countiter)

    @property
    def step(self) -> float:
        """Step size, in start deviations."""
        return float(self.strategy.sigma)

    @property
    def axis_ratio(self) -> float:
        """Longest axis of the distribution over the shortest."""
        axes = np.asarray(self.strategy.D) * np.ones(self.strategy.N)
        if self.strategy.opts["CMA_diagonal"]:
            axes = axes * self.strategy.sigma_vec.scaling
        return float(axes.max() / axes.min())

    @property
    def mean(self) -> np.ndarray:
        """Mean of the distribution ``(n,)``, within the bounds."""
        strategy = self.strategy
        return np.array(
            strategy.gp.pheno(strategy.mean, into_bounds=strategy.boundary_handler.repair), float
        )

    def ask(self) -> np.ndarray:
        """Candidates of the next generation ``(population, n)``, within the bounds."""
        with self._quiet(1):
            self.asked = self.strategy.ask()
            return np.array(self.asked)

    def tell(self, costs: np.ndarray) -> dict[str, Any]:
        """Take the costs of the candidates that :meth:`ask` gave, in its order.

        Returns:
          Why the run ends: keys of ``cma`` and their thresholds. Empty as long as it goes on.
        """
        with self._quiet(2):
            self.strategy.tell(self.asked, costs.tolist())
            _cma_state.keep_randomness(self.strategy)
            return dict(self.strategy.stop())

    def widen(self, factor: float) -> None:
        """Multiply the step size."""
        self.strategy.sigma *= factor

    def state(self, with_histories: bool = True) -> dict[str, Any]:
        """State between :meth:`tell` and :meth:`ask`."""
        return _cma_state.capture(self.strategy, with_histories)

    def histories(self) -> dict[str, Any]:
        """The part of the state that :meth:`ask` does not change."""
        return _cma_state.capture_histories(self.strategy)

    def restore(self, state: dict[str, Any]) -> None:
        """Take the state of another run with the same settings."""
        with self._quiet(3):
            _cma_state.restore(self.strategy, state)

    @contextmanager
    def _quiet(self, stage: int) -> Iterator[None]:
        """Keep ``cma`` from the terminal, from warnings, and from numpy's global generator.

        A few of its options draw from the global generator: they find it seeded from the search
        and the generation, and others find it as they left it.
        """
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from cma.utilities import utils

            verbosity, generator = utils.global_verbosity, np.random.get_state()
            iteration = self.strategy.countiter if hasattr(self, "strategy") else 0
            np.random.seed([*self.seed, iteration, stage])
            utils.global_verbosity = -10
            try:
                yield
            finally:
                utils.global_verbosity = verbosity
                np.random.set_state(generator)
