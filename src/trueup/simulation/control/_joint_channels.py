"""Command channels of joints in a model (actuators without force), and their motors."""

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np

from trueup.errors import LawError, did_you_mean, listing
from trueup.simulation.targets.variants import compile_spec

_ON_JOINT = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)


def with_channels(
    spec: Any, joints: Iterable[str], further: tuple[str, ...], what: str
) -> tuple[Any, dict[str, dict[str, str]]]:
    """A copy of a spec with a goal, a motor and further channels for each joint.

    An existing actuator of a joint becomes the channel of its goal: its name, its index among the
    controls and its control range are kept, its force is removed.

    Args:
      spec: the model; not changed.
      joints: names of the joints.
      further: further channels of each joint, by suffix.
      what: replacement of a joint's actuator, for messages, such as ``"a servo"``.

    Returns:
      The copy, and for ``"goal"``, ``"motor"`` and each channel: joint -> name of the actuator.

    Raises:
      LawError: a joint does not exist, or has several actuators.
      ModelError: the spec does not compile.
    """
    joints = tuple(joints)
    copy = spec.copy()
    compiled = compile_spec(spec.copy(), "the model")
    existing = [joint.name for joint in copy.joints if joint.name]
    for name in joints:
        if name not in existing:
            raise LawError(
                f"the model has no joint {name!r}; available: {listing(existing)}."
                f"{did_you_mean(name, existing)}"
            )
    names: dict[str, dict[str, str]] = {kind: {} for kind in ("goal", "motor", *further)}
    taken = {actuator.name for actuator in copy.actuators}
    for name in joints:
        own = [a for a in copy.actuators if a.target == name and a.trntype in _ON_JOINT]
        if len(own) > 1:
            raise LawError(
                f"joint {name!r} has several actuators, {listing(a.name for a in own)}: {what} "
                "replaces one; remove the others from the model"
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


def _free_name(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def _make_channel(actuator: Any, compiled: mujoco.MjModel) -> None:
    """Remove the force of an actuator; its name, control and range are kept."""
    number = actuator.id
    limited = bool(compiled.actuator_ctrllimited[number])
    ctrlrange = compiled.actuator_ctrlrange[number].tolist()
    actuator.set_to_motor()
    actuator.gainprm[0] = 0.0
    actuator.gear = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    actuator.armature = 0.0
    actuator.damping = np.zeros_like(actuator.damping)
    actuator.nsample = 0
    actuator.delay = 0.0
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_FALSE
    actuator.actlimited = mujoco.mjtLimited.mjLIMITED_FALSE
    actuator.inheritrange = 0.0
    sides = mujoco.mjtLimited
    actuator.ctrllimited = sides.mjLIMITED_TRUE if limited else sides.mjLIMITED_FALSE
    actuator.ctrlrange = ctrlrange


def _fit_keys(spec: Any, before: mujoco.MjModel) -> None:
    """Update controls and activations of keyframes for the current actuators."""
    kept = []
    for actuator in list(spec.actuators)[: before.nactuator]:
        start, count = (
            int(array[actuator.id]) for array in (before.actuator_actadr, before.actuator_actnum)
        )
        if count > 0 and actuator.dyntype != mujoco.mjtDyn.mjDYN_NONE:
            kept += range(start, start + count)
    added = len(spec.actuators) - before.nactuator
    for number, key in enumerate(spec.keys):
        key.ctrl = np.concatenate([before.key_ctrl[number], np.zeros(added)])
        key.act = before.key_act[number, kept]
