"""Whole servo model as an actuator class of Isaac Lab, in a module that runs without trueup.

Isaac Lab, https://github.com/isaac-sim/IsaacLab, 2.3: ``isaaclab.actuators``.
"""

from collections.abc import Sequence

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy import servo_step
from trueup.deploy.servo import ExportRequest, ServoExport
from trueup.deploy.servo_module import check_no_backlash, servo_module
from trueup.deploy.servo_source import servo_source

_USE = """\
``ServoActuatorCfg``, with ``physics_dt`` and ``load_inertia``, belongs in the
actuators of an articulation."""

_CLASSES = '''
import re
from dataclasses import MISSING

import torch
from isaaclab.actuators import IdealPDActuator, IdealPDActuatorCfg
from isaaclab.utils import configclass


def of_joints(value, joint_names, device):
    """Values per joint; keys of a dictionary are regular expressions of joint names."""
    if not isinstance(value, dict):
        return value
    found = [[v for key, v in value.items() if re.fullmatch(key, n)] for n in joint_names]
    unused = [k for k in value if not any(re.fullmatch(k, name) for name in joint_names)]
    wrong = [n for n, values in zip(joint_names, found) if len(values) != 1]
    if wrong or unused:
        raise ValueError(
            f"load_inertia requires one value per joint: {wrong} have none or several, {unused} "
            f"match no joint; the joints are {list(joint_names)}"
        )
    numbers = []
    for name, (given,) in zip(joint_names, found):
        try:
            numbers.append(math.nan if isinstance(given, (bool, str)) else float(given))
        except (TypeError, ValueError):
            numbers.append(math.nan)
        if not 0.0 <= numbers[-1] < math.inf:
            raise ValueError(
                f"load_inertia of the joint {name!r} is {given!r}: set it to the inertia that the "
                "joint moves in addition to the armature [kg m2], at least 0 (a bare motor)"
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
        """Torque of all else on the joints [N m], (environments, joints), if known; None:
        estimated from the speed change of the last step."""
        self.torque_enable = 1.0
        """Whether the servo is driven, 0 or 1; a number or (environments, joints)."""

    def reset(self, env_ids):
        """Reset environments."""
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
    """Inertia that a joint moves in addition to the armature [kg m2]; per joint by regular
    expressions of their names. ``actuator.servo.load_inertia`` can follow the pose."""
    kp: float = KP
    """Firmware gain."""
    kd: float = DAMPING
    """Derivative gain, for servos with one."""
    vin: float = VIN
    """Bus voltage [V]."""
'''


def write_servo(request: ExportRequest) -> ServoExport:
    """Module with an actuator of Isaac Lab: ``ServoActuatorCfg``, for an articulation's actuators.

    Raises:
      FitError: the model has backlash.
    """
    return servo_module(request, "torch and Isaac Lab", _USE, actuator_source(request.model))


def actuator_source(model: ServoModel, drawn: Sequence[str] = ()) -> str:
    """Imports, equations and actuator classes of a servo.

    Args:
      model: identified servo.
      drawn: parameters read from the module's table ``NUMBERS``, see :func:`servo_source`.

    Raises:
      FitError: the model has backlash.
    """
    check_no_backlash(model, "Isaac Lab")
    steps = (servo_step.moved_inertia, servo_step.Servo)
    return f"{servo_source(model, 'torch', steps, drawn).strip()}\n\n{_CLASSES}"
