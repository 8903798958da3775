"""Closed-loop test: the network drives a simulated joint, compared with the recorded motion."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import ColumnError, FitError, SignalError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.features import ANGLE, ANGLE_ERROR, INERTIA, TARGET_ANGLE, VELOCITY
from trueup.networks.data.settings import COMPUTED_TARGET, TORQUE, DataSettings
from trueup.networks.evaluation.metrics import RATE_TOLERANCE, Scores
from trueup.networks.model.network import Network

_SUBSTEPS = 10
_SPANS_AWAY = 5.0
_SMALLEST_SPAN = 0.1
_LARGEST_INERTIA = 1e9  # of a joint [kg m2]; a ship's rudder has less


@dataclass(frozen=True)
class JointModel:
    """Joint driven by the torque of the network.

    ``inertia acceleration = torque - coulomb sign(velocity) - viscous velocity - gravity sin(angle
    - gravity_angle) - spring (angle - spring_angle)``. A network of net torque requires only
    the inertia.
    """

    inertia: float
    """Inertia of load and joint about the axis [kg m2]."""
    coulomb: float = 0.0
    """Coulomb friction [N m]."""
    viscous: float = 0.0
    """Viscous friction [N m s/rad]."""
    gravity: float = 0.0
    """Largest gravity torque of the load [N m]."""
    gravity_angle: float = 0.0
    """Angle at which the load hangs down [rad]."""
    spring: float = 0.0
    """Stiffness of a spring to the frame [N m/rad]."""
    spring_angle: float = 0.0
    """Rest angle of the spring [rad]."""

    def __post_init__(self):
        if not 0 < self.inertia <= _LARGEST_INERTIA:
            raise FitError(
                f"the inertia of the joint is {self.inertia} kg m2; it must be positive, and at "
                f"most {_LARGEST_INERTIA:g}"
            )


def joint_of(series: ActuatorSeries, settings: DataSettings) -> JointModel | None:
    """The joint of a recording, described by the settings; None where they do not describe one.

    They describe it where the torque is computed from the inertia of the load: the terms added to
    the torque then act between motor and load.
    """
    if INERTIA not in series.channels or settings.target_name != COMPUTED_TARGET:
        return None
    if TORQUE in settings.columns:
        return None
    terms = settings.torque_terms
    return JointModel(
        float(series.channels[INERTIA][0]),
        coulomb=terms.coulomb,
        viscous=terms.viscous,
        gravity=terms.gravity,
        gravity_angle=terms.gravity_angle,
        spring=terms.spring,
        spring_angle=terms.spring_angle,
    )


def has_motion(series: ActuatorSeries) -> bool:
    """Whether a recording has the angle and the velocity of the initial state."""
    return ANGLE in series.channels and VELOCITY in series.channels


def plausible_angles(series: ActuatorSeries) -> tuple[float, float]:
    """Lowest and highest angle of a driven joint; beyond them it counts as diverged [rad].

    Five times the span of the recording (0.1 rad at least) beyond its lowest and highest angle,
    commanded ones included.
    """
    angles = series.channels[ANGLE]
    if TARGET_ANGLE in series.channels:
        angles = np.concatenate([angles, series.channels[TARGET_ANGLE]])
    lowest, highest = float(angles.min()), float(angles.max())
    margin = _SPANS_AWAY * max(highest - lowest, _SMALLEST_SPAN)
    return lowest - margin, highest + margin


@dataclass(frozen=True, eq=False)
class RollOut:
    """Motion of a joint driven by a network."""

    name: str
    group: str
    angle: np.ndarray
    """Simulated angle, shape (n,) [rad]."""
    velocity: np.ndarray
    """Simulated velocity, shape (n,) [rad/s]."""
    torque: np.ndarray
    """Torque of the network, shape (n,) [N m]."""
    scores: Scores
    """Errors of the angle compared with the recorded one [rad]."""
    torque_scores: Scores
    """Errors of the torque compared with the recorded one [N m]."""
    diverged: bool
    """Whether the joint diverged: it exceeded `plausible_angles` (recorded range plus five times
    its span), or the simulator stopped. Later samples repeat the last valid one."""

    def to_dict(self) -> dict[str, Any]:
        """The scores as JSON values."""
        return {
            "name": self.name,
            "group": self.group,
            "angle_rmse": self.scores.rmse,
            "angle_r2": self.scores.r2,
            "torque_rmse": self.torque_scores.rmse,
            "diverged": self.diverged,
        }


def roll_out(
    network: Network, series: ActuatorSeries, joint: JointModel, horizon: float | None = None
) -> RollOut:
    """Simulate a joint driven by the network, with the commands of a recording.

    The joint starts in the recorded state. Inputs of the network are the simulated angle and
    velocity, and the recorded commands and other features; its torque is held between samples.

    Args:
        network: the network.
        series: the recording.
        joint: the driven joint.
        horizon: interval after which the joint is reset to the recorded state [s]; the state of the
            network is not reset. None: never.

    Raises:
        SignalError: recording and network have different rates, or the horizon is too short.
        ColumnError: a feature, the angle or the velocity is not recorded.
    """
    from trueup.networks.runtime.kernel import JOINT, PLACES, functions_of
    from trueup.networks.runtime.record import HEADER, network_record, state_size

    if abs(series.rate - network.rate) > RATE_TOLERANCE * network.rate:
        raise SignalError(
            f"{series.name} has {series.rate:g} Hz, the network runs at {network.rate:g} Hz"
        )
    lacking = [name for name in (ANGLE, VELOCITY) if name not in series.channels]
    if lacking:
        raise ColumnError(
            f"{series.name} has no {listing(lacking)}, required for the initial state of the joint"
        )
    every = len(series) if horizon is None else round(horizon * series.rate)
    if every < 1:
        raise SignalError(f"the horizon of {horizon} s is shorter than the sample interval")
    record = network_record(network)
    places = np.full(len(PLACES), -1)
    for place, name in ((PLACES.angle, ANGLE), (PLACES.velocity, VELOCITY),
                        (PLACES.error, ANGLE_ERROR)):  # fmt: skip
        if name in network.inputs:
            places[place] = network.inputs.index(name)
    target = series.channels.get(TARGET_ANGLE, np.zeros(len(series)))
    motion = functions_of(network).drive_joint(
        record,
        np.zeros((1, state_size(network))),
        np.zeros(int(record[HEADER.work_size])),
        series.features(network.inputs),
        places,
        target,
        series.channels[ANGLE],
        series.channels[VELOCITY],
        np.array([getattr(joint, name) for name in JOINT._fields]),
        1.0 / series.rate,
        _SUBSTEPS,
        every,
        *plausible_angles(series),
    )
    angle, velocity, torque, reached = motion
    return RollOut(
        series.name,
        series.group,
        angle,
        velocity,
        torque,
        Scores.of(series.channels[ANGLE], angle),
        Scores.of(series.torque, torque),
        reached < len(series),
    )
