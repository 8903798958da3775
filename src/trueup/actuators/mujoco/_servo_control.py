"""The control law of servos: what it keeps in each simulation, and the compiled step it calls."""

import functools

from trueup.actuators.equations.friction_models import FrictionModel, frictions_layout
from trueup.actuators.equations.servo_equations import friction_loss
from trueup.actuators.mujoco._servo_law_kernel import (
    DELAY_TOO_LONG,
    N_CONSTANTS,
    NOT_POSITIVE_DEFINITE,
    servo_step,
)
from trueup.simulation.control import ControlLaw, control_law, delay_line

FAILURES = {
    DELAY_TOO_LONG: "a command delay is longer than the model was prepared for: give max_delay",
    NOT_POSITIVE_DEFINITE: "the inertia of the joints is not positive definite",
}
"""What the failure codes of the law mean."""


@functools.cache
def servo_control(delay_steps: int, frictions: tuple[FrictionModel, ...]) -> ControlLaw:
    """The law of servos with commands that are delayed by at most so many time steps.

    ``frictions`` are friction models with equations of their own that servos may have.

    Its gains: ``parameters``, a row for each joint as the compiled bench reads it; ``constants`` of
    the firmware, a row for each joint; ``channels``, the places of bus voltages and of temperatures
    among the commands, 0 for none. Commands are goals, torque off, then those two.
    """
    columns = frictions_layout(frictions).names
    step = servo_step((friction_loss, *(model.loss for model in frictions)), columns)

    def servos(
        position, velocity, command, timestep, gains, state, targets, jnt_dofadr, qfrc_bias,
        qfrc_passive, M, qLD, qLDiagInv, M_rownnz, M_rowadr, M_colind, ctrl_out, qfrc_applied_out,
    ):  # fmt: skip
        """Torque of all motors and their friction for one step."""
        return step(
            timestep, position, velocity, command, int(gains.channels[0]), int(gains.channels[1]),
            gains.parameters, gains.constants, state.started, state.target, state.speed_expected,
            state.goal_line, state.enable_line, state.torque_motor, state.torque_friction,
            state.torque_load, state.duty, state.gap, state.speed_motor, state.is_open,
            targets.joint, jnt_dofadr, qfrc_bias, qfrc_passive, M, qLD, qLDiagInv, M_rownnz,
            M_rowadr, M_colind, ctrl_out, qfrc_applied_out,
        )  # fmt: skip

    return control_law(
        gains={
            "parameters": ("joint", len(columns)),
            "constants": ("joint", N_CONSTANTS),
            "channels": 2,
        },
        state={
            "started": 1,
            "target": "joint",
            "speed_expected": "joint",
            "torque_motor": "joint",
            "torque_friction": "joint",
            "torque_load": "joint",
            "duty": "joint",
            "gap": "joint",
            "speed_motor": "joint",
            "is_open": "joint",
            "goal_line": delay_line(delay_steps),
            "enable_line": delay_line(delay_steps),
        },
        writes=["ctrl", "qfrc_applied"],
        failures=FAILURES,
    )(servos)
