"""States of MuJoCo's ``dcmotor``: their indices in ``act``, and the torque of a motor at rest.

Each motor has the states that its parameters require, in the order of ``mj_dcmotorSlots``:
rate-limited setpoint, integral, temperature, bristle, current. The torque command ``T`` of a
controller becomes the voltage ``T R / K``, limited to the supply.
"""

import mujoco
import numpy as np

_INPUT = mujoco.mjtCtrlInput


def inputs(model: mujoco.MjModel, actuator: int, commands: np.ndarray) -> dict[int, np.ndarray]:
    """Commands of an actuator ``(n,)`` by the bit of its input, in the order of its controls.

    Args:
      model: the model.
      actuator: its index; gain type ``pid`` or ``dcmotor``.
      commands: commands of all actuators ``(n, nu)``.
    """
    present = int(model.actuator_ctrlspec[actuator])
    bits = [int(b) for b in (_INPUT.mjINPUT_POS, _INPUT.mjINPUT_VEL, _INPUT.mjINPUT_FF,
                             _INPUT.mjINPUT_VOLTAGE) if present & int(b)]  # fmt: skip
    first = int(model.actuator_ctrladr[actuator])
    return {bit: commands[:, first + k] for k, bit in enumerate(bits)}


class DcMotor:
    """One actuator of dynamics ``dcmotor``.

    Args:
      model: the model; its parameters determine which states exist.
      actuator: index of the actuator.
    """

    def __init__(self, model: mujoco.MjModel, actuator: int):
        self.model, self.actuator = model, actuator
        dynamics, gain = model.actuator_dynprm[actuator], model.actuator_gainprm[actuator]
        present = [dynamics[7] > 0, gain[5] > 0, dynamics[2] > 0, dynamics[5] > 0, dynamics[0] > 0]
        places = [sum(present[:k]) if present[k] else -1 for k in range(5)]
        self.slew, self.integral, self.temperature, self.bristle, self.current = places
        """Index of each state relative to the first of the motor; -1 for none."""

    def torque(
        self,
        commands: np.ndarray,
        length: np.ndarray,
        integral: np.ndarray | float,
        gain: np.ndarray,
    ) -> np.ndarray:
        """Torque ``(n,)`` of a cool motor at rest, without the limit of its supply.

        Args:
          commands: commands of all actuators ``(n, nu)``.
          length: of the transmission ``(n,)``.
          integral: state of the controller, ``(n,)`` or a number.
          gain: ``actuator_gainprm`` of the motor ``(n, 10)``.
        """
        given = inputs(self.model, self.actuator, commands)
        constant = gain[:, 1] / np.maximum(gain[:, 0], mujoco.mjMINVAL)
        out = given.get(int(_INPUT.mjINPUT_VOLTAGE), 0.0) * constant
        if set(given) - {int(_INPUT.mjINPUT_VOLTAGE)}:
            out = out + gain[:, 4] * (given.get(int(_INPUT.mjINPUT_POS), 0.0) - length)
            out = out + gain[:, 5] * integral
            out = out + gain[:, 6] * given.get(int(_INPUT.mjINPUT_VEL), 0.0)
            out = out + given.get(int(_INPUT.mjINPUT_FF), 0.0)
        return out

    def warmth(self, states: np.ndarray, gain: np.ndarray, dynamics: np.ndarray) -> np.ndarray:
        """Resistance ``(n,)`` relative to that at the reference temperature.

        The voltage does not depend on it: torque and current are divided by it.

        Args:
          states: states of the motor ``(n, states)``.
          gain: ``actuator_gainprm`` of the motor ``(n, 10)``.
          dynamics: ``actuator_dynprm`` of the motor ``(n, 10)``.
        """
        if self.temperature < 0:
            return np.ones(len(gain))
        above = states[:, self.temperature] + dynamics[:, 4] - gain[:, 3]
        return np.maximum(1.0 + gain[:, 2] * above, mujoco.mjMINVAL)

    def most(self, gain: np.ndarray) -> np.ndarray:
        """Maximum torque ``(n,)`` of a cool motor at rest, limited by the supply."""
        constant = gain[:, 1] / np.maximum(gain[:, 0], mujoco.mjMINVAL)
        return np.where(gain[:, 7] > 0, gain[:, 7] * constant, np.inf)
