"""What is said where MuJoCo does not load with the graphics library that the environment asks for.

``import mujoco`` loads the library that ``MUJOCO_GL`` names, and fails in many ways where there is
none. Commands import MuJoCo where they need it, so its failure is looked for around them all.
"""

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator

from trueup.errors import ReportError


@contextlib.contextmanager
def explained_graphics() -> Iterator[None]:
    """Turn a failure to load MuJoCo because of ``MUJOCO_GL`` into one sentence.

    Raises:
      ReportError: there is no such library on this machine, so MuJoCo does not load at all.
    """
    try:
        yield
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        asked = os.environ.get("MUJOCO_GL")
        cause = _of_loading_mujoco(error)
        if not asked or cause is None:
            raise
        said = str(cause).strip().splitlines() or [type(cause).__name__]
        raise ReportError(
            f"MuJoCo does not load with MUJOCO_GL={asked} ({said[0]}): install "
            "EGL (libegl1) or OSMesa (libosmesa6) and choose it with MUJOCO_GL=egl or "
            "MUJOCO_GL=osmesa, or leave MUJOCO_GL unset"
        ) from error


def _of_loading_mujoco(error: BaseException | None) -> BaseException | None:
    """The error that came out of MuJoCo's own modules while they were being loaded, if it did."""
    if "mujoco" in sys.modules:  # a package that fails to load is taken out again
        return None
    while error is not None:
        frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        names = (str(frame.f_globals.get("__name__", "")) for frame in frames)
        if any(name.partition(".")[0] == "mujoco" for name in names):
            return error
        error = error.__cause__
    return None
