"""Repeats of walks under small perturbations, for results that are robust.

All candidates of a search have the same repeats, drawn once from a seed (common random numbers), so
that differences are due to the candidates. In a search with fresh perturbations
(``fresh_perturbations``) this is true within a generation, and each
generation has new repeats.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.errors import GaitError
from trueup.gait.controller.parameter_vector import ParameterVector
from trueup.gait.models.walker import Walker

PUSH_DURATION = 0.1
"""Duration of a push [s]."""

MARGIN = 1e-6
"""Margin of a perturbed pose to the joint limits [rad]."""

SEARCH, SURVIVAL = 1, 2
"""Random streams: of repeats used in searches, and of unseen repeats."""

JUDGED_BY = ("mean", "worst")
"""Aggregations of the costs of repeats."""


@dataclass(frozen=True)
class PerturbationSizes:
    """Sizes of perturbations; 0 disables one."""

    angle: float = 1.0
    """Standard deviation of the initial joint angles and lean [deg]."""
    speed: float = 0.05
    """Standard deviation of the initial speed [m/s]."""
    friction: float = 0.2
    """Largest relative change of the friction of the ground; uniform."""
    push: float = 50.0
    """Largest force of a push of 0.1 s against the trunk at a random time [N]; uniform."""
    noise: float = 0.01
    """Standard deviation of the noise of angles [rad], positions [m], loads [body weights] and
    forces [fraction of strength]; ten times that for rates and velocities [1/s]."""

    def __post_init__(self):
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not (np.isfinite(value) and value >= 0.0):
                raise GaitError(
                    f"the perturbation {entry.name} is {value}; it must not be negative"
                )
        if self.friction >= 1.0:
            raise GaitError(
                f"the relative change of friction is {self.friction:g}; it must be below 1"
            )


@dataclass(frozen=True)
class Perturbations:
    """Repeats of the walk of every candidate.

    Args:
      repeats: number of repeats.
      seed: seed of the random numbers.
      judged_by: aggregation of the costs of the repeats: ``mean`` or ``worst``.
      sizes: sizes of the perturbations.
      stream: random stream, see :data:`SEARCH`.
      first_unperturbed: whether the first repeat has no perturbations; a search over only perturbed
        repeats can find a walk that falls without them.

    Raises:
      GaitError: no perturbed repeat, or an unknown aggregation.
    """

    repeats: int
    seed: int = 0
    judged_by: str = "mean"
    sizes: PerturbationSizes = PerturbationSizes()
    stream: int = SEARCH
    first_unperturbed: bool = False

    def __post_init__(self):
        if self.repeats < 1:
            raise GaitError(
                f"the number of perturbed repeats is {self.repeats}; it must be at least 1"
            )
        if self.first_unperturbed and self.repeats < 2:
            raise GaitError("the only repeat would have no perturbations: set at least 2 repeats")
        if self.judged_by not in JUDGED_BY:
            raise GaitError(
                f"unknown aggregation of repeats {self.judged_by!r}; available: "
                f"{', '.join(JUDGED_BY)}"
            )

    def together(self, values: np.ndarray) -> np.ndarray:
        """Values ``(n,)`` of candidates from those of their repeats ``(n * repeats,)``."""
        rows = values.reshape(-1, self.repeats)
        return rows.max(axis=1) if self.judged_by == "worst" else rows.mean(axis=1)

    def draws(self, parameters: ParameterVector, duration: float) -> "Draws":
        """The repeats of walks of a duration [s]."""
        root = np.random.SeedSequence([self.seed, self.stream])
        pose, ground, pushes, noise = (np.random.default_rng(one) for one in root.spawn(4))
        sizes, n = self.sizes, self.repeats
        entries = parameters.entries[parameters.group("pose")]
        deviation = np.array(
            [np.deg2rad(sizes.angle) if entry.unit == "deg" else sizes.speed for entry in entries]
        )
        start = pushes.uniform(0.0, max(duration - PUSH_DURATION, 0.0), n)
        heading = pushes.uniform(0.0, 2.0 * np.pi, n)
        force = pushes.uniform(-1.0, 1.0, n) * sizes.push
        drawn = Draws(
            pose=pose.standard_normal((n, len(entries))) * deviation,
            friction=1.0 + ground.uniform(-1.0, 1.0, n) * sizes.friction,
            push=force,
            heading=heading,
            push_start=start,
            noise=np.full(n, sizes.noise),
            key=noise.integers(0, 2**63, n, dtype=np.uint64),
        )
        return drawn.sparing_the_first() if self.first_unperturbed else drawn


class Draws(NamedTuple):
    """Perturbations of each repeat, the first axis of each array.

    Attributes:
      pose: change of the pose ``(repeats, entries)`` [rad, m/s].
      friction: factors on the friction.
      push: forces [N]; with a ``heading`` [rad] for 3D walkers, otherwise forwards.
      push_start: start times of the pushes [s].
      noise: standard deviations, see :attr:`PerturbationSizes.noise`.
      key: keys of the noise.
    """

    pose: np.ndarray
    friction: np.ndarray
    push: np.ndarray
    heading: np.ndarray
    push_start: np.ndarray
    noise: np.ndarray
    key: np.ndarray

    @property
    def repeats(self) -> int:
        """Number of repeats."""
        return len(self.push)

    def sparing_the_first(self) -> "Draws":
        """The draws with no perturbation in the first repeat; the others are unchanged."""
        others = np.arange(self.repeats) > 0
        return self._replace(
            pose=self.pose * others[:, None],
            friction=np.where(others, self.friction, 1.0),
            push=self.push * others,
            noise=self.noise * others,
        )

    def tiled(self, candidates: int) -> "Draws":
        """The draws for several candidates, with consecutive repeats."""
        return Draws(*(np.tile(a, (candidates,) + (1,) * (a.ndim - 1)) for a in self))


def perturbed_vectors(
    X: np.ndarray, parameters: ParameterVector, walker: Walker, draws: Draws
) -> np.ndarray:
    """Vectors of all repeats ``(n * repeats, size)`` of vectors ``X (n, size)``.

    Perturbed joints are limited to their range if the vector is within it.
    """
    rows = np.repeat(X, draws.repeats, axis=0)
    part = parameters.group("pose")
    own = parameters.values(rows, "pose")
    moved = own + np.tile(draws.pose, (len(X), 1))
    for k, entry in enumerate(parameters.entries[part]):
        if entry.unit != "deg":
            continue
        joint = mujoco.mj_name2id(walker.model, mujoco.mjtObj.mjOBJ_JOINT, entry.name)
        if joint < 0 or not walker.model.jnt_limited[joint]:
            continue
        low, high = walker.model.jnt_range[joint] + (MARGIN, -MARGIN)
        moved[:, k] = np.clip(moved[:, k], np.minimum(low, own[:, k]), np.maximum(high, own[:, k]))
    degrees = np.array([entry.unit == "deg" for entry in parameters.entries[part]])
    units = np.where(degrees, np.rad2deg(moved - own), moved - own)
    rows[:, part] += units / np.array([entry.scale for entry in parameters.entries[part]])
    return rows


def set_friction(batch: Batch, draws: Draws | None, expanded: bool) -> bool:
    """Set the friction of each simulation of a batch; that of the model without draws.

    Args:
      batch: the batch.
      draws: friction of each simulation.
      expanded: whether the batch has separate friction for each simulation.

    Returns:
      Whether it has separate friction now.
    """
    factors = np.ones(batch.nsim) if draws is None else draws.friction
    if not expanded and (factors == 1.0).all():
        return False
    for name, rows in friction_rows(batch.model, factors).items():
        batch.expand(name)[:] = rows
    return True


def friction_rows(model: mujoco.MjModel, factors: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of a model with friction, multiplied by factors ``(n,)``: name -> ``(n, ...)``."""
    found = {}
    # sliding friction is first; pairs have two directions
    for name, sliding in (("geom_friction", 1), ("pair_friction", 2)):
        base = getattr(model, name)
        if len(base):
            found[name] = np.tile(base, (len(factors), 1, 1))
            found[name][:, :, :sliding] *= factors[:, None, None]
    return found


def set_disturbances(
    disturbances: np.ndarray, draws: Draws | None, period: float, frontal: bool
) -> None:
    """Set pushes and noise of walks ``(n,)``; zero without draws.

    Args:
      disturbances: an array of ``DISTURBANCE``.
      draws: draws of each walk.
      period: period of the controllers [s].
      frontal: whether the walker has frontal motion, with pushes in any direction.
    """
    disturbances[:] = 0
    if draws is None:
        return
    heading = draws.heading if frontal else np.zeros_like(draws.heading)
    disturbances["force"] = (draws.push * [np.cos(heading), np.sin(heading)]).T
    first = np.round(draws.push_start / period).astype(int)
    lasts = max(round(PUSH_DURATION / period), 1)
    disturbances["first"] = first
    disturbances["end"] = np.where(draws.push != 0.0, first + lasts, first)
    disturbances["noise"], disturbances["key"] = draws.noise, draws.key
