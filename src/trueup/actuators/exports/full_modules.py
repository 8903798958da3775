"""Exports of the whole model as one Python module that runs without trueup.

``numpy-module`` needs numpy; the others torch and their simulator: a class for Isaac Lab's
``actuators``, one for mjlab, and a drive for Newton's actuators. Each contains the equations that
:mod:`trueup.actuators.exports.model_source` writes.
"""

import math
import re
from collections.abc import Sequence

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.exports import servo_step
from trueup.actuators.exports.mjlab_source import mjlab_source
from trueup.actuators.exports.model_source import servo_source
from trueup.actuators.exports.servo_export import ExportRequest, ServoExport, printable_name
from trueup.errors import FitError

_HEAD = '''\
"""Servo {name}, friction model {friction}{terms}: the whole identified model.

Written by trueup; needs {needs}, not trueup.
{use}
"""
'''

_ISAAC_LAB = '''
import re
from dataclasses import MISSING

import torch
from isaaclab.actuators import IdealPDActuator, IdealPDActuatorCfg
from isaaclab.utils import configclass


def of_joints(value, joint_names, device):
    """Values of joints; a dictionary gives them by regular expressions of the joints' names."""
    if not isinstance(value, dict):
        return value
    found = [[v for key, v in value.items() if re.fullmatch(key, n)] for n in joint_names]
    unused = [k for k in value if not any(re.fullmatch(k, name) for name in joint_names)]
    wrong = [n for n, values in zip(joint_names, found) if len(values) != 1]
    if wrong or unused:
        raise ValueError(
            f"load_inertia gives one value to each joint: {wrong} have none or several, {unused} "
            f"name no joint; the joints are {list(joint_names)}"
        )
    numbers = []
    for name, (given,) in zip(joint_names, found):
        try:
            numbers.append(math.nan if isinstance(given, (bool, str)) else float(given))
        except (TypeError, ValueError):
            numbers.append(math.nan)
        if not 0.0 <= numbers[-1] < math.inf:
            raise ValueError(
                f"load_inertia of the joint {name!r} is {given!r}: give the inertia that it moves "
                "besides the armature [kg m2], a number from 0 for a bare motor"
            )
    return torch.tensor(numbers, device=device)


class ServoActuator(IdealPDActuator):
    """Joints of an articulation with this servo; friction is part of the effort."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        step, inertia = (None if v is MISSING else v for v in (cfg.physics_dt, cfg.load_inertia))
        inertia = of_joints(inertia, self.joint_names, self._device)
        self.servo = Servo(step, load_inertia=inertia, kp=cfg.kp, kd=cfg.kd, vin=cfg.vin)
        self.external_torque = None
        """Torque of all else on the joints [N m], (environments, joints), where it is known; None:
        that of the last step, from the change of speed."""
        self.torque_enable = 1.0
        """Whether the servo is driven, 0 or 1; a number or (environments, joints)."""

    def reset(self, env_ids):
        """Start environments anew."""
        self.servo.reset(slice(None) if env_ids is None else env_ids)

    def compute(self, control_action, joint_pos, joint_vel):
        """Efforts of the next physics step."""
        goal = control_action.joint_positions
        effort = self.servo.torque(
            goal, joint_pos, joint_vel, self.external_torque, self.torque_enable
        )
        self.computed_effort = effort
        self.applied_effort = self._clip_effort(effort)
        control_action.joint_efforts = self.applied_effort
        control_action.joint_positions = None
        control_action.joint_velocities = None
        return control_action


@configclass
class ServoActuatorCfg(IdealPDActuatorCfg):
    """Settings of joints with this servo.

    ``joint_names_expr``, ``physics_dt`` and ``load_inertia`` have no default.
    """

    class_type: type = ServoActuator
    stiffness = 0.0
    damping = 0.0
    friction = 0.0
    armature = ARMATURE
    effort_limit = 1.0e9
    physics_dt: float = MISSING
    """Time step of the simulation [s], ``sim.dt``."""
    load_inertia: float | dict[str, float] = MISSING
    """Inertia that a joint moves besides the armature [kg m2]; several joints by regular
    expressions of their names. ``actuator.servo.load_inertia`` can follow the pose."""
    kp: float = KP
    """Firmware gain."""
    kd: float = DAMPING
    """Derivative gain of servos that have one."""
    vin: float = VIN
    """Bus voltage [V]."""
'''

_NEWTON = '''
import warp
from newton.actuators import DriveBase


class DriveServo(DriveBase):
    """Drive of Newton's ``Actuator``: joints with this servo; friction is part of the effort.

    Set the armature of the joints to ``ARMATURE``. ``newton.actuators.Actuator(indices,
    drive=DriveServo(load_inertia=...))`` steps it; the state holds the step before.

    Args:
      load_inertia, kp, kd, vin: as in :class:`Servo`; the inertia has no default.
    """

    class State(DriveBase.State):
        """The servo's memory."""

        def __init__(self):
            self.servo = None

        def reset(self, mask=None):
            """Start joints anew; all where there is no mask."""
            if self.servo is not None:
                self.servo.reset(slice(None) if mask is None else warp.to_torch(mask).bool())

        def assign(self, other):
            """Take over the memory of another state."""
            self.servo = None if other.servo is None else copy.deepcopy(other.servo)

    def __init__(self, *, load_inertia=None, kp=KP, kd=DAMPING, vin=VIN):
        self._settings = dict(load_inertia=moved_inertia(load_inertia), kp=kp, kd=kd, vin=vin)
        self.external_torque = None
        """Torque of all else on the joints [N m], a tensor (joints,); None: see :class:`Servo`."""
        self.torque_enable = 1.0
        """Whether the servo is driven, 0 or 1; a number or (joints,)."""

    @classmethod
    def resolve_arguments(cls, args):
        """Arguments with their defaults."""
        known = {"load_inertia": None, "kp": KP, "kd": DAMPING, "vin": VIN}
        if unknown := sorted(set(args) - set(known)):
            raise ValueError(f"DriveServo has no arguments {unknown}; it has {sorted(known)}")
        found = {**known, **args}
        moved_inertia(found["load_inertia"])
        return found

    def is_stateful(self):
        """The servo remembers the last step."""
        return True

    def is_graphable(self):
        """Not captured in a CUDA graph: the step runs in torch."""
        return False

    def state(self, num_actuators, device):
        """An empty memory."""
        return self.State()

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices,
        vel_indices, target_pos_indices, target_vel_indices, forces, state, dt, device=None,
        *, custom_inputs=None,
    ):
        """Write the efforts of the next step to ``forces``."""
        if state.servo is None or state.servo.timestep != dt:
            state.servo = Servo(dt, **self._settings)

        def of(values, indices):
            return warp.to_torch(values)[warp.to_torch(indices).long()]

        goal = of(target_pos, target_pos_indices)
        position, speed = of(positions, pos_indices), of(velocities, vel_indices)
        self._stepped = state.servo
        warp.to_torch(forces).copy_(
            state.servo.torque(goal, position, speed, self.external_torque, self.torque_enable)
        )

    def update_state(self, current_state, next_state):
        """The memory moves on to the next state."""
        next_state.assign(current_state)
'''


def numpy_module(request: ExportRequest) -> ServoExport:
    """Module of numpy: ``Servo`` gives torques, ``Bench`` moves joints with a load."""
    use = "``Servo`` gives torques to a simulator, ``Bench`` steps a load itself."
    steps = (servo_step.moved_inertia, servo_step.Servo, servo_step.Bench)
    source = servo_source(request.model, "numpy", steps)
    return _module(request, "numpy", use, source)


def isaac_lab_module(request: ExportRequest) -> ServoExport:
    """Module with an actuator of Isaac Lab: ``ServoActuatorCfg`` among an articulation's actuators.

    Raises:
      FitError: the model has backlash.
    """
    use = "``ServoActuatorCfg``, with ``physics_dt`` and ``load_inertia``, goes among the\\n" \
          "actuators of an articulation."  # fmt: skip
    return _module(request, "torch and Isaac Lab", use, actuator_source(request.model, "isaaclab"))


def newton_module(request: ExportRequest) -> ServoExport:
    """Module with a drive for Newton's actuators, ``DriveServo``.

    Raises:
      FitError: the model has backlash.
    """
    use = "``DriveServo`` is a drive of ``newton.actuators.Actuator``."
    return _module(request, "torch and Newton", use, actuator_source(request.model, "newton"))


def mjlab_module(request: ExportRequest) -> ServoExport:
    """Module with an actuator of mjlab, ``ServoActuatorCfg``, as in ``trueup.actuators.mjlab``.

    Raises:
      FitError: the model has backlash.
    """
    use = "``ServoActuatorCfg`` goes among the actuators of an entity, and the event\\n" \
          "``prepare_servo_fields`` of mode startup among those of the environment."  # fmt: skip
    return _module(request, "torch and mjlab", use, actuator_source(request.model, "mjlab"))


def actuator_source(model: ServoModel, simulator: str, drawn: Sequence[str] = ()) -> str:
    """Imports, equations and actuator classes of a servo for a simulator.

    Args:
      model: identified servo.
      simulator: ``"isaaclab"``, ``"newton"`` or ``"mjlab"``.
      drawn: parameters that stand in the module's table ``NUMBERS``, see :func:`servo_source`.

    Raises:
      FitError: the model has backlash.
    """
    name = {"isaaclab": "Isaac Lab", "newton": "Newton", "mjlab": "mjlab"}[simulator]
    if "backlash" in model.terms:
        raise FitError(
            f"backlash needs a second body between motor and joint, which an actuator of "
            f"{name} cannot add: fit the servo without it, or take the form 'numpy-module'"
        )
    steps = () if simulator == "mjlab" else (servo_step.moved_inertia, servo_step.Servo)
    source = servo_source(model, "torch", steps, drawn).strip()
    if simulator == "mjlab":
        return f"{source}\n\n{mjlab_source(model)}"
    if simulator == "newton":
        return f"import copy\n{source}\n\n{_NEWTON}"
    return f"{source}\n\n{_ISAAC_LAB}"


def _module(request: ExportRequest, needs: str, use: str, source: str) -> ServoExport:
    model = request.model
    terms = "".join(f", {name.replace('_', ' ')}" for name in model.terms)
    head = _HEAD.format(
        name=printable_name(model), friction=model.friction.name, terms=terms, needs=needs,
        use=use.replace("\\n", "\n"),
    )  # fmt: skip
    for name, value in (("KP", request.kp), ("VIN", request.supply)):
        if value is not None and math.isfinite(value):
            source = re.sub(rf"^{name} = .*$", f"{name} = {float(value)!r}", source, flags=re.M)
    return ServoExport(f"{head}\n{source.strip()}\n")
