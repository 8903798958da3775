"""Memory that nothing uses any more, given back to the system."""

import ctypes
import sys

import mujoco


def release_spare_memory() -> None:
    """Give back what compiling left: MuJoCo's cache of meshes, and freed pieces of the heap.

    The compiler keeps every mesh that it has read, and the C library keeps what was freed: of a
    robot with covers more than all that is simulated.
    """
    mujoco.mj_clearCache(mujoco.mj_getCache())
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
        if trim is not None:
            trim(0)
