"""Small perturbations that walks are repeated under, so that no result hangs on its last digit.

The same repeats, drawn once by a seed, hold for all candidates of a search (common random numbers):
candidates differ by what they are, not by what happened to them. In a search over fresh
perturbations (``fresh_perturbations``) that holds within a generation, and each
generation has repeats of its own.
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
"""How long a push lasts [s]."""

MARGIN = 1e-6
"""How far from the end of a joint's range a perturbed pose stays [rad]."""

SEARCH, SURVIVAL = 1, 2
"""Streams of random numbers: repeats that candidates are scored on, and those that they are not."""

JUDGED_BY = ("mean", "worst")
"""How the costs of the repeats become one."""


@dataclass(frozen=True)
class PerturbationSizes:
    """How large perturbations are; 0 leaves one out."""

    angle: float = 1.0
    """Standard deviation of the joint angles and the lean at the start [deg]."""
    speed: float = 0.05
    """Standard deviation of the speed at the start [m/s]."""
    friction: float = 0.2
    """Largest change of the friction of the ground, of its value; drawn evenly."""
    push: float = 50.0
    """Largest force of a push against the trunk of 0.1 s at a drawn time [N]; drawn evenly."""
    noise: float = 0.01
    """Standard deviation of what is sensed: angles [rad], places [m], loads [body weights] and
    forces [parts of the strength]; ten times that for rates and velocities [1/s]."""

    def __post_init__(self):
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not (np.isfinite(value) and value >= 0.0):
                raise GaitError(f"the perturbation {entry.name} is {value}; it has to be 0 or more")
        if self.friction >= 1.0:
            raise GaitError(
                f"the friction cannot change by {self.friction:g} of its value: give less than 1"
            )


@dataclass(frozen=True)
class Perturbations:
    """Repeats that every candidate walks.

    Args:
      repeats: how many.
      seed: seed that they are drawn by.
      judged_by: a candidate costs the mean of its repeats, or the worst of them.
      sizes: how large they are.
      stream: which random numbers, see :data:`SEARCH`.
      first_unperturbed: the first of them walks without perturbations. What is scored over
        perturbed repeats alone may fall from the very start that it is told with.

    Raises:
      GaitError: no perturbed repeat, or another way to judge.
    """

    repeats: int
    seed: int = 0
    judged_by: str = "mean"
    sizes: PerturbationSizes = PerturbationSizes()
    stream: int = SEARCH
    first_unperturbed: bool = False

    def __post_init__(self):
        if self.repeats < 1:
            raise GaitError(f"at least 1 perturbed repeat is needed, not {self.repeats}")
        if self.first_unperturbed and self.repeats < 2:
            raise GaitError(
                "the only repeat would walk without perturbations: give 2 repeats or more"
            )
        if self.judged_by not in JUDGED_BY:
            raise GaitError(
                f"perturbed repeats are judged by their {' or '.join(JUDGED_BY)}, "
                f"not by {self.judged_by!r}"
            )

    def together(self, values: np.ndarray) -> np.ndarray:
        """Values ``(n,)`` of candidates, of those ``(n * repeats,)`` of their repeats."""
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
    """What happens in each repeat; the first axis of each array.

    Attributes:
      pose: what is added to the pose ``(repeats, entries)`` [rad, m/s].
      friction: factors of the friction.
      push: forces [N]; those on a walker in space have a ``heading`` [rad], others push forwards.
      push_start: when they begin [s].
      noise: see :attr:`PerturbationSizes.noise`.
      key: numbers that the noise is made of.
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
        """How many there are."""
        return len(self.push)

    def sparing_the_first(self) -> "Draws":
        """The same, but for the first repeat, in which nothing happens; others stay as drawn."""
        others = np.arange(self.repeats) > 0
        return self._replace(
            pose=self.pose * others[:, None],
            friction=np.where(others, self.friction, 1.0),
            push=self.push * others,
            noise=self.noise * others,
        )

    def tiled(self, candidates: int) -> "Draws":
        """The same for each of some candidates, whose repeats follow each other."""
        return Draws(*(np.tile(a, (candidates,) + (1,) * (a.ndim - 1)) for a in self))


def perturbed_vectors(
    X: np.ndarray, parameters: ParameterVector, walker: Walker, draws: Draws
) -> np.ndarray:
    """Vectors of all repeats ``(n * repeats, size)`` of vectors ``X (n, size)``.

    No repeat starts beyond the range of a joint that the vector itself is within.
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
    """Give each simulation of a batch its friction; the model's own without draws.

    Args:
      batch: the batch.
      draws: friction of each simulation.
      expanded: whether the batch has had friction of each simulation's own.

    Returns:
      Whether it has now.
    """
    factors = np.ones(batch.nsim) if draws is None else draws.friction
    if not expanded and (factors == 1.0).all():
        return False
    # sliding first, of pairs in two directions
    for name, sliding in (("geom_friction", 1), ("pair_friction", 2)):
        base = getattr(batch.model, name)
        if len(base):
            friction = batch.expand(name)
            friction[:] = base
            friction[:, :, :sliding] *= factors[:, None, None]
    return True


def set_disturbances(
    disturbances: np.ndarray, draws: Draws | None, period: float, frontal: bool
) -> None:
    """Set pushes and noise of walks ``(n,)``; none without draws.

    Args:
      disturbances: an array of ``DISTURBANCE``.
      draws: those of each walk.
      period: time from one run of the controllers to the next [s].
      frontal: the walker can fall sideways, and be pushed there.
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
