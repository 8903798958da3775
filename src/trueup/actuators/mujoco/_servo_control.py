"""The control law of servos: its state in each simulation, and its compiled step."""

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
    DELAY_TOO_LONG: "a command delay exceeds that of the prepared model: pass a larger max_delay",
    NOT_POSITIVE_DEFINITE: "the inertia of the joints is not positive definite",
}
"""Messages of the failure codes of the law."""


@functools.cache
def servo_control(delay_steps: int, frictions: tuple[FrictionModel, ...]) -> ControlLaw:
    """Control law of servos with command delays of at most ``delay_steps`` time steps.

    ``frictions`` are the friction models with custom equations that servos may have.
    Gains of the law: ``parameters``, a row for each joint as in the compiled bench; ``constants``
    of the firmware, a row for each joint; ``channels``, the offsets of bus voltages and
    temperatures in the command, 0 for none. The command is goals, torque off, then those two.
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
