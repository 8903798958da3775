"""Message if MuJoCo does not load with the graphics library in ``MUJOCO_GL``.

``import mujoco`` loads the library in ``MUJOCO_GL``, and raises various errors if it is missing. As
commands import MuJoCo where they need it, the error is handled around all of them.
"""

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator

from trueup.errors import ReportError


@contextlib.contextmanager
def explained_graphics() -> Iterator[None]:
    """Convert an error of the import of MuJoCo with ``MUJOCO_GL`` set into one message.

    Raises:
      ReportError: the graphics library is missing, so that MuJoCo cannot be imported.
    """
    try:
        yield
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        library = os.environ.get("MUJOCO_GL")
        cause = _of_loading_mujoco(error)
        if not library or cause is None:
            raise
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        raise ReportError(
            f"MuJoCo does not load with MUJOCO_GL={library} ({lines[0]}): install "
            "EGL (libegl1) or OSMesa (libosmesa6) and select it with MUJOCO_GL=egl or "
            "MUJOCO_GL=osmesa, or unset MUJOCO_GL"
        ) from error


def _of_loading_mujoco(error: BaseException | None) -> BaseException | None:
    """The error raised in the modules of MuJoCo during their import, or None."""
    if "mujoco" in sys.modules:  # Python removes a package after a failed import
        return None
    while error is not None:
        frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        names = (str(frame.f_globals.get("__name__", "")) for frame in frames)
        if any(name.partition(".")[0] == "mujoco" for name in names):
            return error
        error = error.__cause__
    return None
