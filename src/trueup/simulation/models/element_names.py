"""Names of joints and actuators that a model leaves without one, as its signals call them."""

import re
from typing import Any

import mujoco

_GENERATED = re.compile(r"unnamed_(joint|actuator)_\d+_*")


def name_elements(spec: Any) -> None:
    """Name the joints and actuators of an ``MjSpec`` that have no name, so that targets reach them.

    A free joint is left as it is: it is known by its body.
    """
    for kind, elements in (("joint", spec.joints), ("actuator", spec.actuators)):
        taken = {element.name for element in elements}
        for number, element in enumerate(elements):
            free = kind == "joint" and element.type == mujoco.mjtJoint.mjJNT_FREE
            if not element.name and not free:
                name = f"unnamed_{kind}_{number}"
                while name in taken:
                    name += "_"
                element.name = name
                taken.add(name)


def is_generated(name: str) -> bool:
    """Whether a name is one of :func:`name_elements`, which the file of the model does not have."""
    return _GENERATED.fullmatch(name) is not None


def joint_label(model: mujoco.MjModel, joint: int) -> str:
    """What a recording probably calls a joint: its name, or that of its body where it has none."""
    name = model.joint(joint).name
    body = model.body(int(model.jnt_bodyid[joint])).name
    return name if name and not is_generated(name) else body or name or f"joint {joint}"


def generated_names(model: mujoco.MjModel) -> list[str]:
    """Sentence that says which names are generated, and of what; none where the model has all."""
    joints = [
        f"{name!r} is the joint of the body {model.body(int(model.jnt_bodyid[j])).name!r}"
        for j in range(model.njnt)
        if is_generated(name := model.joint(j).name)
    ]
    actuators = [
        f"{name!r} is the actuator {a}{_moved(model, a)}"
        for a in range(model.nactuator)
        if is_generated(name := model.actuator(a).name)
    ]
    found = [*joints, *actuators]
    if not found:
        return []
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return [
        f"Elements of the model have no name of their own: {', '.join(found[:8])}{more}. Give them "
        "names in the file of the model, so that other programs find them."
    ]


def _moved(model: mujoco.MjModel, actuator: int) -> str:
    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    if int(model.actuator_trntype[actuator]) not in on_joint:
        return ""
    return f" on the joint {model.joint(int(model.actuator_trnid[actuator, 0])).name!r}"
