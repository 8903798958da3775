"""One run of ``cma`` in normalised coordinates, without output or global state, resumable.

The state of a run contains the attributes of ``cma``'s strategy and of its parts (sampler,
step-size rule, fitness histories, best solution), as JSON values and arrays. It is restored into a
strategy constructed with the same options, so that constants of the constructor are not saved. A
value of an unsupported type is an error on saving, not a difference after restoring.
"""

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from trueup.errors import FitError
from trueup.fitting.cma_es.package import cma_package

_ONE_AT_A_TIME = threading.RLock()

_FROM_CONSTRUCTOR = {
    *("inopts", "opts", "inputargs", "logger", "sp", "sp0", "const", "x0", "mean0"),
    *("N", "N_pheno", "sigma0", "sigma_vec0", "_round_integer_variables", "_es_opts"),
}
_ONLY_WITHIN_A_GENERATION = {
    *("_tell2_args", "timer", "ary", "pop", "pop_sorted", "sent_solutions", "archive"),
    *("_injected_solutions_archive", "repaired_solutions"),
}
_DERIVED = {"B", "C", "D", "dC", "_stopdict", "es", "_bounds_dict", "bounds_tf", "bounds"}
_DIAGNOSTIC = {"hsiglist", "more_to_write", "all_stoppings", "all_best", "callbackstop"}
_HISTORIES = "fit"
_LEFT_OUT = _FROM_CONSTRUCTOR | _ONLY_WITHIN_A_GENERATION | _DIAGNOSTIC

# The keys of encoded values that are not plain JSON values or arrays.
# The rounding of a matrix product depends on the memory order (the eigenvectors are column-major),
# so the order is part of the state. It matters for small populations, where the covariance is not
# decomposed in every generation.
_COLUMNS = "columns"
_NUMPY, _FLOATS, _RANGE = "numpy", "floats", "range"
_TUPLE, _LIST, _PART = "tuple", "list", "part"


class PrivateNormals:
    """Standard normal numbers for ``cma`` from a given generator.

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

    Coordinates are in initial deviations from the start of the search, so that ``cma``'s tolerances
    do not depend on units.

    Args:
      start: mean of the first generation ``(n,)``.
      step: initial step size, in initial deviations.
      population: candidates per generation.
      lower: lower bounds ``(n,)``, may be ``-inf``.
      upper: upper bounds ``(n,)``, may be ``inf``.
      options: resolved options of ``cma``.
      rng: source of the samples, advanced by them.
      seed: numbers that seed what ``cma`` draws from numpy's global generator.

    Raises:
      FitError: ``cma`` rejects an option.
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
            cma = cma_package()
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
            except Exception as error:  # cma raises exceptions of any type
                raise FitError(
                    f"cma cannot start with the given settings: {error or repr(error)}"
                ) from error

    @property
    def population(self) -> int:
        """Candidates per generation."""
        return int(self.strategy.popsize)

    @property
    def generation(self) -> int:
        """Finished generations of the run."""
        return int(self.strategy.countiter)

    @property
    def step(self) -> float:
        """Step size, in initial deviations."""
        return float(self.strategy.sigma)

    @property
    def axis_ratio(self) -> float:
        """Ratio of the longest to the shortest axis of the distribution."""
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

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the distribution ``(n, n)``, in initial deviations."""
        strategy = self.strategy
        matrix = strategy.sm.covariance_matrix
        if matrix is None:  # of a separable search
            matrix = np.diag(np.asarray(strategy.sm.variances) * np.ones(strategy.N))
        scaling = np.asarray(strategy.sigma_vec.scaling) * np.ones(strategy.N)
        matrix = matrix * np.outer(scaling, scaling)
        if not strategy.gp.isidentity:
            # cma has moved an ill-conditioned covariance into a linear map
            axes = np.array([strategy.gp.tf_pheno(axis) for axis in np.eye(strategy.N)]).T
            matrix = axes @ matrix @ axes.T
        return strategy.sigma**2 * matrix

    def correlate(self, correlation: np.ndarray) -> None:
        """Set the initial correlations ``(n, n)``, before the first generation."""
        sampler = self.strategy.sm
        sampler.C[...] = correlation
        sampler.update_now(-1)
        self.strategy._updateBDfromSM(sampler)

    def ask(self) -> np.ndarray:
        """Candidates of the next generation ``(population, n)``, within the bounds."""
        with self._quiet(1):
            self.asked = self.strategy.ask()
            return np.array(self.asked)

    def tell(self, costs: np.ndarray) -> dict[str, Any]:
        """Process the costs of the candidates of :meth:`ask`, in its order.

        Returns:
          Termination criteria: keys of ``cma`` and their thresholds. Empty while the run continues.
        """
        with self._quiet(2):
            self.strategy.tell(self.asked, costs.tolist())
            keep_randomness(self.strategy)
            return dict(self.strategy.stop())

    def widen(self, factor: float) -> None:
        """Multiply the step size."""
        self.strategy.sigma *= factor

    def state(self, with_histories: bool = True) -> dict[str, Any]:
        """State between :meth:`tell` and :meth:`ask`."""
        return capture(self.strategy, with_histories)

    def histories(self) -> dict[str, Any]:
        """Part of the state that :meth:`ask` does not change."""
        return capture_histories(self.strategy)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state of another run with the same settings."""
        with self._quiet(3):
            restore(self.strategy, state)

    @contextmanager
    def _quiet(self, stage: int) -> Iterator[None]:
        """Suppress ``cma``'s output and warnings, and isolate numpy's global generator.

        A few of its options draw from the global generator, which is seeded from the search and the
        generation here, and restored afterwards.
        """
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            utils = cma_package().utilities.utils

            verbosity, generator = utils.global_verbosity, np.random.get_state()
            iteration = self.strategy.countiter if hasattr(self, "strategy") else 0
            np.random.seed([*_words(self.seed), iteration, stage])
            utils.global_verbosity = -10
            try:
                yield
            finally:
                utils.global_verbosity = verbosity
                np.random.set_state(generator)


def capture(strategy: Any, with_histories: bool = True) -> dict[str, Any]:
    """State of a strategy between ``tell`` and ``ask``.

    Args:
      strategy: the ``cma.CMAEvolutionStrategy``.
      with_histories: whether to include its cost histories. They grow with the generations, and
        ``ask`` does not change them: :func:`capture_histories` returns them later.

    Raises:
      TypeError: the strategy contains a value of an unsupported type.
    """
    left_out = _LEFT_OUT | _DERIVED | (set() if with_histories else {_HISTORIES})
    out = _attributes(strategy, left_out, "strategy")
    # cma changes this option when it rescales the step size
    out["tolupsigma"] = _encode(strategy.opts["tolupsigma"], "tolupsigma")
    return out


def capture_histories(strategy: Any) -> dict[str, Any]:
    """The cost histories, omitted by :func:`capture` without histories."""
    return {_HISTORIES: _encode(strategy.fit, "strategy.fit")}


def restore(strategy: Any, state: dict[str, Any]) -> None:
    """Restore a captured state into a strategy constructed with the same options."""
    from cma.utilities.utils import ElapsedWCTime

    state = dict(state)
    strategy.opts["tolupsigma"] = _decode(state.pop("tolupsigma"), None)
    _take(strategy, state)
    if not strategy.gp.isidentity:
        # cma has moved an ill-conditioned covariance into a linear map
        strategy.gp.tf_pheno, strategy.gp.tf_geno = strategy._tfp, strategy._tfg
    keep_randomness(strategy)
    strategy.timer = ElapsedWCTime()
    strategy._updateBDfromSM(strategy.sm)


def keep_randomness(strategy: Any) -> None:
    """Set the sampler's random generator to that of the strategy.

    ``cma`` loses it when it changes from a diagonal to a full covariance.
    """
    if hasattr(strategy.sm, "randn"):
        strategy.sm.randn = strategy.opts["randn"]


def _attributes(part: Any, left_out: set[str], where: str) -> dict[str, Any]:
    out = {}
    for name, value in vars(part).items():
        if name in left_out or callable(value) or isinstance(value, type):
            continue
        if name == "_parameters" and not all(isinstance(key, str) for key in value):
            continue  # a cache keyed by arguments
        out[name] = _encode(value, f"{where}.{name}")
    return out


def _encode(value: Any, where: str) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"{where} of cma is an array of objects")
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            return {_COLUMNS: value.T.copy()}
        return value.copy()
    if isinstance(value, np.generic):
        # a numpy number and a Python number may round differently in a power
        return {_NUMPY: np.array(value)}
    if type(value) is list and value and all(type(item) is float for item in value):
        return {_FLOATS: np.array(value)}
    if isinstance(value, range):
        return {_RANGE: [value.start, value.stop, value.step]}
    if type(value) in (list, tuple):
        kind = _TUPLE if type(value) is tuple else _LIST
        return {kind: [_encode(item, f"{where}[{i}]") for i, item in enumerate(value)]}
    if type(value).__module__.split(".")[0] == "cma":
        left_out = _LEFT_OUT | (set() if _owns_matrices(value) else _DERIVED)
        return {_PART: _attributes(value, left_out, where), "type": type(value).__name__}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, f"{where}.{key}") for key, item in value.items()}}
    raise TypeError(
        f"{where} of cma is a {type(value).__name__}, which a saved state does not support"
    )


def _owns_matrices(part: Any) -> bool:
    """Whether ``B``, ``C`` and ``D`` are the part's originals, not copies."""
    return hasattr(part, "sample") or hasattr(part, "transform_inverse")


def _decode(value: Any, present: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if not isinstance(value, dict):
        return value
    if _COLUMNS in value:
        return value[_COLUMNS].copy().T
    if _NUMPY in value:
        return value[_NUMPY][()]
    if _FLOATS in value:
        return value[_FLOATS].tolist()
    if _RANGE in value:
        return range(*value[_RANGE])
    if _TUPLE in value:
        return tuple(_decode(item, None) for item in value[_TUPLE])
    if _LIST in value:
        return [_decode(item, None) for item in value[_LIST]]
    if "dict" in value:
        return {key: _decode(item, None) for key, item in value["dict"].items()}
    part = present if type(present).__name__ == value["type"] else _new(value["type"], value)
    _take(part, value[_PART])
    return part


def _take(part: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(part, name, _decode(value, getattr(part, name, None)))


def _new(name: str, value: dict[str, Any]) -> Any:
    """A part not created by the constructor, such as the sampler after a diagonal phase."""
    from cma.restricted_gaussian_sampler import ExponentialMovingAverage
    from cma.sampler import GaussFullSampler
    from cma.utilities.utils import BlancClass

    if name == "GaussFullSampler":
        return GaussFullSampler(len(value[_PART]["C"]))
    for kind in (BlancClass, ExponentialMovingAverage):
        if name == kind.__name__:
            return kind.__new__(kind)
    raise TypeError(f"the state of cma contains a {name}, which cannot be restored")


def _words(seed: Sequence[int]) -> list[int]:
    """Parts of a seed as 32-bit words for numpy's generator."""
    return [word for part in seed for word in ((part,) if part < 2**32 else divmod(part, 2**32))]
