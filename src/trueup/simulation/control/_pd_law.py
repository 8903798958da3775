"""Position loop of a servo: PD control with friction compensation and a delayed command."""

import functools
import math

from trueup.simulation.control._delay_line import delay_line, delayed
from trueup.simulation.control._law import ControlLaw, control_law

_DELAY_TOO_LONG = 1


@functools.cache
def pd_law(delay_steps: int = 32) -> ControlLaw:
    """Return a PD law with friction compensation and a delayed command.

    With the command ``c``, the position ``q`` and the velocity ``v`` of each joint, it writes::

        ctrl = kp (c(t - delay) - q) - kd v + friction tanh(v / friction_velocity)

    to an actuator with force proportional to its control (``<motor>``). The last term
    compensates Coulomb friction of the joint. Joints, actuators and commands are named in the same
    order in :meth:`ControlLaw.on`. Its gains, one per joint:

    - ``kp``: proportional gain [N m/rad, or N/m for a slide]
    - ``kd``: derivative gain [N m s/rad, or N s/m]
    - ``friction``: compensated Coulomb friction [N m, or N]
    - ``friction_velocity``: velocity at which tanh(1) = 76 % of it is reached [rad/s, or m/s]
    - ``delay``: delay of the command [s]; interpolated between runs of the law

    Args:
        delay_steps: longest delay, in runs of the law.
    """

    @control_law(
        gains=dict.fromkeys(("kp", "kd", "friction", "friction_velocity", "delay"), "joint"),
        state={"command_line": delay_line(delay_steps)},
        writes=["ctrl"],
        failures={
            _DELAY_TOO_LONG: f"the delay is negative or longer than {delay_steps} runs of the law"
        },
    )
    def pd(position, velocity, command, period, gains, state, ctrl_out):
        for i in range(len(position)):
            target = delayed(state.command_line[i], command[i], gains.delay[i] / period)
            if math.isnan(target):
                return _DELAY_TOO_LONG
            torque = gains.kp[i] * (target - position[i]) - gains.kd[i] * velocity[i]
            if gains.friction[i] != 0.0:
                torque += gains.friction[i] * math.tanh(velocity[i] / gains.friction_velocity[i])
            ctrl_out[i] = torque
        return 0

    return pd
