"""Permissions that hold for the superuser too, so that tests of them run anywhere."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

_VERSION = 0x20080522
_OVERRIDE = 0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextlib.contextmanager
def permissions_hold() -> Iterator[None]:
    """Within this block this thread reads and writes only what its permissions allow (Linux)."""
    if os.geteuid():
        yield
        return
    system = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION, 0), (_Sets * 2)()
    assert system.capget(ctypes.byref(header), sets) == 0
    former = sets[0].effective
    sets[0].effective = former & ~_OVERRIDE
    assert system.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = former
        assert system.capset(ctypes.byref(header), sets) == 0
