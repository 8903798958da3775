"""Simpler friction models as faces of the box in which a richer one is searched."""

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

# name of the model, what it has not, whether motor and load torque count alike
_MODELS = (
    ("m1", (*_STRIBECK, *STRIBECK_SHAPE, *_LOAD, *_QUADRATIC), True),
    ("m2", (*_LOAD_STRIBECK, *_LOAD, *_QUADRATIC), True),
    ("m3", (*_STRIBECK, *STRIBECK_SHAPE, *_QUADRATIC), True),
    ("m4", _QUADRATIC, True),
    ("m5", _QUADRATIC, False),
)


@dataclass(frozen=True)
class ModelFace:
    """Candidates of a richer model that are a simpler one: some elements 0, some alike."""

    name: str
    """The simpler model, or ``"full"`` for the whole box."""
    whole: Space
    """All unknowns of the richer model."""
    space: Space
    """The unknowns that are left."""
    source: np.ndarray
    """Element of :attr:`space` that each element of :attr:`whole` takes its value from, -1 for
    those that keep the value they have in :attr:`rest` ``(p,)``."""
    rest: np.ndarray
    """Values of what is left out ``(p,)``."""

    def widened(self, Z: np.ndarray) -> np.ndarray:
        """Candidates of the richer model ``(..., p)`` for those of the face ``(..., k)``."""
        Z = np.asarray(Z, float)
        taken = Z[..., np.maximum(self.source, 0)]
        return np.where(self.source >= 0, taken, self.rest)

    def narrowed(self, X: np.ndarray) -> np.ndarray:
        """Candidates of the face ``(..., k)`` for those of the richer model that lie in it."""
        first = [int(np.flatnonzero(self.source == k)[0]) for k in range(self.space.size)]
        return np.asarray(X, float)[..., first]

    def holds(self, x: np.ndarray) -> bool:
        """Whether a candidate ``(p,)`` lies in the face."""
        return bool(np.array_equal(self.widened(self.narrowed(x)), x))


def model_faces(space: Space) -> list[ModelFace]:
    """The simpler models within a servo's unknowns, each after those that it contains.

    M1 is contained in M2 and M3, both of them in M4, that in M5 and that in M6. The whole box is
    the last one. A face that is the same as another one stands there once.

    Args:
      space: the unknowns.
    """
    found: dict[tuple[int, ...], ModelFace] = {}
    whole = _face(space, "full", (), False)
    for name, without, alike in _MODELS:
        face = _face(space, name, without, alike)
        if 0 < face.space.size < space.size:
            found.setdefault(tuple(face.source), face)
    return [*found.values(), whole]


def _face(space: Space, name: str, without: tuple[str, ...], alike: bool) -> ModelFace:
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
    return ModelFace(name, space, narrow, source, np.where(shape, space.start, space.lower))


class FaceProblem(Problem):
    """A problem on a face of its box.

    Args:
      problem: the problem.
      face: the face.
    """

    def __init__(self, problem: Problem, face: ModelFace):
        self._problem, self._face = problem, face
        self.space = face.space
        self.objectives = problem.objectives
        self.groups, self.data_rows = problem.groups, problem.data_rows
        self.threads = getattr(problem, "threads", 1)
        coarse = getattr(problem, "coarse", problem)
        self.coarse: Problem = self if coarse is problem else FaceProblem(coarse, face)

    @property
    def objective(self) -> Objective | None:
        """Objective of the problem, where it has one."""
        return getattr(self._problem, "objective", None)

    def costs(self, X: np.ndarray, failures: Failures | None = None) -> np.ndarray:
        """Objective ``(n, 1)`` of candidates of the face ``(n, k)``."""
        return self._problem.costs(self._face.widened(X), failures)

    def weights_of(self, rows: slice) -> np.ndarray | None:
        """Weights of the residuals of a log."""
        return self._problem.weights_of(rows)

    def residual_blocks(
        self, X: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Residuals of candidates of the face ``(n, k)``."""
        return self._problem.residual_blocks(self._face.widened(X), failures)

    def jacobian_blocks(
        self, x: np.ndarray, failures: Failures
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Residuals and their derivatives ``(k, rows)`` with respect to the face's elements."""
        source = self._face.source
        for rows, values, slopes in self._problem.jacobian_blocks(self._face.widened(x), failures):
            narrow = np.zeros((self.space.size, slopes.shape[1]))
            for i in np.flatnonzero(source >= 0):
                narrow[source[i]] += slopes[i]
            yield rows, values, narrow
