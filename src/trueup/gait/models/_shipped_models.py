"""Named models without a file; heavy imports happen when one is built."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mujoco

    from trueup.gait.models.anatomy import Anatomy

SHIPPED_MODELS = ("planar22", "planar22_exo", "space26", "myolegs26", "myolegs")
"""Names of the models."""

BY_MUSCLES = {22: "planar22", 26: "myolegs26", 80: "myolegs"}
"""Number of muscles -> name of the model."""


def build_shipped_model(name: str) -> "tuple[mujoco.MjSpec, Anatomy]":
    """A model by its name, with the names of its parts.

    Raises:
      MissingExtraError: the package of the model is not installed.
    """
    if name.startswith("planar22"):
        from trueup.gait.models.planar22 import planar22, planar22_anatomy

        return planar22(name.endswith("_exo")), planar22_anatomy()
    if name == "space26":
        from trueup.gait.models.space26 import space26, space26_anatomy

        return space26(), space26_anatomy()
    from trueup.gait.models._myolegs import myolegs, myolegs26, myolegs_anatomy

    build = {"myolegs26": myolegs26, "myolegs": myolegs}[name]
    return build(), myolegs_anatomy(name)
