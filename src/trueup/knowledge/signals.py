"""Draws of delays, gains and biases of sensors and commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import mujoco
import numpy as np

from trueup.knowledge.draws import ModelField
from trueup.signals.model_signals import state_mappings
from trueup.simulation.measured.measurement import MeasurementRules

COMMAND_DELAY = "command delay"
"""Quantity of the delay of an actuator's command [s]."""


@dataclass(frozen=True)
class SignalDraw:
    """Draws of one number of the sensor model, for one signal."""

    quantity: str
    """``delay`` [s], ``gain`` or ``bias`` (unit of the signal); or :data:`COMMAND_DELAY`."""
    signal: str
    """Name of the signal, or of the actuator."""
    joint: str
    """Joint of a position signal, or joint driven by the actuator; empty for other signals."""
    values: np.ndarray
    """Drawn values ``(n,)``."""

    def to_dict(self) -> dict[str, Any]:
        """JSON values of the names, without the drawn values."""
        return {"quantity": self.quantity, "signal": self.signal, "joint": self.joint}


def signal_draws(
    rules: MeasurementRules,
    signals: list[str],
    model: mujoco.MjModel,
    table: dict[str, np.ndarray],
) -> list[SignalDraw]:
    """Draws of delays, gains and biases of signals.

    Args:
      rules: the measurement model.
      signals: names of the recorded signals.
      model: the model, with the sensors of joint positions.
      table: drawn values ``(n, size)`` by parameter.
    """
    out = []
    for signal in signals:
        delays = [r.parameter for r in rules.delays if fnmatchcase(signal, r.pattern)]
        if delays:  # the last rule that matches holds
            out.append(_draw("delay", signal, model, table[delays[-1]][:, 0]))
    for rule in rules.scales:
        matching = [s for s in signals if fnmatchcase(s, rule.pattern)]
        values = table[rule.parameter]
        for place, signal in enumerate(matching):
            column = place if values.shape[1] > 1 else 0
            if column < values.shape[1]:
                # a gain or bias on the measured side is the inverse of that of the sensor
                drawn = values[:, column]
                if rule.target == "measured":
                    drawn = 1.0 / drawn if rule.is_gain else -drawn
                out.append(_draw("gain" if rule.is_gain else "bias", signal, model, drawn))
    return out


def command_delays(
    fields: Sequence[ModelField], model: mujoco.MjModel
) -> tuple[list[ModelField], list[SignalDraw]]:
    """Fields without the delays of actuators, and these delays, which simulators count in steps."""
    delays = [f for f in fields if f.field == "actuator_delay"]
    return [f for f in fields if f.field != "actuator_delay"], [
        SignalDraw(COMMAND_DELAY, f.element, _driven_joint(f.element, model), f.values[:, 0])
        for f in delays
    ]


def _driven_joint(actuator: str, model: mujoco.MjModel) -> str:
    joint = mujoco.mjtTrn.mjTRN_JOINT
    number = model.actuator(actuator).id
    if model.actuator_trntype[number] != joint:
        return ""
    return model.joint(int(model.actuator_trnid[number, 0])).name


def _draw(quantity: str, signal: str, model: mujoco.MjModel, values: np.ndarray) -> SignalDraw:
    return SignalDraw(quantity, signal, _measured_joint(signal, model), values)


def _measured_joint(signal: str, model: mujoco.MjModel) -> str:
    positions, _, _, _ = state_mappings(model)
    if signal in positions:
        return signal.removesuffix("_qpos")
    sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, signal)
    if sensor >= 0 and model.sensor_type[sensor] == mujoco.mjtSensor.mjSENS_JOINTPOS:
        return model.joint(int(model.sensor_objid[sensor])).name
    return ""
