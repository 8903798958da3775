"""Priority of threads with deadlines on a busy computer."""

import contextlib
import os
import sys
from collections.abc import Iterator

_NICE = -15
"""Niceness without real-time scheduling: about 30 times the processor share of niceness 0."""


@contextlib.contextmanager
def prioritised_thread() -> Iterator[None]:
    """Run the calling thread, and threads that it starts, with priority.

    Real-time scheduling (round robin, lowest priority) if the system allows it, otherwise a low
    niceness. Linux only, with the permission for either: root, or limits ``rtprio`` or ``nice`` of
    the user; elsewhere nothing changes. All threads of a recording need it: one that is preempted
    while it holds the interpreter lock stops the others.
    """
    with _real_time() as is_real_time, _low_niceness(not is_real_time):
        yield


@contextlib.contextmanager
def _real_time() -> Iterator[bool]:
    if sys.platform != "linux":
        yield False
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(
            0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR))
        )
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *before)


@contextlib.contextmanager
def _low_niceness(wanted: bool) -> Iterator[None]:
    # on other systems niceness applies to the whole process
    before = os.getpriority(os.PRIO_PROCESS, 0) if wanted and sys.platform == "linux" else None
    try:
        if before is not None:
            os.setpriority(os.PRIO_PROCESS, 0, _NICE)
    except OSError:
        before = None
    try:
        yield
    finally:
        if before is not None:
            os.setpriority(os.PRIO_PROCESS, 0, before)
