"""Runs with a Gaussian distribution within bounds: draws, and their check on held-out data."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from trueup.errors import FitError
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.belief import Belief
from trueup.knowledge.draws import Draws
from trueup.knowledge.held_out_check import HeldOutCheck, HeldOutProblem, check_on_held_out
from trueup.parameters import Space
from trueup.runs.store.run_directory import RunDirectory

FEWEST = 32
"""Minimum number of rows to describe a distribution."""


class DrawnRun(Protocol):
    """A finished run to draw rows of parameters from."""

    @property
    def directory(self) -> RunDirectory:
        """Directory of the run."""
        ...

    @property
    def solution(self) -> dict[str, Any]:
        """Content of ``solution.json``."""
        ...

    @property
    def verdict(self) -> Verdict:
        """Verdict on the use of the run."""
        ...

    @property
    def mark(self) -> str | None:
        """Mark of all results, if inputs have changed or the verdict is "do not use"."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        ...

    @property
    def widened(self) -> dict[str, float]:
        """Unknown -> factor on its standard deviation for model error, if above 1."""
        ...

    @property
    def narrower(self) -> float:
        """Median ratio of marginal to conditional standard deviation of the unknowns."""
        ...

    @property
    def drawn(self) -> Any:
        """Servo or ensemble that is drawn; None for a MuJoCo model."""
        ...

    def draw(
        self, count: int, seed: int, progress: Callable[[float], None] | None
    ) -> tuple[HeldOutCheck | None, np.ndarray]:
        """Check on held-out recordings, None without any, and values ``(n, p)``."""
        ...

    def rows(self, values: np.ndarray) -> tuple[Draws, list[str]]:
        """Draws with the fields that they write, and sentences on what cannot vary."""
        ...

    def cost(self, count: int) -> tuple[Sequence[str], float]:
        """Names of the held-out recordings, and the time of ``count`` rows [s]."""
        ...


class GaussianRun(ABC):
    """A run with a Gaussian distribution of its unknowns within bounds."""

    fit: np.ndarray
    """Identified values ``(p,)``."""
    known: Gaussian
    """Distribution from the training data."""
    widening: np.ndarray
    """Factor on the standard deviation of each element for model error ``(p,)``."""

    @property
    @abstractmethod
    def space(self) -> Space:
        """The unknowns and their bounds."""

    @property
    @abstractmethod
    def training_error(self) -> float:
        """Mean square of the training residuals."""

    @abstractmethod
    def held_out_problem(self) -> HeldOutProblem | None:
        """Problem that simulates the held-out recordings; None without any."""

    @abstractmethod
    def units(self, problem: HeldOutProblem) -> list[tuple[str, ...]]:
        """Unit of each channel of each held-out recording."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return self.known.names

    @property
    def widened(self) -> dict[str, float]:
        """Unknown -> factor on its standard deviation for model error, if above 1."""
        pairs = zip(self.names, self.widening, strict=True)
        return {name: float(factor) for name, factor in pairs if factor > 1.0}

    @property
    def belief(self) -> Belief:
        """Distribution from training data, bounds and model error."""
        lower, upper = self.space.search_bounds
        known = self.known
        return Belief(known.names, known.centre, known.precision, lower, upper).widened(
            self.widening
        )

    @property
    def narrower(self) -> float:
        """Median ratio of marginal to conditional standard deviation of the unknowns."""
        precision = self.belief.precision
        covariance = np.linalg.pinv(precision, hermitian=True, rcond=1e-12)
        conditional = np.diag(precision)
        determined = conditional > 0.0
        if not determined.any():
            return 1.0
        ratio = np.diag(covariance)[determined] * conditional[determined]
        return float(np.median(np.sqrt(np.maximum(ratio, 1.0))))

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Values ``(n, p)`` from the distribution, before a check on held-out recordings."""
        return self.space.from_search(self.belief.draw(count, rng))

    def draw(
        self, count: int, seed: int, progress: Callable[[float], None] | None
    ) -> tuple[HeldOutCheck | None, np.ndarray]:
        """Check on held-out recordings and values ``(n, p)``, as :meth:`DrawnRun.draw`.

        Raises:
          FitError: too few rows reproduce the held-out recordings, or an unknown is not limited.
        """
        rng = np.random.default_rng(seed)
        problem = self.held_out_problem()
        if problem is None:
            return None, self.sample(count, rng)
        check = check_on_held_out(
            problem,
            self.fit,
            lambda n: self.sample(n, rng),
            count,
            self.belief.determined_steps(4000, rng),
            training_error=self.training_error,
            inflation=self.known.inflation,
            widening=float(np.mean(self.widening**2)),
            units=self.units(problem),
            progress=progress,
        )
        if len(check.accepted) < max(FEWEST, 0.01 * check.drawn):
            raise FitError(
                f"only {len(check.accepted)} of {check.drawn} draws reproduce the held-out "
                f"recordings as well as the identified model does ({check.failed} simulations "
                "failed): the distribution of the parameters does not describe this robot. See the "
                "report of the run: undetermined parameters require narrower bounds or a prior"
            )
        return check, check.accepted

    def cost(self, count: int) -> tuple[Sequence[str], float]:
        """Names of the held-out recordings, and the time of ``count`` rows [s]."""
        problem = self.held_out_problem()
        if problem is None:
            return (), 0.0
        few = self.sample(16, np.random.default_rng(0))
        simulator = problem.quick(count)
        simulator.predictions(few[:1])
        started = time.perf_counter()
        simulator.predictions(few)
        seconds = (time.perf_counter() - started) * count / len(few)
        return [sequence.name for sequence in problem.sequences], seconds
