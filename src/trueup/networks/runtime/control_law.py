"""Learned actuators on the joints of a MuJoCo model, as a compiled control law."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.errors import FitError, LawError, ModelError, did_you_mean, listing, reason
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    FEATURES,
    INERTIA,
    TARGET_ANGLE,
    VELOCITY,
)
from trueup.networks.model.network import Network
from trueup.networks.runtime.step_rate import steps_a_period

if TYPE_CHECKING:
    import mujoco
    from mujoco.batch import Batch

    from trueup.simulation.control import TargetedLaw


@dataclass(frozen=True)
class NetworkLaw:
    """Networks on joints of a model; created by :func:`network_law`."""

    spec: "mujoco.MjSpec"
    """The prepared model before compilation. It contains the weights."""
    law: "TargetedLaw"
    """The underlying control law."""
    networks: Mapping[str, Network]
    """Joint -> network."""
    channels: Mapping[str, Mapping[str, str]]
    """Channel -> joint -> actuator. Controls of ``goal`` are target angles [rad]; each additional
    feature of a network has a channel of its name. The force of ``motor`` is the torque."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the arrays of :meth:`state`."""
        return tuple(self.networks)

    def compile(self) -> "mujoco.MjModel":
        """Compile the prepared model.

        Raises:
          ModelError: the model was changed and does not compile.
        """
        from trueup.simulation.targets.variants import compile_spec

        return compile_spec(self.spec, "the model with networks")

    def installed(
        self, *simulations: "mujoco.MjModel | mujoco.MjData | Batch"
    ) -> AbstractContextManager[None]:
        """Context manager: run the networks in all simulations stepped inside the ``with`` block.

        Args:
          simulations: simulations to check first, see :func:`trueup.simulation.control.installed`.

        Raises:
          LawError: a law is installed already, or a model is not prepared for this one.
        """
        from trueup.simulation.control import installed

        return installed(self.law, *simulations)

    def start(self, simulation: "mujoco.MjData | Batch") -> None:
        """Cold start of all networks without a reset; a reset includes it."""
        self.law.start(simulation)

    def controls(self, **commands: Mapping[str, Any]) -> np.ndarray:
        """Controls of the compiled model, ``(..., nu)``; all others are 0.

        Args:
          commands: ``goal`` and the other channels, each with joint -> values; arrays of any shapes
            that broadcast.

        Raises:
          LawError: no such channel or joint.
        """
        names = [actuator.name for actuator in self.spec.actuators]
        values: dict[int, np.ndarray] = {}
        known = [channel for channel in self.channels if channel != "motor"]
        for what, given in commands.items():
            if what not in known:
                raise LawError(
                    f"unknown channel {what!r}; available: {listing(known)}."
                    f"{did_you_mean(what, known)}"
                )
            _check_joints(given, self.joints)
            for joint, value in given.items():
                values[names.index(self.channels[what][joint])] = np.asarray(value, float)
        shape = np.broadcast_shapes(*(value.shape for value in values.values()))
        controls = np.zeros((*shape, len(names)))
        for number, value in values.items():
            controls[..., number] = value
        return controls

    def state(self, simulation: "mujoco.MjData | Batch") -> dict[str, np.ndarray]:
        """Live views of the state: ``(n, joints, ...)`` in a batch, or ``(joints, ...)``.

        ``torque`` [N m] and ``features`` of the last step of the networks, and their ``memory``.
        """
        return self.law.state(simulation)

    def failures(self, simulation: "mujoco.MjData | Batch") -> dict[int, str]:
        """Simulation index -> reason of a failure of the law; index 0 for an ``MjData``."""
        return self.law.failures(simulation)


def network_law(
    spec: "mujoco.MjSpec | str | os.PathLike[str]",
    networks: Mapping[str, Network | str | os.PathLike[str]],
    *,
    constants: Mapping[str, Mapping[str, float] | float] | None = None,
) -> NetworkLaw:
    """Drive joints of a model by learned actuators, in compiled code.

    ::

        law = network_law("leg.xml", {"hip": network, "knee": network})
        model = law.compile()
        batch = Batch(model, 100)
        with law.installed(batch):
            recorded = batch.rollout(1000, law.controls(goal={"hip": goals}))

    The law runs in a ``Batch``, in a loop over ``mj_step`` and in the viewer, with a cold start
    after a reset. Each joint of each simulation has its own hidden state, in ``userdata``; the
    weights are stored once, in the model. A network steps once per period of its rate, and its
    torque is held between steps, as on the robot.

    An existing actuator of a joint becomes the channel of its target angle and keeps its index
    among the controls; a motor that applies the torque is appended, and a channel for each
    additional feature. Damping, friction and armature of the joints are not changed: they must be
    those that the torque of the network does not contain.

    Args:
      spec: the model or its file; it is not modified. The joints are hinge joints.
      networks: joint -> network or its file; one rate for all.
      constants: feature -> value, or joint -> value, of features that are not commands, such as
        ``inertia_kg_m2``, ``voltage_v`` or ``temperature_c``.

    Returns:
      The prepared model and the law.

    Raises:
      LawError: a joint does not exist or has several actuators; rates differ; the period of the
        networks is not a multiple of the time step; the inertia is required and missing.
      ModelError: the model cannot be read or does not compile.
      FitError: the file of a network cannot be read.
    """
    from trueup.networks.runtime.law_kernel import (
        add_numbers,
        law_size,
        model_numbers,
        networks_control,
    )
    from trueup.networks.runtime.record import network_record, state_size
    from trueup.networks.runtime.servo_rows import servo_layout
    from trueup.simulation.control import prepare_spec
    from trueup.simulation.control._joint_channels import with_channels

    chosen = {joint: _network(network) for joint, network in networks.items()}
    if not chosen:
        raise LawError("network_law requires a network for at least one joint")
    joints, fixed = tuple(chosen), _fixed(constants or {}, tuple(chosen))
    rates = sorted({network.rate for network in chosen.values()})
    if len(rates) > 1:
        raise LawError(
            f"the networks have the rates {listing(f'{rate:g} Hz' for rate in rates)}; a law "
            "supports one rate: train them at the same rate"
        )
    further = _further_channels(chosen, fixed)
    source = read_spec(spec)
    try:
        steps = steps_a_period(rates[0], source.option.timestep)
    except FitError as error:
        raise LawError(str(error)) from error
    prepared, channels = with_channels(source, joints, further, "a network")
    distinct = {id(network): network for network in chosen.values()}
    layout = servo_layout(network.base for network in distinct.values())
    records = [network_record(network, layout) for network in distinct.values()]
    numbers, places = model_numbers(records)
    place_of = dict(zip(distinct, places, strict=True))
    add_numbers(prepared, numbers)
    width, memory = law_size(
        max(len(network.inputs) for network in chosen.values()),
        max(state_size(network) for network in chosen.values()),
    )
    law = networks_control(width, memory, layout).on(
        joints=joints,
        actuators=[channels["motor"][joint] for joint in joints],
        commands=[channels[c][j] for c in ("goal", *further) for j in joints],
        period_steps=steps,
    )
    sources, values = _sources(chosen, fixed, further, width)
    gains = {
        "network": np.array([float(place_of[id(network)]) for network in chosen.values()]),
        "sources": sources,
        "constants": values,
        "rate": rates[0],
    }
    prepared = prepare_spec(prepared, law, gains=gains)
    return NetworkLaw(prepared, law, chosen, channels)


def _network(network: Network | str | os.PathLike[str]) -> Network:
    if isinstance(network, Network):
        return network
    from trueup.networks.model.network_file import load_network

    return load_network(network)


def _fixed(
    constants: Mapping[str, Mapping[str, float] | float], joints: tuple[str, ...]
) -> dict[tuple[str, str], float]:
    """(joint, feature) -> value."""
    found = {}
    for feature, value in constants.items():
        if feature not in FEATURES:
            raise LawError(
                f"unknown feature {feature!r}.{did_you_mean(feature, FEATURES)} Available: "
                f"{listing(FEATURES)}"
            )
        each = value if isinstance(value, Mapping) else dict.fromkeys(joints, value)
        _check_joints(each, joints)
        found |= {(joint, feature): float(number) for joint, number in each.items()}
    return found


def _further_channels(
    networks: Mapping[str, Network], fixed: Mapping[tuple[str, str], float]
) -> tuple[str, ...]:
    """Features that require a separate channel."""
    own = {ANGLE, VELOCITY, TARGET_ANGLE, ANGLE_ERROR}
    needed: list[str] = []
    for joint, network in networks.items():
        for name in network.inputs:
            if name in own or (joint, name) in fixed:
                continue
            if name == INERTIA:
                raise LawError(
                    f"the network of joint {joint!r} requires the inertia of the load: give "
                    f"constants={{{INERTIA!r}: ...}} [kg m2]"
                )
            needed.append(name)
    return tuple(dict.fromkeys(needed))


def _sources(
    networks: Mapping[str, Network],
    fixed: Mapping[tuple[str, str], float],
    further: tuple[str, ...],
    width: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Source of each input, and the constants, each (joints, inputs)."""
    from trueup.networks.runtime.law_kernel import CONSTANT, ERROR, FROM_COMMAND, POSITION
    from trueup.networks.runtime.law_kernel import VELOCITY as SPEED

    sources = np.full((len(networks), width), float(CONSTANT))
    values = np.zeros((len(networks), width))
    known = {ANGLE: POSITION, VELOCITY: SPEED, ANGLE_ERROR: ERROR, TARGET_ANGLE: FROM_COMMAND}
    known |= {name: FROM_COMMAND + 1 + k for k, name in enumerate(further)}
    for i, (joint, network) in enumerate(networks.items()):
        for k, name in enumerate(network.inputs):
            if (joint, name) in fixed:
                values[i, k] = fixed[joint, name]
            else:
                sources[i, k] = known[name]
    return sources, values


def _check_joints(given: Mapping[str, Any], joints: tuple[str, ...]) -> None:
    for joint in given:
        if joint not in joints:
            raise LawError(
                f"no network drives the joint {joint!r}; driven joints: {listing(joints)}."
                f"{did_you_mean(joint, joints)}"
            )


def read_spec(spec: Any) -> Any:
    """The given spec, or that of a file.

    Raises:
      ModelError: the file cannot be read.
    """
    import mujoco

    from trueup.simulation.models.limits import check_model_file

    if isinstance(spec, mujoco.MjSpec):
        return spec
    check_model_file(Path(os.fspath(spec)))
    try:
        return mujoco.MjSpec.from_file(os.fspath(spec))
    except (ValueError, OSError) as error:
        raise ModelError(f"{spec} cannot be read as a model: {reason(error)}") from error
