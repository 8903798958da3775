"""Whether MuJoCo loads with the graphics library that the environment asks for."""

import os

from trueup.errors import ReportError


def require_mujoco() -> None:
    """Load MuJoCo, which loads the library that ``MUJOCO_GL`` names.

    Raises:
      ReportError: there is no such library on this machine, so MuJoCo does not load at all.
    """
    asked = os.environ.get("MUJOCO_GL")
    try:
        import mujoco  # noqa: F401
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        if not asked:
            raise
        raise ReportError(
            f"MuJoCo does not load with MUJOCO_GL={asked} ({str(error).splitlines()[0]}): install "
            "EGL (libegl1) or OSMesa (libosmesa6) and choose it with MUJOCO_GL=egl or "
            "MUJOCO_GL=osmesa, or leave MUJOCO_GL unset"
        ) from error
