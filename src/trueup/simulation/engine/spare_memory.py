"""Release of unused memory to the operating system."""

import ctypes
import sys

import mujoco


def release_spare_memory() -> None:
    """Release memory after compilation: MuJoCo's mesh cache, and free heap memory.

    The compiler caches every mesh and the C library keeps freed memory: for a robot with
    detailed meshes more than the simulation uses.
    """
    mujoco.mj_clearCache(mujoco.mj_getCache())
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
        if trim is not None:
            trim(0)
