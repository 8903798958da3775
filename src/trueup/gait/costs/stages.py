"""Cost of a walk: weighted terms, and stages with smooth transitions.

``total = 1000 (1 - sqrt(s q)) + 20 (1 - s) (1 + exp(-r)) + 50 m + sum of weight * charged``

where ``s`` is the fraction of the time before a fall, ``q`` the walked distance relative to four
fifths of the target distance in that time (at most 1), ``r`` the same for the target distance of
the whole time (unlimited), and ``m`` the fraction of missing strides. A complete walk at target
speed costs only the sum of its terms. A fall costs less the longer and the further the walk was,
resolved from the first tenth of a second, and its cost vanishes towards the end of the time: the
cost is continuous, so that a search sees progress.

A term is linear up to half of its worst value, then saturates at the worst value. After a fall it
is ``worst - s (worst - term)``, so that the walk before the fall counts in proportion to its
duration. In a walk without a stride, terms without a cycle are measured over all of it, so that
short walks differ; terms that cannot be measured have their worst value. Strides are those of
``strides_of``. Sums and means over time are between the last touch-downs of the
left foot, so the costs of a walk and its mirror image differ slightly. Distance is along the
ground, also on slopes and stairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from trueup.errors import GaitError, did_you_mean, listing
from trueup.gait.costs import _kernel as k
from trueup.gait.costs.adult_norm import WALKED, adult_steps
from trueup.gait.costs.reference import GaitReference
from trueup.gait.costs.terms import TERMS, own_terms
from trueup.gait.models.anatomy import Anatomy
from trueup.gait.walk.frames import ACTIVATIONS
from trueup.gait.walk.gait_cycle import resampled, shortest_frames
from trueup.gait.walk.records import WalkRecords

INVALID = 2000.0
"""Smallest cost of a walk that cannot start; above that of any walk, for all weights."""

PRESETS: dict[str, dict[str, float]] = {
    "-eff": {"effort": 100.0},
    "-eff_knee": {"effort": 100.0, "pain": 10.0},
    "-vel": {"velocity": 100.0, "symmetry": 100.0},
    "-vel_grf": {"effort": 100.0, "velocity": 100.0, "grf": 10.0, "trunk": 10.0, "symmetry": 100.0},
    "-class": {"effort": 100.0, "velocity": 100.0, "trunk": 10.0, "pain": 10.0},
    "-kine": {
        "effort": 100.0,
        "velocity": 100.0,
        "symmetry": 100.0,
        "kinematic": 100.0,
        "trunk": 20.0,
    },
    "-kine_grf": {
        "effort": 100.0,
        "velocity": 100.0,
        "symmetry": 100.0,
        "kinematic": 100.0,
        "trunk": 20.0,
        "grf": 10.0,
    },
    "-combined": {
        "effort": 100.0,
        "velocity": 100.0,
        "symmetry": 100.0,
        "kinematic": 50.0,
        "trunk": 10.0,
        "grf": 10.0,
        "pain": 10.0,
        "scuff": 100.0,
    },
    "-kine_grf_musc": {
        "effort": 100.0,
        "velocity": 100.0,
        "symmetry": 100.0,
        "kinematic": 100.0,
        "trunk": 20.0,
        "grf": 10.0,
        "emg": 20.0,
    },
    "-vel_musc": {"effort": 100.0, "velocity": 100.0, "symmetry": 100.0, "emg": 20.0},
    "-vel_musc_grf": {
        "effort": 100.0,
        "velocity": 100.0,
        "symmetry": 100.0,
        "trunk": 10.0,
        "grf": 10.0,
        "emg": 20.0,
    },
}
"""Flag of the command line -> weights of the terms."""

TRACKING = ("kinematic", "timed")
"""Terms that compare with a reference gait."""

TRUNK_KINDS = {
    "ref_diff": k.Trunk.reference,
    "zero_diff": k.Trunk.upright,
    "vel_square": k.Trunk.rate,
}
"""Targets of the trunk: the reference, upright, or zero pitch rate."""


@dataclass(frozen=True)
class WalkCosts:
    """Costs of a batch of walks.

    Attributes:
      total: total cost ``(n,)``.
      terms: name -> ``(n,)``: every term, with or without a weight, and the stages; NaN for walks
        that are too short.
    """

    total: np.ndarray
    terms: dict[str, np.ndarray]


@dataclass(frozen=True)
class WalkObjective:
    """Objective function of walks.

    Args:
      weights: term -> weight, see :data:`PRESETS`.
      speed: target speed [m/s].
      strides: number of evaluated strides of each leg, the last of a walk.
      symmetry_threshold: largest difference between the legs without cost [m].
      speed_tolerance: deviation of the mean speed from the target [m/s] up to which the cost is
        quadratic, and beyond it linear (Huber 1964, Ann. Math. Statist. 35:73).
        A linear cost alone has a kink at the target speed.
      grf_threshold: largest ground reaction without cost [body weights].
      clearance: smallest height of the soles in mid-swing without cost [m]; more than the toes of
        adults have (0.013 m, Winter 1992), as a walk that grazes the ground is not robust.
      trunk: one of :data:`TRUNK_KINDS`; by default the trunk of the reference, or upright where it
        has none, see :attr:`trunk_kind`.
      reference: joint angles and optional activations to track.

    Raises:
      GaitError: an unknown term; a missing reference, or one without a joint or the
        trunk; a negative weight or tolerance.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: dict(PRESETS["-kine"]))
    speed: float = 1.25
    strides: int = 5
    symmetry_threshold: float = 0.1
    speed_tolerance: float = 0.0
    grf_threshold: float = 1.5
    clearance: float = 0.03
    trunk: str | None = None
    reference: GaitReference | None = field(default=None, repr=False)

    def __post_init__(self):
        for name, weight in self.weights.items():
            if name not in TERMS:
                raise GaitError(
                    f"unknown cost term {name!r}; available: {listing(TERMS)}."
                    f"{did_you_mean(name, TERMS)}"
                )
            if not (np.isfinite(weight) and weight >= 0.0):
                raise GaitError(f"the weight of {name!r} is {weight}; it must not be negative")
        if self.trunk is not None and self.trunk not in TRUNK_KINDS:
            raise GaitError(
                f"unknown trunk error {self.trunk!r}; available: {listing(TRUNK_KINDS)}."
                f"{did_you_mean(self.trunk, TRUNK_KINDS)}"
            )
        if not (np.isfinite(self.speed_tolerance) and self.speed_tolerance >= 0.0):
            raise GaitError(
                f"the speed tolerance is {self.speed_tolerance} m/s; it must not be negative"
            )
        if self.strides < 1:
            raise GaitError(f"strides is {self.strides}; at least 1 must be evaluated")
        weighed = [name for name, weight in self.weights.items() if weight > 0.0]
        has_angles = self.reference is not None and bool(self.reference.angles)
        if self.reference is not None and has_angles:
            self.reference.leg_angles()  # raises where a joint is missing
        for name in TRACKING:
            if name in weighed and not has_angles:
                raise GaitError(f"the term {name!r} requires a reference gait")
        if "timed" in weighed:
            adult_steps(self.speed)  # raises where there is no cadence
        has_emg = self.reference is not None and bool(self.reference.emg)
        if "emg" in weighed and not has_emg:
            raise GaitError("the term 'emg' requires a reference gait with activations")
        if self.trunk == "ref_diff" and "trunk" in weighed and not self._tracks_trunk:
            lacks = "there is no reference"
            if self.reference is not None:
                lacks = f"{self.reference.name!r} has {listing(self.reference.angles)}"
            raise GaitError(
                "the trunk error ref_diff requires a reference with a trunk, but "
                f"{lacks}: use zero_diff (upright), or a reference with a trunk"
            )

    @property
    def trunk_kind(self) -> str:
        """Target of the trunk, one of :data:`TRUNK_KINDS`."""
        if self.trunk is None:
            return "ref_diff" if self._tracks_trunk else "zero_diff"
        return self.trunk

    @property
    def _tracks_trunk(self) -> bool:
        """Whether the reference has a trunk."""
        return self.reference is not None and "trunk" in self.reference.angles

    @property
    def cannot_start(self) -> float:
        """Cost of a walk that cannot start."""
        worst = sum(weight * TERMS[name].worst for name, weight in self.weights.items())
        return max(INVALID, 1200.0 + worst)

    def stage_costs(
        self, lasted: np.ndarray, distance: np.ndarray, duration: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Costs of falls and of missing distance, without the terms.

        Args:
          lasted: times before a fall ``(n,)`` [s].
          distance: walked distances ``(n,)`` [m].
          duration: duration of a complete walk [s].

        Returns:
          The costs, and the walked fraction of four fifths of the target distance, 0 to 1.
        """
        survived = np.clip(lasted / duration, 0.0, 1.0)
        if self.speed == 0.0:  # no target distance
            pace, reach = np.ones_like(survived), np.zeros_like(survived)
        else:
            forward = np.sign(self.speed) * distance
            target = 0.8 * abs(self.speed)
            pace = np.clip(forward / (target * np.maximum(lasted, 1e-9)), 0.0, 1.0)
            reach = np.clip(forward / (target * duration), -1.0, 2.0)
        costs = 1000.0 * (1.0 - np.sqrt(survived * pace))
        return costs + 20.0 * (1.0 - survived) * (1.0 + np.exp(-reach)), pace

    def costs(
        self, records: WalkRecords, anatomy: Anatomy, duration: float, threshold: float = 0.1
    ) -> WalkCosts:
        """Costs of walks.

        Args:
          records: walks.
          anatomy: names of the muscles.
          duration: duration of a complete walk [s].
          threshold: load above which a foot is on the ground [body weights].
        """
        terms = self._measured(records, anatomy, threshold)
        duration = _whole_frames(duration, records.period)
        terms["symmetry"] = np.maximum(terms["symmetry"] - self.symmetry_threshold, 0.0)
        lasted = records.length * records.period
        survived = np.clip(lasted / duration, 0.0, 1.0)
        stages, terms["pace"] = self.stage_costs(lasted, terms["distance"], duration)
        missing = np.clip(1.0 - terms["strides"] / self.strides, 0.0, 1.0)
        terms["survived"], terms["missing"] = survived, missing
        total = stages + 50.0 * missing
        for charge in self.charges(terms).values():
            total = total + charge
        total[list(records.invalid)] = self.cannot_start
        return WalkCosts(total, terms)

    def charges(self, terms: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Contributions of the terms to the costs of walks, by name ``(n,)``.

        Args:
          terms: terms of :meth:`costs`, each ``(n,)``, with ``survived``, the fraction of the time
            before a fall.
        """
        found = {}
        for name, weight in self.weights.items():
            value = terms[name] if name != "velocity" else self._softened(terms[name])
            found[name] = weight * _charged(value, TERMS[name].worst, terms["survived"])
        return found

    def _softened(self, distance: np.ndarray) -> np.ndarray:
        tolerance = self.speed_tolerance
        if tolerance == 0.0:
            return distance
        near = distance**2 / (2.0 * tolerance)
        return np.where(distance <= tolerance, near, distance - 0.5 * tolerance)

    def _measured(
        self, records: WalkRecords, anatomy: Anatomy, threshold: float
    ) -> dict[str, np.ndarray]:
        setup = np.zeros(1, dtype=k.SETUP)
        setup["strides"], setup["period"] = self.strides, records.period
        setup["swing"], setup["stance"] = shortest_frames(records.period)
        setup["speed"], setup["threshold"] = self.speed, threshold
        setup["grf"], setup["clearance"] = self.grf_threshold, self.clearance
        setup["mass"], setup["trunk"] = records.mass, TRUNK_KINDS[self.trunk_kind]
        setup["level"] = records.level
        slowest, fastest = WALKED
        if slowest <= self.speed <= fastest:
            setup["cycle"] = 120.0 / adult_steps(self.speed)[0] / records.period
        angles, trunk, emg = np.zeros((3, 0)), np.zeros(0), np.zeros((0, 0))
        columns = np.zeros((2, 0), dtype=np.int64)
        if self.reference is not None:
            if self.reference.angles:
                angles = self.reference.leg_angles()
            if self._tracks_trunk:
                trunk = resampled(self.reference.angles["trunk"].mean, 100)
            places = anatomy.muscle_groups(records.muscles)
            shared = [g for g in self.reference.emg if (g, "right") in places]
            if shared:
                emg = np.stack([resampled(self.reference.emg[g].mean, 100) for g in shared])
                columns = np.array(
                    [
                        [ACTIVATIONS + places.index((g, side)) for g in shared]
                        for side in ("right", "left")
                    ]
                )
        n, size = records.frames.shape[:2]
        measures = np.zeros((n, len(k.Measure)))
        scratch = np.zeros((2, size + 1), dtype=np.int64)
        lengths = np.ascontiguousarray(records.length)
        k.measure_walks(
            records.frames, lengths, setup, np.ascontiguousarray(angles), trunk, emg, columns,
            scratch[0], scratch[1], measures,
        )  # fmt: skip
        found = dict(zip(k.Measure.__members__, measures.T.copy(), strict=True))
        first, last = found.pop("first_frame"), found.pop("last_frame")
        return found | own_terms(records, first, last)


def _whole_frames(duration: float, period: float) -> float:
    """Duration of a complete walk in whole frames [s]; the last frame may be before its end."""
    whole = max(np.floor(duration / period + 1e-9), 1.0) * period
    # durations of whole frames are returned exactly as given
    return duration if abs(whole - duration) < 1e-9 else float(whole)


def _charged(value: np.ndarray, worst: float, survived: np.ndarray) -> np.ndarray:
    """Saturated value of a term, 0 to ``worst``: linear up to half of it."""
    half = 0.5 * worst
    bent = half * (1.0 + np.tanh((value - half) / half))
    bounded = np.where(value <= half, value, bent)
    return np.where(np.isnan(value), worst, worst - survived * (worst - bounded))
