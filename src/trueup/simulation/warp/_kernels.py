# pyright: reportMissingImports=false, reportInvalidTypeForm=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false
# ruff: noqa: RUF046, SIM102, UP018 (a variable that a loop changes is declared by int)
"""Warp kernels around a step: its commands, the check of its result, its records.

A world is one candidate in one segment: world = segment * candidates + candidate.
"""

import warp as wp

# MuJoCo's limit is 1e10 for all. In single precision a model can turn ever faster without reaching
# it; above 1e5 a position is not resolved to 0.01, and above 1e6 a step is a thousand turns.
_FAR = wp.constant(1e5)
_FAST = wp.constant(1e6)
_HUGE = wp.constant(1e10)


@wp.kernel(enable_backward=False)
def set_controls(
    controls: wp.array3d(dtype=float),
    last: wp.array(dtype=int),
    candidates: int,
    step: wp.array(dtype=int),
    ctrl: wp.array2d(dtype=float),
):
    """Set the commands of a step; after its end a segment keeps the last ones."""
    world, column = wp.tid()
    segment = world // candidates
    ctrl[world, column] = controls[segment, wp.min(step[0], last[segment]), column]


@wp.func
def _is_bad(values: wp.array2d(dtype=float), world: int, most: float):
    """Index of the first entry that is not finite or too large, or -1."""
    found = int(-1)
    for k in range(values.shape[1]):
        if found < 0:
            if not (wp.abs(values[world, k]) < most):
                found = k
    return found


@wp.kernel(enable_backward=False)
def check_states(
    last: wp.array(dtype=int),
    candidates: int,
    step: wp.array(dtype=int),
    rest: wp.array(dtype=float),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    qacc: wp.array2d(dtype=float),
    warm: wp.array2d(dtype=float),
    act: wp.array2d(dtype=float),
    failed: wp.array2d(dtype=int),
):
    """Mark worlds that diverge, and keep those at rest so that they cost nothing.

    ``failed`` has the field (1 position, 2 velocity, 3 acceleration) and the degree of freedom.
    A world that diverges after the end of its segment is not marked.
    """
    world = wp.tid()
    where = _is_bad(qpos, world, _FAR)
    field = int(0)
    if where >= 0:
        field = 1
    else:
        where = _is_bad(qvel, world, _FAST)
        if where >= 0:
            field = 2
        else:
            where = _is_bad(qacc, world, _HUGE)
            if where >= 0:
                field = 3
    if field > 0 and failed[world, 0] == 0 and step[0] <= last[world // candidates]:
        failed[world, 0] = field
        failed[world, 1] = where
    if field > 0 or failed[world, 0] > 0:
        for k in range(qpos.shape[1]):
            qpos[world, k] = rest[k]
        for k in range(qvel.shape[1]):
            qvel[world, k] = 0.0
            qacc[world, k] = 0.0
            warm[world, k] = 0.0
        for k in range(act.shape[1]):
            act[world, k] = 0.0


@wp.kernel(enable_backward=False)
def record(
    source: wp.array2d(dtype=float),
    failed: wp.array2d(dtype=int),
    step: wp.array(dtype=int),
    first: wp.array(dtype=int),
    latest: wp.array2d(dtype=float),
    out: wp.array3d(dtype=float),
):
    """Record a field after a step; a world that diverged repeats its last valid values."""
    world, column = wp.tid()
    if failed[world, 0] == 0:
        latest[world, column] = source[world, column]
    out[world, step[0] - first[0], column] = latest[world, column]


@wp.kernel(enable_backward=False)
def count(
    nefc: wp.array(dtype=int),
    nacon: wp.array(dtype=int),
    ncollision: wp.array(dtype=int),
    overflow: wp.array(dtype=int),
    failed: wp.array2d(dtype=int),
    peaks: wp.array(dtype=int),
):
    """Largest numbers of constraints, contacts and pairs so far, and flags of overflows."""
    world = wp.tid()
    if failed[world, 0] == 0:
        wp.atomic_max(peaks, 0, nefc[world])
        wp.atomic_or(peaks, 3, overflow[world])
    if world == 0:
        wp.atomic_max(peaks, 1, nacon[0])
        wp.atomic_max(peaks, 2, ncollision[0])


@wp.kernel(enable_backward=False)
def advance(step: wp.array(dtype=int)):
    """Count a step."""
    step[0] = step[0] + 1


@wp.kernel(enable_backward=False)
def rebase_time(
    stamps: wp.array(dtype=int),
    time: wp.array(dtype=float),
    history: wp.array2d(dtype=float),
):
    """Let the clock of every world start at zero, with the time stamps of its delays.

    In single precision a clock at 300 s has a resolution of 1.5 % of a step of 2 ms.
    """
    world = wp.tid()
    for k in range(stamps.shape[0]):
        history[world, stamps[k]] = history[world, stamps[k]] - time[world]
    time[world] = 0.0
