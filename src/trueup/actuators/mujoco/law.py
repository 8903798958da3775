"""Identified servos on the joints of a MuJoCo model, as a compiled control law."""

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.actuators.catalogue.parameter_file import load_model
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.friction_models import FrictionModel
from trueup.actuators.equations.servo_equations import friction_loss
from trueup.errors import LawError, ModelError, did_you_mean, listing

if TYPE_CHECKING:
    import mujoco
    from mujoco.batch import Batch

    from trueup.simulation.control import TargetedLaw

_MEASURED = {"voltage": "measured_voltage", "warmth": "resistance_temperature"}
"""Channel of a measurement -> term that requires it."""


@dataclass(frozen=True)
class ServoLaw:
    """Servos on joints of a model; made by :func:`servo_law`."""

    spec: "mujoco.MjSpec"
    """The prepared model, before compilation; it can be modified and saved as XML."""
    law: "TargetedLaw"
    """Underlying control law, for direct use."""
    models: Mapping[str, ServoModel]
    """Joint -> servo."""
    channels: Mapping[str, Mapping[str, str]]
    """Channel -> joint -> actuator. Controls of ``goal`` are goals [rad], those of ``torque_off``
    release the joint (0 drives it, 1 releases it), those of ``voltage`` [V] and ``warmth`` [K above
    25 degrees C], if a servo requires them, are measurements. The force of ``motor`` is the torque
    of the motor."""
    kp: Mapping[str, float | None]
    """Joint -> firmware gain, None for that of the servo."""
    vin: Mapping[str, float | None]
    """Joint -> nominal bus voltage [V], None for that of the servo."""
    offsets: Mapping[str, float]
    """Joint -> angle of the joint at which the encoder reads 0 [rad]."""
    max_delay: float
    """Longest command delay that the prepared model supports [s]."""
    frictions: tuple[FrictionModel, ...] = ()
    """Friction models with custom equations that the prepared model supports."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the arrays of :meth:`state`."""
        return tuple(self.models)

    def compile(self) -> "mujoco.MjModel":
        """Compile the prepared model.

        Raises:
          ModelError: the modified model does not compile.
        """
        from trueup.simulation.targets.variants import compile_spec

        return compile_spec(self.spec, "the model with servos")

    def installed(
        self, *simulations: "mujoco.MjModel | mujoco.MjData | Batch"
    ) -> AbstractContextManager[None]:
        """Run the servos in all simulations stepped inside a ``with`` block.

        Args:
          simulations: models or simulations to check first, see
            :func:`trueup.simulation.control.installed`.

        Raises:
          LawError: a law is installed already, or a model is not prepared for it.
        """
        from trueup.simulation.control import installed

        return installed(self.law, *simulations)

    def start(
        self,
        simulation: "mujoco.MjData | Batch",
        models: Mapping[str, ServoModel | Sequence[ServoModel]] | None = None,
        *,
        kp: Mapping[str, Any] | ArrayLike | None = None,
        vin: Mapping[str, Any] | ArrayLike | None = None,
    ) -> None:
        """Reset the servos, optionally with other models, gains or voltages.

        A simulation starts by itself with the servos that the model was prepared for; this is for
        other servos, and for a reset of the servos alone. In a batch the armatures are written to
        the model of each simulation.

        Args:
          simulation: a ``Batch`` or an ``MjData`` of the compiled model.
          models: joint -> servo, or a sequence with one per simulation of the batch.
          kp: firmware gain of all joints, or one per simulation ``(n,)``, or joint -> either.
          vin: nominal bus voltage [V], likewise.

        Raises:
          LawError: an unknown joint, a wrong number of servos, a term that the model is not
            prepared for, or, with an ``MjData``, an armature other than that of the model.
        """
        from trueup.actuators.mujoco._servo_rows import constants_row, parameter_row

        check_joints(models or {}, self.joints)
        count = getattr(simulation, "nsim", None) or 1
        gains = per_joint(kp, self.joints, self.kp)
        volts = per_joint(vin, self.joints, self.vin)
        chosen = {}
        for joint in self.joints:
            given = (models or {}).get(joint, self.models[joint])
            each = [given] if isinstance(given, ServoModel) else list(given)
            if len(each) not in (1, count):
                raise LawError(
                    f"joint {joint!r}: {len(each)} servos for {count} simulations: pass one, or "
                    "one per simulation"
                )
            for model in each:
                self._check(model, joint)
            chosen[joint] = each if len(each) == count else each * count
        self._set_armatures(simulation, chosen)
        rows = np.empty((count, len(self.joints)), object)
        constants = rows.copy()
        for j, joint in enumerate(self.joints):
            gain, volt = (
                np.broadcast_to(np.asarray(each[joint], object), count) for each in (gains, volts)
            )
            for i, model in enumerate(chosen[joint]):
                rows[i, j] = parameter_row(model, self.frictions)
                constants[i, j] = constants_row(
                    model, gain[i], volt[i], self.offsets[joint], self.frictions
                )
        parts = {"parameters": np.array(rows.tolist()), "constants": np.array(constants.tolist())}
        if not hasattr(simulation, "nsim"):
            parts = {name: values[0] for name, values in parts.items()}
        parts["channels"] = command_places(self.channels, len(self.joints))
        self.law.start(simulation, parts)

    def controls(self, **commands: Mapping[str, Any]) -> np.ndarray:
        """Controls of the compiled model, ``(..., nu)``; all others are 0.

        Args:
          commands: ``goal``, ``torque_off``, ``voltage`` and ``warmth``, each with joint -> values;
            arrays of any shapes that broadcast.

        Raises:
          LawError: unknown channel or joint.
        """
        names = [actuator.name for actuator in self.spec.actuators]
        values: dict[int, np.ndarray] = {}
        for what, given in commands.items():
            channels = self.channels.get(what)
            if channels is None or what == "motor":
                known = [channel for channel in self.channels if channel != "motor"]
                raise LawError(
                    f"unknown channel {what!r}; available: {listing(known)}."
                    f"{did_you_mean(what, known)}"
                )
            check_joints(given, self.joints)
            for joint, value in given.items():
                values[names.index(channels[joint])] = np.asarray(value, float)
        shape = np.broadcast_shapes(*(value.shape for value in values.values()))
        controls = np.zeros((*shape, len(names)))
        for number, value in values.items():
            controls[..., number] = value
        return controls

    def state(self, simulation: "mujoco.MjData | Batch") -> dict[str, np.ndarray]:
        """Live views of the state of the law: ``(n, joints)`` in a batch, otherwise ``(joints,)``.

        It includes ``torque_motor``, ``torque_friction`` and ``torque_load`` [N m] and ``duty`` of
        the last step, and ``target`` [rad], the rate-limited target of the firmware.
        """
        return self.law.state(simulation)

    def failures(self, simulation: "mujoco.MjData | Batch") -> dict[int, str]:
        """Failed simulations and their messages; index 0 for an ``MjData``."""
        return self.law.failures(simulation)

    def _check(self, model: ServoModel, joint: str) -> None:
        """Raise a LawError if the prepared model does not support a servo."""
        if model.friction.loss is not friction_loss and model.friction not in self.frictions:
            raise LawError(
                f"joint {joint!r}: the prepared model does not support the friction model "
                f"{model.friction.name!r}: prepare it with a servo of that friction model"
            )
        delay = model.values.get("command_delay", 0.0)
        if delay > self.max_delay * (1.0 + 1e-12):
            raise LawError(
                f"joint {joint!r}: the command delay is {delay:g} s; the prepared model supports "
                f"at most {self.max_delay:g} s: pass a larger max_delay to servo_law"
            )
        for channel, term in _MEASURED.items():
            if model.values.get(term) and channel not in self.channels:
                raise LawError(
                    f"joint {joint!r}: the servo requires the channel {channel}, which the model "
                    f"does not have: prepare it with a servo that has the term {term!r}"
                )

    def _set_armatures(self, simulation: Any, chosen: Mapping[str, Sequence[ServoModel]]) -> None:
        model = simulation.model
        dofs = [int(model.joint(joint).dofadr[0]) for joint in self.joints]
        wanted = np.array([[m.values["armature"] for m in chosen[j]] for j in self.joints]).T
        if not hasattr(simulation, "nsim"):
            if not np.allclose(model.dof_armature[dofs], wanted[0], rtol=1e-9):
                raise LawError(
                    "the armatures of the servos differ from those of the model: prepare a model "
                    "for them, or start them in a batch, which stores armatures per simulation"
                )
        elif "dof_armature" in simulation._expanded or not np.allclose(
            model.dof_armature[dofs], wanted, rtol=1e-9
        ):
            simulation.expand("dof_armature")[:, dofs] = wanted
            simulation.set_const()


def servo_law(
    spec: "mujoco.MjSpec | str | os.PathLike[str]",
    servos: Mapping[str, ServoModel | str | os.PathLike[str]],
    *,
    kp: Mapping[str, float] | float | None = None,
    vin: Mapping[str, float] | float | None = None,
    offsets: Mapping[str, float] | None = None,
    max_delay: float | None = None,
) -> ServoLaw:
    """Identified servos on joints of a model, as a compiled control law.

    ::

        servos = servo_law("arm.xml", {"shoulder": "mx106_m6.json", "elbow": "mx64_m6.json"})
        model = servos.compile()
        batch = Batch(model, 100)
        with servos.installed(batch):
            recorded = batch.rollout(1000, servos.controls(goal={"elbow": goals}))

    The law runs in a ``Batch``, in a loop over ``mj_step`` and in the viewer, and resets itself
    with the simulation. An existing actuator of a joint becomes the channel of its goal and
    keeps its place among the controls; appended are a motor, and channels that release the joint
    or take measurements that servos require. Damping, frictionloss and force limit
    of the joints are removed and the armature is replaced, because the servo model includes them.

    Friction is a torque that the law computes. It is not MuJoCo's frictionloss, which is a soft
    constraint, would have to be written to the model of each simulation, and is read before a law
    runs.
    The torque is that of the bench simulator: it brings the joint to rest within the step if the
    budget of the friction model allows, with back-EMF and viscous friction implicit. A single
    joint moves in MuJoCo, with the Euler integrator, exactly as in the bench simulator at the
    same step. For coupled joints all budgets are solved for together, with their
    operational-space inertia (the inverse of their block of the inverse of the inertia matrix).
    Load-dependent friction uses the torque that would hold the joints still: gravity, springs and
    the motion of joints without a servo are those of the step; contacts, limits and other torques
    are estimated from the deviation of the last step from its prediction, one step late.

    With backlash the motor is a second body within its gap, which the law integrates; MuJoCo's
    joint then has the inertia of the load only. If both meet within a step, the joint angle
    is that of the end of the step, so it differs from the bench by up to a step.

    The cost of a step grows with the cube of the number of servos, which is small for dozens.

    Args:
      spec: the model or its file; not modified.
      servos: joint -> servo model or its file; hinges, or slides with a servo in N and m.
      kp: firmware gain of all servos, or joint -> gain; default: those of the servos.
      vin: nominal bus voltage [V], likewise.
      offsets: joint -> angle at which the encoder reads 0 [rad]; 0 by default. The ``q_offset`` of
        a servo model is that of the bench it was identified on, and is not used.
      max_delay: longest supported command delay [s]; default: that of the servos.

    Returns:
      The prepared model and the law.

    Raises:
      LawError: unknown joint, or one that is not a hinge or slide or has several actuators;
        max_delay is less than a servo's delay.
      ModelError: the model cannot be read or does not compile.
      ParameterError: a file of a servo cannot be read.
    """
    from trueup.actuators.mujoco._servo_control import servo_control
    from trueup.actuators.mujoco._servo_rows import constants_row, own_frictions, parameter_row
    from trueup.actuators.mujoco._servo_spec import with_servos
    from trueup.simulation.control import prepare_spec

    models = {
        joint: model if isinstance(model, ServoModel) else load_model(model)
        for joint, model in servos.items()
    }
    if not models:
        raise LawError("servo_law requires a servo for at least one joint")
    joints = tuple(models)
    terms = {name for model in models.values() for name, value in model.values.items() if value}
    further = [channel for channel, term in _MEASURED.items() if term in terms]
    armatures = {joint: model.values["armature"] for joint, model in models.items()}
    prepared, channels = with_servos(read_spec(spec), armatures, ("torque_off", *further))
    longest = max(model.values.get("command_delay", 0.0) for model in models.values())
    if max_delay is not None and not longest <= max_delay < math.inf:
        raise LawError(f"max_delay is {max_delay} s, but the servos require {longest:g} s")
    longest = longest if max_delay is None else max_delay
    steps = math.ceil(longest / prepared.option.timestep - 1e-9)
    # a law is compiled per size of its delay line: rounded sizes need few compilations
    steps = max(16, 2 ** math.ceil(math.log2(steps))) if steps > 1 else 1
    frictions = own_frictions(models.values())
    law = servo_control(steps, frictions).on(
        joints=joints,
        actuators=[channels["motor"][joint] for joint in joints],
        commands=[channels[c][j] for c in ("goal", "torque_off", *further) for j in joints],
    )
    gains, volts = per_joint(kp, joints, {}), per_joint(vin, joints, {})
    offset = dict.fromkeys(joints, 0.0) | dict(check_joints(offsets or {}, joints))
    defaults = {
        "parameters": np.array([parameter_row(models[joint], frictions) for joint in joints]),
        "constants": np.array(
            [constants_row(models[j], gains[j], volts[j], offset[j], frictions) for j in joints]
        ),
        "channels": command_places(channels, len(joints)),
    }
    prepared = prepare_spec(prepared, law, gains=defaults)
    return ServoLaw(prepared, law, models, channels, gains, volts, offset, longest, frictions)


def command_places(channels: Mapping[str, Any], joints: int) -> np.ndarray:
    """Offsets of voltages and temperatures in the command ``(2,)``, 0 for none."""
    further = [channel for channel in _MEASURED if channel in channels]
    return np.array(
        [joints * (2 + further.index(c)) if c in further else 0 for c in _MEASURED], float
    )


def check_joints(given: Mapping[str, Any], joints: Sequence[str]) -> Mapping[str, Any]:
    """The mapping; raises LawError for keys that are not joints with servos."""
    for joint in given:
        if joint not in joints:
            raise LawError(
                f"no servo on joint {joint!r}; joints with servos: {listing(joints)}."
                f"{did_you_mean(joint, joints)}"
            )
    return given


def per_joint(given: Any, joints: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Value of each joint, from one value or a mapping."""
    if given is not None and not isinstance(given, Mapping):
        return dict.fromkeys(joints, given)
    found = {joint: defaults.get(joint) for joint in joints}
    return found | dict(check_joints(given or {}, joints))


def read_spec(spec: Any) -> Any:
    """The spec, read from a file if it is a path; raises ModelError."""
    import mujoco

    from trueup.simulation.engine.warning_capture import captured_warnings
    from trueup.simulation.models.limits import check_model_file
    from trueup.simulation.targets.spec_view import plain

    if not isinstance(spec, str | os.PathLike):
        return plain(spec)
    if not Path(spec).is_file():
        raise ModelError(f"no such model file: {spec}")
    check_model_file(Path(spec))
    with captured_warnings():
        try:
            return mujoco.MjSpec.from_file(str(spec))
        except ValueError as error:
            raise ModelError(f"{spec} cannot be read as a MuJoCo model: {error}") from error
