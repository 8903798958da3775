"""Recorded controls in the order of the actuators of a model."""

import mujoco
import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals.model_signals import control_mapping
from trueup.signals.signal_type import SignalType
from trueup.signals.time_series import TimeSeries


def control_columns(model: mujoco.MjModel, control: TimeSeries) -> np.ndarray | None:
    """Return the column of ``control`` for each actuator of the model, shape (nu,).

    Columns are found by name where the series names controls (``<actuator>_ctrl`` or the bare name
    of the actuator), whatever their order.

    Returns:
        The columns, or None if they already are in the order of the actuators.

    Raises:
        SignalError: a wrong number of columns, a control that the model does not have, or an
            actuator without a control.
    """
    data = control.data
    width = data.shape[1] if data.ndim == 2 else -1
    named = {
        name: columns
        for name, (signal_type, columns) in (control.signal_mapping or {}).items()
        if signal_type is SignalType.MjCtrl
    }
    if width != model.nu and (width < 0 or not named):
        raise SignalError(
            f"Control data dimension {data.shape[1:]} does not match the model's {model.nu} "
            f"actuators: {listing(control_mapping(model))}."
        )
    if not named:
        return None
    actuators = list(control_mapping(model))
    by_name: dict[str, int] = {}
    for name, columns in named.items():
        full = name if name in actuators else name + "_ctrl"
        if full not in actuators:
            raise SignalError(
                f"The model has no actuator for the control {name!r}."
                f"{did_you_mean(name, actuators)} Available names: {listing(actuators)}."
            )
        if len(columns) != 1 or not 0 <= columns[0] < width:
            raise SignalError(
                f"Control {name!r} refers to columns {np.asarray(columns).tolist()} of {width}: "
                "an actuator has one column."
            )
        if full in by_name:
            raise SignalError(f"The control of {full!r} is given twice.")
        by_name[full] = int(columns[0])
    missing = [name for name in actuators if name not in by_name]
    if missing:
        raise SignalError(
            f"Missing controls: {listing(missing)}. Every actuator requires a control, even if "
            "zero."
        )
    order = np.array([by_name[name] for name in actuators], dtype=int)
    return None if order.tolist() == list(range(width)) else order


def control_in_model_order(model: mujoco.MjModel, control: TimeSeries) -> np.ndarray:
    """Return the controls with one column per actuator, in the model's order, shape (n, nu).

    Raises:
        SignalError: see :func:`control_columns`.
    """
    columns = control_columns(model, control)
    return control.data if columns is None else control.data.take(columns, axis=1)
