"""The model that networks run in: channels for commands, motors, and the weights."""

from typing import Any

import mujoco
import numpy as np

from trueup.actuators._servo_spec import _ON_JOINT, _fit_keys, _free_name, _make_channel
from trueup.errors import LawError, did_you_mean, listing
from trueup.networks._network_law import CHUNK
from trueup.simulation.variants import compile_spec


def with_channels(
    spec: Any, joints: tuple[str, ...], further: tuple[str, ...]
) -> tuple[Any, dict[str, dict[str, str]]]:
    """A copy of a spec with a goal, a motor and further channels for each joint.

    Args:
      spec: the model; left as it is.
      joints: names of the joints.
      further: further channels of each joint, by name.

    Returns:
      The copy, and for ``"goal"``, ``"motor"`` and each channel: joint -> name of the actuator.

    Raises:
      LawError: a joint does not exist, or has several actuators.
      ModelError: the spec does not compile.
    """
    copy = spec.copy()
    compiled = compile_spec(spec.copy(), "the model")
    existing = [joint.name for joint in copy.joints if joint.name]
    for name in joints:
        if name not in existing:
            raise LawError(
                f"the model has no joint {name!r}; it has {listing(existing)}."
                f"{did_you_mean(name, existing)}"
            )
    names: dict[str, dict[str, str]] = {kind: {} for kind in ("goal", "motor", *further)}
    taken = {actuator.name for actuator in copy.actuators}
    for name in joints:
        own = [a for a in copy.actuators if a.target == name and a.trntype in _ON_JOINT]
        if len(own) > 1:
            raise LawError(
                f"joint {name!r} has the actuators {listing(a.name for a in own)}: a network takes "
                "the place of one; remove the others from the model"
            )
        if own:
            _make_channel(own[0], compiled)
            names["goal"][name] = own[0].name = own[0].name or _free_name(f"{name}_goal", taken)
    for kind, found in names.items():
        for name in joints:
            if name in found:
                continue
            actuator = copy.add_actuator(
                name=_free_name(f"{name}_{kind}", taken),
                target=name,
                trntype=mujoco.mjtTrn.mjTRN_JOINT,
            )
            actuator.set_to_motor()
            if kind != "motor":
                actuator.gainprm[0] = 0.0
            found[name] = actuator.name
    _fit_keys(copy, compiled)
    return copy, names


def add_numbers(spec: Any, numbers: np.ndarray) -> None:
    """Put numbers into a spec as custom numerics, side by side in the compiled model."""
    for k, start in enumerate(range(0, len(numbers), CHUNK)):
        name = f"trueup_networks_{k}"
        spec.add_numeric(name=name, data=numbers[start : start + CHUNK].tolist())
