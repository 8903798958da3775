"""The planar walker planar22 with 22 muscles, built from the numbers in ``planar22.yaml``."""

import functools
from pathlib import Path
from typing import Any

import mujoco
import yaml

from trueup.gait.models.anatomy import Anatomy, load_anatomy
from trueup.gait.models.attachments import attach_exoskeleton
from trueup.gait.models.human_walker import build_walker


@functools.cache
def planar22_anatomy() -> Anatomy:
    """Names of the parts of :func:`planar22`."""
    return load_anatomy(Path(__file__).with_name("anatomy_planar22.yaml"))


@functools.cache
def planar22_numbers() -> dict[str, Any]:
    """Parameters of :func:`planar22`, from ``planar22.yaml``."""
    path = Path(__file__).with_name("planar22.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def planar22(exoskeleton: bool = False) -> mujoco.MjSpec:
    """The planar walker: 11 degrees of freedom, 22 muscles, feet of spheres, four keyframes.

    Its parameters are those of published OpenSim models: gait14dof22musc, and gait2392 for the long
    muscles of the toes; each block of ``planar22.yaml`` names its source, and NOTICE credits them.
    The trunk is one rigid body, the knee a pin joint. Contacts of the soles are explicit pairs: an
    additional geom requires a pair with each geom that it can touch.

    Args:
      exoskeleton: attach the device ``ankle`` of :func:`attach_exoskeleton`, a plantarflexion
        torque at each ankle, with its mass.
    """
    spec = build_walker(planar22_numbers(), planar22_anatomy())
    return attach_exoskeleton(spec, "ankle", planar22_anatomy()) if exoskeleton else spec
