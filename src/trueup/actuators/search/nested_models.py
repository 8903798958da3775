"""Nested sub-models of a friction model: parameters on their bounds, or tied to each other."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from trueup.actuators.bench.objective import Objective
from trueup.actuators.equations.friction_models import STRIBECK_SHAPE
from trueup.fitting.problem import Failures, Problem
from trueup.parameters import Space

_LOAD_STRIBECK = (
    "load_friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
)
_LOAD = ("load_friction_base", "load_friction_motor", "load_friction_external")
_QUADRATIC = ("load_friction_motor_quad", "load_friction_external_quad")
_STRIBECK = ("friction_stribeck", *_LOAD_STRIBECK)
_ALIKE = {
    "load_friction_external": "load_friction_motor",
    "load_friction_external_stribeck": "load_friction_motor_stribeck",
}

# name of the sub-model, parameters that it lacks, whether motor and load torque have equal weights
_MODELS = (
    ("m1", (*_STRIBECK, *STRIBECK_SHAPE, *_LOAD, *_QUADRATIC), True),
    ("m2", (*_LOAD_STRIBECK, *_LOAD, *_QUADRATIC), True),
    ("m3", (*_STRIBECK, *STRIBECK_SHAPE, *_QUADRATIC), True),
    ("m4", _QUADRATIC, True),
    ("m5", _QUADRATIC, False),
)


@dataclass(frozen=True)
class SubModel:
    """A nested sub-model in the search space of a richer model: some elements 0, some equal."""

    name: str
    """Name of the sub-model, or ``"full"`` for the full model."""
    whole: Space
    """All unknowns of the richer model."""
    space: Space
    """The unknowns of the sub-model."""
    source: np.ndarray
    """Index in :attr:`space` for each element of :attr:`whole` ``(p,)``; -1 for fixed elements,
    which have their value in :attr:`rest`."""
    rest: np.ndarray
    """Values of the fixed elements ``(p,)``."""

    def to_full(self, Z: np.ndarray) -> np.ndarray:
        """Candidates of the richer model ``(..., p)`` from those of the sub-model ``(..., k)``."""
        Z = np.asarray(Z, float)
        taken = Z[..., np.maximum(self.source, 0)]
        return np.where(self.source >= 0, taken, self.rest)

    def from_full(self, X: np.ndarray) -> np.ndarray:
        """Candidates of the sub-model ``(..., k)`` from those of the richer model."""
        first = [int(np.flatnonzero(self.source == k)[0]) for k in range(self.space.size)]
        return np.asarray(X, float)[..., first]

    def contains(self, x: np.ndarray) -> bool:
        """Whether a candidate ``(p,)`` of the richer model belongs to the sub-model."""
        return bool(np.array_equal(self.to_full(self.from_full(x)), x))


def nested_sub_models(space: Space) -> list[SubModel]:
    """Nested sub-models of the unknowns of a servo, each after its own sub-models.

    M1 is a sub-model of M2 and M3, both of M4, that of M5 and that of M6. The full model is the
    last one. Sub-models with the same unknowns are listed once.

    Args:
      space: the unknowns.
    """
    found: dict[tuple[int, ...], SubModel] = {}
    whole = _sub_model(space, "full", (), False)
    for name, without, alike in _MODELS:
        sub_model = _sub_model(space, name, without, alike)
        if 0 < sub_model.space.size < space.size:
            found.setdefault(tuple(sub_model.source), sub_model)
    return [*found.values(), whole]


def _sub_model(space: Space, name: str, without: tuple[str, ...], alike: bool) -> SubModel:
    source = np.full(space.size, -1)
    kept: list[int] = []
    for i, element in enumerate(space.names):
        twin = _ALIKE.get(element) if alike else None
        if element in without:
            continue
        if twin in space.names:
            source[i] = source[space.names.index(str(twin))]
        else:
            source[i] = len(kept)
            kept.append(i)
    shape = np.isin(space.names, STRIBECK_SHAPE)
    narrow = replace(
        space,
        names=tuple(space.names[i] for i in kept),
        lower=space.lower[kept],
        upper=space.upper[kept],
        start=space.start[kept],
        log=space.log[kept],
        units=tuple(space.units[i] for i in kept) if space.units else (),
        logit=None if space.logit is None else space.logit[kept],
        deviation=None if space.deviation is None else space.deviation[kept],
    )
    return SubModel(name, space, narrow, source, np.where(shape, space.start, space.lower))


class SubModelProblem(Problem):
    """A problem restricted to a nested sub-model.

    Args:
      problem: the problem of the full model.
      model: the sub-model.
    """

    def __init__(self, problem: Problem, sub_model: SubModel):
        self._problem, self._sub_model = problem, sub_model
        self.space = sub_model.space
        self.objectives = problem.objectives
        self.groups, self.data_rows = problem.groups, problem.data_rows
        self.threads = getattr(problem, "threads", 1)
        coarse = getattr(problem, "coarse", problem)
        self.coarse: Problem = self if coarse is problem else SubModelProblem(coarse, sub_model)

    @property
    def objective(self) -> Objective | None:
        """Objective of the problem, if it has one."""
        return getattr(self._problem, "objective", None)

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Objective ``(n, 1)`` of candidates of the sub-model ``(n, k)``."""
        return self._problem.costs(self._sub_model.to_full(X), failures)

    def weights_of(self, rows: slice) -> np.ndarray | None:
        """Weights of the residuals of a log."""
        return self._problem.weights_of(rows)

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Residuals of candidates of the sub-model ``(n, k)``."""
        return self._problem.residual_blocks(self._sub_model.to_full(X), failures)

    def jacobian_blocks(
        self, x: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Residuals and their derivatives ``(k, rows)`` by the unknowns of the sub-model."""
        source = self._sub_model.source
        for rows, values, slopes in self._problem.jacobian_blocks(
            self._sub_model.to_full(x), failures
        ):
            narrow = np.zeros((self.space.size, slopes.shape[1]))
            for i in np.flatnonzero(source >= 0):
                narrow[source[i]] += slopes[i]
            yield rows, values, narrow
