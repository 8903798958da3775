"""Whole servo model as a drive of Newton's actuators, in a module that runs without trueup.

Newton, https://github.com/newton-physics/newton, 1.8: ``newton.actuators``.
"""

from trueup.deploy import servo_step
from trueup.deploy.servo import ExportRequest, ServoExport
from trueup.deploy.servo_module import check_no_backlash, servo_module
from trueup.deploy.servo_source import servo_source

_CLASSES = '''
import warp
from newton.actuators import DriveBase


class DriveServo(DriveBase):
    """Drive of Newton's ``Actuator``: joints with this servo; friction is part of the effort.

    Set the armature of the joints to ``ARMATURE``. ``newton.actuators.Actuator(indices,
    drive=DriveServo(load_inertia=...))`` steps it; the state stores the previous step.

    Args:
      load_inertia, kp, kd, vin: as in :class:`Servo`; the inertia has no default.
    """

    class State(DriveBase.State):
        """State of the servo."""

        def __init__(self):
            self.servo = None

        def reset(self, mask=None):
            """Reset joints; without a mask, all."""
            if self.servo is not None:
                self.servo.reset(slice(None) if mask is None else warp.to_torch(mask).bool())

        def assign(self, other):
            """Copy another state."""
            self.servo = None if other.servo is None else copy.deepcopy(other.servo)

    def __init__(self, *, load_inertia=None, kp=KP, kd=DAMPING, vin=VIN):
        self._settings = dict(load_inertia=moved_inertia(load_inertia), kp=kp, kd=kd, vin=vin)
        self.external_torque = None
        """External torque on the joints [N m], a tensor (joints,); None: see :class:`Servo`."""
        self.torque_enable = 1.0
        """Whether the servo is driven, 0 or 1; a number or (joints,)."""

    @classmethod
    def resolve_arguments(cls, args):
        """Arguments with their defaults."""
        known = {"load_inertia": None, "kp": KP, "kd": DAMPING, "vin": VIN}
        if unknown := sorted(set(args) - set(known)):
            raise ValueError(f"DriveServo has no arguments {unknown}; available: {sorted(known)}")
        found = {**known, **args}
        moved_inertia(found["load_inertia"])
        return found

    def is_stateful(self):
        """Whether the drive has a state."""
        return True

    def is_graphable(self):
        """Whether the drive supports CUDA graphs; it does not, because its step runs in torch."""
        return False

    def state(self, num_actuators, device):
        """Initial state."""
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
        """Copy the state to the next one."""
        next_state.assign(current_state)
'''


def write_servo(request: ExportRequest) -> ServoExport:
    """Module with a drive for Newton's actuators, ``DriveServo``.

    Raises:
      FitError: the model has backlash.
    """
    check_no_backlash(request.model, "Newton")
    steps = (servo_step.moved_inertia, servo_step.Servo)
    source = servo_source(request.model, "torch", steps).strip()
    use = "``DriveServo`` is a drive of ``newton.actuators.Actuator``."
    return servo_module(request, "torch and Newton", use, f"import copy\n{source}\n\n{_CLASSES}")
