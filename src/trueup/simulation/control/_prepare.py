"""Preparation of a model for a law: size of ``userdata``, the plan, and the targets by name."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import LawError, ModelError, did_you_mean, listing
from trueup.simulation.control import _userdata as u
from trueup.simulation.control._targeted_law import TargetedLaw
from trueup.simulation.control._targets import find_ids

_OBJECT_TYPES = {
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "command": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "sensor": mujoco.mjtObj.mjOBJ_SENSOR,
    "body": mujoco.mjtObj.mjOBJ_BODY,
}


def prepare_spec(
    spec: mujoco.MjSpec, law: TargetedLaw, gains: Mapping[str, ArrayLike] | None = None
) -> mujoco.MjSpec:
    """Return a copy of a spec that is prepared for a law.

    The copy reserves the ``userdata`` of the law, from index 0, and contains its plan as a custom
    numeric and the targets as a custom tuple. It can be changed further, compiled repeatedly, and
    saved as XML.

    Args:
        spec: the model; not changed.
        law: the law on its targets.
        gains: default gains, all of them. A simulation then starts with them automatically after
            a reset, as in the viewer; without them every simulation requires
            :meth:`TargetedLaw.start`.

    Returns:
        The prepared copy.

    Raises:
        LawError: a target does not exist or is of the wrong kind, the spec is already prepared for
            a law, or the law requires start().
        ModelError: the spec does not compile.
    """
    if any(numeric.name == u.ELEMENT_NAME for numeric in spec.numerics):
        raise LawError(
            "The spec is already prepared for a control law; prepare the original spec instead"
        )
    prepared = spec.copy()
    try:
        model = spec.copy().compile()
    except ValueError as error:
        raise ModelError(f"The model does not compile: {error}") from error
    if model.nuserdata:
        raise LawError(
            f"The model uses userdata (nuserdata {model.nuserdata}), which a control law "
            "requires: set nuserdata to 0"
        )
    ids = find_ids(model, law.targets)
    _check_targets(model, law, ids)
    sensor_values = int(sum(model.sensor_dim[index] for index in ids["sensor"]))
    counts = {group: len(found) for group, found in ids.items()}
    layout = u.make_layout(law.law.arguments.declared, counts, sensor_values)
    plan = u.encode_plan(layout, law.law.number, law.period_steps, _defaults(law, layout, gains))
    prepared.nuserdata = layout.size
    prepared.add_numeric(name=u.ELEMENT_NAME, data=plan.tolist())
    named = [(_OBJECT_TYPES[group], name) for group, names in law.targets.items() for name in names]
    if named:
        prepared.add_tuple(
            name=u.ELEMENT_NAME,
            objtype=[kind for kind, _ in named],
            objname=[name for _, name in named],
            objprm=[float(u.PLAN_MAGIC)] * len(named),
        )
    return prepared


def add_command_channels(
    spec: mujoco.MjSpec, actuators: Sequence[str], suffix: str = "_command"
) -> mujoco.MjSpec:
    """Return a copy of a spec with a command channel, an actuator without force, for each actuator.

    A law reads its command from the control of the new actuator and writes force to the control of
    the old one; the command is then not overwritten, and is a slider in the viewer.

    Args:
        spec: the model; not changed.
        actuators: names of actuators on joints.
        suffix: the new actuators are named ``<actuator><suffix>``.

    Returns:
        The copy; the new actuators come after all others.

    Raises:
        LawError: an actuator does not exist, does not act on a joint, or a name is taken.
    """
    copied = spec.copy()
    existing = {actuator.name: actuator for actuator in copied.actuators}
    for name in actuators:
        if name not in existing:
            raise LawError(
                f"The model has no actuator {name!r}; available: {listing(existing)}."
                f"{did_you_mean(name, existing)}"
            )
        if existing[name].trntype != mujoco.mjtTrn.mjTRN_JOINT:
            raise LawError(f"Actuator {name!r} does not act on a joint")
        if name + suffix in existing:
            raise LawError(f"The model already has an actuator {name + suffix!r}")
        channel = copied.add_actuator(name=name + suffix, target=existing[name].target)
        channel.trntype = mujoco.mjtTrn.mjTRN_JOINT
        channel.gaintype = mujoco.mjtGain.mjGAIN_FIXED
        channel.biastype = mujoco.mjtBias.mjBIAS_NONE
        channel.gainprm[0] = 0.0
    return copied


def _check_targets(model: mujoco.MjModel, law: TargetedLaw, ids: Mapping[str, list[int]]) -> None:
    name, arguments = law.law.name, law.law.arguments
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    for joint, index in zip(law.joints, ids["joint"], strict=True):
        if model.jnt_type[index] not in scalar:
            raise LawError(
                f"Joint {joint!r} is a ball or a free joint; control law {name!r} supports hinge "
                "and slide joints as targets, and reads others through qpos and qvel"
            )
    for group, names in (("actuator", law.actuators), ("command", law.commands)):
        for actuator, index in zip(names, ids[group], strict=True):
            if model.actuator_ctrlnum[index] != 1:
                raise LawError(
                    f"Actuator {actuator!r} has {model.actuator_ctrlnum[index]} controls; control "
                    f"law {name!r} supports actuators with one"
                )
    needed = {"sensor" if e == "sensor_value" else e for *_, ext in arguments.declared for e in ext}
    empty = [group for group in u.GROUPS if group in needed and not ids[group]]
    if empty:
        raise LawError(
            f"Control law {name!r} reads or writes one value for each {listing(empty)}, but has "
            f"no such targets: name them in on(...)"
        )


def _defaults(
    law: TargetedLaw, layout: u.Layout, gains: Mapping[str, ArrayLike] | None
) -> np.ndarray | None:
    if gains is None:
        return None
    arguments = law.law.arguments
    if arguments.derived or arguments.model_writes:
        reason = listing([*arguments.derived, *arguments.model_writes])
        raise LawError(
            f"Control law {law.law.name!r} cannot start automatically, because of {reason}: pass "
            "the gains to start() instead"
        )
    missing = [name for name in layout.names("gains") if name not in gains]
    if missing:
        raise LawError(
            f"Control law {law.law.name!r} requires all default gains or none; missing: "
            f"{listing(missing)}"
        )
    rows = np.zeros((1, layout.size))
    law._fill(rows, layout, "gains", gains)
    return rows[0, layout.block("gains")]
