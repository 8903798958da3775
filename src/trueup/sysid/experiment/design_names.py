"""Names of joints in the design of an experiment, checked against its model."""

import mujoco

from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.sysid.experiment.settings import DesignPart

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def check_design(part: DesignPart, model: mujoco.MjModel) -> None:
    """Raise ExperimentError if a pose or a limit names no hinge or slide joint of a model.

    A design also requires that it moves these joints.
    """
    joints = [model.joint(j).name for j in range(model.njnt) if int(model.jnt_type[j]) in _SCALAR]
    limits = part.limits
    named = {
        "pose": part.pose,
        **{f"limits.{what}": getattr(limits, what) for what in type(limits).model_fields},
    }
    for place, given in named.items():
        unknown = [n for n in given if n not in joints] if isinstance(given, dict) else []
        if unknown:
            raise ExperimentError(
                f"design.{place} names an unknown joint {unknown[0]!r}; available: "
                f"{listing(joints)}.{did_you_mean(unknown[0], joints)}"
            )
